/** One error at one call in the lives of a run, once or from then on; and two owners of which one is slow. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { FileSystem } from '../../../src/adapters/json-file/files/FileSystem.js'
import { crashFiles } from './CrashFiles.js'
import type { FileCall, FailingCalls, MadeCall } from './Intercept.js'
import { failingCalls } from './Intercept.js'
import { assertIsStorageError } from '../../adapters/json-file/kit.js'
import type { Open, State, Swept } from './lives.js'
import { goOn, LARGE, lead, OWNER, revisionsAfter, SEED, stateOf } from './lives.js'

// ---------------------------------------------------------------------------------------------------------------------
// errors
// ---------------------------------------------------------------------------------------------------------------------

/** The number of calls in the lives of a run without errors. */
const callsOf = async (open: Open, call?: FileCall): Promise<number> => {
  let count = 0
  const note = (made: MadeCall): undefined => void (count += made.call === call || call === undefined ? 1 : 0)
  await lead(crashFiles({ before: note }), open)
  return count
}

/** The errors to try, and at which calls: every `stride`th from the `first`. */
export interface Errors {
  readonly codes: ReadonlyArray<string>
  readonly stride: number
  readonly call?: FileCall
  readonly first?: number
  /** The number of power cut states to check at the end. */
  readonly limit: number
}

/** Fails each call in turn, once and permanently, and resumes from the result, with and without power. */
export const failEverywhere = async (open: Open, errors: Errors): Promise<Swept> => {
  const { codes, stride, first = 0, limit, call } = errors
  const count = await callsOf(open, call)
  let states = 0
  for (let nth = first; nth < count; nth += stride) {
    for (const times of [1, Number.POSITIVE_INFINITY]) {
      for (const code of codes) {
        states++
        const what = await failAt(open, { nth, times, code, ...(call === undefined ? {} : { call }) }, limit)
        if (what === undefined) continue
        const when = times === 1 ? `call ${nth} fails` : `all calls fail from call ${nth} on`
        return { states, violation: `${what}\n${when} with ${code}\nDOGEAR_SEED=${SEED}` }
      }
    }
  }
  return { states, violation: undefined }
}

const failAt = async (open: Open, failure: FailingCalls, limit: number): Promise<string | undefined> => {
  const fail = failingCalls(failure)
  let isOver = false
  const files = crashFiles({ before: (made) => (isOver ? undefined : fail(made)) })
  try {
    const { moments, errors } = await lead(files, open)
    isOver = true
    errors.forEach(assertIsStorageError)
    const allowed = moments.at(-1)?.allowed ?? []
    for (const { files: left, what } of files.powerCuts({ limit, seed: SEED + failure.nth })) {
      await goOn(left.fs, open, allowed).catch((error: Error) => assert.fail(`${error.message}\n${what()}`))
    }
    await goOn(files.fs, open, allowed)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// two owners
// ---------------------------------------------------------------------------------------------------------------------

/** A gate that stops the nth call that can wait. */
const stopping = (nth: number) => {
  let seen = 0
  let stopped: () => void = () => undefined
  let goOnNow: () => void = () => undefined
  const isStopped = new Promise<void>((resolve) => (stopped = resolve))
  const mayGoOn = new Promise<void>((resolve) => (goOnNow = resolve))
  const gate = async (): Promise<void> => {
    if (seen++ !== nth) return
    stopped()
    await mayGoOn
  }
  return { gate, isStopped, goOn: () => goOnNow(), wasReached: () => seen > nth }
}

/** Files whose calls wait at the gate, except for synchronous ones. */
const gated = (gate: () => Promise<void>, fs: FileSystem): FileSystem => {
  const wrap = (name: string, call: (...args: ReadonlyArray<unknown>) => unknown): typeof call => {
    if (name === 'fdatasync') return (...args) => void gate().then(() => call(...args))
    return name.endsWith('Sync') ? call : (...args) => gate().then(() => call(...args))
  }
  const calls = Object.entries(fs as unknown as Record<string, (...args: ReadonlyArray<unknown>) => unknown>)
  return Object.fromEntries(calls.map(([name, call]) => [name, wrap(name, call)])) as unknown as FileSystem
}

/**
 * An owner is stopped before each call in turn and treated as dead; a successor claims and saves, and then the owner is woken.
 * Everything acknowledged to the owner must be in what the successor found.
 */
export const stopEverywhere = async (open: Open): Promise<Swept> => {
  for (let nth = 0; ; nth++) {
    const violation = await stopAt(open, nth)
    if (violation === 'not reached') return { states: nth, violation: undefined }
    if (violation !== undefined) return { states: nth, violation: `${violation}\nthe owner is stopped at call ${nth}` }
  }
}

const SAVES = 4

const stopAt = async (open: Open, nth: number): Promise<string | undefined> => {
  const { fs } = crashFiles()
  const run = LARGE
  const none = { run, revision: -1 }
  const { gate, isStopped, goOn: wake, wasReached } = stopping(nth)
  const owner = open(gated(gate, fs))
  const saved: Array<State> = [none]
  const working = (async () => {
    const granted = await owner.claim('a', OWNER)()
    if (E.isLeft(granted)) return
    for (let count = 0; count < SAVES; count++) {
      const next = { run, revision: count }
      if (E.isLeft(await owner.save(granted.right.claim, revisionsAfter(saved.at(-1) as State, 1))())) break
      saved.push(next)
    }
    await owner.release(granted.right.claim)()
  })()
  await Promise.race([isStopped, working])
  if (!wasReached()) return 'not reached'
  try {
    // If only background work is stopped, the owner continues to save.
    const least = saved.length - 2
    const allowed = Array.from({ length: SAVES - least }, (_, index) => ({ run, revision: least + index }))
    const successor = open(fs)
    const granted = await successor.claim('a', OWNER)()
    if (E.isLeft(granted)) return `the successor is refused: ${JSON.stringify(granted.left)}`
    const given = stateOf(granted.right.stored, allowed)
    wake()
    await working
    const last = saved.at(-1) as State
    if (last.revision > given.revision)
      return `revision ${last.revision} was acknowledged to the owner, and its successor was given ${given.revision}`
    const kept = await successor.save(granted.right.claim, revisionsAfter(given, 1))()
    if (E.isLeft(kept)) return `the successor's save is refused: ${JSON.stringify(kept.left)}`
    await successor.release(granted.right.claim)()
    await goOn(fs, open, [{ run, revision: given.revision + 1 }])
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    wake()
    await working
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// bits
// ---------------------------------------------------------------------------------------------------------------------

/** Loads from files with one flipped bit. What is reported as exact must equal the saved content. */
export const flipEverywhere = async (open: Open, limit: number): Promise<Swept> => {
  const files = crashFiles()
  const { moments } = await lead(files, open)
  const allowed = moments.at(-1)?.allowed ?? []
  let states = 0
  for (const { files: wrong, what } of files.bitFlips({ limit, seed: SEED })) {
    states++
    const loaded = await open(wrong.fs).load('a')()
    if (E.isLeft(loaded) || (O.isSome(loaded.right) && loaded.right.value.found._tag === 'Recovered')) continue
    try {
      stateOf(loaded.right, allowed)
    } catch (error) {
      return { states, violation: `${(error as Error).message}\n${what()}\nDOGEAR_SEED=${SEED}` }
    }
  }
  return { states, violation: undefined }
}

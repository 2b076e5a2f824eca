/** Helpers for tests of crash states: the lives of a run in files in memory, and the conditions afterwards. */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import { afterAll, beforeAll, vi } from 'vitest'
import type { FileSystem } from '../../../src/adapters/json-file/files/FileSystem.js'
import type { Processes } from '../../../src/adapters/json-file/claim/Processes.js'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import type { Change } from '../../../src/domain/change/Change.js'
import type { Summary } from '../../../src/domain/checkpoint/Summary.js'
import type { Json } from '../../../src/domain/data/Json.js'
import type { CheckpointStorage, Claim, Revision, StorageError, Stored } from '../../../src/ports/CheckpointStorage.js'
import { summary } from '../../../src/testing/conformance/fixtures.js'
import type { CrashFiles } from './CrashFiles.js'

export const isSweep = process.env['DOGEAR_SWEEP'] === '1'

/** Ten times the duration on an idle machine. */
export const TIMEOUT_MILLIS = isSweep ? 3_600_000 : 120_000

export const SEED = Number(process.env['DOGEAR_SEED'] ?? 20_261_122)

/** The name is so long that the line with the found state spans two sectors. */
export const OWNER = { host: `build-1.${'long.'.repeat(25)}example`, pid: 100 }

/** Whether a copy is due depends on the time that copies take. Without time the operations are always the same. */
export const withoutTime = (): void => {
  beforeAll(() => void vi.spyOn(performance, 'now').mockReturnValue(0))
  afterAll(() => void vi.restoreAllMocks())
}

// ---------------------------------------------------------------------------------------------------------------------
// stores
// ---------------------------------------------------------------------------------------------------------------------

/** The store under test: this repository's, or one with a planted fault. */
export type MakeStorage = typeof jsonFileStorage

/** How a process opens the store. */
export type Open = (fs: FileSystem) => CheckpointStorage

const NEVER_MILLIS = 2_147_483_647

let started = 0

/** A simulated process: all processes started before it are dead to it, and those after it alive. */
const processNumber = (number: number): Processes => ({
  self: () => ({
    host: 'h',
    pid: 1,
    thread: 1,
    start: `${1_000_000 + number}`,
    bootId: null,
    pidNamespace: null,
    timeNamespace: null
  }),
  isAlive: ({ start }) => Number(start) > 1_000_000 + number
})

/** Opens the store in a new process: the owners of all earlier claims are dead. */
export const opening =
  (make: MakeStorage = jsonFileStorage, plant: (fs: FileSystem) => FileSystem = (fs) => fs): Open =>
  (fs) =>
    make('/store', {
      fs: plant(fs),
      processes: processNumber(++started),
      keep: 2,
      checkIntervalMillis: NEVER_MILLIS,
      limits: { compactBytes: 0 }
    })

// ---------------------------------------------------------------------------------------------------------------------
// runs
// ---------------------------------------------------------------------------------------------------------------------

/** A stored state: a revision of a run, which is the nth with its id; or nothing (-1). */
export interface State {
  readonly run: number
  readonly revision: number
}

/** A run whose lines are too long for synchronous writes, so that a process can be stopped before one. */
export const LARGE = 100

/** Long enough for several sectors, and different in each revision of each run. */
const textOf = ({ run, revision }: State): string =>
  `${run}.${revision} `.repeat(run === LARGE ? 12_000 : revision % 3 === 0 ? 160 : 30)

const checkpointOf = (state: State): Json => ({ format: 1, ...state, text: textOf(state) })

const summaryOf = ({ run, revision }: State): Summary => ({
  ...summary([]),
  revision,
  workflow: { name: `run ${run}` }
})

const changeOf = (state: State): Change => ({
  _tag: 'UnitCompleted',
  at: '2026-01-02T03:04:05.678Z',
  unit: 'pack',
  output: textOf(state),
  captured: [],
  attempts: 1,
  startedAt: '2026-01-02T03:04:05.000Z',
  durationMillis: 678,
  evidence: []
})

export const revisionsAfter = ({ run, revision }: State, count: number): ReadonlyNonEmptyArray<Revision> =>
  Array.from({ length: count }, (_, index) => {
    const state = { run, revision: revision + 1 + index }
    return {
      revision: state.revision,
      change: changeOf(state),
      checkpoint: () => checkpointOf(state),
      summary: () => summaryOf(state)
    }
  }) as unknown as ReadonlyNonEmptyArray<Revision>

const holds = (stored: Stored, { run, revision }: State): boolean => {
  const based = revision - stored.changes.length
  const after = stored.changes.map((_, index) => changeOf({ run, revision: based + 1 + index }))
  return (
    stored.revision === revision &&
    isDeepStrictEqual(stored.checkpoint, checkpointOf({ run, revision: based })) &&
    isDeepStrictEqual(stored.changes, after)
  )
}

/** Which of these states was found; it must be found exactly. */
export const stateOf = (stored: O.Option<Omit<Stored, 'heldBy'>>, allowed: ReadonlyArray<State>): State => {
  const names = allowed.map(({ run, revision }) => `${run}.${revision}`).join(' or ')
  if (O.isNone(stored)) {
    return allowed.find(({ revision }) => revision === -1) ?? assert.fail(`nothing is there, but ${names} was saved`)
  }
  const { found, revision, checkpoint } = stored.value
  if (found._tag !== 'Exact') return assert.fail(`recovered only: ${found.lost}`)
  const state = allowed.find((one) => one.revision >= 0 && holds(stored.value as Stored, one))
  return (
    state ?? assert.fail(`there is revision ${revision} (${JSON.stringify(checkpoint).slice(0, 60)}), not ${names}`)
  )
}

// ---------------------------------------------------------------------------------------------------------------------
// lives
// ---------------------------------------------------------------------------------------------------------------------

/** The states that may be stored from a number of operations on. */
export interface Moment {
  readonly at: number
  readonly allowed: ReadonlyArray<State>
}

/** The history of a run. */
export interface Lives {
  readonly moments: ReadonlyArray<Moment>
  readonly errors: ReadonlyArray<StorageError>
}

interface Course {
  readonly operations: () => number
  readonly moments: Array<Moment>
  readonly errors: Array<StorageError>
  /** Claims whose owners were killed. They remain in this process and are released at the end. */
  readonly dead: Array<readonly [CheckpointStorage, Claim]>
}

const allowedNow = ({ moments }: Course): ReadonlyArray<State> => (moments.at(-1) as Moment).allowed

const allow = (course: Course, ...allowed: ReadonlyArray<State>): void =>
  void course.moments.push({ at: course.operations(), allowed })

const attempt = async <A>({ errors }: Course, task: () => Promise<E.Either<StorageError, A>>): Promise<O.Option<A>> => {
  const result = await task()
  if (E.isRight(result)) return O.some(result.right)
  errors.push(result.left)
  return O.none
}

type End = 'release' | 'kill'

/** A process claims the run, saves revisions in batches, and ends. */
const live = async (
  course: Course,
  storage: CheckpointStorage,
  saves: ReadonlyArray<number>,
  end: End
): Promise<void> => {
  const granted = await attempt(course, storage.claim('a', OWNER))
  if (O.isNone(granted)) return
  const { claim, stored } = granted.value
  let state = stateOf(stored, allowedNow(course))
  allow(course, state)
  for (const count of saves) {
    const next = { ...state, revision: state.revision + count }
    allow(course, state, next)
    if (O.isNone(await attempt(course, storage.save(claim, revisionsAfter(state, count))))) break
    state = next
    allow(course, state)
  }
  const loaded = await attempt(course, storage.load('a'))
  if (O.isSome(loaded)) stateOf(loaded.value, allowedNow(course))
  if (end === 'release') await attempt(course, storage.release(claim))
  else course.dead.push([storage, claim])
}

const remove = async (course: Course, storage: CheckpointStorage): Promise<void> => {
  const before = allowedNow(course)
  const none = { run: (before[0] as State).run + 1, revision: -1 }
  allow(course, ...before, none)
  if (O.isSome(await attempt(course, storage.remove('a')))) allow(course, none)
}

/** The number of processes in the lives of a run. */
export const PROCESSES = 6

/**
 * The lives of a run: claims, saves of one and of several revisions, compactions, pruning, a killed owner, an unused claim,
 * removal, and a new run with the same id. Each process is new. An error ends one life only.
 */
export const lead = async (files: CrashFiles, open: Open): Promise<Lives> => {
  const course: Course = { operations: () => files.operations.length, moments: [], errors: [], dead: [] }
  allow(course, { run: 1, revision: -1 })
  await live(course, open(files.fs), [1, 1, 3, 1, 1], 'release')
  await live(course, open(files.fs), [1, 2, 1], 'kill')
  await live(course, open(files.fs), [2, 1, 1, 1], 'release')
  await live(course, open(files.fs), [], 'release')
  await remove(course, open(files.fs))
  await live(course, open(files.fs), [1, 1], 'release')
  for (const [storage, claim] of course.dead) await storage.release(claim)()
  return course
}

// ---------------------------------------------------------------------------------------------------------------------
// afterwards
// ---------------------------------------------------------------------------------------------------------------------

const rightOf = <A>(what: string, result: E.Either<StorageError, A>): A =>
  E.isRight(result) ? result.right : assert.fail(`${what} is refused: ${JSON.stringify(result.left)}`)

/**
 * The conditions for files after an accident: the last acknowledged save or the one in flight loads; a claim is granted at once
 * and returns the same; and the next save works and loads.
 */
export const goOn = async (fs: FileSystem, open: Open, allowed: ReadonlyArray<State>): Promise<State> => {
  const storage = open(fs)
  const loaded = stateOf(rightOf('a load', await storage.load('a')()), allowed)
  for (const { summary: found } of rightOf('a listing', await storage.list()()))
    if (found !== undefined)
      assert.deepEqual({ ...found, heldBy: undefined }, { ...summaryOf(loaded), heldBy: undefined })
  const { claim, stored } = rightOf('a claim', await storage.claim('a', OWNER)())
  stateOf(stored, [loaded])
  rightOf('a save', await storage.save(claim, revisionsAfter(loaded, 1))())
  const saved = { ...loaded, revision: loaded.revision + 1 }
  stateOf(rightOf('a load', await open(fs).load('a')()), [saved])
  rightOf('a release', await storage.release(claim)())
  return saved
}

/** The states that are allowed after a power cut at this operation. */
export const allowedAt = ({ moments }: Lives, at: number): ReadonlyArray<State> => {
  const last = moments.findLast((moment) => moment.at <= at) as Moment
  // A save acknowledged after the last operation may have been acknowledged before the next.
  const sameTime = moments.filter((moment) => moment.at === last.at)
  return last.at === at ? (sameTime.at(-1) as Moment).allowed : last.allowed
}

/** The result of a sweep: the number of different states, and a violation in one of them. */
export interface Swept {
  readonly states: number
  readonly violation: string | undefined
}

interface Sweep {
  readonly limit: number
  /** The first number of operations after which it happens, and the stride. */
  readonly first?: number
  readonly stride?: number
}

/** Resumes from the states after power cuts; from equal files only once. */
const cutting = (open: Open, limit: number) => {
  const seen = new Set<string>()
  const cut = async (files: CrashFiles, after: number, allowed: ReadonlyArray<State>): Promise<string | undefined> => {
    for (const { files: left, what } of files.powerCuts({ after, limit, seed: SEED + after })) {
      const key = `${left.fingerprint()} ${JSON.stringify(allowed)}`
      if (seen.has(key)) continue
      seen.add(key)
      try {
        const saved = await goOn(left.fs, open, allowed)
        if (seen.size % 10 === 0) await again(left, open, saved, SEED + after)
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error)
        const when = `the power is cut after operation ${after} (${files.operations[after - 1]})`
        return `${why}\n${when}, and then: ${what()}\nDOGEAR_SEED=${SEED}`
      }
    }
    return undefined
  }
  return { cut, states: () => seen.size }
}

/** Cuts the power once more after that. */
const again = async (files: CrashFiles, open: Open, saved: State, seed: number): Promise<void> => {
  for (const { files: left } of files.powerCuts({ limit: 3, seed })) await goOn(left.fs, open, [saved])
}

/** Cuts the power after each operation and resumes from each possible state, until a violation. */
export const sweep = async (
  files: CrashFiles,
  lives: Lives,
  open: Open,
  { limit, first = 0, stride = 1 }: Sweep
): Promise<Swept> => {
  const { cut, states } = cutting(open, limit)
  for (let after = first; after <= files.operations.length; after += stride) {
    const violation = await cut(files, after, allowedAt(lives, after))
    if (violation !== undefined) return { states: states(), violation }
  }
  return { states: states(), violation: undefined }
}

/** Kills all processes after each operation, lets the next one claim the run and save, and cuts the power after each of its operations. */
export const killAndSweep = async (
  files: CrashFiles,
  lives: Lives,
  open: Open,
  { limit, first = 0, stride = 1 }: Sweep
): Promise<Swept> => {
  const { cut, states } = cutting(opening(), limit)
  for (let killed = first; killed <= files.operations.length; killed += stride) {
    const next = files.asOf(killed)
    const course: Course = { operations: () => next.operations.length, moments: [], errors: [], dead: [] }
    allow(course, ...allowedAt(lives, killed))
    try {
      await live(course, open(next.fs), [1, 1], 'release')
      assert.deepEqual(course.errors, [])
    } catch (error) {
      return { states: states(), violation: `${(error as Error).message}\nkilled after operation ${killed}` }
    }
    for (let after = 0; after <= next.operations.length; after++) {
      const violation = await cut(next, after, allowedAt(course, after))
      const when = `killed after operation ${killed} (${files.operations[killed - 1]})`
      if (violation !== undefined) return { states: states(), violation: `${violation}\n${when}` }
    }
  }
  return { states: states(), violation: undefined }
}

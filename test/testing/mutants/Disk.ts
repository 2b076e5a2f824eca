/** The disk of the sample store and its mutants: strings by name that can be damaged and made to fail, and the processes that use them. */
import * as E from 'fp-ts/lib/Either.js'
import type { Gate } from '../../../src/testing/conformance/Gate.js'

/** Strings by name. Every call takes a while and can be made to fail with a code. */
export interface Disk {
  /** The string of a name, if any. */
  readonly read: (name: string) => Promise<E.Either<string, string | undefined>>
  /** Replaces the string of a name. */
  readonly write: (name: string, text: string) => Promise<E.Either<string, void>>
  /** All names. */
  readonly names: () => Promise<E.Either<string, ReadonlyArray<string>>>
  /** Runs one statement, which takes effect atomically at its start. A writing statement also reads. */
  readonly statement: <A>(
    operation: 'read' | 'write',
    act: (texts: Map<string, string>) => A
  ) => Promise<E.Either<string, A>>
  /** Waits until no other process works on a name. */
  readonly exclusively: <A>(name: string, act: () => Promise<A>) => Promise<A>
  /** The strings themselves, to damage or compare them. */
  readonly texts: Map<string, string>
  /** From now on every read, or every write, fails with this code; the first `after` of them still succeed. */
  readonly fail: (operation: 'read' | 'write', code: string, after?: number) => void
  /** From now on all calls succeed again. */
  readonly heal: () => void
  readonly processes: Processes
}

/** The processes that use a disk, by number. */
export interface Processes {
  /** Starts a process; it is notified of every claim. */
  readonly start: (onClaim: (runId: string, epoch: number) => void) => number
  /** Whether it was not killed. */
  readonly isAlive: (process: number) => boolean
  /** Kills one. */
  readonly kill: (process: number) => void
  /** Lets a killed one live again. */
  readonly revive: (process: number) => void
  /** Kills all processes. */
  readonly killAll: () => void
  /** Notifies all processes that a run was claimed. */
  readonly tell: (runId: string, epoch: number) => void
}

const aWhile = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A disk with nothing on it. */
export const make = (): Disk => {
  const texts = new Map<string, string>()
  const turns = new Map<string, Promise<unknown>>()
  let failing: { readonly operation: 'read' | 'write'; readonly code: string; after: number } | undefined

  /** The code with which a call fails now, if any. */
  const codeFor = (operation: 'read' | 'write'): string | undefined =>
    failing?.operation !== operation || failing.after-- > 0 ? undefined : failing.code

  const call = async <A>(operation: 'read' | 'write', act: () => A): Promise<E.Either<string, A>> => {
    await aWhile()
    const code = codeFor(operation)
    return code === undefined ? E.right(act()) : E.left(code)
  }

  return {
    read: (name) => call('read', () => texts.get(name)),
    write: (name, text) => call('write', () => void texts.set(name, text)),
    names: () => call('read', () => [...texts.keys()]),
    statement: async (operation, act) => {
      const code = codeFor(operation) ?? (operation === 'write' ? codeFor('read') : undefined)
      const result = code === undefined ? E.right(act(texts)) : E.left(code)
      await aWhile()
      return result
    },
    exclusively: (name, act) => {
      const turn = (turns.get(name) ?? Promise.resolve()).then(act)
      turns.set(
        name,
        turn.catch(() => undefined)
      )
      return turn
    },
    texts,
    fail: (operation, code, after = 0) => {
      failing = { operation, code, after }
    },
    heal: () => {
      failing = undefined
    },
    processes: makeProcesses()
  }
}

/** The same disk for one process, with its calls held at a gate. */
export const behind = (disk: Disk, { pass }: Gate): Disk => ({
  ...disk,
  read: async (name) => {
    await pass()
    return disk.read(name)
  },
  write: async (name, text) => {
    await pass()
    return disk.write(name, text)
  },
  names: async () => {
    await pass()
    return disk.names()
  },
  statement: async (operation, act) => {
    await pass()
    return disk.statement(operation, act)
  }
})

const makeProcesses = (): Processes => {
  const listeners: Array<(runId: string, epoch: number) => void> = []
  const dead = new Set<number>()
  return {
    start: (onClaim) => listeners.push(onClaim) - 1,
    isAlive: (process) => !dead.has(process),
    kill: (process) => void dead.add(process),
    revive: (process) => void dead.delete(process),
    killAll: () => listeners.forEach((_, process) => dead.add(process)),
    tell: (runId, epoch) => listeners.forEach((listener) => listener(runId, epoch))
  }
}

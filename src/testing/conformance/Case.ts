/** Defines the cases for checkpoint stores, and what a case may use. */
import { strict as assert } from 'node:assert'
import type { CheckpointStorage } from '../../ports/CheckpointStorage.js'
import type { Opened } from './checkedStore.js'
import { openedBy, otherProcess, storageFrom } from './checkedStore.js'
import type { Client } from './fixtures.js'
import { clientOf } from './fixtures.js'
import type { Trial } from './Trial.js'
import { LIMIT_MILLIS, tryLaw } from './Trial.js'
import type { Capability, OtherProcess, RevisionOfRun, StorageSpec } from './Spec.js'

/**
 * The level of a case: `core` applies to every store, `capability` to stores that claim what the case needs. `stress`
 * cases take seconds: under load, with large data, or with silent owners.
 *
 * @category model
 */
export type Level = 'core' | 'capability' | 'stress'

export const LEVELS: ReadonlyArray<Level> = ['core', 'capability', 'stress']

/**
 * A case for checkpoint stores. Its `id` (`CS-FENCE-03`) never changes its meaning and is never reused. `title` states
 * the law. `needs`: the capabilities that a store must claim for the case to count.
 *
 * @category model
 */
export interface ConformanceCase {
  readonly id: string
  readonly title: string
  readonly level: Level
  readonly needs: ReadonlyArray<Capability>
  /**
   * Runs the case on its own data. Rejects if the law does not hold or the limit passes: default 30,000 ms, four times as long for a stress case.
   */
  readonly run: <Data>(spec: StorageSpec<Data>, limitMillis?: number) => Promise<void>
}

/** What a tool returns, with a client of its store. */
export type With<Tool> = Omit<Tool, 'storage'> & { readonly storage: Client }

/** The store under test and the tools of its spec. */
export type CaseContext = Awaited<ReturnType<typeof contextOf>>

/** Returns a function that makes a case of a law; its cases have this level and need these capabilities. */
export const lawsOf =
  ({
    needs = [],
    level = needs.length === 0 ? 'core' : 'capability'
  }: {
    readonly needs?: ReadonlyArray<Capability>
    readonly level?: Level
  }) =>
  (id: string, title: string, holds: (context: CaseContext) => Promise<void>): ConformanceCase => ({
    id,
    title,
    level,
    needs,
    run: (spec, limitMillis = LIMIT_MILLIS) =>
      tryLaw(
        spec,
        async (data, trial) => holds(await contextOf(spec, data, trial)),
        level === 'stress' ? 4 * limitMillis : limitMillis
      )
  })

export const law = lawsOf({})

export const stressLaw = lawsOf({ level: 'stress' })

/** Returns a tool of a spec. Fails if the spec lacks the tool. */
export const toolOf = <Spec extends { readonly name: string }, Tool extends keyof Spec & string>(
  spec: Spec,
  tool: Tool
): NonNullable<Spec[Tool]> =>
  spec[tool] ?? assert.fail(`the spec of ${spec.name} has no \`${tool}\`; this case needs it`)

const contextOf = async <Data>(spec: StorageSpec<Data>, data: Data, { ends, inFlight, isOver }: Trial) => {
  /** Checks what a tool returned, and wraps its store in a client. `atEnd`: called when the case ends. */
  const opened = <T extends Opened>(
    tool: string,
    given: T,
    functions: ReadonlyArray<Exclude<keyof T, 'storage'> & string>,
    atEnd?: (given: T) => void | Promise<void>
  ): With<T> => {
    const checked = openedBy(tool, given, functions, inFlight)
    if (atEnd !== undefined) ends.push(async () => atEnd(checked))
    return { ...checked, storage: clientOf(checked.storage) }
  }
  const clientFrom = (tool: string, store: CheckpointStorage): Client => clientOf(storageFrom(tool, store, inFlight))
  const reopen = async (): Promise<Client> => clientFrom('reopen', await spec.reopen(data))
  return {
    storage: await reopen(),
    reopen,
    beside: async (): Promise<With<OtherProcess>> => {
      const { storage, kill } = otherProcess(await toolOf(spec, 'beside')(data), inFlight)
      ends.push(kill)
      return { storage: clientOf(storage), kill }
    },
    damage: async (runId: string) => toolOf(spec, 'damage')(data, runId),
    swap: async (one: RevisionOfRun, other: RevisionOfRun) => toolOf(spec, 'swap')(data, one, other),
    newer: async (runId: string) => toolOf(spec, 'newer')(data, runId),
    digest: async (runId: string) => toolOf(spec, 'digest')(data, runId),
    faulty: async () => opened('faulty', await toolOf(spec, 'faulty')(data), ['fail', 'heal']),
    undecided: async () => clientFrom('undecided', await toolOf(spec, 'undecided')(data)),
    stall: async () =>
      opened('stall', await toolOf(spec, 'stall')(data), ['hold', 'held', 'step', 'letGo'], ({ letGo }) => letGo()),
    lossy: async () => opened('lossy', await toolOf(spec, 'lossy')(data), ['lose', 'heal']),
    cutting: async () => opened('cut', await toolOf(spec, 'cut')(data), ['cut', 'cuts', 'heal'], ({ heal }) => heal()),
    failover: async () => opened('rollback', await toolOf(spec, 'rollback')(data), ['mark', 'rollBack']),
    sleeper: async () =>
      opened('sleeper', await toolOf(spec, 'sleeper')(data), ['sleep', 'wake'], ({ wake }) => wake()),
    /** Whether the case has ended, so that background loops stop. */
    isOver
  }
}

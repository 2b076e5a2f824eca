/** A case for checkpoint stores. */
import { strict as assert } from 'node:assert'
import type { CheckpointStorage } from '../../ports/CheckpointStorage.js'
import type { Opened } from './calls.js'
import { openedBy, otherProcess, storageFrom } from './calls.js'
import type { Client } from './Client.js'
import { clientOf } from './Client.js'
import type { Trial } from './Limit.js'
import { tryLaw } from './Limit.js'
import type {
  Capability,
  Cutting,
  Failover,
  Faulty,
  Lossy,
  OtherProcess,
  RevisionOfRun,
  Sleeper,
  Stalling,
  StorageSpec
} from './Spec.js'
import { TOOLS } from './Spec.js'

/**
 * The level of a case: `core` applies to every store, `capability` to stores that claim one, `stress` repeats laws
 * under load and takes seconds.
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
  /** Runs the case in its own place. Rejects if the law does not hold or the limit passes: default 30,000 ms, four times as long for a stress case. */
  readonly run: <Data>(spec: StorageSpec<Data>, limitMillis?: number) => Promise<void>
}

/** What a tool returns, with a client of its store. */
export type With<Tool> = Omit<Tool, 'storage'> & { readonly storage: Client }

/** The store under test and the tools of its spec. */
export interface CaseContext {
  readonly storage: Client
  readonly reopen: () => Promise<Client>
  readonly beside: () => Promise<With<OtherProcess>>
  readonly damage: (runId: string) => Promise<void>
  readonly newer: (runId: string) => Promise<void>
  readonly digest: (runId: string) => Promise<string>
  readonly swap: (one: RevisionOfRun, other: RevisionOfRun) => Promise<void>
  readonly faulty: () => Promise<With<Faulty>>
  readonly undecided: () => Promise<Client>
  readonly stall: () => Promise<With<Stalling>>
  readonly lossy: () => Promise<With<Lossy>>
  readonly cutting: () => Promise<With<Cutting>>
  readonly failover: () => Promise<With<Failover>>
  readonly sleeper: () => Promise<With<Sleeper>>
  /** Whether the case has ended, so that background loops stop. */
  readonly isOver: () => boolean
}

export const conformanceCase = (
  id: string,
  title: string,
  law: (context: CaseContext) => Promise<void>,
  { needs = [], level }: { readonly needs?: ReadonlyArray<Capability>; readonly level?: Level } = {}
): ConformanceCase => ({
  id,
  title,
  level: level ?? (needs.length === 0 ? 'core' : 'capability'),
  needs,
  run: (spec, limitMillis = 30_000) =>
    tryLaw(
      spec,
      async (data, trial) => law(await contextOf(spec, data, trial)),
      level === 'stress' ? 4 * limitMillis : limitMillis
    )
})

/** Makes cases that all need these capabilities. */
export const casesNeeding =
  (...needs: ReadonlyArray<Capability>) =>
  (id: string, title: string, law: (context: CaseContext) => Promise<void>, level?: Level): ConformanceCase =>
    conformanceCase(id, title, law, { needs, ...(level === undefined ? {} : { level }) })

const contextOf = async <Data>(
  spec: StorageSpec<Data>,
  data: Data,
  { ends, inFlight, isOver }: Trial
): Promise<CaseContext> => {
  const tool = <T>(name: keyof StorageSpec<Data>, found: T | undefined): T =>
    found ?? assert.fail(`the spec of ${spec.name} has no \`${name}\`; this case needs it`)
  /** `atEnd`: the function to call when the case ends. */
  const opened = async <T extends Opened>(
    name: keyof StorageSpec<Data>,
    open: ((data: Data) => Promise<T>) | undefined,
    functions: ReadonlyArray<Exclude<keyof T, 'storage'> & string>,
    atEnd?: (given: T) => void | Promise<void>
  ): Promise<With<T>> => {
    const given = openedBy(name, await tool(name, open)(data), functions, inFlight)
    if (atEnd !== undefined) ends.push(async () => atEnd(given))
    return { ...given, storage: clientOf(given.storage) }
  }
  const clientFrom = (name: string, store: CheckpointStorage): Client => clientOf(storageFrom(name, store, inFlight))
  const reopen = async (): Promise<Client> => clientFrom('reopen', await spec.reopen(data))
  return {
    storage: await reopen(),
    reopen,
    beside: async () => {
      const { storage, kill } = otherProcess(await tool('beside', spec.beside)(data), inFlight)
      ends.push(kill)
      return { storage: clientOf(storage), kill }
    },
    damage: async (runId) => tool('damage', spec.damage)(data, runId),
    swap: async (one, other) => tool('swap', spec.swap)(data, one, other),
    newer: async (runId) => tool('newer', spec.newer)(data, runId),
    digest: async (runId) => tool('digest', spec.digest)(data, runId),
    faulty: () => opened('faulty', spec.faulty, ['fail', 'heal']),
    undecided: async () => clientFrom('undecided', await tool('undecided', spec.undecided)(data)),
    stall: () => opened('stall', spec.stall, ['hold', 'held', 'step', 'letGo'], ({ letGo }) => letGo()),
    lossy: () => opened('lossy', spec.lossy, ['lose', 'heal']),
    cutting: () => opened('cut', spec.cut, ['cut', 'cuts', 'heal'], ({ heal }) => heal()),
    failover: () => opened('rollback', spec.rollback, ['mark', 'rollBack']),
    sleeper: () => opened('sleeper', spec.sleeper, ['sleep', 'wake'], ({ wake }) => wake()),
    isOver
  }
}

export const missingTools = <Data>(
  { needs }: Pick<ConformanceCase, 'needs'>,
  spec: StorageSpec<Data>
): ReadonlyArray<string> => needs.flatMap((one) => TOOLS[one]).filter((tool) => spec[tool] === undefined)

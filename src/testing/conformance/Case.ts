/** A case for checkpoint stores. */
import { strict as assert } from 'node:assert'
import { missingMethods } from '../../domain/data/storeMethods.js'
import type { CheckpointStorage } from '../../ports/CheckpointStorage.js'
import type { InFlight } from './calls.js'
import { withNames } from './calls.js'
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

/** The store under test and the tools of its spec. */
export interface CaseContext {
  readonly storage: CheckpointStorage
  readonly reopen: () => Promise<CheckpointStorage>
  readonly beside: () => Promise<OtherProcess>
  readonly damage: (runId: string) => Promise<void>
  readonly newer: (runId: string) => Promise<void>
  readonly digest: (runId: string) => Promise<string>
  readonly swap: (one: RevisionOfRun, other: RevisionOfRun) => Promise<void>
  readonly faulty: () => Promise<Faulty>
  readonly unsure: () => Promise<CheckpointStorage>
  readonly stall: () => Promise<Stalling>
  readonly lossy: () => Promise<Lossy>
  readonly cutting: () => Promise<Cutting>
  readonly failover: () => Promise<Failover>
  readonly sleeper: () => Promise<Sleeper>
  /** Whether the case has ended, so that background loops stop. */
  readonly isOver: () => boolean
}

type Tool = Exclude<keyof StorageSpec<unknown>, 'name' | 'create' | 'reopen' | 'destroy' | 'capabilities'>

/** The tools that each capability needs. */
const TOOLS: Readonly<Record<Capability, ReadonlyArray<Tool>>> = {
  history: [],
  large: [],
  watch: [],
  processes: ['beside'],
  damage: ['damage', 'swap', 'digest'],
  formats: ['newer', 'digest'],
  faults: ['faulty'],
  stalls: ['stall'],
  takeOver: ['undecided'],
  network: ['lossy', 'cut'],
  failover: ['rollback'],
  leases: ['sleeper']
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

const contextOf = async <Data>(spec: StorageSpec<Data>, data: Data, trial: Trial): Promise<CaseContext> => {
  const { ends, inFlight, isOver } = trial
  const tool = <T>(name: keyof StorageSpec<Data>, found: T | undefined): T =>
    found ?? assert.fail(`the spec of ${spec.name} has no \`${name}\`; this case needs it`)
  const reopen = async (): Promise<CheckpointStorage> => storageFrom('reopen', await spec.reopen(data), inFlight)
  return {
    storage: await reopen(),
    reopen,
    beside: async () => {
      const other = await tool('beside', spec.beside)(data)
      has('beside', other, ['storage'], ['kill'])
      // Killed once only, because the store may take long to notice.
      let killed: Promise<void> | undefined
      const kill = (): Promise<void> => (killed ??= (async () => other.kill())())
      ends.push(kill)
      return { storage: storageFrom('beside', other.storage, inFlight), kill }
    },
    damage: async (runId) => tool('damage', spec.damage)(data, runId),
    swap: async (one, other) => tool('swap', spec.swap)(data, one, other),
    newer: async (runId) => tool('newer', spec.newer)(data, runId),
    digest: async (runId) => tool('digest', spec.digest)(data, runId),
    faulty: async () => {
      const given = await tool('faulty', spec.faulty)(data)
      has('faulty', given, ['storage'], ['fail', 'heal'])
      const fail: Faulty['fail'] = (operation, code, after) => given.fail(operation, code, after)
      return { storage: storageFrom('faulty', given.storage, inFlight), fail, heal: () => given.heal() }
    },
    unsure: async () => storageFrom('undecided', await tool('undecided', spec.undecided)(data), inFlight),
    stall: async () => {
      const given = await tool('stall', spec.stall)(data)
      has('stall', given, ['storage'], ['hold', 'held', 'step', 'letGo'])
      ends.push(async () => given.letGo())
      return {
        storage: storageFrom('stall', given.storage, inFlight),
        hold: () => given.hold(),
        held: () => given.held(),
        step: () => given.step(),
        letGo: () => given.letGo()
      }
    },
    ...networkOf(spec, data, trial),
    isOver
  }
}

/** The tools of stores behind a network. */
const networkOf = <Data>(
  spec: StorageSpec<Data>,
  data: Data,
  { ends, inFlight }: Trial
): Pick<CaseContext, 'lossy' | 'cutting' | 'failover' | 'sleeper'> => {
  const opened = async <T extends { readonly storage: CheckpointStorage }>(
    name: 'lossy' | 'cut' | 'rollback' | 'sleeper',
    open: ((data: Data) => Promise<T>) | undefined,
    functions: ReadonlyArray<string>
  ): Promise<T> => {
    assert.ok(open !== undefined, `the spec of ${spec.name} has no \`${name}\`; this case needs it`)
    const given = await open(data)
    has(name, given, ['storage'], functions)
    return { ...given, storage: storageFrom(name, given.storage, inFlight) }
  }
  return {
    lossy: () => opened('lossy', spec.lossy, ['lose', 'heal']),
    cutting: async () => {
      const given = await opened('cut', spec.cut, ['cut', 'cuts', 'heal'])
      ends.push(async () => given.heal())
      return given
    },
    failover: () => opened('rollback', spec.rollback, ['mark', 'rollBack']),
    sleeper: async () => {
      const given = await opened('sleeper', spec.sleeper, ['sleep', 'wake'])
      ends.push(async () => given.wake())
      return given
    }
  }
}

/** Specs are written in plain JavaScript too. */
const has = (tool: string, given: unknown, values: ReadonlyArray<string>, functions: ReadonlyArray<string>): void => {
  const fields = Object(given) as Readonly<Record<string, unknown>>
  const missing = [
    ...values.filter((name) => fields[name] === undefined),
    ...functions.filter((name) => typeof fields[name] !== 'function').map((name) => `function ${name}`)
  ]
  assert.ok(missing.length === 0, `the result of \`${tool}\` has no ${missing.join(' and no ')}`)
}

export const storageFrom = (tool: string, given: CheckpointStorage, inFlight: InFlight): CheckpointStorage => {
  const missing = missingMethods(given)
  assert.ok(missing.length === 0, `\`${tool}\` must return a store; what it returned has no ${missing.join(', no ')}`)
  return withNames(given, inFlight)
}

export const missingTools = <Data>({ needs }: ConformanceCase, spec: StorageSpec<Data>): ReadonlyArray<string> =>
  needs.flatMap((one) => TOOLS[one]).filter((tool) => spec[tool] === undefined)

/** One law of the storage port, as something that can be run against any store. */
import { strict as assert } from 'node:assert'
import type { CheckpointStorage } from '../../ports/CheckpointStorage.js'
import { withNames } from './calls.js'
import { tryLaw } from './Limit.js'
import type { Capability, Faulty, OtherProcess, RevisionOfRun, Stalling, StorageSpec } from './Spec.js'

/**
 * How much a case asks: `core` is asked of every store; `capability` of those that claim one; `stress` asks the same under
 * load, and takes seconds.
 *
 * @category model
 */
export type Level = 'core' | 'capability' | 'stress'

/**
 * A case of the kit. Its `id` (`CS-FENCE-03`) never changes its meaning: a case that is given up takes its id with it. The
 * `title` says what always holds. `needs`: the capabilities that a store must claim for it to count.
 *
 * @category model
 */
export interface ConformanceCase {
  readonly id: string
  readonly title: string
  readonly level: Level
  readonly needs: ReadonlyArray<Capability>
  /**
   * Tries a store, in a place of its own that is done away with afterwards. Rejects if the law does not hold, or if that was not
   * known within the limit: default 30,000 ms, four times as many for a stress case.
   */
  readonly run: <Data>(spec: StorageSpec<Data>, limitMillis?: number) => Promise<void>
}

/** What a case works with: a store in an empty place, and what the spec can do with that place. */
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
  /** Whether the case has ended, for loops that would go on: its time is up, or it failed elsewhere. */
  readonly isOver: () => boolean
}

type Tool = 'beside' | 'damage' | 'swap' | 'newer' | 'digest' | 'faulty' | 'stall' | 'undecided'

/** What the spec must have, so that a capability can be tried. */
const TOOLS: Readonly<Record<Capability, ReadonlyArray<Tool>>> = {
  history: [],
  large: [],
  watch: [],
  processes: ['beside'],
  damage: ['damage', 'swap', 'digest'],
  formats: ['newer', 'digest'],
  faults: ['faulty'],
  stalls: ['stall'],
  takeOver: ['undecided']
}

/** A case whose law is tried on a context. */
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
      async (data, ends, isOver) => law(await contextOf(spec, data, ends, isOver)),
      level === 'stress' ? 4 * limitMillis : limitMillis
    )
})

const contextOf = async <Data>(
  spec: StorageSpec<Data>,
  data: Data,
  ends: Array<() => Promise<void>>,
  isOver: () => boolean
): Promise<CaseContext> => {
  const tool = <T>(name: keyof StorageSpec<Data>, found: T | undefined): T =>
    found ?? assert.fail(`the spec of ${spec.name} has no \`${name}\`, which this case needs`)
  const reopen = async (): Promise<CheckpointStorage> => storageFrom('reopen', await spec.reopen(data))
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
      return { storage: storageFrom('beside', other.storage), kill }
    },
    damage: async (runId) => tool('damage', spec.damage)(data, runId),
    swap: async (one, other) => tool('swap', spec.swap)(data, one, other),
    newer: async (runId) => tool('newer', spec.newer)(data, runId),
    digest: async (runId) => tool('digest', spec.digest)(data, runId),
    faulty: async () => {
      const given = await tool('faulty', spec.faulty)(data)
      has('faulty', given, ['storage'], ['fail', 'heal'])
      const fail: Faulty['fail'] = (operation, code, after) => given.fail(operation, code, after)
      return { storage: storageFrom('faulty', given.storage), fail, heal: () => given.heal() }
    },
    unsure: async () => storageFrom('undecided', await tool('undecided', spec.undecided)(data)),
    stall: async () => {
      const given = await tool('stall', spec.stall)(data)
      has('stall', given, ['storage'], ['hold', 'held', 'step', 'letGo'])
      ends.push(async () => given.letGo())
      return {
        storage: storageFrom('stall', given.storage),
        hold: () => given.hold(),
        held: () => given.held(),
        step: () => given.step(),
        letGo: () => given.letGo()
      }
    },
    isOver
  }
}

const METHODS = ['claim', 'save', 'release', 'load', 'history', 'loadRevision', 'list', 'remove'] as const

/** Said once, before a case says it of the first function that it calls. Specs are written in plain JavaScript too. */
const has = (tool: string, given: unknown, values: ReadonlyArray<string>, functions: ReadonlyArray<string>): void => {
  const fields = Object(given) as Readonly<Record<string, unknown>>
  const missing = [
    ...values.filter((name) => fields[name] === undefined),
    ...functions.filter((name) => typeof fields[name] !== 'function').map((name) => `function ${name}`)
  ]
  assert.ok(missing.length === 0, `what \`${tool}\` gave has no ${missing.join(' and no ')}`)
}

/** The store that a tool of the spec gave, if it is one. */
export const storageFrom = (tool: string, given: CheckpointStorage): CheckpointStorage => {
  const fields = Object(given) as Readonly<Record<string, unknown>>
  const missing = METHODS.filter((method) => typeof fields[method] !== 'function')
  assert.ok(missing.length === 0, `\`${tool}\` gave no store: it has no function ${missing.join(', ')}`)
  return withNames(given)
}

/** The tools that a spec lacks for a case to be tried. */
export const missingTools = <Data>({ needs }: ConformanceCase, spec: StorageSpec<Data>): ReadonlyArray<string> =>
  needs.flatMap((one) => TOOLS[one]).filter((tool) => spec[tool] === undefined)

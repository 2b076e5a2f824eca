/**
 * One law of the storage port, as something that can be run against any store.
 *
 * @since 0.1.0
 */
import { strict as assert } from 'node:assert'
import type { CheckpointStorage } from '../../ports/CheckpointStorage.js'
import type { Capability, Faulty, OtherProcess, StorageSpec } from './Spec.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * How much a case asks: `core` is asked of every store; `capability` of those that claim one; `stress` asks the same under
 * load, and takes seconds.
 *
 * @category model
 * @since 0.1.0
 */
export type Level = 'core' | 'capability' | 'stress'

/**
 * A case of the kit. Its `id` (`CS-FENCE-03`) never changes its meaning: a case that is given up takes its id with it. The
 * `title` says what always holds. `needs`: the capabilities that a store must claim for it to count.
 *
 * @category model
 * @since 0.1.0
 */
export interface ConformanceCase {
  readonly id: string
  readonly title: string
  readonly level: Level
  readonly needs: ReadonlyArray<Capability>
  /** Tries a store, in a place of its own that is done away with afterwards. Rejects if the law does not hold. */
  readonly run: <Data>(spec: StorageSpec<Data>) => Promise<void>
}

/** What a case works with: a store in an empty place, and what the spec can do with that place. */
export interface Bench {
  readonly storage: CheckpointStorage
  readonly reopen: () => Promise<CheckpointStorage>
  readonly beside: () => Promise<OtherProcess>
  readonly damage: (runId: string) => Promise<void>
  readonly newer: (runId: string) => Promise<void>
  readonly digest: (runId: string) => Promise<string>
  readonly faulty: () => Promise<Faulty>
}

/** What the spec must have, so that a capability can be tried. */
const TOOLS: Readonly<Record<Capability, ReadonlyArray<'beside' | 'damage' | 'newer' | 'digest' | 'faulty'>>> = {
  history: [],
  large: [],
  watch: [],
  processes: ['beside'],
  damage: ['damage', 'digest'],
  formats: ['newer', 'digest'],
  faults: ['faulty']
}

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/** A case whose law is tried on a bench. */
export const conformanceCase = (
  id: string,
  title: string,
  law: (bench: Bench) => Promise<void>,
  { needs = [], level }: { readonly needs?: ReadonlyArray<Capability>; readonly level?: Level } = {}
): ConformanceCase => ({
  id,
  title,
  level: level ?? (needs.length === 0 ? 'core' : 'capability'),
  needs,
  run: async (spec) => {
    const data = await spec.create()
    const others: Array<OtherProcess> = []
    try {
      await law(await benchOf(spec, data, others))
    } finally {
      await Promise.all(others.map((other) => other.kill()))
      await spec.destroy?.(data)
    }
  }
})

const benchOf = async <Data>(spec: StorageSpec<Data>, data: Data, others: Array<OtherProcess>): Promise<Bench> => {
  const tool = <T>(name: keyof StorageSpec<Data>, found: T | undefined): T =>
    found ?? assert.fail(`the spec of ${spec.name} has no \`${name}\`, which this case needs`)
  return {
    storage: assertIsStorage(await spec.reopen(data)),
    reopen: () => spec.reopen(data),
    beside: async () => {
      const other = await tool('beside', spec.beside)(data)
      others.push(other)
      return other
    },
    damage: (runId) => tool('damage', spec.damage)(data, runId),
    newer: (runId) => tool('newer', spec.newer)(data, runId),
    digest: (runId) => tool('digest', spec.digest)(data, runId),
    faulty: () => tool('faulty', spec.faulty)(data)
  }
}

const METHODS: ReadonlyArray<keyof CheckpointStorage> = [
  'claim',
  'save',
  'release',
  'load',
  'history',
  'loadRevision',
  'list',
  'remove'
]

/** Said once, before a case says it of the first function that it calls. */
const assertIsStorage = (storage: CheckpointStorage): CheckpointStorage => {
  const given = Object(storage) as Readonly<Record<string, unknown>>
  const missing = METHODS.filter((method) => typeof given[method] !== 'function')
  assert.ok(missing.length === 0, `\`reopen\` gave no store: it has no function ${missing.join(', ')}`)
  return storage
}

// ---------------------------------------------------------------------------------------------------------------------
// refinements
// ---------------------------------------------------------------------------------------------------------------------

/** Whether a store claims everything that a case needs. */
export const isClaimed = (
  { needs }: ConformanceCase,
  { capabilities }: { readonly capabilities: ReadonlyArray<Capability> }
): boolean => needs.every((one) => capabilities.includes(one))

/** The tools that a spec lacks for a case to be tried. */
export const missingTools = <Data>({ needs }: ConformanceCase, spec: StorageSpec<Data>): ReadonlyArray<string> =>
  needs.flatMap((one) => TOOLS[one]).filter((tool) => spec[tool] === undefined)

/** One law of the artifact port, as something that can be run against any store of artifacts; and what the kit has to know of such a store. */
import { strict as assert } from 'node:assert'
import type { ArtifactStore } from '../../../ports/ArtifactStore.js'
import type { ConformanceCase, Level } from '../Case.js'
import { withArtifactNames } from '../calls.js'
import { tryLaw } from '../Limit.js'
import type { Capability } from '../Spec.js'

/**
 * What a store of artifacts may or may not be able to do. Everything else is asked of every one.
 *
 * - `large`: an artifact of 10 MB can be put. Who can't must say `TooLarge`; 100,000 bytes have to fit everywhere.
 * - `damage`: content that was damaged is found to be so. Needs {@link ArtifactSpec.damage}.
 *
 * @category model
 */
export type ArtifactCapability = Extract<Capability, 'large' | 'damage'>

/**
 * A store of artifacts as the kit needs it. `Data` is the place where they are: a folder, a bucket, a `Map`.
 *
 * @category model
 */
export interface ArtifactSpec<Data> {
  readonly name: string
  /** Makes an empty place. */
  readonly create: () => Promise<Data>
  /** A new instance on that data, the first one and each later one. It shares nothing in memory with the earlier ones. */
  readonly reopen: (data: Data) => Promise<ArtifactStore>
  /** Does away with the place. */
  readonly destroy?: (data: Data) => Promise<void>
  readonly capabilities: ReadonlyArray<ArtifactCapability>
  /** Changes stored bytes of the content of an artifact, and of no other one. */
  readonly damage?: (data: Data, runId: string, id: string) => Promise<void>
}

/**
 * A case of the kit for stores of artifacts, like a `ConformanceCase`. Its `id` (`AS-ATOM-01`) never changes its meaning.
 *
 * @category model
 */
export interface ArtifactCase extends Omit<ConformanceCase, 'run'> {
  readonly needs: ReadonlyArray<ArtifactCapability>
  /** Tries a store, as the `run` of a `ConformanceCase` does. */
  readonly run: <Data>(spec: ArtifactSpec<Data>, limitMillis?: number) => Promise<void>
}

/** What a case works with: a store in an empty place, and what the spec can do with that place. */
export interface ArtifactCaseContext {
  readonly store: ArtifactStore
  readonly reopen: () => Promise<ArtifactStore>
  readonly damage: (runId: string, id: string) => Promise<void>
  /** Whether the case has ended, for loops that would go on. */
  readonly isOver: () => boolean
}

/** A case whose law is tried on a context. */
export const artifactCase = (
  id: string,
  title: string,
  law: (context: ArtifactCaseContext) => Promise<void>,
  needs: ReadonlyArray<ArtifactCapability> = []
): ArtifactCase => {
  const level: Level = needs.length === 0 ? 'core' : 'capability'
  return {
    id,
    title,
    level,
    needs,
    run: (spec, limitMillis = 30_000) =>
      tryLaw(spec, async (data, _, isOver) => law(await contextOf(spec, data, isOver)), limitMillis)
  }
}

const contextOf = async <Data>(
  spec: ArtifactSpec<Data>,
  data: Data,
  isOver: () => boolean
): Promise<ArtifactCaseContext> => {
  const reopen = async (): Promise<ArtifactStore> => storeFrom(await spec.reopen(data))
  return {
    store: await reopen(),
    reopen,
    damage: async (runId, id) =>
      spec.damage === undefined
        ? assert.fail(`the spec of ${spec.name} has no \`damage\`, which this case needs`)
        : spec.damage(data, runId, id),
    isOver
  }
}

const METHODS = ['put', 'get', 'has', 'remove', 'list', 'clear'] as const

/** The store that `reopen` gave, if it is one. Specs are written in plain JavaScript too. */
const storeFrom = (given: ArtifactStore): ArtifactStore => {
  const fields = Object(given) as Readonly<Record<string, unknown>>
  const missing = METHODS.filter((method) => typeof fields[method] !== 'function')
  assert.ok(missing.length === 0, `\`reopen\` gave no store: it has no function ${missing.join(', ')}`)
  return withArtifactNames(given)
}

/** The tools that a spec lacks for a case to be tried. */
export const missingArtifactTools = <Data>({ needs }: ArtifactCase, spec: ArtifactSpec<Data>): ReadonlyArray<string> =>
  needs.includes('damage') && spec.damage === undefined ? ['damage'] : []

/** Defines the cases for artifact stores, and the spec of such a store. */
import type { ArtifactStore } from '../../../ports/ArtifactStore.js'
import type { ConformanceCase } from '../Case.js'
import { toolOf } from '../Case.js'
import { checkedStore } from '../checkedStore.js'
import type { Trial } from '../Trial.js'
import { LIMIT_MILLIS, tryLaw } from '../Trial.js'
import { ARTIFACTS } from '../shapes.js'
import type { Capability } from '../Spec.js'

/**
 * What an artifact store may be able to do beyond the core.
 *
 * - `large`: the store accepts 10 MB. Other stores may refuse that with `TooLarge`; every store accepts 100,000 bytes.
 * - `damage`: the store detects damaged content. Needs {@link ArtifactSpec.damage}.
 *
 * @category model
 */
export type ArtifactCapability = Extract<Capability, 'large' | 'damage'>

/**
 * An artifact store for the kit. `Data` identifies where the artifacts are: a folder, a bucket, a `Map`.
 *
 * @category model
 */
export interface ArtifactSpec<Data> {
  readonly name: string
  /** Creates an empty place. */
  readonly create: () => Promise<Data>
  /** Opens a new instance on that data. It shares no memory with earlier instances. */
  readonly reopen: (data: Data) => Promise<ArtifactStore>
  /** Deletes the place. */
  readonly destroy?: (data: Data) => Promise<void>
  readonly capabilities: ReadonlyArray<ArtifactCapability>
  /** Damages the stored content of one artifact and of no other. */
  readonly damage?: (data: Data, runId: string, id: string) => Promise<void>
}

/**
 * A case for artifact stores, like a `ConformanceCase`. Its `id` (`AS-ATOM-01`) never changes its meaning.
 *
 * @category model
 */
export interface ArtifactCase extends Omit<ConformanceCase, 'run'> {
  readonly needs: ReadonlyArray<ArtifactCapability>
  /** Runs the case, as `run` of a `ConformanceCase` does. */
  readonly run: <Data>(spec: ArtifactSpec<Data>, limitMillis?: number) => Promise<void>
}

/** The tools that each capability needs. */
export const ARTIFACT_TOOLS: Readonly<Record<ArtifactCapability, ReadonlyArray<'damage'>>> = {
  large: [],
  damage: ['damage']
}

/** The store under test and the tools of its spec. */
export type ArtifactCaseContext = Awaited<ReturnType<typeof contextOf>>

/** Returns a function that makes a case of a law; its cases need these capabilities. */
export const lawsNeeding =
  (...needs: ReadonlyArray<ArtifactCapability>) =>
  (id: string, title: string, holds: (context: ArtifactCaseContext) => Promise<void>): ArtifactCase => ({
    id,
    title,
    needs,
    level: needs.length === 0 ? 'core' : 'capability',
    run: (spec, limitMillis = LIMIT_MILLIS) =>
      tryLaw(spec, async (data, trial) => holds(await contextOf(spec, data, trial)), limitMillis)
  })

export const law = lawsNeeding()

const contextOf = async <Data>(spec: ArtifactSpec<Data>, data: Data, { inFlight, isOver }: Trial) => {
  const reopen = async (): Promise<ArtifactStore> =>
    checkedStore('reopen', await spec.reopen(data), ARTIFACTS, inFlight)
  return {
    store: await reopen(),
    reopen,
    damage: async (runId: string, id: string) => toolOf(spec, 'damage')(data, runId, id),
    isOver
  }
}

/** Artifact stores with one flaw each, and the case of the kit that names it. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as ArtifactId from '../../../src/domain/data/ArtifactId.js'
import { sha256 } from '../../../src/domain/data/Digest.js'
import * as RunId from '../../../src/domain/checkpoint/RunId.js'
import type { ArtifactError, ArtifactInfo, ArtifactStore } from '../../../src/ports/ArtifactStore.js'
import type { ArtifactSpec } from '../../../src/testing/conformance/artifacts/ArtifactCase.js'

/** Each flaw of an artifact store, and the case that finds it. Others may find it as well. */
export const ARTIFACT_KILLED_BY = {
  'decodes bytes as text': 'AS-TRIP-01',
  'treats an empty artifact as missing': 'AS-TRIP-03',
  'returns its own bytes': 'AS-TRIP-07',
  'starts before its TaskEither is executed': 'AS-TRIP-09',
  'lets ids lead out of its folder': 'AS-ID-01',
  'reports another id than the invalid one in a read': 'AS-ID-01',
  'reports another run id than the invalid one in a read': 'AS-ID-02',
  'folds the case of ids': 'AS-ID-03',
  'removes every artifact with the same prefix': 'AS-ID-05',
  'keeps the end of a replaced artifact': 'AS-PUT-01',
  'writes in place, piece by piece': 'AS-PUT-02',
  'reports a missing artifact as an error': 'AS-NONE-01',
  'restores removed artifacts': 'AS-REMOVE-01',
  'mixes runs': 'AS-RUN-01',
  'lists artifacts in no order': 'AS-LIST-01',
  'clears reserved artifacts of the run': 'AS-CLEAR-01',
  'caches what it read': 'AS-OPEN-01',
  'does not detect damaged content': 'AS-DAMAGE-01',
  'loses an artifact that replaces a damaged one': 'AS-DAMAGE-02'
} as const

/** The flaw of a mutant of an artifact store. */
export type ArtifactFlaw = keyof typeof ARTIFACT_KILLED_BY

/** An artifact store with one flaw: the flaw, and the case that names it. */
export interface ArtifactMutant {
  readonly flaw: ArtifactFlaw
  readonly killedBy: string
  readonly spec: ArtifactSpec<Shelf>
}

interface Kept {
  readonly info: ArtifactInfo
  readonly bytes: Uint8Array
}

/** The artifacts of the sample store: by run and id, and the removed ones, for the flaw that needs them. */
export interface Shelf {
  /** @internal */
  readonly runs: Map<string, Map<string, Kept>>
  /** @internal */
  readonly removed: Map<string, Map<string, Kept>>
}

const aWhile = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const runIn = (runs: Shelf['runs'], runId: string): Map<string, Kept> => {
  const found = runs.get(runId) ?? new Map<string, Kept>()
  runs.set(runId, found)
  return found
}

const sampleArtifacts = ({ runs, removed }: Shelf, flaw?: ArtifactFlaw): ArtifactStore => {
  const has = (one: ArtifactFlaw): boolean => one === flaw
  const remembered = new Map<string, Uint8Array>()
  if (has('restores removed artifacts'))
    for (const [runId, kept] of removed) for (const [id, one] of kept) runIn(runs, runId).set(id, one)

  const task = <A>(runId: string, id: string, act: (run: Map<string, Kept>, id: string) => Promise<A>) => {
    const begin = async (): Promise<E.Either<ArtifactError, A>> => {
      const validRun = RunId.parse(runId)
      if (E.isLeft(validRun)) return validRun
      const valid = has('lets ids lead out of its folder') ? E.right(id) : ArtifactId.parse(id)
      if (E.isLeft(valid)) return valid
      return E.right(
        await act(runIn(runs, has('mixes runs') ? 'all' : runId), has('folds the case of ids') ? id.toLowerCase() : id)
      )
    }
    if (!has('starts before its TaskEither is executed')) return begin
    const begun = begin()
    return () => begun
  }

  const put = async (run: Map<string, Kept>, id: string, data: Uint8Array): Promise<ArtifactInfo> => {
    const before = run.get(id)?.bytes
    const bytes = has('keeps the end of a replaced artifact')
      ? Uint8Array.from([...data, ...(before?.subarray(data.length) ?? [])])
      : has('decodes bytes as text')
        ? new TextEncoder().encode(new TextDecoder().decode(data))
        : data
    const info = { id, size: bytes.length, sha256: sha256(bytes) }
    if (has('writes in place, piece by piece')) return inPlace(run, info, bytes)
    await aWhile()
    const old = run.get(id)
    const wasDamaged = old !== undefined && sha256(old.bytes) !== old.info.sha256
    if (wasDamaged && has('loses an artifact that replaces a damaged one')) run.delete(id)
    else run.set(id, { info, bytes })
    return { ...info }
  }

  const misreported = (error: ArtifactError): ArtifactError =>
    error._tag === 'InvalidArtifactId' && has('reports another id than the invalid one in a read')
      ? { ...error, id: 'other' }
      : error._tag === 'InvalidRunId' && has('reports another run id than the invalid one in a read')
        ? { ...error, runId: 'other' }
        : error

  return {
    put: (runId, id, data) => {
      const keep = (): Uint8Array => (has('returns its own bytes') ? raw(data) : raw(data).slice())
      return task(runId, id, (run, known) => put(run, known, keep()))
    },
    get: (runId, id) => {
      const key = `${runId} ${id}`
      const found = task(runId, id, async (run, known) => {
        await aWhile()
        const kept = run.get(known)
        if (kept === undefined || (has('treats an empty artifact as missing') && kept.bytes.length === 0)) return O.none
        if (!has('does not detect damaged content') && sha256(kept.bytes) !== kept.info.sha256)
          return O.some('damaged' as const)
        const bytes = has('caches what it read') ? (remembered.get(key) ?? kept.bytes) : kept.bytes
        remembered.set(key, bytes)
        return O.some(has('returns its own bytes') ? bytes : bytes.slice())
      })
      return () =>
        found()
          .then(answerOf(runId, id, has('reports a missing artifact as an error')))
          .then(E.mapLeft(misreported))
    },
    has: (runId, id) => task(runId, id, (run, known) => Promise.resolve(run.has(known))),
    remove: (runId, id) =>
      task(runId, id, (run, known) => {
        const isIt = (one: string): boolean =>
          one === known || (has('removes every artifact with the same prefix') && one.startsWith(known))
        for (const [one, kept] of [...run].filter(([other]) => isIt(other))) {
          runIn(removed, runId).set(one, kept)
          run.delete(one)
        }
        return aWhile()
      }),
    list: (runId) =>
      task(runId, 'all', (run) => {
        const infos = [...run.values()].map(({ info }) => ({ ...info }))
        return Promise.resolve(
          has('lists artifacts in no order') ? infos : infos.sort((a, b) => (a.id < b.id ? -1 : 1))
        )
      }),
    clear: (runId) =>
      task(runId, 'all', (run) => {
        for (const id of [...run.keys()])
          if (has('clears reserved artifacts of the run') || !ArtifactId.isReserved(id)) run.delete(id)
        return aWhile()
      })
  }
}

const raw = (data: Uint8Array | string): Uint8Array =>
  typeof data === 'string' ? new TextEncoder().encode(data) : data

/** Writes like a file that is opened and not replaced: others see it grow, and write into it too. */
const inPlace = async (run: Map<string, Kept>, info: ArtifactInfo, bytes: Uint8Array): Promise<ArtifactInfo> => {
  const parts = 4
  for (let part = 1; part <= parts; part++) {
    const from = Math.floor((bytes.length * (part - 1)) / parts)
    const before = run.get(info.id)?.bytes ?? new Uint8Array()
    const grown = new Uint8Array(Math.max(part === 1 ? 0 : before.length, Math.floor((bytes.length * part) / parts)))
    grown.set(before.subarray(0, Math.min(before.length, grown.length)))
    grown.set(bytes.subarray(from, Math.floor((bytes.length * part) / parts)), from)
    run.set(info.id, { info: { ...info, size: grown.length, sha256: sha256(grown) }, bytes: grown })
    await aWhile()
  }
  return info
}

const answerOf =
  (runId: string, id: string, isStrict: boolean) =>
  (found: E.Either<ArtifactError, O.Option<Uint8Array | 'damaged'>>): E.Either<ArtifactError, O.Option<Uint8Array>> => {
    if (E.isLeft(found)) return found
    if (O.isNone(found.right))
      return isStrict
        ? E.left({ _tag: 'ReadFailed', where: id, operation: 'get', code: 'ENOENT', cause: undefined })
        : E.right(O.none)
    return found.right.value === 'damaged'
      ? E.left({ _tag: 'Corrupt', runId, where: id, why: 'its content is not what was put' })
      : E.right(O.some(found.right.value))
  }

const specOf = (name: string, flaw?: ArtifactFlaw): ArtifactSpec<Shelf> => ({
  name,
  create: () => Promise.resolve({ runs: new Map(), removed: new Map() }),
  reopen: (shelf) => Promise.resolve(sampleArtifacts(shelf, flaw)),
  damage: ({ runs }, runId, id) => {
    const kept = runIn(runs, runId).get(id)
    if (kept !== undefined) runIn(runs, runId).set(id, { ...kept, bytes: kept.bytes.map((byte) => byte ^ 1) })
    return Promise.resolve()
  },
  capabilities: ['large', 'damage']
})

/** The artifact store of the mutants, without a flaw. */
export const sampleArtifactSpec: ArtifactSpec<Shelf> = specOf('a sound store of artifacts')

/** Faulty artifact stores, one for each flaw. The kit fails each of them in the case that names its flaw. */
export const artifactMutants: ReadonlyArray<ArtifactMutant> = (
  Object.keys(ARTIFACT_KILLED_BY) as ReadonlyArray<ArtifactFlaw>
).map((flaw) => ({ flaw, killedBy: ARTIFACT_KILLED_BY[flaw], spec: specOf(`a store that ${flaw}`, flaw) }))

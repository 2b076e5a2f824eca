/**
 * The artifacts of a run, as its steps see them: bound to the run, and noted for the record.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import * as ArtifactId from '../domain/ArtifactId.js'
import { fingerprint } from '../domain/Digest.js'
import type { Json } from '../domain/Json.js'
import * as Redaction from '../domain/Redaction.js'
import * as StepError from '../domain/StepError.js'
import type { StepFailure } from '../domain/StepFailure.js'
import * as Failure from '../domain/StepFailure.js'
import { find } from '../domain/Tree.js'
import type { OutputMismatch } from '../domain/Workflow.js'
import type { ArtifactError, ArtifactInfo, ArtifactStore } from '../ports/ArtifactStore.js'
import { toJson } from './conversions.js'
import type { Attempt } from './Attempt.js'
import type { Program, ProgramStep } from './Program.js'
import type { Recorder } from './Recorder.js'
import { describeArtifact } from './RunError.js'
import type { Secured } from './secrets.js'
import type { Settled } from './Output.js'
import { settle } from './settle.js'
import type { Memo, Reuse, StepArtifacts } from './StepSpec.js'
import type { Place } from './Values.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/** The attempt of a unit that reads and puts artifacts. */
export interface Holder {
  readonly scope: {
    readonly environment: Secured
    readonly definition: Program<unknown, never>
    readonly recorder: Recorder
    readonly stop: () => { readonly _tag: string } | undefined
  }
  readonly place: Place
  readonly attempt: Attempt
}

// ---------------------------------------------------------------------------------------------------------------------
// artifacts
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The artifacts of the run, for one attempt of a unit.
 *
 * @category constructors
 * @since 0.1.0
 */
export const artifactsFor = (holder: Holder): StepArtifacts => {
  const { runId } = holder.scope.recorder.checkpoint()
  const put = async (id: string, data: Uint8Array | string): Promise<E.Either<StepFailure, ArtifactInfo>> => {
    if (ArtifactId.isSystem(id)) return E.left(SYSTEM_ID(id))
    const { redaction } = holder.scope.environment.vault
    if (Redaction.isIn(redaction, id) || Redaction.isIn(redaction, data)) return E.left(HAS_SECRET)
    if (holder.attempt.isOver()) return E.left(ATTEMPT_OVER)
    if (!isData(data)) return E.left(NOT_BYTES(id))
    const store = writable(holder)
    if (E.isLeft(store)) return store
    const kept = await answer(store.right.put(runId, id, data))
    if (E.isRight(kept)) {
      const { size, sha256 } = kept.right
      holder.attempt.put({ _tag: 'Stored', id: kept.right.id, size, sha256 })
    }
    return kept
  }
  const read = async <A>(id: string, act: (store: ArtifactStore) => TaskEither<ArtifactError, A>) =>
    ArtifactId.isSystem(id) ? E.left(SYSTEM_ID(id)) : await using(holder, act)
  return {
    put: (id, data) => orReject(put(id, data)),
    get: async (id) => O.toUndefined(await orReject(read(id, (store) => store.get(runId, id)))),
    has: (id) => orReject(read(id, (store) => store.has(runId, id))),
    reuse: async (from) => {
      const { artifact: id, fromRun } = from
      const found = await orReject(read(id, (store) => store.get(fromRun, id)))
      return await orReject(O.isNone(found) ? E.left(missing(from)) : put(id, found.value))
    }
  }
}

/** Rejects with an `Error` that is a step failure as well. */
const orReject = async <A>(given: E.Either<StepFailure, A> | Promise<E.Either<StepFailure, A>>): Promise<A> => {
  const result = await given
  return E.isRight(result) ? result.right : await Promise.reject(errorOf(result.left))
}

const errorOf = (failure: StepFailure): Error => {
  const { name, message, code } = failure.error
  return Object.assign(new Error(message), failure, { name, code })
}

/**
 * What one attempt was given, without what writes: asking changes nothing, and an answer that is kept is an old one. Such a
 * context is changed in place.
 *
 * @category combinators
 * @since 0.1.0
 */
export const lookingOnly = <A extends { readonly artifacts: StepArtifacts }>(context: A): A => {
  const { artifacts } = context
  const refuse = (): Promise<never> => orReject(E.left(READ_ONLY))
  return Object.defineProperties(context, {
    artifacts: { value: { ...artifacts, put: refuse, reuse: refuse }, enumerable: true },
    memo: { value: refuse, enumerable: true }
  })
}

// ---------------------------------------------------------------------------------------------------------------------
// memo
// ---------------------------------------------------------------------------------------------------------------------

/** A computation that is under way, and the attempt that began it. It gives the text that is stored. */
interface Computing {
  readonly attempt: Attempt
  readonly text: Promise<E.Either<Error, string>>
}

/** What each execution computes just now. */
const computing = new WeakMap<Recorder, Map<string, Computing>>()

/**
 * The cache of the run, for one attempt of a unit. Who asks for what is being computed waits for that; should it fail, an
 * attempt that did not begin it computes itself.
 *
 * @category constructors
 * @since 0.1.0
 */
export const memoFor =
  (holder: Holder): Memo =>
  async <R>(key: string, compute: () => R) => {
    const { recorder } = holder.scope
    const under = computing.get(recorder) ?? new Map<string, Computing>()
    computing.set(recorder, under)
    if (!isText(key)) return await orReject(E.left(NO_KEY))
    const id = memoId(holder, key)
    for (;;) {
      const running = under.get(id)
      const one = running ?? {
        attempt: holder.attempt,
        text: recall(holder, id, key, compute).finally(() => under.delete(id))
      }
      if (running === undefined) under.set(id, one)
      const text = await one.text
      if (E.isRight(text)) return valueIn(text.right) as Settled<R>
      if (one.attempt === holder.attempt) return await Promise.reject(text.left)
    }
  }

/** The text that is stored, or is now; on the left: what the memo rejects with. What is damaged is computed again. */
const recall = async (
  holder: Holder,
  id: string,
  key: string,
  compute: () => unknown
): Promise<E.Either<Error, string>> => {
  const { runId } = holder.scope.recorder.checkpoint()
  const store = writable(holder)
  if (E.isLeft(store)) return E.left(errorOf(store.left))
  const found = await store.right.get(runId, id)()
  if (E.isLeft(found) && found.left._tag !== 'Corrupt') return E.left(errorOf(failed(found.left)))
  if (E.isRight(found) && O.isSome(found.right)) return E.right(new TextDecoder().decode(found.right.value))
  const computed = await settle(compute)
  // An author may reject with anything.
  if (E.isLeft(computed)) return E.left(computed.left as Error)
  const json = toJson(computed.right)
  if (E.isLeft(json)) return E.left(errorOf(notStorable(key, json.left)))
  const { redaction } = holder.scope.environment.vault
  const kept: Json = json.right === undefined ? { key } : { key, value: json.right }
  const text = JSON.stringify(Redaction.isNone(redaction) ? kept : Redaction.json(redaction, kept))
  const put = await using(holder, (into) => into.put(runId, id, text), writable)
  return E.bimap(errorOf, () => text)(put)
}

const valueIn = (text: string): unknown => (JSON.parse(text) as { readonly value?: unknown }).value

/** Identifies a memo by run, input, unit definition and key. */
const memoId = ({ scope, place }: Holder, key: string): string => {
  const { createdAt, input, items } = scope.recorder.checkpoint()
  const found = find<ProgramStep>(scope.definition, items, place.unit, place.stepIndex)?.definition
  const defined = found?._tag === 'Task' ? found.fingerprint : null
  return `_memo/${fingerprint([createdAt, digestOf(input), place.unit, defined, key]).slice(3)}`
}

const digests = new WeakMap<object, string>()

/** Caches the digest: inputs can be large, and a step may memoize many values. */
const digestOf = (input: Json): string => {
  if (typeof input !== 'object' || input === null) return fingerprint(input)
  const known = digests.get(input) ?? fingerprint(input)
  digests.set(input, known)
  return known
}

// ---------------------------------------------------------------------------------------------------------------------
// the store
// ---------------------------------------------------------------------------------------------------------------------

const readable = ({ scope }: Holder): E.Either<StepFailure, ArtifactStore> =>
  scope.environment.artifacts === undefined ? E.left(NO_STORE) : E.right(scope.environment.artifacts)

/** Who was told that another process has the run puts nothing into it. */
const writable = (holder: Holder): E.Either<StepFailure, ArtifactStore> =>
  holder.scope.stop()?._tag === 'Fenced' ? E.left(LOST) : readable(holder)

const using = async <A>(
  holder: Holder,
  act: (store: ArtifactStore) => TaskEither<ArtifactError, A>,
  storeOf = readable
): Promise<E.Either<StepFailure, A>> => {
  const store = storeOf(holder)
  return E.isLeft(store) ? store : answer(act(store.right))
}

const answer = async <A>(task: TaskEither<ArtifactError, A>): Promise<E.Either<StepFailure, A>> =>
  E.mapLeft(failed)(await task())

// ---------------------------------------------------------------------------------------------------------------------
// failures
// ---------------------------------------------------------------------------------------------------------------------

/** Whether it may pass is told by the system's code, as for every error. */
const failed = (error: ArtifactError): StepFailure => {
  const made = StepError.make('ArtifactError', describeArtifact(error), { code: error._tag })
  return Failure.fromUnknown(error)._tag === 'Transient' ? Failure.transient(made) : Failure.permanent(made)
}

const failure = (code: string, message: string): StepFailure =>
  Failure.permanent(StepError.make('ArtifactError', message, { code }))

const NO_STORE = failure(
  'NoArtifactStore',
  'the run has no store for artifacts: give its environment one (`artifacts`)'
)

const LOST = failure(
  'Fenced',
  'this process has lost the run (another process superseded it, or its files were deleted) and cannot write artifacts'
)

/** A step in JavaScript may give anything. */
const isText = (value: unknown): value is string => typeof value === 'string'

const isData = (value: unknown): boolean => isText(value) || value instanceof Uint8Array

const NOT_BYTES = (id: string): StepFailure =>
  failure('NotBytes', `what is put as "${id}" is neither text nor bytes (a Uint8Array)`)

const NO_KEY = failure('MemoKey', 'the key of a memo must be text')

const ATTEMPT_OVER = failure('AttemptOver', 'the attempt that puts this is over: nothing is put by it any more')

const READ_ONLY = failure(
  'ReadOnly',
  'to ask for a job changes nothing: put, reuse and memo are for submit and collect'
)

const SYSTEM_ID = (id: string): StepFailure =>
  failure('InvalidArtifactId', `"${id}" is not a valid artifact id: those that begin with "_" are Dogear's own`)

const HAS_SECRET = failure(
  'SecretInArtifact',
  'the value of a secret stands in the artifact or in its id: artifacts are stored as they are, so it was not put'
)

const missing = ({ fromRun, artifact }: Reuse): StepFailure =>
  failure('ArtifactMissing', `there is no artifact "${artifact}" of run ${fromRun}`)

const notStorable = (key: string, { path, expected }: OutputMismatch): StepFailure =>
  failure('MemoNotStorable', `the value of memo "${key}" at ${path} is not ${expected}`)

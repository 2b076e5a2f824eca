/** Gives the code of steps access to the artifacts of a run, and remembers which unit put which artifact. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import * as ArtifactId from '../../domain/data/ArtifactId.js'
import { fieldsOf } from '../../domain/data/Options.js'
import * as Redaction from '../../domain/data/Redaction.js'
import * as StepError from '../../domain/data/StepError.js'
import type { StepFailure } from '../../domain/data/StepFailure.js'
import * as Failure from '../../domain/data/StepFailure.js'
import type { ArtifactError, ArtifactInfo, ArtifactStore } from '../../ports/ArtifactStore.js'
import type { Evidence } from '../../domain/checkpoint/CompletedStep.js'
import type { Attempt } from '../steps/Attempt.js'
import type { Recorder } from '../storage/Recorder.js'
import { errorOf } from '../subSteps/subStepFailures.js'
import { ARTIFACTS, callPort, readFailed, writeFailed } from '../callPort.js'
import { describeArtifact } from '../errors/portErrors.js'
import type { SecuredEnvironment } from '../secrets.js'
import type { Reuse, StepArtifacts } from '../program/StepSpec.js'
import type { Place } from '../Values.js'
import type { Unit } from '../../domain/workflow/Unit.js'

/** The artifacts that an execution has put. By id: the newest content, and the last put in progress. By unit: the ids of all its attempts. */
export interface PutArtifacts {
  readonly ids: Map<Unit, Set<string>>
  readonly newest: Map<string, Evidence>
  readonly putting: Map<string, { readonly attempt: Attempt; readonly done: Promise<void> }>
}

export const nothingPut = (): PutArtifacts => ({ ids: new Map(), newest: new Map(), putting: new Map() })

/** Returns the artifacts that a unit has put, with their newest content: another unit may have put the same id since, and completed first. */
export const artifactsOf = ({ ids, newest }: PutArtifacts, unit: Unit): ReadonlyArray<Evidence> => {
  const own = ids.get(unit)
  return own === undefined ? NOTHING : [...own].flatMap((id) => newest.get(id) ?? [])
}

const NOTHING: ReadonlyArray<Evidence> = []

/** A sub-step that did not complete has no record, so the record of the unit that called it names what it put. */
export const inheritArtifacts = ({ ids }: PutArtifacts, unit: Unit, from: Unit): void => {
  for (const id of ids.get(from) ?? []) add(ids, unit, id)
}

const add = (ids: PutArtifacts['ids'], unit: Unit, id: string): void => {
  const own = ids.get(unit) ?? new Set()
  ids.set(unit, own.add(id))
}

export interface ArtifactWriter {
  readonly scope: {
    readonly environment: SecuredEnvironment
    readonly recorder: Recorder
    readonly artifacts: PutArtifacts
    readonly stopReason: () => string | undefined
  }
  readonly place: Place
  readonly attempt: Attempt
}

export const artifactsFor = (writer: ArtifactWriter): StepArtifacts => {
  const { runId } = writer.scope.recorder.checkpoint()
  const put = async (id: string, data: Uint8Array | string): Promise<E.Either<StepFailure, ArtifactInfo>> => {
    if (ArtifactId.isReserved(id)) return E.left(reservedId(id))
    if (!isData(data)) return E.left(notBytes(id))
    const { redaction } = writer.scope.environment.vault
    if (Redaction.isIn(redaction, id) || Redaction.isIn(redaction, data)) return E.left(HAS_SECRET)
    return await inTurn(writer, id, () => callStore(writer, 'put', (store) => store.put(runId, id, data)))
  }
  const read = async <A>(id: string, operation: 'get' | 'has', act: Act<A>): Promise<E.Either<StepFailure, A>> =>
    ArtifactId.isReserved(id) ? E.left(reservedId(id)) : await callStore(writer, operation, act)
  return {
    put: (id, data) => orReject(put(id, data)),
    get: async (id) => O.toUndefined(await orReject(read(id, 'get', (store) => store.get(runId, id)))),
    has: (id) => orReject(read(id, 'has', (store) => store.has(runId, id))),
    reuse: async (from) => {
      const { artifact: id, fromRun } = fieldsOf(from) as unknown as Reuse
      const found = await orReject(read(id, 'get', (store) => store.get(fromRun, id)))
      return await orReject(O.isNone(found) ? E.left(missing(from)) : put(id, found.value))
    }
  }
}

/** Puts artifacts of one id in the order of the calls, without waiting for attempts that are over. These and fenced ones put nothing. */
const inTurn = async (
  { attempt, place, scope: { artifacts, stopReason } }: ArtifactWriter,
  id: string,
  put: () => Promise<E.Either<StepFailure, ArtifactInfo>>
): Promise<E.Either<StepFailure, ArtifactInfo>> => {
  const { ids, newest, putting } = artifacts
  const before = putting.get(id)
  const act = async (): Promise<E.Either<StepFailure, ArtifactInfo>> => {
    if (attempt.isOver) return E.left(ATTEMPT_OVER)
    if (stopReason() === 'fenced') return E.left(LOST)
    const stored = await put()
    if (E.isLeft(stored)) return stored
    const { id, size, sha256 } = stored.right
    newest.set(id, { _tag: 'Stored', id, size, sha256 })
    add(ids, place.unit, id)
    return stored
  }
  const turn = before === undefined || before.attempt.isOver ? act() : before.done.then(act)
  const ended = (): void => void (putting.get(id) === mine && putting.delete(id))
  const mine = { attempt, done: turn.then(ended, ended) }
  putting.set(id, mine)
  return await turn
}

/** Rejects with an `Error` that is a step failure as well. */
const orReject = async <A>(given: E.Either<StepFailure, A> | Promise<E.Either<StepFailure, A>>): Promise<A> => {
  const result = await given
  return E.isRight(result) ? result.right : await Promise.reject(errorOf(result.left))
}

/** Refuses writes in the context of a submission or poll of a job: no record would name what they put. */
export const readOnly = <A extends { readonly artifacts: StepArtifacts }>(context: A): A => {
  const { artifacts } = context
  const refuse = (): Promise<never> => orReject(E.left(READ_ONLY))
  return Object.defineProperties(context, {
    artifacts: { value: { ...artifacts, put: refuse, reuse: refuse }, enumerable: true }
  })
}

type Act<A> = (store: ArtifactStore) => TaskEither<ArtifactError, A>

const callStore = async <A>(
  { scope: { environment } }: ArtifactWriter,
  operation: 'put' | 'get' | 'has',
  act: Act<A>
): Promise<E.Either<StepFailure, A>> => {
  const { artifacts } = environment
  if (artifacts === undefined) return E.left(NO_STORE)
  const onThrow = (operation === 'put' ? writeFailed : readFailed)(ARTIFACTS)
  return E.mapLeft(failed)(await callPort<A, ArtifactError, ArtifactError>(operation, () => act(artifacts), onThrow))
}

/** The failure is transient if the system's error code says so. */
const failed = (error: ArtifactError): StepFailure => {
  const made = StepError.make('ArtifactError', describeArtifact(error), { code: error._tag })
  return Failure.fromUnknown(error)._tag === 'Transient' ? Failure.transient(made) : Failure.permanent(made)
}

const failure = (code: string, message: string): StepFailure =>
  Failure.permanent(StepError.make('ArtifactError', message, { code }))

const NO_STORE = failure('NoArtifactStore', 'the run has no store for artifacts; set `artifacts` in its environment')

const LOST = failure(
  'Fenced',
  'this process has lost the run (another process superseded it, or its files were deleted) and cannot write artifacts'
)

/** Detects a string or a Uint8Array, also of another realm, such as a vm context. */
const isData = (value: unknown): boolean =>
  typeof value === 'string' ||
  (ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]')

const notBytes = (id: string): StepFailure => failure('NotBytes', `artifact "${id}" must be a string or a Uint8Array`)

const ATTEMPT_OVER = failure('AttemptOver', 'the attempt has ended; it cannot write artifacts')

const READ_ONLY = failure('ReadOnly', '`submit` and `poll` cannot write artifacts; call put or reuse in `collect`')

const reservedId = (id: string): StepFailure =>
  failure('InvalidArtifactId', `"${id}" is not a valid artifact id: ids that begin with "_" are reserved`)

const HAS_SECRET = failure(
  'SecretInArtifact',
  'the artifact or its id contains a secret; it was not stored, because artifacts are not redacted'
)

const missing = ({ fromRun, artifact }: Reuse): StepFailure =>
  failure('ArtifactMissing', `run ${fromRun} has no artifact "${artifact}"; run it first, or fix fromRun or artifact`)

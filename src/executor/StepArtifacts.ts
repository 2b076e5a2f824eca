/**
 * What a step can do with the artifacts of its run.
 *
 * @since 0.1.0
 */
import type { Option } from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { StepFailure } from '../domain/StepFailure.js'
import type { ArtifactInfo } from '../ports/ArtifactStore.js'

/**
 * An artifact of another run, to be used instead of making it again.
 *
 * @category model
 * @since 0.1.0
 */
export interface Reuse {
  readonly fromRun: string
  readonly artifact: string
}

/**
 * The artifacts of the run, for a step. What the attempt that completes has put, or reused, stands in the record of its
 * step. Everything fails as a step fails: an `ArtifactError`, whose `code` is the `_tag` of what went wrong, `NoArtifactStore`
 * if the run was given no store, `Fenced` once it was taken over. Ids that begin with `_` are Dogear's own.
 *
 * @category model
 * @since 0.1.0
 */
export interface StepArtifacts {
  /** Keeps bytes, or a text as UTF-8, in place of what had the id before; durable when it resolves. */
  readonly put: (id: string, data: Uint8Array | string) => TaskEither<StepFailure, ArtifactInfo>
  /** The bytes that this or an earlier step put; none if there is no such artifact. */
  readonly get: (id: string) => TaskEither<StepFailure, Option<Uint8Array>>
  /** Whether there is an artifact of this id. */
  readonly has: (id: string) => TaskEither<StepFailure, boolean>
  /** Puts a copy of an artifact of another run, under the same id. Fails with the code `ArtifactMissing` if it is not there. */
  readonly reuse: (from: Reuse) => TaskEither<StepFailure, ArtifactInfo>
}

/**
 * A cache of the run, for what is dear to do again: the value of a key is computed once for a step, or a group, and found
 * when that runs again, in this or a later process. Plain JSON; in the first run too, a copy of what is stored. Nothing is kept
 * of a computation that fails. Raise the `version` of the step, or take another key, to compute anew.
 *
 * @category model
 * @since 0.1.0
 */
export type Memo = <Failure, A>(key: string, compute: TaskEither<Failure, A>) => TaskEither<Failure | StepFailure, A>

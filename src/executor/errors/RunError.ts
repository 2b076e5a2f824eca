/**
 * Errors that end a call without an outcome.
 *
 * @module
 */
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Confirm, MissingEvidence } from '../../domain/plan/Plan.js'
import type { PlanError } from '../../domain/plan/PlanProblem.js'
import type { OptionProblem } from '../../domain/data/Options.js'
import type { TransitionError } from '../../domain/change/Transition.js'
import type { OwnWorkspace, Workspace } from '../../domain/workflow/Workspace.js'
import type { StorageError } from '../../ports/CheckpointStorage.js'
import type { ArtifactError } from '../../ports/ArtifactStore.js'
import type { AlreadyAnswered, InvalidPointer } from '../../ports/Requests.js'
import type { TreeUnreadable } from '../../ports/WorkingTree.js'
import type { WorkspaceError } from '../../ports/Workspaces.js'
import type { AnswerRefused } from './AnswerRefused.js'

/** No run has this id. */
export interface NoSuchRun {
  readonly _tag: 'NoSuchRun'
  readonly runId: string
}

/** A run of this id already exists. Ids are never reused silently. */
export interface RunExists {
  readonly _tag: 'RunExists'
  readonly runId: string
}

/** A run with this id exists with another input, and `fromStep` is missing. */
export interface InputChanged {
  readonly _tag: 'InputChanged'
  readonly runId: string
}

/**
 * A new run has no input, and the program requires one. `path`: the path into the input; `expected`: the type there.
 */
export interface InputMissing {
  readonly _tag: 'InputMissing'
  readonly runId: string
  readonly path: string
  readonly expected: string
}

/** The input does not match the program. `path`: the path into it; `expected`: the type there. */
export interface InvalidInput {
  readonly _tag: 'InvalidInput'
  readonly path: string
  readonly expected: string
}

/** The plan that would be executed differs from the reviewed one. */
export interface PlanChanged {
  readonly _tag: 'PlanChanged'
  readonly expected: string
  readonly found: string
}

/** The plan has questions that need an answer. */
export interface Unconfirmed {
  readonly _tag: 'Unconfirmed'
  readonly questions: ReadonlyNonEmptyArray<Confirm>
}

/**
 * The stored state was recovered from damage, and no `onRecovered` agreed to continue. Nothing was changed. `cause`: what `onRecovered` threw, or an
 * `Error` that says that it returned nothing or no name; undefined if the call has no such function.
 */
export interface RecoveryRefused {
  readonly _tag: 'RecoveryRefused'
  readonly runId: string
  readonly from: string
  readonly lost: string
  readonly cause: unknown
}

/**
 * Why a secret is unusable: unknown or empty (`missing`), reading it failed (`unreadable`), or too short to redact safely (`tooShort`). `why`: the
 * reason in words.
 */
export interface SecretProblem {
  readonly name: string
  readonly problem: 'missing' | 'tooShort' | 'unreadable'
  readonly why: string
}

/** Declared secrets are unusable: all of them, and where they were looked up. Nothing was started or written. */
export interface SecretsMissing {
  readonly _tag: 'SecretsMissing'
  readonly where: string
  readonly secrets: ReadonlyNonEmptyArray<SecretProblem>
}

/** The program archives completed runs, and the environment has no `archive`. Nothing was started. */
export interface NoArchive {
  readonly _tag: 'NoArchive'
  readonly runId: string
}

/** The workspace of the run is missing, with the evidence in it (`missing`). Nothing was executed. */
export interface WorkspaceMissing {
  readonly _tag: 'WorkspaceMissing'
  readonly runId: string
  readonly kind: Workspace['kind']
  readonly path: string
  readonly missing: ReadonlyArray<MissingEvidence>
}

/** The call uses a workspace of the run, and the environment has no `workspaces`. */
export interface NoWorkspaces {
  readonly _tag: 'NoWorkspaces'
  readonly runId: string
}

/** The call leaves a request, and the environment has no `requests`. */
export interface NoRequests {
  readonly _tag: 'NoRequests'
  readonly runId: string
}

/** The run was cancelled, and `reopen` is not set. */
export interface RunCancelled {
  readonly _tag: 'RunCancelled'
  readonly runId: string
}

/** Options that do not exist, or have invalid values. Nothing was loaded or changed. */
export interface InvalidOptions {
  readonly _tag: 'InvalidOptions'
  readonly problems: ReadonlyNonEmptyArray<OptionProblem>
}

/** The run has a workspace of its own, which two runs cannot share. Nothing was created. */
export interface ForkRefused {
  readonly _tag: 'ForkRefused'
  readonly runId: string
  readonly workspace: OwnWorkspace
}

/** This copy of the run cannot be resumed: it was moved `to` another store, or its move `from` one is unfinished. To finish it, repeat the move. */
export interface RunMoved {
  readonly _tag: 'RunMoved'
  readonly runId: string
  readonly way: 'to' | 'from'
  readonly store: string
}

/**
 * A fork or move cannot copy the artifacts of the run: `store` is the one that failed. `code`: the tag of `cause`; without a `cause`, `NO_STORE`
 * if the environment has no `artifacts`, `MISSING`, or `Corrupt` if a copy differs. The run is unchanged.
 */
export interface ArtifactsNotCopied {
  readonly _tag: 'ArtifactsNotCopied'
  readonly runId: string
  readonly store: 'source' | 'target'
  readonly code: ArtifactError['_tag'] | 'NO_STORE' | 'MISSING'
  readonly why: string
  readonly cause?: ArtifactError
}

/** Errors that end a call without an outcome. `_tag` is the stable code. */
export type RunError =
  | StorageError
  | TreeUnreadable
  | PlanError
  | TransitionError
  | NoSuchRun
  | RunExists
  | InputChanged
  | InputMissing
  | InvalidInput
  | SecretsMissing
  | NoArchive
  | PlanChanged
  | Unconfirmed
  | RecoveryRefused
  | WorkspaceError
  | WorkspaceMissing
  | NoWorkspaces
  | NoRequests
  | RunCancelled
  | AlreadyAnswered
  | InvalidPointer
  | AnswerRefused
  | InvalidOptions
  | ForkRefused
  | RunMoved
  | ArtifactsNotCopied

/**
 * Returns whether the same call may succeed later without any change, because another process holds the run. A queue worker delays the
 * job instead of failing it.
 *
 * @example
 * import { RunError } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const holder = { host: 'worker-1', pid: 7, since: '2026-01-02T03:04:05.000Z', liveness: 'alive' } as const
 * assert.equal(RunError.retryLater({ _tag: 'HeldBy', runId: 'order-42', holder }), true)
 * assert.equal(RunError.retryLater({ _tag: 'NoSuchRun', runId: 'order-42' }), false)
 *
 * @category destructors
 */
export const retryLater = ({ _tag }: RunError): boolean => _tag === 'HeldBy'

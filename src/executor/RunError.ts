/**
 * Errors that end a call without an outcome.
 *
 * @module
 */
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import { describeQuestion } from '../domain/explain/Explain.js'
import { describeProblems } from '../domain/explain/problems.js'
import { describeEvidence } from '../domain/checkpoint/CompletedStep.js'
import type { Confirm, MissingEvidence } from '../domain/plan/Plan.js'
import type { PlanError, PlanProblem } from '../domain/plan/PlanProblem.js'
import { answersTo } from '../domain/plan/Plan.js'
import { listed } from '../domain/data/listed.js'
import type { OptionProblem } from '../domain/data/Options.js'
import { describeOption } from '../domain/data/Options.js'
import { printableLines } from '../domain/explain/printable.js'
import type { TransitionError } from '../domain/change/Transition.js'
import type { OwnWorkspace, Workspace } from '../domain/workflow/Workspace.js'
import { top } from '../domain/workflow/Unit.js'
import type { StorageError } from '../ports/CheckpointStorage.js'
import type { ArtifactError } from '../ports/ArtifactStore.js'
import type { AlreadyAnswered, InvalidPointer } from '../ports/Requests.js'
import type { TreeUnreadable } from '../ports/WorkingTree.js'
import type { WorkspaceError } from '../ports/Workspaces.js'
import type { AnswerRefused } from './requests/AnswerRefused.js'
import { describe as describeRefused } from './requests/AnswerRefused.js'
import { describeStorage, describeWorkspace } from './storage/portErrors.js'

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

/** The stored state was recovered from damage, and `onRecovered` did not agree to continue. Nothing was changed. `cause`: what `onRecovered` threw. */
export interface RecoveryRefused {
  readonly _tag: 'RecoveryRefused'
  readonly runId: string
  readonly from: string
  readonly lost: string
  readonly cause: unknown
}

/** Why a secret is unusable: unknown or empty (`missing`), reading it failed (`unreadable`), or too short to redact safely (`tooShort`). `why`: the reason in words. */
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

/** A request needs the port `requests`, and the environment has none. */
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

/** The run has a workspace of its own, which two runs cannot share. Nothing was made. */
export interface ForkRefused {
  readonly _tag: 'ForkRefused'
  readonly runId: string
  readonly workspace: OwnWorkspace
}

/** The run moves `to` another store, or arrived `from` one, and this copy cannot be resumed. A repeated move finishes it. */
export interface RunMoved {
  readonly _tag: 'RunMoved'
  readonly runId: string
  readonly way: 'to' | 'from'
  readonly store: string
}

/**
 * A fork or move cannot copy the artifacts of the run: `store` is the one that failed. `code`: the tag of `cause`, `NO_STORE` without a port
 * `artifacts`, or `MISSING`. The run is unchanged.
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

/**
 * Describes an error for people: what, where, and what to do.
 *
 * @example
 * import { RunError } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * assert.match(RunError.describe({ _tag: 'NoSuchRun', runId: 'nightly' }), /^No checkpoint found for run nightly/)
 *
 * @category destructors
 */
export const describe = (error: RunError): string => printableLines(withEffect(error, linesOf(error)))

/** Describes an error of a call that changes nothing anyway, without `Nothing was changed`. */
export const describeCause = (error: RunError): string => printableLines(linesOf(error))

/** Adds `Nothing was changed` to an error that stopped a call before it changed anything. */
export const withEffect = ({ _tag }: RunError, lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (!HARMLESS.has(_tag)) return lines
  const [only, ...more] = lines
  return more.length === 0 ? [`${only}. ${UNCHANGED}`] : [...lines, UNCHANGED]
}

const HARMLESS: ReadonlySet<RunError['_tag']> = new Set([
  'SecretsMissing',
  'RecoveryRefused',
  'TreeUnreadable'
] as const)

const UNCHANGED = 'Nothing was changed'

const linesOf = (error: RunError): ReadonlyArray<string> => {
  switch (error._tag) {
    case 'NoSuchRun':
      return [
        `No checkpoint found for run ${error.runId}`,
        'Check the id and the store; the run may have been deleted, archived or moved'
      ]
    case 'SecretsMissing':
      return [
        `Cannot read these secrets in ${error.where}:`,
        ...error.secrets.map(({ name, why }) => `  ${name} ${why}`)
      ]
    case 'InvalidOptions':
      return ['These options are invalid:', ...error.problems.map((one) => `  ${describeOption(one)}`)]
    case 'PlanError':
      return [
        error.problems.every(({ _tag }) => _tag === 'InvalidWorkflow')
          ? 'Cannot run this workflow:'
          : 'Cannot continue this run:',
        ...describeProblems(error.problems).map((one) => `  ${one}`),
        ...remediesOf(error.problems)
      ]
    case 'Unconfirmed':
      return unconfirmed(error.questions)
    case 'WorkspaceMissing':
      return [...describeMissing(error), REMEDY_OF_WORKSPACE[error.kind === 'none' ? 'given' : 'own']]
    default:
      return [sentence(error)]
  }
}

const unconfirmed = (questions: ReadonlyArray<Confirm>): ReadonlyArray<string> => {
  const [it, itIs, step] = questions.length === 1 ? ['it', 'it is', 'the step'] : ['them', 'they are', 'a step']
  return [
    headOf(questions),
    ...questions.map((question) => `  ${describeQuestion(question)}`),
    `    to run ${it} again: ${confirming(questions, "{ _tag: 'Again' }")}`,
    ...keeping(questions),
    `    if ${itIs} done: ${confirming(questions, "{ _tag: 'Done' }")}`,
    `  If ${step} returns an output, add it: { _tag: 'Done', output: … }`,
    ...(questions.some(isChanged)
      ? ['  For a file that may change at any time, require only that it exists (File evidence)']
      : [])
  ]
}

const REMEDY_OF_WORKSPACE = {
  given: 'Create the folder again with the missing files, or start a new run',
  own: 'To start over with a new workspace, set `fromStep` to the first step; or start a new run'
}

/** Remedies in terms of options. The command prints its own commands instead. */
const remediesOf = (problems: ReadonlyArray<PlanProblem>): ReadonlyArray<string> => {
  const tasks = problems.flatMap((one) =>
    one._tag === 'NotAWave' && one.available.length === 0 && one.exists ? [one.step] : []
  )
  return [...remedyOfEdits(problems), ...tasks.map((step) => `Set fromStep: '${step}'`)]
}

/** The edits that a user has to undo or accept. Those of steps in doubt and of pending jobs have other remedies. */
export const editsToUndo = (problems: ReadonlyArray<PlanProblem>) =>
  problems
    .filter((one) => one._tag === 'WorkflowChanged')
    .filter(({ inDoubt, pending }) => inDoubt !== true && pending !== true)

const remedyOfEdits = (problems: ReadonlyArray<PlanProblem>): ReadonlyArray<string> => {
  const changes = problems.filter((one) => one._tag === 'WorkflowChanged')
  const edits = editsToUndo(problems)
  const [first] = edits
  if (first === undefined) return []
  const from = edits.every(({ edit }) => edit === 'changed')
    ? `, set fromStep: '${edits.length === 1 ? first.unit : top(first.unit)}',`
    : ''
  const [edit, it] = edits.length === 1 ? ['edit', 'it'] : ['edits', 'them']
  const undo = edits.length === changes.length ? `Undo the ${edit}` : `After that, undo the other ${edit}`
  return [`${undo}${from} or accept ${it} with changes: 'ignore'`]
}

type SingleLine = Exclude<
  RunError,
  {
    readonly _tag: 'NoSuchRun' | 'SecretsMissing' | 'InvalidOptions' | 'PlanError' | 'Unconfirmed' | 'WorkspaceMissing'
  }
>

const sentence = (error: SingleLine): string => {
  switch (error._tag) {
    case 'RunExists':
      return `Run ${error.runId} already exists; choose another id, or resume that run`
    case 'InputChanged':
      return `Run ${error.runId} has another input. Omit the input to resume with the stored one, set \`fromStep\` to the step from which the new input applies, or start a new run with another id`
    case 'InputMissing':
      return `Run ${error.runId} cannot start without an input: at ${error.path} expected ${error.expected}. Pass \`input\`; if the run should exist, check its id and the store`
    case 'InvalidInput':
      return `The input does not match the workflow: at ${error.path} expected ${error.expected}; correct the input`
    case 'NoArchive':
      return `Run ${error.runId} cannot start: its program archives completed runs; set \`archive\` in the environment. Nothing was started`
    case 'PlanChanged':
      return `The plan is not the reviewed one: its hash is ${error.found}, not ${error.expected}; review it again`
    case 'RecoveryRefused':
      return `${describeLoss(error)}; to continue from it, resume with the function \`onRecovered\`, which returns the name of the user who agrees`
    case 'TreeUnreadable':
      return `Cannot read the evidence in ${error.where}: ${error.why} (${error.code}); fix its permissions (or git), then resume`
    case 'NoWorkspaces':
      return `Cannot use a workspace for run ${error.runId}: the environment has no \`workspaces\`; set them, as in { workspaces: workspaces(folder) }`
    case 'NoRequests':
      return `Cannot pause or cancel run ${error.runId}: the environment has no \`requests\`; set \`requests\` in the environments of this process and of the run's owner, both to fileRequests(folder) of dogear/json-file or to those of your store`
    case 'RunCancelled':
      return `Run ${error.runId} was cancelled; start a new run, or set \`reopen\` to resume it`
    case 'AlreadyAnswered':
      return `"${error.unit}" of run ${error.runId} already has an answer; resume the run to use it. To replace it, resume with fromStep "${error.unit}" once the run has reached that step, then answer again`
    case 'InvalidPointer':
      return `${error.where} is not a valid pause pointer: ${error.why}; name the run to resume. The next pause replaces the pointer`
    case 'AnswerRefused':
      return describeRefused(error)
    case 'RunMoved':
      return error.way === 'to'
        ? `Run ${error.runId} was moved to ${error.store}; resume it there. If it cannot be resumed there, repeat the move`
        : `Run ${error.runId} has not finished its move from ${error.store}; repeat the move`
    case 'ArtifactsNotCopied':
      return `Cannot copy the artifacts of run ${error.runId} ${error.store === 'source' ? 'from their store' : 'to the target'}: ${error.why}; ${remedyOfCopy(error)}. The run is unchanged`
    case 'ForkRefused':
      return `Cannot fork run ${error.runId}: it works in a ${error.workspace.kind} of its own (${error.workspace.path}), which two runs cannot share; start a new run`
    case 'NoWorktree':
    case 'WorkspaceTaken':
    case 'WorkspaceFailed':
      return describeWorkspace(error)
    case 'TransitionError':
      return `Change ${error.change} of ${error.unit} cannot follow revision ${error.revision}: ${error.why}. Unless you called Transition.apply yourself, this is a bug in Dogear: report it`
    case 'HeldBy':
    case 'Fenced':
    case 'RevisionConflict':
    case 'RunChanged':
    case 'Corrupt':
    case 'UnsupportedFormat':
    case 'TooLarge':
    case 'InvalidRunId':
    case 'Insecure':
    case 'ReadFailed':
    case 'WriteFailed':
      return describeStorage(error)
  }
}

/** Describes the damage to a state; the command adds its own remedy. */
export const describeLoss = ({ runId, from, lost }: RecoveryRefused): string =>
  `The newest state of run ${runId} is damaged: ${lost}. The recovered state is from ${from}`

/** Describes a missing workspace; the command adds its own remedy. */
export const describeMissing = ({ runId, path, missing }: WorkspaceMissing): ReadonlyArray<string> => {
  const left = missing.flatMap((one) => one.missing.map((each) => `${describeEvidence(each)} of "${one.unit}"`))
  const named = left.length === 0 ? [] : [`Missing with it: ${listed(left, 3)}`]
  return [`Workspace not found for run ${runId}. It may have been cleaned up.`, `The run works in ${path}`, ...named]
}

const isChanged = ({ reason }: Confirm): boolean => reason._tag === 'EvidenceChanged'

const keeping = (questions: ReadonlyArray<Confirm>): ReadonlyArray<string> => {
  const kept = questions.filter((question) => answersTo(question).includes('Keep'))
  if (kept.length === 0) return []
  return [`    to keep the current state: ${confirming(kept, "{ _tag: 'Keep' }")}`]
}

const confirming = (questions: ReadonlyArray<Confirm>, answer: string): string =>
  `confirm: new Map([${questions.map((question) => `[${JSON.stringify(question.unit)}, ${answer}]`).join(', ')}])`

/** Returns the heading above a list of questions. */
export const headOf = (questions: ReadonlyArray<Confirm>): string =>
  questions.every(isChanged)
    ? 'These steps would overwrite changes made since they ran. Answer for each:'
    : 'These steps need an answer before they run again:'

const remedyOfCopy = ({ store, code }: ArtifactsNotCopied): string => {
  if (code === 'TooLarge') return 'use a store with a higher limit'
  return store === 'source' && (code === 'MISSING' || code === 'Corrupt')
    ? 'restore it, or run its step again'
    : 'fix that store, then repeat the copy'
}

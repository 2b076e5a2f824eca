/** Describes the errors of `RunError` for people. */
import { describeQuestion } from '../../domain/explain/Explain.js'
import { describeProblems } from '../../domain/explain/problems.js'
import { describeEvidence } from '../../domain/checkpoint/CompletedStep.js'
import type { Confirm } from '../../domain/plan/Plan.js'
import type { PlanProblem } from '../../domain/plan/PlanProblem.js'
import { answersTo, wouldOverwrite } from '../../domain/plan/Plan.js'
import { listed } from '../../domain/data/listed.js'
import * as StepError from '../../domain/data/StepError.js'
import { describeOption } from '../../domain/data/Options.js'
import { expectedAt } from '../../domain/data/Malformed.js'
import { printableLines } from '../../domain/explain/printable.js'
import { top } from '../../domain/workflow/Unit.js'
import { describe as describeRefused } from './AnswerRefused.js'
import { describeStorage, describeWorkspace } from './portErrors.js'
import type { ArtifactsNotCopied, RecoveryRefused, RunError, WorkspaceMissing } from './RunError.js'

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

/** Describes an error without `Nothing was changed`, for calls that never change anything. */
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
        'Check the id and the store; the run may have been deleted, archived or moved, or its process died before the first save'
      ]
    case 'SecretsMissing':
      return [`Unusable secrets in ${error.where}:`, ...error.secrets.map(({ name, why }) => `  ${name} ${why}`)]
    case 'InvalidOptions':
      return ['These options are invalid:', ...error.problems.map((one) => `  ${describeOption(one)}`)]
    case 'PlanError':
      return [
        error.problems.every(({ _tag }) => _tag === 'InvalidWorkflow')
          ? 'Cannot run this workflow:'
          : `Cannot ${error.verb ?? 'resume'} this run:`,
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

/** Returns the edits that a user must undo or accept. Edits of steps in doubt and of pending jobs have other remedies. */
export const editsToUndo = (problems: ReadonlyArray<PlanProblem>) =>
  problems
    .filter((one) => one._tag === 'WorkflowChanged')
    .filter(({ inDoubt, pending }) => inDoubt !== true && pending !== true)

const remedyOfEdits = (problems: ReadonlyArray<PlanProblem>): ReadonlyArray<string> => {
  const changes = problems.filter((one) => one._tag === 'WorkflowChanged')
  const edits = editsToUndo(problems)
  const [first] = edits
  if (first === undefined) return []
  // A removed or reordered step may have run before the step that `fromStep` would name.
  const from = edits.every(({ edit }) => edit === 'changed' || edit === 'insertedBefore')
    ? `set fromStep: '${edits.length === 1 ? first.unit : top(first.unit)}'`
    : undefined
  const [edit, it] = edits.length === 1 ? ['edit', 'it'] : ['edits', 'them']
  const undo = edits.length === changes.length ? `Undo the ${edit}` : `After that, undo the other ${edit}`
  const accept = edits.some(({ otherKind }) => otherKind === true) ? undefined : `accept ${it} with changes: 'ignore'`
  const ways = [undo, from, accept].filter((one) => one !== undefined)
  return [ways.length > 2 ? `${undo}, ${from}, or ${accept}` : ways.join(' or ')]
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
      return `Run ${error.runId} cannot start without an input: ${expectedAt(error)}. Pass \`input\`; if the run should exist, check its id and the store`
    case 'InvalidInput':
      return `The input does not match the workflow: ${expectedAt(error)}; correct the input`
    case 'NoArchive':
      return `Run ${error.runId} cannot start: its program archives completed runs; set \`archive\` in the environment. Nothing was started`
    case 'PlanChanged':
      return `The plan is not the reviewed one: its hash is ${error.found}, not ${error.expected}; review it again`
    case 'RecoveryRefused':
      return `${describeLoss(error)}; ${consentOf(error)}`
    case 'TreeUnreadable':
      return `Cannot read the evidence in ${error.where}: ${error.why} (${error.code}); ${error.code === 'NO_STORE' ? 'set `artifacts` in the environment' : 'fix its permissions (or git)'}`
    case 'NoWorkspaces':
      return `Cannot use a workspace for run ${error.runId}: the environment has no \`workspaces\`; set them, as in { workspaces: workspaces(folder) }`
    case 'NoRequests':
      return `Cannot pause or cancel run ${error.runId}: the environment has no \`requests\`; set \`requests\` in the environments of this process and of the run's owner, both to fileRequests(folder) of dogear/json-file or to those of your store`
    case 'RunCancelled':
      return `Run ${error.runId} was cancelled; start a new run, or set \`reopen\` to resume it`
    case 'AlreadyAnswered':
      return `"${error.unit}" of run ${error.runId} already has an answer; resume the run to use it. To replace it once the run waits there, resume with fromStep "${error.unit}", then answer again`
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
    default:
      return describeStorage(error)
  }
}

/** Describes the damage to a state; the command adds its own remedy. */
export const describeLoss = ({ runId, from, lost }: RecoveryRefused): string =>
  `The newest state of run ${runId} is damaged: ${lost}. The recovered state is from ${from}`

const consentOf = ({ cause }: RecoveryRefused): string =>
  cause === undefined
    ? 'to continue from it, resume with the option `onRecovered`, a function that returns the name of the user who agrees'
    : `\`onRecovered\` did not agree: ${StepError.fromUnknown(cause).message}`

/** Describes a missing workspace; the command adds its own remedy. */
export const describeMissing = ({ runId, path, missing }: WorkspaceMissing): ReadonlyArray<string> => {
  const left = missing.flatMap((one) => one.missing.map((each) => `${describeEvidence(each)} of "${one.unit}"`))
  const named = left.length === 0 ? [] : [`Missing with it: ${listed(left, 3)}`]
  return [`Workspace not found for run ${runId}. It may have been cleaned up.`, `The run works in ${path}`, ...named]
}

const isChanged = ({ reason }: Confirm): boolean => reason._tag === 'EvidenceChanged'

const keeping = (questions: ReadonlyArray<Confirm>): ReadonlyArray<string> => {
  const keepable = questions.filter((question) => answersTo(question).includes('Keep'))
  if (keepable.length === 0) return []
  return [`    to keep the current state: ${confirming(keepable, "{ _tag: 'Keep' }")}`]
}

const confirming = (questions: ReadonlyArray<Confirm>, answer: string): string =>
  `confirm: new Map([${questions.map((question) => `[${JSON.stringify(question.unit)}, ${answer}]`).join(', ')}])`

/** Returns the heading above a list of questions. */
export const headOf = (questions: ReadonlyArray<Confirm>): string => {
  if (!questions.every(isChanged)) return 'These steps need an answer before they run again:'
  return questions.every(wouldOverwrite)
    ? 'These steps would overwrite changes made since they ran. Answer for each:'
    : 'The evidence of these steps changed since they ran. Answer for each:'
}

const remedyOfCopy = ({ store, code }: ArtifactsNotCopied): string => {
  if (code === 'TooLarge') return 'use a store with a higher limit'
  return store === 'source' && (code === 'MISSING' || code === 'Corrupt')
    ? 'restore it, or run its step again'
    : 'fix that store, then repeat the copy'
}

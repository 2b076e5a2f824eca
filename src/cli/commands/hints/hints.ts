/** Suggests the next actions for a run, as commands to copy. */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import { describeQuestion } from '../../../domain/explain/Explain.js'
import { listed } from '../../../domain/data/listed.js'
import type { Confirm, FoundEvidence, PlanOptions, PlanProblem, ResumePlan } from '../../../domain/plan/Plan.js'
import { openQuestions } from '../../../domain/plan/Plan.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { top } from '../../../domain/workflow/Unit.js'
import { planResume } from '../../../domain/plan/planResume.js'
import { definitionAt } from '../../../domain/workflow/Node.js'
import type { Step, Workflow } from '../../../domain/workflow/Workflow.js'
import type { WorkflowIdentity } from '../../../domain/workflow/WorkflowIdentity.js'
import { CHECK_FAILED } from '../../../executor/steps/guarded.js'
import type { RunError } from '../../../executor/RunError.js'
import type { RunOutcome } from '../../../executor/RunOutcome.js'
import type { RunSummary } from '../../../executor/storage/runs.js'
import type { Holder } from '../../../ports/CheckpointStorage.js'
import type { Hint } from '../../report/Hint.js'
import { harmfulFrom, waveBefore } from '../find/definitions.js'
import type { Context } from '../Context.js'
import { dogearCommand, looking } from '../Context.js'
import type { Difference } from '../execution/input.js'
import type { PlanFlags } from '../execution/planFlags.js'
import { wordsOf } from '../execution/planFlags.js'

/** Where commands are to be copied to. */
type Place = Pick<Context, 'home' | 'folder'>

/** The flags of a resume about an owner that may be dead. */
export interface TakeOverFlags extends PlanFlags {
  readonly takeOver?: boolean
  readonly yes?: boolean
}

/** The flags of a resume that its command line repeats. */
export type Flags = TakeOverFlags

/** What was planned: a run, with a workflow, as the flags say. */
export interface Planning {
  readonly checkpoint: Checkpoint
  readonly workflow: Workflow & { readonly identity: WorkflowIdentity }
  readonly options: PlanOptions
  readonly flags: Flags
}

/** The command line that resumes a run. */
export const resumeLine = (place: Place, runId: string, flags: Flags = {}, more: ReadonlyArray<string> = []): string =>
  dogearCommand(place, [
    'resume',
    runId,
    ...wordsOf(flags),
    ...more,
    ...(flags.takeOver === true ? ['--take-over'] : []),
    ...(flags.yes === true ? ['--yes'] : [])
  ])

/** How to go on with a run: with the answers to what will be asked, if anything will, else in these words. */
export const goOn = (
  place: Place,
  runId: string,
  workflow: Workflow,
  questions: ReadonlyArray<Confirm>,
  text: string
): ReadonlyArray<Hint> =>
  questions.length === 0
    ? [{ text, command: resumeLine(place, runId) }]
    : [
        ...questions.map((question) => ({ text: describeQuestion(question) })),
        ...answers(place, runId, {}, workflow, questions)
      ]

/** Which check of which composite failed, if any. */
export const failedCheckOf = (
  workflow: Workflow,
  outcome: RunOutcome
): { readonly unit: Unit; readonly when: 'before' | 'after' } | undefined => {
  if (outcome._tag !== 'Failed') return undefined
  const failure = outcome.failures.find(
    ({ unit, error }) => error.code === CHECK_FAILED && definitionAt<Step>(workflow, unit)?._tag !== 'Task'
  )
  return failure && { unit: failure.unit, when: failure.outcome === 'notApplied' ? 'before' : 'after' }
}

/**
 * How to run a wave again after its `after` check failed, or the wave before one whose `before` check failed. Offers only
 * actions that can be planned.
 */
export const ofFailedCheck = (
  place: Place,
  workflow: Workflow,
  outcome: RunOutcome,
  evidence: ReadonlyArray<FoundEvidence>
): ReadonlyArray<Hint> => {
  const failed = failedCheckOf(workflow, outcome)
  if (failed === undefined || outcome._tag !== 'Failed') return []
  const { unit, when } = failed
  const wave = when === 'after' ? unit : waveBefore(workflow, unit)
  if (wave === undefined) return []
  const plan = planResume(outcome.checkpoint, workflow, { restartWave: wave, evidence })
  if (E.isLeft(plan) || openQuestions(plan.right).length > 0) return []
  const harmful = harmfulFrom(workflow, wave, when === 'after' ? undefined : unit)
  const named = harmful.length === 0 ? '' : `, including steps that are not idempotent (${harmful.join(', ')})`
  const parts = definitionAt<Step>(workflow, wave)?._tag === 'Sequence' ? 'steps' : 'groups'
  const what = when === 'after' ? `To run the ${parts} of "${wave}" again` : `To run again from "${wave}" on`
  const yes = harmful.length === 0 ? {} : { yes: true }
  return [{ text: `${what}${named}:`, command: resumeLine(place, outcome.runId, { restartWave: wave, ...yes }) }]
}

/** For a run that waits for jobs. */
export const ofPending = (place: Place, runId: string): ReadonlyArray<Hint> => [
  { text: 'Poll it with:', command: dogearCommand(place, ['poll', runId]) }
]

/** For a run that this process has lost. `isThere`: the run still exists; it may also have been deleted. */
export const ofTakenOver = (place: Place, runId: string, isThere: boolean): Hint =>
  isThere
    ? looking(place, runId)
    : { text: 'It no longer exists. List the runs with:', command: dogearCommand(place, ['runs']) }

/** The command lines that answer the open questions. */
export const answers = (
  place: Place,
  runId: string,
  flags: Flags,
  workflow: Workflow,
  questions: ReadonlyArray<Confirm>
): ReadonlyArray<Hint> => {
  const answering = (answer: 'again' | 'keep' | 'done'): string =>
    resumeLine(
      place,
      runId,
      flags,
      questions.flatMap((question) => {
        const hasOutput = isEdited(question) || captures(workflow, question).length === 0
        return ['--confirm', `${question.unit}=${answer}${answer === 'done' && !hasOutput ? ':OUTPUT' : ''}`]
      })
    )
  if (questions.some(isEdited))
    return [
      { text: 'To run again and overwrite the changes:', command: answering('again') },
      ...(questions.some((question) => !mayKeep(workflow, question))
        ? []
        : [{ text: 'To keep the changes and run nothing for them:', command: answering('keep') }]),
      { text: 'To count as done and run all later steps again:', command: answering('done') },
      ...(questions.length === 1 ? [] : [{ text: '(or a combination)' }]),
      ...ofLaterRuns(questions)
    ]
  return [
    { text: 'To run again:', command: answering('again') },
    { text: 'To take as done:', command: answering('done') },
    ...(questions.length === 1 ? [] : [{ text: '(or a mixture of both)' }])
  ]
}

/** The commands that answer for changed evidence of forced units. `pin`: the reviewed plan, which such an answer does not change. */
export const forcedAnswers = (
  place: Place,
  runId: string,
  flags: Flags,
  pin: ReadonlyArray<string>,
  questions: ReadonlyArray<Confirm>
): ReadonlyArray<Hint> => {
  const again = [...questions.flatMap((one) => ['--confirm', `${one.unit}=again`]), ...pin]
  const { force: _, fromStep: __, restartWave: ___, input: ____, ...others } = flags
  return [
    { text: 'To run again and overwrite the changes:', command: resumeLine(place, runId, flags, again) },
    { text: 'To resume from the current step instead, after a question:', command: resumeLine(place, runId, others) }
  ]
}

const isEdited = ({ reason }: Confirm): boolean => reason._tag === 'EvidenceChanged'

/** Whether changed evidence can be kept; a map that runs again as a whole has no record to keep. */
export const mayKeep = (workflow: Workflow, question: Confirm): boolean =>
  isEdited(question) && definitionAt<Step>(workflow, question.unit)?._tag !== 'Map'

const MAX_FILES = 3

/** The alternative for files that change legitimately. */
const ofLaterRuns = (questions: ReadonlyArray<Confirm>): ReadonlyArray<Hint> => {
  const paths = new Set(
    questions.flatMap(({ reason }) =>
      reason._tag === 'EvidenceChanged'
        ? reason.changed.flatMap(({ was }) => (was._tag === 'Artifact' ? [was.path] : []))
        : []
    )
  )
  const files = [...paths].slice(0, MAX_FILES).join(', ')
  if (files === '') return []
  return [
    {
      text: `If these files may change at any time, require only that they exist in later runs: expect: { files: [${files}] } instead of artifacts`
    }
  ]
}

/** What can be done about a plan that was refused. Only what would be planned is offered. */
export const ofPlanError = (
  place: Place,
  planning: Planning,
  problems: ReadonlyArray<PlanProblem>
): ReadonlyArray<Hint> => [
  ...problems.flatMap((problem) => (problem._tag === 'WrongWorkflow' ? ofWrongWorkflow(place, planning, problem) : [])),
  ...problems.flatMap((problem) => (problem._tag === 'NotAWave' ? ofNoWave(place, planning, problem) : [])),
  ...ofMissingOutputs(place, planning, problems),
  ...ofMissingEvidence(place, planning, problems),
  ...ofEdits(place, planning, problems)
]

/** Another file is no edit of the run's own. */
const ofWrongWorkflow = (
  place: Place,
  { checkpoint, workflow }: Planning,
  { expected }: PlanProblem & { readonly _tag: 'WrongWorkflow' }
): ReadonlyArray<Hint> => {
  const { path } = checkpoint.workflow
  return path !== undefined && path !== workflow.identity.path
    ? [{ text: `Resume it with its own file, ${path}:`, command: resumeLine(place, checkpoint.runId) }]
    : [{ text: `Give the workflow its old name back, then resume: name: ${expected}` }]
}

const ofNoWave = (
  place: Place,
  { checkpoint, flags: { restartWave: _, ...flags } }: Planning,
  { step, available, steps }: PlanProblem & { readonly _tag: 'NotAWave' }
): ReadonlyArray<Hint> => {
  const from = (fromStep: string): string => resumeLine(place, checkpoint.runId, { ...flags, fromStep })
  if (steps.includes(step)) return [{ text: `To run from "${step}" on:`, command: from(step) }]
  return available.length > 0 ? [] : [{ text: 'To run from a step on:', command: from('STEP') }]
}

const ofEdits = (
  place: Place,
  { checkpoint, workflow, options, flags: { force: _, restartWave: __, ...flags } }: Planning,
  problems: ReadonlyArray<PlanProblem>
): ReadonlyArray<Hint> => {
  const edits = problems.filter((problem) => problem._tag === 'WorkflowChanged')
  if (edits.length === 0 || edits.some(({ inDoubt }) => inDoubt === true)) return []
  const edited = new Set(edits.map(({ unit }) => top(unit)))
  const [only] = edits.length === 1 ? edits.map(({ unit }) => unit) : []
  const isThere = only !== undefined && definitionAt<Step>(workflow, only) !== undefined
  const from = isThere ? only : workflow.steps.find(({ name }) => edited.has(name))?.name
  const { restartWave: ___, ...others } = options
  /** The first of these ways that can be planned. */
  const offer = (
    text: string,
    ...ways: ReadonlyArray<Pick<PlanOptions, 'changes' | 'fromStep'>>
  ): ReadonlyArray<Hint> => {
    const way = ways.find((one) => E.isRight(planResume(checkpoint, workflow, { ...others, ...one })))
    return way === undefined ? [] : [{ text, command: resumeLine(place, checkpoint.runId, { ...flags, ...way }) }]
  }
  return [
    ...(from === undefined
      ? []
      : offer(
          `To run again from "${from}" on:`,
          { fromStep: from },
          { fromStep: from, changes: 'completed' },
          { fromStep: from, changes: 'ignore' }
        )),
    ...offer(
      'To let what is recorded count in spite of the change:',
      ...(options.changes === 'strict' ? [{ changes: 'completed' } as const] : []),
      { changes: 'ignore' }
    )
  ]
}

/** For units that were said to be done, or come before the step to run from, but not what they gave. */
const ofMissingOutputs = (
  place: Place,
  { checkpoint, flags }: Planning,
  problems: ReadonlyArray<PlanProblem>
): ReadonlyArray<Hint> => {
  const recorded = new Set(Array.from(checkpoint.completedSteps, ({ unit }) => unit))
  const units = problems.flatMap((one) => (one._tag === 'AssumedOutputMissing' ? [one.unit] : []))
  const missing = new Set(units.filter((unit) => !recorded.has(unit)).map((unit) => `${unit}=done`))
  const given = new Set(flags.confirm)
  const presupposed = flags.fromStep === undefined ? [] : [...missing].filter((answer) => !given.has(answer))
  if (presupposed.length === 0 && ![...given].some((answer) => missing.has(answer))) return []
  const confirm = [...given, ...presupposed].map((answer) => (missing.has(answer) ? `${answer}:OUTPUT` : answer))
  return [{ text: 'Pass its output:', command: resumeLine(place, checkpoint.runId, { ...flags, confirm }) }]
}

/** For recorded units whose evidence is missing: a resume without a start runs them again. */
const ofMissingEvidence = (
  place: Place,
  { checkpoint, workflow, options }: Planning,
  problems: ReadonlyArray<PlanProblem>
): ReadonlyArray<Hint> => {
  const units = problems.flatMap((one) =>
    one._tag === 'AssumedOutputMissing' && one.evidence === true ? [one.unit] : []
  )
  const { evidence = [] } = options
  if (units.length === 0 || E.isLeft(planResume(checkpoint, workflow, { evidence }))) return []
  return [
    { text: `To run ${listed(units.map((unit) => `"${unit}"`))} again:`, command: resumeLine(place, checkpoint.runId) }
  ]
}

/**
 * What can be done about an execution that came to no outcome. `restart`: the words that would start the run again, if
 * nothing of it was ever saved.
 */
export const ofRunError = (
  place: Place,
  runId: string,
  workflow: Workflow,
  restart: ReadonlyArray<string> | undefined,
  error: RunError
): ReadonlyArray<Hint> => {
  switch (error._tag) {
    case 'RunExists':
    case 'InputChanged':
      return ofExisting(place, runId)
    case 'WorkspaceGone':
      return ofGone(place, error)
    case 'WriteFailed':
    case 'TooLarge':
    case 'WorkspaceFailed':
      return restart === undefined
        ? [{ text: 'After fixing this, resume with:', command: resumeLine(place, runId) }]
        : [
            {
              text: 'No step ran. After fixing this, run it again:',
              command: dogearCommand(place, restart)
            }
          ]
    case 'SecretsMissing':
      return [
        {
          text: 'When they are set:',
          command: restart === undefined ? resumeLine(place, runId) : dogearCommand(place, restart)
        }
      ]
    case 'RecoveryRefused':
      return ofDamage(place, runId, {})
    case 'HeldBy':
      return ofHeld(place, runId, error.holder, {})
    case 'Unconfirmed':
      return answers(place, runId, {}, workflow, error.questions)
    default:
      return []
  }
}

/** For a run that another process holds: how to take it over if the owner's liveness is undecided. */
export const ofHeld = (place: Place, runId: string, { liveness }: Holder, flags: Flags = {}): ReadonlyArray<Hint> =>
  liveness === 'alive'
    ? flags.takeOver === true
      ? [{ text: '--take-over was refused: the owner is proven alive' }]
      : []
    : [
        {
          text: 'If you know that it is dead, take the run over:',
          command: resumeLine(place, runId, { ...flags, takeOver: true })
        }
      ]

/** For a run whose workspace is gone. One of its own is made anew if everything is to run again. */
export const ofGone = (
  place: Place,
  { runId, kind }: RunError & { readonly _tag: 'WorkspaceGone' }
): ReadonlyArray<Hint> =>
  kind === 'none'
    ? [{ text: 'Nothing was executed. Make that folder again, with what is missed, or start a new run' }]
    : [
        {
          text: 'Nothing was executed. To start over, with a new workspace:',
          command: resumeLine(place, runId, { force: true })
        }
      ]

/** For a run that is there already. */
export const ofExisting = (place: Place, runId: string): ReadonlyArray<Hint> => [
  { text: 'To resume it:', command: resumeLine(place, runId) }
]

/** For a run whose id a new run asked for. `start`: the words that start a run with another id. */
export const ofTaken = (place: Place, run: RunSummary, start: ReadonlyArray<string>): ReadonlyArray<Hint> => [
  { text: `It is a run of ${run.workflow.name}: ${positionOf(run)}` },
  ...(run.workflow.path === undefined
    ? [{ ...looking(place, run.runId), text: 'A program started it. Look at it with:' }, another(place, start)]
    : run.status === 'completed'
      ? [
          { text: 'To run it again, from the first step:', command: resumeLine(place, run.runId, { force: true }) },
          another(place, start)
        ]
      : ofExisting(place, run.runId))
]

const another = (place: Place, start: ReadonlyArray<string>): Hint => ({
  text: 'To start a run with a generated id:',
  command: dogearCommand(place, start)
})

/** The progress and the start time of a run. */
export const positionOf = ({ status, steps, createdAt }: RunSummary): string =>
  `${status}, ${steps.completed}/${steps.total} steps completed, started ${minute(createdAt)}`

/** Formats a time: `2026-01-02 03:04 UTC`. */
export const minute = (at: string): string => `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`

/**
 * For a run that was started with another input: the differences, and how to continue with either. `how`: the flags of the
 * resume; `given`: the new input as words; `start`: the words that start a run with it.
 */
export const ofOtherInput = (
  place: Place,
  runId: string,
  how: Flags,
  differences: ReadonlyArray<Difference>,
  given: ReadonlyArray<string>,
  start: ReadonlyArray<string>
): ReadonlyArray<Hint> => [
  ...differences.map(({ name, given, recorded }) => ({
    text: `  ${name}: given ${quoted(given)}, ${recorded === undefined ? 'started without it' : `started with ${quoted(recorded)}`}`
  })),
  { text: 'To resume with its recorded input:', command: resumeLine(place, runId, how) },
  {
    text: 'To use the new input from a step on:',
    command: dogearCommand(place, ['resume', runId, '--from-step', 'STEP', ...given])
  },
  { text: 'To start a new run with the new input:', command: dogearCommand(place, start) }
]

/** The step from which a run has another input, and the differences. */
export const inputReplaced = (step: string, differences: ReadonlyArray<Difference>): string => {
  const values = differences.map(({ name, given, recorded }) => {
    const was = recorded === undefined ? ', previously unset' : ` instead of ${quoted(recorded)}`
    return `${name} ${quoted(given)}${was}`
  })
  return `Input replaced from step ${quoted(step)} on: ${values.join('; ')}`
}

const MAX_VALUE = 60

const quoted = (value: string): string =>
  JSON.stringify(value.length > MAX_VALUE ? `${value.slice(0, MAX_VALUE - 1)}…` : value)

/** For a run whose newest state is damaged. */
export const ofDamage = (place: Place, runId: string, flags: Flags): ReadonlyArray<Hint> => [
  { text: 'To resume from the recovered state:', command: resumeLine(place, runId, { ...flags, yes: true }) }
]

/** The variables that a unit which has to be asked about would have captured. */
export const captures = (workflow: Workflow, { unit }: Confirm): ReadonlyArray<string> => {
  const step = definitionAt<Step>(workflow, unit)
  return step?._tag === 'Task' ? step.captures : []
}

/** Whether a plan has nothing to run. */
export const isDone = ({ decisions }: ResumePlan): boolean => decisions.every((decision) => decision._tag === 'Skip')

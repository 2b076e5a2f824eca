/**
 * What to do next: all hints that commands give, with the command lines to copy.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../../domain/Checkpoint.js'
import { describeQuestion } from '../../domain/Explain.js'
import type { Confirm, PlanOptions, PlanProblem, ResumePlan } from '../../domain/Plan.js'
import { openQuestions, unitName } from '../../domain/Plan.js'
import { planResume } from '../../domain/planResume.js'
import type { Workflow } from '../../domain/Workflow.js'
import { tasks } from '../../domain/Workflow.js'
import type { RunError } from '../../executor/RunError.js'
import type { Hint } from '../report/Hint.js'
import { printable } from '../terminal/Style.js'
import type { Context } from './Context.js'
import { dogearCommand } from './Context.js'
import type { Difference } from './input.js'
import type { PlanFlags } from './planFlags.js'
import { wordsOf } from './planFlags.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/** Where commands are to be copied to. */
type Place = Pick<Context, 'home' | 'folder'>

/** The flags of a resume that its command line repeats. */
type Flags = PlanFlags & { readonly yes?: boolean }

/**
 * What was planned: a run, with a workflow, as the flags say.
 *
 * @category model
 * @since 0.1.0
 */
export interface Planning {
  readonly checkpoint: Checkpoint
  readonly workflow: Workflow
  readonly options: PlanOptions
  readonly flags: Flags
}

// ---------------------------------------------------------------------------------------------------------------------
// going on
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The command line that resumes a run.
 *
 * @category destructors
 * @since 0.1.0
 */
export const resumeLine = (place: Place, runId: string, flags: Flags = {}, more: ReadonlyArray<string> = []): string =>
  dogearCommand(place, ['resume', runId, ...wordsOf(flags), ...more, ...(flags.yes === true ? ['--yes'] : [])])

/**
 * How to go on with a run: with the answers to what will be asked, if anything will, else in these words.
 *
 * @category constructors
 * @since 0.1.0
 */
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
        ...questions.map((question) => ({ text: printable(describeQuestion(question)) })),
        ...answers(place, runId, {}, workflow, questions)
      ]

/**
 * For a run that waits for jobs.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofPending = (place: Place, runId: string): ReadonlyArray<Hint> => [
  { text: 'Ask what became of it with:', command: dogearCommand(place, ['poll', runId]) }
]

/**
 * The command lines that answer the open questions.
 *
 * @category constructors
 * @since 0.1.0
 */
export const answers = (
  place: Place,
  runId: string,
  flags: Flags,
  workflow: Workflow,
  questions: ReadonlyArray<Confirm>
): ReadonlyArray<Hint> => {
  const answering = (answer: 'again' | 'done'): string =>
    resumeLine(
      place,
      runId,
      flags,
      questions.flatMap((question) => {
        const output = answer === 'done' && captures(workflow, question).length > 0 ? ':OUTPUT' : ''
        return ['--confirm', `${unitName(question)}=${answer}${output}`]
      })
    )
  return [
    { text: 'To run again:', command: answering('again') },
    { text: 'To take as done:', command: answering('done') },
    ...(questions.length === 1 ? [] : [{ text: '(or a mixture of both)' }])
  ]
}

// ---------------------------------------------------------------------------------------------------------------------
// errors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What can be done about a plan that was refused. Only what would be planned is offered.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofPlanError = (
  place: Place,
  planning: Planning,
  problems: ReadonlyArray<PlanProblem>
): ReadonlyArray<Hint> => [
  ...problems.flatMap((problem) =>
    problem._tag === 'WrongWorkflow'
      ? [{ text: `Give the workflow its old name back, then resume: name: ${problem.expected}` }]
      : []
  ),
  ...ofMissingOutputs(place, planning, problems),
  ...ofEdits(place, planning, problems)
]

const ofEdits = (
  place: Place,
  { checkpoint, workflow, options, flags: { force: _, restartWave: __, ...flags } }: Planning,
  problems: ReadonlyArray<PlanProblem>
): ReadonlyArray<Hint> => {
  const edits = problems.filter((problem) => problem._tag === 'WorkflowChanged')
  if (edits.length === 0 || edits.some(({ inDoubt }) => inDoubt === true)) return []
  const from = workflow.steps.find(({ name }) => edits.some(({ step }) => step === name))?.name
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
      : offer(`To run again from "${from}" on:`, { fromStep: from }, { fromStep: from, changes: 'ignore' })),
    ...offer('To let what is recorded count in spite of the change:', { changes: 'ignore' })
  ]
}

/** For units that were said to be done, or come before the step to run from, but not what they gave. */
const ofMissingOutputs = (
  place: Place,
  { checkpoint, flags }: Planning,
  problems: ReadonlyArray<PlanProblem>
): ReadonlyArray<Hint> => {
  const recorded = new Set(Array.from(checkpoint.completedSteps, unitName))
  const units = problems.flatMap((one) => (one._tag === 'AssumedOutputMissing' ? [unitName(one)] : []))
  const missing = units.filter((unit) => !recorded.has(unit)).map((unit) => `${unit}=done`)
  const given = flags.confirm ?? []
  const presupposed = flags.fromStep === undefined ? [] : missing.filter((answer) => !given.includes(answer))
  if (presupposed.length === 0 && !given.some((answer) => missing.includes(answer))) return []
  const confirm = [...given, ...presupposed].map((answer) => (missing.includes(answer) ? `${answer}:OUTPUT` : answer))
  return [{ text: 'Say what it gave:', command: resumeLine(place, checkpoint.runId, { ...flags, confirm }) }]
}

/**
 * What can be done about an execution that came to no outcome. `restart`: the words that would start the run again, if
 * nothing of it was ever saved.
 *
 * @category constructors
 * @since 0.1.0
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
        ? [{ text: 'When that is mended, go on with:', command: resumeLine(place, runId) }]
        : [
            {
              text: 'Nothing was started. When that is mended, run it again:',
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
    case 'Unconfirmed':
      return answers(place, runId, {}, workflow, error.questions)
    default:
      return []
  }
}

/**
 * For a run whose workspace is gone. One of its own is made anew if everything is to run again.
 *
 * @category constructors
 * @since 0.1.0
 */
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

/**
 * For a run that is there already.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofExisting = (place: Place, runId: string): ReadonlyArray<Hint> => [
  { text: 'To go on with it:', command: resumeLine(place, runId) }
]

/**
 * For a run that was started with another input than what is given: what differs, and how to go on with either. `how`:
 * the flags of the resume; `start`: the words that start a run with what is given.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofOtherInput = (
  place: Place,
  runId: string,
  how: Flags,
  differences: ReadonlyArray<Difference>,
  start: ReadonlyArray<string>
): ReadonlyArray<Hint> => [
  ...differences.map(({ name, given, recorded }) => ({
    text: `  ${name}: given ${quoted(given)}, ${recorded === undefined ? 'which it was started without' : `started with ${quoted(recorded)}`}`
  })),
  { text: 'A run keeps its input. To go on with that:', command: resumeLine(place, runId, how) },
  { text: 'To start a new run with what is given:', command: dogearCommand(place, start) }
]

const MAX_VALUE = 60

const quoted = (value: string): string =>
  printable(JSON.stringify(value.length > MAX_VALUE ? `${value.slice(0, MAX_VALUE - 1)}…` : value))

/**
 * For a workflow that has no run yet.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofNoRunOf = (place: Place, shown: string): ReadonlyArray<Hint> => [
  ...ofNoRun(place),
  { text: 'Start one:', command: dogearCommand(place, ['run', shown]) }
]

/**
 * For a run whose newest state is damaged.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofDamage = (place: Place, runId: string, flags: Flags): ReadonlyArray<Hint> => [
  { text: 'To go on from what was recovered:', command: resumeLine(place, runId, { ...flags, yes: true }) }
]

/**
 * For a run that was not found: where it was looked for. `tooShortFor`: how many characters the beginning of an id needs,
 * if these were too few.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofNoRun = ({ home }: Place, tooShortFor?: number): ReadonlyArray<Hint> => [
  { text: `Looked in ${printable(home)}` },
  ...(tooShortFor === undefined ? [] : [{ text: `The beginning of an id needs at least ${tooShortFor} characters` }])
]

/**
 * For a run whose workflow file can't be read.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofMissingFile = (place: Place, runId: string): ReadonlyArray<Hint> => [
  { text: `Run ${runId} was started from it. Put it back, then resume` },
  {
    text: 'Or, if it was moved, go on with the file where it is now:',
    command: dogearCommand(place, ['run', 'NEWPATH', '--id', runId, '--resume'])
  }
]

/**
 * Where no run can be resumed: those in progress, or where to find all.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofNothing = (place: Place, active: ReadonlyArray<string>, total: number): ReadonlyArray<Hint> => {
  if (active.length > 0) return [{ text: 'In progress:' }, ...active.map((text) => ({ text }))]
  return total === 0
    ? [{ text: `Looked in ${printable(place.home)}` }]
    : [{ text: 'List all:', command: dogearCommand(place, ['runs']) }]
}

// ---------------------------------------------------------------------------------------------------------------------
// plans
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What a resume will ask before it runs anything.
 *
 * @category destructors
 * @since 0.1.0
 */
export const questionsOf = (checkpoint: Checkpoint, workflow: Workflow): ReadonlyArray<Confirm> => {
  const plan = planResume(checkpoint, workflow)
  return E.isLeft(plan) ? [] : openQuestions(plan.right)
}

/**
 * The variables that a unit which has to be asked about would have captured.
 *
 * @category destructors
 * @since 0.1.0
 */
export const captures = (workflow: Workflow, { stepIndex, group, step }: Confirm): ReadonlyArray<string> => {
  const found = workflow.steps[stepIndex]
  return found === undefined ? [] : (tasks(found).find(({ name }) => name === (group ?? step))?.captures ?? [])
}

/**
 * Whether a plan has nothing to run.
 *
 * @category refinements
 * @since 0.1.0
 */
export const isDone = ({ decisions }: ResumePlan): boolean => decisions.every((decision) => decision._tag === 'Skip')

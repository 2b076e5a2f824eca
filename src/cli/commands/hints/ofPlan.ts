/** Suggests how to resume, as commands to copy: with questions to answer, a failed check, or a refused plan. */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import { listed } from '../../../domain/data/listed.js'
import type { Decision, PlanOptions, ResumePlan, Confirm, FoundEvidence } from '../../../domain/plan/Plan.js'
import type { PlanProblem } from '../../../domain/plan/PlanProblem.js'
import { openQuestions, answersTo } from '../../../domain/plan/Plan.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { ancestors, top } from '../../../domain/workflow/Unit.js'
import { planResume } from '../../../domain/plan/planResume.js'
import { definitionAt } from '../../../domain/workflow/Node.js'
import type { Step, Workflow } from '../../../domain/workflow/Workflow.js'
import type { RunError } from '../../../executor/errors/RunError.js'
import { editsToUndo } from '../../../executor/errors/describe.js'
import type { Hint } from '../../report/Hint.js'
import type { AnyProgram } from '../../workflow/toProgram.js'
import type { Place } from '../Context.js'
import type { PrintedFlags } from '../execution/planFlags.js'
import { resumeHint, resumeLine } from '../execution/planFlags.js'
import { ofMissingWorkspace } from './ofRun.js'
import { describeQuestion } from '../../../domain/explain/Explain.js'
import type { RunOutcome } from '../../../executor/RunOutcome.js'
import { CHECK_FAILED } from '../../../executor/steps/guarded.js'
import { waveBefore, nonIdempotentFrom, asksForChanges, captures } from '../find/definitions.js'

/** The command that resumes a run, after `text`; or the questions that it will ask, with the commands that answer them. */
export const resumeHints = (
  place: Place,
  runId: string,
  workflow: Workflow,
  questions: ReadonlyArray<Confirm>,
  text: string,
  flags: PrintedFlags = {}
): ReadonlyArray<Hint> =>
  questions.length === 0
    ? [resumeHint(place, text, runId, flags)]
    : [
        ...questions.map((question) => ({ text: describeQuestion(question) })),
        ...ofQuestions(place, runId, flags, workflow, questions)
      ]

/** The composite whose check failed, if that is why the run failed. */
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

/** The command that runs a wave again: the one whose `after` check failed, or the one before a failed `before` check. Nothing if that cannot be planned. */
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
  const nonIdempotent = nonIdempotentFrom(workflow, wave, when === 'after' ? undefined : unit)
  const named =
    nonIdempotent.length === 0 ? '' : `, including steps that are not idempotent (${nonIdempotent.join(', ')})`
  const parts = definitionAt<Step>(workflow, wave)?._tag === 'Sequence' ? 'steps' : 'groups'
  const what = when === 'after' ? `To run the ${parts} of "${wave}" again` : `To run again from "${wave}" on`
  const yes = nonIdempotent.length === 0 ? {} : { yes: true }
  return [resumeHint(place, `${what}${named}:`, outcome.runId, { restartWave: wave, ...yes })]
}

/** The commands that answer all questions in one way. */
export const ofQuestions = (
  place: Place,
  runId: string,
  flags: PrintedFlags,
  workflow: Workflow,
  questions: ReadonlyArray<Confirm>
): ReadonlyArray<Hint> => {
  const answering = (answer: 'again' | 'keep' | 'done'): string =>
    resumeLine(
      place,
      runId,
      flags,
      questions.flatMap((question) => {
        const needsOutput = answer === 'done' && !asksForChanges(question) && captures(workflow, question).length > 0
        return ['--confirm', `${question.unit}=${answer}${needsOutput ? ':OUTPUT' : ''}`]
      })
    )
  const isChange = questions.some(asksForChanges)
  return [
    { text: isChange ? 'To run again and overwrite the changes:' : 'To run again:', command: answering('again') },
    ...(questions.every((question) => answersTo(question).includes('Keep'))
      ? [{ text: 'To keep the changes and run nothing for them:', command: answering('keep') }]
      : []),
    {
      text: isChange ? 'To count as done and run all later steps again:' : 'To count as done:',
      command: answering('done')
    },
    ...(questions.length === 1 ? [] : [{ text: '(or a combination)' }]),
    ...ofLaterRuns(questions)
  ]
}

/** The commands that answer for changed evidence of forced units. `pin`: the reviewed plan. */
export const forcedAnswers = (
  place: Place,
  runId: string,
  flags: PrintedFlags,
  pin: ReadonlyArray<string>,
  questions: ReadonlyArray<Confirm>
): ReadonlyArray<Hint> => {
  const again = [...questions.flatMap((one) => ['--confirm', `${one.unit}=again`]), ...pin]
  // Without the force, other answers may have no question.
  const { force, fromStep: _, restartWave, input: __, confirm: ___, ...others } = flags
  const forcing = force === true ? '--force' : restartWave === undefined ? '--from-step' : '--restart-wave'
  return [
    resumeHint(place, 'To run again and overwrite the changes:', runId, flags, again),
    resumeHint(place, `To resume without ${forcing}, and answer for the changes first:`, runId, others)
  ]
}

const MAX_FILES = 3

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
      text: `If these files may change at any time, let later runs check only that they exist: write expect: { files: [${files}] } instead of artifacts`
    }
  ]
}

export interface Planning {
  readonly checkpoint: Checkpoint
  readonly workflow: AnyProgram
  readonly options: PlanOptions
  readonly flags: PrintedFlags
}

export const ofRefusedPlan = (place: Place, planning: Planning, error: RunError): ReadonlyArray<Hint> =>
  error._tag === 'PlanError'
    ? ofPlanError(place, planning, error.problems)
    : error._tag === 'WorkspaceMissing'
      ? ofMissingWorkspace(place, error)
      : []

/** The remedies for a refused plan; each of them can be planned. */
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

const ofWrongWorkflow = (
  place: Place,
  { checkpoint, workflow }: Planning,
  { expected }: PlanProblem & { readonly _tag: 'WrongWorkflow' }
): ReadonlyArray<Hint> => {
  const { path } = checkpoint.workflow
  return path !== undefined && path !== workflow.path
    ? [resumeHint(place, `Resume it with its own file, ${path}:`, checkpoint.runId)]
    : [{ text: `Set the name of the workflow to "${expected}" again, then resume` }]
}

const ofNoWave = (
  place: Place,
  { checkpoint, flags: { restartWave: _, ...flags } }: Planning,
  { step, exists, available }: PlanProblem & { readonly _tag: 'NotAWave' }
): ReadonlyArray<Hint> => {
  const from = (fromStep: string): string => resumeLine(place, checkpoint.runId, { ...flags, fromStep })
  if (exists) return [{ text: `To run from "${step}" on:`, command: from(step) }]
  return available.length > 0 ? [] : [{ text: 'To run from a step on:', command: from('STEP') }]
}

const ofEdits = (place: Place, planning: Planning, problems: ReadonlyArray<PlanProblem>): ReadonlyArray<Hint> => {
  const {
    checkpoint,
    workflow,
    options,
    flags: { force: _, restartWave: __, ...flags }
  } = planning
  const edits = problems.filter((problem) => problem._tag === 'WorkflowChanged')
  if (edits.length === 0) return []
  // Accepting the other edits now would accept those in doubt too.
  if (edits.some(({ inDoubt }) => inDoubt === true)) {
    const others = editsToUndo(problems).length
    const [edit, them] = others === 1 ? ['edit', 'it'] : ['edits', 'them']
    return others === 0 ? [] : [{ text: `After that, undo the other ${edit}, or accept ${them} with --changes ignore` }]
  }
  const edited = new Set(edits.map(({ unit }) => top(unit)))
  const [only] = edits.length === 1 ? edits.map(({ unit }) => unit) : []
  const isThere = only !== undefined && definitionAt<Step>(workflow, only) !== undefined
  const from = isThere ? only : workflow.steps.find(({ name }) => edited.has(name))?.name
  const { restartWave: ___, ...others } = options
  /** Offers the first way that can be planned. */
  const offer = (
    text: string | ((plan: ResumePlan) => string),
    ...ways: ReadonlyArray<Pick<PlanOptions, 'changes' | 'fromStep'>>
  ): ReadonlyArray<Hint> => {
    for (const way of ways) {
      const plan = planResume(checkpoint, workflow, { ...others, ...way })
      if (E.isLeft(plan)) continue
      const again = way.fromStep === undefined ? [] : runningAgain(planning, { ...others, ...way })
      const command = resumeLine(place, checkpoint.runId, { ...flags, ...way }, again)
      return [{ text: typeof text === 'string' ? text : text(plan.right), command }]
    }
    return []
  }
  const jobs = edits.filter(({ pending }) => pending === true).length
  return [
    ...(from === undefined
      ? []
      : offer(
          `To ${abandoning(jobs)}run again from "${from}" on:`,
          { fromStep: from },
          { fromStep: from, changes: 'completed' },
          { fromStep: from, changes: 'ignore' }
        )),
    ...(edits.some((edit) => leavesJob(workflow, edit))
      ? []
      : offer(
          (plan) => accepting(checkpoint, plan, edits),
          ...(options.changes === 'strict' ? [{ changes: 'completed' } as const] : []),
          { changes: 'ignore' }
        ))
  ]
}

/** Returns whether a plan that accepts this edit waits for a job that the step can no longer poll. */
const leavesJob = (
  { steps }: Planning['workflow'],
  { unit, pending, present }: PlanProblem & { readonly _tag: 'WorkflowChanged' }
): boolean => {
  const step = pending === true && present !== undefined ? definitionAt({ steps }, unit) : undefined
  return step?._tag === 'Task' && step.job === undefined
}

/** Says what a plan that accepts these edits keeps: it skips a unit with a record, or drops the record; it polls a job, or abandons it. */
const accepting = (
  { completedSteps }: Planning['checkpoint'],
  { decisions }: ResumePlan,
  edits: ReadonlyArray<PlanProblem & { readonly _tag: 'WorkflowChanged' }>
): string => {
  const covers = (tag: Decision['_tag']): ((unit: Unit) => boolean) => {
    const units = new Set(decisions.flatMap(({ _tag, unit }) => (_tag === tag ? [unit] : [])))
    return (unit) => [unit, ...ancestors(unit)].some((one) => units.has(one))
  }
  const [skips, polls] = [covers('Skip'), covers('Poll')]
  const records = Array.from(completedSteps, ({ unit }) => skips(unit))
  const pending = edits.filter((edit) => edit.pending === true)
  const jobs = pending.filter(({ unit }) => polls(unit)).length
  // If a removal is ignored, the record of the step is dropped.
  const dropsSome = records.includes(false) || edits.some((one) => one.edit === 'removed' && one.pending !== true)
  const keepsSome = records.includes(true) && pending.length < edits.length
  const kept = [
    ...(keepsSome ? [dropsSome ? 'the other recorded results' : 'the recorded results'] : []),
    ...(jobs === 0 ? [] : [jobs === 1 ? 'the submitted job' : 'the submitted jobs'])
  ]
  const abandon = abandoning(pending.length - jobs, jobs > 0)
  return kept.length === 0
    ? `To ${abandon}accept the change:`
    : `To ${abandon}keep ${kept.join(' and ')} despite the change:`
}

const abandoning = (jobs: number, isOther = false): string =>
  jobs === 0 ? '' : `abandon the ${isOther ? 'other ' : ''}${jobs === 1 ? 'job' : 'jobs'} and `

/** For units that are assumed done without their output. */
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
  return [resumeHint(place, 'Pass its output:', checkpoint.runId, { ...flags, confirm })]
}

/** The answers with which a resume runs again what it would ask about. An answer can raise further questions. */
const runningAgain = ({ checkpoint, workflow }: Planning, options: PlanOptions): ReadonlyArray<string> => {
  const confirm = new Map(options.confirm)
  for (;;) {
    const plan = planResume(checkpoint, workflow, { ...options, confirm })
    const questions = E.isRight(plan) ? openQuestions(plan.right).filter(({ unit }) => !confirm.has(unit)) : []
    if (questions.length === 0) break
    for (const { unit } of questions) confirm.set(unit, { _tag: 'Again' })
  }
  return [...confirm.keys()]
    .filter((unit) => options.confirm?.has(unit) !== true)
    .flatMap((unit) => ['--confirm', `${unit}=again`])
}

/** For units whose evidence is missing: a plain resume runs them again. */
const ofMissingEvidence = (
  place: Place,
  planning: Planning,
  problems: ReadonlyArray<PlanProblem>
): ReadonlyArray<Hint> => {
  const units = problems.flatMap((one) =>
    one._tag === 'AssumedOutputMissing' && one.evidence === true ? [one.unit] : []
  )
  const { checkpoint, workflow, options } = planning
  const { evidence = [] } = options
  if (units.length === 0 || E.isLeft(planResume(checkpoint, workflow, { evidence }))) return []
  const text = `To run ${listed(units.map((unit) => `"${unit}"`))} again:`
  return [resumeHint(place, text, checkpoint.runId, {}, runningAgain(planning, { evidence }))]
}

/** Suggests how to resume despite a refused plan, as commands to copy. */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import { listed } from '../../../domain/data/listed.js'
import type { Decision, PlanOptions, ResumePlan } from '../../../domain/plan/Plan.js'
import type { PlanProblem } from '../../../domain/plan/PlanProblem.js'
import { openQuestions } from '../../../domain/plan/Plan.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { ancestors, top } from '../../../domain/workflow/Unit.js'
import { planResume } from '../../../domain/plan/planResume.js'
import { definitionAt } from '../../../domain/workflow/Node.js'
import type { Step, Workflow } from '../../../domain/workflow/Workflow.js'
import type { WorkflowIdentity } from '../../../domain/workflow/WorkflowIdentity.js'
import type { RunError } from '../../../executor/errors/RunError.js'
import { editsToUndo } from '../../../executor/errors/describe.js'
import type { Hint } from '../../report/Hint.js'
import type { Place } from '../Context.js'
import type { PrintedFlags } from '../execution/planFlags.js'
import { resumeHint, resumeLine } from '../execution/planFlags.js'
import { ofMissingWorkspace } from './hints.js'

export interface Planning {
  readonly checkpoint: Checkpoint
  readonly workflow: Workflow & { readonly identity: WorkflowIdentity }
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
    ...offer(
      (plan) => accepting(checkpoint, plan, edits),
      ...(options.changes === 'strict' ? [{ changes: 'completed' } as const] : []),
      { changes: 'ignore' }
    )
  ]
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

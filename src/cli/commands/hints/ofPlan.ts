/** Suggests how to resume, as commands to copy: with questions to answer, a failed check, or a refused plan. */
import * as E from 'fp-ts/lib/Either.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import { defined } from '../../../domain/data/defined.js'
import { quoted } from '../../../domain/data/listed.js'
import { describeQuestion } from '../../../domain/explain/Explain.js'
import type { Confirm, Decision, FoundEvidence, PlanOptions, ResumePlan } from '../../../domain/plan/Plan.js'
import { answersTo, confirms, openQuestions, wouldOverwrite } from '../../../domain/plan/Plan.js'
import type { PlanProblem } from '../../../domain/plan/PlanProblem.js'
import { outermost } from '../../../domain/plan/repeats.js'
import { planResume } from '../../../domain/plan/planResume.js'
import { definitionAt, waveBefore } from '../../../domain/workflow/Node.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { fromTop, isWithin, top } from '../../../domain/workflow/Unit.js'
import type { Step, Workflow } from '../../../domain/workflow/Workflow.js'
import { editsToUndo } from '../../../executor/errors/describe.js'
import type { PlanResult } from '../../../executor/planRun.js'
import type { RunOutcome } from '../../../executor/RunOutcome.js'
import { CHECK_FAILED } from '../../../executor/steps/unitChecks.js'
import type { NotDone, StoredRun } from '../../CliError.js'
import { notDone } from '../../CliError.js'
import type { Hint } from '../../report/Hint.js'
import type { Flags, Place } from '../Context.js'
import { answering, resumeHint, resumeLine } from '../execution/planFlags.js'
import { nonIdempotentFrom, asksForChanges, captures } from '../find/definitions.js'

/** What a plan was made from. `flags`: as typed, without secrets. */
export interface Planning extends Pick<PlanResult, 'checkpoint' | 'options'> {
  readonly program: Workflow
  readonly flags: Flags
}

/** Another way to resume: these options, in place of those that were typed. `named`: the units of which the text says that they run again. */
type Way = Pick<PlanOptions, 'changes' | 'fromStep' | 'restartWave'> & { readonly named?: ReadonlyArray<Unit> }

/**
 * Offers the first way that has a plan. Its command answers `again` to the questions about units that its text names, and leaves the others open. A
 * restart of a wave is offered only if it raises no question. `what`: the text, or a function that makes it from the plan and its options.
 */
export const offer = (
  place: Place,
  { checkpoint, program, options, flags }: Planning,
  what: string | ((plan: ResumePlan, options: PlanOptions) => string),
  ...ways: ReadonlyArray<Way>
): ReadonlyArray<Hint> => {
  const { restartWave: _, ...others } = options
  const { force: __, restartWave: ___, plan: ____, ...typed } = flags
  for (const { named = [], ...way } of ways) {
    const { restartWave, fromStep: from } = way
    const chosen = { ...others, ...way }
    const isAnswered = (unit: Unit): boolean => named.some((one) => isWithin(unit, one))
    const { plan, again } = planned(checkpoint, program, chosen, isAnswered)
    if (E.isLeft(plan)) continue
    if (restartWave !== undefined && openQuestions(plan.right).length > 0) continue
    const { length: jobs } = plan.right.abandons ?? []
    const abandoning = jobs === 0 ? '' : `abandon the ${jobs === 1 ? 'job' : 'jobs'} and `
    const { yes, ...unagreed } = typed
    const printed = { ...(from === undefined ? typed : unagreed), ...defined({ fromStep: chosen.fromStep }), ...way }
    return [
      {
        text: `To ${abandoning}${typeof what === 'string' ? what : what(plan.right, chosen)}:`,
        command: resumeLine(place, checkpoint.runId, answering(printed, again))
      }
    ]
  }
  return []
}

/** Plans, with `again` to the questions that are answered; an answer can raise further ones. */
const planned = (
  checkpoint: Planning['checkpoint'],
  program: Workflow,
  options: PlanOptions,
  isAnswered: (unit: Unit) => boolean
) => {
  const confirm = new Map(options.confirm)
  const again: Array<string> = []
  for (;;) {
    const plan = planResume(checkpoint, program, { ...options, confirm })
    const questions = E.isLeft(plan)
      ? []
      : openQuestions(plan.right).filter(({ unit }) => isAnswered(unit) && !confirm.has(unit))
    if (questions.length === 0) return { plan, again }
    for (const { unit } of questions) {
      confirm.set(unit, { _tag: 'Again' })
      again.push(`${unit}=again`)
    }
  }
}

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

/** The command that runs a wave again: the one whose `after` check failed, or the one before a failed `before` check. */
export const ofFailedCheck = (
  place: Place,
  program: Workflow,
  outcome: RunOutcome,
  evidence: ReadonlyArray<FoundEvidence>
): ReadonlyArray<Hint> => {
  const failed = failedCheckOf(program, outcome)
  if (failed === undefined || outcome._tag !== 'Failed') return []
  const { unit, when } = failed
  const wave = when === 'after' ? unit : waveBefore(program, unit)
  if (wave === undefined) return []
  const nonIdempotent = nonIdempotentFrom(program, wave, when === 'after' ? undefined : unit)
  const isHarmful = nonIdempotent.length > 0
  const parts = definitionAt<Step>(program, wave)?._tag === 'Sequence' ? 'steps' : 'groups'
  const what = when === 'after' ? `run the ${parts} of "${wave}" again` : `run again from "${wave}" on`
  const named = isHarmful ? `, including steps that are not idempotent (${nonIdempotent.join(', ')})` : ''
  const planning = { checkpoint: outcome.checkpoint, program, options: { evidence }, flags: { yes: isHarmful } }
  return offer(place, planning, `${what}${named}`, { restartWave: wave })
}

/** Questions, and the commands that answer all of them in one way. */
export const asking = (place: Place, planning: Planning, questions: ReadonlyArray<Confirm>): ReadonlyArray<Hint> => [
  ...questions.map((question) => ({ text: describeQuestion(question) })),
  ...ofQuestions(place, planning, questions)
]

/** The refusal of a resume with open questions. */
export const unconfirmed = (
  place: Place,
  planning: Planning,
  questions: ReadonlyNonEmptyArray<Confirm>,
  plan: ResumePlan
): NotDone => {
  const hints = [...ofQuestions(place, planning, questions), ...ofLaterQuestions(plan)]
  return notDone({ _tag: 'Unconfirmed', questions }, hints, planning.checkpoint)
}

/** While evidence is in question, other questions come later. */
export const ofLaterQuestions = (plan: ResumePlan): ReadonlyArray<Hint> => {
  const open = openQuestions(plan)
  const later = confirms(plan).filter((one) => !open.includes(one))
  const names = quoted(later.map(({ unit }) => unit))
  return later.length === 0 ? [] : [{ text: `After these answers, ${names} may need one, too` }]
}

export const ofQuestions = (
  place: Place,
  { checkpoint, program, flags: { plan: _, ...flags } }: Pick<Planning, 'checkpoint' | 'program' | 'flags'>,
  questions: ReadonlyArray<Confirm>
): ReadonlyArray<Hint> => {
  const answeringAll = (text: string, answer: 'again' | 'keep' | 'done'): Hint => {
    const answers = questions.map((question) => {
      const needsOutput = answer === 'done' && !asksForChanges(question) && captures(program, question).length > 0
      return `${question.unit}=${answer}${needsOutput ? ':OUTPUT' : ''}`
    })
    return resumeHint(place, text, checkpoint, answering(flags, answers))
  }
  const isChange = questions.some(asksForChanges)
  return [
    answeringAll(againText(questions), 'again'),
    ...(questions.every((question) => answersTo(question).includes('Keep'))
      ? [answeringAll('To keep the changes and run nothing for them:', 'keep')]
      : []),
    answeringAll(isChange ? 'To count as done and run all later steps again:' : 'To count as done:', 'done'),
    ...(questions.length === 1 ? [] : [{ text: '(or a combination)' }]),
    ...ofLaterRuns(questions)
  ]
}

/** The commands that answer for changed evidence of forced units. `agreed`: only for the command that runs them again. */
export const forcedAnswers = (
  place: Place,
  run: StoredRun,
  flags: Flags,
  agreed: Flags,
  questions: ReadonlyArray<Confirm>
): ReadonlyArray<Hint> => {
  const again = questions.map(({ unit }) => `${unit}=again`)
  // The second command forces nothing, so the typed answers may no longer match a question.
  const { force, fromStep: _, restartWave, input: __, confirm: ___, plan: ____, ...others } = flags
  const forcing = force === true ? '--force' : restartWave === undefined ? '--from-step' : '--restart-wave'
  return [
    resumeHint(place, againText(questions), run, answering({ ...flags, ...agreed }, again)),
    resumeHint(place, `To resume without ${forcing}, and answer for the changes first:`, run, others)
  ]
}

const againText = (questions: ReadonlyArray<Confirm>): string =>
  questions.some(wouldOverwrite) ? 'To run again and overwrite the changes:' : 'To run again:'

const MAX_FILES = 3

const ofLaterRuns = (questions: ReadonlyArray<Confirm>): ReadonlyArray<Hint> => {
  const paths = questions.flatMap(({ reason }) =>
    reason._tag === 'EvidenceChanged'
      ? reason.changed.flatMap(({ was }) => (was._tag === 'Artifact' ? [was.path] : []))
      : []
  )
  const files = [...new Set(paths)].slice(0, MAX_FILES).join(', ')
  if (files === '') return []
  return [
    {
      text: `If these files may change at any time, let later runs check only that they exist: write expect: { files: [${files}] } instead of artifacts`
    }
  ]
}

/** The remedies for a refused plan; each of them can be planned. */
export const ofPlanError = (
  place: Place,
  planning: Planning,
  problems: ReadonlyArray<PlanProblem>
): ReadonlyArray<Hint> => [
  ...problems.flatMap((problem) => {
    if (problem._tag === 'WrongWorkflow') return [ofWrongWorkflow(place, planning, problem.expected)]
    const { step } = problem._tag === 'NotAWave' ? problem : {}
    return step === undefined ? [] : offer(place, planning, `run from "${step}" on`, { fromStep: step, named: [step] })
  }),
  ...ofMissingOutputs(place, planning, problems),
  ...ofMissingEvidence(place, planning, problems),
  ...ofEdits(place, planning, problems)
]

const ofWrongWorkflow = (place: Place, { checkpoint, program }: Planning, expected: string): Hint =>
  checkpoint.workflow.path !== undefined && checkpoint.workflow.path !== program.path
    ? resumeHint(place, `Resume it with its own file, ${checkpoint.workflow.path}:`, checkpoint)
    : { text: `Set the name of the workflow to "${expected}" again, then resume` }

const ofEdits = (place: Place, planning: Planning, problems: ReadonlyArray<PlanProblem>): ReadonlyArray<Hint> => {
  const edits = problems.filter((problem) => problem._tag === 'WorkflowChanged')
  const [first] = edits
  if (first === undefined) return []
  // Accepting the other edits now would accept those in doubt too.
  if (edits.some(({ inDoubt }) => inDoubt === true)) {
    const others = editsToUndo(problems).length
    const [edit, them] = others === 1 ? ['edit', 'it'] : ['edits', 'them']
    const accept = edits.some(({ otherKind }) => otherKind === true) ? '' : `, or accept ${them} with --changes ignore`
    return others === 0 ? [] : [{ text: `After that, undo the other ${edit}${accept}` }]
  }
  const { program } = planning
  const edited = new Set(edits.map(({ unit }) => top(unit)))
  const isThere = edits.length === 1 && definitionAt<Step>(program, first.unit) !== undefined
  const from = isThere ? first.unit : program.steps.find(({ name }) => edited.has(name))?.name
  const policies = [{ changes: 'completed' }, { changes: 'ignore' }] as const
  const ways =
    from === undefined ? [] : [{}, ...policies].map((policy) => ({ ...policy, fromStep: from, named: [from] }))
  return [
    ...offer(place, planning, `run again from "${from}" on`, ...ways),
    ...offer(place, planning, accepting(planning, edits.length === 1 ? 'change' : 'changes'), ...policies)
  ]
}

/** Says which recorded results a plan that accepts edits keeps under every answer to its questions, and which ones it drops. */
const accepting =
  ({ checkpoint, program }: Planning, edits: string) =>
  (plan: ResumePlan, options: PlanOptions): string => {
    const again = planned(checkpoint, program, options, () => true).plan
    const [now, later] = [plan, E.isLeft(again) ? plan : again.right].map(decisionsOf)
    const records = Array.from(checkpoint.completedSteps, ({ unit }) => unit)
    const lost = records.filter((unit) => !['Skip', 'Confirm'].includes(now?.get(unit)?._tag ?? ''))
    const unsure = records.filter((unit) => later?.get(unit)?._tag !== 'Skip')
    const above = new Set(unsure.flatMap(fromTop))
    const kept = outermost(records.filter((unit) => now?.get(unit)?._tag === 'Skip' && !above.has(unit)))
    const around = new Set(kept.flatMap(fromTop))
    const dropped = outermost(lost.filter((unit) => !around.has(unit)))
    const missing = dropped.filter((unit) => now?.get(unit)?.reason._tag === 'EvidenceMissing')
    const whose =
      missing.length === dropped.length
        ? ', whose evidence is missing'
        : missing.length === 0
          ? ''
          : ` (the evidence of ${quoted(missing)} is missing)`
    return [
      `accept the ${edits}`,
      ...(kept.length === 0 ? [] : [`keep the results of ${quoted(kept)}`]),
      ...(dropped.length === 0
        ? []
        : [`drop ${kept.length === 0 ? 'the results' : 'those'} of ${quoted(dropped)}${whose}`])
    ].join(' and ')
  }

const decisionsOf = ({ decisions }: ResumePlan): ReadonlyMap<Unit, Decision> =>
  new Map(decisions.map((one) => [one.unit, one]))

/** The units that are assumed done without their output, or without their evidence. */
export const unitsMissing = (what: 'output' | 'evidence', problems: ReadonlyArray<PlanProblem>): ReadonlyArray<Unit> =>
  problems.flatMap((one) =>
    one._tag === 'AssumedOutputMissing' && (one.evidence === true) === (what === 'evidence') ? [one.unit] : []
  )

/** For units that are assumed done without their output. */
const ofMissingOutputs = (
  place: Place,
  { checkpoint, flags: { plan: _, ...flags } }: Planning,
  problems: ReadonlyArray<PlanProblem>
): ReadonlyArray<Hint> => {
  const given = flags.confirm ?? []
  const answered = unitsMissing('output', problems).map((unit) => `${unit}=done`)
  const missing = new Set(answered.filter((answer) => flags.fromStep !== undefined || given.includes(answer)))
  if (missing.size === 0) return []
  const confirm = [...new Set([...given, ...missing])]
  const answers = confirm.map((answer) => (missing.has(answer) ? `${answer}:OUTPUT` : answer))
  return [resumeHint(place, 'Pass its output:', checkpoint, { ...flags, confirm: answers })]
}

/** For units whose evidence is missing: a plain resume runs them again. */
const ofMissingEvidence = (
  place: Place,
  planning: Planning,
  problems: ReadonlyArray<PlanProblem>
): ReadonlyArray<Hint> => {
  const units = unitsMissing('evidence', problems)
  const { evidence = [] } = planning.options
  return units.length === 0
    ? []
    : offer(place, { ...planning, options: { evidence }, flags: {} }, `run ${quoted(units)} again`, {
        named: units
      })
}

/** Describes the problems of a plan, each with its remedy. */
import type { PendingUnit } from '../checkpoint/Pending.js'
import { quoted } from '../data/listed.js'
import { describeOption } from '../data/Options.js'
import { didYouMean } from '../data/Suggestion.js'
import { expectedAt } from '../data/Malformed.js'
import type { PlanProblem } from '../plan/PlanProblem.js'
import { isWithin } from '../workflow/Unit.js'
import { describeProblem as describeWorkflowProblem } from '../workflow/WorkflowProblem.js'
import { ANSWERED, count, LONG, SHOWN } from './Explain.js'

/**
 * Describes problems, one sentence each. Of more than 20, five of each kind are described and the others counted: an edit may affect 10,000
 * items.
 *
 * @category destructors
 */
export const describeProblems = (problems: ReadonlyArray<PlanProblem>): ReadonlyArray<string> => {
  if (problems.length <= LONG) return problems.map(describeProblem)
  const seen = new Map<string, number>()
  const shown = problems.filter((problem) => {
    const kind = kindOfProblem(problem)
    const before = seen.get(kind) ?? 0
    seen.set(kind, before + 1)
    return before < SHOWN
  })
  const more = problems.length - shown.length
  return [...shown.map(describeProblem), ...(more === 0 ? [] : [`and ${more} more like these`])]
}

const kindOfProblem = (problem: PlanProblem): string =>
  problem._tag === 'WorkflowChanged'
    ? `${problem.edit} ${problem.inDoubt === true} ${problem.pending === true} ${problem.otherKind === true}`
    : problem._tag

/** A path with this last name, or else a similar path. */
const nearUnit = (typed: string, paths: ReadonlyArray<string>): string => {
  const inner = paths.find((one) => one.endsWith(`/${typed}`))
  return inner === undefined ? didYouMean(typed, paths) : `. Did you mean "${inner}"?`
}

const unknownStep = ({ step, option, available }: PlanProblem & { readonly _tag: 'UnknownStep' }): string => {
  const whole = available.find((one) => one !== step && isWithin(step, one))
  const parts = available.filter((one) => one !== step && isWithin(one, step))
  if (option !== undefined && (whole !== undefined || (parts.length > 0 && !available.includes(step)))) {
    const [what, verb] = option === 'confirm' ? ['answer', 'answer'] : ['output', 'name']
    const others = whole === undefined ? `its parts: ${quoted(parts)}` : `"${whole}", which contains it`
    return `"${step}" takes no ${what} of its own; ${verb} ${others}`
  }
  const near = whole === undefined ? nearUnit(step, available) : `. Did you mean "${whole}"?`
  const what =
    option === 'confirm'
      ? `cannot answer "${step}": step`
      : option === 'outputs'
        ? `output of "${step}": step`
        : `step "${step}"`
  return `${what} not found; steps: ${quoted(available)}${near}`
}

const WAITING: Readonly<Record<PendingUnit['_tag'], string>> = {
  Job: 'its job is pending; poll the job',
  Timer: 'it sleeps; resume without the answer',
  Answer: 'it waits for an answer; pass one'
}

/**
 * Describes a problem as a sentence with its remedy.
 *
 * @category destructors
 */
export const describeProblem = (problem: PlanProblem): string => {
  switch (problem._tag) {
    case 'WrongWorkflow':
      return `the run belongs to workflow "${problem.expected}", not to "${problem.found}"; resume it with that workflow, or start a new run`
    case 'InvalidWorkflow':
      return describeWorkflowProblem(problem.problem)
    case 'WorkflowChanged':
      return describeChange(problem)
    case 'NothingToConfirm':
      if (problem.forced === true)
        return `"${problem.unit}" cannot be ${problem.keep === true ? 'kept' : 'confirmed as done'}: you asked to run it again; omit the answer, or run from a later step`
      if (problem.completed === true)
        return `"${problem.unit}" has already completed with another output; omit the answer, or run from that step`
      if (problem.keep === true)
        return `"${problem.unit}" has nothing to keep: it has not completed, or its evidence is missing or unchanged; ${problem.asked === true ? 'answer again or done' : 'omit the answer'}`
      return `"${problem.unit}" cannot be confirmed as done: it is due to run and not in doubt; omit the answer`
    case 'UnitPending':
      return `"${problem.unit}" cannot be confirmed: ${problem.answered === true ? `${ANSWERED}; resume without confirming it` : WAITING[problem.waitsFor]}, or run from that step`
    case 'UnknownStep':
      return unknownStep(problem)
    case 'NotAWave':
      return describeNoWave(problem)
    case 'InputWithoutStep':
      return 'the input differs from the recorded one; name the step from which it applies (fromStep), or omit the input'
    case 'InputInUse':
      return `"${problem.unit}" already started with the recorded input; run from that step or an earlier one, or omit the input`
    case 'StepOutOfRange':
      return `the checkpoint is at step ${problem.stepIndex + 1}, but its workflow has ${count(problem.steps, 'step')}; ${RESTORE}`
    case 'InconsistentCheckpoint':
      return `the checkpoint is inconsistent: ${problem.why}; ${RESTORE}`
    case 'NotACheckpoint':
      return `the checkpoint must be a Checkpoint, not ${problem.found}; decode stored JSON with CheckpointCodec.decode`
    case 'InvalidOption':
      return describeOption(problem)
    case 'OutputNotDecodable':
      if (problem.assumed === true)
        return `"${problem.unit}" was declared done without an output that it accepts: ${expectedAt(problem)}; resume with the answer done and that output`
      return `the recorded output of "${problem.unit}" no longer matches its step: ${expectedAt(problem)}; restore the step, or run from it`
    case 'AssumedOutputMissing':
      return problem.evidence === true
        ? `cannot count "${problem.unit}" as done: its evidence is missing (${problem.expected}); restore it, or run from an earlier step`
        : `cannot count "${problem.unit}" as done: its output is missing or invalid (expected ${problem.expected}); pass it with the answer done in \`confirm\``
  }
}

const RESTORE = 'restore the run from a backup, or start a new run'

const describeNoWave = ({ step, exists, available, steps }: PlanProblem & { readonly _tag: 'NotAWave' }): string => {
  const what = exists ? `"${step}" is not a wave, map or sequence` : `wave, map or sequence "${step}" not found`
  if (available.length > 0)
    return `${what}; name one of: ${quoted(available)}${exists ? '' : nearUnit(step, available)}`
  return exists
    ? `${what}: the workflow has none; run from that step instead`
    : `${what}: the workflow has none; run from one of its steps instead: ${quoted(steps)}${nearUnit(step, steps)}`
}

const describeChange = (problem: PlanProblem & { readonly _tag: 'WorkflowChanged' }): string => {
  const name = problem.unit
  if (problem.pending === true) {
    const what = `"${name}" was ${problem.edit} while its job is pending`
    if (problem.present === undefined)
      return `${what}; restore it to keep waiting for that job, or accept the edit (changes: ignore) to abandon the job`
    return `${what}: fingerprint ${problem.recorded}, now ${problem.present}; restore it to keep waiting for that job, or run from that step to abandon it; accept the edit (changes: ignore) only if the step still polls that job`
  }
  if (problem.inDoubt === true && problem.present !== undefined) {
    return `"${name}" now names another step; the recorded one is not idempotent and may have taken effect (fingerprint ${problem.recorded}, now ${problem.present}). Restore it under this name and confirm it, or accept the edit (changes: ignore)`
  }
  if (problem.inDoubt === true) {
    return `"${name}" was removed, but is not idempotent and may have taken effect. Restore it and confirm it`
  }
  switch (problem.edit) {
    case 'changed':
      if (problem.otherKind === true)
        return `"${name}" completed as another kind of step, so its recorded result cannot count`
      return `"${name}" differs from its recorded definition: fingerprint ${problem.recorded}, now ${problem.present}`
    case 'removed':
      if (problem.movedTo !== undefined)
        return `"${name}" was moved to "${problem.movedTo}". A step that moves to another place in the tree is another unit`
      return `"${name}" was removed. If you accept the edit, any record of it is dropped; a step that was only renamed runs under its new name`
    case 'reordered':
      return `"${name}" was moved to another place`
    case 'insertedBefore':
      return `"${name}" was inserted or moved before completed steps`
    case 'added':
      return `"${name}" was added`
  }
}

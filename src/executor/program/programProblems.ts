/** Validates a program before it runs. */
import type { OnSuccess } from '../../domain/checkpoint/Retention.js'
import type { OptionProblem } from '../../domain/data/Options.js'
import { optionProblems } from '../../domain/data/Options.js'
import { never, wrongField } from '../../domain/workflow/RetryPolicy.js'
import { listedParts } from '../../domain/workflow/Node.js'
import { join } from '../../domain/workflow/Unit.js'
import type { Workflow } from '../../domain/workflow/Workflow.js'
import type { WorkflowProblem } from '../../domain/workflow/WorkflowProblem.js'
import { notWorkflow, problems as definitionProblems } from '../../domain/workflow/WorkflowProblem.js'
import type { ProgramStep, UnitChecks } from './ProgramStep.js'
import { stepProblems } from './ProgramStep.js'
import { ON_SUCCESS, WAVE } from './stepOptions.js'

/**
 * Returns all problems of a program: of its definition and of its options.
 *
 * @category destructors
 */
export const problems = (
  program: Workflow & {
    readonly steps: ReadonlyArray<ProgramStep>
    readonly onSuccess?: OnSuccess
    readonly problems?: ReadonlyArray<OptionProblem> | undefined
  }
): ReadonlyArray<WorkflowProblem> => {
  const wrong = notWorkflow(program)
  if (wrong !== undefined) return [wrong]
  const notSteps = stepProblems(program.steps)
  if (notSteps.length > 0)
    return notSteps.map(({ option, expected }) => ({
      _tag: 'InvalidSetting',
      place: program.name,
      field: option,
      expected
    }))
  const found = [...definitionProblems(program)]
  const mustBe = (place: string, field: string, expected: string | undefined): void => {
    if (expected !== undefined) found.push({ _tag: 'InvalidSetting', place, field, expected })
  }
  if (program.onSuccess !== undefined) mustBe(program.name, 'onSuccess', ON_SUCCESS(program.onSuccess))
  const add = (place: string, problems: ReadonlyArray<OptionProblem>): void => {
    for (const one of problems) {
      if ('known' in one) found.push({ _tag: 'UnknownOption', place, ...one })
      else mustBe(place, one.option, one.expected)
    }
  }
  add(program.name, program.problems ?? [])
  const checkStep = (step: ProgramStep, place: string): void => {
    add(place, step.problems)
    add(place, settingProblems(step))
    if (step._tag === 'Map') checkStep(step.each, step.each._tag === 'Task' ? place : `${place}/*`)
    else for (const part of listedParts<ProgramStep>(step)) checkStep(part, join(place, part.name))
  }
  for (const step of program.steps) checkStep(step, step.name)
  return found
}

const NONE: ReadonlyArray<never> = []

/** Problems of the fields of a step, and checks of a task that cannot hold together. An option that has a problem already gets no second one. */
const settingProblems = (step: ProgramStep): ReadonlyArray<OptionProblem> => {
  if (step._tag === 'Sequence') return NONE
  const isFine = (name: string): boolean =>
    !step.problems.some(({ option }) => option === name || option.startsWith(`${name}.`))
  if (step._tag !== 'Task')
    return isFine('concurrency') ? optionProblems({ concurrency: step.concurrency }, CONCURRENCY, REQUIRED) : NONE
  const { retry, job, workspace, checks } = step
  const found: Array<OptionProblem> = []
  const wrong = retry === never || !isFine('retry') ? undefined : wrongField(retry)
  if (wrong !== undefined) found.push(wrong)
  const isSet = (of: UnitChecks | undefined, name: 'commits' | 'cleanTree'): boolean =>
    of?.expect[name] !== undefined && isFine(`expect.${name}`)
  if (isSet(job?.checks, 'commits')) found.push({ option: 'expect.commits', expected: NOT_COUNTED })
  if (workspace !== undefined && isFine('workspace') && (isSet(checks, 'commits') || isSet(checks, 'cleanTree')))
    found.push({ option: 'expect', expected: NO_REPOSITORY })
  return found
}

const CONCURRENCY = { concurrency: WAVE.concurrency }

const REQUIRED = { required: Object.keys(CONCURRENCY) }

const NO_REPOSITORY = 'without commits and cleanTree: the own folder of the step is no repository'

const NOT_COUNTED = 'omitted: the commits of a job are not counted; declare them as its evidence'

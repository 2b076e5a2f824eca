/** Validates a program before it runs. */
import * as E from 'fp-ts/lib/Either.js'
import type { OnSuccess } from '../../domain/checkpoint/Retention.js'
import { problemOf } from '../../domain/workflow/RetryPolicy.js'
import type { OptionProblem } from '../../domain/data/Options.js'
import { join } from '../../domain/workflow/Unit.js'
import type { Workflow } from '../../domain/workflow/Workflow.js'
import type { WorkflowProblem } from '../../domain/workflow/WorkflowProblem.js'
import { notWorkflow, problems as definitionProblems } from '../../domain/workflow/WorkflowProblem.js'
import type { ProgramStep, ProgramTask } from './ProgramStep.js'
import { stepProblems } from './ProgramStep.js'
import { ON_SUCCESS } from './stepOptions.js'

/**
 * Returns all problems of a program: of its definition, its settings and its retry policies.
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
  const checkTask = (place: string, task: ProgramTask): void => {
    const { retry, job, awaits, workspace, guard, codecExpected, problems } = task
    add(place, problems)
    // A task that was made by hand has no problems yet.
    const wrongRetry = problems.length === 0 ? problemOf(retry) : undefined
    if (wrongRetry !== undefined) mustBe(place, `retry.${wrongRetry.field}`, wrongRetry.expected)
    mustBe(place, 'output', codecExpected)
    // An unknown option may be the misspelled one that the wait misses.
    if (awaits !== undefined && E.isLeft(awaits) && problems.length === 0) add(place, [awaits.left])
    if (job?.guard?.expect.commits !== undefined)
      found.push({ _tag: 'InvalidSetting', place, field: 'expect.commits', expected: NOT_COUNTED })
    if (workspace !== undefined && (guard?.expect.commits !== undefined || guard?.expect.cleanTree !== undefined))
      found.push({ _tag: 'InvalidSetting', place, field: 'expect', expected: NO_REPOSITORY })
  }
  const checkStep = (step: ProgramStep, place: string): void => {
    if (step._tag === 'Task') return checkTask(place, step)
    add(place, step.problems)
    if (step._tag !== 'Sequence' && !(step.concurrency === Infinity || isPositive(step.concurrency)))
      mustBe(place, 'concurrency', 'a whole number ≥ 1')
    if (step._tag === 'Map') {
      mustBe(place, 'item', step.items.codecExpected)
      checkStep(step.each, step.each._tag === 'Task' ? place : `${place}/*`)
    } else
      for (const part of step._tag === 'Sequence' ? step.steps : step.groups) checkStep(part, join(place, part.name))
  }
  for (const step of program.steps) checkStep(step, step.name)
  return found
}

const isPositive = (value: number): boolean => Number.isInteger(value) && value >= 1

const NO_REPOSITORY = 'without commits and cleanTree: the own folder of the step is no repository'

const NOT_COUNTED = 'omitted: the commits of a job are not counted; declare them as its evidence'

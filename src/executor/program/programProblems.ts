/** Validates a program before it runs. */
import * as E from 'fp-ts/lib/Either.js'
import type { OnSuccess } from '../../domain/checkpoint/Retention.js'
import { problemOf as problemOfRetry } from '../../domain/workflow/RetryPolicy.js'
import { join } from '../../domain/workflow/Unit.js'
import * as W from '../../domain/workflow/Workflow.js'
import type { ProgramStep, ProgramTask } from './ProgramStep.js'
import { STEP_OPTIONS } from './ProgramStep.js'

/**
 * Returns all problems of a program: of its definition, its settings and its retry policies.
 *
 * @category destructors
 */
export const problems = (
  program: W.Workflow & {
    readonly steps: ReadonlyArray<ProgramStep>
    readonly onSuccess?: OnSuccess
    readonly inputExpected?: string | undefined
  }
): ReadonlyArray<W.WorkflowProblem> => {
  const found = [...W.problems(program)]
  const mustBe = (place: string, field: string, expected: string | undefined): void => {
    if (expected !== undefined) found.push({ _tag: 'InvalidSetting', place, field, expected })
  }
  mustBe(program.name, 'input', program.inputExpected)
  // Untyped hosts may pass anything; an unknown value must not delete runs.
  if (program.onSuccess !== undefined && !Object.hasOwn(ON_SUCCESS, program.onSuccess))
    found.push({ _tag: 'InvalidSetting', place: program.name, field: 'onSuccess', expected: 'keep, archive or delete' })
  const look = (place: string, task: ProgramTask): void => {
    const { retry, timeoutMillis, job, awaits, workspace, guard, codecExpected, notFunctions, unknownOptions } = task
    for (const field of notFunctions) mustBe(place, field, 'a function')
    for (const field of unknownOptions) mustBe(place, field, `omitted: it is not one of ${STEP_OPTIONS.join(', ')}`)
    mustBe(place, 'output', codecExpected)
    if (awaits !== undefined && E.isLeft(awaits)) found.push({ _tag: 'InvalidSetting', place, ...awaits.left })
    const wrong = problemOfRetry(retry)
    if (wrong !== undefined)
      found.push({ _tag: 'InvalidSetting', place, field: `retry.${wrong.field}`, expected: wrong.expected })
    if (timeoutMillis !== undefined && !(timeoutMillis >= 0 && timeoutMillis < Infinity))
      found.push({ _tag: 'InvalidSetting', place, field: 'timeoutMillis', expected: 'a finite number ≥ 0' })
    if (job?.guard?.expect.commits !== undefined)
      found.push({ _tag: 'InvalidSetting', place, field: 'expect.commits', expected: NOT_COUNTED })
    if (workspace !== undefined && (guard?.expect.commits !== undefined || guard?.expect.cleanTree !== undefined))
      found.push({ _tag: 'InvalidSetting', place, field: 'expect', expected: NO_REPOSITORY })
  }
  const lookAt = (step: ProgramStep, place: string): void => {
    if (step._tag === 'Task') return look(place, step)
    if (step._tag !== 'Sequence' && !(step.concurrency === Infinity || isPositive(step.concurrency)))
      mustBe(place, 'concurrency', 'a whole number ≥ 1')
    if (step._tag === 'Map') {
      mustBe(place, 'item', step.items.codecExpected)
      lookAt(step.each, step.each._tag === 'Task' ? place : `${place}/*`)
    } else for (const part of step._tag === 'Sequence' ? step.steps : step.groups) lookAt(part, join(place, part.name))
  }
  for (const step of program.steps) lookAt(step, step.name)
  return found
}

const ON_SUCCESS: Readonly<Record<OnSuccess, true>> = { keep: true, archive: true, delete: true }

const isPositive = (value: number): boolean => Number.isInteger(value) && value >= 1

const NO_REPOSITORY = 'without commits and cleanTree: the own folder of the step is no repository'

const NOT_COUNTED = 'omitted: the commits of a job are not counted; declare them as its evidence'

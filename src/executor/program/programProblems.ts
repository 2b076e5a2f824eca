/** What is wrong with a program, before it runs. */
import * as E from 'fp-ts/lib/Either.js'
import type { OnSuccess } from '../../domain/checkpoint/Retention.js'
import { problemOf as problemOfRetry } from '../../domain/workflow/RetryPolicy.js'
import { join } from '../../domain/workflow/Unit.js'
import * as W from '../../domain/workflow/Workflow.js'
import type { ProgramStep, ProgramTask } from './ProgramStep.js'

/**
 * Everything that is wrong with a program: with its definition, and with how its tasks are to be tried.
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
  // A host in JavaScript may say anything, and nothing is deleted on a word that we do not know.
  if (program.onSuccess !== undefined && !Object.hasOwn(ON_SUCCESS, program.onSuccess))
    found.push({ _tag: 'InvalidSetting', place: program.name, field: 'onSuccess', expected: 'keep, archive or delete' })
  const look = (place: string, task: ProgramTask): void => {
    const { retry, timeoutMillis, job, awaits, workspace, guard, codecExpected } = task
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
    if (step._tag === 'Task') look(place, step)
    else if (step._tag === 'Map') {
      mustBe(place, 'item', step.items.codecExpected)
      lookAt(step.each, step.each._tag === 'Task' ? place : `${place}/*`)
    } else for (const part of step._tag === 'Sequence' ? step.steps : step.groups) lookAt(part, join(place, part.name))
  }
  for (const step of program.steps) lookAt(step, step.name)
  return found
}

const ON_SUCCESS: Readonly<Record<OnSuccess, true>> = { keep: true, archive: true, delete: true }

const NO_REPOSITORY = 'without commits and cleanTree: the folder of its own that the step has is no repository'

const NOT_COUNTED = 'left out: the commits that a job makes are not counted, name them as its evidence'

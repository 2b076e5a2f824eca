/** The ends of attempts, as a simulated executor records them. */
import type { UnitCompleted } from '../../../domain/change/Change.js'
import type { Evidence } from '../../../domain/checkpoint/CompletedStep.js'
import * as Err from '../../../domain/data/StepError.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import type { Task } from '../../../domain/workflow/Workflow.js'
import type { Choices } from './Choices.js'
import { chooseOutput } from './Choices.js'
import type { RunRecorder, Undated } from './RunRecorder.js'

export const failedAttempt = (recorder: RunRecorder, choices: Choices, attempt: number) => ({
  attempt,
  startedAt: recorder.at(),
  error: Err.make(
    'Error',
    `trouble ${choices.below(5)}`,
    choices.below(2) === 0 ? {} : { code: '503', data: { at: [attempt] } }
  ),
  outcome: choices.below(2) === 0 ? ('unknown' as const) : ('notApplied' as const)
})

const EVIDENCE: ReadonlyArray<Evidence> = [
  { _tag: 'File', path: 'README.md' },
  { _tag: 'Commit', hash: 'c0ffee' },
  { _tag: 'Artifact', path: 'dist.tgz', size: 3, sha256: '0'.repeat(64) }
]

/** The path, hash or id of evidence. */
export const keyOf = (one: Evidence): string => ('path' in one ? one.path : 'hash' in one ? one.hash : one.id)

/** A composite has no output. */
export const completion = (
  recorder: RunRecorder,
  choices: Choices,
  task: Task | undefined,
  unit: Unit,
  attempts: number
): Undated<UnitCompleted> => {
  const output = task === undefined ? undefined : chooseOutput(choices, task, unit)
  return {
    _tag: 'UnitCompleted',
    unit,
    ...(output === undefined ? {} : { output }),
    captured: output === undefined ? [] : (task?.captures ?? []),
    attempts,
    startedAt: recorder.at(),
    durationMillis: 1000 * choices.below(3),
    evidence: task === undefined ? [] : EVIDENCE.slice(0, choices.below(4))
  }
}

/** Runs a unit that only waits. */
import * as E from 'fp-ts/lib/Either.js'
import type { StartWait } from '../program/awaits.js'
import { stageCompleted, unitCompleted } from '../storage/changes.js'
import { endFailed } from './ends.js'
import type { ProgramTask } from '../program/Program.js'
import type { RecordError } from '../storage/Recorder.js'
import type { StepToRun, RunScope, StepEnd } from '../RunScope.js'
import { timestamp } from '../RunScope.js'
import { endOfWait, timeout } from './waits.js'
import { waitOf } from '../../domain/checkpoint/Pending.js'

/** Starts a wait, or ends it: with the recorded answer, at its time, or as failed at its time limit. */
export const runWait = async (
  scope: RunScope,
  { place, step: task }: StepToRun<ProgramTask>,
  awaits: StartWait
): Promise<E.Either<RecordError, StepEnd>> => {
  const { recorder, environment } = scope
  const { unit } = place
  const now = environment.clock.now()
  const at = timestamp(now)
  if (waitOf(recorder.checkpoint(), unit) === undefined)
    recorder.stage([{ _tag: 'WaitStarted', at, unit, wait: awaits(now) }])
  const wait = waitOf(recorder.checkpoint(), unit)
  // The commit reports what could not be staged.
  if (wait === undefined) return await endFailed(scope, [], false)
  const end = endOfWait(scope, place, wait, task.accepts, now)
  switch (end._tag) {
    case 'Waits':
    case 'Rejected':
      return E.right({ _tag: 'Pending' })
    case 'TimedOut':
      return await endFailed(scope, [timeout(wait, at)], false)
    case 'Completed': {
      const { output } = end
      const times = { attempt: 1, startedAt: Date.parse(wait.startedAt), endedAt: now }
      stageCompleted(scope, place, unitCompleted(unit, times, { output, captured: task.captures }))
      return E.right({ _tag: 'Done' })
    }
  }
}

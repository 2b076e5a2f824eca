/** Runs steps in order: tasks, sequences, waves and maps. */
import * as E from 'fp-ts/lib/Either.js'
import type { DecisionTree } from '../../domain/plan/Plan.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { join } from '../../domain/workflow/Unit.js'
import { runningFailed } from '../storage/changes.js'
import { closeComposite, openComposite } from './compositeChecks.js'
import { endFailedBy } from './endFailed.js'
import { runMap } from './map.js'
import type { ProgramSequence, ProgramStep } from '../program/Program.js'
import type { RecordError } from '../storage/Recorder.js'
import type { Ending, StepToRun, RunScope, RunStep, StepEnd } from '../RunScope.js'
import { mustStop } from '../requests/StopRequests.js'
import { runTask } from './runTask.js'
import { runWait } from './waits.js'
import { runWave } from './wave.js'

const runStep: RunStep = async (scope, toRun) => {
  const { step } = toRun
  switch (step._tag) {
    case 'Task':
      return step.awaits === undefined
        ? await runTask(scope, { ...toRun, step })
        : await runWait(scope, { ...toRun, step }, step.awaits)
    case 'Sequence':
      return await runSequence(scope, { ...toRun, step })
    case 'Wave':
      return await runWave(scope, { ...toRun, step }, runStep)
    case 'Map':
      return await runMap(scope, { ...toRun, step }, runStep)
  }
}

/** How steps in order ended. `index`: that of the step that ended them; after `Done`, their number. */
interface PartsEnd {
  readonly end: StepEnd
  readonly index: number
}

/** Runs the remaining steps of a sequence or workflow in order, until one does not succeed. */
export const runParts = async (
  scope: RunScope,
  parent: { readonly unit: Unit | undefined; readonly stepIndex?: number },
  steps: ReadonlyArray<ProgramStep>,
  nodes: ReadonlyArray<DecisionTree>,
  stopping: AbortSignal
): Promise<E.Either<RecordError, PartsEnd>> => {
  for (const [index, step] of steps.entries()) {
    const node = nodes[index]
    if (node === undefined || node.decision._tag === 'Skip') continue
    if (stopping.aborted || (await mustStop(scope))) return E.right({ end: { _tag: 'Stopped' }, index })
    if (node.decision._tag === 'Poll' && !scope.awake.has(node.decision.unit))
      return E.right({ end: { _tag: 'Pending' }, index })
    const place = { unit: join(parent.unit, step.name), stepIndex: parent.stepIndex ?? index }
    const ended = await runStep(scope, { place, step, node, stopping })
    if (E.isLeft(ended)) return ended
    if (ended.right._tag !== 'Done') return E.right({ end: ended.right, index })
  }
  return E.right({ end: { _tag: 'Done' }, index: steps.length })
}

const NOT_RESUMED =
  'in flight when the process ended, and not started again because another step of the sequence failed'

const runSequence = async (scope: RunScope, toRun: StepToRun<ProgramSequence>): Promise<Ending> => {
  const { place, step, node, stopping } = toRun
  const startedAt = scope.environment.clock.now()
  // A sequence that only waits starts nothing, so its `before` check does not run.
  const isChecked = node.decision._tag !== 'Poll' && step.checks?.before !== undefined
  const before = isChecked ? await openComposite(scope, toRun) : E.right(undefined)
  if (E.isLeft(before)) return before
  if (before.right !== undefined) return E.right(before.right)
  const ended = await runParts(scope, place, step.steps, node.parts, stopping)
  if (E.isLeft(ended)) return ended
  const { end } = ended.right
  if (end._tag === 'Done') return await closeComposite(scope, toRun, startedAt)
  if (end._tag !== 'Failed') return E.right(end)
  return await endFailedBy(scope, place, runningFailed(scope, place.unit, NOT_RESUMED), end.retryable)
}

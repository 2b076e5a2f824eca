/** Handles sub-steps with another version, or that an earlier attempt may have run: drops their records, or lets the next plan ask. */
import * as E from 'fp-ts/lib/Either.js'
import { get, has } from '../../domain/checkpoint/Units.js'
import { failures, mayHaveActed } from '../../domain/checkpoint/CheckpointState.js'
import type { SubStep } from '../../domain/checkpoint/SubStep.js'
import type { KnownSubStep } from '../../domain/plan/subSteps.js'
import { restartedBy, subStepsOf } from '../../domain/plan/subSteps.js'
import { failedInDoubt } from '../../domain/change/subStepChanges.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { ancestors } from '../../domain/workflow/Unit.js'
import { subStepFailed, runningSubStepsFailed } from '../storage/changes.js'
import type { RunScope } from '../RunScope.js'
import { timestamp } from '../RunScope.js'
import type { AttemptResult } from '../steps/AttemptResult.js'
import type { Place } from '../Values.js'
import { errorOf, taskInDoubt, subStepInDoubt, usedAlready } from './subStepFailures.js'
import type { Root } from './subStepLevel.js'
import { save } from './subStepLevel.js'

/**
 * Drops a sub-step and all later records of earlier attempts. If one that is not idempotent may have acted, the next plan asks. `call`: the present
 * call of the sub-step.
 */
export const dropVersion = async (root: Root, unit: Unit, call: SubStep): Promise<E.Either<Error, void>> => {
  const { scope, place, reused, own } = root
  const checkpoint = scope.recorder.checkpoint()
  const known = subStepsOf(checkpoint).get(place.unit) ?? []
  // The sub-steps of this attempt precede this call. Open waits stay, with their answers.
  const all = known.filter((one) => !own.has(one.unit) && !has(checkpoint.pending, one.unit))
  const index = all.findIndex((one) => one.unit === unit)
  const again = restartedBy(all, { unit, index, reason: { _tag: 'Forced' } })
  const around = new Set([...again.keys()].flatMap((one) => [...ancestors(one)]))
  const at = timestamp(scope.environment.clock.now())
  const units = [...again.keys()].filter((one) => !around.has(one))
  scope.recorder.stage([{ _tag: 'Rewound', at, units, why: `VersionChanged ${unit}` }])
  const failed = failures(checkpoint.state)
  const isOnce = (one: KnownSubStep): boolean =>
    one.call.idempotent === false || (one.unit === unit && call.idempotent === false)
  const mayRepeat = (one: KnownSubStep): boolean => {
    const failure = get(failed, one.unit)
    return again.has(one.unit) && isOnce(one) && (failure === undefined || mayHaveActed(failure))
  }
  const inDoubt = all.filter(mayRepeat)
  if (inDoubt.length > 0) return await leaveInDoubt(root, inDoubt, unit)
  const isUsed = [...again.keys()].some((one) => reused.has(one))
  if (isUsed) root.refused = usedAlready(unit)
  const saved = await save(scope, [])
  return E.isLeft(saved) || root.refused === undefined ? saved : E.left(errorOf(root.refused))
}

/** Fails the running sub-steps of a failed unit. The unit is not retried while a sub-step is in doubt, or may still run after its grace. */
export const failSubSteps = (
  scope: RunScope,
  task: Place,
  failed: Unit,
  ended: AttemptResult & { readonly _tag: 'Failed' },
  isOverrun: boolean
): AttemptResult => {
  const left = runningSubStepsFailed(scope, task.unit, failed)
  if (left.length > 0) scope.recorder.stage(left)
  return isOverrun || failedInDoubt(failures(scope.recorder.checkpoint().state), failed).length > 0
    ? { ...ended, settled: false, again: false }
    : ended
}

/** Records sub-steps as failed with an unknown outcome, so that the next plan asks for confirmation, and ends the attempt. */
export const leaveInDoubt = async (
  root: Root,
  all: ReadonlyArray<{ readonly unit: Unit; readonly call: SubStep }>,
  because: Unit
): Promise<E.Either<Error, never>> => {
  const { scope } = root
  const now = scope.environment.clock.now()
  const times = { attempt: 1, startedAt: now, endedAt: now }
  const [first] = all
  root.refused = taskInDoubt(first?.unit ?? because, because)
  const saved = await save(scope, [
    { _tag: 'AttemptStarted', at: timestamp(now), attempts: all.map(({ unit }) => ({ unit, attempt: 1 })) },
    ...all.map(({ unit, call }) =>
      subStepFailed(unit, { ...call, idempotent: false }, subStepInDoubt(unit, because), times)
    )
  ])
  return E.isLeft(saved) ? saved : E.left(errorOf(root.refused))
}

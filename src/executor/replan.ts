/** Plans again during an execution, after a wait or to run a composite again, and records what the new plan overrides. */
import * as E from 'fp-ts/lib/Either.js'
import type { Change } from '../domain/change/Change.js'
import type { Checkpoint } from '../domain/checkpoint/Checkpoint.js'
import { overrides } from '../domain/plan/Overrides.js'
import type { PlanOptions, ResumePlan } from '../domain/plan/Plan.js'
import { runsAgain } from '../domain/plan/repeats.js'
import type { Environment } from '../ports/Environment.js'
import type { Planned } from './planRun.js'
import { requireNoQuestions, planStored } from './planRun.js'
import type { RunError } from './errors/RunError.js'
import type { RunScope, StepEnd } from './RunScope.js'
import { report, timestamp } from './RunScope.js'
import type { RecordError } from './storage/Recorder.js'
import { EXACT } from './storage/runs.js'
import { make as makeValues } from './Values.js'

export const replan = async (
  { program, environment, recorder, policy }: RunScope,
  options: PlanOptions = {}
): Promise<E.Either<RunError, Planned>> => {
  const state = { checkpoint: recorder.checkpoint(), found: EXACT }
  const planned = await planStored(program, state, { ...policy, ...options })(environment)()
  return E.isLeft(planned) ? planned : requireNoQuestions(planned.right)
}

/** Records the overrides of a plan before it is executed. `why`: the reason for its rewinds, if it differs from the plan's. */
export const recordOverrides = async (
  scope: RunScope,
  { plan, checkpoint, options }: Planned,
  why?: string
): Promise<E.Either<RecordError, void>> => {
  const { program, environment, recorder } = scope
  const at = timestamp(environment.clock.now())
  const changes = overrides(checkpoint, program, plan, options, at)
  if (changes.length === 0) return E.right(undefined)
  recorder.stage(
    changes.map((change): Change => (change._tag === 'Rewound' && why !== undefined ? { ...change, why } : change))
  )
  const saved = await recorder.commit()
  if (E.isLeft(saved)) return saved
  scope.values = makeValues(saved.right)
  return E.right(undefined)
}

/** Plans and records the repetition of a composite. Equals a resume with `restartWave`, so that a resume after a crash continues correctly. */
export const planRestart = async (
  scope: RunScope,
  { unit, stepIndex }: StepEnd & { readonly _tag: 'Restart' }
): Promise<E.Either<RunError, ResumePlan>> => {
  const { environment, recorder, restarts } = scope
  const before = recorder.checkpoint()
  const { runId } = before
  const planned = await replan(scope, { restartWave: unit })
  if (E.isLeft(planned)) return planned
  const { plan } = planned.right
  const recorded = await recordOverrides(scope, planned.right, 'CheckFailed')
  if (E.isLeft(recorded)) return recorded
  restarts.set(unit, (restarts.get(unit) ?? 0) + 1)
  report(environment, { _tag: 'WaveRestarted', runId, unit, stepIndex })
  reportRunsAgain(environment, plan, before)
  return E.right(plan)
}

/** Reports the completed units that a plan runs again, if there are any. */
export const reportRunsAgain = (environment: Environment, plan: ResumePlan, checkpoint: Checkpoint): void => {
  const [first, ...more] = runsAgain(plan, checkpoint)
  if (first !== undefined)
    report(environment, { _tag: 'StepsRunAgain', runId: checkpoint.runId, units: [first, ...more] })
}

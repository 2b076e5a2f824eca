/** Runs a composite of this execution again, with all its parts and all later steps. */
import * as E from 'fp-ts/lib/Either.js'
import type { Change } from '../domain/change/Change.js'
import { overrides } from '../domain/plan/Overrides.js'
import type { ResumePlan } from '../domain/plan/Plan.js'
import { runsAgain } from '../domain/plan/Plan.js'
import { EXACT, planStored } from './planRun.js'
import type { RunError } from './RunError.js'
import type { RunScope, StepEnd } from './RunScope.js'
import { report, timestamp } from './RunScope.js'
import { reset } from './Values.js'

/**
 * Rewinds a composite and all later steps durably, and returns the new plan. It equals a resume with `restartWave`, so a
 * resume after a crash continues correctly.
 */
export const goBack = async (
  scope: RunScope,
  { unit, stepIndex }: StepEnd & { readonly _tag: 'Back' }
): Promise<E.Either<RunError, ResumePlan>> => {
  const { definition, environment, recorder, values, restarts, policy } = scope
  const before = recorder.checkpoint()
  const options = { ...policy, restartWave: unit }
  const planned = await planStored(definition, { checkpoint: before, found: EXACT }, options)(environment)()
  if (E.isLeft(planned)) return planned
  const { plan } = planned.right
  const [question, ...others] = planned.right.questions
  if (question !== undefined) return E.left({ _tag: 'Unconfirmed', questions: [question, ...others] })
  const at = timestamp(environment.clock.now())
  const changes = overrides(before, definition, plan, planned.right.options, at).map((change): Change =>
    change._tag === 'Rewound' ? { ...change, why: CHECK_FAILED } : change
  )
  recorder.stage(changes)
  const saved = await recorder.commit()
  if (E.isLeft(saved)) return saved
  reset(values, saved.right)
  restarts.set(unit, (restarts.get(unit) ?? 0) + 1)
  const { runId } = saved.right
  report(environment, { _tag: 'RunWentBack', runId, unit, stepIndex })
  const [first, ...more] = runsAgain(plan, before)
  if (first !== undefined) report(environment, { _tag: 'StepsRunAgain', runId, units: [first, ...more] })
  return E.right(plan)
}

/** The recorded reason for a rewind during an execution. */
const CHECK_FAILED = 'CheckFailed'

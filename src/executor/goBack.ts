/** Runs an earlier wave of this execution again, with all its groups and all later steps. */
import * as E from 'fp-ts/lib/Either.js'
import type { Change } from '../domain/Change.js'
import { overrides } from '../domain/Overrides.js'
import type { ResumePlan } from '../domain/Plan.js'
import { openQuestions, runsAgain } from '../domain/Plan.js'
import { planResume } from '../domain/planResume.js'
import { replay } from '../domain/Transition.js'
import type { RunError } from './RunError.js'
import type { RunScope, StepEnd } from './RunScope.js'
import { report, timestamp } from './RunScope.js'
import { reset } from './Values.js'

/**
 * Rewinds a wave or map and all later steps durably, and returns the new plan. It equals a resume with `restartWave`, so a
 * resume after a crash continues correctly.
 */
export const goBack = async (
  scope: RunScope,
  { stepIndex, carry }: StepEnd & { readonly _tag: 'Back' }
): Promise<E.Either<RunError, ResumePlan>> => {
  const { definition, environment, recorder, values } = scope
  const now = replay(recorder.checkpoint(), carry)
  if (E.isLeft(now)) return now
  const step = definition.steps[stepIndex]?.name ?? ''
  const options = { restartWave: step }
  const planned = planResume(now.right, definition, options)
  if (E.isLeft(planned)) return planned
  const [question, ...others] = openQuestions(planned.right)
  if (question !== undefined) return E.left({ _tag: 'Unconfirmed', questions: [question, ...others] })
  const at = timestamp(environment.clock.now())
  const changes = overrides(now.right, definition, planned.right, options, at).map((change): Change =>
    change._tag === 'Rewound' ? { ...change, why: CHECK_FAILED } : change
  )
  const saved = await recorder.record([...carry, ...changes])()
  if (E.isLeft(saved)) return saved
  reset(values, saved.right)
  const { runId } = saved.right
  report(environment, { _tag: 'RunWentBack', runId, stepIndex, step })
  const [first, ...more] = runsAgain(planned.right, now.right)
  if (first !== undefined) report(environment, { _tag: 'StepsRunAgain', runId, units: [first, ...more] })
  return planned
}

/** The recorded reason for a rewind during an execution. */
const CHECK_FAILED = 'CheckFailed'

/**
 * Going back: a wave of this execution runs again, with all its groups and what follows.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { Change } from '../domain/Change.js'
import { unitsInNeed } from '../domain/evidenceOf.js'
import { overrides } from '../domain/Overrides.js'
import type { PlanOptions, ResumePlan } from '../domain/Plan.js'
import { openQuestions, runsAgain } from '../domain/Plan.js'
import { planResume } from '../domain/planResume.js'
import { replay } from '../domain/Transition.js'
import { collectEvidence } from './evidence.js'
import type { RunError } from './RunError.js'
import type { RunScope, StepEnd } from './RunScope.js'
import { report, timestamp } from './RunScope.js'
import { reset } from './Values.js'

/**
 * Takes back what a wave or map has done, and all after it: durably, before any of it runs again. Gives the plan to obey from now
 * on. It is what a resume with `restartWave` does, so a process that dies in the middle of it is followed by one that goes on with it.
 *
 * @category effects
 * @since 0.1.0
 */
export const goBack = async (
  scope: RunScope,
  { stepIndex, carry }: StepEnd & { readonly _tag: 'Back' }
): Promise<E.Either<RunError, ResumePlan>> => {
  const { definition, environment, recorder, values } = scope
  const now = replay(recorder.checkpoint(), carry)
  if (E.isLeft(now)) return now
  const step = definition.steps[stepIndex]?.name ?? ''
  const options: PlanOptions = { restartWave: step }
  const evidence = await collectEvidence(unitsInNeed(now.right, definition, options))(environment)()
  if (E.isLeft(evidence)) return evidence
  const planned = planResume(now.right, definition, { ...options, evidence: evidence.right })
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

/** Why a wave was taken back in the middle of an execution. */
const CHECK_FAILED = 'CheckFailed'

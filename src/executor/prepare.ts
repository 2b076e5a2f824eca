/** Prepares an execution: restores a stored run, records what its inbox requests, and makes a plan. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Change, Recovered, Started } from '../domain/change/Change.js'
import type { Checkpoint } from '../domain/checkpoint/Checkpoint.js'
import { start } from '../domain/checkpoint/Checkpoint.js'
import { defined } from '../domain/data/defined.js'
import { isText, kindOf } from '../domain/data/Options.js'
import { overrides as overridesOf } from '../domain/plan/Overrides.js'
import type { ResumePlan } from '../domain/plan/Plan.js'
import { current } from '../domain/workflow/WorkflowIdentity.js'
import type { Workspace } from '../domain/workflow/Workspace.js'
import type { Claim, Revision, Stored } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'
import type { Inputs } from './input.js'
import { optionsWithInput } from './input.js'
import type { Planned } from './planRun.js'
import { requireNoQuestions, planStored, tryPlan, requirePlan } from './planRun.js'
import type { Program } from './program/Program.js'
import { recorderFor } from './requests/inbox.js'
import { readAnswers, recordAnswers } from './requests/inboxAnswers.js'
import { recordCancelIfAsked } from './requests/recordRequests.js'
import type { RunError } from './errors/RunError.js'
import type { ResumeOptions, RunOptions } from './RunOptions.js'
import type { Failed, Interrupted } from './RunOutcome.js'
import { report, timestamp } from './RunScope.js'
import type { SecuredEnvironment } from './secrets.js'
import { revisionOf } from './storage/Recorder.js'
import { EXACT } from './storage/runs.js'
import { recoveryRefused, restoreUnmoved, stoppedIn } from './storage/stored.js'
import { workspaceFor } from './workspace/workspace.js'

export type WantedRun<Input> =
  | { readonly _tag: 'Run'; readonly input: Input; readonly options: RunOptions }
  | {
      readonly _tag: 'Resume'
      readonly input: Input | undefined
      readonly options: ResumeOptions<Input>
      /** No user asked for this resume: it does not continue a run that was stopped meanwhile. */
      readonly isAutomatic?: true
    }
  | { readonly _tag: 'RunOrResume'; readonly input: Input | undefined; readonly options: RunOptions & WithoutInput }

type WithoutInput = Omit<ResumeOptions, 'input'>

/** A call that may claim its run: the program is valid, its input can be recorded, its secrets are read. */
export interface CheckedCall<Outputs, Input> {
  readonly environment: SecuredEnvironment
  readonly program: Program<Outputs, Input, unknown, unknown>
  readonly runId: string
  readonly how: WantedRun<Input>
  readonly input: Inputs
  readonly workspace: Workspace | undefined
}

/** A run that can be executed. `unsaved`: revision 0 of a new run; `overrides`: the changes to record before any step runs. */
export interface Prepared {
  readonly checkpoint: Checkpoint
  readonly unsaved: ReadonlyArray<Revision>
  readonly plan: ResumePlan
  readonly overrides: ReadonlyArray<Change>
  readonly resumed: boolean
}

/** Prepares a new run. Nothing is saved yet. */
export const prepareNew = async <Outputs, Input>({
  environment,
  program,
  runId,
  how,
  input: { initial },
  workspace: found
}: CheckedCall<Outputs, Input>): Promise<E.Either<RunError, Prepared>> => {
  if (E.isLeft(initial)) return initial
  const input = initial.right
  // The run was known, and was removed before the claim.
  const isLate = found === undefined && how._tag !== 'Resume'
  const place = isLate ? await workspaceFor(environment, runId, how.options.workspace) : E.right(found)
  if (E.isLeft(place)) return place
  const workspace = place.right
  const at = timestamp(environment.clock.now())
  const started: Started = { _tag: 'Started', at, runId, workflow: current(program), input, ...defined({ workspace }) }
  const checkpoint = start(started)
  const options = how._tag === 'RunOrResume' ? how.options : {}
  const planResult = await tryPlan(program, { checkpoint, found: EXACT }, { ...options, evidence: [] })(environment)()
  if (E.isLeft(planResult)) return planResult
  // The workspace of a new run does not exist yet, and must not count as missing.
  const planned = requirePlan({ ...planResult.right, workspaceFound: true })
  if (E.isLeft(planned)) return planned
  const reviewed = requireReviewed(planned.right, options)
  if (E.isLeft(reviewed)) return reviewed
  const { plan } = planned.right
  return E.right({
    checkpoint,
    unsaved: [revisionOf(checkpoint, started)],
    plan,
    overrides: overridesOf(checkpoint, program, plan, planned.right.options, at),
    resumed: false
  })
}

/** Prepares a stored run; or returns its outcome, if a request cancels it, or it was stopped before an automatic resume. */
export const prepareStored = async <Outputs, Input>(
  { environment, program, runId, how, input }: CheckedCall<Outputs, Input>,
  claim: Claim,
  stored: Stored
): Promise<E.Either<RunError, Prepared | Interrupted | Failed>> => {
  const restored = restoreUnmoved(stored, runId)
  if (E.isLeft(restored)) return restored
  const before = restored.right
  if (how._tag === 'Run') return E.left({ _tag: 'RunExists', runId })
  const stopped = how._tag === 'Resume' && how.isAutomatic === true ? stoppedIn(before) : undefined
  if (stopped !== undefined) return E.right(stopped)
  const wanted = optionsWithInput(before, how.options, input.given)
  if (E.isLeft(wanted)) return wanted
  const consent = await askForConsent(environment, stored, before, how.options)
  if (E.isLeft(consent)) return consent
  const cancelled = await recordCancelIfAsked(environment, claim, before, consent.right)
  if (E.isLeft(cancelled)) return cancelled
  if (O.isSome(cancelled.right)) return E.right(cancelled.right.value)
  // Consent to a recovered state is recorded before any answer, so the answers stay in the inbox until the run continues.
  const answered =
    stored.found._tag === 'Exact' ? await recordInboxAnswers(environment, claim, before) : E.right(before)
  if (E.isLeft(answered)) return answered
  const checkpoint = answered.right
  const planned = await planStored(program, { checkpoint, found: stored.found }, wanted.right)(environment)()
  if (E.isLeft(planned)) return planned
  const reviewed = requireReviewed(planned.right, how.options)
  if (E.isLeft(reviewed)) return reviewed
  const { plan, options } = planned.right
  const at = timestamp(environment.clock.now())
  return E.right({
    checkpoint,
    unsaved: [],
    plan,
    overrides: [...consent.right, ...overridesOf(checkpoint, program, plan, options, at)],
    resumed: true
  })
}

const recordInboxAnswers = async (
  environment: SecuredEnvironment,
  claim: Claim,
  checkpoint: Checkpoint
): Promise<E.Either<RunError, Checkpoint>> => {
  const answers = await readAnswers(environment, claim.runId)
  if (answers.length === 0) return E.right(checkpoint)
  const recorder = recorderFor(environment, claim, checkpoint)
  const recorded = await recordAnswers(environment, recorder, answers)
  return E.isLeft(recorded) ? recorded : E.right(recorder.checkpoint())
}

/** Refuses a plan that differs from the reviewed one, or has open questions. */
const requireReviewed = (
  planned: Planned,
  { planHash }: Pick<ResumeOptions, 'planHash'>
): E.Either<RunError, Planned> =>
  planHash === undefined || planHash === planned.hash
    ? requireNoQuestions(planned)
    : E.left({ _tag: 'PlanChanged', expected: planHash, found: planned.hash })

/** Asks for consent to a recovered state. Returns the change that records it; none if the newest state is intact. */
const askForConsent = async (
  environment: Environment,
  stored: Stored,
  checkpoint: Checkpoint,
  options: Pick<ResumeOptions, 'onRecovered'>
): Promise<E.Either<RunError, ReadonlyArray<Recovered>>> => {
  if (stored.found._tag === 'Exact') return E.right([])
  const { runId } = checkpoint
  const { from, lost } = stored.found
  report(environment, { _tag: 'CheckpointRecovered', runId, from, lost })
  try {
    if (options.onRecovered === undefined) return recoveryRefused(runId, stored.found)
    const user = (await options.onRecovered({ runId, from, lost, checkpoint })) ?? O.none
    if (O.isNone(user)) return recoveryRefused(runId, stored.found, new Error('it returned nothing'))
    if (!isText(user.value)) return recoveryRefused(runId, stored.found, noName(user.value))
    const at = timestamp(environment.clock.now())
    return E.right([{ _tag: 'Recovered', at, from, lost, agreedBy: user.value }])
  } catch (cause) {
    return recoveryRefused(runId, stored.found, cause)
  }
}

/** An untyped caller may refuse with `false`. */
const noName = (given: unknown): TypeError => new TypeError(`it must return a name or nothing, not ${kindOf(given)}`)

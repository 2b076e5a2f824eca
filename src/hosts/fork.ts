/** Makes a new run from the records of another one. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Change } from '../domain/change/Change.js'
import { forked } from '../domain/change/forked.js'
import { redactedChange } from '../domain/change/redacted.js'
import { replay } from '../domain/change/Transition.js'
import type { Checkpoint } from '../domain/checkpoint/Checkpoint.js'
import type { Json } from '../domain/data/Json.js'
import { overrides } from '../domain/plan/Overrides.js'
import type { PlanOptions } from '../domain/plan/Plan.js'
import { isOwn } from '../domain/workflow/Workspace.js'
import { toWorkflow } from '../domain/workflow/WorkflowIdentity.js'
import { callPort, load, STORE, writeFailed } from '../executor/callPort.js'
import type { Executor } from '../executor/ExecutorCall.js'
import type { Check, OptionProblem } from '../domain/data/Options.js'
import { text } from '../domain/data/Options.js'
import { PLAN_OPTIONS } from '../domain/plan/planOptions.js'
import { argumentProblems, callProblems, unless } from '../executor/arguments.js'
import { optionsWithInput } from '../executor/input.js'
import { toJson } from '../executor/program/conversions.js'
import { requireNoQuestions } from '../executor/planRun.js'
import { planRecorded } from '../executor/requests/confirm.js'
import { handleLateRequests } from '../executor/requests/recordRequests.js'
import type { RunError } from '../executor/errors/RunError.js'
import { timestamp } from '../executor/RunScope.js'
import { secure, withoutSecrets } from '../executor/secrets.js'
import { revisionOf } from '../executor/storage/Recorder.js'
import { storedRun } from '../executor/storage/runs.js'
import { recoveryRefused, withClaim } from '../executor/storage/stored.js'
import { copyArtifacts, namedArtifacts } from '../executor/workspace/copyArtifacts.js'
import { removeArtifacts } from '../executor/workspace/onSuccess.js'
import type { Claim } from '../ports/CheckpointStorage.js'
import type { Environment } from '../ports/Environment.js'

/**
 * Where a fork starts. `fromStep`: the path of the first unit that runs again. `input`: replaces the input, as plain JSON. `confirm` and `onChanged`:
 * as in `PlanOptions`, for units that do not run again because of `fromStep`.
 *
 * @category model
 */
export interface ForkOptions extends Pick<PlanOptions, 'confirm' | 'onChanged'> {
  readonly fromStep: string
  readonly input?: Json
}

/**
 * A run that `fork` made. `checkpoint`: its first one.
 *
 * @category model
 */
export interface ForkedRun {
  readonly runId: string
  readonly checkpoint: Checkpoint
}

/**
 * Makes a new run that starts at `fromStep` with the records of an old one, and does not run it: resume it under its id, or let `resumeAll` on
 * the same storage do so. The old run stays as it is, whatever its status. Everything before `fromStep` counts as done, as in a resume with
 * `fromStep`; every unit that runs has an idempotency key of its own. Plans the recorded definition, so the new run may be resumed with an
 * edited one. Artifacts of kept records are copied. Fails with `ForkRefused` if the old run has a workspace of its own, with `RunMoved`
 * if it was moved, with `RunExists` if the new id exists, and with `InvalidInput` if the input is not plain JSON.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { fork } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import { resume, run, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const storage = memoryStorage()
 * const report = workflow('report').step('collect', () => [1, 2]).step('print', () => 'printed')
 * await run(report, { id: 'report-1', storage })
 * const made = await fork('report-1', 'report-2', { fromStep: 'print' })(nodeEnvironment(storage))()
 * assert.ok(E.isRight(made))
 * const outputs = await resume(report, { id: 'report-2', storage })
 * assert.deepEqual(outputs, { collect: [1, 2], print: 'printed' })
 *
 * @category running
 */
export const fork = (runId: string, newId: string, options: ForkOptions): Executor<ForkedRun> =>
  unless(problemsOf(runId, newId, options), () => forkNow(runId, newId, options))

const problemsOf = (runId: unknown, newId: unknown, options: unknown): ReadonlyArray<OptionProblem> => [
  ...argumentProblems('runId', runId, text),
  ...argumentProblems('newId', newId, text),
  ...callProblems(options, FORK, ['fromStep'])
]

const { fromStep, input, confirm, onChanged } = PLAN_OPTIONS

/** The checks of the options of `fork`. */
export const FORK: Readonly<Record<keyof ForkOptions, Check>> = { fromStep, input, confirm, onChanged }

const forkNow =
  (runId: string, newId: string, options: ForkOptions): Executor<ForkedRun> =>
  (environment) =>
  async () => {
    const first = await firstRevisionOf(environment, runId, newId, options)
    if (E.isLeft(first)) return first
    const { checkpoint } = first.right
    // A claim would leave a trace in an existing run, and take it from a dead owner.
    const existing = await load(environment, newId)
    if (E.isLeft(existing)) return existing
    if (O.isSome(existing.right)) return E.left({ _tag: 'RunExists', runId: newId })
    const made = await withClaim(environment, newId, async (claim, stored): Promise<E.Either<RunError, ForkedRun>> => {
      if (O.isSome(stored)) return E.left({ _tag: 'RunExists', runId: newId })
      const saved = await copyAndSave(environment, runId, claim, first.right)
      // Else a later new run with the id would have the copies. A save that may still take effect needs them.
      if (E.isLeft(saved) && !claim.lost.aborted && !mayTakeEffect(saved.left))
        await removeArtifacts(environment, newId)
      return E.isLeft(saved) ? saved : E.right({ runId: newId, checkpoint })
    })
    await handleLateRequests(environment, newId)
    return made
  }

const mayTakeEffect = (error: RunError): boolean => error._tag === 'WriteFailed' && error.committed === 'unknown'

interface FirstRevision {
  readonly checkpoint: Checkpoint
  readonly change: Change
}

/** Copies the artifacts before the save: its records name them. */
const copyAndSave = async (
  environment: Environment,
  runId: string,
  claim: Claim,
  { checkpoint, change }: FirstRevision
): Promise<E.Either<RunError, void>> => {
  const copied = await copyArtifacts(
    namedArtifacts(checkpoint),
    { ...environment, runId },
    { ...environment, runId: claim.runId }
  )
  if (E.isLeft(copied)) return copied
  const revision = revisionOf(checkpoint, change)
  return await callPort('save', () => environment.storage.save(claim, [revision]), writeFailed(STORE))
}

/** Plans the fork, and applies the plan to a copy of the old state. */
const firstRevisionOf = async (
  environment: Environment,
  runId: string,
  newId: string,
  { fromStep, input, ...answers }: ForkOptions
): Promise<E.Either<RunError, FirstRevision>> => {
  const json = toJson(input)
  if (E.isLeft(json)) return E.left({ _tag: 'InvalidInput', ...json.left })
  const view = await storedRun(runId)(environment)()
  if (E.isLeft(view)) return view
  if (O.isNone(view.right)) return E.left({ _tag: 'NoSuchRun', runId })
  const { checkpoint: old, found } = view.right.value
  if (isOwn(old.workspace)) return E.left({ _tag: 'ForkRefused', runId, workspace: old.workspace })
  if (found._tag === 'Recovered') return recoveryRefused(runId, found)
  const secured = await secure(environment, input === undefined && answers.confirm === undefined ? {} : old.workflow)
  if (E.isLeft(secured)) return secured
  const given = json.right === undefined ? E.right(undefined) : withoutSecrets(secured.right, json.right)
  if (E.isLeft(given)) return given
  const wanted = optionsWithInput(old, { ...answers, fromStep, reopen: true }, given.right)
  if (E.isLeft(wanted)) return wanted
  const planned = await planRecorded(old, wanted.right, 'fork')(secured.right)()
  const accepted = E.isLeft(planned) ? planned : requireNoQuestions(planned.right)
  if (E.isLeft(accepted)) return accepted
  const at = timestamp(environment.clock.now())
  const changes = overrides(old, toWorkflow(old.workflow), accepted.right.plan, accepted.right.options, at)
  const { redaction } = secured.right.vault
  const rewound = replay(
    old,
    changes.map((change) => redactedChange(redaction, change))
  )
  if (E.isLeft(rewound)) return rewound
  const start = { at, runId: newId, from: { runId, revision: old.revision, unit: fromStep } }
  return E.right({ checkpoint: forked(rewound.right, start), change: { _tag: 'Forked', ...start } })
}

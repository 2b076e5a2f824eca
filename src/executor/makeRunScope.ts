/** Makes the `RunScope` of one execution. */
import type { Checkpoint } from '../domain/checkpoint/Checkpoint.js'
import { inFlight } from '../domain/checkpoint/CheckpointState.js'
import type { Claim, Revision } from '../ports/CheckpointStorage.js'
import type { Program } from './program/Program.js'
import { recordAnswers } from './requests/inboxAnswers.js'
import { watchInbox } from './requests/watchInbox.js'
import type { RunScope } from './RunScope.js'
import { report, stopOn } from './RunScope.js'
import type { SecuredEnvironment } from './secrets.js'
import { eventsOf } from './storage/changes.js'
import { make as makeRecorder } from './storage/Recorder.js'
import { make as makeValues } from './Values.js'
import { nothingPut } from './workspace/artifacts.js'
import { workingTreeOf } from './workspace/workspace.js'

const NO_UNITS: ReadonlySet<string> = new Set()

/** `unsaved`: revisions that the first save includes. */
export const makeRunScope = <Outputs, Input>(
  environment: SecuredEnvironment,
  program: Program<Outputs, Input, unknown, unknown>,
  claim: Claim,
  {
    checkpoint,
    unsaved = [],
    policy = {},
    before = checkpoint,
    consented = []
  }: {
    readonly checkpoint: Checkpoint
    readonly unsaved?: ReadonlyArray<Revision>
    readonly policy?: RunScope['policy']
    readonly before?: RunScope['before']
    readonly consented?: RunScope['consented']
  }
): { readonly scope: RunScope; readonly dispose: () => void } => {
  const { runId } = checkpoint
  const onSaved = (reached: Checkpoint, revisions: ReadonlyArray<Revision>): void => {
    report(environment, { _tag: 'CheckpointSaved', runId, revision: reached.revision, state: reached.state })
    for (const { change } of revisions)
      for (const event of eventsOf(program, reached, change)) report(environment, event)
  }
  const { redaction } = environment.vault
  const recorder = makeRecorder(environment.storage, claim, checkpoint, unsaved, onSaved, redaction)
  const { stopping, stopReason, dispose } = stopOn(environment, claim)
  const scope: RunScope = {
    environment: { ...environment, tree: workingTreeOf(environment, checkpoint.workspace) },
    program,
    recorder,
    values: makeValues(checkpoint),
    policy,
    restarts: new Map(),
    rejectedAnswers: new Map(),
    notRetried: new Set(),
    partSpans: new Map(),
    interruptedUnits: new Map(Array.from(inFlight(checkpoint.state), (one) => [one.unit, one.suspended === true])),
    before,
    consented,
    awake: NO_UNITS,
    artifacts: nothingPut(),
    stopping,
    stopReason,
    requests: watchInbox(environment, runId, (answers) => recordAnswers(environment, recorder, answers))
  }
  return { scope, dispose }
}

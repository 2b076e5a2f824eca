/** Decodes changes. A change is plain JSON, so encoding is the identity. */
import * as t from 'io-ts'
import type { Either } from 'fp-ts/lib/Either.js'
import type * as Change from './Change.js'
import type { Malformed } from '../data/Malformed.js'
import { decodeWith, fields, json, list, millis, natural, oneOf, optional, tagged, time } from '../data/JsonCodec.js'
import {
  evidence,
  inFlight,
  interruptReason,
  item,
  origin,
  outcome,
  stepError,
  submission,
  subStep,
  wait,
  workflowIdentity,
  workspace
} from '../checkpoint/StateCodec.js'

const dated = { at: time }

const place = { ...dated, unit: t.string }

const assumption = { ...place, output: optional(json), captured: list(t.string), subStep: optional(subStep) }

const abandons = optional(list(t.string))

const failedAttempt = { attempt: natural, startedAt: time, error: stepError, outcome }

export const change: t.Type<Change.Change> = tagged('a change', '_tag', {
  Started: { ...dated, runId: t.string, workflow: workflowIdentity, input: json, workspace: optional(workspace) },
  Forked: { ...dated, runId: t.string, from: origin },
  Moved: { ...dated, way: oneOf<Change.Moved['way']>('to', 'from', 'here'), store: t.string },
  WorkflowEdited: { ...dated, workflow: workflowIdentity, abandons },
  Recovered: { ...dated, from: t.string, lost: t.string, agreedBy: t.string },
  InputReplaced: { ...dated, input: json },
  Expanded: { ...place, items: list(item) },
  AttemptStarted: { ...dated, attempts: list(inFlight), submissions: optional(list(submission)) },
  AttemptFailed: { ...place, ...failedAttempt, delayBeforeNextMillis: millis },
  UnitCompleted: {
    ...assumption,
    attempts: natural,
    startedAt: time,
    durationMillis: millis,
    evidence: list(evidence)
  },
  UnitFailed: {
    ...place,
    retryable: t.boolean,
    last: optional(fields<NonNullable<Change.UnitFailed['last']>>('the last attempt', failedAttempt)),
    subStep: optional(subStep)
  },
  JobSubmitted: { ...place, attempt: natural, job: optional(json) },
  JobEnded: { ...place, error: stepError, outcome, retryable: t.boolean },
  WaitStarted: { ...place, wait },
  Answered: { ...place, value: json, by: t.string },
  Suspended: { ...place, waits: list(t.string), dropped: optional(list(t.string)) },
  Interrupted: { ...place, reason: interruptReason },
  Rewound: { ...dated, units: list(t.string), why: t.string, abandons },
  Assumed: { ...assumption, abandons },
  Confirmed: { ...place, evidence: optional(list(evidence)) }
})

/** Detects changes of this format. Decoding copies nothing, so that they need no other result. */
export const areChanges = (stored: ReadonlyArray<unknown>): stored is ReadonlyArray<Change.Change> =>
  stored.every(change.is)

/** Decodes a change, or returns the first error. */
export const decode: (stored: unknown) => Either<Malformed, Change.Change> = decodeWith(change)

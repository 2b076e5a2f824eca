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

const fact = { at: time }

const unitFact = { ...fact, unit: t.string }

const done = { ...unitFact, output: optional(json), subStep: optional(subStep) }

const abandons = optional(list(t.string))

const dropped = optional(list(t.string))

const failedAttempt = { attempt: natural, startedAt: time, error: stepError, outcome }

export const change: t.Type<Change.Change> = tagged('a change', '_tag', {
  Started: { ...fact, runId: t.string, workflow: workflowIdentity, input: json, workspace: optional(workspace) },
  Forked: { ...fact, runId: t.string, from: origin },
  Moved: { ...fact, way: oneOf<Change.Moved['way']>('to', 'from', 'here'), store: t.string },
  WorkflowEdited: { ...fact, workflow: workflowIdentity, abandons },
  Recovered: { ...fact, from: t.string, lost: t.string, agreedBy: t.string },
  InputReplaced: { ...fact, input: json },
  Expanded: { ...unitFact, items: list(item) },
  AttemptStarted: { ...fact, attempts: list(inFlight), submissions: optional(list(submission)) },
  AttemptFailed: { ...unitFact, ...failedAttempt, delayBeforeNextMillis: millis, dropped },
  UnitCompleted: {
    ...done,
    captured: optional(list(t.string)),
    attempts: natural,
    startedAt: time,
    durationMillis: millis,
    evidence: optional(list(evidence))
  },
  UnitFailed: {
    ...unitFact,
    retryable: t.boolean,
    last: optional(fields<NonNullable<Change.UnitFailed['last']>>('the last attempt', failedAttempt)),
    subStep: optional(subStep),
    dropped
  },
  JobSubmitted: { ...unitFact, attempt: natural, job: optional(json) },
  JobEnded: { ...unitFact, error: stepError, outcome, retryable: t.boolean },
  WaitStarted: { ...unitFact, wait },
  Answered: { ...unitFact, value: json, by: t.string },
  Suspended: { ...unitFact, waits: list(t.string), dropped },
  Interrupted: { ...unitFact, reason: interruptReason },
  Rewound: { ...fact, units: list(t.string), why: t.string, abandons },
  Assumed: { ...done, captured: list(t.string), abandons },
  Confirmed: { ...unitFact, evidence: optional(list(evidence)), replaced: optional(t.literal(true)) }
})

/** Detects changes of this format. Valid ones need no decoding, which would return the same values. */
export const areChanges = (stored: ReadonlyArray<unknown>): stored is ReadonlyArray<Change.Change> =>
  stored.every(change.is)

/** Decodes a change, or returns the first error. */
export const decode: (stored: unknown) => Either<Malformed, Change.Change> = decodeWith(change)

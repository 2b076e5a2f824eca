/** Decodes changes. A change is plain JSON, so encoding is the identity. */
import * as t from 'io-ts'
import type { Either } from 'fp-ts/lib/Either.js'
import type * as Change from './Change.js'
import type { Spec } from '../data/JsonCodec.js'
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

const place = { at: time, unit: t.string }

const completion = {
  ...place,
  output: optional(json),
  captured: list(t.string),
  attempts: natural,
  startedAt: time,
  durationMillis: millis,
  evidence: list(evidence),
  subStep: optional(subStep)
}

const failedAttempt = { attempt: natural, startedAt: time, error: stepError, outcome }

/** Makes the codec of a member of the union. */
const member = <T extends Change.Change['_tag']>(
  tag: T,
  spec: Spec<Omit<Extract<Change.Change, { readonly _tag: T }>, '_tag'>>
): t.Type<Change.Change> => fields(tag, { _tag: t.literal(tag), ...spec } as unknown as Spec<Change.Change>)

export const change: t.Type<Change.Change> = tagged<Change.Change>('a change', '_tag', {
  Started: member('Started', {
    at: time,
    runId: t.string,
    workflow: workflowIdentity,
    input: json,
    workspace: optional(workspace)
  }),
  Forked: member('Forked', { at: time, runId: t.string, from: origin }),
  Moved: member('Moved', { at: time, way: oneOf<Change.Moved['way']>('to', 'from', 'here'), store: t.string }),
  WorkflowEdited: member('WorkflowEdited', {
    at: time,
    workflow: workflowIdentity,
    abandons: optional(list(t.string))
  }),
  Recovered: member('Recovered', { at: time, from: t.string, lost: t.string, agreedBy: t.string }),
  InputReplaced: member('InputReplaced', { at: time, input: json }),
  Expanded: member('Expanded', { ...place, items: list(item) }),
  AttemptStarted: member('AttemptStarted', {
    at: time,
    attempts: list(inFlight),
    submissions: optional(list(submission))
  }),
  AttemptFailed: member('AttemptFailed', {
    ...place,
    ...failedAttempt,
    delayBeforeNextMillis: millis
  }),
  UnitCompleted: member('UnitCompleted', completion),
  UnitFailed: member('UnitFailed', {
    ...place,
    retryable: t.boolean,
    last: optional(fields<NonNullable<Change.UnitFailed['last']>>('the last attempt', failedAttempt)),
    subStep: optional(subStep)
  }),
  JobSubmitted: member('JobSubmitted', {
    ...place,
    attempt: natural,
    job: optional(json)
  }),
  JobEnded: member('JobEnded', {
    ...place,
    error: stepError,
    outcome,
    retryable: t.boolean
  }),
  WaitStarted: member('WaitStarted', { ...place, wait }),
  Answered: member('Answered', { ...place, value: json, by: t.string }),
  Suspended: member('Suspended', { ...place, waits: list(t.string), dropped: optional(list(t.string)) }),
  Interrupted: member('Interrupted', { ...place, reason: interruptReason }),
  Rewound: member('Rewound', { at: time, units: list(t.string), why: t.string }),
  Assumed: member('Assumed', {
    ...place,
    output: optional(json),
    captured: list(t.string),
    subStep: optional(subStep)
  }),
  Confirmed: member('Confirmed', { ...place, evidence: optional(list(evidence)) })
})

/** Detects changes of this format. Decoding copies nothing, so that they need no other result. */
export const areChanges = (stored: ReadonlyArray<unknown>): stored is ReadonlyArray<Change.Change> =>
  stored.every(change.is)

/** Decodes a change, or returns the first error. */
export const decode: (stored: unknown) => Either<Malformed, Change.Change> = decodeWith(change)

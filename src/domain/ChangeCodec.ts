/**
 * Changes as they are stored. A change is plain JSON already, so encoding is the identity; decoding checks.
 *
 * @since 0.1.0
 */
import * as t from 'io-ts'
import type { Either } from 'fp-ts/lib/Either.js'
import type * as Change from './Change.js'
import type { Malformed, Spec } from './JsonCodec.js'
import { decodeWith, fields, json, list, millis, natural, optional, tagged, time } from './JsonCodec.js'
import {
  evidence,
  inFlight,
  interruptReason,
  item,
  outcome,
  stepError,
  workflowIdentity,
  workspace
} from './StateCodec.js'

const place = { at: time, stepIndex: natural, step: t.string }

const completion = {
  ...place,
  output: optional(json),
  captured: list(t.string),
  attempts: natural,
  startedAt: time,
  durationMillis: millis,
  evidence: list(evidence)
}

const failedAttempt = { attempt: natural, startedAt: time, error: stepError, outcome }

/** A codec for the member of the union that has this tag. */
const member = <T extends Change.Change['_tag']>(
  tag: T,
  spec: Spec<Omit<Extract<Change.Change, { readonly _tag: T }>, '_tag'>>
): t.Type<Change.Change> => fields(tag, { _tag: t.literal(tag), ...spec } as unknown as Spec<Change.Change>)

/**
 * The codec of a stored change.
 *
 * @category codecs
 * @since 0.1.0
 */
export const change: t.Type<Change.Change> = tagged<Change.Change>('a change', '_tag', {
  Started: member('Started', {
    at: time,
    runId: t.string,
    workflow: workflowIdentity,
    input: json,
    workspace: optional(workspace)
  }),
  WorkflowEdited: member('WorkflowEdited', { at: time, workflow: workflowIdentity }),
  Recovered: member('Recovered', { at: time, from: t.string, lost: t.string, agreedBy: t.string }),
  InputReplaced: member('InputReplaced', { at: time, input: json }),
  Expanded: member('Expanded', { ...place, items: list(item) }),
  AttemptStarted: member('AttemptStarted', {
    ...place,
    attempts: list(inFlight),
    submissions: optional(
      list(fields<Change.SubmissionKey>('the key of a submission', { group: optional(t.string), key: t.string }))
    )
  }),
  AttemptFailed: member('AttemptFailed', {
    ...place,
    ...failedAttempt,
    group: optional(t.string),
    delayBeforeNextMillis: millis
  }),
  UnitCompleted: member('UnitCompleted', { ...completion, group: optional(t.string) }),
  UnitFailed: member('UnitFailed', {
    ...place,
    group: optional(t.string),
    retryable: t.boolean,
    last: optional(fields<NonNullable<Change.UnitFailed['last']>>('the last attempt', failedAttempt))
  }),
  JobSubmitted: member('JobSubmitted', {
    ...place,
    group: optional(t.string),
    attempt: natural,
    job: optional(json)
  }),
  JobEnded: member('JobEnded', {
    ...place,
    group: optional(t.string),
    error: stepError,
    outcome,
    retryable: t.boolean
  }),
  Interrupted: member('Interrupted', { ...place, reason: interruptReason }),
  Rewound: member('Rewound', { ...place, groups: optional(list(t.string)), why: t.string }),
  Assumed: member('Assumed', {
    ...place,
    group: optional(t.string),
    output: optional(json),
    captured: list(t.string)
  }),
  Confirmed: member('Confirmed', { ...place, group: optional(t.string), evidence: optional(list(evidence)) })
})

/**
 * Decodes a stored change, or says where the first fault is.
 *
 * @category destructors
 * @since 0.1.0
 */
export const decode: (stored: unknown) => Either<Malformed, Change.Change> = decodeWith(change)

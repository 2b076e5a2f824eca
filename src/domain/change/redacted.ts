/** Redacts secret values from changes before they are recorded. */
import type { Change } from './Change.js'
import type { Evidence } from '../checkpoint/CompletedStep.js'
import type { RejectedAnswer, Wait } from '../checkpoint/Pending.js'
import type { Json } from '../data/Json.js'
import type { Redaction } from '../data/Redaction.js'
import { error, isIn, json, text } from '../data/Redaction.js'

/** Redacts a change. Names, summaries and the path of the workflow stay: a definition is no place for a secret. */
export const redactedChange = (self: Redaction, one: Change): Change => {
  switch (one._tag) {
    case 'Started':
    case 'InputReplaced':
      return { ...one, input: json(self, one.input) }
    case 'Recovered':
      return { ...one, from: text(self, one.from), lost: text(self, one.lost), agreedBy: text(self, one.agreedBy) }
    case 'AttemptFailed':
    case 'JobEnded':
      return { ...one, error: error(self, one.error) }
    case 'UnitFailed':
      return one.last === undefined ? one : { ...one, last: { ...one.last, error: error(self, one.last.error) } }
    case 'UnitCompleted': {
      const completed = withOutput(self, one)
      const { evidence } = one
      return evidence === undefined
        ? completed
        : { ...completed, evidence: evidence.map((item) => redactedEvidence(self, item)) }
    }
    case 'JobSubmitted':
      return one.job === undefined ? one : { ...one, job: json(self, one.job) }
    case 'Assumed':
      return withOutput(self, one)
    case 'Expanded':
      return { ...one, items: one.items.map(({ key, value }) => ({ key, value: json(self, value) })) }
    case 'Rewound':
      return { ...one, why: text(self, one.why) }
    case 'Confirmed':
      return one.evidence === undefined
        ? one
        : { ...one, evidence: one.evidence.map((item) => redactedEvidence(self, item)) }
    case 'WaitStarted':
      return { ...one, wait: wait(self, one.wait) }
    case 'Answered':
      return { ...one, value: json(self, one.value), by: text(self, one.by) }
    case 'Forked':
    case 'Moved':
    case 'WorkflowEdited':
    case 'AttemptStarted':
    case 'Suspended':
    case 'Interrupted':
      return one
  }
}

const wait = (self: Redaction, one: Wait): Wait =>
  one._tag === 'Timer'
    ? one
    : {
        ...one,
        ...(one.question === undefined ? {} : { question: text(self, one.question) }),
        ...(one.rejected === undefined ? {} : { rejected: rejectedAnswer(self, one.rejected) })
      }

const rejectedAnswer = (self: Redaction, { by, path, expected }: RejectedAnswer): RejectedAnswer => ({
  by: text(self, by),
  path: text(self, path),
  expected: text(self, expected)
})

const withOutput = <A extends { readonly output?: Json }>(self: Redaction, one: A): A =>
  one.output === undefined ? one : { ...one, output: json(self, one.output) }

/** Redacts the paths and artifact ids of evidence. Returns the same evidence if it contains no secret. */
export const redactedEvidence = (self: Redaction, one: Evidence): Evidence => {
  switch (one._tag) {
    case 'Artifact':
    case 'File':
      return isIn(self, one.path) ? { ...one, path: text(self, one.path) } : one
    case 'Stored':
      return isIn(self, one.id) ? { ...one, id: text(self, one.id) } : one
    case 'Commit':
      return one
  }
}

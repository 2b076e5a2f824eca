/** Describes what pending units wait for. */
import { describeJob, describeRejected } from '../../domain/explain/Explain.js'
import type { JsonObject } from '../../domain/data/Json.js'
import type { PendingJob, PendingUnit, Wait } from '../../domain/checkpoint/Pending.js'
import { firstLine } from '../../view/text.js'

/** For a line that names the unit already. */
export const waitText = (pending: PendingJob | Wait): string => {
  switch (pending._tag) {
    case 'Job': {
      const given = pending.job === undefined ? '' : ` ${describeJob(pending.job)}`
      return `its job${given} was submitted ${pending.submittedAt}`
    }
    case 'Timer':
      return `sleeps until ${pending.wakeAt}`
    case 'Answer':
      return `waits for an answer${questionOf(pending)}${pending.until === undefined ? '' : ` (until ${pending.until})`}${rejectionOf(pending)}`
  }
}

export const waitingFor = (pending: PendingUnit): string => {
  const { unit } = pending
  switch (pending._tag) {
    case 'Job': {
      const given = pending.job === undefined ? '' : ` (${describeJob(pending.job)})`
      return `Waiting for the job of ${unit}${given}, submitted ${pending.submittedAt}`
    }
    case 'Timer':
      return `Waiting until ${pending.wakeAt} (${unit})`
    case 'Answer':
      return `Waiting for an answer (${unit})${questionOf(pending)}`
  }
}

const questionOf = ({ question }: Wait & { readonly _tag: 'Answer' }): string =>
  question === undefined ? '' : `: ${firstLine(question)}`

const rejectionOf = ({ rejected }: Wait & { readonly _tag: 'Answer' }): string =>
  rejected === undefined ? '' : `; the last answer was rejected: ${describeRejected(rejected)}`

/** Leaves out a kind without units. */
export const pendingJson = (all: ReadonlyArray<PendingUnit>): JsonObject => {
  const jobs = all.flatMap((one) => (one._tag === 'Job' ? [jobJson(one)] : []))
  const waits = all.flatMap((one) =>
    one._tag === 'Job' ? [] : [{ unit: one.unit, ...waitJson(one), started_at: one.startedAt }]
  )
  return { ...(jobs.length === 0 ? {} : { jobs }), ...(waits.length === 0 ? {} : { waits }) }
}

export const jobJson = ({ unit, job, key, submittedAt }: PendingJob): JsonObject => ({
  unit,
  job: job ?? null,
  idempotency_key: key,
  submitted_at: submittedAt
})

/** What a wait waits for. */
export const waitJson = (wait: Wait): JsonObject =>
  wait._tag === 'Timer'
    ? { for: 'timer', wake_at: wait.wakeAt }
    : {
        for: 'answer',
        question: wait.question ?? null,
        until: wait.until ?? null,
        ...(wait.rejected === undefined ? {} : { rejected: { ...wait.rejected } })
      }

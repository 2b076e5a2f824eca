/** Events of a run as lines of JSON: its plan, and each change once it is durable. */
import type { Change } from '../../domain/change/Change.js'
import type { JsonObject } from '../../domain/data/Json.js'
import { defined } from '../../domain/data/defined.js'
import type { Of } from './LiveRun.js'
import { waitJson } from './pending.js'
import { errorJson } from './runJson.js'
import { skippedBy } from './skipped.js'

export const lineOf = (document: JsonObject): string => `${JSON.stringify(document)}\n`

/** The first line: the run, and the completed units that it skips. */
export const plannedJson = (name: string, { runId, resumed, plan }: Of<'RunPlanned'>): JsonObject => ({
  event: 'RunPlanned',
  run_id: runId,
  run_name: name,
  resumed,
  skipped: skippedBy(plan)
})

/** A change: its revision, kind, time and unit, and the fields of its kind. */
export const changeJson = (revision: number, change: Change): JsonObject => ({
  event: change._tag,
  revision,
  at: change.at,
  ...('unit' in change ? { unit: change.unit } : {}),
  ...fieldsOf(change)
})

const fieldsOf = (change: Change): JsonObject => {
  switch (change._tag) {
    case 'Started':
      return { run_name: change.workflow.name }
    case 'Forked':
      return { forked_from: change.from.runId }
    case 'Moved':
      return { way: change.way, store: change.store }
    case 'Recovered':
      return { from: change.from, lost: change.lost }
    case 'Expanded':
      return { items: change.items.length }
    case 'AttemptStarted':
      return { attempts: change.attempts.map(({ unit, attempt }) => ({ unit, attempt })) }
    case 'AttemptFailed': {
      const { attempt, error, delayBeforeNextMillis } = change
      return { attempt, error: errorJson(error), delay_millis: delayBeforeNextMillis }
    }
    case 'UnitCompleted': {
      const { attempts, startedAt, durationMillis } = change
      return { attempts, started_at: startedAt, duration_millis: durationMillis }
    }
    case 'UnitFailed':
      return change.last === undefined ? {} : { attempt: change.last.attempt, error: errorJson(change.last.error) }
    case 'JobSubmitted':
      return { attempt: change.attempt, job: change.job ?? null }
    case 'JobEnded':
      return { error: errorJson(change.error) }
    case 'WaitStarted':
      return waitJson(change.wait)
    case 'Answered':
      return { by: change.by }
    case 'Interrupted':
      return { reason: change.reason }
    case 'Rewound':
      return { units: change.units, why: change.why, ...defined({ abandons: change.abandons }) }
    case 'WorkflowEdited':
    case 'Assumed':
      return defined({ abandons: change.abandons })
    case 'InputReplaced':
    case 'Suspended':
    case 'Confirmed':
      return {}
  }
}

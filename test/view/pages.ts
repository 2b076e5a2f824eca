/** Runs for the page, built from their changes. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Change, RunPage, Step } from '../../src/index.js'
import { Checkpoint, Transition, Workflow, WorkflowIdentity } from '../../src/index.js'

/** A time: this number of seconds after the run started. */
export const after = (seconds: number): string =>
  new Date(Date.UTC(2026, 0, 2, 3, 4, 5) + seconds * 1_000).toISOString()

export const { task } = Workflow

export const wave = (name: string, parts: readonly Step[]): Step =>
  Workflow.wave(
    name,
    parts.map((part) => Workflow.group(part))
  )

/** The page of a run after these changes. No process owns it. */
export const pageOf = (
  steps: readonly Step[],
  changes: readonly Change[],
  more: Partial<RunPage> & { readonly name?: string; readonly isLive?: boolean } = {}
): RunPage => {
  const { name = 'release', isLive = false, ...rest } = more
  const workflow = WorkflowIdentity.of({ name, steps })
  const queued = Checkpoint.start({ _tag: 'Started', at: after(0), runId: 'r-1', workflow, input: {} })
  const checkpoint = Transition.replay(queued, changes)
  if (E.isLeft(checkpoint)) throw new Error(JSON.stringify(checkpoint.left))
  return {
    runId: 'r-1',
    checkpoint: checkpoint.right,
    status: Checkpoint.status(checkpoint.right, isLive),
    heldBy: isLive ? O.some({ host: 'ci', pid: 7, since: after(0), liveness: 'alive' }) : O.none,
    found: { _tag: 'Exact' },
    changes: new Map(changes.map((change, index) => [index + 1, change])),
    ...rest
  }
}

export const started = (at: number, units: Readonly<Record<string, number>>): Change => ({
  _tag: 'AttemptStarted',
  at: after(at),
  attempts: Object.entries(units).map(([unit, attempt]) => ({ unit, attempt }))
})

export const completed = (unit: string, from: number, to: number, more: Partial<Change> = {}): Change =>
  ({
    _tag: 'UnitCompleted',
    at: after(to),
    unit,
    captured: [],
    attempts: 1,
    startedAt: after(from),
    durationMillis: (to - from) * 1_000,
    evidence: [],
    ...more
  }) as Change

const error = (message: string) => ({ name: 'Error', message })

export const retried = (unit: string, attempt: number, from: number, to: number, delay: number): Change => ({
  _tag: 'AttemptFailed',
  at: after(to),
  unit,
  attempt,
  startedAt: after(from),
  error: error('500'),
  outcome: 'unknown',
  delayBeforeNextMillis: delay * 1_000
})

export const failed = (unit: string, attempt: number, from: number, to: number, message = 'no network'): Change => ({
  _tag: 'UnitFailed',
  at: after(to),
  unit,
  retryable: true,
  last: { attempt, startedAt: after(from), error: error(message), outcome: 'unknown' }
})

/** A run that failed, crashed and was interrupted, and was resumed each time. */
export const resumed = (): RunPage =>
  pageOf(
    [task('version'), wave('checks', [task('unit'), task('e2e')]), task('publish')],
    [
      started(0, { version: 1 }),
      completed('version', 0, 2),
      started(2, { 'checks/unit': 1, 'checks/e2e': 1 }),
      retried('checks/e2e', 1, 2, 3, 1),
      started(4, { 'checks/e2e': 2 }),
      completed('checks/unit', 2, 5),
      failed('checks/e2e', 2, 4, 6),
      { _tag: 'UnitFailed', at: after(6), unit: 'checks', retryable: true },
      started(3_606, { 'checks/e2e': 1 }),
      completed('checks/e2e', 3_606, 3_608),
      completed('checks', 2, 3_608),
      started(3_608, { publish: 1 }),
      // Killed.
      started(90_000, { publish: 1 }),
      { _tag: 'Interrupted', at: after(90_002), unit: 'publish', reason: 'signal' },
      started(90_100, { publish: 1 }),
      completed('publish', 90_100, 90_103)
    ]
  )

/** A map of this number of items, of which page-4711, or else the last, failed. */
export const wide = (items: number): RunPage => {
  const keys = Array.from({ length: items }, (_, index) => `page-${index}`)
  const map = Workflow.mapOf('pages', task('each'))
  return pageOf(
    [task('list'), map, task('report')],
    [
      started(0, { list: 1 }),
      completed('list', 0, 1),
      { _tag: 'Expanded', at: after(1), unit: 'pages', items: keys.map((key) => ({ key, value: key })) },
      started(1, Object.fromEntries(keys.map((key) => [`pages/${key}`, 1]))),
      ...keys.map((key, index) =>
        index === Math.min(4_711, items - 1)
          ? failed(`pages/${key}`, 1, 1 + index / 1_000, 2 + index / 1_000)
          : completed(`pages/${key}`, 1 + index / 1_000, 2 + index / 1_000, {
              output: { status: 200, key }
            })
      ),
      { _tag: 'UnitFailed', at: after(20), unit: 'pages', retryable: true }
    ]
  )
}

import * as E from 'fp-ts/lib/Either.js'
import { type Change, Checkpoint, Transition, Workflow, WorkflowIdentity } from 'dogear'
import { describe, expect, test } from 'vitest'
import { forked } from '../../src/domain/change/forked.js'
import { codes, read, table } from './markdown.js'

type AnyChange = Change
type Tag = AnyChange['_tag']

/** The compiler checks that no change is missing here. */
const TAGS: Readonly<Record<Tag, true>> = {
  Started: true,
  Forked: true,
  Moved: true,
  WorkflowEdited: true,
  Recovered: true,
  InputReplaced: true,
  Expanded: true,
  AttemptStarted: true,
  AttemptFailed: true,
  UnitCompleted: true,
  UnitFailed: true,
  JobSubmitted: true,
  JobEnded: true,
  WaitStarted: true,
  Answered: true,
  Suspended: true,
  Interrupted: true,
  Rewound: true,
  Assumed: true,
  Confirmed: true
}

const rows = table(read('docs/file-format.md'), '2.4 States and changes').rows.flatMap(([from, change, to]) =>
  (codes(from ?? '').length === 0 ? [''] : codes(from ?? '')).map((one) => ({
    from: one,
    change: codes(change ?? '')[0] as Tag,
    keeps: codes(change ?? '')[1] === 'evidence',
    ofPart: / of a part /.test(change ?? ''),
    to: codes(to ?? '')[0] ?? one
  }))
)

const at = '2026-01-02T03:04:05.000Z'

const tasks = WorkflowIdentity.of({ name: 'two', steps: [Workflow.task('a'), Workflow.task('b')] })
const map = WorkflowIdentity.of({
  name: 'two',
  steps: [Workflow.task('a'), Workflow.mapOf('b', Workflow.task('b'))]
})
const composites = WorkflowIdentity.of({
  name: 'two',
  steps: [Workflow.wave('a', [Workflow.group(Workflow.task('g'))]), Workflow.mapOf('b', Workflow.task('b'))]
})
const waits = WorkflowIdentity.of({
  name: 'two',
  steps: ['a', 'b'].map((name) => Workflow.task(name, { wait: 'Timer' }))
})

const started = (workflow: WorkflowIdentity): Checkpoint =>
  Checkpoint.start({ _tag: 'Started', at, runId: 'two-1', workflow, input: {} })

const replayed = (checkpoint: Checkpoint, changes: readonly AnyChange[]): Checkpoint => {
  const replay = Transition.replay(checkpoint, changes)
  if (E.isLeft(replay)) throw new Error(JSON.stringify(replay.left))
  return replay.right
}

const FORK = { runId: 'two-2', from: { runId: 'two-1', revision: 0, unit: 'a' } }

const a = { at, unit: 'a' }
const b = { at, unit: 'b' }
const g = { at, unit: 'a/g' }
const error = { name: 'Error', message: 'no' }
const failed = { attempt: 1, startedAt: at, error, outcome: 'unknown' } as const
const TIMER = { _tag: 'Timer', wakeAt: at } as const
const NAP: AnyChange = { _tag: 'WaitStarted', at, unit: 'a/nap', wait: TIMER }
const done = { captured: [], attempts: 1, startedAt: at, durationMillis: 0, evidence: [] }

/** A change of each kind, about the step of a run in this state, or about the next one. */
const changeOf = (tag: Tag, from: string, { keeps = false, ofPart = false } = {}): AnyChange => {
  const next = from === 'Completed' ? b : a
  switch (tag) {
    case 'Started':
      return { _tag: tag, at, runId: 'two-1', workflow: tasks, input: {} }
    case 'Forked':
      return { _tag: tag, at, ...FORK }
    case 'Moved':
      return { _tag: tag, at, way: 'to', store: 'state.db' }
    case 'Expanded':
      return { _tag: tag, ...b, items: [] }
    case 'AttemptStarted':
      return { _tag: tag, at, attempts: [{ unit: next.unit, attempt: 1 }] }
    case 'AttemptFailed':
      return { _tag: tag, ...a, ...failed, delayBeforeNextMillis: 5 }
    case 'UnitCompleted':
      return { _tag: tag, ...(ofPart ? g : next), ...done }
    case 'UnitFailed':
      return { _tag: tag, ...(ofPart ? g : next), retryable: false, last: failed }
    case 'JobSubmitted':
      return { _tag: tag, ...a, attempt: 1, job: 'j1' }
    case 'JobEnded':
      return { _tag: tag, ...a, error, outcome: 'unknown', retryable: false }
    case 'WaitStarted':
      return { _tag: tag, ...next, wait: TIMER }
    case 'Answered':
      return { _tag: tag, at, unit: `${next.unit}/approve`, value: true, by: 'ada' }
    case 'Suspended':
      return { _tag: tag, ...a, waits: ['a/nap'] }
    case 'Interrupted':
      return { _tag: tag, ...next, reason: 'signal' }
    case 'Rewound':
      return { _tag: tag, at, units: ['a'], why: 'Forced' }
    case 'Assumed':
      return { _tag: tag, ...next, captured: [] }
    case 'Confirmed':
      return keeps ? { _tag: tag, ...a, evidence: [] } : { _tag: tag, ...a }
    case 'Recovered':
      return { _tag: tag, at, from: 'e000001.jsonl', lost: 'line 3', agreedBy: 'ada' }
    case 'InputReplaced':
      return { _tag: tag, at, input: { channel: 'stable' } }
    case 'WorkflowEdited':
      return { _tag: tag, at, workflow: tasks }
  }
}

/** A run in this state. `parts`: the change to test is about a part. */
const runIn = (state: string, parts: boolean, workflow = parts ? composites : tasks): Checkpoint => {
  const { unit } = parts ? g : a
  const running = replayed(started(workflow), [
    { _tag: 'AttemptStarted', at, attempts: [{ unit, attempt: 1 }], submissions: [{ unit, key: 'k1' }] }
  ])
  switch (state) {
    case 'Completed':
      return replayed(running, [changeOf('UnitCompleted', 'BeforeStep')])
    case 'Failed':
      return replayed(running, [changeOf('UnitFailed', 'BeforeStep')])
    case 'Interrupted':
      return replayed(running, [changeOf('Interrupted', 'BeforeStep')])
    default:
      return running
  }
}

/** A run in this state whose steps are waits: none is pending. */
const waitingIn = (state: string): Checkpoint => {
  const wait = changeOf('WaitStarted', 'BeforeStep')
  const ends: Partial<Record<string, readonly AnyChange[]>> = {
    Completed: [wait, changeOf('UnitCompleted', 'BeforeStep')],
    Failed: [wait, changeOf('UnitFailed', 'BeforeStep')],
    Interrupted: [changeOf('Interrupted', 'BeforeStep')]
  }
  return replayed(started(waits), ends[state] ?? [])
}

/** A run in this state whose next composite has only recorded parts, or no items. */
const closingIn = (state: string): Checkpoint => {
  const ends: Partial<Record<string, readonly AnyChange[]>> = {
    Completed: [changeOf('UnitCompleted', 'BeforeStep'), changeOf('Expanded', 'BeforeStep')],
    Failed: [changeOf('UnitFailed', 'BeforeStep')],
    Interrupted: [changeOf('Interrupted', 'BeforeStep')]
  }
  const recorded = changeOf('UnitCompleted', 'BeforeStep', { ofPart: true })
  return replayed(runIn('BeforeStep', true), [recorded, ...(ends[state] ?? [])])
}

describe('the states of a run in docs/file-format.md', () => {
  test('the table of states has a row for every change', () => {
    expect(new Set(rows.map(({ change }) => change))).toEqual(new Set(Object.keys(TAGS)))
  })

  test.each(rows.filter(({ from }) => from === ''))('a run starts with $change in the state $to', ({ change, to }) => {
    const first = change === 'Forked' ? forked(runIn(to, false), { at, ...FORK }) : started(tasks)
    expect(first.state._tag).toBe(to)
    expect([first.revision, first.completedSteps.size]).toEqual([0, to === 'Completed' ? 1 : 0])
  })

  /** A run in this state with one completed step. */
  const laterIn = (state: string): Checkpoint => {
    const built = runIn('Completed', false)
    const running = replayed(built, [{ _tag: 'AttemptStarted', at, attempts: [{ unit: 'b', attempt: 1 }] }])
    const ends: Partial<Record<string, AnyChange>> = {
      Failed: { _tag: 'UnitFailed', ...b, retryable: false, last: failed },
      Interrupted: { _tag: 'Interrupted', ...b, reason: 'signal' }
    }
    const end = ends[state]
    return state === 'Completed' ? built : end === undefined ? running : replayed(running, [end])
  }

  test.each(rows.filter(({ keeps }) => keeps))(
    'a run in the state $from keeps that state when $change keeps evidence',
    ({ from, change, to }) => {
      const after = replayed(laterIn(from), [changeOf(change, from, { keeps: true })])
      expect([after.state, to]).toEqual([laterIn(from).state, from])
    }
  )

  test.each(rows.filter(({ from, keeps }) => from !== '' && !keeps))(
    'a run in the state $from is in the state $to after $change',
    ({ from, change, to, ofPart }) => {
      const isEnd = !ofPart && (change === 'UnitCompleted' || change === 'UnitFailed')
      const founds: Partial<Record<Tag, () => Checkpoint>> = {
        Expanded: () => runIn(from, false, map),
        WaitStarted: () => waitingIn(from),
        ...(isEnd && from !== 'BeforeStep' ? { [change]: () => closingIn(from) } : {})
      }
      const found = founds[change]?.() ?? runIn(from, ofPart)
      // A run records the end of a job only after its submission.
      const submitted = [changeOf('JobSubmitted', from), changeOf(from as Tag, from)]
      // No attempt may have seen the old input.
      const isUnseen = change === 'InputReplaced' && from !== 'Completed'
      const fresh = isUnseen ? waitingIn(from) : found
      const waiting = change === 'Suspended' ? replayed(fresh, [NAP]) : fresh
      const before = change === 'JobEnded' ? replayed(runIn('BeforeStep', false), submitted) : waiting
      expect(before.state._tag).toBe(from)
      const after = Transition.apply(before, changeOf(change, from, { ofPart }))
      expect(E.isRight(after) ? after.right.state._tag : after.left).toBe(to)
    }
  )
})

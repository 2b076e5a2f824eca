import assert from 'node:assert/strict'
import { test } from 'vitest'
import * as W from '../../src/domain/workflow/Workflow.js'
import { startedRun, recorderOf } from '../../src/testing/planning/arbitrary/RunRecorder.js'
import { planOf } from '../../src/testing/planning/laws/PlanLaw.js'

const at = (ofSecond: 'wait' | 'job and wait') => {
  const body = W.sequence('body', [W.task('nap', { wait: 'Timer' }), W.task('pay', { idempotent: false })])
  const workflow = { name: 'w', steps: [W.mapOf('pages', body)] }
  const run = recorderOf(startedRun(workflow, {}))
  const items = ['a', 'b'].map((key) => ({ key, value: key }))
  const wait = { _tag: 'Timer', wakeAt: '2026-01-03T00:00:00.000Z' } as const
  run.put({ _tag: 'Expanded', at: run.at(), unit: 'pages', items })
  run.put({ _tag: 'WaitStarted', at: run.at(), unit: 'pages/a/nap', wait })
  if (ofSecond === 'wait') return run.now()
  const { checkpoint } = run.now()
  run.put({ _tag: 'WaitStarted', at: run.at(), unit: 'pages/b/nap', wait })
  const done = { captured: [], attempts: 1, startedAt: checkpoint.updatedAt, durationMillis: 0, evidence: [] }
  run.put({ _tag: 'UnitCompleted', at: run.at(), unit: 'pages/b/nap', ...done })
  run.put({
    _tag: 'AttemptStarted',
    at: run.at(),
    attempts: [{ unit: 'pages/b/pay', attempt: 1 }],
    submissions: [{ unit: 'pages/b/pay', key: 'k' }]
  })
  run.put({ _tag: 'JobSubmitted', at: run.at(), unit: 'pages/b/pay', attempt: 1, job: 7 })
  return run.now()
}

test('fromStep at a map raises no question if its items wait only for timers or answers', () => {
  const [decision] = planOf(at('wait'), { fromStep: 'pages' }).decisions
  assert.deepEqual([decision?._tag, decision?.reason._tag], ['Run', 'Forced'])
})

test('the question about a map that runs again names the pending job of an item, not the wait of an earlier item', () => {
  const [decision] = planOf(at('job and wait'), { fromStep: 'pages' }).decisions
  assert.deepEqual([decision?._tag, decision?.reason._tag], ['Confirm', 'JobPending'])
})

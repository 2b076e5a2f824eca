import { expect, test } from 'vitest'
import type { Change } from '../../src/index.js'
import { renderRun } from '../../src/view/page/renderRun.js'
import { timelineOf } from '../../src/view/timeline/Timeline.js'
import { after, completed, failed, pageOf, started, task } from './pages.js'

const suspended = (unit: string, wait: Change): readonly Change[] => [
  started(0, { build: 1 }),
  completed('build', 0, 1),
  wait,
  { _tag: 'Interrupted', at: after(1), unit, reason: 'pending' }
]

const gapsOf = (page: Parameters<typeof timelineOf>[0]): readonly (readonly unknown[])[] =>
  timelineOf(page).gaps.map(({ from, to, why }) => [from - Date.parse(after(0)), to && to - Date.parse(after(0)), why])

test('a resume that only ends the wait of the last step ends the gap', () => {
  const steps = [task('build'), task('approve', { wait: 'Answer' })]
  const waiting = suspended('approve', {
    _tag: 'WaitStarted',
    at: after(1),
    unit: 'approve',
    wait: { _tag: 'Answer' }
  })
  const answered = pageOf(steps, [...waiting, completed('approve', 1, 60)])
  expect(gapsOf(answered)).toEqual([[1_000, 60_000, 'pending']])
  expect(renderRun(answered)).toContain('<dt>Resumed</dt><dd>1 time')
  expect(gapsOf(pageOf(steps, [...waiting, failed('approve', 1, 1, 60)]))).toEqual([
    [1_000, 60_000, 'pending'],
    [60_000, undefined, 'failed']
  ])
})

test('a poll that collects the job of the last step ends no gap', () => {
  const steps = [task('build'), task('train')]
  const page = pageOf(steps, [
    started(0, { build: 1 }),
    completed('build', 0, 1),
    {
      _tag: 'AttemptStarted',
      at: after(1),
      attempts: [{ unit: 'train', attempt: 1 }],
      submissions: [{ unit: 'train', key: 'k' }]
    },
    { _tag: 'JobSubmitted', at: after(1), unit: 'train', attempt: 1 },
    { _tag: 'Interrupted', at: after(1), unit: 'train', reason: 'pending' },
    completed('train', 1, 60)
  ])
  expect(gapsOf(page)).toEqual([])
})

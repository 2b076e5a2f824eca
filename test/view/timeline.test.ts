import { describe, expect, test } from 'vitest'
import { axisOf } from '../../src/view/timeline/Axis.js'
import { timelineOf } from '../../src/view/timeline/Timeline.js'
import { after, completed, failed, pageOf, resumed, started, task, wave } from './pages.js'

const seconds = (time: number | undefined): number | undefined =>
  time === undefined ? undefined : (time - Date.parse(after(0))) / 1_000

/** The bars of a unit: attempt, start, end, and how it ended. */
const barsOf = (page: Parameters<typeof timelineOf>[0], unit: string): readonly (readonly unknown[])[] =>
  (timelineOf(page).bars.get(unit) ?? []).map(({ attempt, from, to, end }) => [
    attempt,
    seconds(from),
    seconds(to),
    end
  ])

const gapsOf = (page: Parameters<typeof timelineOf>[0]): readonly (readonly unknown[])[] =>
  timelineOf(page).gaps.map(({ from, to, why }) => [seconds(from), seconds(to), why])

describe('the timeline of a run', () => {
  test('each attempt has a bar that tells how it ended, before and after a resume', () => {
    expect(barsOf(resumed(), 'checks/e2e')).toEqual([
      [1, 2, 3, 'failed'],
      [2, 4, 6, 'failed'],
      [1, 3_606, 3_608, 'completed']
    ])
  })

  test('a failure, a crash and an interruption are gaps that end where the run was resumed', () => {
    expect(gapsOf(resumed())).toEqual([
      [6, 3_606, 'failed'],
      [3_608, 90_000, 'crashed'],
      [90_002, 90_100, 'interrupted']
    ])
  })

  test('an attempt in flight when its process died is cut short, and repeated after the resume', () => {
    expect(barsOf(resumed(), 'publish').map(([attempt, , , end]) => [attempt, end])).toEqual([
      [1, 'cut'],
      [1, 'interrupted'],
      [1, 'completed']
    ])
  })

  test('the attempt in flight of a dead process is cut short, and that of a live one extends to the present', () => {
    const changes = [started(0, { build: 1 })]
    const dead = pageOf([task('build')], changes)
    expect(barsOf(dead, 'build')).toEqual([[1, 0, 0, 'cut']])
    expect(gapsOf(dead)).toEqual([[0, undefined, 'crashed']])
    const live = pageOf([task('build')], changes, { isLive: true, now: after(9) })
    expect(barsOf(live, 'build')).toEqual([[1, 0, 9, 'running']])
    expect(gapsOf(live)).toEqual([])
  })

  test('the rest of a failed run is a gap without an end', () => {
    expect(gapsOf(pageOf([task('build')], [started(0, { build: 1 }), failed('build', 1, 0, 3)]))).toEqual([
      [3, undefined, 'failed']
    ])
  })

  test('without its changes a run has the bars of its records, and says that it is partial', () => {
    const { changes: _, ...page } = resumed()
    expect(barsOf(page, 'version')).toEqual([[1, 0, 2, 'completed']])
    expect(timelineOf(page).isPartial).toBe(true)
    expect(timelineOf(resumed()).isPartial).toBe(false)
  })

  test('the bar of a wait and the gap after it end when the run resumes, and not at the answer', () => {
    const page = pageOf(
      [task('approve', { wait: 'Answer' }), task('ship')],
      [
        { _tag: 'WaitStarted', at: after(1), unit: 'approve', wait: { _tag: 'Answer' } },
        { _tag: 'Interrupted', at: after(1), unit: 'approve', reason: 'pending' },
        { _tag: 'Answered', at: after(50), unit: 'approve', value: 'yes', by: 'ada' },
        completed('approve', 1, 60),
        started(60, { ship: 1 }),
        completed('ship', 60, 61)
      ]
    )
    expect(barsOf(page, 'approve')).toEqual([[1, 1, 60, 'completed']])
    expect(gapsOf(page)).toEqual([[1, 60, 'pending']])
  })

  test('the attempts of a rewound unit no longer count', () => {
    const page = pageOf(
      [task('build'), task('ship')],
      [
        started(0, { build: 1 }),
        completed('build', 0, 1),
        started(1, { ship: 1 }),
        failed('ship', 1, 1, 2),
        { _tag: 'Rewound', at: after(9), units: ['build', 'ship'], why: 'forced' },
        started(9, { build: 1 })
      ]
    )
    expect(
      timelineOf(page)
        .bars.get('build')
        ?.map(({ isRewound }) => isRewound)
    ).toEqual([true, false])
  })
})

describe('the axis of a timeline', () => {
  test('a rest of a day is a narrow gap between the stretches of work', () => {
    const timeline = timelineOf(resumed())
    const { place } = axisOf(timeline)
    for (const { from, to } of timeline.gaps) {
      expect(place(to ?? Infinity) - place(from)).toBeGreaterThan(1)
      expect(place(to ?? Infinity) - place(from)).toBeLessThan(6)
    }
    expect(place(timeline.from)).toBe(0)
    expect(place(timeline.to)).toBeLessThanOrEqual(100)
    expect(place(timeline.to)).toBeGreaterThan(99)
  })

  test('places never decrease with time, and labels keep a distance', () => {
    const { place, ticks } = axisOf(timelineOf(resumed()))
    const places = Array.from({ length: 2_000 }, (_, index) => place(Date.parse(after(index * 50))))
    expect(places).toEqual([...places].sort((a, b) => a - b))
    for (const [index, { at }] of ticks.entries()) expect(at - (ticks[index - 1]?.at ?? -9)).toBeGreaterThanOrEqual(9)
    expect(ticks[0]).toEqual({ at: 0, label: '03:04:05' })
  })

  test('many short rests leave most of the width to the work', () => {
    const changes = Array.from({ length: 100 }, (_, index) => [
      started(index * 100, { build: 1 }),
      failed('build', 1, index * 100, index * 100 + 1)
    ]).flat()
    const timeline = timelineOf(pageOf([task('build')], changes))
    const { place } = axisOf(timeline)
    const idle = timeline.gaps.reduce((sum, { from, to }) => sum + place(to ?? timeline.to) - place(from), 0)
    expect(idle).toBeLessThan(45)
  })

  test('a run without an attempt has an axis', () => {
    const { place } = axisOf(timelineOf(pageOf([wave('checks', [task('unit')])], [])))
    expect(place(Date.parse(after(0)))).toBeGreaterThanOrEqual(0)
  })
})

import { describe, expect, test } from 'vitest'
import type { Change } from '../../src/index.js'
import { axisOf } from '../../src/view/timeline/Axis.js'
import { renderRun } from '../../src/view/page/renderRun.js'
import { timelineOf } from '../../src/view/timeline/Timeline.js'
import { quickestOfBoth } from '../quickest.js'
import { after, completed, failed, pageOf, resumed, retried, started, task, wave } from './pages.js'

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
  test('each attempt has a bar that shows how it ended, before and after a resume', () => {
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

  test('a clock that was set back while no process worked makes no gap or attempt negative', () => {
    const page = pageOf(
      [task('build'), task('ship')],
      [
        started(4_000, { build: 1 }),
        failed('build', 1, 4_000, 4_003),
        started(400, { build: 1 }),
        completed('build', 400, 405),
        started(405, { ship: 1 }),
        // Killed, and resumed before it began.
        started(-100, { ship: 1 }),
        completed('ship', -100, -98)
      ]
    )
    expect(barsOf(page, 'build')).toEqual([
      [1, 4_000, 4_003, 'failed'],
      [1, 4_003, 4_008, 'completed']
    ])
    expect(barsOf(page, 'ship')).toEqual([
      [1, 4_008, 4_008, 'cut'],
      [1, 4_008, 4_010, 'completed']
    ])
    expect(gapsOf(page)).toEqual([
      [4_003, 4_003, 'failed'],
      [4_008, 4_008, 'crashed']
    ])
    expect(axisOf(timelineOf(page)).busy).toBe(10_000)
  })

  test('a clock that was set back while a process worked takes nothing from the time worked', () => {
    const page = pageOf(
      [task('build'), task('ship')],
      [
        started(1, { build: 1 }),
        completed('build', 1, 6),
        started(-3_600, { ship: 1 }),
        completed('ship', -3_600, -3_599)
      ]
    )
    expect(axisOf(timelineOf(page)).busy).toBe(5_000)
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

  const again = [started(61, { ship: 1 }), completed('ship', 61, 62)]

  test.each<[string, Change, readonly Change[], number]>([
    ['a rewind', { _tag: 'Rewound', at: after(60), units: ['ship'], why: 'Forced' }, again, 61],
    ['an assumed unit', { _tag: 'Assumed', at: after(60), unit: 'ship', captured: [] }, [], 62]
  ])('a resume after a death that begins with %s ends the attempt at the last record', (_, first, more, to) => {
    const page = pageOf(
      [task('build'), task('ship'), task('report')],
      [
        started(0, { build: 1 }),
        completed('build', 0, 1),
        started(1, { ship: 1 }),
        // Killed.
        first,
        ...more,
        started(62, { report: 1 }),
        completed('report', 62, 63)
      ]
    )
    expect(barsOf(page, 'ship')[0]).toEqual([1, 1, 1, 'cut'])
    expect(gapsOf(page)).toEqual([[1, to, 'crashed']])
  })

  test('a rewind of other units than those in flight shows no death', () => {
    const page = pageOf(
      [task('build'), task('ship')],
      [
        started(0, { build: 1 }),
        completed('build', 0, 1),
        started(1, { ship: 1 }),
        completed('ship/one', 1, 4, { subStep: {} }),
        { _tag: 'Rewound', at: after(5), units: ['ship/one'], why: 'VersionChanged ship/one' },
        completed('ship', 1, 9)
      ]
    )
    expect(barsOf(page, 'ship')).toEqual([[1, 1, 9, 'completed']])
    expect(gapsOf(page)).toEqual([])
  })

  test('a wait that is rewound under a clock that was set back does not end before it began', () => {
    const page = pageOf(
      [task('approve', { wait: 'Answer' })],
      [
        { _tag: 'WaitStarted', at: after(3_600), unit: 'approve', wait: { _tag: 'Answer' } },
        { _tag: 'Rewound', at: after(0), units: ['approve'], why: 'Forced' }
      ]
    )
    expect(barsOf(page, 'approve')).toEqual([[1, 3_600, 3_600, 'interrupted']])
  })

  test('a wait that is started again under a clock that was set back does not end before it began', () => {
    const page = pageOf(
      [task('approve', { wait: 'Answer' })],
      [
        { _tag: 'WaitStarted', at: after(3_600), unit: 'approve', wait: { _tag: 'Answer' } },
        { _tag: 'Answered', at: after(0), unit: 'approve', value: 'no', by: 'ada' },
        { _tag: 'WaitStarted', at: after(1), unit: 'approve', wait: { _tag: 'Answer' } }
      ]
    )
    expect(barsOf(page, 'approve')[0]).toEqual([1, 3_600, 3_600, 'completed'])
  })

  test('computing a timeline takes time linear in the number of steps', () => {
    const long = (count: number) => {
      const names = Array.from({ length: count }, (_, n) => `s${n}`)
      return pageOf(
        names.map((name) => task(name)),
        names.flatMap((name, n) => [started(n, { [name]: 1 }), completed(name, n, n + 1)])
      )
    }
    const [short, tenfold] = [long(1_000), long(10_000)]
    const [few, many] = quickestOfBoth(
      5,
      () => timelineOf(short),
      () => timelineOf(tenfold)
    )
    expect(many / few).toBeLessThan(30)
  })

  test('the time after a failed run is a gap without an end', () => {
    expect(gapsOf(pageOf([task('build')], [started(0, { build: 1 }), failed('build', 1, 0, 3)]))).toEqual([
      [3, undefined, 'failed']
    ])
  })

  test('without the changes of its run, a timeline has the bars of the records, and says that it is partial', () => {
    const { changes: _, ...page } = resumed()
    expect(barsOf(page, 'version')).toEqual([[1, 0, 2, 'completed']])
    expect(timelineOf(page).isPartial).toBe(true)
    expect(timelineOf(resumed()).isPartial).toBe(false)
  })

  test('a clock that was set back later does not move the bars of units without a recorded change', () => {
    const page = pageOf(
      [task('build'), task('ship')],
      [
        started(0, { build: 1 }),
        completed('build', 0, 1_000),
        started(4_000, { ship: 1 }),
        failed('ship', 1, 4_000, 4_003),
        started(400, { ship: 1 }),
        completed('ship', 400, 405)
      ]
    )
    const partial = { ...page, changes: new Map([...(page.changes ?? [])].filter(([revision]) => revision > 2)) }
    expect(barsOf(partial, 'build')).toEqual([[1, 0, 1_000, 'completed']])
    expect(barsOf(partial, 'ship')).toEqual(barsOf(page, 'ship'))
  })

  test('the bar of a wait and the gap beside it end when the answered run is resumed, not at the answer', () => {
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

  test('the time between the completion of a run and its rerun for missing evidence is a gap', () => {
    const page = pageOf(
      [task('build'), task('ship')],
      [
        started(0, { build: 1 }),
        completed('build', 0, 1),
        started(1, { ship: 1 }),
        failed('ship', 1, 1, 2),
        started(5, { ship: 1 }),
        completed('ship', 5, 6),
        { _tag: 'Rewound', at: after(60), units: ['build'], why: 'its evidence is missing' },
        started(60, { build: 1 }),
        completed('build', 60, 61)
      ]
    )
    expect(gapsOf(page)).toEqual([
      [2, 5, 'failed'],
      [6, 60, 'completed']
    ])
    expect(renderRun(page)).toContain('<dt>Resumed</dt><dd>2 times</dd>')
  })

  test('a page of a moved run shows the move, when the run completed, and that earlier changes are not stored', () => {
    const { checkpoint, ...page } = pageOf(
      [task('build')],
      [
        started(0, { build: 1 }),
        completed('build', 0, 1),
        { _tag: 'Moved', at: after(60), way: 'from', store: 'sqlite:old.db' },
        { _tag: 'Moved', at: after(60), way: 'here', store: 'sqlite:old.db' }
      ]
    )
    // The history starts again in the other store.
    const [, move] = [...(page.changes ?? [])].map(([, change]) => change).slice(-2)
    const html = renderRun({ ...page, checkpoint, changes: new Map(move === undefined ? [] : [[1, move]]) })
    expect(html).toContain(`<dt>Completed</dt><dd><time datetime="${after(1)}">`)
    expect(html).toContain('<span>Moved from sqlite:old.db, arrived</span>')
    expect(html).toContain('The oldest changes of this run are no longer stored.')
  })

  test('a wait that is still open extends to the present', () => {
    const page = pageOf(
      [task('approve', { wait: 'Answer' }), task('ship')],
      [
        { _tag: 'WaitStarted', at: after(1), unit: 'approve', wait: { _tag: 'Answer' } },
        { _tag: 'Interrupted', at: after(1), unit: 'approve', reason: 'pending' }
      ]
    )
    expect(barsOf({ ...page, now: after(61) }, 'approve')).toEqual([[1, 1, 61, 'running']])
    expect(renderRun({ ...page, now: after(61) })).toContain(
      'pending<td>1 min 0 s<td aria-label="has waited 1 min 0 s"'
    )
    // Without the present time, how long it has lasted is unknown.
    expect(renderRun(page)).toContain('pending<td><td aria-label="waits"')
  })

  test('a crash is shown as a time without a record, in which the process died and may have worked before', () => {
    const page = pageOf(
      [task('build')],
      [started(0, { build: 1 }), started(10, { build: 1 }), completed('build', 10, 13)]
    )
    const html = renderRun(page)
    expect(html).toContain('no record for 10.0 s: the process died in this time')
    expect(html).toContain('<dt>Worked</dt><dd>at least 3.0 s</dd>')
    expect(html).not.toContain('no process')
    expect(renderRun(pageOf([task('build')], [started(0, { build: 1 })]))).toContain(
      'the process died: no record since'
    )
  })

  test('the time of an unfinished composite is that of the units inside it, without the gaps of the run', () => {
    const page = pageOf(
      [wave('checks', [task('unit'), task('e2e')])],
      [
        started(0, { 'checks/unit': 1, 'checks/e2e': 1 }),
        completed('checks/unit', 0, 2),
        failed('checks/e2e', 1, 0, 3),
        { _tag: 'UnitFailed', at: after(3), unit: 'checks', retryable: true },
        started(3_600, { 'checks/e2e': 1 }),
        failed('checks/e2e', 1, 3_600, 3_604),
        { _tag: 'UnitFailed', at: after(3_604), unit: 'checks', retryable: true }
      ]
    )
    expect(renderRun(page)).toContain('failed <small>1/2</small><td>7.0 s')
  })

  test('the attempts of a unit before its rewind are marked as rewound', () => {
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
  test('a day without work is a narrow gap between the stretches of work', () => {
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

  test('positions on the axis never decrease with time, and its labels keep a distance', () => {
    const { place, ticks } = axisOf(timelineOf(resumed()))
    const places = Array.from({ length: 2_000 }, (_, index) => place(Date.parse(after(index * 50))))
    expect(places).toEqual([...places].sort((a, b) => a - b))
    for (const [index, { at }] of ticks.entries()) expect(at - (ticks[index - 1]?.at ?? -9)).toBeGreaterThanOrEqual(9)
    expect(ticks[0]).toEqual({ at: 0, label: '03:04:05' })
  })

  test('a run that is resumed within a second has each label once', () => {
    const ends = [0.04, 0.34, 0.64, 0.94, 1.24]
    const changes = ends.flatMap((end) => [started(end - 0.04, { build: 1 }), failed('build', 1, end - 0.04, end)])
    const labels = axisOf(timelineOf(pageOf([task('build')], changes))).ticks.map(({ label }) => label)
    expect(labels).toContain('03:04:06')
    expect(labels.length).toBeGreaterThan(3)
    expect(new Set(labels).size, labels.join()).toBe(labels.length)
  })

  test('no label of the axis extends beyond its ends', () => {
    for (let millis = 900; millis < 1_400; millis += 7) {
      const at = millis / 1_000
      const { ticks } = axisOf(
        timelineOf(pageOf([task('build')], [started(0, { build: 1 }), completed('build', 0, at)]))
      )
      for (const { at: left, label } of ticks) expect(left + 1.75 * label.length).toBeLessThanOrEqual(100)
    }
  })

  test('many short gaps between resumes leave most of the width to the work', () => {
    const changes = Array.from({ length: 100 }, (_, index) => [
      started(index * 100, { build: 1 }),
      failed('build', 1, index * 100, index * 100 + 1)
    ]).flat()
    const timeline = timelineOf(pageOf([task('build')], changes))
    const { place } = axisOf(timeline)
    const idle = timeline.gaps.reduce((sum, { from, to }) => sum + place(to ?? timeline.to) - place(from), 0)
    expect(idle).toBeLessThan(45)
  })

  test('many delays between attempts leave most of the width to the work', () => {
    const changes = Array.from({ length: 100 }, (_, index) => [
      started(index * 100, { build: index + 1 }),
      retried('build', index + 1, index * 100, index * 100 + 1, 99)
    ]).flat()
    const timeline = timelineOf(pageOf([task('build')], changes))
    const { place } = axisOf(timeline)
    const work = (timeline.bars.get('build') ?? [])
      .filter(({ end }) => end === 'failed')
      .reduce((sum, { from, to }) => sum + place(to) - place(from), 0)
    expect(timeline.gaps).toEqual([])
    expect(work).toBeGreaterThan(60)
  })

  test('a run without an attempt has an axis', () => {
    const { place } = axisOf(timelineOf(pageOf([wave('checks', [task('unit')])], [])))
    expect(place(Date.parse(after(0)))).toBeGreaterThanOrEqual(0)
  })
})

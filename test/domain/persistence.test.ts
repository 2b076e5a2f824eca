import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import type { CompletedStep } from '../../src/domain/checkpoint/CompletedStep.js'
import * as UnitMap from '../../src/domain/checkpoint/UnitMap.js'
import * as Units from '../../src/domain/checkpoint/Units.js'
import type { Vector } from '../../src/domain/data/Vector.js'
import * as Vec from '../../src/domain/data/Vector.js'
import { isWithin, join } from '../../src/domain/workflow/Unit.js'
import { law } from './law.js'
import { quickest } from '../quickest.js'

/** Lengths around those at which the trie grows by a level. */
const lengths = fc.oneof(
  fc.nat({ max: 100 }),
  fc.constantFrom(31, 32, 33, 63, 64, 65, 1023, 1024, 1025, 1055, 1056, 1057, 1087, 1088, 1089)
)

const upTo = (length: number): ReadonlyArray<number> => Array.from({ length }, (_, index) => index)

describe('a persistent vector', () => {
  law('a vector equals the array of the appended values', lengths, (length) => {
    const sequence = Vec.from(upTo(length))
    assert.equal(sequence.length, length)
    assert.deepEqual([...sequence], upTo(length))
    for (const index of [0, 1, 31, 32, length - 2, length - 1]) {
      assert.equal(Vec.at(sequence, index), index >= 0 && index < length ? index : undefined)
    }
    for (const outside of [-1, length, length + 32, Number.NaN]) assert.equal(Vec.at(sequence, outside), undefined)
  })

  law(
    'a vector never changes when values are appended to it',
    fc.tuple(lengths, fc.nat({ max: 40 })),
    ([length, more]) => {
      const base = Vec.from(upTo(length))
      let a: Vector<number | string> = base
      let b: Vector<number | string> = base
      for (let index = 0; index < more; index++) {
        a = Vec.append(a, `a${index}`)
        b = Vec.append(b, `b${index}`)
      }
      assert.deepEqual([...base], upTo(length))
      for (const one of [base, a, b]) assert.deepEqual(Vec.toArray(one), [...one])
      assert.deepEqual([...a], [...upTo(length), ...upTo(more).map((index) => `a${index}`)])
      assert.deepEqual([...b], [...upTo(length), ...upTo(more).map((index) => `b${index}`)])
    },
    500
  )

  test('a vector of 40,000 values keeps each earlier version readable', () => {
    const versions: Array<Vector<number>> = [Vec.empty]
    for (let index = 0; index < 40_000; index++) versions.push(Vec.append(versions[index] as Vector<number>, index))
    for (const length of [0, 1, 32, 33, 1024, 1056, 1057, 32_767, 32_768, 32_800, 32_801, 40_000]) {
      const version = versions[length] as Vector<number>
      assert.equal(version.length, length)
      assert.deepEqual([...version], upTo(length))
      assert.deepEqual(Vec.toArray(version), upTo(length))
      for (let index = 0; index < length; index += 97) assert.equal(Vec.at(version, index), index)
    }
  })

  test('a vector takes 100,000 appends in linear time', () => {
    const time = (count: number): number => {
      const began = performance.now()
      let sequence: Vector<number> = Vec.empty
      for (let index = 0; index < count; index++) sequence = Vec.append(sequence, index)
      assert.equal(sequence.length, count)
      return (performance.now() - began) / count
    }
    time(100_000)
    const large = Math.min(time(100_000), time(100_000))
    console.log(`append: ${(large * 1e6).toFixed(0)} ns each at 100,000`)
    assert.ok(large < 0.02, `${large} ms an append: copying the list takes 0.6 ms`)
  })
})

const unitOf = (stepIndex: number, group?: string): string =>
  group === undefined ? `s${stepIndex}` : join(`s${stepIndex}`, group)

const record = (stepIndex: number, group?: string): CompletedStep => ({
  unit: unitOf(stepIndex, group),
  stepIndex,
  fingerprint: 'v1:0',
  captured: [],
  attempts: 1,
  startedAt: '2026-01-02T03:04:05.000Z',
  completedAt: '2026-01-02T03:04:05.000Z',
  durationMillis: 0,
  evidence: []
})

/** Records in any order, each unit once. */
const records = fc
  .uniqueArray(fc.record({ at: fc.nat({ max: 6 }), group: fc.option(fc.constantFrom('a', 'b', 'toString')) }), {
    selector: ({ at, group }) => `${at}/${group}`,
    maxLength: 20
  })
  .chain((all) =>
    fc.constantFrom(
      all,
      [...all].sort((a, b) => a.at - b.at || Number(a.group === null) - Number(b.group === null))
    )
  )
  .map((all) => all.map(({ at, group }) => record(at, group ?? undefined)))

describe('the records of a run', () => {
  const units = [0, 1, 2, 3].flatMap((at) =>
    [undefined, 'a', 'b', 'c', 'constructor'].map((group) => unitOf(at, group))
  )

  law(
    'a version of the records keeps its units when later versions append, replace or remove some',
    fc.array(
      fc.record({
        base: fc.nat(),
        how: fc.constantFrom('append', 'append', 'replace', 'without', 'outside'),
        at: fc.nat({ max: 2 }),
        group: fc.constantFrom<string | undefined>(undefined, 'a', 'b', 'c')
      }),
      { maxLength: 60 }
    ),
    (changes) => {
      const versions = [{ steps: Units.from<CompletedStep>([]), all: [] as ReadonlyArray<CompletedStep> }]
      for (const [nth, { base, how, at, group }] of changes.entries()) {
        const { steps, all } = versions[Math.max(0, versions.length - 1 - (base % 3))] as (typeof versions)[number]
        const one = { ...record(at, group), attempts: nth }
        const place = all.findIndex(({ unit }) => unit === one.unit)
        if (how === 'append' && place === -1) versions.push({ steps: Units.append(steps, one), all: [...all, one] })
        if (how === 'replace')
          versions.push({ steps: Units.replace(steps, one), all: place === -1 ? all : all.with(place, one) })
        if (how === 'without')
          versions.push({ steps: Units.without(steps, one.unit), all: all.filter(({ unit }) => unit !== one.unit) })
        if (how === 'outside')
          versions.push({
            steps: Units.outside(steps, one.unit),
            all: all.filter(({ unit }) => !isWithin(unit, one.unit))
          })
      }
      for (const { steps, all } of versions) {
        assert.deepEqual([...steps], all)
        assert.deepEqual(steps, Units.from(all))
        for (const unit of units) {
          const one = all.find((one) => one.unit === unit)
          assert.equal(Units.get(steps, unit), one)
          assert.equal(Units.has(steps, unit), one !== undefined)
          assert.deepEqual(
            Units.within(steps, unit),
            all.filter((one) => isWithin(one.unit, unit))
          )
        }
      }
    }
  )

  test('records with different content are not equal', () => {
    assert.notDeepEqual(Units.from([record(0)]), Units.from([record(1)]))
    assert.notDeepEqual(Units.from([record(0), record(1)]), Units.from([record(1), record(0)]))
  })

  law('the records of a run contain exactly the recorded units, in the order of recording', records, (all) => {
    const steps = Units.from(all)
    assert.deepEqual([...steps], all)
    assert.equal(steps.size, all.length)
    assert.equal(steps.steps, all.filter(({ unit }) => !unit.includes('/')).length)
    for (const unit of units)
      assert.equal(
        Units.has(steps, unit),
        all.some((one) => one.unit === unit)
      )
  })

  test('records print as arrays', () => {
    const all = [record(0), record(1, 'a')]
    assert.deepEqual(JSON.parse(JSON.stringify(Units.from(all))), all)
    assert.equal(inspect(Units.from(all)), inspect(all))
  })

  test('replacing and removing 100,000 records takes linear time, from the first to the last or in reverse', () => {
    const count = 100_000
    const all = Array.from({ length: count }, (_, index) => record(0, `g${index}`))
    const millis = quickest(1, () => {
      for (const order of [all, all.toReversed()]) {
        let steps = Units.from(all)
        for (const one of order) steps = Units.replace(steps, { ...one, attempts: 7 })
        assert.ok([...steps].every(({ attempts }) => attempts === 7))
        for (const { unit } of order) {
          assert.equal(Units.within(steps, unit).length, 1)
          steps = Units.outside(steps, unit)
        }
        assert.deepEqual(steps, Units.none)
      }
    })
    assert.ok(millis < 10_000)
  })

  test('a unit that is removed and appended repeatedly is found in constant time', () => {
    const others = Array.from({ length: 1_000 }, (_, index) => record(0, `g${index}`))
    let steps = Units.from(others)
    const millis = quickest(1, () => {
      for (let nth = 0; nth < 100_000; nth++) steps = Units.without(Units.append(steps, record(1)), 's1')
    })
    assert.deepEqual([...steps], others)
    assert.ok(millis < 10_000)
  })
})

describe('a map by unit', () => {
  const writes = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'a/b', 'c', 'd'), fc.nat()), { maxLength: 12 })

  law(
    'a map by unit contains the values set so far, whatever later versions set',
    fc.tuple(writes, writes),
    ([first, then]) => {
      const set = (self: UnitMap.UnitMap<number>, all: typeof first): UnitMap.UnitMap<number> =>
        all.reduce((map, [unit, value]) => UnitMap.set(map, unit, value), self)
      const base = set(UnitMap.empty, first)
      const followed = set(base, then)
      const expected = [new Map(first), new Map([...first, ...then])]
      for (const [index, map] of [base, followed].entries()) {
        const plain = expected[index] ?? new Map<string, number>()
        assert.deepEqual([...map], [...plain])
        assert.deepEqual(
          [[...map.keys()], [...map.values()], [...map.entries()]],
          [[...plain.keys()], [...plain.values()], [...plain.entries()]]
        )
        const seen: Array<readonly [string, number]> = []
        map.forEach((value, unit) => seen.push([unit, value]))
        assert.deepEqual(seen, [...plain])
        for (const unit of ['a', 'b', 'z'])
          assert.deepEqual([map.has(unit), map.get(unit)], [plain.has(unit), plain.get(unit)])
        assert.equal(map.size, plain.size)
        assert.equal(inspect(map), inspect(plain))
        assert.deepEqual(UnitMap.from(plain), map)
        assert.equal(UnitMap.from(map), map)
      }
    }
  )
})

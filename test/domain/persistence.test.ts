import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import type { CompletedStep } from '../../src/domain/CompletedStep.js'
import * as Steps from '../../src/domain/CompletedStep.js'
import type { Sequence } from '../../src/domain/Sequence.js'
import * as Seq from '../../src/domain/Sequence.js'
import { join } from '../../src/domain/Unit.js'
import { law } from './law.js'

/** Lengths around those at which the trie gets another level. */
const lengths = fc.oneof(
  fc.nat({ max: 100 }),
  fc.constantFrom(31, 32, 33, 63, 64, 65, 1023, 1024, 1025, 1055, 1056, 1057, 1087, 1088, 1089)
)

const upTo = (length: number): ReadonlyArray<number> => Array.from({ length }, (_, index) => index)

describe('a sequence', () => {
  law('is the array of what was appended', lengths, (length) => {
    const sequence = Seq.from(upTo(length))
    assert.equal(sequence.length, length)
    assert.deepEqual([...sequence], upTo(length))
    assert.equal(Seq.last(sequence), upTo(length).at(-1))
    for (const index of [0, 1, 31, 32, length - 2, length - 1]) {
      assert.equal(Seq.at(sequence, index), index >= 0 && index < length ? index : undefined)
    }
    for (const outside of [-1, length, length + 32, Number.NaN]) assert.equal(Seq.at(sequence, outside), undefined)
  })

  law(
    'never changes when something is appended to it, however often',
    fc.tuple(lengths, fc.nat({ max: 40 })),
    ([length, more]) => {
      const base = Seq.from(upTo(length))
      let a: Sequence<number | string> = base
      let b: Sequence<number | string> = base
      for (let index = 0; index < more; index++) {
        a = Seq.append(a, `a${index}`)
        b = Seq.append(b, `b${index}`)
      }
      assert.deepEqual([...base], upTo(length))
      assert.deepEqual([...a], [...upTo(length), ...upTo(more).map((index) => `a${index}`)])
      assert.deepEqual([...b], [...upTo(length), ...upTo(more).map((index) => `b${index}`)])
    },
    500
  )

  test('keeps each of 40,000 versions readable, through all levels of the trie', () => {
    const versions: Array<Sequence<number>> = [Seq.empty]
    for (let index = 0; index < 40_000; index++) versions.push(Seq.append(versions[index] as Sequence<number>, index))
    for (const length of [0, 1, 32, 33, 1024, 1056, 1057, 32_767, 32_768, 32_800, 32_801, 40_000]) {
      const version = versions[length] as Sequence<number>
      assert.equal(version.length, length)
      assert.deepEqual([...version], upTo(length))
      for (let index = 0; index < length; index += 97) assert.equal(Seq.at(version, index), index)
    }
  })

  test('takes 100,000 appends in linear time', () => {
    const time = (count: number): number => {
      const began = performance.now()
      let sequence: Sequence<number> = Seq.empty
      for (let index = 0; index < count; index++) sequence = Seq.append(sequence, index)
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
    'know their units in every version, whatever was appended to others',
    fc.array(
      fc.record({
        base: fc.nat(),
        at: fc.nat({ max: 2 }),
        group: fc.constantFrom<string | undefined>(undefined, 'a', 'b', 'c')
      }),
      {
        maxLength: 30
      }
    ),
    (appends) => {
      const versions = [{ steps: Steps.none, all: [] as ReadonlyArray<CompletedStep> }]
      for (const { base, at, group } of appends) {
        const { steps, all } = versions[Math.max(0, versions.length - 1 - (base % 3))] as (typeof versions)[number]
        const one = record(at, group)
        if (all.some(({ unit }) => unit === one.unit)) continue
        versions.push({ steps: Steps.append(steps, one), all: [...all, one] })
      }
      for (const { steps, all } of versions) {
        assert.deepEqual([...steps], all)
        for (const unit of units)
          assert.equal(
            Steps.get(steps, unit),
            all.find((one) => one.unit === unit)
          )
      }
    }
  )

  law('know which units they hold, in whatever order they came', records, (all) => {
    const steps = Steps.from(all)
    assert.deepEqual([...steps], all)
    assert.equal(steps.size, all.length)
    assert.equal(steps.steps, all.filter(({ unit }) => !unit.includes('/')).length)
    for (const unit of units)
      assert.equal(
        Steps.has(steps, unit),
        all.some((one) => one.unit === unit)
      )
  })

  test('print as the records that they hold', () => {
    const all = [record(0), record(1, 'a')]
    assert.deepEqual(JSON.parse(JSON.stringify(Steps.from(all))), all)
    assert.equal(inspect(Steps.from(all)), inspect(all))
  })

  law(
    'records with new evidence for one unit keep their order in every version',
    fc.tuple(records, fc.array(fc.nat(), { maxLength: 10 })),
    ([all, which]) => {
      let versions = [{ steps: Steps.from(all), all }]
      for (const nth of all.length === 0 ? [] : which) {
        const { steps, all: then } = versions[nth % versions.length] as (typeof versions)[number]
        const place = nth % then.length
        const one = { ...(then[place] as CompletedStep), evidence: [{ _tag: 'File', path: String(nth) }] as const }
        const changed = Steps.withEvidence(steps, one.unit, one.evidence)
        assert.ok(changed !== undefined)
        versions = [...versions, { steps: changed, all: then.with(place, one) }]
      }
      for (const { steps, all: expected } of versions) {
        assert.deepEqual([...steps], expected)
        assert.equal(Steps.withEvidence(steps, 's9', []), undefined)
        const more = Steps.append(steps, record(8, 'last'))
        assert.ok(Steps.has(more, 's8/last'))
        assert.deepEqual([...(Steps.withEvidence(more, 's8/last', []) ?? [])], [...more])
      }
    }
  )

  test('records take new evidence for each of 100,000 units in linear time', () => {
    const count = 100_000
    let steps = Steps.from(Array.from({ length: count }, (_, index) => record(0, `g${index}`)))
    const evidence = [{ _tag: 'File', path: 'a' }] as const
    const began = performance.now()
    for (let index = 0; index < count; index++) steps = Steps.withEvidence(steps, `s0/g${index}`, evidence) ?? steps
    assert.ok([...steps].every((one) => one.evidence === evidence))
    assert.ok(performance.now() - began < 10_000)
  })
})

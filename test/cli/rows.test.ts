import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { nodeEnvironment } from '../../src/adapters/node/index.js'
import { differencesFrom } from '../../src/cli/commands/execution/input.js'
import { progressText } from '../../src/cli/report/text.js'
import { MAX_LISTED, type Row, rowLines, rowsOf } from '../../src/cli/report/rows.js'
import { grouped } from '../../src/view/text.js'
import { unitsOf, type UnitView } from '../../src/domain/explain/UnitView.js'
import * as Symbols from '../../src/cli/terminal/Symbols.js'
import * as Style from '../../src/cli/terminal/Style.js'
import { viewRun } from '../../src/executor/storage/runs.js'
import { runOutcome, workflow } from '../../src/promise/index.js'
import * as arb from '../../src/testing/planning/arbitrary/Arbitrary.js'
import { isTop, parent } from '../../src/domain/workflow/Unit.js'

const statuses = ['completed', 'failed', 'in flight', 'not started'] as const
type Status = UnitView['status']

const unit = (index: number, status: Status, group?: string): UnitView => ({
  index,
  unit: group === undefined ? `step-${index}` : `step-${index}/${group}`,
  kind: 'task',
  status,
  assumed: false,
  attempts: 1
})

/** Steps, each a task or a wave with groups of any status. */
const runs: fc.Arbitrary<readonly UnitView[]> = fc
  .array(
    fc.record({
      status: fc.constantFrom(...statuses),
      groups: fc.array(fc.constantFrom(...statuses), { maxLength: 40, size: 'max' })
    }),
    { maxLength: 40, size: 'max' }
  )
  .map((steps) =>
    steps.flatMap(({ status, groups }, index) => [
      unit(index, status),
      ...groups.map((of, number) => unit(index, of, `g${number}`))
    ])
  )

const listed = (rows: readonly Row[]): readonly UnitView[] =>
  rows.flatMap((row) => (row._tag === 'Unit' ? [row.unit] : []))

const counted = (rows: readonly Row[], of: 'step' | 'group', status: Status): number =>
  rows.reduce((sum, row) => sum + (row._tag === 'More' && row.of === of && row.status === status ? row.count : 0), 0)

describe('the rows of a run', () => {
  test('the rows of a short run are all its units, in order', () => {
    fc.assert(
      fc.property(
        runs.map((units) => units.slice(0, MAX_LISTED.units)),
        (units) => {
          expect(listed(rowsOf(units))).toEqual(units)
        }
      )
    )
  })

  test('the printed rows of a run are bounded in number and keep the order of its units', () => {
    const most = (MAX_LISTED.steps + 4) * (1 + MAX_LISTED.groups + 4)
    fc.assert(
      fc.property(runs, (units) => {
        const rows = rowsOf(units)
        expect(rows.length).toBeLessThanOrEqual(most)
        const places = listed(rows).map((one) => units.indexOf(one))
        expect(places).toEqual([...places].sort((a, b) => a - b))
      })
    )
  })

  test('the rows list or count each step', () => {
    fc.assert(
      fc.property(runs, (units) => {
        const rows = rowsOf(units)
        const steps = units.filter(({ unit }) => isTop(unit))
        for (const status of statuses) {
          const shown = listed(rows).filter((one) => isTop(one.unit) && one.status === status).length
          expect(shown + counted(rows, 'step', status)).toBe(steps.filter((one) => one.status === status).length)
        }
      })
    )
  })

  test('the rows count each group of a listed wave, unless all are done or none has started', () => {
    const mixed = fc.array(fc.constantFrom(...statuses), { minLength: 2, maxLength: 200, size: 'max' })
    const unfinished = fc
      .tuple(fc.constantFrom('failed', 'in flight'), fc.integer({ min: 2, max: 200 }))
      .map(([status, length]) => Array.from({ length }, () => status))
    fc.assert(
      fc.property(fc.oneof(mixed, unfinished), (groups) => {
        const units = [unit(0, 'in flight'), ...groups.map((status, number) => unit(0, status, `g${number}`))]
        fc.pre(!groups.every((status) => status === 'completed') && !groups.every((status) => status === 'not started'))
        const rows = rowsOf(units)
        for (const status of statuses) {
          const shown = listed(rows).filter((one) => !isTop(one.unit) && one.status === status).length
          expect(shown + counted(rows, 'group', status)).toBe(groups.filter((one) => one === status).length)
        }
      })
    )
  })

  test('the rows of ten thousand groups show the failed ones and count the others', () => {
    const groups = Array.from({ length: 10_000 }, (_, number) =>
      unit(0, [17, 5_000, 9_999].includes(number) ? 'failed' : 'completed', `g${number}`)
    )
    const rows = rowsOf([unit(0, 'failed'), ...groups])
    expect(listed(rows).filter(({ status }) => status === 'failed')).toHaveLength(4)
    expect(counted(rows, 'group', 'completed')).toBe(10_000 - MAX_LISTED.groups)
  })

  test('the rows count hidden groups as groups, hidden sub-steps as sub-steps, and a mixture as units', () => {
    const subStep = (name: string): UnitView => ({ ...unit(0, 'completed', name), kind: 'sub-step' })
    const names = Array.from({ length: 20 }, (_, number) => `g${number}`)
    const last = unit(0, 'in flight', 'last')
    const countsOf = (units: readonly UnitView[]): ReadonlyArray<readonly [string, number]> =>
      rowsOf([unit(0, 'in flight'), ...units, last]).flatMap((row) =>
        row._tag === 'More' ? [[row.of, row.count]] : []
      )
    const groups = names.map((name) => unit(0, 'completed', name))
    expect(countsOf([...groups, ...names.map((name) => unit(0, 'completed', `x${name}`))])).toEqual([['group', 33]])
    expect(countsOf(groups.flatMap((one) => [one, subStep(`${one.unit.slice(7)}/llm`)]))).toEqual([['unit', 33]])
    expect(countsOf(groups.flatMap((one) => [one, unit(0, 'completed', `${one.unit.slice(7)}/push`)]))).toEqual([
      ['unit', 33]
    ])
    expect(
      rowsOf([
        unit(0, 'in flight'),
        ...names.map((name) => subStep(name)),
        ...names.map((name) => subStep(`${name}#2`)),
        { ...subStep('last'), status: 'in flight' }
      ]).flatMap((row) => (row._tag === 'More' ? [[row.of, row.count]] : []))
    ).toEqual([['sub-step', 33]])
  })

  test('the rows of ten thousand steps show those around the current position', () => {
    const steps = Array.from({ length: 10_000 }, (_, index) =>
      unit(index, index < 6_000 ? 'completed' : index === 6_000 ? 'in flight' : 'not started')
    )
    const rows = rowsOf(steps)
    const shown = listed(rows).map(({ index }) => index)
    expect(shown).toEqual(Array.from({ length: MAX_LISTED.steps }, (_, number) => 6_000 - 7 + number))
    expect(rows[0]).toEqual({ _tag: 'More', of: 'step', status: 'completed', count: 5_993 })
    expect(rows.at(-1)).toEqual({ _tag: 'More', of: 'step', status: 'not started', count: 3_992 })
  })
})

describe('the units of a run', () => {
  test('a unit is completed exactly if it is recorded, and a wave has started exactly if one of its groups has', () => {
    fc.assert(
      fc.property(arb.moment(), ({ checkpoint }) => {
        const recorded = new Set(Array.from(checkpoint.completedSteps, ({ unit }) => unit))
        const units = unitsOf(checkpoint)
        for (const one of units) {
          expect(one.status === 'completed').toBe(recorded.has(one.unit))
          if (one.parts === undefined) continue
          const groups = units.filter((of) => parent(of.unit) === one.unit)
          expect(one.parts.total).toBe(groups.length)
          expect(one.parts.completed).toBe(groups.filter(({ status }) => status === 'completed').length)
          const isOpen = one.status === 'in flight' || one.status === 'not started'
          if (isOpen) expect(one.status === 'in flight').toBe(groups.some(({ status }) => status !== 'not started'))
        }
      })
    )
  })
})

describe('an error of several lines', () => {
  test('an error is printed under its row, limited in lines and without control characters', async () => {
    const storage = memoryStorage()
    const broken = workflow('w').step('a', () => Promise.reject(new Error('first\nsecond \u001b[31m\nthird')))
    await runOutcome(broken, { id: 'r', storage })
    const found = await viewRun('r')(nodeEnvironment(storage))()
    assert.ok(E.isRight(found) && O.isSome(found.right))
    const view = found.right.value
    expect(rowLines(view, Style.none, 1)).toEqual(['✗   1 a  failed', '        first'])
    expect(rowLines(view, { ...Style.none, width: 20 }, 2)).toEqual([
      '✗   1 a  failed',
      '        first',
      '        second \\u00…'
    ])
  })
})

describe('the rows on a narrow terminal', () => {
  test('a long name is shortened, and the state stays readable', async () => {
    const storage = memoryStorage()
    const long = workflow('w')
      .step('a-step-with-a-very-long-name-for-a-narrow-terminal', () => 1)
      .step('b', () => Promise.reject(new Error('no')))
    await runOutcome(long, { id: 'r', storage })
    const found = await viewRun('r')(nodeEnvironment(storage))()
    assert.ok(E.isRight(found) && O.isSome(found.right))
    const lines = rowLines(found.right.value, { ...Style.none, width: 40 }, 0)
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(40)
    expect(lines[0]).toMatch(/^✓ {3}1 a-step-wi\S*… {2}completed, \d+ ms$/)
    expect(lines[1]).toMatch(/^✗ {3}2 b +failed$/)
  })

  test('a unit is indented below the unit around it, and the items of a map below the map', async () => {
    const storage = memoryStorage()
    const deploy = workflow('w').wave('deploy', {
      one: () => 1,
      more: { steps: (more) => more.map('regions', { forEach: () => ['eu'], key: String }, ({ item }) => item) }
    })
    await runOutcome(deploy, { id: 'r', storage })
    const found = await viewRun('r')(nodeEnvironment(storage))()
    assert.ok(E.isRight(found) && O.isSome(found.right))
    const names = rowLines(found.right.value, Style.none, 0).map((line) => line.slice(2).split(/ {2}(?=completed)/)[0])
    expect(names.map((name) => name?.trimEnd())).toEqual([
      '  1 deploy',
      '      one',
      '      more',
      '        regions',
      '          eu'
    ])
  })
})

describe('progress', () => {
  const kinds = (letters: string): readonly { readonly _tag: 'Task' | 'Wave' }[] =>
    Array.from(letters, (letter) => ({ _tag: letter === 't' ? 'Task' : 'Wave' }))

  test.each([
    ['tt', 0, '0/2 steps done (0%)'],
    ['w', 0, '0/1 steps done (0%)'],
    ['tt', 2, '2/2 steps done (100%)'],
    ['www', 2, '2/3 waves done (67%)'],
    ['twwt', 3, '3/4 steps done (75%)']
  ])('the progress of the steps %j (t is a task, w a wave), of which %i are done, is %j', (letters, done, text) => {
    expect(progressText(kinds(letters), done)).toBe(text)
  })

  test('the progress is never 100% before the last step is done', () => {
    expect(progressText(kinds('t'.repeat(1_000)), 999)).toBe('999/1,000 steps done (99%)')
  })

  test.each([
    [0, '0'],
    [999, '999'],
    [1_000, '1,000'],
    [1_234_567, '1,234,567']
  ])('the number %i is printed as %s', (count, text) => expect(grouped(count)).toBe(text))
})

describe('symbols', () => {
  test.each([
    [{}, Symbols.unicode],
    [{ LANG: 'en_US.UTF-8' }, Symbols.unicode],
    [{ LANG: 'C.utf8' }, Symbols.unicode],
    [{ LANG: 'C' }, Symbols.ascii],
    [{ LANG: 'de_DE.ISO-8859-1' }, Symbols.ascii],
    [{ LANG: 'en_US.UTF-8', LC_ALL: 'POSIX' }, Symbols.ascii],
    [{ LANG: 'C', LC_CTYPE: 'C.UTF-8' }, Symbols.unicode],
    [{ LANG: 'en_US.UTF-8', TERM: 'dumb' }, Symbols.ascii]
  ])('the environment %j selects symbols that the terminal can show', (environment, symbols) => {
    expect(Symbols.of(environment)).toBe(symbols)
  })

  test('text is cut to the width of a terminal, and never in a pipe', () => {
    const cut = (width: number): string => Style.fitted('abcdefgh', { symbols: Symbols.ascii, width })
    expect([cut(8), cut(7), cut(Number.POSITIVE_INFINITY)]).toEqual(['abcdefgh', 'abcd...', 'abcdefgh'])
  })
})

describe('the differences of an input', () => {
  test('an input differs exactly where a step would see another value', () => {
    const input = { text: 'a', number: 1, list: [1, 'b'], nothing: null }
    expect(differencesFrom({ input }, { text: 'a', number: '1', list: '[1,"b"]', nothing: 'null' })).toEqual([])
    expect(differencesFrom({ input }, { text: 'b', constructor: 'x' })).toEqual([
      { name: 'text', given: 'b', recorded: 'a' },
      { name: 'constructor', given: 'x', recorded: undefined }
    ])
  })
})

/** `dogear conformance` tests a third-party store. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { checkpointStorageCases } from '../../src/testing/conformance/cases/index.js'
import type { Report } from '../../src/testing/conformance/Report.js'
import { isAlive, linesOf, main, sandbox } from './dogear.js'

const memory = new URL('../../dist/adapters/memory.js', import.meta.url).href

/** A spec around the memory store; `wrap` makes a store out of a store. */
const specOf = (wrap = '', more = '', first = ''): string => `
${first}
import { memoryData, memoryStorage } from '${memory}'
const wrap = (storage) => (${wrap === '' ? 'storage' : `{ ...storage, ${wrap} }`})
export const spec = {
  name: 'mine', create: async () => memoryData(), reopen: async (data) => wrap(memoryStorage(data)),
  capabilities: ['history'], ${more}
}`

const place = sandbox({
  'good.mjs': specOf(),
  'bad.mjs': specOf("history: () => async () => ({ _tag: 'Right', right: [] })"),
  'hanging.mjs': specOf('list: () => () => new Promise(() => setInterval(() => {}, 1000))'),
  'spinning.mjs': specOf(
    "list: () => () => { writeFileSync('pid', String(process.pid)); for (;;); }, history: () => () => process.exit(3)",
    '',
    "import { writeFileSync } from 'node:fs'"
  ),
  'blocks-at-load.mjs': 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)',
  'throws-object.mjs': 'throw Object.assign(Object.create(null), { why: 7 })',
  'ends-at-load.mjs': 'process.exit(4)',
  'stray.mjs': specOf(
    "list: () => async () => { setTimeout(() => { throw new Error('in a timer') }, 0); await new Promise((go) => setTimeout(go, 20)); return storage.list()() }"
  ),
  'promises.mjs': specOf('claim: async () => 1'),
  'incomplete.mjs': specOf('claim: undefined, list: 3'),
  'made.mjs': `${specOf()}\nexport const made = async () => ({ ...spec, name: 'made' })`,
  'wrong.mjs': `export const spec = { name: 7, create() {}, capabilities: ['histroy'], damage: 'x' }
export const other = { create() {}, reopen() {} }
export const fails = () => { throw new Error('no database') }
export const never = () => new Promise(() => {})`,
  'mistyped.mjs': specOf('', 'destory: 1'),
  'none.mjs': 'export const a = 1\nexport const b = 2',
  // Blocks before each round of timers, so that a beat is due before the process notices its closed channel.
  'busy.mjs': `export const other = 7
const block = () => { const end = Date.now() + 150; while (Date.now() < end); setImmediate(block) }
setImmediate(block)`,
  'missing.mjs': "import 'there-is-no-such-package'",
  'syntax.mjs': 'export const spec = = 1',
  'peerless.mjs': "import 'fast-check'",
  'peerless-made.mjs': "export const spec = () => import('fast-check')",
  'peerless-required.cjs': "require('fast-check')",
  'broken.mjs': 'export const = 3',
  'spec.ts': `${specOf()}\nexport const typed: number = 1`
})
afterAll(() => place.remove())

const conformance = (...words: readonly string[]) => place.process(['conformance', ...words])

describe('a store that keeps the laws', () => {
  test('conformance reports each case, then the hints, then the count, and leaves no process behind', async () => {
    const { code, stdout, stderr } = await conformance('good.mjs', '--level', 'core', '--level', 'capability')
    expect(stderr).toBe('')
    expect(code).toBe(0)
    const lines = linesOf(stdout)
    const { length } = checkpointStorageCases.filter(({ level }) => level !== 'stress')
    expect(lines[0]).toBe('mine (capabilities: history)')
    expect(lines.slice(2, 2 + length).filter((line) => !/^[✓○] CS-[A-Z]+-\d\d /.test(line))).toEqual([])
    expect(lines.slice(2 + length, -1)).toEqual([
      '',
      'Hint: every case for `large` passes: the store could claim it',
      'Hint: every case for `watch` passes: the store could claim it',
      '',
      'Not tried:',
      '  power cuts: whether acknowledged saves survive one',
      '  stress cases: not selected',
      ...['faults', 'damage', 'formats', 'stalls', 'processes', 'takeOver', 'network', 'failover', 'leases'].map(
        (one) => `  \`${one}\`: not claimed, and the spec has no tool to try it`
      ),
      ''
    ])
    expect(lines.at(-1)).toMatch(/^\d+ passed, 0 failed, \d+ not claimed$/)
  })

  test('the module may export a function that returns the spec, and --export names the export', async () => {
    const { code, stdout } = await conformance('made.mjs', '--export', 'made', '--only', 'CS-TRIP-01')
    expect(code).toBe(0)
    expect(linesOf(stdout)).toEqual([
      'made (capabilities: history)',
      '',
      expect.stringMatching(/^✓ CS-TRIP-01 /),
      '',
      '1 passed, 0 failed, 0 not claimed'
    ])
  })

  test('--json prints one document, and --tap a valid TAP report', async () => {
    const json = await conformance('good.mjs', '--only', 'CS-LIST', '--level', 'core', '--json')
    const report = JSON.parse(json.stdout) as Report & { readonly conformant: boolean }
    expect(report).toMatchObject({ conformant: true, store: 'mine', capabilities: ['history'], hints: [] })
    expect(report.results.map(({ id }) => id)).toEqual(['CS-LIST-01', 'CS-LIST-02', 'CS-LIST-04', 'CS-LIST-05'])
    const tap = linesOf((await conformance('good.mjs', '--only', 'cs-list', '--level', 'core', '--tap')).stdout)
    expect(tap.slice(0, 2)).toEqual(['TAP version 14', '1..4'])
    expect(tap.filter((line) => line.startsWith('ok'))).toHaveLength(4)
  })

  test('conformance warns about an unknown field of a spec', async () => {
    const { code, stderr } = await conformance('mistyped.mjs', '--only', 'CS-TRIP-01')
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'warning: a spec has no `destory`. Did you mean "destroy"?\n' })
  })
})

describe('a store that breaks a law', () => {
  test('a failed case is reported with its id, the reason and the command that runs it alone', async () => {
    const { code, stdout, stderr } = await conformance('bad.mjs', '--only', 'CS-HIST-01', '--only', 'CS-TRIP-01')
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^✗ CS-HIST-01 .*\n {4}the history of a run with three revisions: expected at least 1 entry, found 0$/m
    )
    expect(stdout).toMatch(/^1 passed, 1 failed, 0 not claimed$/m)
    expect(stderr).toBe('One case alone:\n  dogear conformance bad.mjs --only CS-HIST-01\n')
  })

  test('the time limit ends a case whose store does not answer, and the command ends', async () => {
    const { code, stdout } = await conformance('hanging.mjs', '--only', 'CS-LIST-01', '--limit', '300ms')
    expect(code).toBe(1)
    expect(stdout).toContain('    it did not end within 300 ms; in flight: list()\n')
  })

  test('a store that blocks or ends its process fails that case, and the other cases run', async () => {
    const only = ['CS-HIST-01', 'CS-LIST-01', 'CS-REMOVE-02'].flatMap((id) => ['--only', id])
    const { code, stdout, stderr } = await conformance('spinning.mjs', ...only, '--limit', '2s')
    expect(code).toBe(1)
    expect(linesOf(stdout).filter((line) => /^([✓✗]| )/.test(line))).toEqual([
      expect.stringMatching(/^✗ CS-HIST-01 /),
      '    its process ended: exit code 3; a store must report an error, never end the process',
      expect.stringMatching(/^✗ CS-LIST-01 /),
      '    it blocked its process for longer than 2000 ms; make the call asynchronous, or give it a timeout. The data of `create` was not cleaned up',
      expect.stringMatching(/^✓ CS-REMOVE-02 /)
    ])
    expect(stdout).toMatch(/^1 passed, 2 failed, 0 not claimed$/m)
    expect(stderr).toContain('dogear conformance spinning.mjs --only CS-HIST-01')
  })

  test.each(['SIGINT', 'SIGTERM'] as const)('%s ends the command and its blocked process at once', async (signal) => {
    const running = place.start(['conformance', 'spinning.mjs', '--only', 'CS-LIST-01'])
    await expect.poll(() => place.exists('pid') && place.read('pid'), { timeout: 20_000 }).toMatch(/\d/)
    const pid = Number(place.read('pid'))
    place.write('pid', '')
    running.child.kill(signal)
    expect(await running.ended).toMatchObject({ code: null, signal })
    await expect.poll(() => isAlive(pid), { timeout: 5_000 }).toBe(false)
  })

  test('an uncaught exception is reported with the case that was running, and the command exits with 1', async () => {
    const { code, stdout, stderr } = await conformance('stray.mjs', '--only', 'CS-LIST-02')
    expect(code).toBe(1)
    expect(stdout).toContain('1 passed, 0 failed')
    expect(linesOf(stderr).slice(0, 2)).toEqual([
      'dogear: uncaught exception during CS-LIST-02:',
      '  Error: in a timer'
    ])
  })

  test('the report says if a store returns promises in place of TaskEithers, or lacks functions', async () => {
    const promises = await conformance('promises.mjs', '--only', 'CS-CLAIM-01')
    expect(promises.stdout).toContain(
      'expected a TaskEither (a function that returns a promise of an Either), found a promise'
    )
    const incomplete = await conformance('incomplete.mjs', '--only', 'CS-CLAIM-01')
    expect(incomplete.stdout).toContain('`reopen` must return a store; what it returned has no claim, no list')
  })

  test('a pipe receives the whole report', async () => {
    const cases = checkpointStorageCases.filter(({ level, id }) => level !== 'stress' && !/^CS-CLAIM/.test(id))
    const families = [...new Set(cases.map(({ id }) => id.replace(/-\d+$/, '')))]
    const only = families.map((family) => `--only ${family}`).join(' ')
    const { stdout, code } = await place.shell(
      `dogear conformance bad.mjs ${only} --level core --level capability --json | cat`
    )
    expect(code).toBe(0)
    expect((JSON.parse(stdout) as Report).results).toHaveLength(cases.length)
  })

  test('Ctrl+C ends the command at once', async () => {
    const running = place.start(['conformance', 'hanging.mjs', '--only', 'CS-LIST-01'])
    await running.said('mine (capabilities: history)')
    running.child.kill('SIGINT')
    const { code, signal } = await running.ended
    // A shell reports 130.
    expect({ code, signal }).toEqual({ code: null, signal: 'SIGINT' })
  })
})

describe('wrong use', () => {
  test.each<[why: string, words: readonly string[], said: RegExp]>([
    [
      'a missing module',
      [],
      /conformance: the module is missing; name the one.*\n.*\n {2}dogear conformance spec\.mjs/
    ],
    ['no such file', ['nowhere.mjs'], /nowhere\.mjs does not exist/],
    ['a folder', ['.'], /is a folder/],
    ['a module without a spec', ['none.mjs'], /none\.mjs has no export spec; it has: a, b\n.*export const spec/],
    [
      'an export that does not exist',
      ['wrong.mjs', '--export', 'x'],
      /looks like one:\n {2}dogear conformance wrong.mjs --export other/
    ],
    ['a module that does not load', ['missing.mjs'], /could not be loaded:\n.*there-is-no-such-package/],
    [
      'a module with a syntax error',
      ['syntax.mjs'],
      /could not be loaded:[\s\S]*To see the line:\n {2}node syntax.mjs/
    ],
    [
      'a function that fails',
      ['wrong.mjs', '--export', 'fails'],
      /fails\(\) of wrong\.mjs failed:\n {2}Error: no database/
    ],
    ['a module that throws no Error', ['throws-object.mjs'], /^dogear: .* could not be loaded:\n.*why: 7/],
    ['a module that blocks', ['blocks-at-load.mjs', '--limit', '1s'], /could not be loaded: it blocked its process/],
    ['a module that ends its process', ['ends-at-load.mjs'], /could not be loaded: it ended its process: exit code 4/],
    ['a function that hangs', ['wrong.mjs', '--export', 'never', '--limit', '100ms'], /did not end within 100 ms/],
    [
      'an unknown case',
      ['--list', '--only', 'CS-FENC'],
      /"CS-FENC"\. Did you mean "CS-FENCE"\?\nThe families: CS-TRIP, /
    ],
    ['an unknown level', ['--list', '--level', 'all'], /--level: unknown level "all"; use core, capability or stress/],
    ['a selection of no case', ['--list', '--level', 'stress', '--only', 'CS-ID'], /--only: CS-ID has no stress case/],
    ['a limit that is no duration', ['good.mjs', '--limit', 'long'], /--limit: "long" is not a duration/],
    ['two output forms', ['good.mjs', '--json', '--tap'], /--json and --tap cannot be combined; use one of them/]
  ])('wrong use is reported and exits with 2: %s', async (_, words, said) => {
    const { code, stderr } = await conformance(...words)
    expect(stderr).toMatch(said)
    expect(code).toBe(2)
  })

  test('every fault of a spec is reported with the field, the expectation and the value', async () => {
    const { code, stderr } = await conformance('wrong.mjs')
    expect(code).toBe(2)
    expect(linesOf(stderr).slice(0, 5)).toEqual([
      'dogear: spec of wrong.mjs is not a store spec:',
      '  reopen must be a function that returns a new store on that place, not undefined',
      '  name must be a non-empty string, not the number 7',
      '  capabilities must be an array, possibly empty, of history, large, watch, processes, damage, formats, faults, stalls, takeOver, network, failover, leases, not of the string "histroy". Did you mean "history"?',
      '  damage must be a function, not the string "x"'
    ])
  })

  test('an invalid spec is the only reported problem, even if the process that loaded it is busy', async () => {
    const { code, stderr } = await conformance('busy.mjs', '--export', 'other')
    expect(linesOf(stderr)).toEqual([
      'dogear: other of busy.mjs is not a store spec:',
      '  it must be an object, not the number 7',
      expect.stringMatching(/^What a spec has: /)
    ])
    expect(code).toBe(2)
  })

  test.each(['peerless.mjs', 'peerless-made.mjs', 'peerless-required.cjs'])(
    'without fast-check, %s fails, and the last printed line is the command that installs fast-check',
    async (module) => {
      const { code, stderr } = await conformance(module)
      expect(stderr).toMatch(/Cannot find (package|module) 'fast-check'/)
      expect(linesOf(stderr).slice(-2)).toEqual([
        'dogear/testing needs fast-check:',
        '  npm install --save-dev fast-check'
      ])
      expect(code).toBe(2)
    }
  )

  test('a TypeScript spec loads if Node supports it, and is refused with the remedy otherwise', async () => {
    const canLoad = (process.features as { readonly typescript?: unknown }).typescript !== undefined
    const { code, stdout, stderr } = await conformance('spec.ts', '--only', 'CS-TRIP-01')
    if (canLoad && code === 0) expect(stdout).toContain('1 passed')
    else expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('22.18 or later') as string })
  })
})

describe('the listing', () => {
  test('--list prints every case, its level and the capabilities it needs', async () => {
    const { stdout } = await conformance('--list')
    expect(linesOf(stdout)).toHaveLength(checkpointStorageCases.length)
    expect(stdout).toMatch(/^CS-FENCE-10 .* \(capability, needs watch\)$/m)
    const [first] = JSON.parse((await conformance('--list', '--json')).stdout) as readonly object[]
    const { id, title, level, needs } = checkpointStorageCases[0] ?? expect.fail()
    expect(first).toEqual({ id, title, level, needs })
  })
})

test('the command neither needs nor contains fast-check', () => {
  const loaded = new Set([main, join(dirname(main), '../chunks/cases.js')])
  for (const path of loaded)
    for (const [, target = ''] of readFileSync(path, 'utf8').matchAll(
      /(?:from|import|import\()\s*["'](\.[^"']*\.js)["']/g
    ))
      loaded.add(join(dirname(path), target))
  const sources = [...loaded].flatMap((path) => sourcesOf(`${path}.map`))
  expect(sources.some((source) => source.endsWith('src/testing/conformance/run.ts'))).toBe(true)
  expect(sources.filter((source) => source.includes('fast-check'))).toEqual([])
  const text = [...loaded].map((path) => readFileSync(path, 'utf8'))
  expect(text.filter((one) => /(from|import\() *["']fast-check/.test(one))).toEqual([])
})

const sourcesOf = (map: string): readonly string[] =>
  (JSON.parse(readFileSync(map, 'utf8')) as { readonly sources: readonly string[] }).sources

/** Follows the guide for storage authors literally; its store is the one in examples/custom-storage. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkpointStorageCases } from '../../src/testing/conformance/cases/index.js'
import { capabilities } from '../../src/testing/conformance/Spec.js'
import { main } from '../cli/dogear.js'
import { sweep } from '../sweep.js'
import { blocks, codes, column, read, root, tables } from '../docs/markdown.js'

const guide = read('docs/guide/testing.md')
const examples = join(root, 'examples/custom-storage')

/** The modules in the guide, by the names in their first lines. */
const shownModules = new Map(
  blocks(guide, 'js').map((text) => [/^\/\/ ([\w.]+\.mjs)/.exec(text)?.[1] ?? 'a module without a name', text])
)
const exampleModules = new Map(readdirSync(examples).map((name) => [name, readFileSync(join(examples, name), 'utf8')]))

/** The files of a reader: those of the example, those in the guide, and the tests with the other runner. */
const modules = new Map([...exampleModules, ...shownModules])
modules.set('store.vitest.test.mjs', (modules.get('store.test.mjs') ?? '').replace('node:test', 'vitest'))

// Inside the repository, so that `dogear` is this package as it was last built.
const folder = join(root, `test/.tmp/custom-storage-${process.pid}`)
beforeAll(() => {
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of modules) writeFileSync(join(folder, name), text)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly all: string
}

/** The stores of hundreds of cases are in memory if possible, because a busy disk takes a minute to sync them. */
const IN_MEMORY = existsSync('/dev/shm') ? { TMPDIR: '/dev/shm' } : {}

const node = (cwd: string, ...args: readonly string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const environment = Object.entries(process.env).filter(([name]) => !/^(NODE_|VITEST|FORCE_COLOR)/.test(name))
    const options = { cwd, env: { ...Object.fromEntries(environment), ...IN_MEMORY }, maxBuffer: 1e8 }
    execFile(process.execPath, args, options, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, all: stdout + stderr })
    )
  })

const dogear = (...words: readonly string[]): Promise<Ended> => node(folder, main, ...words)

/** The lines of the block that begins with the output of a command; `…` stands for other lines. */
const shown = (text: string): readonly string[] =>
  (blocks(guide, '').find((block) => block.startsWith('one JSON file') && block.includes(text)) ?? '')
    .split('\n')
    .filter((line) => line !== '' && line !== '…')

// In a sweep these cases mostly wait for a silent owner, each in its own process.
describe('the example of a store', { concurrent: sweep }, () => {
  test('the guide shows or links each file of the example', () => {
    for (const [name, text] of exampleModules) {
      const inGuide = shownModules.get(name)
      if (inGuide === undefined) expect(guide).toContain(`(../../examples/custom-storage/${name})`)
      else expect(inGuide.split('\n').slice(1), name).toEqual(text.split('\n').slice(1))
    }
  })

  // `dogear conformance` checks the same laws on the same store below.
  test.runIf(sweep)('the example of a store passes the kit', async () => {
    const { code, stdout } = await node(examples, 'report.mjs')
    expect(stdout).toContain(' 0 failed')
    expect(code).toBe(0)
  })
})

describe('the process of the example store', () => {
  test('a process can claim a run again after its save and its release failed', async () => {
    const path = join(folder, 'failing.json')
    const script = `
      import assert from 'node:assert/strict'
      import { mkdirSync, rmdirSync } from 'node:fs'
      import { fileStorage } from ${JSON.stringify(join(examples, 'store.mjs'))}
      const path = ${JSON.stringify(path)}
      const storage = fileStorage(path)
      const owner = { host: 'here', pid: 1 }
      const change = { _tag: 'UnitCompleted', at: '2026-01-02T03:04:05.678Z' }
      const claimed = await storage.claim('a', owner)()
      // A folder in its place makes the write fail.
      mkdirSync(path + '.tmp')
      const saved = await storage.save(claimed.right.claim, [{ revision: 0, change, checkpoint: () => ({}), summary: () => ({}) }])()
      const released = await storage.release(claimed.right.claim)()
      assert.deepEqual([saved.left.code, released.left.code], ['EISDIR', 'EISDIR'])
      rmdirSync(path + '.tmp')
      assert.equal((await storage.claim('a', owner)())._tag, 'Right')`
    const ended = await node(folder, '--input-type=module', '--eval', script)
    expect(ended).toMatchObject({ code: 0, all: '' })
  })
})

describe('the guide for storage authors', { concurrent: sweep }, () => {
  test('the guide shows the report of its example', async () => {
    const lines = shown(' passed, 0 failed')
    expect(lines.length).toBeGreaterThan(4)
    const { code, stdout } = await dogear('conformance', 'spec.mjs', '--level', 'core', '--level', 'capability')
    expect(code).toBe(0)
    expect(lines.slice(0, -1).filter((line) => !stdout.includes(`${line}\n`))).toEqual([])
    const claimed = ['history', 'large']
    const passed = checkpointStorageCases.filter(({ needs }) => needs.every((one) => claimed.includes(one))).length
    const others = checkpointStorageCases.length - passed
    expect(lines.at(-1)).toBe(`${passed} passed, 0 failed, ${others} not claimed`)
  })

  test('the guide shows what conformance reports if the example does not check the claim', async () => {
    const store = modules.get('store.mjs') ?? ''
    const mutant = store.replace(/if \(run\.held\?\.epoch !== epoch .*\{/, 'if (run.held === undefined) {')
    expect(mutant).not.toBe(store)
    expect(guide).toContain('`if (run.held === undefined) {`')
    const spec = modules.get('spec.mjs') ?? ''
    writeFileSync(join(folder, 'mutant.mjs'), mutant)
    writeFileSync(join(folder, 'mutant.spec.mjs'), spec.replace('./store.mjs', './mutant.mjs'))
    const { code, all } = await dogear('conformance', 'mutant.spec.mjs', '--only', 'CS-FENCE', '--level', 'core')
    expect(code).toBe(1)
    const said = all.replaceAll('mutant.spec.mjs', 'spec.mjs')
    expect(shown('CS-FENCE-01').filter((line) => !said.includes(`${line}\n`))).toEqual([])
  })

  test('the example passes the cases with real processes', async () => {
    const all = checkpointStorageCases.filter(({ id, level }) => /^CS-PROC/.test(id) && (sweep || level !== 'stress'))
    const levels = [...new Set(all.map(({ level }) => level))].flatMap((level) => ['--level', level])
    const { code, stdout } = await dogear('conformance', 'processes.mjs', '--only', 'CS-PROC', ...levels)
    expect(stdout).toContain(`${all.length} passed, 0 failed`)
    expect(code).toBe(0)
  })

  test('the cases run as tests of node:test', async () => {
    const { code, stdout } = await node(folder, '--test-reporter=tap', '--test-name-pattern=CS-FENCE', 'store.test.mjs')
    expect(stdout).toMatch(/^ *ok \d+ - CS-FENCE-01 /m)
    expect(stdout).toMatch(/^# fail 0$/m)
    expect(code).toBe(0)
  })

  test('the cases run as tests of vitest', async () => {
    const config = join(folder, 'vitest.config.mjs')
    writeFileSync(config, `export default { test: { reporters: ['json'] } }\n`)
    const vitest = join(root, 'node_modules/vitest/vitest.mjs')
    const words = ['run', 'store.vitest.test.mjs', '--root', folder, '--config', config, '-t', 'CS-FENCE']
    const { code, stdout } = await node(folder, vitest, ...words)
    const { length } = checkpointStorageCases.filter(({ id, level }) => /^CS-FENCE/.test(id) && level !== 'stress')
    expect(JSON.parse(stdout)).toMatchObject({ numTotalTestSuites: 2, numFailedTests: 0, numPassedTests: length })
    expect(code).toBe(0)
  })
})

describe('the tables of the guide', () => {
  const cells = (first: string): readonly string[] => {
    const table = tables(guide).find(({ head }) => head[0] === first)
    return table === undefined ? [] : column(table, first).flatMap(codes)
  }
  const ofCases = (what: readonly string[]): readonly string[] => [...new Set(what)]

  test('the guide lists every family of cases in order', () => {
    expect(cells('family')).toEqual(ofCases(checkpointStorageCases.map(({ id }) => id.replace(/-\d+$/, ''))))
  })

  test('the guide to testing lists every level of conformance', () => {
    expect([...cells('level')].sort()).toEqual([...ofCases(checkpointStorageCases.map(({ level }) => level))].sort())
  })

  test('the guide lists every capability and every tool of a spec', () => {
    expect(cells('capability')).toEqual(capabilities)
    const type = read('src/testing/conformance/Spec.ts').split('export interface StorageSpec')[1] ?? ''
    const optional = [...type.matchAll(/readonly (\w+)\?:/g)].map(([, name]) => name)
    expect(
      [...cells('tool')]
        .map((cell) => cell.split('(')[0])
        .filter((tool) => optional.includes(tool ?? ''))
        .sort()
    ).toEqual([...optional].sort())
  })
})

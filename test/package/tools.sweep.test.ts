import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { transformSync } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Consumer, consume, entryPoints, killInSecondStep, manifest, start } from './consumer.js'
import { installTools, tools } from './tools.js'

const host = readFileSync(join(import.meta.dirname, 'host.mjs'), 'utf8')

let consumer: Consumer
beforeAll(() => {
  consumer = consume(`fast-check@${manifest.devDependencies['fast-check']}`)
  installTools()
})
afterAll(() => {
  consumer?.remove()
})

type Words = readonly [string, ...string[]]
const node: Words = [process.execPath]
const pairs = tools.runtimes.flatMap(([name, words]): ReadonlyArray<readonly [string, string, Words, Words]> => [
  [name, name, words, words],
  [name, 'Node', words, node],
  ['Node', name, node, words]
])

describe('other runtimes', () => {
  test.each(pairs)('a run that is killed in %s resumes in %s', async (from, to, first, second) => {
    const script = consumer.write('host.mjs', host)
    const [state, log] = [join(consumer.folder, `${from}-${to}`), join(consumer.folder, `${from}-${to}.log`)]
    expect(await killInSecondStep(...first, script, state, log, 'first')).toBe('first\nsecond\n')
    const resumed = await start(consumer.folder, ...second, script, state, log, 'second')
    expect(resumed).toEqual({ code: 0, stdout: 'second\nthird\nCompleted {}\n', stderr: '' })
    expect(readFileSync(log, 'utf8')).toBe('first\nsecond\nsecond\nthird\n')
  })

  test.each(tools.runtimes)('%s loads every entry point', async (_, words) => {
    const names = JSON.stringify(entryPoints)
    const text = `for (const name of ${names}) console.log(name, Object.keys(await import(name)).sort().join())\n`
    const script = consumer.write('entries.mjs', text)
    const expected = await start(consumer.folder, ...node, script)
    expect(expected.stdout).toContain('runOrResume')
    expect(await start(consumer.folder, ...words, script)).toEqual(expected)
  })

  test.each(tools.runtimes)(
    'in %s the stack of a RunFailure has the line that awaits the call',
    async (name, words) => {
      const script = consumer.write(`stack-${name}.mjs`, readFileSync(join(import.meta.dirname, 'stack.mjs'), 'utf8'))
      const ended = await start(consumer.folder, ...words, script)
      expect(ended).toEqual({ code: 0, stdout: `${'true\n'.repeat(8)}`, stderr: '' })
    }
  )

  test.each(tools.runtimes)(
    'in %s a store in a child process holds its run until it is killed',
    async (name, words) => {
      const text = readFileSync(join(import.meta.dirname, 'otherProcess.mjs'), 'utf8')
      const script = consumer.write('otherProcess.mjs', text)
      const ended = await start(consumer.folder, ...words, script, join(consumer.folder, `${name}-claims`))
      expect(ended).toEqual({ code: 0, stdout: 'claimed, HeldBy, claimed\n', stderr: '' })
    }
  )
})

test('a run that is killed in a test of Jest resumes in the next one, in CommonJS without flags', async () => {
  const folder = join(consumer.folder, 'jest')
  mkdirSync(folder)
  consumer.write('jest/package.json', '{}')
  consumer.write('jest/host.cjs', transformSync(host, { format: 'cjs' }).code)
  const [state, log] = [join(folder, 'state'), join(folder, 'log')]
  const life = (which: string): readonly [string, ...string[]] => {
    const words = JSON.stringify([state, log, which])
    const text = `process.argv.splice(2, Infinity, ...${words})
const { ended } = require('./host.cjs')
test('the run ends', () => ended, 60_000)
`
    consumer.write('jest/host.test.js', text)
    return [process.execPath, tools.jest, '--runInBand', '--rootDir', folder]
  }
  expect(await killInSecondStep(...life('first'))).toBe('first\nsecond\n')
  const resumed = await start(folder, ...life('second'))
  expect(resumed.code, resumed.stderr).toBe(0)
  expect(resumed.stdout).toBe('second\nthird\nCompleted {}\n')
  expect(readFileSync(log, 'utf8')).toBe('first\nsecond\nsecond\nthird\n')
})

test.each([
  ['CommonJS', 'cjs', "const { jsonFileStorage } = require('dogear/json-file')"],
  ['an ES module', 'mjs', "import { jsonFileStorage } from 'dogear/json-file'"]
])(
  'Jest passes and ends by itself if a test in %s leaves a run open, whose heartbeat and copy are due after the last test',
  async (_, extension, importing) => {
    const name = `jest-${extension}`
    const folder = join(consumer.folder, name)
    mkdirSync(folder)
    consumer.write(`${name}/package.json`, JSON.stringify({ jest: { globalTeardown: './later.cjs' } }))
    consumer.write(`${name}/later.cjs`, 'module.exports = () => new Promise((resolve) => setTimeout(resolve, 3_000))\n')
    consumer.write(`${name}/open.test.${extension}`, importing + LEFT_OPEN)
    const words = ['--experimental-vm-modules', '--no-warnings', tools.jest, '--runInBand', '--rootDir', folder]
    const { code, stderr } = await start(folder, process.execPath, ...words)
    expect(stderr).not.toMatch(/torn down|did not exit/)
    expect(code, stderr).toBe(0)
  }
)

/** The store copies the checkpoint of a resumed run a second after its first save. */
const LEFT_OPEN = `
test('a resumed run stays open', async () => {
  const storage = jsonFileStorage('state', { heartbeat: { updateMillis: 1000 } })
  const save = async (revision) => {
    const claimed = await storage.claim('r', { host: 'h', pid: 1 })()
    const change = { _tag: 'Recovered', at: '2026-01-02T03:04:05.678Z' }
    const saved = [{ revision, change, checkpoint: () => ({}), summary: () => ({}) }]
    expect(await storage.save(claimed.right.claim, saved)()).toMatchObject({ _tag: 'Right' })
    return claimed.right.claim
  }
  await storage.release(await save(0))()
  await save(1)
})
`

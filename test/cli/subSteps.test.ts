import { afterEach, expect, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { repeatWarnings } from '../../src/cli/commands/execution/overwrites.js'
import { planRun, runOutcome, workflow } from '../../src/promise/index.js'
import { linesOf, type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
afterEach(() => place.remove())

const library = new URL('../../dist/', import.meta.url).href

const program = `
import { jsonFileStorage } from '${library}adapters/json-file/index.js'
import { runOrResume, workflow } from '${library}promise/index.js'
const agent = workflow('research').step('agent', async ({ step }) => {
  for (let turn = 1; turn < 3; turn++) await step('turn', () => ({ turn }))
  await step('search', () => Promise.reject(new Error('no network'))).catch(() => undefined)
  await step('think', async ({ step: inner }) => await inner('aloud', () => 'hm'))
  await step('pay', { idempotent: false }, () => process.argv[2] === 'crash' ? process.kill(process.pid, 'SIGKILL') : 'p-1')
})
const confirm = process.argv[2] === 'answer' ? { confirm: new Map([['agent/pay', { _tag: 'Done', output: 'p-7' }]]) } : {}
try {
  await runOrResume(agent, { id: 'r', storage: jsonFileStorage('.dogear'), ...confirm })
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}`

const host = (word: string) => place.shell(`'${process.execPath}' host.mjs ${word}`)

test('show and the history list sub-steps by path, and a resume asks for confirmation of the sub-step in flight', async () => {
  place = sandbox({ 'host.mjs': program })
  await host('crash')
  const { stdout } = await place.dogear(['show', 'r'])
  const rows = linesOf(stdout).map((line) => line.trim().replace(/(?<=\S) {2,}/g, ' | '))
  expect(rows).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^✓ \| turn#2 \| completed/),
      expect.stringMatching(/^✓ \| think\/aloud \| completed/),
      expect.stringMatching(/^✗ \| search \| failed/),
      '⚡ | pay | was running (attempt 1) when the process ended'
    ])
  )
  const json = JSON.parse((await place.dogear(['show', 'r', '--json', '--history'])).stdout) as {
    readonly steps: ReadonlyArray<{ readonly unit: string; readonly status: string; readonly output: unknown }>
    readonly history: ReadonlyArray<{ readonly change: string | null }>
  }
  expect(json.steps.map(({ unit, status }) => `${unit} ${status}`)).toEqual([
    'agent in_flight',
    'agent/turn completed',
    'agent/turn#2 completed',
    'agent/think/aloud completed',
    'agent/think completed',
    'agent/search failed',
    'agent/pay in_flight'
  ])
  expect(json.steps[2]?.output).toEqual({ turn: 2 })
  expect((await place.dogear(['show', 'r', '--history'])).stdout).toMatch(/UnitCompleted +agent\/turn#2/)
  const asked = await host('')
  expect(asked.code).toBe(1)
  expect(asked.stderr).toContain('"agent/pay" may already have taken effect, and is not idempotent')
  expect((await host('answer')).code).toBe(0)
})

test('a fork warns of sub-steps that are not idempotent: those that completed, and those that may have taken effect', async () => {
  place = sandbox({ 'host.mjs': program })
  const forked = async (id: string) => (await place.dogear(['fork', 'r', '--from-step', 'agent', '--id', id])).stderr
  await host('crash')
  const repeats = 'will run "agent/pay" unasked and under a new idempotency key, although it is not idempotent and'
  expect(await forked('f-1')).toContain(`warning: Run f-1 ${repeats} may already have taken effect\n`)
  expect((await host('answer')).code).toBe(0)
  expect(await forked('f-2')).toContain(`warning: Run f-2 ${repeats} already completed\n`)
})

const pays = { key: String, forEach: () => ['a'] }

const payments = workflow('w')
  .step('agent', ({ step }) => step('pay', { idempotent: false }, () => 1))
  .step('caught', ({ step }) =>
    step('pay', { idempotent: false }, () => Promise.reject(new Error('no reply'))).catch(() => 2)
  )
  .map('each', pays, ({ step }) => step('pay', { idempotent: false }, () => 3))

test('--from-step warns of sub-steps that are not idempotent, also in a map and where the code caught the error', async () => {
  const same = { id: 'r', storage: memoryStorage() }
  await runOutcome(payments, same)
  const warnings = async (fromStep: string) => {
    const planned = await planRun(payments, { ...same, fromStep })
    return repeatWarnings(payments, planned, {})
  }
  const all = await warnings('agent')
  expect(all).toEqual([
    'These completed steps are not idempotent, and would run again: agent/pay, each.',
    'This step is not idempotent, may already have taken effect, and would run again: caught/pay.'
  ])
  expect(await warnings('each')).toEqual(['This completed step is not idempotent, and would run again: each.'])
})

test('a warning names the first of many sub-steps that run again', async () => {
  const same = { id: 'r', storage: memoryStorage() }
  const many = workflow('many').step('agent', async ({ step }) => {
    for (let turn = 1; turn <= 30; turn++) await step('pay', { idempotent: false }, () => turn)
  })
  await runOutcome(many, same)
  const [warning] = repeatWarnings(many, await planRun(many, { ...same, fromStep: 'agent' }), {})
  expect(warning).toMatch(/run again: agent\/pay, agent\/pay#2, .*, agent\/pay#10 and 20 more\.$/)
})

/** Workflows that wait, killed everywhere, and executors with faults in their waits. */
import assert from 'node:assert/strict'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import { workflow } from '../../../src/promise/index.js'
import { crashEverywhere } from '../../../src/testing/crash/crashEverywhere.js'
import { toText } from '../../../src/testing/crash/CrashReport.js'
import { sweep } from '../../sweep.js'
import { planted } from './plantedExecutor.js'
import type { WaitFault } from './plantedWaits.js'
import { WAIT_FAULTS } from './plantedWaits.js'
import { answerTo } from './randomWaits.js'
import { outside, programOf } from './randomWorkflow.js'

const TIMEOUT = sweep ? 3_600_000 : 240_000

/** A trial that sleeps, waits in the code of a task, and waits as a step. */
const trial = workflow('trial')
  .sleep('rest', { millis: 60_000 })
  .step('collect', {
    output: t.string,
    run: async ({ step, sleep, waitFor }) => {
      const [sent, paid] = await Promise.all([
        step('send', () => 'sent'),
        sleep('grace', { millis: 1_000 }).then(() => waitFor('paid', { output: t.string }))
      ])
      return `${sent}, ${paid}`
    }
  })
  .waitFor('approve', { question: 'Release?', output: t.boolean })
  .step('publish', ({ outputs }) => `${outputs.collect}: ${String(outputs.approve)}`)

const reply = ({ unit }: { readonly unit: string }): unknown => (unit === 'approve' ? true : 'by card')

describe('a workflow that waits', () => {
  test(
    'a workflow that waits ends like an undisturbed one wherever its process dies',
    { timeout: TIMEOUT },
    async () => {
      const report = await crashEverywhere(trial, { reply, twice: sweep ? 10_000 : 10, pauses: sweep })
      assert.equal(report.violations.length, 0, toText(report))
      assert.ok(report.points.length > 100)
    }
  )

  test('a workflow that waits does not complete without an answer, and the simulator reports it', async () => {
    const { violations } = await crashEverywhere(trial, {})
    assert.match(violations[0]?.what ?? '', /waits for collect\/paid/)
  })
})

describe('the crash simulator', () => {
  const perform = ({ spec, only }: WaitFault, simulate = crashEverywhere): ReturnType<typeof crashEverywhere> =>
    simulate(programOf(spec), { world: outside, only, mayFail: 20, maxWaits: 50, reply: answerTo })

  test.each(WAIT_FAULTS.map((fault) => [fault.what, fault] as const))(
    'the crash simulator finds an executor that %s',
    async (_, fault) => {
      const holds = await perform(fault)
      assert.equal(holds.violations.length, 0, toText(holds))
      const report = await perform(fault, await planted(fault))
      assert.ok(
        report.violations.some(({ law, what }) => law === fault.breaks && what.includes(fault.says)),
        toText(report)
      )
    }
  )
})

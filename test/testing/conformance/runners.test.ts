/** The kit depends on no test runner: vitest, node:test and plain node give the same report. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, test } from 'vitest'
import type { ConformanceReport } from '../../../src/testing/index.js'

const runners = join(import.meta.dirname, 'runners')
const folder = mkdtempSync(join(tmpdir(), 'dogear-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly report: ConformanceReport
}

const start = (args: ReadonlyArray<string>, report?: string): Promise<Ended> =>
  new Promise((resolve) =>
    execFile(
      process.execPath,
      args,
      // Hides from each runner that it runs inside the other.
      { cwd: runners, env: { PATH: process.env['PATH'], REPORT: report }, maxBuffer: 1e8 },
      (error, stdout) =>
        resolve({
          code: typeof error?.code === 'number' ? error.code : 0,
          stdout,
          report: JSON.parse(report === undefined ? stdout : readFileSync(report, 'utf8')) as ConformanceReport
        })
    )
  )

let plain: Ended
let nodeTest: Ended
let vitest: Ended
beforeAll(async () => {
  plain = await start([join(runners, 'plain.mjs')])
  const written = join(folder, 'node-test.json')
  nodeTest = await start([join(runners, 'node-test.mjs'), written], written)
  const bin = join(import.meta.dirname, '../../../node_modules/vitest/vitest.mjs')
  vitest = await start([bin, 'run', '--config', join(runners, 'vitest.config.mjs')], join(folder, 'vitest.json'))
})

describe('a report', () => {
  test('plain node, node:test and vitest give the same report', () => {
    assert.deepEqual(nodeTest.report, plain.report)
    assert.deepEqual(vitest.report, plain.report)
  })

  test('the report names the cases that a planted fault breaks', () => {
    const failed = plain.report.results.filter(({ outcome }) => outcome._tag === 'Failed')
    assert.deepEqual(
      failed.map(({ id }) => id),
      ['CS-CLAIM-07', 'CS-CLAIM-08', 'CS-CLAIM-15']
    )
  })

  test('a failed case fails a test of the runner, and unclaimed capabilities have no test', () => {
    assert.deepEqual([nodeTest.code, vitest.code], [1, 1])
    assert.match(nodeTest.stdout, /^. fail 3$/m)
    const { numFailedTests } = JSON.parse(vitest.stdout) as { readonly numFailedTests: number }
    assert.equal(numFailedTests, 3)
  })
})

import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { describe, test } from 'vitest'
import { workflow } from '../../../src/promise/index.js'
import { crashEverywhere } from '../../../src/testing/crash/crashEverywhere.js'
import { toText } from '../../../src/testing/crash/CrashReport.js'
import type { ProcessContext } from '../../../src/testing/crash/process/Process.js'
import { folder, next } from '../../adapters/json-file/kit.js'
import { policy } from '../../executor/fixtures.js'
import { sweep } from '../../sweep.js'

/** A wave with needs, a retry and a non-idempotent step. */
const release = ({ world, sleep, effect }: ProcessContext<Array<string>>) =>
  workflow('release')
    .wave('checks', {
      unit: {
        retry: policy({ _tag: 'Constant', attempts: 2, delayMillis: 60_000 }),
        run: async ({ attempt, signal }) => {
          await sleep(20_000, signal)
          if (attempt === 1) throw Object.assign(new Error('flaky'), { status: 503 })
          return 42
        }
      },
      lint: async ({ signal }) => {
        await sleep(30_000, signal)
        return 'clean'
      },
      report: { needs: ['unit', 'lint'], run: () => 'fine' }
    })
    .step('publish', {
      idempotent: false,
      run: async ({ outputs }) => {
        await effect('publish', () => world.push('published'))
        return outputs.checks.unit
      }
    })

describe('a workflow on JSON files', () => {
  test(
    'a workflow on JSON files killed at any call ends like an undisturbed one',
    { timeout: sweep ? 3_600_000 : 120_000 },
    async () => {
      const report = await crashEverywhere(release, {
        world: () => [],
        twice: sweep ? 2000 : 5,
        storage: {
          create: () => Promise.resolve(folder()),
          reopen: (root) => Promise.resolve(next(root)),
          destroy: (root) => rm(root, { recursive: true, force: true, maxRetries: 20 })
        },
        invariants: {
          'publishes twice only after the answer again': ({ world, trace }) =>
            world.length <= 1 + trace.filter((entry) => entry._tag === 'Answered' && entry.answer === 'again').length
        }
      })
      assert.equal(report.violations.length, 0, toText(report))
      assert.ok(report.points.length > 50)
    }
  )
})

import assert from 'node:assert/strict'
import * as t from 'io-ts'
import { test } from 'vitest'
import { workflow } from '../../../src/promise/index.js'
import { crashEverywhere } from '../../../src/testing/crash/crashEverywhere.js'
import { toText } from '../../../src/testing/crash/CrashReport.js'
import type { ProcessContext } from '../../../src/testing/crash/process/Process.js'
import { sweep } from '../../sweep.js'

/** A job provider: the submissions by key, and the number of polls of each. */
interface Provider {
  readonly jobs: Map<string, { readonly unit: string; asked: number }>
}

const provider = (): Provider => ({ jobs: new Map() })

/** A job that ends at the second poll. A second submission under one key returns the same job. */
const jobOf = ({ world, effect }: ProcessContext<Provider>, unit: string) => ({
  submit: ({ idempotencyKey }: { readonly idempotencyKey: string }) =>
    effect(`submit ${unit}`, () => {
      if (!world.jobs.has(idempotencyKey)) world.jobs.set(idempotencyKey, { unit, asked: 0 })
      return unit
    }),
  poll: ({ idempotencyKey }: { readonly idempotencyKey: string }) => {
    const job = world.jobs.get(idempotencyKey)
    if (job === undefined) return { _tag: 'Missing' } as const
    job.asked += 1
    return job.asked < 2 ? ({ _tag: 'Unfinished', done: 1, total: 2 } as const) : ({ _tag: 'Finished' } as const)
  },
  collect: ({ job }: { readonly job: unknown }) => `${String(job)} is done`
})

const nightly = (idempotent: boolean) => (context: ProcessContext<Provider>) =>
  workflow('nightly')
    .step('train', { output: t.string, idempotent, job: jobOf(context, 'train') })
    .wave('checks', {
      quality: { output: t.string, idempotent, job: jobOf(context, 'quality') },
      lint: () => 'clean',
      report: { needs: ['quality'], run: ({ outputs }) => JSON.stringify(outputs) }
    })
    .step('publish', ({ outputs }) => outputs.train)

const TIMEOUT = sweep ? 3_600_000 : 240_000

test(
  'a step whose process dies anywhere submits its job under one key, and ends like an undisturbed one',
  { timeout: TIMEOUT },
  async () => {
    const report = await crashEverywhere(nightly(true), {
      world: provider,
      twice: sweep ? 2_000 : 15,
      invariants: {
        'each job is there once': ({ world }) => {
          const units = [...world.jobs.values()].map(({ unit }) => unit)
          return new Set(units).size === units.length
        }
      }
    })
    assert.equal(report.violations.length, 0, toText(report))
    assert.ok(report.points.some((point) => point._tag === 'AtEffect' && point.name === 'submit train'))
  }
)

test('a non-idempotent job is submitted again only after an answer', { timeout: TIMEOUT }, async () => {
  const report = await crashEverywhere(nightly(false), {
    world: provider,
    twice: sweep ? 2_000 : 5,
    answers: 'again'
  })
  assert.equal(report.violations.length, 0, toText(report))
})

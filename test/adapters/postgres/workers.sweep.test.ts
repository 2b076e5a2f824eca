/** Three workers with many runs, one of which is killed each second. */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { test } from 'vitest'
import { right } from '../../../src/testing/conformance/fixtures.js'
import { bundled } from '../../bundled.js'
import { destroy, later, open, place } from './kit.js'

test('three workers that are killed again and again finish 200 runs, each with one owner at a time and each step recorded once', async () => {
  const where = await place()
  await right(open(where).storage.list())
  await where.admin.query(`CREATE TABLE ${where.schema}.done (run text, step integer, by text)`)
  const runIds = Array.from({ length: 200 }, (_, n) => `run-${n}`)
  const script = bundled(fileURLToPath(new URL('children/worker.js', import.meta.url)))
  const ended = new Set<string>()
  const start = (n: number): ChildProcess => {
    const open = runIds.filter((runId) => !ended.has(runId))
    const turned = [...open.slice((n * open.length) / 3), ...open.slice(0, (n * open.length) / 3)]
    const given = JSON.stringify({ ...where.server, schema: where.schema, runIds: turned, owner: `host-${n}` })
    const child = spawn(process.execPath, [script, given], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    child.on('message', ({ ended: runId }: { readonly ended?: string }) => {
      if (runId !== undefined) ended.add(runId)
    })
    return child
  }
  const workers = [0, 1, 2].map(start)
  for (let round = 0; ended.size < runIds.length; round++) {
    assert.ok(round < 600, `only ${ended.size} runs have ended`)
    await later(1_000)
    workers[round % 3]?.kill('SIGKILL')
    for (const [n, { exitCode, signalCode }] of workers.entries())
      if (exitCode !== null || signalCode !== null) workers[n] = start(n)
  }
  for (const worker of workers) worker.kill('SIGKILL')
  const { rows } = await where.admin.query<{
    run: string
    kinds: ReadonlyArray<string>
    epochs: ReadonlyArray<string>
  }>(
    `SELECT run, array_agg(kind ORDER BY revision) AS kinds, array_agg(epoch ORDER BY revision) AS epochs
      FROM ${where.schema}.revisions GROUP BY run`
  )
  assert.equal(rows.length, runIds.length)
  for (const { run, kinds, epochs } of rows) {
    assert.equal(kinds.filter((kind) => kind === 'UnitCompleted').length, 10, run)
    assert.deepEqual(
      epochs,
      [...epochs].sort((a, b) => Number(a) - Number(b)),
      run
    )
  }
  await destroy(where)
}, 900_000)

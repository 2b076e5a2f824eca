/** The evidence of a run with its own folder is collected there, not in the folder of the process. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { workspaces } from '../../src/adapters/node/index.js'
import { listRuns, poll, prune, runOutcome, workflow } from '../../src/promise/index.js'

test('a completed step whose file exists in the workspace of the run does not run again', async () => {
  const state = mkdtempSync(join(tmpdir(), 'dogear-workspace-'))
  onTestFinished(() => rmSync(state, { recursive: true }))
  const ran: Array<string> = []
  const release = workflow('release')
    .step('make', {
      evidence: () => [{ _tag: 'Artifact', path: 'x.txt' }],
      run: ({ folder = '' }) => {
        ran.push('make')
        writeFileSync(join(folder, 'x.txt'), 'x')
      }
    })
    .step('check', () => {
      ran.push('check')
      if (ran.length === 2) throw new Error('not yet')
    })
  const environment = { workspaces: workspaces(state) }
  const options = { id: 'release-1', storage: memoryStorage(), workspace: 'directory', environment } as const
  assert.equal((await runOutcome(release, options))._tag, 'Failed')
  assert.equal((await runOutcome(release, options))._tag, 'Completed')
  assert.deepEqual(ran, ['make', 'check', 'check'])
})

test('prune without `workspaces` keeps a run with its own workspace, and says to set them', async () => {
  const state = mkdtempSync(join(tmpdir(), 'dogear-workspace-'))
  onTestFinished(() => rmSync(state, { recursive: true }))
  const storage = memoryStorage()
  const environment = { workspaces: workspaces(state) }
  const release = workflow('release').step('make', () => 'made')
  await runOutcome(release, { id: 'release-1', storage, workspace: 'directory', environment })
  const why =
    'the environment has no `workspaces`, so its workspace may still be there; set them, as in { workspaces: workspaces(folder) }'
  const { removed, left } = await prune({ storage, keep: 0 })
  assert.deepEqual([removed, left.map(({ reason, why }) => [reason, why])], [[], [['failed', why]]])
  assert.equal((await listRuns({ storage })).length, 1)
  rmSync(join(state, 'workspaces', 'release-1'), { recursive: true })
  assert.equal((await prune({ storage, keep: 0, environment })).removed.length, 1)
})

test('a new run in a missing folder is refused, and nothing is stored', async () => {
  const state = mkdtempSync(join(tmpdir(), 'dogear-workspace-'))
  onTestFinished(() => rmSync(state, { recursive: true }))
  const release = workflow('release').step('make', () => 'made')
  const options = { id: 'release-1', storage: memoryStorage(), environment: { workspaces: workspaces(state) } }
  for (const path of [join(state, 'missing'), '']) {
    const refused = await runOutcome(release, { ...options, workspace: { kind: 'none', path } })
    assert.ok(refused._tag === 'Refused' && refused.error._tag === 'InvalidOptions')
    assert.match(refused.message, /workspace\.path must be an existing folder, not the string "/)
  }
  assert.deepEqual(await listRuns(options), [])
  const here = await runOutcome(release, { ...options, workspace: { kind: 'none', path: state } })
  assert.equal(here._tag, 'Completed')
  // A run that has completed needs no folder any more.
  const again = await runOutcome(release, { ...options, workspace: { kind: 'none', path: '/missing' } })
  assert.equal(again._tag, 'Completed')
})

test('a poll of a run without a job needs no workspace', async () => {
  const state = mkdtempSync(join(tmpdir(), 'dogear-workspace-'))
  onTestFinished(() => rmSync(state, { recursive: true }))
  const release = workflow('release').step('make', () => 'made')
  const options = { id: 'release-1', storage: memoryStorage(), environment: { workspaces: workspaces(state) } }
  await runOutcome(release, { ...options, workspace: 'directory' })
  rmSync(join(state, 'workspaces', 'release-1'), { recursive: true })
  assert.deepEqual((await poll(release, options)).jobs, [])
})

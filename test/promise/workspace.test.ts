/** The evidence of a run with its own folder is collected there, not in the folder of the process. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { workspaces } from '../../src/adapters/node/index.js'
import { runOutcome, workflow } from '../../src/promise/index.js'

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

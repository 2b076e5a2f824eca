/** The full wait for an owner known only by its heartbeat. */
import { spawn, spawnSync } from 'node:child_process'
import { readdirSync, unlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { main, sandbox, watch } from './dogear.js'

const CONTAINER = ['--fork', '--kill-child', '--pid', '--mount-proc']

test('a resume supersedes a dead owner 30 s after its first check, even if the owner’s clock was a day ahead', async ({
  skip,
  onTestFinished
}) => {
  const { status, stderr: why } = spawnSync('unshare', [...CONTAINER, 'true'], { encoding: 'utf8' })
  if (status !== 0) skip(`skipped: this system does not permit pid namespaces: ${why}`)
  const place = sandbox({
    'w.yml':
      "{ name: w, steps: [{ name: deploy, shell: 'echo deploying >> log; test -e fixed || { touch begun; sleep 60; }' }] }"
  })
  onTestFinished(() => place.remove())
  const words = [...CONTAINER, process.execPath, main, 'run', 'w.yml', '--id', 'r']
  const env = { ...process.env, DOGEAR_HOME: '' }
  const owner = watch(spawn('unshare', words, { cwd: place.folder, env, stdio: ['ignore', 'pipe', 'pipe'] }))
  await vi.waitUntil(() => place.exists('begun'), { timeout: 20_000 })
  owner.child.kill('SIGKILL')
  await owner.ended
  place.write('fixed', '')
  const run = join(place.folder, '.dogear/runs/r')
  const tomorrow = Date.now() / 1000 + 86_400
  for (const name of readdirSync(run)) {
    if (name.startsWith('alive-')) unlinkSync(join(run, name))
    if (name.startsWith('heartbeat-')) utimesSync(join(run, name), tomorrow, tomorrow)
  }
  const begun = performance.now()
  const { code, stderr } = await place.dogear(['resume', 'r'])
  const took = performance.now() - begun
  expect([code, place.read('log')]).toEqual([0, 'deploying\ndeploying\n'])
  expect(stderr).toContain('Waiting for a sign of life for up to 30 s (65 s on NFS) …\n')
  expect(took).toBeGreaterThan(29_000)
  expect(took).toBeLessThan(40_000)
})

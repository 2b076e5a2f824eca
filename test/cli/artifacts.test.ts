/** `reuse:` copies an artifact of another run, and `show` lists the artifacts of a run. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fileArtifacts } from '../../src/adapters/json-file/index.js'
import { sha256 } from '../../src/domain/data/Digest.js'
import { linesOf, type Sandbox, sandbox } from './dogear.js'

const train = `
name: train
steps:
  - { name: corpus, reuse: { fromRun: crawl-7, artifact: data/corpus } }
  - { name: fit, shell: echo fitted }
`
const broken = `
name: broken
steps:
  - wave: inputs
    groups:
      gone: { reuse: { fromRun: crawl-7, artifact: other } }
      sibling: { shell: echo done > sibling }
`

let place: Sandbox
beforeAll(async () => {
  place = sandbox({ 'train.yml': train, 'broken.yml': broken })
  const store = fileArtifacts(join(place.folder, '.dogear'))
  await store.put('crawl-7', 'data/corpus', 'all of it')()
})
afterAll(() => place.remove())

test('a step that reuses an artifact copies it, and show lists it with size and digest', async () => {
  const ran = await place.dogear(['run', 'train.yml', '--id', 'train-1'])
  expect([ran.code, ran.stdout]).toEqual([0, 'fitted\n'])
  const shown = await place.dogear(['show', 'train-1'])
  expect(linesOf(shown.stdout).slice(-2)).toEqual([
    'artifacts',
    `  9 bytes  sha256 ${sha256('all of it')}  data/corpus`
  ])
  const json = JSON.parse((await place.dogear(['show', 'train-1', '--json'])).stdout) as Record<string, unknown>
  expect(json['artifacts']).toEqual([{ id: 'data/corpus', size: 9, sha256: sha256('all of it') }])
  expect(json['steps']).toMatchObject([{ unit: 'corpus', output: 'reuse:crawl-7/data/corpus' }, { unit: 'fit' }])
})

test('a step whose artifact is missing fails alone, and its error names the artifact', async () => {
  const ran = await place.dogear(['run', 'broken.yml', '--id', 'broken-1'])
  expect(ran.code).toBe(1)
  expect(ran.stderr).toContain('command: reuse:crawl-7/other')
  expect(ran.stderr).toContain('error: run crawl-7 has no artifact "other"')
  expect(place.read('sibling')).toBe('done\n')
  // It exists by now.
  await fileArtifacts(join(place.folder, '.dogear')).put('crawl-7', 'other', 'late')()
  const resumed = await place.dogear(['resume', 'broken-1'])
  expect(resumed.code).toBe(0)
})

test('show prints a run even if it cannot list the artifacts', async () => {
  await place.dogear(['run', 'train.yml', '--id', 'train-2'])
  place.write('.dogear/runs/train-2/artifacts/h-x', 'no artifact')
  const { code, stdout } = await place.dogear(['show', 'train-2'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/An artifact of run train-2 cannot be read: .*h-x: its first line is invalid/)
  const json = JSON.parse((await place.dogear(['show', 'train-2', '--json'])).stdout) as Record<string, unknown>
  expect(json['artifacts']).toMatchObject({ error: { code: 'Corrupt' } })
})

test.each([
  ['{ reuse: { fromRun: Crawl, artifact: x } }', '"fromRun" cannot be "Crawl": use 1 to 128'],
  ['{ reuse: { fromRun: crawl, artifact: ../x } }', '"artifact" cannot be "../x": it has a segment'],
  ['{ reuse: { fromRun: crawl, artifact: _own/x } }', '"artifact" cannot be "_own/x": ids that begin with "_"'],
  ['{ reuse: { fromRun: crawl } }', '"reuse" needs "fromRun" (the id of a run) and "artifact"'],
  ['{ reuse: { fromRun: crawl, artifact: x, to: y } }', '"reuse" has no key "to"'],
  ['{ reuse: crawl }', '"reuse" must be a mapping'],
  [
    '{ reuse: { fromRun: crawl, artifact: x }, shell: make }',
    '"reuse" cannot be combined with "shell" or "run"; use one of them'
  ]
])('an invalid reuse is refused with its place before anything runs: %s', async (step, message) => {
  place.write('wrong.yml', `name: wrong\nsteps:\n  - ${step}\n`)
  const { code, stderr } = await place.dogear(['run', 'wrong.yml', '--id', 'wrong-1'])
  expect(code).toBe(2)
  expect(stderr).toMatch(/wrong\.yml:3:\d+/)
  expect(stderr).toContain(message)
  expect(place.exists('.dogear/runs/wrong-1')).toBe(false)
})

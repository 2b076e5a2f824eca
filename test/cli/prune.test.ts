import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { fileArtifacts, jsonFileStorage } from '../../src/adapters/json-file/index.js'
import { run as start, workflow } from '../../src/promise/index.js'
import type { Environment } from '../../src/index.js'
import { linesOf, type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
const within = (files: Readonly<Record<string, string>> = {}): Sandbox => (place = sandbox(files))
afterEach(() => place.remove())

const home = (): string => join(place.folder, '.dogear')

const DAY = 86_400_000

/** Runs w-0 (the oldest) to w-n that completed a day after one another, the newest today; quicker than by the command. */
const withRuns = async (count: number, name = 'w'): Promise<void> => {
  const one = async (index: number): Promise<void> => {
    const clock: Environment['clock'] = {
      now: () => Date.now() - (count - 1 - index) * DAY - 1000,
      sleep: () => () => Promise.resolve()
    }
    const flow = workflow(name).step('only', ({ artifacts }) => artifacts.put('log', `text of ${index}`))
    const environment = { clock, artifacts: fileArtifacts(home()) }
    await start(flow, { id: `${name}-${index}`, storage: jsonFileStorage(home()), environment })
  }
  // Many at a time, so that their syncs share the disk's time.
  for (let from = 0; from < count; from += 32) {
    await Promise.all(Array.from({ length: Math.min(32, count - from) }, (_, n) => one(from + n)))
  }
}

const journal = (id: string): string => `.dogear/runs/${id}/history/e000001.jsonl`

/** Changes the end of a line in the only journal of a run: the second, or the last, which has the summary for the list. */
const damage = (id: string, which: 'second' | 'last'): void => {
  const lines = place.read(journal(id)).split('\n')
  const at = which === 'second' ? 1 : lines.findLastIndex((line) => line.startsWith('{'))
  lines[at] = `${lines[at]?.slice(0, -1)}#`
  place.write(journal(id), lines.join('\n'))
}

/** More than are removed at once. */
const MANY = 130

const runs = (): readonly string[] => readdirSync(join(home(), 'runs')).sort()

describe('dogear prune', () => {
  test('prune lists and deletes runs that are old and not among the newest of their workflow', async () => {
    within({ 'broken.yml': 'name: w\nsteps: [{ shell: exit 1 }]\n' })
    await withRuns(5)
    await withRuns(1, 'v')
    await place.dogear(['run', 'broken.yml', '--id', 'broken'])
    const dry = await place.dogear(['prune', '--keep', '1', '--older-than', '2d', '--dry-run'])
    expect(dry.code).toBe(0)
    expect(dry.stdout).toMatch(/^w-0 {2}w {2}completed {2}\S+ \S+ UTC\nw-1 .*\nw-2 .*\n3 runs would be deleted\n$/)
    expect(runs()).toHaveLength(7)
    const asked = await place.dogear(['prune', '--keep', '1', '--older-than', '2d'])
    expect([asked.code, linesOf(asked.stderr)]).toEqual([
      4,
      [
        'dogear: 3 runs would be deleted',
        'List them with:',
        '  dogear prune --keep 1 --older-than 2d --dry-run',
        'To agree:',
        '  dogear prune --keep 1 --older-than 2d --yes'
      ]
    ])
    expect(runs()).toHaveLength(7)
    const done = await place.dogear(['prune', '--keep', '1', '--older-than', '2d', '--yes'])
    expect([done.code, done.stdout]).toEqual([0, 'Deleted 3 runs\n'])
    expect(runs()).toEqual(['broken', 'v-0', 'w-3', 'w-4'])
    const again = await place.dogear(['prune', '--keep', '1', '--older-than', '2d', '-y'])
    expect([again.code, again.stdout]).toEqual([0, 'Nothing to delete\n'])
    const failed = await place.dogear(['prune', '--keep', '0', '--status', 'failed', '-y', '--json'])
    expect(JSON.parse(failed.stdout)).toMatchObject({
      dry_run: false,
      expired: [{ run_id: 'broken', status: 'failed' }],
      removed: ['broken'],
      left: []
    })
    expect(runs()).toEqual(['v-0', 'w-3', 'w-4'])
  })

  test('prune lists and counts only runs that it would delete, and warns of runs with a workspace', async () => {
    const file = (key: string): string => `${key}steps: [{ shell: echo made > made }]\n`
    within({ 'v.yml': file(''), 'w.yml': file('workspace: directory\n') })
    await place.dogear(['run', 'v.yml', '--id', 'plain'])
    for (const id of ['own-1', 'own-2']) await place.dogear(['run', 'w.yml', '--id', id])
    const own = (id: string): string => `its workspace is still there: ${join(home(), 'workspaces', id)}. Clean it`
    const hint = ['To delete the workspaces of completed runs:', '  dogear clean']
    const words = ['prune', '--keep', '0']

    const dry = await place.dogear([...words, '--dry-run'])
    expect(dry.stdout).toMatch(/^plain {2}v {2}completed .*\n1 run would be deleted\n$/)
    expect([dry.code, linesOf(dry.stderr)]).toEqual([
      0,
      [`warning: run own-1 would stay: ${own('own-1')}`, `warning: run own-2 would stay: ${own('own-2')}`, ...hint]
    ])
    expect(JSON.parse((await place.dogear([...words, '--dry-run', '--json'])).stdout)).toMatchObject({
      expired: [{ run_id: 'plain' }, { run_id: 'own-1' }, { run_id: 'own-2' }],
      removed: [],
      left: [
        { run_id: 'own-1', why: own('own-1') },
        { run_id: 'own-2', why: own('own-2') }
      ]
    })
    const asked = await place.dogear(words)
    expect([asked.code, linesOf(asked.stderr)[0]]).toEqual([4, 'dogear: 1 run would be deleted'])
    const done = await place.dogear([...words, '--yes'])
    expect([done.code, done.stdout]).toEqual([0, 'Deleted 1 run\n'])
    expect(linesOf(done.stderr)).toEqual([
      `warning: run own-1 was not removed: ${own('own-1')}`,
      `warning: run own-2 was not removed: ${own('own-2')}`,
      ...hint
    ])
    const left = await place.dogear(words)
    expect([left.code, left.stdout]).toEqual([0, 'Nothing to delete\n'])
    expect(left.stderr).toBe(done.stderr)
    expect((await place.dogear(['clean', '--yes'])).code).toBe(0)
    expect((await place.dogear([...words, '--yes'])).stdout).toBe('Deleted 2 runs\n')
  })

  test('after deleting several runs whose workspaces still exist, prune names one workspace as an example', async () => {
    within({ 'w.yml': 'name: w\nworkspace: directory\nsteps: [{ shell: exit 1 }]\n' })
    for (const id of ['own-1', 'own-2']) await place.dogear(['run', 'w.yml', '--id', id])
    const { code, stderr } = await place.dogear(['prune', '--keep', '0', '--status', 'failed', '--yes'])
    expect([code, linesOf(stderr).slice(2)]).toEqual([
      0,
      ['To delete one of these workspaces, for example:', '  dogear clean own-1']
    ])
  })

  test('prune names each damaged run that the limits would delete, keeps it, and exits with 5', async () => {
    within()
    await withRuns(4)
    damage('w-0', 'last')
    damage('w-1', 'second')
    const dry = await place.dogear(['prune', '--keep', '1', '--dry-run'])
    expect(dry.stdout).toMatch(/^w-2 {2}w {2}completed .*\n1 run would be deleted\n$/)
    const stays = linesOf(dry.stderr)
    expect([dry.code, stays]).toEqual([
      5,
      ['w-0', 'w-1'].map((id): unknown =>
        expect.stringMatching(`^warning: run ${id} would stay: its newest state is damaged: .`)
      )
    ])
    const done = await place.dogear(['prune', '--keep', '1', '--yes'])
    expect([done.code, done.stdout, linesOf(done.stderr)]).toEqual([
      5,
      'Deleted 1 run\n',
      stays.map((line) => line.replace('would stay', 'was not removed'))
    ])
    expect(runs()).toEqual(['w-0', 'w-1', 'w-3'])
    expect(await place.dogear(['prune', '--keep', '1', '--older-than', '30d'])).toMatchObject({ code: 0, stderr: '' })
  })

  test('prune warns of a run that it cannot read, and deletes the others', async () => {
    within()
    await withRuns(2)
    for (const file of [journal('w-0'), '.dogear/runs/w-0/checkpoint.json']) place.write(file, 'garbage\n')
    const { code, stdout, stderr } = await place.dogear(['prune', '--keep', '0', '--yes'])
    expect([code, stdout]).toEqual([0, 'Deleted 1 run\n'])
    expect(stderr).toMatch(/^warning: Run w-0 cannot be read: /)
    expect(runs()).toEqual(['w-0'])
  })

  test('prune never deletes a run that a live process holds', async () => {
    within({ 'w.yml': 'name: w\nsteps: [{ shell: echo begun; sleep 60 }]\n' })
    const running = place.start(['run', 'w.yml', '--id', 'live'])
    await running.said('begun')
    const every = ['--status', 'completed', '--status', 'failed', '--status', 'interrupted', '--status', 'queued']
    expect((await place.dogear(['prune', '--keep', '0', ...every, '-y'])).stdout).toBe('Nothing to delete\n')
    expect(runs()).toEqual(['live'])
    running.child.kill('SIGKILL')
    await running.ended
    expect((await place.dogear(['prune', '--keep', '0', '-y'])).stdout).toBe('Nothing to delete\n')
    expect((await place.dogear(['prune', '--keep', '0', '--status', 'interrupted', '-y'])).stdout).toBe(
      'Deleted 1 run\n'
    )
  })

  test('prune also deletes what is left of runs that never started, which no list shows', async () => {
    within()
    await withRuns(1)
    const old = new Date(Date.now() - DAY)
    for (const id of ['none-1', 'none-2', 'young']) {
      mkdirSync(join(home(), 'runs', id))
      if (id !== 'young') utimesSync(join(home(), 'runs', id), old, old)
    }
    const words = ['prune', '--keep', '0']
    const dry = await place.dogear([...words, '--dry-run'])
    expect(dry.stdout).toMatch(
      /^w-0 .*\nnone-1 {2}never started\nnone-2 {2}never started\n1 run and 2 runs that never started would be deleted\n$/
    )
    expect(JSON.parse((await place.dogear([...words, '--dry-run', '--json'])).stdout)).toMatchObject({
      removed: [],
      never_started: ['none-1', 'none-2']
    })
    const asked = await place.dogear(words)
    expect([asked.code, linesOf(asked.stderr)[0]]).toEqual([4, 'dogear: 1 run would be deleted'])
    expect(runs()).toHaveLength(4)
    expect((await place.dogear([...words, '-y'])).stdout).toBe('Deleted 1 run and 2 runs that never started\n')
    expect(runs()).toEqual(['young'])
    utimesSync(join(home(), 'runs', 'young'), old, old)
    const last = await place.dogear([...words, '--json'])
    expect(JSON.parse(last.stdout)).toEqual({
      dry_run: false,
      expired: [],
      removed: [],
      left: [],
      never_started: ['young']
    })
    expect((await place.dogear(words)).stdout).toBe('Nothing to delete\n')
    expect(runs()).toEqual([])
  })

  test.each([
    [[], 'prune: no limit is set; pass --keep N, --older-than 30d, or both'],
    [['--keep', '-1'], '--keep: "-1" is not a number of runs; pass a whole number such as 10'],
    [['--older-than', '30'], '--older-than: "30" is not a duration; use one like 12h or 30d'],
    [
      ['--keep', '1', '--status', 'running'],
      '--status: prune takes no status "running"; use completed, cancelled, failed, interrupted, paused, pending or queued'
    ],
    [['--status', 'foo'], '--status: prune takes no status "foo"'],
    [['--keep', '1', '--status', 'complete'], 'Did you mean "completed"?']
  ])('prune with %j is wrong use', async (flags, message) => {
    within()
    const { code, stderr } = await place.dogear(['prune', ...flags])
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
    expect(existsSync(home())).toBe(false)
  })

  test('a killed prune leaves each run whole or deleted, and a new run under a deleted id starts empty', async () => {
    within({ 'w.yml': 'name: w\nsteps:\n  - shell: echo anew\n    capture: said\n' })
    await withRuns(MANY)
    const pruning = place.start(['prune', '--keep', '0', '-y'])
    while (runs().length === MANY && pruning.child.exitCode === null) await turn()
    pruning.child.kill('SIGKILL')
    const { signal } = await pruning.ended
    expect(signal).toBe('SIGKILL')
    const left = runs()
    expect(left.length).toBeGreaterThan(0)
    expect(left.length).toBeLessThan(MANY)
    expect((await place.dogear(['verify'])).code).toBe(0)
    for (const id of left) expect(existsSync(join(home(), 'runs', id, 'artifacts'))).toBe(true)
    const deleted = Array.from({ length: MANY }, (_, n) => `w-${n}`).find((id) => !left.includes(id)) ?? ''
    const started = await place.dogear(['run', 'w.yml', '--id', deleted])
    expect([started.code, started.stdout]).toEqual([0, expect.stringContaining('anew')])
    const shown = JSON.parse((await place.dogear(['show', deleted, '--json'])).stdout) as object
    expect(shown).toMatchObject({ revision: 2, artifacts: [], variables: { said: 'anew' } })
    expect((await place.dogear(['prune', '--keep', '0', '-y'])).code).toBe(0)
    expect(runs()).toEqual([])
    expect(readdirSync(home()).filter((name) => name.startsWith('removed-'))).toEqual([])
  })
})

describe('`onSuccess` of a workflow file', () => {
  const file = (onSuccess: string): string =>
    `name: w\nonSuccess: ${onSuccess}\nsteps:\n  - { name: one, shell: echo 1, capture: one }\n  - { name: two, shell: test -e fixed }\n`

  test('onSuccess: archive keeps the last checkpoint of a completed run in one file, and a failed run whole', async () => {
    within({ 'w.yml': file('archive') })
    expect((await place.dogear(['run', 'w.yml', '--id', 'r'])).code).toBe(1)
    expect(runs()).toEqual(['r'])
    place.write('fixed', '')
    const { code, stderr } = await place.dogear(['resume', 'r'])
    expect(code).toBe(0)
    const [name = '', ...others] = readdirSync(join(home(), 'archive'))
    expect(others).toEqual([])
    expect(stderr).toContain(` ran, 1 skipped\nRun r was archived in ${join(home(), 'archive', name)}\n`)
    const archived = JSON.parse(readFileSync(join(home(), 'archive', name), 'utf8')) as object
    expect(archived).toMatchObject({ runId: 'r', state: { _tag: 'Completed' }, variables: { one: '1' } })
    expect(runs()).toEqual([])
  })

  test('onSuccess: delete keeps nothing of a completed run', async () => {
    within({ 'w.yml': file('delete'), fixed: '' })
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--id', 'r'])
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^Run completed in .*\nThe state of run r was deleted\n/m)
    ])
    expect(runs()).toEqual([])
    expect(existsSync(join(home(), 'archive'))).toBe(false)
  })

  test('onSuccess: delete also applies to a run whose last step is a job that a poll collects', async () => {
    within({ 'w.yml': 'name: w\nonSuccess: delete\nsteps:\n  - job: { submit: echo 1, poll: "true" }\n' })
    expect((await place.dogear(['run', 'w.yml', '--id', 'r'])).code).toBe(75)
    const { code, stderr } = await place.dogear(['poll', 'r'])
    expect([code, stderr]).toEqual([0, 'The state of run r was deleted\n'])
    expect(runs()).toEqual([])
  })

  test('onSuccess: delete waits until the workspace of the completed run is merged or cleaned', async () => {
    within({ 'w.yml': 'name: w\nworkspace: directory\nonSuccess: delete\nsteps:\n  - shell: echo made > made\n' })
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--id', 'r'])
    expect([code, stderr]).toEqual([0, expect.stringContaining('its state is kept: its workspace is still there')])
    const pruned = await place.dogear(['prune', '--keep', '0', '-y'])
    expect([pruned.code, linesOf(pruned.stderr)]).toEqual([
      0,
      [
        `warning: run r was not removed: its workspace is still there: ${join(home(), 'workspaces', 'r')}. Clean it`,
        'To delete its workspace:',
        '  dogear clean r'
      ]
    ])
    expect(runs()).toEqual(['r'])
    expect((await place.dogear(['clean', 'r', '-y'])).code).toBe(0)
    expect((await place.dogear(['prune', '--keep', '0', '-y'])).stdout).toBe('Deleted 1 run\n')
    expect(runs()).toEqual([])
  })

  test('deleting a run also deletes the folders of its steps, and so does prune', async () => {
    const steps = 'steps: [{ name: one, workspace: fresh, shell: echo 1 > made, artifacts: [made] }]\n'
    const of = (onSuccess: string): string => `name: ${onSuccess}\nonSuccess: ${onSuccess}\n${steps}`
    within({ 'keep.yml': of('keep'), 'archive.yml': of('archive'), 'delete.yml': of('delete') })
    for (const name of ['keep', 'archive', 'delete'])
      expect((await place.dogear(['run', `${name}.yml`, '--id', name])).code).toBe(0)
    expect(readdirSync(join(home(), 'workspaces', '_steps'))).toEqual(['keep'])
    expect((await place.dogear(['prune', '--keep', '0', '-y'])).code).toBe(0)
    expect(readdirSync(join(home(), 'workspaces', '_steps'))).toEqual([])
    expect(runs()).toEqual([])
  })

  test('onSuccess accepts no other word than keep, archive and delete', async () => {
    within({ 'w.yml': file('remove') })
    const { code, stderr } = await place.dogear(['run', 'w.yml'])
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('"onSuccess" must be keep, archive or delete, not "remove"')
    ])
  })
})

import { afterEach, expect, test } from 'vitest'
import { type Ended, linesOf, type Running, type Sandbox, sandbox, timeless } from './dogear.js'

let place: Sandbox
afterEach(() => place.remove())

const until = 'while [ ! -e go ]; do sleep 0.02; done'

/** A wave whose second group waits for the file `go`, between two steps. */
const workflow = `
name: w
steps:
  - { name: first, shell: echo first >> log }
  - wave: checks
    concurrency: 1
    groups:
      G1: { shell: echo G1 >> log }
      G2: { shell: 'echo G2 >> log; echo ready; ${until}' }
      G3: { shell: echo G3 >> log }
  - { name: last, shell: echo last >> log }
`

const started = async (words: readonly string[] = []): Promise<Running> => {
  const running = place.start(['run', 'w.yml', '--id', 'r', ...words])
  await running.said('ready')
  return running
}

/** Asks for a pause while the step waits, then lets it go. */
const paused = async (running: Running, words: readonly string[] = []): Promise<Ended> => {
  const asked = await place.dogear(['pause', 'r', ...words])
  expect(asked.stdout).toContain(
    'Run r pauses once its current steps have ended, unless it has completed or failed by then ('
  )
  expect(asked.code).toBe(0)
  place.write('go', '')
  return running.ended
}

const statusOf = async (id = 'r'): Promise<unknown> =>
  (JSON.parse((await place.dogear(['show', id, '--json'])).stdout) as { readonly status: unknown }).status

test('show of a live run says that a pause was requested', async () => {
  place = sandbox({ 'w.yml': workflow })
  const running = await started()
  const requested = async (): Promise<unknown> => JSON.parse((await place.dogear(['show', 'r', '--json'])).stdout)
  expect(await requested()).toMatchObject({ pause_requested: false })
  await place.dogear(['pause', 'r'])
  expect(await requested()).toMatchObject({ pause_requested: true, cancel_requested: false })
  expect((await place.dogear(['show', 'r'])).stdout).toContain(
    'pause     requested: it pauses once its current steps have ended, unless it has completed or failed by then\n'
  )
  await place.dogear(['cancel', 'r'])
  expect(await requested()).toMatchObject({ pause_requested: true, cancel_requested: true })
  place.write('go', '')
  await running.ended
  expect(await requested()).toMatchObject({ status: 'cancelled', pause_requested: false, cancel_requested: false })
})

test('a pause lets running groups end, and reports the position, the pointer, the commits and the resume command', async () => {
  place = sandbox({ 'w.yml': workflow })
  const ended = await paused(await started())
  expect(ended.code).toBe(75)
  expect(linesOf(timeless(ended.stderr)).slice(-5)).toEqual([
    'Paused at step 2: checks/G3',
    `Pointer written to ${place.folder}/.dogear/continue-here.json`,
    'Run paused after T: 3 tasks completed',
    'Resume with:',
    '  dogear resume r'
  ])
  expect(await statusOf()).toBe('paused')
  expect(JSON.parse(place.read('.dogear/continue-here.json'))).toMatchObject({
    format: 1,
    runId: 'r',
    workflow: 'w',
    stepIndex: 1,
    unit: 'checks/G3',
    commits: []
  })
  expect(place.exists('.dogear/runs/r/requests')).toBe(false)
})

test('a resume without an id lists the runs in progress if no other is unfinished', async () => {
  place = sandbox({ 'w.yml': workflow })
  const running = await started()
  const { code, stderr } = await place.dogear(['resume'])
  place.write('go', '')
  expect(code).toBe(3)
  expect(stderr).toMatch(
    /^dogear: Every unfinished run is in progress:\n {2}r {2}w {2}running {2}.*\nList the runs with:\n {2}dogear runs\n$/
  )
  expect((await running.ended).code).toBe(0)
})

test('a resume without an id follows the pause pointer, despite other unfinished runs, and removes the pointer', async () => {
  place = sandbox({ 'w.yml': workflow, 'bad.yml': 'steps: [{ shell: exit 1 }]' })
  await paused(await started())
  expect((await place.dogear(['run', 'bad.yml', '--id', 'bad'])).code).toBe(1)
  const resumed = await place.dogear(['resume'])
  expect(resumed.code).toBe(0)
  expect(linesOf(resumed.stderr).slice(0, 3)).toEqual([
    'Continuing from step 2: checks/G3',
    'Resuming run r',
    'Loaded checkpoint: 1/3 steps completed'
  ])
  expect(place.read('log')).toBe('first\nG1\nG2\nG3\nlast\n')
  expect(place.exists('.dogear/continue-here.json')).toBe(false)
})

test('a resume by id removes the pause pointer as well', async () => {
  place = sandbox({ 'w.yml': workflow })
  await paused(await started())
  expect((await place.dogear(['resume', 'r'])).code).toBe(0)
  expect(place.exists('.dogear/continue-here.json')).toBe(false)
})

test.each([
  ['a secret is not set', 'secrets: [TOKEN]', 'true', 'TOKEN is not set'],
  [
    'a completed step was changed',
    '',
    "sed -i 's/echo first/echo other/' w.yml",
    '"first" differs from its recorded definition'
  ],
  ['its workspace is missing', 'workspace: directory', 'rm -r .dogear/workspaces', 'Workspace not found for run r']
])(
  'a resume that is refused because %s prints the reason, and not where the run paused',
  async (_, header, spoil, why) => {
    place = sandbox({ 'w.yml': `${header}${workflow.replace('-e go', '-e "$PLACE/go"')}` })
    const environment = { TOKEN: 'abcdefghijklm', PLACE: place.folder }
    const running = place.start(['run', 'w.yml', '--id', 'r'], { environment })
    await running.said('ready')
    await paused(running)
    await place.shell(spoil)
    const refused = await place.dogear(['resume'])
    expect(refused.code).toBe(4)
    expect(refused.stderr).toContain(why)
    expect(refused.stderr).not.toMatch(/Continuing|Verified|Resuming/)
    expect(place.exists('.dogear/continue-here.json')).toBe(true)
  }
)

test.each([
  ['no longer exists', (id: string) => place.shell(`rm -r .dogear/runs/${id}`)],
  [
    'has completed',
    (id: string) =>
      place.shell(`cp .dogear/continue-here.json p && dogear resume ${id} && mv p .dogear/continue-here.json`)
  ]
])('a pause pointer to a run that %s is removed, and the only unfinished run is resumed', async (why, spoil) => {
  place = sandbox({ 'w.yml': workflow, 'bad.yml': 'steps: [{ shell: test -e go2 }]' })
  await paused(await started())
  expect((await place.dogear(['run', 'bad.yml', '--id', 'bad'])).code).toBe(1)
  await spoil('r')
  place.write('go2', '')
  const resumed = await place.dogear(['resume'])
  expect(resumed.stderr).toContain(`Run r, which was paused last, ${why}; removed the pointer to it\n`)
  expect(resumed.stderr).toContain('Resuming run bad\n')
  expect(resumed.code).toBe(0)
  expect(place.exists('.dogear/continue-here.json')).toBe(false)
})

test('an invalid pause pointer is refused with exit code 5 and kept; a run named by id resumes despite the pointer', async () => {
  place = sandbox({ 'w.yml': workflow })
  await paused(await started())
  place.write('.dogear/continue-here.json', '{"format":1,"runId":"../../r"}')
  const refused = await place.dogear(['resume', '--json'])
  expect(refused.code).toBe(5)
  expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: 'InvalidPointer' } })
  expect(refused.stderr).toContain(
    '; name the run to resume. The next pause replaces the pointer\nList the runs with:\n'
  )
  expect(await statusOf()).toBe('paused')
  expect((await place.dogear(['resume', 'r'])).code).toBe(0)
})

test('a pause of a failed or paused run prints the status of the run and writes nothing', async () => {
  place = sandbox({ 'w.yml': workflow, 'bad.yml': 'steps: [{ shell: exit 1 }]' })
  await place.dogear(['run', 'bad.yml', '--id', 'bad0'])
  const before = (await place.shell('ls -laR .dogear')).stdout
  expect(await place.dogear(['pause', 'bad0'])).toMatchObject({
    code: 4,
    stdout: '',
    stderr: 'dogear: Run bad0 has failed: there is nothing to pause\nResume with:\n  dogear resume bad0\n'
  })
  expect((await place.shell('ls -laR .dogear')).stdout).toBe(before)
  expect((await place.dogear(['pause', 'none'])).code).toBe(3)
  await paused(await started())
  const files = (await place.shell('ls -laR .dogear')).stdout
  expect(await place.dogear(['pause', 'r'])).toMatchObject({ code: 0, stdout: 'Run r is paused already\n' })
  expect((await place.shell('ls -laR .dogear')).stdout).toBe(files)
})

test('a damaged request pauses the run and is reported with its problem', async () => {
  place = sandbox({ 'w.yml': workflow })
  const running = await started()
  const path = place.write('.dogear/runs/r/requests/pause.json', '{')
  place.write('go', '')
  const ended = await running.ended
  expect(ended.code).toBe(75)
  expect(ended.stderr).toContain(
    `warning: nothing was committed, because the pause request cannot be attributed: ${path} is not a valid request: expected a JSON object\n`
  )
  expect(place.exists('.dogear/runs/r/requests')).toBe(false)
})

test('Ctrl+C during a pause interrupts the run in place of pausing it, and leaves no request', async () => {
  place = sandbox({ 'w.yml': workflow })
  const running = await started()
  await place.dogear(['pause', 'r'])
  process.kill(running.pid, 'SIGINT')
  expect((await running.ended).code).toBe(130)
  expect(await statusOf()).toBe('interrupted')
  expect(place.exists('.dogear/runs/r/requests')).toBe(false)
  expect(place.exists('.dogear/continue-here.json')).toBe(false)
})

const inWorktree = `
name: w
workspace: worktree
steps:
  - name: build
    shell: 'echo 1 > built; git add built; git commit -qm built; echo half > half; echo ready; while [ ! -e "$PLACE/go" ]; do sleep 0.02; done'
    expect: { commits: 1 }
  - { name: last, shell: test -e half }
`

const repository = async (): Promise<void> => {
  place = sandbox({ 'w.yml': inWorktree, '.gitignore': '.dogear\n.bin\n' })
  const made = await place.shell(
    'git init -q . && git config user.email a@example.org && git config user.name a && git add . && git commit -qm init'
  )
  expect(made).toMatchObject({ code: 0 })
}

const inThere = async (command: string): Promise<string> =>
  (await place.shell(`git -C .dogear/workspaces/r ${command}`)).stdout

test('a pause commits the uncommitted changes of the worktree, and never the state folder', async () => {
  await repository()
  const running = place.start(['run', 'w.yml', '--id', 'r'], { environment: { PLACE: place.folder } })
  await running.said('ready')
  const ended = await paused(running)
  expect(await inThere('status --porcelain')).toBe('')
  const hash = (await inThere('rev-parse HEAD')).trim()
  expect(ended.stderr).toContain(`Evidence: 1 commit\nCommitted the uncommitted changes: ${hash.slice(0, 12)}\n`)
  expect(JSON.parse(place.read('.dogear/continue-here.json'))).toMatchObject({
    commits: [(await inThere('rev-parse HEAD~1')).trim()],
    committed: hash
  })
  expect((await inThere('ls-tree -r --name-only HEAD')).split('\n').sort().join(' ').trim()).toBe(
    '.gitignore built half w.yml'
  )
  expect((await place.shell('git status --porcelain --untracked-files=no')).stdout).toBe('')
  const resumed = await place.dogear(['resume', '--no-merge'])
  expect(linesOf(resumed.stderr).slice(0, 2)).toEqual(['Verified: 1 commit found', 'Continuing from step 2: last'])
  expect(resumed.code).toBe(0)
})

test('a pause with --no-commit leaves the worktree unchanged', async () => {
  await repository()
  const running = place.start(['run', 'w.yml', '--id', 'r'], { environment: { PLACE: place.folder } })
  await running.said('ready')
  await paused(running, ['--no-commit'])
  expect(await inThere('status --porcelain')).toBe('?? half\n')
  expect(JSON.parse(place.read('.dogear/continue-here.json'))).not.toHaveProperty('committed')
})

test('a refused resume of a live run says that the run will pause or be cancelled if a pause or cancel is requested', async () => {
  place = sandbox({ 'w.yml': workflow })
  const running = await started()
  for (const [words, what] of [
    [['pause', 'r'], 'it pauses'],
    [['cancel', 'r'], 'it is cancelled']
  ] as const) {
    await place.dogear(words)
    const refused = await place.dogear(['resume', 'r'])
    expect(refused.code).toBe(4)
    expect(refused.stderr).toMatch(
      new RegExp(`held by process .*; ${what} once its current steps have ended, unless it has completed.* by then\\n`)
    )
    const kept = await place.dogear(['resume', 'r', '--take-over', '--yes'])
    expect(kept.stderr).toMatch(/ by then\n--take-over was refused: the owner is proven alive\nShow the run with:\n/)
    expect(linesOf(refused.stderr).slice(1)).toEqual(['Show the run with:', '  dogear show r'])
  }
  place.write('go', '')
  await running.ended
})

test('after the pause of a run that waits, dogear prints the command that resumes it', async () => {
  place = sandbox({ 'w.yml': 'name: w\nsteps: [{ name: ok, waitFor: { question: q } }]' })
  await place.dogear(['run', 'w.yml', '--id', 'r'])
  const ended = await place.dogear(['pause', 'r'])
  expect(ended).toMatchObject({ code: 0, stdout: 'Run r is paused\n' })
  expect(ended.stderr).toContain('Resume with:\n  dogear resume r\n')
})

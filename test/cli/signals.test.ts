import { afterEach, expect, test } from 'vitest'
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { hasProgram, isAlive, linesOf, main, type Running, type Sandbox, sandbox, timeless, watch } from './dogear.js'
import { hasTerminal, onTerminal } from './onTerminal.js'

let place: Sandbox
afterEach(() => place.remove())

/** A step whose command starts another, reports it, and leaves a partial file. */
const workflow = `
name: slow
steps:
  - { name: first, shell: echo first >> log }
  - name: slow
    shell: |
      test -e fixed && exit 0
      echo partial > partial
      sleep 100 & echo $! > grandchild; echo ready; wait
  - { name: last, shell: echo last >> log }
`

const begun = async (words: readonly string[] = ['run', 'w.yml', '--id', 'r']): Promise<Running> => {
  const running = place.start(words)
  await running.said('ready')
  return running
}

const grandchild = (): number => Number(place.read('grandchild'))

/** The kernel kills a process some time after SIGKILL was sent: the sender may end first. */
const dead = async (pid: number): Promise<void> => {
  await expect.poll(() => isAlive(pid), { timeout: 5_000 }).toBe(false)
}

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
  ['SIGQUIT', 131],
  ...(['SIGABRT', 'SIGUSR2', 'SIGALRM', 'SIGIO', 'SIGXCPU'] as const).map(
    (signal) => [signal, 128 + constants.signals[signal]] as const
  )
] as const)(
  '%s ends the step and all its processes and is recorded, and dogear exits with %i',
  async (signal, code) => {
    place = sandbox({ 'w.yml': workflow })
    const running = await begun()
    process.kill(running.pid, signal)
    const ended = await running.ended
    expect({ code: ended.code, signal: ended.signal }).toEqual({ code, signal: null })
    const again = signal === 'SIGINT' ? ' press Ctrl+C again to end at once' : ''
    expect(linesOf(timeless(ended.stderr)).slice(-4)).toEqual([
      `Stopping slow …${again}`,
      'Interrupted in step 2/3 slow after T: 1 step completed',
      'Resume with:',
      '  dogear resume r'
    ])
    expect(isAlive(grandchild())).toBe(false)
    expect(place.exists('partial')).toBe(true)
    const shown = JSON.parse((await place.process(['show', 'r', '--json'])).stdout) as unknown
    expect(shown).toMatchObject({ status: 'interrupted', state: 'Interrupted', step_index: 1, held_by: null })
    place.write('fixed', '')
    const resumed = await place.process(['resume'])
    expect(resumed.code).toBe(0)
    expect(resumed.stderr).toContain('Retrying step 2/3: slow')
    expect(place.read('log')).toBe('first\nlast\n')
  }
)

test.each([
  ['SIGQUIT', 131],
  ['SIGALRM', 142]
] as const)('a second %s ends the step and all its processes', async (signal, code) => {
  place = sandbox({
    'w.yml': `steps: [{ name: stubborn, shell: "trap '' TERM INT QUIT; sleep 100 & echo $! > grandchild; echo ready; while :; do wait; done" }]`
  })
  const running = await begun()
  process.kill(running.pid, signal)
  await running.said('Stopping stubborn')
  await new Promise((resolve) => setTimeout(resolve, 700))
  process.kill(running.pid, signal)
  const ended = await running.ended
  expect([signal, code]).toContain(ended.signal ?? ended.code)
  expect(linesOf(ended.stderr).slice(-2)).toEqual(['Resume with:', '  dogear resume r'])
  await dead(grandchild())
})

test('SIGUSR1, which starts Node’s debugger, ends neither the run nor its step', async () => {
  place = sandbox({ 'w.yml': 'steps: [{ shell: "echo ready; sleep 1; echo done > done" }]' })
  const running = await begun()
  process.kill(running.pid, 'SIGUSR1')
  expect((await running.ended).code).toBe(0)
  expect(place.read('done')).toBe('done\n')
})

test('a second signal ends everything at once', async () => {
  place = sandbox({
    'w.yml': `steps: [{ name: stubborn, shell: "trap '' TERM INT; sleep 100 & echo $! > grandchild; echo ready; while :; do wait; done" }]`
  })
  const running = await begun()
  process.kill(running.pid, 'SIGINT')
  await new Promise((resolve) => setTimeout(resolve, 700))
  const before = performance.now()
  process.kill(running.pid, 'SIGINT')
  const { code, signal, stderr } = await running.ended
  expect(code === 130 || signal === 'SIGINT').toBe(true)
  expect(linesOf(stderr).slice(-4)).toEqual([
    'Stopping stubborn … press Ctrl+C again to end at once',
    'Ended at once, in the middle of stubborn',
    'Resume with:',
    '  dogear resume r'
  ])
  expect(performance.now() - before).toBeLessThan(2_000)
  await dead(grandchild())
  expect((await place.process(['runs', '--status', 'interrupted', '--json'])).stdout).toContain(
    '"status": "interrupted"'
  )
})

test('a signal ends the wait for the next attempt at once', async () => {
  place = sandbox({ 'w.yml': 'steps: [{ shell: exit 1, retry: { strategy: constant, delay: 60s, jitter: 0 } }]' })
  const running = place.start(['run', 'w.yml', '--id', 'r'])
  await running.said('Retrying in 1 min 0 s')
  const before = performance.now()
  process.kill(running.pid, 'SIGINT')
  expect((await running.ended).code).toBe(130)
  expect(performance.now() - before).toBeLessThan(2_000)
})

test('an interruption with --json also prints a document', async () => {
  place = sandbox({ 'w.yml': workflow })
  const running = await begun(['run', 'w.yml', '--id', 'r', '--json'])
  process.kill(running.pid, 'SIGINT')
  const { code, stdout } = await running.ended
  expect(code).toBe(130)
  expect(JSON.parse(stdout)).toMatchObject({ status: 'interrupted', resume_command: 'dogear resume r' })
})

test('after kill -9 a run is interrupted, can be planned, and resumes at the step in flight', async () => {
  place = sandbox({ 'w.yml': workflow })
  const running = await begun()
  const refused = await place.process(['resume', 'r'])
  expect(refused.code).toBe(4)
  expect(refused.stderr).toContain(`Run r is already in progress: held by process ${running.pid} on `)
  expect((await place.process(['resume'])).code).toBe(3)
  expect((await place.process(['run', 'w.yml', '--id', 'r'])).code).toBe(4)
  expect((await place.process(['runs', '--status', 'running', '--json'])).stdout).toContain('"run_id": "r"')
  const live = await place.process(['plan', 'r'])
  expect(live.stdout).toContain('2/3  retry    slow   is running (attempt 1)\n')
  expect(live.stdout).toMatch(/^In progress: process \d+ on .+; if it died now, a resume would do this:$/m)
  expect((await place.process(['show', 'r'])).stdout).toContain('⚡   2 slow   in flight\n')
  expect(live.stdout).not.toMatch(/when the process ended|dogear resume/)
  process.kill(running.pid, 'SIGKILL')
  await running.ended
  process.kill(grandchild(), 'SIGKILL')
  expect((await place.process(['runs'])).stdout).toMatch(/^r +slow +interrupted .* 1\/3$/m)
  expect((await place.process(['plan'])).stdout).toContain(
    '2/3  retry    slow   was running (attempt 1) when the process ended'
  )
  expect((await place.process(['show', 'r'])).stdout).toContain(
    '⚡   2 slow   was running (attempt 1) when the process ended\n'
  )
  place.write('fixed', '')
  expect((await place.process(['resume'])).code).toBe(0)
  expect(place.read('log')).toBe('first\nlast\n')
})

test.skipIf(process.platform !== 'linux' || !hasProgram('script'))(
  'closing the terminal ends the run with exit code 129, and the interruption is recorded',
  async () => {
    place = sandbox({ 'w.yml': workflow })
    // What an interactive shell does: it passes the hang-up of its terminal on to its jobs.
    const command = `'${process.execPath}' '${main}' run w.yml --id r < /dev/tty`
    const line = `trap 'kill -HUP $pid' HUP; ${command} & pid=$!; wait $pid; wait $pid; echo $? > status; mv status ended`
    const terminal = spawn('script', ['-qefc', line, '/dev/null'], {
      cwd: place.folder,
      env: { ...process.env, TERM: 'xterm', DOGEAR_HOME: '', CI: '' },
      stdio: ['pipe', 'ignore', 'ignore']
    })
    await until(() => place.exists('grandchild') && place.read('grandchild') !== '')
    terminal.kill('SIGKILL')
    await until(() => place.exists('ended'))
    expect(place.read('ended')).toBe('129\n')
    expect(isAlive(grandchild())).toBe(false)
    expect((await place.process(['show', 'r'])).stdout).toContain('⚡   2 slow   was stopped (signal)\n')
  }
)

test.skipIf(process.platform !== 'linux' || !hasProgram('script'))(
  'Ctrl+\\ on a terminal ends the step and all its processes, and dogear exits with 131',
  async () => {
    place = sandbox({ 'w.yml': workflow })
    const command = `exec '${process.execPath}' '${main}' run w.yml --id r`
    const terminal = watch(
      spawn('script', ['-qefc', command, '/dev/null'], {
        cwd: place.folder,
        env: { ...process.env, TERM: 'xterm', DOGEAR_HOME: '', CI: '' },
        stdio: ['pipe', 'pipe', 'pipe']
      })
    )
    await terminal.said('ready')
    terminal.child.stdin?.write('\x1c')
    const { code, stdout } = await terminal.ended
    expect(code).toBe(131)
    expect(stdout).toContain('Interrupted in step 2/3 slow')
    expect(isAlive(grandchild())).toBe(false)
    place.write('fixed', '')
    expect((await place.process(['resume'])).code).toBe(0)
    expect(place.read('log')).toBe('first\nlast\n')
  }
)

test.skipIf(process.platform !== 'linux' || !hasProgram('script'))(
  'Ctrl+\\ that also ends the shell above, so that the terminal hangs up, is recorded as one interruption',
  async () => {
    place = sandbox({ 'w.yml': workflow })
    const terminal = watch(
      spawn('script', ['-qefc', "sh -c 'echo $$ > pid; exec .bin/dogear run w.yml --id r' 2> err; true", '/dev/null'], {
        cwd: place.folder,
        env: { ...process.env, SHELL: '/bin/sh', TERM: 'xterm', DOGEAR_HOME: '', CI: '' },
        stdio: ['pipe', 'pipe', 'pipe']
      })
    )
    await terminal.said('ready')
    terminal.child.stdin?.write('\x1c')
    await terminal.ended
    await until(() => !isAlive(Number(place.read('pid'))))
    expect(linesOf(timeless(place.read('err'))).slice(-4)).toEqual([
      'Stopping slow …',
      'Interrupted in step 2/3 slow after T: 1 step completed',
      'Resume with:',
      '  dogear resume r'
    ])
    expect(isAlive(grandchild())).toBe(false)
    expect((await place.process(['show', 'r'])).stdout).toContain('⚡   2 slow   was stopped (signal)\n')
    place.write('fixed', '')
    expect((await place.process(['resume'])).code).toBe(0)
    expect(place.read('log')).toBe('first\nlast\n')
  }
)

test.skipIf(!hasTerminal)(
  'a second Ctrl+C on a terminal draws no status after the printed resume command',
  async () => {
    place = sandbox({
      'w.yml': `steps: [{ name: stubborn, shell: "trap '' TERM INT; echo ready; sleep 30; sleep 30" }]`
    })
    const terminal = onTerminal(place, ['run', 'w.yml', '--id', 'r'])
    await terminal.said('ready')
    terminal.child.stdin?.write('\x03')
    await terminal.said('Stopping stubborn')
    await new Promise((resolve) => setTimeout(resolve, 700))
    terminal.child.stdin?.write('\x03')
    const { stdout } = await terminal.ended
    expect(stdout).toMatch(/Resume with:\r\n {2}dogear resume r\r\n$/)
  }
)

const until = async (met: () => boolean): Promise<void> => {
  while (!met()) await new Promise((resolve) => setTimeout(resolve, 50))
}

test('files of the interrupted step and of earlier steps still exist when the step runs again', async () => {
  place = sandbox({
    'w.yml': `
name: left
steps:
  - { name: before, shell: echo whole > whole }
  - { name: part, shell: 'if test -e part; then cat whole part; else echo part > part; echo begun; sleep 60; fi' }
`
  })
  const running = place.start(['run', 'w.yml', '--id', 'r'])
  await running.said('begun')
  process.kill(running.pid, 'SIGINT')
  expect((await running.ended).code).toBe(130)
  expect([place.read('whole'), place.read('part')]).toEqual(['whole\n', 'part\n'])
  expect(await place.process(['resume', 'r'])).toMatchObject({ code: 0, stdout: 'whole\npart\n' })
})

test('two runs proceed side by side', async () => {
  place = sandbox({ 'w.yml': workflow })
  const running = await begun()
  place.write('fixed', '')
  expect((await place.process(['run', 'w.yml', '--id', 'other'])).code).toBe(0)
  process.kill(running.pid, 'SIGTERM')
  expect((await running.ended).code).toBe(143)
})

import { afterEach, expect, test } from 'vitest'
import { linesOf, type Sandbox, sandbox, timeless } from './dogear.js'

let place: Sandbox
afterEach(() => place.remove())

const workflow = `
name: w
steps:
  - { name: first, shell: 'echo first >> log; echo ready; while [ ! -e go ]; do sleep 0.02; done' }
  - { name: last, shell: echo last >> log }
`

const failing = 'steps: [{ name: only, shell: test -e fixed }]'

const jsonOf = async (words: readonly string[]): Promise<unknown> =>
  JSON.parse((await place.dogear([...words, '--json'])).stdout) as unknown

test('a cancelled live run ends its current steps; resume without an id ignores it, and runs and prune list it as cancelled', async () => {
  place = sandbox({ 'w.yml': workflow })
  const running = place.start(['run', 'w.yml', '--id', 'r'])
  await running.said('ready')
  expect(await place.dogear(['cancel', 'r'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^Cancelling run r once its current steps have ended, unless it has completed by then \(process \d+ on .+\)\n$/
    ) as string
  })
  place.write('go', '')
  const ended = await running.ended
  expect(ended.code).toBe(4)
  expect(linesOf(timeless(ended.stderr)).slice(-3)).toEqual([
    'Cancelled before step 2/2 last after T: 1 step completed',
    'To resume it anyway:',
    '  dogear resume r --reopen'
  ])
  expect(place.exists('.dogear/runs/r/requests')).toBe(false)
  expect(await jsonOf(['runs', '--status', 'cancelled'])).toMatchObject([{ run_id: 'r', status: 'cancelled' }])
  expect(await place.dogear(['cancel', 'r'])).toMatchObject({ code: 0, stdout: 'Run r is cancelled already\n' })
  expect(await place.dogear(['pause', 'r'])).toMatchObject({ code: 4 })
  expect((await place.dogear(['resume'])).code).toBe(3)
  expect((await place.dogear(['prune', '--keep', '0', '--dry-run'])).stdout).toContain('r  w  cancelled')
})

test.each([['resume'], ['plan']])(
  '%s of a cancelled run exits with 4 and prints the same command with --reopen',
  async (command) => {
    place = sandbox({ 'bad.yml': failing })
    expect((await place.dogear(['run', 'bad.yml', '--id', 'bad0'])).code).toBe(1)
    expect(await place.dogear(['cancel', 'bad0'])).toMatchObject({ code: 0, stdout: 'Run bad0 is cancelled\n' })
    const refused = await place.dogear([command, 'bad0'])
    expect(refused.code).toBe(4)
    expect(linesOf(refused.stderr)).toEqual([
      'dogear: Run bad0 was cancelled',
      `To ${command} it anyway:`,
      `  dogear ${command} bad0 --reopen`
    ])
    const forced = await place.dogear([command, 'bad0', '--from-step', 'only'])
    expect(linesOf(forced.stderr).at(-1)).toBe(`  dogear ${command} bad0 --from-step only --reopen`)
    const shown = await place.dogear(['show', 'bad0'])
    expect(shown.stderr).toBe('It is cancelled. To resume it anyway:\n  dogear resume bad0 --reopen\n')
    expect(linesOf((await place.dogear(['verify', 'bad0'])).stdout)).toContain('      dogear resume bad0 --reopen')
    expect((await place.dogear(['plan', 'bad0', '--reopen'])).stdout).toContain('dogear resume bad0 --reopen')
    place.write('fixed', '')
    expect((await place.dogear(['resume', 'bad0', '--reopen'])).code).toBe(0)
    expect(await place.dogear(['cancel', 'bad0'])).toMatchObject({
      code: 4,
      stdout: '',
      stderr: 'dogear: Run bad0 has completed: there is nothing to cancel\nShow the run with:\n  dogear show bad0\n'
    })
  }
)

test('cancel --json and pause --json of a completed run print why there is nothing to stop', async () => {
  place.write('w.yml', 'name: w\nsteps: [{ name: a, shell: echo }]')
  await place.dogear(['run', 'w.yml', '--id', 'done0'])
  for (const command of ['cancel', 'pause']) {
    const { code, stdout } = await place.dogear([command, 'done0', '--json'])
    expect(code).toBe(4)
    expect(JSON.parse(stdout)).toEqual({
      error: {
        code: 'NothingToStop',
        message: expect.stringContaining(`has completed: there is nothing to ${command}`) as string
      }
    })
  }
})

test('cancel --json prints the status and whether the owner was asked to stop', async () => {
  place = sandbox({ 'bad.yml': failing })
  await place.dogear(['run', 'bad.yml', '--id', 'bad0'])
  expect(await jsonOf(['cancel', 'bad0'])).toEqual({ run_id: 'bad0', requested: false, status: 'cancelled' })
  expect((await place.dogear(['cancel', 'none'])).code).toBe(3)
})

test('a pause pointer to a cancelled run is removed', async () => {
  place = sandbox({ 'w.yml': workflow })
  const running = place.start(['run', 'w.yml', '--id', 'r'])
  await running.said('ready')
  await place.dogear(['pause', 'r'])
  place.write('go', '')
  expect((await running.ended).code).toBe(75)
  await place.shell('cp .dogear/continue-here.json kept')
  expect((await place.dogear(['cancel', 'r'])).code).toBe(0)
  expect(place.exists('.dogear/continue-here.json')).toBe(false)
  await place.shell('mv kept .dogear/continue-here.json')
  const resumed = await place.dogear(['resume'])
  expect(resumed.stderr).toContain('Run r, which was paused last, was cancelled; removed the pointer to it\n')
  expect(resumed.code).toBe(3)
})

/** A run of which a cancel was requested, and whose owner was killed before it recorded that. */
const killedAfterCancel = async (file: string): Promise<void> => {
  place = sandbox({ 'w.yml': file })
  const running = place.start(['run', 'w.yml', '--id', 'r'])
  await running.said('ready')
  await place.dogear(['cancel', 'r'])
  // A damaged state is recovered from this copy, which is written in the background.
  await expect.poll(() => place.exists('.dogear/runs/r/checkpoint.json'), { timeout: 20_000 }).toBe(true)
  running.child.kill('SIGKILL')
  await running.ended
  place.write('go', '')
}

test('if the owner of a run was killed after a cancel was requested, plan, verify and show say that a resume runs nothing, and the resume asks nothing', async () => {
  await killedAfterCancel(workflow.replace('first,', 'first, idempotent: false,'))
  const planned = await place.dogear(['plan', 'r'])
  expect(planned).toMatchObject({ code: 4, stdout: '' })
  expect(linesOf(planned.stderr)).toEqual([
    'dogear: A cancel of run r was requested: a resume records it and runs nothing',
    'To record it:',
    '  dogear cancel r'
  ])
  expect(await jsonOf(['plan', 'r'])).toMatchObject({ error: { code: 'CancelRequested' } })
  const verified = await place.dogear(['verify', 'r'])
  expect(verified.code).toBe(4)
  expect(linesOf(verified.stdout).slice(1)).toEqual([
    '  Obstacles to a resume:',
    '    A cancel of run r was requested: a resume records it and runs nothing',
    '    To record it:',
    '      dogear cancel r',
    '  In flight when the process ended, so their effects may be unrecorded:',
    '    first (attempt 1)',
    '  Check their effects first'
  ])
  const shown = await place.dogear(['show', 'r'])
  expect(shown.stdout).toContain('cancel    requested: a resume records it and runs nothing\n')
  expect(shown.stderr).toBe('To record it:\n  dogear cancel r\n')
  expect(await jsonOf(['show', 'r'])).toMatchObject({ status: 'interrupted', cancel_requested: true })
  const resumed = await place.dogear(['resume', 'r'])
  expect(resumed.code).toBe(4)
  expect(linesOf(resumed.stderr)).toEqual([
    'Run r is cancelled, because a cancel was requested before this resume; nothing ran',
    'To resume it anyway:',
    '  dogear resume r --reopen'
  ])
  expect(linesOf(place.read('log'))).toEqual(['first'])
  expect(await jsonOf(['show', 'r'])).toMatchObject({ status: 'cancelled', cancel_requested: false })
})

test('the command that plan prints records a requested cancel although the workflow file is missing', async () => {
  await killedAfterCancel(workflow)
  await place.shell('rm w.yml')
  const [, command = ''] = /To record it:\n {2}(.*)\n$/.exec((await place.dogear(['plan', 'r'])).stderr) ?? []
  expect((await place.shell(command)).code).toBe(0)
  expect(await jsonOf(['show', 'r'])).toMatchObject({ status: 'cancelled' })
})

test('the command that plan prints records a requested cancel of a damaged run without a question about its steps', async () => {
  await killedAfterCancel(workflow.replace('first,', 'first, idempotent: false,'))
  const journal = '.dogear/runs/r/history/e000001.jsonl'
  place.write(journal, `${place.read(journal)}{"damaged`)
  place.write(journal, place.read(journal).replace('"at":"2', '"at":"3'))
  const [, command = ''] = /To record it:\n {2}(.*)\n$/.exec((await place.dogear(['plan', 'r'])).stderr) ?? []
  expect(command).toBe('dogear resume r --yes')
  expect((await place.shell(command)).code).toBe(4)
  expect(await jsonOf(['show', 'r'])).toMatchObject({ status: 'cancelled' })
})

test('show, plan, move and answer of a live run say that a cancel was requested', async () => {
  place = sandbox({ 'w.yml': workflow })
  const running = place.start(['run', 'w.yml', '--id', 'r'])
  await running.said('ready')
  await place.dogear(['cancel', 'r'])
  expect((await place.dogear(['show', 'r'])).stdout).toContain(
    'cancel    requested: it is cancelled once its current steps have ended, unless it has completed by then\n'
  )
  const planned = await place.dogear(['plan', 'r'])
  expect(planned.code).toBe(4)
  const stops = '; it is cancelled once its current steps have ended, unless it has completed by then\n'
  expect(planned.stderr).toContain(stops)
  for (const words of [
    ['move', 'r', '--to', 'other'],
    ['answer', 'r', 'first', 'again']
  ]) {
    const { code, stderr } = await place.dogear(words)
    expect(code).toBe(4)
    expect(stderr).toContain(stops)
    expect(stderr).not.toContain('dogear pause')
  }
  place.write('go', '')
  expect((await running.ended).code).toBe(4)
})

test('if a step fails after a cancel was requested, the run exits with 1, and the printed command reopens it; a pause says that the cancel outweighs it', async () => {
  place = sandbox({ 'w.yml': workflow.replace('; done', '; done; false') })
  const running = place.start(['run', 'w.yml', '--id', 'r', '--json'])
  await running.said('ready')
  await place.dogear(['cancel', 'r'])
  expect((await place.dogear(['pause', 'r'])).stdout).toMatch(
    /^A cancel of run r was requested and outweighs a pause: it is cancelled once its current steps have ended, unless it has completed by then \(/
  )
  place.write('go', '')
  const ended = await running.ended
  expect(ended.code).toBe(1)
  expect(linesOf(ended.stderr).slice(-2)).toEqual([
    'The run was cancelled, as requested. To resume it anyway:',
    '  dogear resume r --reopen'
  ])
  expect(JSON.parse(ended.stdout)).toMatchObject({
    status: 'cancelled',
    failures: [{ unit: 'first' }],
    resume_command: 'dogear resume r --reopen'
  })
})

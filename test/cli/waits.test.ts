/** Workflow files that sleep and wait for answers. */
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileRequests, jsonFileStorage } from 'dogear/json-file'
import { answer, runOutcome, workflow } from 'dogear/promise'
import * as t from 'io-ts'
import { afterEach, expect, test } from 'vitest'
import { linesOf, type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
afterEach(() => place.remove())

const release = `
name: release
steps:
  - { name: build, shell: echo build >> log }
  - name: approve
    waitFor: { question: "Publish?", timeout: 3d }
    capture: approved
  - { name: publish, shell: 'echo "publish $approved" >> log' }
`

/** Starts a run that waits, and returns what it printed. */
const started = async (text: string, ...words: readonly string[]) => {
  place = sandbox({ 'w.yml': text })
  return await place.dogear(['run', 'w.yml', '--id', 'r-1', ...words])
}

test('a run that waits for an answer exits with 75 and prints the command that answers', async () => {
  const { code, stderr } = await started(release)
  expect(code).toBe(75)
  expect(stderr).toMatch(/^Step 2\/3 approve waits for an answer: Publish\? \(until \S+Z\)$/m)
  expect(linesOf(stderr).slice(-4)).toEqual([
    'Waiting for an answer (approve): Publish?',
    expect.stringMatching(/^Run pending after .*: 1 step completed, 1 pending$/),
    'Answer approve with:',
    '  dogear answer r-1 approve --value JSON'
  ])
  expect(await place.dogear(['resume'])).toMatchObject({ code: 75 })
  const answered = await place.dogear(['answer', 'r-1', 'approve', '--value', '"for ada"'])
  expect(linesOf(answered.stderr)).toEqual(['Resume with:', '  dogear resume r-1'])
  expect((await place.dogear(['resume'])).code).toBe(0)
  expect(place.read('log')).toBe('build\npublish for ada\n')
})

test('`show`, its history and its JSON say why the last answer was rejected', async () => {
  place = sandbox({})
  const options = { id: 'r-1', storage: jsonFileStorage(join(place.folder, '.dogear')) }
  const flow = workflow('release').waitFor('approve', { output: t.boolean })
  await runOutcome(flow, options)
  await answer({ ...options, unit: 'approve', value: 'perhaps', by: 'ada' })
  await runOutcome(flow, options)
  const why = 'by ada: expected boolean'
  expect((await place.dogear(['show', 'r-1'])).stdout).toContain(
    `waits for an answer; the last answer was rejected: ${why}\n`
  )
  const history = await place.dogear(['show', 'r-1', '--history'])
  expect(history.stdout).toContain(`approve, again, because the answer was rejected: ${why}\n`)
  const { stdout } = await place.dogear(['show', 'r-1', '--json'])
  expect(JSON.parse(stdout)).toMatchObject({ waits: [{ rejected: { by: 'ada', path: '$', expected: 'boolean' } }] })
})

test.each([
  [release, 'approve', 'it waits for an answer; pass one', 'dogear answer r-1 approve --value JSON'],
  ['name: nap\nsteps: [{ name: nap, sleep: 1h }]', 'nap', 'it sleeps; resume without the answer', 'dogear plan r-1']
])(
  'a resume with --confirm for a waiting step is refused with the command that answers the wait',
  async (text, unit, why, command) => {
    await started(text)
    const { code, stderr } = await place.dogear(['resume', 'r-1', '--confirm', `${unit}=again`])
    expect(code).toBe(4)
    expect(stderr).toContain(`"${unit}" cannot be confirmed: ${why}, or run from that step\n`)
    expect(linesOf(stderr).at(-1)).toBe(`  ${command}`)
  }
)

test('a resume with --confirm for an answered wait is refused with the command that shows the plan', async () => {
  await started(release)
  await place.dogear(['answer', 'r-1', 'approve', '--value', 'true'])
  const { code, stderr } = await place.dogear(['resume', 'r-1', '--confirm', 'approve=again'])
  expect(code).toBe(4)
  expect(stderr).toContain(
    '"approve" cannot be confirmed: its answer is recorded; resume without confirming it, or run'
  )
  expect(linesOf(stderr).at(-1)).toBe('  dogear plan r-1')
})

test('an answer that is not a string is JSON in its variable', async () => {
  await started(release)
  await place.dogear(['answer', 'r-1', 'approve', '--value', '{"by": ["ada"]}'])
  await place.dogear(['resume'])
  expect(place.read('log')).toBe('build\npublish {"by":["ada"]}\n')
})

test('an answer that comes before its step waits is used as soon as the step starts', async () => {
  const failing = release.replace('echo build >> log', 'test -e ok')
  expect((await started(failing)).code).toBe(1)
  expect((await place.dogear(['answer', 'r-1', 'approve', '--value', '1'])).code).toBe(0)
  place.write('ok', '')
  expect((await place.dogear(['resume'])).code).toBe(0)
  expect(place.read('log')).toBe('publish 1\n')
})

test('a step fails with WAIT_TIMEOUT when no answer came in time, and a resume waits again', async () => {
  await started(release.replace('3d', '50ms'))
  await delay(60)
  const late = await place.dogear(['resume', '--json'])
  expect(late.code).toBe(1)
  expect(JSON.parse(late.stdout)).toMatchObject({
    failures: [{ unit: 'approve', error: { code: 'WAIT_TIMEOUT' } }]
  })
  expect((await place.dogear(['resume'])).code).toBe(75)
})

test('a resume whose step got no answer in time prints the command that waits again last', async () => {
  await started(release.replace('3d', '50ms'))
  await delay(60)
  const { code, stderr } = await place.dogear(['resume'])
  expect(code).toBe(1)
  expect(linesOf(stderr).slice(-2)).toEqual(['To wait again, resume with:', '  dogear resume r-1'])
})

test('a late answer is refused with the command that ends the wait', async () => {
  await started(release.replace('3d', '50ms'))
  await delay(60)
  const { code, stderr } = await place.dogear(['answer', 'r-1', 'approve', '--value', 'true'])
  expect(code).toBe(4)
  expect(linesOf(stderr)).toEqual([
    'dogear: Cannot answer "approve" of run r-1: its time limit is over, and it ends with WAIT_TIMEOUT; resume until it waits again, then answer',
    'Resume with:',
    '  dogear resume r-1'
  ])
  expect((await place.dogear(['resume'])).code).toBe(1)
  const failed = await place.dogear(['answer', 'r-1', 'approve', '--value', 'true'])
  expect(failed).toMatchObject({ code: 4, stderr })
})

test('the command printed after an answer to a cancelled run resumes the run', async () => {
  await started(release)
  await place.dogear(['cancel', 'r-1'])
  const { code, stderr } = await place.dogear(['answer', 'r-1', 'approve', '--value', 'true'])
  expect([code, linesOf(stderr)]).toEqual([
    0,
    ['It is cancelled. To resume it anyway:', '  dogear resume r-1 --reopen']
  ])
  expect((await place.shell('dogear resume r-1 --reopen')).code).toBe(0)
})

test('a late answer to a cancelled run is refused with a command that resumes the run', async () => {
  await started(release.replace('3d', '50ms'))
  await place.dogear(['cancel', 'r-1'])
  await delay(60)
  const { code, stderr } = await place.dogear(['answer', 'r-1', 'approve', '--value', 'true'])
  expect([code, linesOf(stderr).slice(1)]).toEqual([
    4,
    ['It is cancelled. To resume it anyway:', '  dogear resume r-1 --reopen']
  ])
})

test('the report of a failed wait shows no command line', async () => {
  await started(release.replace('3d', '50ms'))
  await delay(60)
  const { stderr } = await place.dogear(['resume'])
  expect(stderr).toContain('Step 2/3 failed: approve\n')
  expect(stderr).not.toContain('command:')
})

const nap = (time: string) => `
name: nap
steps:
  - shell: echo before >> log
  - { name: nap, sleep: ${time} }
  - shell: echo after >> log
`

test('a run that sleeps exits with 75 and prints when to resume it with which command', async () => {
  const { code, stderr } = await started(nap('14d'))
  expect(code).toBe(75)
  const [waits, , lead, command] = linesOf(stderr).slice(-4)
  const time = /^Waiting until (\S+) \(nap\)$/.exec(waits ?? '')?.[1] ?? ''
  expect(Date.parse(time) - Date.now()).toBeGreaterThan(13.9 * 86_400_000)
  expect([lead, command]).toEqual([`Resume at ${time} or later with:`, '  dogear resume r-1'])
  expect((await place.dogear(['resume'])).code).toBe(75)
  expect(place.read('log')).toBe('before\n')
})

test('pausing a run that sleeps prints one hint: the time and the command to resume it', async () => {
  await started(nap('14d'))
  expect(linesOf((await place.dogear(['pause', 'r-1'])).stderr)).toEqual([
    expect.stringMatching(/^Resume at \S+Z or later with:$/),
    '  dogear resume r-1'
  ])
})

test('a failed run with a group that sleeps prints only the resume after a fix, and no wake time', async () => {
  const { stderr } = await started(`steps:
  - wave: all
    groups: { nap: { sleep: 14d }, fails: { shell: exit 1 } }
`)
  const hints = linesOf(stderr).filter((line) => /resume/i.test(line))
  expect(hints).toEqual(['After fixing this, resume with:', '  dogear resume r-1'])
  for (const command of ['plan', 'show']) {
    const { stdout, stderr } = await place.dogear([command, 'r-1'])
    expect(stdout + stderr).not.toMatch(/or later with/)
  }
})

test('a run that sleeps continues at its recorded time, even if the workflow file was changed', async () => {
  await started(nap('100ms'))
  place.write('w.yml', nap('10h'))
  await delay(110)
  expect((await place.dogear(['resume'])).code).toBe(0)
  expect(place.read('log')).toBe('before\nafter\n')
})

const wave = `
name: wave
steps:
  - wave: all
    groups:
      sign: { waitFor: { question: "Sign?" }, capture: signed }
      file: { shell: 'echo "$signed" >> log', needs: [sign] }
      work: { shell: echo work >> log }
  - wave: items
    forEach: [a, b]
    key: item
    each: { waitFor: {} }
`

test('groups and map items wait while others run', async () => {
  expect((await started(wave)).code).toBe(75)
  expect(place.read('log')).toBe('work\n')
  await place.dogear(['answer', 'r-1', 'all/sign', '--value', '"yes"'])
  expect((await place.dogear(['resume'])).code).toBe(75)
  expect(place.read('log')).toBe('work\nyes\n')
  for (const unit of ['items/b', 'items/a']) await place.dogear(['answer', 'r-1', unit, '--value', 'true'])
  expect((await place.dogear(['resume'])).code).toBe(0)
})

test('dogear runs shows what each pending run waits for, and until when', async () => {
  await started(release)
  place.write('nap.yml', nap('14d'))
  await place.dogear(['run', 'nap.yml', '--id', 'n-1'])
  const { stdout } = await place.dogear(['runs'])
  const minute = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC'
  expect(linesOf(stdout)).toEqual([
    expect.stringMatching(/ STEPS {2}WAITS FOR$/),
    expect.stringMatching(new RegExp(`^n-1 .* pending .* 1/3 {4}timer until ${minute}$`)),
    expect.stringMatching(new RegExp(`^r-1 .* pending .* 1/3 {4}answer until ${minute}$`))
  ])
  const json = JSON.parse((await place.dogear(['runs', '--json'])).stdout) as readonly object[]
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/) as string
  expect(json).toMatchObject([
    { run_id: 'n-1', waits_for: ['timer'], wake_at: time },
    { run_id: 'r-1', waits_for: ['answer'], wake_at: time }
  ])
})

test('dogear runs shows that an answered run waits for a resume', async () => {
  await started(release.replace(', timeout: 3d', ''))
  expect((await place.dogear(['runs'])).stdout).toMatch(/ {2}answer\n$/)
  await place.dogear(['answer', 'r-1', 'approve', '--value', 'true'])
  expect((await place.dogear(['runs'])).stdout).toMatch(/ {2}a resume\n$/)
})

test('a run that sleeps survives kill -9 and wakes at the recorded time', async () => {
  place = sandbox({
    'w.yml': nap('2s').replace('echo after >> log', 'kill -9 $PPID')
  })
  expect((await place.process(['run', 'w.yml', '--id', 'r-1'])).code).toBe(75)
  await delay(2_100)
  expect((await place.process(['resume', 'r-1'])).signal).toBe('SIGKILL')
  place.write('w.yml', nap('2s'))
  expect((await place.process(['resume', 'r-1'])).code).toBe(0)
  expect(place.read('log')).toBe('before\nafter\n')
})

test('a poll of a run that only sleeps says when to resume, and ends', async () => {
  await started('steps: [{ name: nap, sleep: 1h }, { name: last, shell: echo }]')
  const polled = await place.dogear(['poll', 'r-1'])
  expect([polled.code, polled.stdout]).toEqual([0, 'Run r-1 has no pending job\n'])
  expect(linesOf(polled.stderr)).toEqual([
    expect.stringMatching(/^Resume at \S+Z or later with:$/),
    '  dogear resume r-1'
  ])
})

test('a poll of a run that waits for an answer prints the command that answers', async () => {
  await started(release)
  expect(await place.dogear(['poll'])).toMatchObject({
    code: 0,
    stdout: 'Run r-1 has no pending job\n',
    stderr: 'Answer approve with:\n  dogear answer r-1 approve --value JSON\n'
  })
})

/** What `verify`, `plan`, `show`, `runs` and the page say of the run. */
const said = async () => {
  const { code } = await place.dogear(['verify', 'r-1'])
  const [plan, show, runs] = await Promise.all(
    [['plan'], ['show', 'r-1'], ['runs']].map(async (words) => (await place.dogear(words)).stdout)
  )
  await place.dogear(['show', 'r-1', '--html', 'r.html'])
  const page = place.read('r.html').replaceAll(/<[^>]*>/g, ' ')
  return { code, plan, show, runs, page }
}

test('verify, plan, show, runs and the page agree that the time of a sleep has come', async () => {
  await started(nap('1h'))
  expect(await said()).toMatchObject({
    code: 75,
    plan: expect.stringMatching(/1 to run, 1 pending\n.*\n.*wait {5}nap .* sleeps until /) as string,
    runs: expect.stringContaining('timer until') as string
  })
  place.remove()
  await started(nap('50ms'))
  await delay(60)
  expect(await said()).toMatchObject({
    code: 0,
    plan: expect.stringMatching(
      /1\/3 steps are done, 2 to run\n.*\n.*run {6}nap .* its time has come; a resume continues\n/
    ) as string,
    show: expect.stringMatching(/ nap .* pending, its time has come; a resume continues\n/) as string,
    runs: expect.stringMatching(/ {2}a resume\n$/) as string,
    page: expect.stringMatching(
      /nap\s+pending\s+its time has come[^]* 2 to run\n[^]* nap .* its time has come; a resume continues/
    ) as string
  })
  expect((await place.dogear(['resume'])).code).toBe(0)
})

test('verify, plan, show, runs and the page agree that an answer is recorded', async () => {
  await started(release)
  await place.dogear(['answer', 'r-1', 'approve', '--value', 'true'])
  expect(await said()).toMatchObject({
    code: 0,
    plan: expect.stringMatching(
      / 2 to run\n.*\n.*run {6}approve .* its answer is recorded; a resume continues\n/
    ) as string,
    show: expect.stringMatching(/ approve .* pending, its answer is recorded; a resume continues\n/) as string,
    runs: expect.stringMatching(/ {2}a resume\n$/) as string,
    page: expect.stringMatching(
      /approve\s+pending\s+its answer is recorded[^]* approve .* its answer is recorded; a resume continues/
    ) as string
  })
  expect((await place.dogear(['plan', '--json'])).stdout).toContain(
    '"why": "its answer is recorded; a resume continues"'
  )
})

test('verify, plan, show and the page count an answer that the killed owner never recorded, and the printed command resumes with that answer', async () => {
  await started(release.replace('3d', '50ms'))
  const requestedAt = (JSON.parse((await place.dogear(['show', 'r-1', '--json'])).stdout) as Shown).waits[0]?.started_at
  const request = { _tag: 'Answer', runId: 'r-1', unit: 'approve', value: 'ada', by: 'ada' } as const
  await fileRequests(join(place.folder, '.dogear')).leave({ ...request, requestedAt: requestedAt ?? '' })()
  await delay(60)
  const { code, plan, show, page } = await said()
  expect(code).toBe(0)
  expect(plan).toMatch(/run {6}approve .* its answer is recorded; a resume continues\n/)
  expect(show).toMatch(/ approve .* pending, its answer is recorded; a resume continues\n/)
  expect(page).toMatch(/approve\s+pending\s+its answer is recorded/)
  const [, hash = ''] = /--plan (\S+)/.exec(plan ?? '') ?? []
  expect((await place.dogear(['resume', 'r-1', '--plan', hash])).code).toBe(0)
  expect(place.read('log')).toBe('build\npublish ada\n')
})

interface Shown {
  readonly waits: ReadonlyArray<{ readonly started_at: string }>
}

test('verify, plan and show say that no answer came in time, and offer no command that answers', async () => {
  await started(release.replace('3d', '50ms'))
  await delay(60)
  const { code, plan, show, runs } = await said()
  expect(code).toBe(1)
  expect(plan).toMatch(/run {6}approve .* no answer came in time; a resume ends it with WAIT_TIMEOUT\n/)
  expect(show).toMatch(/pending, no answer came in time; a resume ends it with WAIT_TIMEOUT\n/)
  expect(runs).toMatch(/ {2}a resume\n$/)
  for (const command of ['plan', 'show'])
    expect((await place.dogear([command, 'r-1'])).stderr).not.toContain('Answer approve with')
})

test('verify exits with 0 when one wait of a wave is over', async () => {
  await started('name: w\nsteps: [{ wave: all, groups: { a: { sleep: 1h }, sign: { waitFor: {} } } }]\n')
  expect((await place.dogear(['verify', 'r-1'])).code).toBe(75)
  await place.dogear(['answer', 'r-1', 'all/sign', '--value', '"yes"'])
  expect((await place.dogear(['plan', 'r-1'])).stdout).toMatch(
    / run +all +a wait in it is over; a resume continues\n.* wait +a .*\n.* run +sign +its answer is recorded/
  )
  expect((await place.dogear(['verify', 'r-1'])).code).toBe(0)
})

test('plan and show report an answer that was recorded before its step waits', async () => {
  const failing = release.replace('echo build >> log', 'test -e ok').replace('3d', '50ms')
  await started(failing)
  await place.dogear(['answer', 'r-1', 'approve', '--value', '1'])
  const early = await said()
  expect(early.plan).toMatch(/run {6}approve {2}its answer is recorded\n/)
  expect(early.show).toMatch(/ approve .* not started, its answer is recorded\n/)
})

test('verify exits with 0 once the timer of a wait has ended or its answer is recorded', async () => {
  await started('steps: [{ name: nap, sleep: 1s }, { name: last, shell: echo }]')
  await delay(1_000)
  expect((await place.dogear(['verify', 'r-1'])).code).toBe(0)
  place.remove()
  await started(release)
  expect((await place.dogear(['verify', 'r-1'])).code).toBe(75)
  await place.dogear(['answer', 'r-1', 'approve', '--value', 'true'])
  expect((await place.dogear(['verify', 'r-1'])).code).toBe(0)
})

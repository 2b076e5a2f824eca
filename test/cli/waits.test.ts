/** Workflow files that sleep and wait for answers. */
import { setTimeout as delay } from 'node:timers/promises'
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
  expect(linesOf(stderr).slice(-4)).toEqual([
    'Waiting for an answer to approve: Publish?',
    expect.stringMatching(/^Run pending after .*: 1 step completed, 1 pending$/),
    'Answer it with:',
    '  dogear answer r-1 approve --value JSON'
  ])
  expect(await place.dogear(['resume'])).toMatchObject({ code: 75 })
  const answered = await place.dogear(['answer', 'r-1', 'approve', '--value', '"for ada"'])
  expect(linesOf(answered.stderr)).toEqual(['Resume with:', '  dogear resume r-1'])
  expect((await place.dogear(['resume'])).code).toBe(0)
  expect(place.read('log')).toBe('build\npublish for ada\n')
})

test('an answer that is no string becomes JSON in its variable', async () => {
  await started(release)
  await place.dogear(['answer', 'r-1', 'approve', '--value', '{"by": ["ada"]}'])
  await place.dogear(['resume'])
  expect(place.read('log')).toBe('build\npublish {"by":["ada"]}\n')
})

test('an answer that comes before its step waits is taken at once', async () => {
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
  expect(JSON.parse(late.stdout)).toMatchObject({ failures: [{ unit: 'approve', error: { code: 'WAIT_TIMEOUT' } }] })
  expect((await place.dogear(['resume'])).code).toBe(75)
})

test('a failed wait names no command', async () => {
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

test('a run that sleeps continues at its recorded time, whatever the file says by then', async () => {
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

test('groups and bodies of maps wait while others run', async () => {
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
  place = sandbox({ 'w.yml': nap('2s').replace('echo after >> log', 'kill -9 $PPID') })
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
    expect.stringMatching(/^nap sleeps until \S+\. Resume then with:$/),
    '  dogear resume r-1'
  ])
})

test('a poll of a run that waits for an answer prints the command that answers', async () => {
  await started(release)
  expect(await place.dogear(['poll'])).toMatchObject({
    code: 0,
    stdout: 'Run r-1 has no pending job\n',
    stderr: 'Answer it with:\n  dogear answer r-1 approve --value JSON\n'
  })
})

test('plan and show report an answer that is recorded before its unit waits, and after it timed out', async () => {
  await started('steps: [{ name: first, shell: test -e go }, { name: ok, waitFor: { timeout: 1s } }]')
  await place.dogear(['answer', 'r-1', 'ok', '--value', 'true'])
  expect((await place.dogear(['plan'])).stdout).toMatch(/2\/2 +run +ok +its answer is recorded\n/)
  expect((await place.dogear(['show', 'r-1'])).stdout).toMatch(/ok +not started, its answer is recorded\n/)
  place.remove()
  await started('steps: [{ name: ok, waitFor: { timeout: 1s } }]')
  await delay(1_000)
  expect((await place.dogear(['resume'])).code).toBe(1)
  await place.dogear(['answer', 'r-1', 'ok', '--value', 'true'])
  expect((await place.dogear(['plan'])).stdout).toMatch(/1\/1 +retry +ok +its answer is recorded\n/)
  expect((await place.dogear(['show', 'r-1'])).stdout).toMatch(/ok +failed, its answer is recorded/)
  expect((await place.dogear(['resume'])).code).toBe(0)
})

test('a recorded answer is reported in place of the wait for it', async () => {
  await started(release)
  await place.dogear(['answer', 'r-1', 'approve', '--value', 'true'])
  expect((await place.dogear(['show', 'r-1'])).stdout).toMatch(/approve +pending, its answer is recorded\n/)
})

test('verify predicts a start once the timer has ended or the answer is recorded', async () => {
  await started('steps: [{ name: nap, sleep: 1s }, { name: last, shell: echo }]')
  await delay(1_000)
  expect((await place.dogear(['verify', 'r-1'])).code).toBe(0)
  place.remove()
  await started(release)
  expect((await place.dogear(['verify', 'r-1'])).code).toBe(75)
  await place.dogear(['answer', 'r-1', 'approve', '--value', 'true'])
  expect((await place.dogear(['verify', 'r-1'])).code).toBe(0)
})

import { afterEach, describe, expect, test } from 'vitest'
import { linesOf, type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
const within = (files: Readonly<Record<string, string>>): Sandbox => (place = sandbox(files))
afterEach(() => place.remove())

/** A provider that records each submission by its key. The file `state` sets its answer: an exit code and a string. */
const batch = (options = '') => `
name: batch
steps:
  - wave: all
    groups:
      train:
        job:
          submit: |
            echo "$DOGEAR_IDEMPOTENCY_KEY" >> submitted
            test -e killer && rm killer && kill -9 $PPID && sleep 5
            echo job-7
          poll: . ./state; echo "$text"; echo "asked for $DOGEAR_JOB" >&2; exit $code
          collect: echo "model of $DOGEAR_JOB"
        capture: model
        ${options}
      lint: { shell: echo lint >> log }
  - { name: report, shell: echo "got $model" >> log }
`

const says = (code: number, text = ''): string => place.write('state', `code=${code} text='${text}'\n`)

const submissions = (): readonly string[] => linesOf(place.read('submitted'))

const pending = async (): Promise<void> => {
  within({ 'w.yml': batch() })
  const started = await place.dogear(['run', 'w.yml', '--id', 'nightly'])
  expect(started.code).toBe(75)
  expect(started.stderr).toContain('Waiting for the job of all/train (job-7), submitted ')
  expect(started.stderr).toContain('Poll the job with:\n  dogear poll nightly\n')
}

describe('a step with a job', () => {
  test('a job leaves the run pending while independent groups finish, and a resume submits nothing', async () => {
    await pending()
    expect(place.read('log')).toBe('lint\n')
    expect(submissions()).toHaveLength(1)
    const before = JSON.parse((await place.dogear(['show', 'nightly', '--json'])).stdout) as object
    expect(before).toMatchObject({ status: 'pending', jobs: [{ unit: 'all/train', job: 'job-7' }] })
    const resumed = await place.dogear(['resume', '--json'])
    expect(resumed.code).toBe(75)
    expect(JSON.parse(resumed.stdout)).toMatchObject({ status: 'pending', jobs: [{ job: 'job-7' }] })
    expect(JSON.parse((await place.dogear(['show', 'nightly', '--json'])).stdout)).toEqual(before)
    expect(submissions()).toHaveLength(1)
  })

  test('plan, show and runs report a pending job', async () => {
    await pending()
    const plan = await place.dogear(['plan'])
    expect(plan.stdout).toMatch(/poll {5}all +waits for its job, submitted at \S+: job-7/)
    expect(plan.stdout).toContain('dogear poll nightly')
    expect((await place.dogear(['show', 'nightly'])).stdout).toMatch(/train +pending, its job job-7 was submitted/)
    expect((await place.dogear(['runs', '--status', 'pending'])).stdout).toMatch(/nightly +batch +pending/)
    const history = await place.dogear(['show', 'nightly', '--history'])
    expect(history.stdout).toMatch(/JobSubmitted +all\/train, attempt 1: job-7/)
  })

  test('a poll prints counts until the job ends, then records the result, and submits nothing', async () => {
    await pending()
    says(75, 'so far 3/10')
    const unfinished = await place.dogear(['poll', 'nightly'])
    expect(unfinished).toMatchObject({ code: 75, stdout: 'all/train (job-7): not ended yet\n' })
    says(75, '3/10')
    const counted = await place.dogear(['poll'])
    expect(counted).toMatchObject({ code: 75, stdout: 'all/train (job-7): not ended yet, 3/10 done\n' })
    expect(counted.stderr).toContain('asked for job-7')
    says(0)
    const collected = await place.dogear(['poll', '--json'])
    expect(collected.code).toBe(0)
    expect(JSON.parse(collected.stdout)).toMatchObject({
      run_id: 'nightly',
      jobs: [{ unit: 'all/train', end: 'collected' }],
      next: 'dogear resume nightly'
    })
    expect((await place.dogear(['resume'])).code).toBe(0)
    expect(place.read('log')).toBe('lint\ngot model of job-7\n')
    expect(submissions()).toHaveLength(1)
    expect(await place.dogear(['poll', 'nightly'])).toMatchObject({
      code: 0,
      stdout: 'Run nightly has no pending job\n'
    })
  })

  test('repeated polls of an unfinished job leave the state files unchanged, to the byte', async () => {
    await pending()
    const state = async (): Promise<string> =>
      (await place.shell('find .dogear -type f -exec cksum {} + | sort && find .dogear | sort')).stdout
    const before = await state()
    for (const [code, text] of [
      [75, '3/10'],
      [75, ''],
      [7, '']
    ] as const) {
      says(code, text)
      expect((await place.dogear(['poll', 'nightly'])).code).toBe(75)
    }
    expect(await state()).toBe(before)
  })

  test('a job is collected once, despite concurrent polls and resumes', async () => {
    await pending()
    says(0)
    const asking = [
      ['poll', 'nightly'],
      ['poll', 'nightly'],
      ['resume', 'nightly'],
      ['poll', 'nightly']
    ]
    const ends = await Promise.all(asking.map((words) => place.dogear(words)))
    for (const { code, stderr } of ends) expect([0, 4, 75], stderr).toContain(code)
    if ((await place.dogear(['poll', 'nightly'])).code !== 0) expect.fail('nobody has its result')
    expect((await place.dogear(['resume'])).code).toBe(0)
    const history = await place.dogear(['show', 'nightly', '--history'])
    // Two groups, their wave, and the report: each once.
    expect(history.stdout.match(/UnitCompleted/g)).toHaveLength(4)
    expect(linesOf(place.read('log')).filter((line) => line.startsWith('got'))).toEqual(['got model of job-7'])
    expect(submissions()).toHaveLength(1)
  })

  test('a stopped poll leaves the job pending and reports that', async () => {
    await pending()
    place.write('state', 'echo asking >&2; sleep 20; code=0\n')
    const asking = place.start(['poll', 'nightly'])
    await asking.said('asking')
    asking.child.kill('SIGINT')
    const { code, stdout, stderr } = await asking.ended
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
    expect(stderr).toContain('Stopped: not all jobs were polled\nPoll the job with:\n  dogear poll nightly\n')
    expect(submissions()).toHaveLength(1)
  })

  test.each([
    [1, /failed: exit code 1/],
    [3, /failed: its job is missing/]
  ])(
    'a step fails if its job failed or is missing (%i), and its next attempt submits under another key',
    async (code, message) => {
      await pending()
      says(code)
      const failed = await place.dogear(['poll', 'nightly'])
      expect(failed.code).toBe(1)
      expect(failed.stdout).toMatch(message)
      expect((await place.dogear(['runs', '--json'])).stdout).toContain('"failed"')
      expect((await place.dogear(['resume'])).code).toBe(75)
      expect(new Set(submissions()).size).toBe(2)
    }
  )

  test('a job whose poll fails stays pending', async () => {
    await pending()
    says(7)
    const asked = await place.dogear(['poll', 'nightly'])
    expect(asked.code).toBe(75)
    expect(asked.stdout).toContain('state unknown: exit code 7')
    expect((await place.dogear(['runs'])).stdout).toContain('pending')
  })
})

describe('the result of a job', () => {
  const fetchedBy = async (collect: string): Promise<void> => {
    const job = `{ submit: echo 1, poll: exit 0, collect: ${collect} }`
    within({ 'w.yml': `name: w\nsteps: [{ name: s, retry: { attempts: 2 }, job: ${job}, capture: c }]\n` })
    expect((await place.dogear(['run', 'w.yml', '--id', 'w-1'])).code).toBe(75)
  }

  test.each([
    ['exits with 75', `'. ./state'`, 'exit 75'],
    ['exits with 7', `'. ./state'`, 'exit 7'],
    ['is killed', `'. ./state'`, 'kill -9 $$'],
    ['is missing', '[./state]', undefined]
  ])('the next poll collects the result if the collecting command %s', async (_, collect, state) => {
    await fetchedBy(collect)
    if (state !== undefined) place.write('state', state)
    const first = await place.dogear(['poll'])
    expect(first.code).toBe(75)
    expect(first.stdout).toContain('s (1): state unknown: its result cannot be collected')
    place.write('state', '#!/bin/sh\necho model\n')
    await place.shell('chmod +x state')
    expect((await place.dogear(['poll'])).stdout).toBe('s (1): done, its result is recorded\n')
  })

  test.each([1, 3])('a step fails if its collecting command exits with %i, despite retries', async (code) => {
    await fetchedBy(`exit ${code}`)
    expect((await place.dogear(['poll'])).code).toBe(1)
    expect((await place.dogear(['runs'])).stdout).toContain('failed')
  })
})

describe('a submission that prints nothing', () => {
  test('a submission without output is reported without a job id, and polled by its key', async () => {
    within({
      'w.yml': `name: w
steps: [{ name: s, job: { submit: exit 0, poll: 'test -z "$DOGEAR_JOB" && test -n "$DOGEAR_IDEMPOTENCY_KEY"' } }]
`
    })
    const started = await place.dogear(['run', 'w.yml', '--id', 'w-1'])
    expect(started.stderr).toMatch(/submitted its job\nWaiting for the job of s, submitted /)
    const [plan, shown] = [await place.dogear(['plan']), await place.dogear(['show', 'w-1'])]
    expect(plan.stdout).toMatch(/waits for its job, submitted at \S+Z\n/)
    expect(shown.stdout).toMatch(/its job was submitted /)
    expect((await place.dogear(['poll'])).stdout).toBe('s: done, its result is recorded\n')
  })
})

describe('a process that is killed while it collects', () => {
  test('a poll killed while it collects records nothing; the next one collects, and nothing is submitted again', async () => {
    within({
      'w.yml': `name: w
steps:
  - name: s
    job:
      submit: echo "$DOGEAR_IDEMPOTENCY_KEY" | tee -a submitted
      poll: exit 0
      collect: test -e killer && rm killer && kill -9 $PPID && sleep 5; echo model
    capture: c
`,
      killer: ''
    })
    await place.dogear(['run', 'w.yml', '--id', 'w-1'])
    expect((await place.process(['poll'])).signal).toBe('SIGKILL')
    expect((await place.dogear(['resume'])).code).toBe(75)
    expect((await place.dogear(['poll'])).code).toBe(0)
    expect((await place.dogear(['resume'])).code).toBe(0)
    expect(submissions()).toHaveLength(1)
  })
})

describe('a process that is killed while it submits', () => {
  test('after a kill during a submission, the next process submits again under the same key', async () => {
    within({ 'w.yml': batch(), killer: '' })
    expect((await place.process(['run', 'w.yml', '--id', 'nightly'])).signal).toBe('SIGKILL')
    expect(submissions()).toHaveLength(1)
    expect((await place.dogear(['resume'])).code).toBe(75)
    expect(submissions()).toHaveLength(2)
    expect(new Set(submissions()).size).toBe(1)
  })

  test('a non-idempotent submission whose process was killed needs an answer', async () => {
    within({ 'w.yml': batch('idempotent: false'), killer: '' })
    expect((await place.process(['run', 'w.yml', '--id', 'nightly'])).signal).toBe('SIGKILL')
    expect((await place.dogear(['resume'])).code).toBe(4)
    expect(submissions()).toHaveLength(1)
    expect((await place.dogear(['resume', '--confirm', 'all/train=again'])).code).toBe(75)
    expect(new Set(submissions()).size).toBe(1)
  })
})

describe('the evidence of a job', () => {
  test('the evidence of a job is checked after its result is collected, and the step fails if it is missing', async () => {
    within({
      'w.yml': `name: w
steps:
  - name: s
    before: test -e open
    job: { submit: echo 1, poll: exit 0, collect: 'test -e given && cp given result; echo "of $DOGEAR_JOB"' }
    capture: told
    artifacts: [result]
    after: test "$DOGEAR_JOB" = 1 -a -s result
`
    })
    expect((await place.dogear(['run', 'w.yml', '--id', 'w-1'])).stderr).toContain('not started')
    place.write('open', '')
    expect((await place.dogear(['resume'])).code).toBe(75)
    const failed = await place.dogear(['poll'])
    expect(failed.code).toBe(1)
    expect(failed.stdout).toContain('s (1): failed: it ran, but a check failed: result is missing')
    place.write('given', 'weights')
    expect((await place.dogear(['resume'])).code).toBe(75)
    expect((await place.dogear(['poll'])).code).toBe(0)
    expect((await place.dogear(['resume'])).code).toBe(0)
    expect((await place.dogear(['show', 'w-1'])).stdout).toContain('of 1')
  })
})

describe('a workflow file with a job', () => {
  test.each([
    ['job: { poll: exit 0 }', '"job" needs "submit"'],
    ['job: { submit: echo 1 }', '"job" needs "poll"'],
    [
      'job: { submit: echo 1, poll: exit 0 }, shell: ls',
      '"job" cannot be combined with "shell", "run" or "reuse"; use one of them'
    ],
    ['job: { submit: echo 1, poll: exit 0 }, capture: x', '"capture" of a job needs "collect"'],
    ['job: { submit: echo 1, poll: [ask, "${nobody}"] }', 'unknown variable "nobody"'],
    ['job: { submit: echo 1, poll: exit 0 }, expect: { commits: 1 }', '"commits" cannot be counted for a job'],
    ['job: echo 1', '"job" is a mapping of "submit", "poll" and "collect"']
  ])('an invalid job is refused: %s', async (step, message) => {
    within({ 'w.yml': `name: w\nsteps: [{ name: s, ${step} }]\n` })
    const refused = await place.dogear(['run', 'w.yml'])
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain(message)
    expect(place.exists('.dogear')).toBe(false)
  })

  test('a job edited since its submission is refused, also by poll', async () => {
    await pending()
    place.write('w.yml', batch().replace('echo job-7', 'echo job-8'))
    for (const command of ['poll', 'resume', 'plan']) {
      const refused = await place.dogear([command, 'nightly'])
      expect(refused.code).toBe(4)
      expect(refused.stderr).toContain(`dogear: Cannot ${command === 'poll' ? 'poll' : 'resume'} nightly:`)
      expect(refused.stderr).toContain('"all/train" was changed while its job is pending')
      expect(linesOf(refused.stderr).slice(-4)).toEqual([
        'To abandon the job and run again from "all/train" on:',
        '  dogear resume nightly --from-step all/train',
        'To accept the change and keep the results of "all/lint":',
        '  dogear resume nightly --changes ignore'
      ])
    }
    says(75)
    expect((await place.dogear(['resume', 'nightly', '--changes', 'ignore'])).code).toBe(75)
    expect(submissions()).toHaveLength(1)
  })
})

test('an edit is refused if it replaces a step with a pending job by one that cannot poll it, also with --changes ignore', async () => {
  within({ 'w.yml': 'steps: [{ name: train, job: { submit: echo 7, poll: exit 75 } }]' })
  await place.dogear(['run', 'w.yml', '--id', 'edited'])
  place.write('w.yml', 'steps: [{ name: train, shell: echo trained }]')
  const refused = await place.dogear(['resume', 'edited'])
  expect(linesOf(refused.stderr).slice(-2)).toEqual([
    'To abandon the job and run again from "train" on:',
    '  dogear resume edited --from-step train'
  ])
  const accepted = await place.dogear(['resume', 'edited', '--changes', 'ignore'])
  expect(accepted.code).toBe(4)
  expect(accepted.stderr).toContain('restore it to keep waiting for that job, or run from that step to abandon it')
  expect(linesOf(accepted.stderr).at(-1)).toMatch(/^ {2}dogear resume edited --from-step train/)
  expect((await place.shell(linesOf(accepted.stderr).at(-1) ?? '')).code).toBe(0)
})

test.each([
  ['an edit turned into a wait', '{ name: train, waitFor: { question: Go? } }'],
  ['an edit removed', '{ name: other, shell: echo }']
])('no printed command promises to keep the job of a step that %s', async (_, step) => {
  within({ 'w.yml': 'steps: [{ name: train, job: { submit: echo 7, poll: exit 75 } }]' })
  await place.dogear(['run', 'w.yml', '--id', 'edited'])
  place.write('w.yml', `steps: [${step}]`)
  const refused = await place.dogear(['resume', 'edited'])
  expect(linesOf(refused.stderr).slice(-2)).toEqual([
    'To abandon the job and accept the change:',
    '  dogear resume edited --changes ignore'
  ])
  const abandoned = /"train" no longer waits for its job, submitted at [^ ]+: 7; cancel that job yourself/
  const planned = ['plan', 'edited', '--changes', 'ignore']
  expect((await place.dogear(planned)).stdout).toMatch(abandoned)
  expect(JSON.parse((await place.dogear([...planned, '--json'])).stdout)).toMatchObject({
    abandons: [{ unit: 'train', job: '7' }]
  })
  const { stderr } = await place.dogear(['resume', 'edited', '--changes', 'ignore'])
  expect(stderr).toMatch(abandoned)
  expect((await place.dogear(['show', 'edited', '--history'])).stdout).toContain('abandons the pending job of train')
  const { history } = JSON.parse((await place.dogear(['show', 'edited', '--history', '--json'])).stdout) as {
    readonly history: ReadonlyArray<Readonly<Record<string, unknown>>>
  }
  expect(history.find(({ change }) => change === 'WorkflowEdited')?.['abandons']).toEqual(['train'])
})

test('a poll without an id considers only the runs with a pending job', async () => {
  await pending()
  place.write('bad.yml', 'steps: [{ shell: exit 1 }]')
  for (const id of ['bad-1', 'bad-2']) await place.dogear(['run', 'bad.yml', '--id', id])
  says(75)
  expect(await place.dogear(['poll'])).toMatchObject({ code: 75, stdout: 'all/train (job-7): not ended yet\n' })
  await place.dogear(['run', 'w.yml', '--id', 'second'])
  const several = await place.dogear(['poll'])
  expect(linesOf(several.stderr).slice(0, 3)).toEqual([
    'dogear: Several runs have a pending job; name one:',
    expect.stringContaining('  second  batch'),
    expect.stringContaining('  nightly  batch')
  ])
  for (const id of ['second', 'nightly']) await place.dogear(['cancel', id])
  expect(await place.dogear(['poll'])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('dogear: There is no run with a pending job\n') as unknown
  })
  expect(JSON.parse((await place.dogear(['poll', '--json'])).stdout)).toMatchObject({
    error: { code: 'NothingToPoll' }
  })
})

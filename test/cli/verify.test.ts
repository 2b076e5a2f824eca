/** `dogear verify` reports all that a resume would refuse, ask or run again, with the exit code of that resume. */
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { linesOf, type Options, type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
afterEach(() => place.remove())

const SECRET = { TOKEN: 'a-secret-value' }

/** Two steps with evidence, and one that fails. */
const workflow = `name: w
secrets: [TOKEN]
steps:
  - { name: generate, shell: echo x > gen.js, artifacts: [gen.js] }
  - { name: pack, shell: echo x > app.tgz, artifacts: [app.tgz] }
  - { name: publish, shell: test -e ready }
`

const failed = async (text = workflow): Promise<void> => {
  place = sandbox({ 'w.yml': text })
  expect((await place.dogear(['run', 'w.yml', '--id', 'r'], { environment: SECRET })).code).toBe(1)
}

interface Report {
  readonly obstacles: ReadonlyArray<{ readonly code: string; readonly message: string; readonly next: unknown }>
  readonly runs_again: unknown
  readonly unrecorded: unknown
}

const reportOf = async (environment: Options['environment'] = SECRET): Promise<Report> => {
  const { stdout } = await place.dogear(['verify', 'r', '--json'], { environment })
  const [report] = JSON.parse(stdout) as ReadonlyArray<Report>
  return report ?? expect.fail('nothing was reported')
}

/** The output of `verify`, which exits like a refused resume. */
const verified = async (environment: Options['environment'] = SECRET): Promise<string> => {
  const { code, stdout } = await place.dogear(['verify', 'r'], { environment })
  expect((await place.dogear(['verify'], { environment })).code).toBe(code)
  const resumed = await place.dogear(['resume', 'r'], { environment })
  expect(code).toBe(resumed.code)
  return stdout
}

describe('verify', () => {
  test('verify reports nothing for a run that can be resumed', async () => {
    await failed()
    const { code, stdout } = await place.dogear(['verify', 'r'], { environment: SECRET })
    expect(code).toBe(0)
    expect(linesOf(stdout)).toEqual([expect.stringMatching(/^✓ r {2}newest state intact, revision \d+$/)])
    expect(await reportOf()).toMatchObject({ obstacles: [], runs_again: [], unrecorded: [] })
  })

  test('verify and show name the revisions that the history lacks, and a resume works', async () => {
    await failed()
    await place.dogear(['resume', 'r'], { environment: SECRET })
    const journal = '.dogear/runs/r/history/e000001.jsonl'
    const lines = place.read(journal).split('\n')
    place.write(journal, lines.map((line, index) => (index === 4 ? line.replace('a', 'b') : line)).join('\n'))
    const { code, stdout } = await place.dogear(['verify', 'r'], { environment: SECRET })
    expect([code, linesOf(stdout)]).toEqual([
      0,
      [expect.stringMatching(/^! r {2}newest state intact, revision \d+$/), '  history: revisions 4 to 6 are missing']
    ])
    expect(await reportOf()).toMatchObject({ found: 'exact', history_gaps: [{ first: 4, last: 6 }] })
    const shown = await place.dogear(['show', 'r', '--history'])
    expect(shown.stdout).toMatch(/\n {6}7 .*\n +revisions 4 to 6 are missing\n {6}3 /)
    place.write('ready', '')
    expect((await place.dogear(['resume', 'r'], { environment: SECRET })).code).toBe(0)
  })

  test('verify says that a history cannot be read, and a resume works', async () => {
    await failed()
    await place.dogear(['resume', 'r'], { environment: SECRET })
    await place.shell('cd .dogear/runs/r/history && rm e000001.jsonl && mkdir e000001.jsonl')
    const { code, stdout } = await place.dogear(['verify', 'r'], { environment: SECRET })
    expect([code, linesOf(stdout)]).toEqual([
      0,
      [
        expect.stringMatching(/^! r {2}newest state intact, revision \d+$/),
        expect.stringMatching(/^ {2}history: Cannot use .*e000001\.jsonl: it is not a regular file; move it away$/)
      ]
    ])
    expect(await reportOf()).toMatchObject({ found: 'exact', history_gaps: null })
    place.write('ready', '')
    expect((await place.dogear(['resume', 'r'], { environment: SECRET })).code).toBe(0)
  })

  test('verify names missing secrets and where they are looked up', async () => {
    await failed()
    const stdout = await verified({})
    expect(stdout).toContain('Obstacles to a resume:\n    Unusable secrets in ')
    expect(stdout).toContain('      TOKEN is not set\n')
    expect(stdout).toContain('    After fixing this:\n      dogear resume r\n')
    expect((await reportOf({})).obstacles).toEqual([
      {
        code: 'SecretsMissing',
        message: expect.stringContaining('TOKEN is not set') as string,
        next: [{ text: 'After fixing this:', command: 'dogear resume r' }]
      }
    ])
  })

  test('verify names changed evidence and the possible answers', async () => {
    await failed()
    place.write('gen.js', 'edited\n')
    const stdout = await verified()
    expect(stdout).toContain('    "generate" completed, but its evidence changed since: gen.js\n')
    expect(stdout).toContain('      dogear resume r --confirm generate=keep\n')
    const { obstacles } = await reportOf()
    expect(obstacles.map(({ code }) => code)).toEqual(['Unconfirmed'])
    expect(JSON.stringify(obstacles[0]?.next)).toContain('dogear resume r --confirm generate=again')
  })

  test('verify names missing evidence and the steps that run again, and exits with 0', async () => {
    await failed()
    await place.shell('rm gen.js')
    const { code, stdout } = await place.dogear(['verify', 'r'], { environment: SECRET })
    expect(code).toBe(0)
    expect(stdout).toContain(
      '  Completed, but a resume runs them again:\n    generate: evidence is missing: gen.js\n    pack: the result of "generate" may differ\n'
    )
    expect(await reportOf()).toMatchObject({
      obstacles: [],
      runs_again: [
        { unit: 'generate', reason: 'EvidenceMissing', why: 'evidence is missing: gen.js' },
        { unit: 'pack', reason: 'EarlierStepRunsAgain' }
      ]
    })
  })

  test('verify names secrets, evidence, edits and a failed step that is not idempotent at once', async () => {
    await failed(workflow.replace('test -e ready', 'test -e ready, idempotent: false'))
    place.write('gen.js', 'edited\n')
    place.write('w.yml', place.read('w.yml').replace('echo x > app.tgz', 'echo y > app.tgz'))
    const stdout = await verified({})
    for (const what of [
      '"pack" differs from its recorded definition',
      'its evidence changed since: gen.js',
      'TOKEN is not set'
    ])
      expect(stdout).toContain(what)
    const { obstacles } = await reportOf({})
    expect(obstacles.map(({ code }) => code)).toEqual(
      expect.arrayContaining(['WorkflowChanged', 'Unconfirmed', 'SecretsMissing'])
    )
  })

  test('verify names a step that is not idempotent and may have taken effect', async () => {
    await failed(workflow.replace('test -e ready', 'test -e ready, idempotent: false'))
    const stdout = await verified()
    expect(stdout).toContain('"publish" may already have taken effect, and is not idempotent')
    expect(stdout).toContain('dogear resume r --confirm publish=done')
  })

  test('verify names a missing workflow file', async () => {
    await failed()
    await place.shell('mv w.yml moved.yml')
    expect(await verified()).toContain('dogear run NEWPATH --id r --resume')
  })

  test('verify checks a completed run if it is named', async () => {
    place = sandbox({ 'w.yml': workflow.replace('test -e ready', 'test -e w.yml') })
    expect((await place.dogear(['run', 'w.yml', '--id', 'r'], { environment: SECRET })).code).toBe(0)
    place.write('app.tgz', 'edited\n')
    const { code, stdout } = await place.dogear(['verify', 'r'], { environment: SECRET })
    expect(code).toBe(4)
    expect(stdout).toContain('"pack" completed, but its evidence changed since: app.tgz\n')
    expect((await place.dogear(['verify'], { environment: SECRET })).code).toBe(0)
  })
})

describe('verify of a killed run', () => {
  const killed = async (more: string): Promise<void> => {
    place = sandbox({
      'w.yml': `name: w\nsteps:\n  - { name: one, shell: 'true' }\n  - { name: send, shell: 'echo begun; sleep 60'${more} }\n`
    })
    const running = place.start(['run', 'w.yml', '--id', 'r', '--verbose'])
    await running.said('begun')
    running.child.kill('SIGKILL')
    await running.ended
  }

  test('verify names the step in flight of a killed run, and says that its effect may not be recorded', async () => {
    await killed('')
    const { code, stdout } = await place.dogear(['verify', 'r'])
    expect(code).toBe(0)
    expect(stdout).toContain(
      '  In flight when the process ended, so their effects may be unrecorded:\n    send (attempt 1): a resume runs it again\n  Check their effects, then resume:\n    dogear resume r\n'
    )
    expect(await reportOf()).toMatchObject({ unrecorded: [{ unit: 'send', attempt: 1, action: 'retry' }] })
  })

  test('verify of a run with a non-idempotent step in flight exits like a resume, which raises a question about that step', async () => {
    await killed(', idempotent: false')
    const stdout = await verified()
    expect(stdout).toContain('    send (attempt 1): a resume asks whether it is done\n')
    expect(stdout).toContain('dogear resume r --confirm send=again')
    expect(stdout).toMatch(/\n {2}Check their effects first\n$/)
    expect(await reportOf()).toMatchObject({
      unrecorded: [{ unit: 'send', attempt: 1, action: 'confirm' }],
      resume_command: null
    })
  })

  test('verify of a killed run whose newest save is damaged prints only commands that accept the recovered state', async () => {
    await killed('')
    const journal = '.dogear/runs/r/history/e000001.jsonl'
    place.write(journal, place.read(journal).replace('"kind":"save"', '"kind":"SAVE"'))
    const { code, stdout } = await place.dogear(['verify', 'r'])
    expect(code).toBe(5)
    expect(stdout).toContain('    one (attempt 1): a resume runs it again\n')
    const resumes = stdout.split('\n').filter((line) => line.includes('dogear resume'))
    expect(resumes).toEqual(['      dogear resume r --yes', '    dogear resume r --yes'])
  })

  test.each([
    ['failed', 'exit 1'],
    ['interrupted', 'kill -INT $PPID; sleep 60'],
    ['pending', undefined]
  ])(
    'if an edit inserted a step before the step in flight of a killed run, verify still names the step in flight when the run is %s at the new step',
    async (status, shell) => {
      await killed('')
      const first = shell === undefined ? '{ name: new, sleep: 1h }' : `{ name: new, shell: '${shell}' }`
      place.write(
        'w.yml',
        `name: w\nsteps:\n  - { name: one, shell: 'true' }\n  - ${first}\n  - { name: send, shell: 'echo begun; sleep 60' }\n`
      )
      await place.process(['resume', 'r'])
      expect((await place.dogear(['verify', 'r'])).stdout).toContain('    send (attempt 1): a resume runs it again\n')
      expect(await reportOf()).toMatchObject({ unrecorded: [{ unit: 'send', attempt: 1, action: 'retry' }] })
      const shown = await place.dogear(['show', 'r'])
      expect(shown.stdout).toMatch(new RegExp(`^status +${status}$`, 'm'))
      expect(shown.stdout).toContain('⚡   3 send  was running (attempt 1) when the process ended\n')
      expect((await place.dogear(['plan', 'r'])).stdout).toContain(
        'send  was running (attempt 1) when the process ended\n'
      )
    }
  )
})

test('verify of a completed run whose workflow file is missing, and of a run that waits, exits like a resume', async () => {
  place = sandbox({
    'done.yml': 'name: done\nsteps: [{ shell: "true" }]\n',
    'waits.yml': `name: waits
steps:
  - { name: train, job: { submit: echo 1, poll: exit 3, collect: 'true' } }
  - { name: last, shell: 'true' }
`
  })
  await place.dogear(['run', 'done.yml', '--id', 'done'])
  await place.dogear(['run', 'waits.yml', '--id', 'waits'])
  await place.shell('rm done.yml')
  const codes = async (id: string) => [
    (await place.dogear(['verify', id])).code,
    (await place.dogear(['resume', id])).code
  ]
  expect(await codes('done')).toEqual([0, 0])
  expect(await codes('waits')).toEqual([75, 75])
  expect((await place.dogear(['verify', 'waits'])).stdout).toMatch(
    /^✓ waits {2}newest state intact, revision \d+; a resume would only wait$/m
  )
})

const LATE = 'no answer came in time; a resume ends it with WAIT_TIMEOUT'

test.each([
  ['a wait past its limit', '- { name: ok, waitFor: { question: q, timeout: 50ms } }', 1, `ok: ${LATE}`],
  [
    'a wave with a wait past its limit',
    '- { wave: w, groups: { open: { waitFor: { question: q } }, late: { waitFor: { question: q, timeout: 50ms } } } }',
    1,
    `w/late: ${LATE}`
  ],
  [
    'a wave with a group that needs an open wait',
    '- { wave: w, groups: { ok: { waitFor: { question: q } }, use: { shell: "true", needs: [ok] } } }',
    75
  ],
  [
    'a wave of waiting groups, one of which continues with another step',
    '- { wave: w, groups: { a: { steps: [{ name: nap, sleep: 3d }, { name: b, shell: "true" }] }, c: { sleep: 3d } } }',
    75
  ],
  [
    'a map with a wait past its limit',
    '- { wave: m, forEach: [x], each: { waitFor: { question: q, timeout: 50ms } } }',
    1
  ]
])('verify exits like the resume of %s', async (_, step, code, obstacle = '') => {
  place = sandbox({ 'w.yml': `name: w\nsteps:\n  ${step}\n  - { name: last, shell: 'true' }\n` })
  expect((await place.dogear(['run', 'w.yml', '--id', 'r'])).code).toBe(75)
  await delay(60)
  expect(await verified({})).toContain(obstacle)
  expect((await place.dogear(['show', 'r', '--json'])).stdout).toContain(code === 1 ? '"failed"' : '"pending"')
})

test('verify says that a wait which timed out without an answer will wait again', async () => {
  place = sandbox({ 'w.yml': 'name: w\nsteps:\n  - { name: ok, waitFor: { question: q, timeout: 50ms } }\n' })
  await place.dogear(['run', 'w.yml', '--id', 'r'])
  await delay(60)
  expect(await verified({})).toContain('  dogear resume r\n')
  expect((await place.dogear(['verify', 'r'])).code).toBe(75)
  expect((await place.dogear(['resume', 'r'])).code).toBe(75)
})

test('verify of a run that a live process holds names that process, and exits like a resume', async () => {
  place = sandbox({ 'w.yml': `name: w\nsteps:\n  - { name: one, shell: 'echo begun; sleep 60', idempotent: false }\n` })
  const running = place.start(['run', 'w.yml', '--id', 'r', '--verbose'])
  await running.said('begun')
  const { code, stdout } = await place.dogear(['verify', 'r'])
  expect(code).toBe(4)
  expect(code).toBe((await place.dogear(['resume', 'r'])).code)
  expect(stdout).toContain('Obstacles to a resume:\n    Run r is already in progress')
  expect(stdout).toContain('dogear pause r')
  expect(await reportOf()).toMatchObject({ obstacles: [{ code: 'HeldBy' }], unrecorded: [], resume_command: null })
  expect((await place.dogear(['verify'])).code).toBe(0)
  running.child.kill('SIGKILL')
  await running.ended
})

test('verify does not print "Nothing was changed", because it never changes anything', async () => {
  await failed()
  const { stdout } = await place.dogear(['verify', 'r'])
  expect(stdout).toContain('TOKEN is not set')
  expect(stdout).not.toContain('Nothing was changed')
})

test('verify prints no answers to questions that only come after an edit is accepted or undone', async () => {
  const text = `name: w
steps:
  - { name: a, shell: echo x > out, artifacts: [out] }
  - { name: pay, shell: exit 1, idempotent: false }
  - { name: last, shell: 'true' }
`
  await failed(text)
  place.write('out', 'mine')
  place.write('w.yml', text.replace(/ {2}- { name: pay.*\n/, ''))
  const stdout = await verified({})
  expect(stdout).toContain('"pay" was removed, but is not idempotent')
  expect(stdout).toContain('"a" completed, but its evidence changed since: out\n')
  expect(stdout).not.toMatch(/--changes ignore|--confirm/)
  expect((await reportOf()).obstacles).toMatchObject([{ code: 'WorkflowChanged' }, { code: 'Unconfirmed', next: [] }])
})

import { afterEach, expect, test } from 'vitest'
import { type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
afterEach(() => place.remove())

const WORKFLOW = `
name: release
steps:
  - { name: version, shell: 'echo 1.2.3', capture: version }
  - { name: pack, shell: 'echo "$version" > "pack-$DOGEAR_RUN_ID"; echo "$DOGEAR_IDEMPOTENCY_KEY" >> keys' }
  - { name: send, shell: 'test ! -e broken' }
`

const released = async (files = {}): Promise<void> => {
  place = sandbox({ 'w.yml': WORKFLOW, ...files })
  await place.dogear(['run', 'w.yml', '--id', 'old-1'])
}

test('a fork keeps the records before its step and starts there, and the printed command completes the fork', async () => {
  await released({ broken: '' })
  const forked = await place.dogear(['fork', 'old-1', '--from-step', 'pack', '--id', 'new-1'])
  expect(forked).toEqual({
    code: 0,
    signal: null,
    stdout:
      'Run new-1 starts at pack with the records of old-1, 1 of 3 steps done. Until you resume it, its status is interrupted\n',
    stderr: 'Resume with:\n  dogear resume new-1\n'
  })
  await place.shell('rm broken')
  const resumed = await place.dogear(['resume', 'new-1'])
  expect(resumed.code).toBe(0)
  expect(place.read('pack-new-1')).toBe('1.2.3\n')
  expect(new Set(place.read('keys').trim().split('\n')).size).toBe(2)
  expect(JSON.parse((await place.dogear(['show', 'old-1', '--json'])).stdout)).toMatchObject({ status: 'failed' })
})

test('show names the run and the step that a fork comes from', async () => {
  await released()
  const { stdout } = await place.dogear(['fork', 'old-1', '--from-step', 'send', '--json'])
  const { run_id: id, ...rest } = JSON.parse(stdout) as { readonly run_id: string }
  expect(rest).toEqual({ forked_from: 'old-1', from_step: 'send' })
  expect((await place.dogear(['show', id])).stdout).toContain('forked    from send of run old-1')
  const shown = JSON.parse((await place.dogear(['show', id, '--json'])).stdout) as object
  expect(shown).toMatchObject({ forked_from: { run_id: 'old-1', unit: 'send' } })
  expect((await place.dogear(['show', id, '--history'])).stdout).toMatch(/ 0 .* Forked +from send of old-1\n/)
})

test('a fork is refused without a step, with an unknown step, and with an id that exists, each with a next command', async () => {
  await released()
  const refused = async (...words: ReadonlyArray<string>) => {
    const { code, stderr } = await place.dogear(['fork', 'old-1', ...words])
    return [code, stderr]
  }
  expect(await refused()).toEqual([
    2,
    'dogear: fork: --from-step is missing; pass the step where the new run starts\nList the steps with:\n  dogear show old-1\n'
  ])
  const [unknown, message] = await refused('--from-step', 'nope')
  expect(unknown).toBe(4)
  expect(message).toBe(
    'dogear: Cannot fork old-1:\n  step "nope" not found; steps: "version", "pack", "send"\nList the steps with:\n  dogear show old-1\n'
  )
  const [taken, exists] = await refused('--from-step', 'send', '--id', 'old-1')
  expect(taken).toBe(4)
  expect(exists).toContain('dogear fork old-1 --from-step send\n')
})

test('a fork after a step without an output prints the command that passes the output', async () => {
  place = sandbox({
    'w.yml': `
name: w
steps:
  - { name: ask, waitFor: { question: 'Go?' }, capture: go }
  - { name: tell, shell: 'echo "$go"' }
`
  })
  await place.dogear(['run', 'w.yml', '--id', 'old-1'])
  const refused = await place.dogear(['fork', 'old-1', '--from-step', 'tell', '--id', 'new-1'])
  expect(refused.code).toBe(4)
  expect(refused.stderr).toContain('expected a value for variable "go"')
  const passing = refused.stderr.trim().split('\n').at(-1)?.trim() ?? ''
  expect(passing).toBe('dogear fork old-1 --from-step tell --id new-1 --confirm ask=done:OUTPUT')
  const again = await place.dogear(['fork', 'old-1', '--from-step', 'tell', '--id', 'new-1', '--confirm', 'ask=done'])
  expect(again.stderr).toContain(`${passing}\n`)
  expect(await place.shell(passing)).toMatchObject({ code: 0 })
  expect((await place.dogear(['resume', 'new-1'])).stdout).toContain('OUTPUT\n')
})

test('a fork at one group raises a question about another group that may have taken effect, and the printed command answers it', async () => {
  place = sandbox({
    'w.yml': `
name: w
steps:
  - wave: both
    groups:
      pay: { shell: 'exit 1', idempotent: false }
      mail: { shell: 'echo sent' }
`
  })
  await place.dogear(['run', 'w.yml', '--id', 'old-1'])
  const asked = await place.dogear(['fork', 'old-1', '--from-step', 'both/mail', '--id', 'new-1'])
  expect(asked.code).toBe(4)
  const answering = asked.stderr.trim().split('\n').at(-1) ?? ''
  expect(answering.trim()).toBe('dogear fork old-1 --from-step both/mail --id new-1 --confirm both/pay=again')
  const { code, stderr } = await place.shell(answering)
  expect(code).toBe(0)
  expect(stderr).not.toContain('without asking')
})

test('a fork warns of completed steps that are not idempotent and run again, and of no other', async () => {
  await released({ 'w.yml': WORKFLOW.replace(`keys' }`, `keys', idempotent: false }`) })
  const again = await place.dogear(['fork', 'old-1', '--from-step', 'version', '--id', 'new-1'])
  expect(again.stderr).toBe(
    'warning: Run new-1 will run "pack" unasked and under a new idempotency key, although it is not idempotent and already completed\n' +
      'Resume with:\n  dogear resume new-1\n'
  )
  expect((await place.dogear(['fork', 'old-1', '--from-step', 'send', '--id', 'new-2'])).stderr).not.toContain(
    'warning'
  )
})

test('a fork warns of a later step in doubt, which its resume runs without a question', async () => {
  place = sandbox({
    'w.yml': `
name: w
steps:
  - { name: pack, shell: echo packed }
  - { name: pay, shell: 'echo paid >> log; exit 1', idempotent: false }
`
  })
  await place.dogear(['run', 'w.yml', '--id', 'old-1'])
  const { code, stderr } = await place.dogear(['fork', 'old-1', '--from-step', 'pack', '--id', 'new-1'])
  expect(code).toBe(0)
  expect(stderr).toContain(
    'warning: Run new-1 will run "pay" unasked and under a new idempotency key, although it is not idempotent and may already have taken effect\n'
  )
  await place.dogear(['resume', 'new-1'])
  expect(place.read('log')).toBe('paid\npaid\n')
})

const WITH_INPUT = `
name: w
input: { who: ada, level: 5 }
secrets: [TOKEN]
steps:
  - { name: greet, shell: 'echo "hello $who"', capture: greeting }
  - { name: send, shell: 'echo "$greeting, $who, $level, $TOKEN" > sent' }
`

test('a fork refuses inputs that the workflow does not know, and warns of those that an earlier step captures', async () => {
  place = sandbox({ 'w.yml': WITH_INPUT })
  const environment = { TOKEN: 's3cr3t-token' }
  await place.dogear(['run', 'w.yml', '--id', 'old-1'], { environment })
  const captured = ['fork', 'old-1', '--from-step', 'send', '--input', 'greeting=hi']
  const words = [...captured, '--input', 'whoo=bob']
  const refused = await place.dogear([...words, '--id', 'new-1'], { environment })
  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain('dogear: --input "whoo": w.yml has no such input. Did you mean "who"?\n')
  const { code, stderr } = await place.dogear([...captured, '--id', 'new-1'], { environment })
  expect(code).toBe(0)
  expect(stderr).toContain('warning: --input "greeting" has no effect: step "greet" captures it, and its value wins\n')
  place.write('w.yml', 'steps: {')
  expect((await place.dogear([...words, '--id', 'new-2'], { environment })).code).toBe(0)
})

test('a fork accepts other inputs, which apply from its step on', async () => {
  place = sandbox({ 'w.yml': WITH_INPUT })
  const environment = { TOKEN: 's3cr3t-token' }
  await place.dogear(['run', 'w.yml', '--id', 'old-1'], { environment })
  const words = ['fork', 'old-1', '--from-step', 'send', '--id', 'new-1', '--input', 'who=bob s3cr3t-token']
  const forked = await place.dogear([...words, '--input', 'level=5'], { environment })
  expect(forked.code).toBe(0)
  expect(forked.stderr).toContain('Input replaced from step "send" on: who "bob ***" instead of "ada"\n')
  expect((await place.dogear(['resume', 'new-1'], { environment })).code).toBe(0)
  expect(place.read('sent')).toBe('hello ada, bob ***, 5, s3cr3t-token\n')
  const shown = JSON.parse((await place.dogear(['show', 'new-1', '--json'])).stdout) as object
  expect(shown).toMatchObject({ variables: { who: 'bob ***', level: 5 } })
})

test('a fork refuses a malformed input, and a secret as input', async () => {
  place = sandbox({ 'w.yml': WITH_INPUT })
  await place.dogear(['run', 'w.yml', '--id', 'old-1'], { environment: { TOKEN: 's3cr3t-token' } })
  for (const input of ['who', 'TOKEN=other']) {
    const { code, stderr } = await place.dogear(['fork', 'old-1', '--from-step', 'send', '--input', input])
    expect(code).toBe(2)
    expect(stderr).toMatch(/^dogear: --input: /)
  }
})

test('a fork without an input or answers needs no secret to be set', async () => {
  place = sandbox({ 'w.yml': WITH_INPUT })
  await place.dogear(['run', 'w.yml', '--id', 'old-1'], { environment: { TOKEN: 's3cr3t-token' } })
  expect((await place.dogear(['fork', 'old-1', '--from-step', 'send'])).code).toBe(0)
})

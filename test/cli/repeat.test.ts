import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { linesOf, type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
const within = (files: Readonly<Record<string, string>>): Sandbox => (place = sandbox(files))
afterEach(() => place.remove())

/** Each step leaves a line with the run and its input. */
const work = `
name: work
input: { who: nobody }
steps:
  - { name: one, shell: 'echo "$DOGEAR_RUN_ID one $who" >> log' }
  - { name: two, shell: 'echo "$DOGEAR_RUN_ID two $who" >> log' }
  - { name: three, shell: 'echo "$DOGEAR_RUN_ID three $who" >> log' }
`

const runs = async (): Promise<void> => {
  within({ 'w.yml': work })
  for (const [id, who] of [
    ['first', 'ann'],
    ['second', 'bob'],
    ['third', 'cleo']
  ] as const) {
    expect((await place.dogear(['run', 'w.yml', '--id', id, '--input', `who=${who}`])).code).toBe(0)
  }
  place.write('log', '')
}

describe('`run --from-step`', () => {
  test('run --from-step resumes the newest run of the workflow and keeps its id and input', async () => {
    await runs()
    place.write('other.yml', 'name: other\nsteps: [{ shell: "true" }]')
    await place.dogear(['run', 'other.yml', '--id', 'newer'])
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--from-step', 'two'])
    expect(code).toBe(0)
    expect(stderr).toContain('Resuming run third\n')
    expect(place.read('log')).toBe('third two cleo\nthird three cleo\n')
    expect(linesOf((await place.dogear(['runs'])).stdout)).toHaveLength(5)
  })

  test('run --from-step resumes the run that --run names, also by an id prefix, and not the newest one', async () => {
    await runs()
    expect((await place.dogear(['run', 'w.yml', '--from-step', 'three', '--run', 'firs'])).code).toBe(0)
    expect(place.read('log')).toBe('first three ann\n')
  })

  test('run --from-step with an --input resumes the newest run that has this input, not a newer run', async () => {
    await runs()
    const { code } = await place.dogear(['run', 'w.yml', '--from-step', 'three', '--input', 'who=bob'])
    expect(code).toBe(0)
    expect(place.read('log')).toBe('second three bob\n')
  })

  test('--input takes precedence over the input of --run and replaces it from that step on', async () => {
    await runs()
    const words = ['run', 'w.yml', '--from-step', 'three', '--run', 'first', '--input', 'who=bob']
    const { code, stdout, stderr } = await place.dogear(words)
    expect({ code, stdout, log: place.read('log') }).toEqual({ code: 0, stdout: '', log: 'first three bob\n' })
    expect(linesOf(stderr).slice(0, 2)).toEqual([
      'Input replaced from step "three" on: who "bob" instead of "ann"',
      'Resuming run first'
    ])
    const shown = JSON.parse((await place.dogear(['show', 'first', '--json'])).stdout) as { readonly input: unknown }
    expect(shown.input).toEqual({ who: 'bob' })
  })

  test('if no earlier run has the given --input, run --from-step gives it to the newest run', async () => {
    await runs()
    expect((await place.dogear(['run', 'w.yml', '--from-step', 'two', '--input', 'who=dora'])).code).toBe(0)
    expect(place.read('log')).toBe('third two dora\nthird three dora\n')
  })

  test('--input keeps the input values that it does not name, and adds new ones', async () => {
    within({
      'w.yml': work
        .replace('input: { who: nobody }', 'input: { who: nobody, times: 3 }')
        .replace('three $who', 'three $who $times $extra')
    })
    await place.dogear(['run', 'w.yml', '--id', 'r', '--input', 'who=ann'])
    place.write('log', '')
    const words = ['run', 'w.yml', '--from-step', 'three', '--input', 'extra=x', '--input', 'who=ann']
    const { stderr } = await place.dogear(words)
    expect(place.read('log')).toBe('r three ann 3 x\n')
    expect(stderr).toContain('Input replaced from step "three" on: extra "x", previously unset\n')
    const { stdout } = await place.dogear(['show', 'r', '--json'])
    expect((JSON.parse(stdout) as { readonly input: unknown }).input).toEqual({ who: 'ann', times: 3, extra: 'x' })
  })

  test('a run killed after its input was replaced keeps the new input when it is resumed', async () => {
    await runs()
    place.write(
      'w.yml',
      work.replace(
        `'echo "$DOGEAR_RUN_ID two`,
        `'test -e killed || { touch killed; kill -9 $PPID; exit 1; }; echo "$DOGEAR_RUN_ID two`
      )
    )
    const again = ['run', 'w.yml', '--from-step', 'two', '--run', 'first', '--input', 'who=bob', '--yes']
    expect((await place.process(again)).signal).toBe('SIGKILL')
    expect(place.read('log')).toBe('')
    const { code, stderr } = await place.dogear(['resume', 'first'])
    expect({ code, log: place.read('log') }).toEqual({ code: 0, log: 'first two bob\nfirst three bob\n' })
    expect(stderr).not.toContain('another input')
    const { stdout } = await place.dogear(['show', 'first', '--history'])
    expect(stdout).toMatch(/InputReplaced +\{"who":"bob"\}/)
  })

  test('an earlier run keeps its input after the input in the file was changed', async () => {
    await runs()
    place.write('w.yml', work.replace('nobody', 'somebody'))
    expect((await place.dogear(['run', 'w.yml', '--from-step', 'three'])).code).toBe(0)
    expect(place.read('log')).toBe('third three cleo\n')
  })

  test('run --from-step runs a completed step in the middle and all later steps again, as edited', async () => {
    await runs()
    place.write('w.yml', work.replace('two $who', 'zwei $who'))
    expect((await place.dogear(['run', 'w.yml', '--from-step', 'two'])).code).toBe(0)
    expect(place.read('log')).toBe('third zwei cleo\nthird three cleo\n')
  })

  test('run --from-step is refused, and runs nothing, while an artifact of an earlier step is missing', async () => {
    within({
      'w.yml': `name: w
steps:
  - { name: one, shell: 'echo made > made', artifacts: [made] }
  - { name: two, shell: 'echo two >> log' }
`
    })
    expect((await place.dogear(['run', 'w.yml', '--id', 'r'])).code).toBe(0)
    rmSync(join(place.folder, 'made'))
    const refused = await place.dogear(['run', 'w.yml', '--from-step', 'two'])
    expect(refused.code).toBe(4)
    expect(refused.stderr).toMatch(/one.*made/)
    expect(place.read('log')).toBe('two\n')
    place.write('made', 'made\n')
    expect((await place.dogear(['run', 'w.yml', '--from-step', 'two'])).code).toBe(0)
    expect(place.read('log')).toBe('two\ntwo\n')
  })

  test('--from-step with an unknown step lists the available steps and runs nothing', async () => {
    await runs()
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--from-step', 'tow'])
    expect(code).toBe(4)
    expect(stderr).toContain('step "tow" not found; steps: "one", "two", "three"')
    expect(place.read('log')).toBe('')
  })

  test('--from-step without an earlier run is refused and starts no run', async () => {
    within({ 'w.yml': work })
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--from-step', 'two'])
    expect(code).toBe(3)
    expect(linesOf(stderr)).toEqual([
      'dogear: There is no run of workflow work to resume',
      `Looked in ${place.folder}/.dogear`,
      'Start one:',
      '  dogear run w.yml'
    ])
    expect([place.exists('log'), place.exists('.dogear')]).toEqual([false, false])
    const unknown = await place.dogear(['run', 'w.yml', '--from-step', 'two', '--run', 'nobody'])
    expect(unknown.code).toBe(3)
    expect(unknown.stderr).toContain('No checkpoint found for run nobody')
  })

  test('--from-step with a run of another workflow is refused', async () => {
    await runs()
    place.write('other.yml', 'name: other\nsteps: [{ name: two, shell: touch ran }]')
    const { code, stderr } = await place.dogear(['run', 'other.yml', '--from-step', 'two', '--run', 'first'])
    expect(code).toBe(4)
    expect(stderr).toContain('the run belongs to workflow "work", not to "other"')
    expect(place.exists('ran')).toBe(false)
  })

  test('--from-step keeps an earlier step that an edit made capture a variable if --confirm passes its value', async () => {
    const file = (version: string, tell: string): string => `
name: w
steps:
  - { name: version, ${version} }
  - { name: tell, ${tell} }
`
    within({ 'w.yml': file('shell: echo 1 >> ran', 'shell: exit 1') })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    place.write('w.yml', file('shell: echo 1 >> ran, capture: version', 'shell: echo "at $version"'))
    const { code, stderr } = await place.dogear(['resume', 'r', '--changes', 'ignore', '--from-step', 'tell'])
    expect(code).toBe(4)
    const given = linesOf(stderr).at(-1)?.trim() ?? ''
    expect(given).toBe('dogear resume r --from-step tell --changes ignore --confirm version=done:OUTPUT')
    expect(await place.shell(given.replace('OUTPUT', '2'))).toMatchObject({ code: 0, stdout: 'at 2\n' })
    expect((await place.dogear(['resume', 'r'])).code).toBe(0)
    expect(place.read('ran')).toBe('1\n')
  })

  test('if the output of an earlier step is missing, --from-step is refused with the name of that step, and accepted once --confirm passes the output', async () => {
    within({
      'w.yml': `
name: w
steps:
  - { name: ask, shell: exit 1 }
  - { name: version, shell: echo 1, capture: version }
  - { name: tell, shell: echo "at $version" }
`
    })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    const { code, stdout, stderr } = await place.dogear(['run', 'w.yml', '--from-step', 'tell'])
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    expect(stderr).toContain(
      'cannot count "version" as done: its output is missing or invalid (expected a value for variable "version")'
    )
    const given = linesOf(stderr).at(-1)?.trim() ?? ''
    expect(given).toBe('dogear resume r --from-step tell --confirm version=done:OUTPUT')
    expect(await place.shell(given.replace('OUTPUT', '2'))).toMatchObject({ code: 0, stdout: 'at 2\n' })
    const shown = (await place.dogear(['show', 'r'])).stdout
    expect(shown).toMatch(/^✓ {3}1 ask {6}assumed done$/m)
  })
})

describe('`run --restart-wave`', () => {
  const wave = `
name: w
steps:
  - { name: before, shell: echo before >> log }
  - { wave: checks, groups: { a: { shell: echo a >> log }, b: { shell: echo b >> log } } }
`

  test('--restart-wave resumes the newest run and runs all groups of the wave again', async () => {
    within({ 'w.yml': wave })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    place.write('log', '')
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--restart-wave', 'checks'])
    expect(code).toBe(0)
    expect(stderr).toContain('Resuming run r\n')
    expect(linesOf(place.read('log')).toSorted()).toEqual(['a', 'b'])
  })

  test('run --restart-wave refuses another input and prints the possible commands', async () => {
    within({ 'w.yml': wave })
    await place.dogear(['run', 'w.yml', '--id', 'r', '--input', 'who=ann'])
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--restart-wave', 'checks', '--input', 'who=bob'])
    expect(code).toBe(4)
    expect(linesOf(stderr).slice(-7)).toEqual([
      '  who: given "bob", started with "ann"',
      'To resume with its recorded input:',
      '  dogear resume r --restart-wave checks',
      'To use the new input from a step on:',
      '  dogear resume r --from-step STEP --input who=bob',
      'To start a new run with the new input:',
      '  dogear run w.yml --input who=bob'
    ])
    expect(linesOf(place.read('log'))).toHaveLength(3)
  })

  test('--restart-wave with the name of a task is refused, and lists the waves', async () => {
    within({ 'w.yml': wave })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--restart-wave', 'before', '--run', 'r'])
    expect(code).toBe(4)
    expect(stderr).toContain('name one of: "checks"')
  })
})

describe('`resume --input`', () => {
  test('resume --input with --from-step replaces input values from that step on', async () => {
    await runs()
    const { code, stderr } = await place.dogear(['resume', 'second', '--from-step', 'two', '--input', 'who=dora'])
    expect(code).toBe(0)
    expect(stderr).toContain('Input replaced from step "two" on: who "dora" instead of "bob"\n')
    expect(place.read('log')).toBe('second two dora\nsecond three dora\n')
  })

  test('resume --input with --force runs all steps again with the new values', async () => {
    await runs()
    expect((await place.dogear(['resume', 'second', '--force', '--yes', '--input', 'who=dora'])).code).toBe(0)
    expect(place.read('log')).toBe('second one dora\nsecond two dora\nsecond three dora\n')
  })

  test('resume --input without a step is a usage error, also for a completed run, and runs nothing', async () => {
    await runs()
    for (const command of ['resume', 'plan']) {
      const { code, stdout, stderr } = await place.dogear([command, 'first', '--input', 'who=bob'])
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toBe(
        'dogear: --input: a run keeps its input; add --from-step or --force to replace it\nTo run all steps again with this input:\n  dogear resume first --force --input who=bob\n'
      )
    }
    expect((await place.dogear(['resume', 'first', '--input', 'bob'])).code).toBe(2)
    expect(place.read('log')).toBe('')
  })

  test('plan shows a replaced input, and the printed command executes that plan', async () => {
    await runs()
    const { code, stdout } = await place.dogear(['plan', 'first', '--from-step', 'three', '--input', 'who=bob'])
    expect(code).toBe(0)
    expect(stdout).toContain('2/3 steps are done, 1 to run, with another input\n')
    const command = linesOf(stdout).at(-1)?.trim() ?? ''
    expect(command).toMatch(/^dogear resume first --from-step three --input who=bob --plan [0-9a-f]{16}$/)
    const other = command.replace('who=bob', 'who=eve')
    expect((await place.shell(other)).stderr).toContain('The plan is not the reviewed one: ')
    expect(place.read('log')).toBe('')
    expect((await place.shell(command)).code).toBe(0)
    expect(place.read('log')).toBe('first three bob\n')
  })

  test('the printed commands that answer a question include the replaced input', async () => {
    within({
      'w.yml': `
name: w
input: { who: ann }
steps:
  - { name: pay, shell: 'echo "paid $who" >> log; exit 1', idempotent: false }
  - { name: thank, shell: 'echo "thanks $who" >> log' }
`
    })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    const edited = place
      .read('w.yml')
      .replace('; exit 1', '')
      .replace('- { name: thank', '- { name: new, shell: "true" }\n  - { name: thank')
    place.write('w.yml', edited)
    const { stdout } = await place.dogear(['plan', 'r', '--from-step', 'pay', '--input', 'who=bob'])
    expect(stdout).toContain('--input who=bob')
    place.write('log', '')
    const { code } = await place.shell(linesOf(stdout).at(-1)?.trim() ?? '')
    expect({ code, log: place.read('log') }).toEqual({ code: 0, log: 'paid bob\nthanks bob\n' })
  })

  test('resume --input refuses a name that the file does not have, and a secret', async () => {
    within({ 'w.yml': `${work}secrets: [TOKEN]\n` })
    const set = { environment: { TOKEN: 'abcdefgh' } }
    await place.dogear(['run', 'w.yml', '--id', 'r'], set)
    const words = ['resume', 'r', '--from-step', 'three', '--input']
    expect((await place.dogear([...words, 'TOKEN=x'], set)).code).toBe(2)
    const before = await place.dogear(['show', 'r', '--json'], set)
    const { code, stderr } = await place.dogear([...words, 'woh=x'], set)
    expect(code).toBe(2)
    expect(stderr).toContain('dogear: --input "woh": w.yml has no such input. Did you mean "who"?')
    expect((await place.dogear(['plan', ...words.slice(1), 'woh=x'], set)).code).toBe(2)
    expect(await place.dogear(['show', 'r', '--json'], set)).toEqual(before)
    const hidden = await place.dogear([...words, 'who=is abcdefgh'], set)
    expect(hidden.stderr).toContain('warning: --input "who" contains the value of a secret: steps see *** instead')
    expect(hidden.stdout + hidden.stderr).not.toContain('abcdefgh')
    expect(linesOf(place.read('log')).at(-1)).toBe('r three is ***')
  })
})

describe('the way to resume', () => {
  const unit = (name: string, script: string): string => `${name}: { shell: '${script}' }`
  const task = (name: string, script: string): string => `{ name: ${name}, shell: '${script}' }`
  const a = 'echo a >> log'
  const b = 'test -e fixed && echo b >> log'
  const c = 'echo c >> log'

  test.each([
    ['a list of steps', `[${task('a', a)}, ${task('b', b)}, ${task('c', c)}]`, 'b'],
    [
      'waves',
      `[{ wave: x, groups: { ${unit('a', a)} } }, { wave: y, groups: { ${unit('b', b)} } }, { wave: z, groups: { ${unit('c', c)} } }]`,
      'y'
    ],
    [
      'groups that need others',
      `[{ wave: g, groups: { ${unit('a', a)}, b: { shell: '${b}', needs: [a] }, c: { shell: '${c}', needs: [b] } } }]`,
      'g'
    ]
  ])(
    'a workflow with %s is listed and planned after a failure, and completes when it is fixed and resumed',
    async (_, steps, stands) => {
      within({ 'w.yml': `name: w\nsteps: ${steps}\n` })
      const failed = await place.dogear(['run', 'w.yml', '--id', 'r'])
      expect(failed.code).toBe(1)
      expect(linesOf(failed.stderr).slice(-2)).toEqual(['After fixing this, resume with:', '  dogear resume r'])
      expect((await place.dogear(['runs', '--status', 'failed'])).stdout).toMatch(/^r +w +failed/m)
      expect((await place.dogear(['show', 'r'])).stdout).toMatch(new RegExp(`^✗ +\\d ${stands} +failed`, 'm'))
      expect((await place.dogear(['plan', 'r'])).stdout).toMatch(/^ .* retry .* failed: exit code 1$/m)
      expect(place.read('log')).toBe('a\n')
      place.write('fixed', '')
      const resumed = await place.dogear(['resume'])
      expect(resumed.code).toBe(0)
      expect(linesOf(resumed.stderr)[0]).toBe('Resuming run r')
      expect(linesOf(resumed.stderr).at(-1)).toMatch(/^Run completed in .*: 2 (step|task)s ran, 1 skipped$/)
      expect(place.read('log')).toBe('a\nb\nc\n')
      expect((await place.dogear(['resume', 'r'])).stderr).toBe('Run r: nothing left to do\n')
    }
  )
})

test('--restart-wave with the name of a group says that it is no wave, and offers --from-step', async () => {
  within({ 'w.yml': 'steps: [{ wave: c, groups: { a: { shell: exit 1 } } }]' })
  await place.dogear(['run', 'w.yml', '--id', 'r'])
  const { code, stderr } = await place.dogear(['resume', 'r', '--restart-wave', 'c/a'])
  expect(code).toBe(4)
  expect(linesOf(stderr)).toEqual([
    'dogear: Cannot resume r:',
    '  "c/a" is not a wave, map or sequence; name one of: "c"',
    'To run from "c/a" on:',
    '  dogear resume r --from-step c/a'
  ])
})

const CAPTURING = `
name: release
input: { who: ada }
steps:
  - { name: pack, shell: echo app.tgz, capture: tarball }
  - { name: mail, shell: 'echo "mail $who" >> log', idempotent: false }
  - { name: push, shell: 'echo "push $tarball" >> log; test -e fixed' }
`

test('resume, run and plan warn of an input that has no effect because an earlier step captures it', async () => {
  within({ 'w.yml': CAPTURING })
  expect((await place.dogear(['run', 'w.yml', '--id', 'r'])).code).toBe(1)
  const warning = 'warning: --input "tarball" has no effect: step "pack" captures it, and its value wins\n'
  const from = (step: string) => ['--from-step', step, '--input', 'tarball=other.tgz']
  expect((await place.dogear(['plan', 'r', ...from('push')])).stderr).toContain(warning)
  expect((await place.dogear(['resume', 'r', ...from('push')])).stderr).toContain(warning)
  const again = ['--from-step', 'push', '--input', 'tarball=third.tgz']
  const { code, stderr } = await place.dogear(['run', 'w.yml', ...again, '--input', 'x=1'])
  expect(code).toBe(2)
  expect(stderr).toContain('dogear: --input "x": w.yml has no such input. It has "who"')
  expect((await place.dogear(['run', 'w.yml', ...again])).stderr).toContain(warning)
  expect((await place.dogear(['plan', 'r', ...from('pack')])).stderr).not.toContain('has no effect')
  expect(place.read('log')).toBe('mail ada\npush app.tgz\npush app.tgz\npush app.tgz\n')
})

test.each(['--force', '--from-step mail'])(
  'the command that plan %s prints repeats completed work without a question, and the plan lists that work',
  async (flags) => {
    within({ 'w.yml': CAPTURING })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    const { stdout } = await place.dogear(['plan', 'r', ...flags.split(' ')])
    expect(stdout).toContain('This completed step is not idempotent, and would run again: mail.\n')
    if (flags === '--force') expect(stdout).toContain('--force runs 2 completed steps again.\n')
    const [, command = ''] = /To do exactly this:\n {2}(dogear resume r .* --plan \w{16} --yes)\n$/.exec(stdout) ?? []
    place.write('fixed', '')
    expect((await place.shell(command)).code).toBe(0)
    expect(place.read('log')).toBe('mail ada\npush app.tgz\nmail ada\npush app.tgz\n')
  }
)

describe('`resume --from-step` at a completed step of another kind', () => {
  const pay = 'shell: "echo paid >> log", idempotent: false'

  test.each([
    ['a task that is now a sequence', `{ name: a, ${pay} }`, `{ name: a, steps: [{ name: b, ${pay} }] }`],
    [
      'a map that is now a sequence',
      `{ wave: a, forEach: [x], each: { ${pay} } }`,
      `{ name: a, steps: [{ name: b, ${pay} }] }`
    ],
    ['a group with another name', `{ wave: a, groups: { g: { ${pay} } } }`, `{ wave: a, groups: { h: { ${pay} } } }`],
    ['a wave that is now an idempotent task', `{ wave: a, groups: { g: { ${pay} } } }`, '{ name: a, shell: "true" }']
  ])('resume --from-step asks before it repeats what was not idempotent: %s', async (_, was, now) => {
    within({ 'w.yml': `name: w\nsteps:\n  - ${was}\n  - { name: z, shell: "exit 1" }\n` })
    expect((await place.dogear(['run', 'w.yml', '--id', 'r1'])).code).toBe(1)
    place.write('w.yml', `name: w\nsteps:\n  - ${now}\n  - { name: z, shell: "true" }\n`)
    const { code, stderr } = await place.dogear(['resume', 'r1', '--from-step', 'a'])
    expect({ code, log: place.read('log') }).toEqual({ code: 4, log: 'paid\n' })
    expect(stderr).toContain('This completed step is not idempotent, and would run again: a.')
    expect((await place.dogear(['resume', 'r1', '--from-step', 'a', '--yes'])).code).toBe(0)
  })

  test.each([
    ['another name', `{ name: a2, ${pay} }`],
    ['another name and no longer its flag', '{ name: a2, shell: "echo paid >> log" }'],
    ['a wave around it', `{ wave: w, groups: { a: { ${pay} } } }`]
  ])('resume --from-step asks before it repeats a later step that an edit gave %s', async (_, now) => {
    const around = (step: string, last: string): string =>
      `name: w\nsteps: [{ name: o, shell: "true" }, ${step}, { name: z, shell: "${last}" }]\n`
    within({ 'w.yml': around(`{ name: a, ${pay} }`, 'exit 1') })
    expect((await place.dogear(['run', 'w.yml', '--id', 'r1'])).code).toBe(1)
    place.write('w.yml', around(now, 'true'))
    const { code, stderr } = await place.dogear(['resume', 'r1', '--from-step', 'o'])
    expect({ code, log: place.read('log') }).toEqual({ code: 4, log: 'paid\n' })
    expect(stderr).toContain('This completed step is not idempotent, and would run again: a.')
    expect((await place.dogear(['resume', 'r1', '--from-step', 'o', '--yes'])).code).toBe(0)
    expect(place.read('log')).toBe('paid\npaid\n')
  })

  test.each([
    ['--from-step o', 'This step is not idempotent, may already have taken effect, and would run again: a.'],
    ['--restart-wave w', 'removed']
  ])('resume %s does not submit the pending job of a step again that an edit renamed', async (flags, refusal) => {
    const job = 'job: { submit: "echo paid >> log; echo 7", poll: "exit 75" }, idempotent: false'
    const around = (name: string): string =>
      `name: w\nsteps: [{ name: o, shell: "true" }, { wave: w, groups: { g: { shell: "true" } } }, { name: ${name}, ${job} }]\n`
    within({ 'w.yml': around('a') })
    expect((await place.dogear(['run', 'w.yml', '--id', 'r1'])).code).toBe(75)
    place.write('w.yml', around('b'))
    const { code, stderr } = await place.dogear(['resume', 'r1', ...flags.split(' ')])
    expect({ code, log: place.read('log') }).toEqual({ code: 4, log: 'paid\n' })
    expect(stderr).toContain(refusal)
  })

  test('resume --restart-wave asks before it repeats a later step that an accepted edit renamed', async () => {
    const around = (name: string, last: string): string =>
      `name: w\nsteps: [{ wave: w, groups: { g: { shell: "true" } } }, { name: ${name}, ${pay} }, { name: z, shell: "${last}" }]\n`
    within({ 'w.yml': around('a', 'exit 1') })
    expect((await place.dogear(['run', 'w.yml', '--id', 'r1'])).code).toBe(1)
    place.write('w.yml', around('b', 'true'))
    const { code, stderr } = await place.dogear(['resume', 'r1', '--restart-wave', 'w', '--changes', 'ignore'])
    expect({ code, log: place.read('log') }).toEqual({ code: 4, log: 'paid\n' })
    expect(stderr).toContain('This completed step is not idempotent, and would run again: a.')
  })

  test('resume --from-step does not ask about an idempotent step in the item of a map with another step that is not', async () => {
    const steps = `[{ name: a, ${pay} }, { name: q, shell: "test -e ok" }]`
    within({ 'w.yml': `name: w\nsteps: [{ wave: m, forEach: [x], each: { steps: ${steps} } }]\n` })
    expect((await place.dogear(['run', 'w.yml', '--id', 'r1'])).code).toBe(1)
    place.write('ok', '')
    expect((await place.dogear(['resume', 'r1', '--from-step', 'm/1/a'])).code).toBe(4)
    expect((await place.dogear(['resume', 'r1', '--from-step', 'm/1/q'])).code).toBe(0)
    expect(place.read('log')).toBe('paid\n')
  })

  test.each([
    ['the body of a map', 'wave: m, forEach: [x], each: { shell: "true" }', `wave: m, forEach: [x], each: { ${pay} }`],
    ['a task that was a wave', 'wave: m, groups: { g: { shell: "true" } }', `name: m, ${pay}`],
    ['a task that was idempotent', 'name: m, shell: "true"', `name: m, ${pay}`],
    ['a wait that has code now', 'name: m, sleep: 1s', `name: m, ${pay}`],
    ['a task that was not idempotent either', 'name: m, shell: "true", idempotent: false', `name: m, ${pay}`]
  ])('resume --from-step asks before a removed step is repeated by %s', async (_, was, now) => {
    const around = (middle: string, last: string): string =>
      `name: w\nsteps: [{ name: o, shell: "true" }, ${middle}, { name: z, shell: "${last}" }]\n`
    within({ 'w.yml': around(`{ name: a, ${pay} }, { name: q, shell: "exit 1" }, { ${was} }`, 'true') })
    expect((await place.dogear(['run', 'w.yml', '--id', 'r1'])).code).toBe(1)
    place.write('w.yml', around(`{ name: q, shell: "true" }, { ${now} }`, 'true'))
    const { code, stderr } = await place.dogear(['resume', 'r1', '--from-step', 'o'])
    expect({ code, log: place.read('log') }).toEqual({ code: 4, log: 'paid\n' })
    expect(stderr).toContain('This completed step is not idempotent, and would run again: a.')
  })

  test.each([
    ['no step', '', 1],
    ['only a wait', '{ name: b, sleep: 1h }, ', 75]
  ])('resume --from-step does not ask about a removed step if %s is new', async (_, added, code) => {
    within({
      'w.yml': `name: w\nsteps: [{ name: o, shell: "true" }, { name: a, ${pay} }, { name: z, shell: "exit 1" }]\n`
    })
    expect((await place.dogear(['run', 'w.yml', '--id', 'r1'])).code).toBe(1)
    place.write('w.yml', `name: w\nsteps: [{ name: o, shell: "true" }, ${added}{ name: z, shell: "exit 1" }]\n`)
    expect((await place.dogear(['resume', 'r1', '--from-step', 'o'])).code).toBe(code)
    expect(place.read('log')).toBe('paid\n')
  })

  test('a resume does not resubmit the pending job of a step that is now a wait beside a new step', async () => {
    const job = 'job: { submit: "echo paid >> log; echo 7", poll: "exit 75" }, idempotent: false'
    const around = (...steps: readonly string[]): string =>
      `name: w\nsteps: [{ name: o, shell: "touch f", artifacts: [f] }, { name: q, shell: "true" }, ${steps.join(', ')}]\n`
    within({ 'w.yml': around(`{ name: a, ${job} }`) })
    expect((await place.dogear(['run', 'w.yml', '--id', 'r1'])).code).toBe(75)
    rmSync(join(place.folder, 'f'))
    place.write('w.yml', around('{ name: a, sleep: 1ms }', `{ name: b, ${pay} }`))
    const { code, stderr } = await place.dogear(['resume', 'r1'])
    expect({ code, log: place.read('log') }).toEqual({ code: 4, log: 'paid\n' })
    expect(stderr).toContain('"a" was changed while its job is pending')
  })

  test.each([
    ['a task', '{ shell: "true" }'],
    ['a wait', '{ sleep: 1ms }']
  ])(
    'a resume refuses %s inserted before an unnamed step that completed or may have taken effect',
    async (_, inserted) => {
      const file = (...steps: readonly string[]): string =>
        `name: w\nsteps: [{ shell: "touch f", artifacts: [f] }, ${steps.join(', ')}]\n`
      within({ 'w.yml': file(`{ ${pay} }`, '{ name: z, shell: "exit 1" }') })
      expect((await place.dogear(['run', 'w.yml', '--id', 'r1'])).code).toBe(1)
      rmSync(join(place.folder, 'f'))
      place.write('w.yml', file(inserted, `{ ${pay} }`))
      const completed = await place.dogear(['resume', 'r1'])
      expect(completed.code).toBe(4)
      expect(completed.stderr).toContain('"step-2" differs from its recorded definition')
      place.write('w.yml', file('{ shell: "echo paid >> log; exit 1", idempotent: false }'))
      expect((await place.dogear(['run', 'w.yml', '--id', 'r2'])).code).toBe(1)
      place.write('w.yml', file(inserted, `{ ${pay} }`))
      const inDoubt = await place.dogear(['resume', 'r2'])
      expect(inDoubt.code).toBe(4)
      expect(inDoubt.stderr).toContain('"step-2" now names another step')
      expect(place.read('log')).toBe('paid\npaid\n')
    }
  )

  test('a resume asks about a completed unnamed step that an edit changed and that would run again', async () => {
    const file = (script: string): string =>
      `name: w\nsteps: [{ shell: "touch f", artifacts: [f] }, { shell: "${script}", idempotent: false }, { shell: "test -e ok" }]\n`
    within({ 'w.yml': file('echo paid >> log') })
    expect((await place.dogear(['run', 'w.yml', '--id', 'r1'])).code).toBe(1)
    rmSync(join(place.folder, 'f'))
    place.write('ok', '')
    place.write('w.yml', file('echo paid again >> log'))
    const asked = await place.dogear(['resume', 'r1'])
    expect(asked.code).toBe(4)
    expect(asked.stderr).toContain('dogear resume r1 --confirm step-2=done')
    expect((await place.dogear(['resume', 'r1', '--confirm', 'step-2=done'])).code).toBe(0)
    expect(place.read('log')).toBe('paid\n')
  })

  test('resume --from-step asks before it repeats a task in doubt that is now a wave, also with --changes ignore', async () => {
    within({ 'w.yml': `name: w\nsteps:\n  - { name: a, shell: "echo paid >> log; exit 1", idempotent: false }\n` })
    expect((await place.dogear(['run', 'w.yml', '--id', 'r1'])).code).toBe(1)
    place.write('w.yml', `name: w\nsteps:\n  - { wave: a, groups: { g: { ${pay} } } }\n`)
    const words = ['resume', 'r1', '--from-step', 'a', '--changes', 'ignore']
    expect((await place.dogear(words)).code).toBe(4)
    expect(place.read('log')).toBe('paid\n')
    expect((await place.dogear([...words, '--yes'])).code).toBe(0)
  })
})

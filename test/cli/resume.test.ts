import { existsSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { linesOf, type Sandbox, sandbox, timeless } from './dogear.js'

let place: Sandbox
const within = (files: Readonly<Record<string, string>>): Sandbox => (place = sandbox(files))
afterEach(() => place.remove())

/** Three steps that leave a line each; the second fails until the file `fixed` exists. */
const three = `
name: three
steps:
  - { name: one, shell: echo one >> log }
  - { name: two, shell: test -e fixed && echo two >> log }
  - { name: three, shell: echo three >> log }
`

const failedRun = async (id: string, text = three): Promise<void> => {
  within({ 'w.yml': text })
  expect((await place.dogear(['run', 'w.yml', '--id', id])).code).toBe(1)
}

describe('the chosen run', () => {
  test('a resume without an id resumes the only unfinished run, and is refused if there are none or several', async () => {
    within({ 'w.yml': three })
    const none = await place.dogear(['resume'])
    expect(none.code).toBe(3)
    expect(none.stderr).toContain(`There is no unfinished run\nLooked in ${place.folder}/.dogear\n`)
    await place.dogear(['run', 'w.yml', '--id', 'first'])
    await place.dogear(['run', 'w.yml', '--id', 'second'])
    const several = await place.dogear(['resume'])
    expect(several.code).toBe(2)
    expect(linesOf(several.stderr)).toEqual([
      'dogear: Several runs are unfinished; name one:',
      expect.stringMatching(/^ {2}second {2}three {2}failed {2}1\/3 steps/),
      expect.stringMatching(/^ {2}first {2}three {2}failed {2}1\/3 steps/),
      'For example:',
      '  dogear resume second'
    ])
    place.write('fixed', '')
    expect((await place.dogear(['resume', 'first'])).code).toBe(0)
    expect((await place.dogear(['resume'])).stderr).toContain('Resuming run second')
    expect(await place.dogear(['resume'])).toMatchObject({ code: 0, stderr: 'Run second is completed\n' })
    const json = JSON.parse((await place.dogear(['resume', '--json'])).stdout) as unknown
    expect(json).toMatchObject({ run_id: 'second', status: 'completed' })
    expect((await place.dogear(['resume', '--force', '--yes'])).code).toBe(3)
  })

  test('a unique id prefix of at least four characters is enough', async () => {
    within({ 'w.yml': three })
    const [a, b] = ['aaaa1111-0000-4000-8000-000000000001', 'aaaa2222-0000-4000-8000-000000000002']
    await place.dogear(['run', 'w.yml', '--id', a])
    await place.dogear(['run', 'w.yml', '--id', b])
    const ambiguous = await place.dogear(['resume', 'aaaa'])
    expect(ambiguous.code).toBe(2)
    expect(ambiguous.stderr).toContain('"aaaa" matches more than one run id')
    expect([ambiguous.stderr.includes(a), ambiguous.stderr.includes(b)]).toEqual([true, true])
    const step = await place.dogear(['resume', 'aaaa', '--from-step', 'aaaa'])
    expect(step.stderr).toContain('matches more than one run id')
    expect(step.stderr).not.toContain('For example')
    const short = await place.dogear(['show', 'aaa'])
    expect(short.code).toBe(3)
    expect(short.stderr).toContain('An id prefix needs at least 4 characters\n')
    place.write('fixed', '')
    expect((await place.dogear(['resume', 'aaaa1111'])).stderr).toContain(`Resuming run ${a}`)
  })

  test('a flag that does not apply is left out of the printed command, also beside an edit', async () => {
    within({ 'w.yml': 'steps: [{ name: one, shell: echo }, { name: two, shell: exit 1 }]' })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    place.write('w.yml', 'steps: [{ name: one, shell: date }, { name: two, shell: exit 1 }]')
    const { code, stderr } = await place.dogear(['resume', 'r', '--confirm', 'two=done'])
    expect(code).toBe(4)
    expect(stderr).toContain('"one" differs from its recorded definition')
    expect(stderr).toMatch(/\n {2}dogear plan r\n$/)
  })

  test.each(['No Such', '../three', ''])('the invalid run id %j is refused, and nothing happens', async (id) => {
    await failedRun('known')
    for (const command of ['resume', 'show', 'plan', 'verify']) {
      const { code, stdout, stderr } = await place.dogear([command, id])
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toContain(`dogear: "${id}" is not a valid run id`)
    }
    expect(place.read('log')).toBe('one\n')
  })

  test.each(['nobody'])('the unknown run %j is refused, and nothing happens', async (id) => {
    await failedRun('known')
    const { code, stdout, stderr } = await place.dogear(['resume', id])
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(linesOf(stderr)).toEqual([
      `dogear: No checkpoint found for run ${id}`,
      'Check the id and the store; the run may have been deleted, archived or moved, or its process died before the first save',
      `Looked in ${place.folder}/.dogear`,
      'List the runs with:',
      '  dogear runs'
    ])
    expect(place.read('log')).toBe('one\n')
  })

  test('a mistyped run id is refused with the id that was probably meant', async () => {
    within({ 'w.yml': three })
    const uuid = 'aaaa1111-0000-4000-8000-000000000001'
    for (const id of ['release-7', uuid]) await place.dogear(['run', 'w.yml', '--id', id])
    for (const [typed, meant] of [
      ['relaese-7', 'release-7'],
      ['aaab1111', 'aaaa1111'],
      [uuid.replace('0001', '0002'), uuid]
    ] as const) {
      const { code, stderr } = await place.dogear(['show', typed])
      expect(code).toBe(3)
      expect(linesOf(stderr)).toContain(`Did you mean "${meant}"?`)
    }
  })

  test('a run is resumed from any folder, in the folder where it was started', async () => {
    await failedRun('r')
    place.write('fixed', '')
    const { code } = await place.dogear(['resume', 'r', '--home', join(place.folder, '.dogear')], { cwd: '/' })
    expect(code).toBe(0)
    expect(place.read('log')).toBe('one\ntwo\nthree\n')
  })

  test('DOGEAR_HOME sets the state folder, and --home overrides it', async () => {
    within({ 'w.yml': three })
    const environment = { DOGEAR_HOME: 'state' }
    await place.dogear(['run', 'w.yml', '--id', 'r'], { environment })
    expect([place.exists('state/runs/r'), place.exists('.dogear')]).toEqual([true, false])
    expect((await place.dogear(['show', 'r'], { environment })).code).toBe(0)
    expect((await place.dogear(['--home', 'other', 'show', 'r'], { environment })).code).toBe(3)
  })
})

describe('the chosen workflow', () => {
  test('a resume reads the workflow file of its run, and names the file if it is missing', async () => {
    await failedRun('r')
    await place.shell('mv w.yml moved.yml')
    const { code, stderr } = await place.dogear(['resume', 'r'])
    expect(code).toBe(2)
    expect(stderr).toContain('Cannot read workflow w.yml: the file does not exist\nRun r was started from it;')
    expect(
      (await place.dogear(['resume', 'r'], { cwd: '/usr', environment: { DOGEAR_HOME: `${place.folder}/.dogear` } }))
        .stderr
    ).toContain(`${place.folder}/w.yml`)
    expect(stderr).toContain('  dogear run NEWPATH --id r --resume\n')
    const from = await place.dogear(['resume', 'r', '--from-step', 'two'])
    expect(from.stderr).toContain('  dogear run NEWPATH --run r --from-step two\n')
    const valued = await place.dogear(['resume', 'r', '--from-step', 'two', '--input', 'v=--from-step'])
    expect(valued.stderr).toContain('Run r was started from it; restore it, then resume\n')
    expect(valued.stderr).not.toContain('NEWPATH')
    place.write('fixed', '')
    expect((await place.shell('dogear run moved.yml --run r --from-step two')).code).toBe(0)
    expect((await place.shell('dogear run moved.yml --id r --resume')).code).toBe(0)
  })

  test('a missing workflow file of a cancelled or forced run can only be restored', async () => {
    await failedRun('r')
    await place.dogear(['cancel', 'r'])
    await place.shell('mv w.yml moved.yml')
    for (const words of [['resume'], ['resume', '--reopen'], ['resume', '--force'], ['plan']]) {
      const { code, stderr } = await place.dogear([...words, 'r'])
      expect([code, stderr]).toEqual([
        2,
        'dogear: Cannot read workflow w.yml: the file does not exist\nRun r was started from it; restore it, then resume\n'
      ])
    }
  })

  const abc = (...steps: readonly string[]): string =>
    `name: abc\nsteps:\n${steps.map((step) => `  - ${step}\n`).join('')}`
  const [a, b, c] = ['{ name: a, shell: echo a }', '{ name: b, shell: echo b }', '{ name: c, shell: "false" }']
  const commandsOf = (stderr: string): readonly string[] => linesOf(stderr).filter((line) => /^ {2}dogear /.test(line))

  const map = '{ wave: b, forEach: [x, y], key: item, concurrency: 1, each: { shell: "test $item = x" } }'

  test.each([
    [abc(a, map, c), abc(a, b, c), ' and keep the results of "a" and drop those of "b/x"'],
    [abc(map, c), abc(b, c), ' and drop the results of "b/x"'],
    [
      abc(a, '{ wave: b, groups: { x: { shell: "true" }, y: { shell: "false" } } }'),
      abc(a, b),
      ' and keep the results of "a" and drop those of "b/x"'
    ]
  ])(
    'if an edit turned an unfinished map or wave into a task, a resume names the results that it keeps and those that it drops',
    async (before, now, what) => {
      await failedRun('r', before)
      place.write('w.yml', now)
      const { code, stderr } = await place.dogear(['plan', 'r'])
      expect(code).toBe(4)
      expect(linesOf(stderr).slice(-2)).toEqual([`To accept the change${what}:`, '  dogear resume r --changes ignore'])
    }
  )

  test.each([
    [
      'removed',
      abc(a, c),
      ['  dogear resume r --changes ignore'],
      'change and keep the results of "a" and drop those of "b"'
    ],
    [
      'renamed',
      abc(a, b.replace('name: b', 'name: B'), c),
      ['  dogear resume r --changes ignore'],
      'change and keep the results of "a" and drop those of "b"'
    ],
    [
      'changed like another',
      abc(a.replace('echo', 'printf'), b.replace('echo', 'printf'), c),
      ['  dogear resume r --from-step a', '  dogear resume r --changes ignore'],
      'changes and keep the results of "a", "b"'
    ]
  ])('a resume after a step was %s offers only commands that work', async (_, edited, offered, accepted) => {
    await failedRun('r', abc(a, b, c))
    place.write('w.yml', edited)
    const { code, stderr } = await place.dogear(['plan', 'r'])
    expect(code).toBe(4)
    expect(stderr).toMatch(/^dogear: Cannot resume r:\n/)
    expect(commandsOf(stderr)).toEqual(offered)
    expect(linesOf(stderr)).toContain(`To accept the ${accepted}:`)
    for (const line of commandsOf(stderr)) {
      expect((await place.shell(line.replace('resume', 'plan'))).code, line).toBe(0)
    }
  })

  test('a removed step that may have taken effect has to be restored: no other remedy is offered', async () => {
    await failedRun('r', abc(a, '{ name: send, shell: "false", idempotent: false }'))
    place.write('w.yml', abc(a, c))
    const { code, stderr } = await place.dogear(['plan', 'r'])
    expect(code).toBe(4)
    expect(stderr).toContain('Restore it')
    expect(commandsOf(stderr)).toEqual(['  dogear plan r'])
  })

  test('a renamed workflow is refused with its old name as the remedy', async () => {
    await failedRun('r')
    place.write('w.yml', three.replace('name: three\n', 'name: drei\n'))
    const { code, stderr } = await place.dogear(['resume', 'r'])
    expect(code).toBe(4)
    expect(stderr).toContain('Set the name of the workflow to "three" again, then resume\n')
  })

  test('a resume refuses a changed completed step and prints both fingerprints, and flags accept the change', async () => {
    await failedRun('r')
    place.write('w.yml', three.replace('echo one', 'echo ONE'))
    place.write('fixed', '')
    const { code, stderr } = await place.dogear(['resume', 'r'])
    expect(code).toBe(4)
    expect(stderr).toMatch(/"one" differs from its recorded definition: fingerprint [0-9a-f]{12}, now [0-9a-f]{12}\n/)
    const json = await place.dogear(['resume', 'r', '--json'])
    expect(json.stdout).toMatch(/fingerprint v1:[0-9a-f]{64}, now v1:[0-9a-f]{64}/)
    expect(stderr).toMatch(/^ {2}dogear resume r --from-step one/m)
    expect((await place.dogear(['plan', 'r'])).code).toBe(4)
    expect(place.read('log')).toBe('one\n')
    expect((await place.dogear(['verify', 'r'])).stdout).not.toMatch(/v1:|[0-9a-f]{13}/)
    expect((await place.dogear(['plan', 'r', '--changes', 'ignore'])).stdout).toMatch(/ \([0-9a-f]{12}\), which/)
    expect((await place.dogear(['resume', 'r', '--changes', 'ignore'])).code).toBe(0)
    expect(place.read('log')).toBe('one\ntwo\nthree\n')
  })

  test('an accepted edit can be reverted, and the step then counts as unchanged', async () => {
    await failedRun('r')
    place.write('w.yml', three.replace('echo one', 'echo ONE'))
    expect((await place.dogear(['resume', 'r', '--changes', 'ignore'])).code).toBe(1)
    expect((await place.dogear(['plan', 'r'])).stdout).toMatch(
      /skip +one +completed; its definition changed since \([0-9a-f]{12}\), which is accepted/
    )
    place.write('w.yml', three)
    const undone = await place.dogear(['plan', 'r'])
    expect(undone).toMatchObject({ code: 0, stderr: '' })
    expect(undone.stdout).toMatch(/skip +one +completed$/m)
    place.write('w.yml', three.replace('echo one', 'echo uno'))
    expect((await place.dogear(['resume', 'r'])).code).toBe(4)
    place.write('w.yml', three)
    place.write('fixed', '')
    expect((await place.dogear(['resume', 'r'])).code).toBe(0)
    expect(place.read('log')).toBe('one\ntwo\nthree\n')
  })

  test('a run keeps its input: a variable added to the file later is not set', async () => {
    await failedRun('r', `input: { a: 1 }\n${three}`)
    place.write(
      'w.yml',
      `input: { a: 2, b: 3 }\n${three.replace('shell: test -e fixed && echo two >> log', 'run: [echo, "${a}${b}"]')}`
    )
    const { code, stderr } = await place.dogear(['resume', 'r'])
    expect(code).toBe(2)
    expect(stderr).toContain('unknown variable "b". The run keeps its input, which does not set it')
    expect((await place.dogear(['run', 'w.yml', '--id', 'other'])).code).toBe(0)
  })

  test('a resume is refused if the folder in which the run was started is missing', async () => {
    within({ 'w.yml': three })
    await place.shell('mkdir work && cd work && dogear run ../w.yml --id r --home ../.dogear; rm -r ../work')
    const { code, stderr } = await place.dogear(['resume', 'r'])
    expect(code).toBe(4)
    expect(stderr).toContain('Workspace not found for run r. It may have been cleaned up.')
  })
})

describe('the choice of steps', () => {
  test('--restart-wave on a workflow without waves is refused and offers --from-step', async () => {
    await failedRun('r')
    place.write('fixed', '')
    const unknown = await place.dogear(['resume', 'r', '--restart-wave', 'foo'])
    expect(unknown.code).toBe(4)
    expect(unknown.stderr).toContain(
      'wave, map or sequence "foo" not found: the workflow has none; run from one of its steps instead'
    )
    expect(unknown.stderr).toContain('run from one of its steps instead: "one", "two", "three"\n')
    const { code, stderr } = await place.dogear(['resume', 'r', '--restart-wave', 'two'])
    expect(code).toBe(4)
    expect(stderr).toContain('"two" is not a wave, map or sequence: the workflow has none; run from that step instead')
    expect(stderr).toMatch(/^To run from "two" on:\n {2}dogear resume r --from-step two$/m)
    expect((await place.shell(linesOf(stderr).at(-1) ?? '')).code).toBe(0)
    expect(place.read('log')).toBe('one\ntwo\nthree\n')
  })

  test('--from-step runs that step and all later ones; an unknown one is refused with the available steps', async () => {
    await failedRun('r')
    const { code, stderr } = await place.dogear(['resume', 'r', '--from-step', 'tow'])
    expect(code).toBe(4)
    expect(stderr).toContain('step "tow" not found; steps: "one", "two", "three". Did you mean "two"?')
    place.write('fixed', '')
    await place.dogear(['resume', 'r'])
    expect((await place.dogear(['resume', 'r', '--from-step', 'two'])).code).toBe(0)
    expect(place.read('log')).toBe('one\ntwo\nthree\ntwo\nthree\n')
  })

  test('-v of a resume only adds lines: the plan with its reasons, and the saves', async () => {
    within({ 'w.yml': three })
    for (const home of ['terse', 'verbose']) await place.dogear(['run', 'w.yml', '--id', 'r', '--home', home])
    place.write('fixed', '')
    const terse = linesOf(timeless((await place.dogear(['resume', 'r', '--home', 'terse'])).stderr))
    const verbose = linesOf(timeless((await place.dogear(['resume', 'r', '--home', 'verbose', '-v'])).stderr))
    expect(terse).toEqual([
      'Resuming run r',
      'Loaded checkpoint: 1/3 steps completed',
      '↷ 1 step completed earlier: one',
      'Retrying step 2/3: two',
      '✓ two (T)',
      'Executing step 3/3: three',
      '✓ three (T)',
      'Run completed in T: 2 steps ran, 1 skipped'
    ])
    expect(verbose.filter((line) => terse.includes(line))).toEqual(terse)
    expect(verbose).toContain('  2/3  retry    two    failed: exit code 1')
    expect(verbose).toContainEqual(expect.stringMatching(/^saved revision \d+: Completed three$/))
  })

  test('--force in a pipe needs --yes, and then begins with the first step', async () => {
    await failedRun('r')
    place.write('fixed', '')
    const before = await place.dogear(['show', 'r', '--json'])
    const refused = await place.dogear(['resume', 'r', '--force'], { input: 'y\n' })
    expect(refused.code).toBe(4)
    expect(refused.stderr).toBe(
      'dogear: --force runs 1 completed step again.\nTo agree:\n  dogear resume r --force --yes\n'
    )
    expect(await place.dogear(['show', 'r', '--json'])).toEqual(before)
    expect((await place.dogear(['resume', 'r', '--force', '--yes'])).code).toBe(0)
    expect(place.read('log')).toBe('one\none\ntwo\nthree\n')
  })

  test('--restart-wave runs all groups of the wave again', async () => {
    within({
      'w.yml': `
steps:
  - { wave: w, groups: { a: { shell: echo a >> log-a }, b: { shell: test -e fixed && echo b >> log-b } } }
`
    })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    place.write('fixed', '')
    expect((await place.dogear(['resume', 'r'])).code).toBe(0)
    expect([place.read('log-a'), place.read('log-b')]).toEqual(['a\n', 'b\n'])
    expect((await place.dogear(['resume', 'r', '--restart-wave', 'w'])).code).toBe(0)
    expect((await place.dogear(['show', 'r', '--history'])).stdout).toMatch(/Rewound +w.*: as requested\n/)
    expect([place.read('log-a'), place.read('log-b')]).toEqual(['a\na\n', 'b\nb\n'])
  })

  test('`plan` prints every decision with its reason, changes nothing, and pins the plan', async () => {
    await failedRun('r')
    const { code, stdout, stderr } = await place.dogear(['plan', 'r'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const hash = /--plan ([0-9a-f]{16})$/m.exec(stdout)?.[1] ?? ''
    expect(linesOf(stdout)).toEqual([
      'Run r: three, failed',
      '1/3 steps are done, 2 to run',
      '  1/3  skip     one    completed',
      '  2/3  retry    two    failed: exit code 1',
      '  3/3  run      three  not started',
      'To do exactly this:',
      `  dogear resume r --plan ${hash}`
    ])
    expect(JSON.parse((await place.dogear(['plan', 'r', '--json'])).stdout)).toMatchObject({
      run_id: 'r',
      plan_hash: hash,
      start_index: 1,
      retry_current: false,
      decisions: [{ action: 'skip' }, { action: 'retry', reason: 'Failed' }, { action: 'run', reason: 'NotStarted' }],
      questions: []
    })
    place.write('w.yml', three.replace('test -e fixed && echo two', 'echo other'))
    const changed = await place.dogear(['resume', 'r', '--plan', hash])
    const mistyped = await place.dogear(['resume', 'r', '--plan', hash.slice(1)])
    expect([mistyped.code, mistyped.stderr]).toEqual([2, expect.stringContaining('is not a hash of 16 hex digits')])
    expect(changed.code).toBe(4)
    expect(changed.stderr).toContain(`, not ${hash}; review it again`)
    expect(place.read('log')).toBe('one\n')
    place.write('w.yml', three)
    place.write('fixed', '')
    expect((await place.dogear(['resume', 'r', '--plan', hash])).code).toBe(0)
  })

  test('`plan` lists each step that was edited, inserted or removed, completed or not', async () => {
    within({
      'w.yml': 'name: w\nsteps: [{ name: a, shell: "true" }, { name: b, shell: "false" }, { name: old, shell: x }]'
    })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    expect((await place.dogear(['plan', 'r'])).stdout).not.toContain('Edited')
    place.write(
      'w.yml',
      'name: w\nsteps: [{ name: a, shell: "true" }, { name: b, shell: "true" }, { name: new, shell: x }]'
    )
    const { code, stdout } = await place.dogear(['plan', 'r'])
    expect(code).toBe(0)
    const print = '[0-9a-f]{12}'
    const edits = linesOf(stdout).slice(linesOf(stdout).indexOf('Edited since the run last recorded its workflow:') + 1)
    expect(edits[0]).toMatch(new RegExp(`^  changed    b  \\(was ${print}, is ${print}\\)$`))
    expect(edits[1]).toMatch(new RegExp(`^  removed    old  \\(was ${print}\\)$`))
    expect(edits[2]).toMatch(new RegExp(`^  added      new  \\(is ${print}\\)$`))
    const json = JSON.parse((await place.dogear(['plan', 'r', '--json'])).stdout) as { edits: unknown[] }
    expect(json.edits).toMatchObject([
      { edit: 'changed', unit: 'b' },
      { edit: 'removed', unit: 'old', present: null },
      { edit: 'added', unit: 'new', recorded: null }
    ])
  })

  test('`plan` names the edited groups of a wave', async () => {
    const wave = (groups: string): string =>
      `name: w\nsteps: [{ wave: checks, groups: { bad: { shell: "false" }, ${groups} } }]`
    within({ 'w.yml': wave('a: { shell: x }, old: { shell: x }') })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    place.write('w.yml', wave('a: { shell: y }, new: { shell: x }'))
    const { stdout } = await place.dogear(['plan', 'r'])
    expect(linesOf(stdout).filter((line) => /^ {2}(changed|removed|added) /.test(line))).toEqual([
      expect.stringMatching(/^ {2}changed {4}checks\/a {2}\(was [0-9a-f]{12}, is [0-9a-f]{12}\)$/),
      expect.stringMatching(/^ {2}removed {4}checks\/old {2}\(was /),
      expect.stringMatching(/^ {2}added {6}checks\/new {2}\(is /)
    ])
  })

  test('`verify` lists all obstacles to a resume at once', async () => {
    within({ 'w.yml': three })
    const work = `${place.folder}/work`
    await place.shell(`mkdir '${work}'`)
    await place.dogear(['run', `${place.folder}/w.yml`, '--id', 'r', '--home', `${place.folder}/.dogear`], {
      cwd: work
    })
    expect(await place.dogear(['verify', 'r'])).toMatchObject({ code: 0 })
    place.write('w.yml', three.replaceAll('echo one', 'echo uno').replace('{ name: three', '{ name: drei'))
    await place.shell(`rm -r '${work}'`)
    const journal = `.dogear/runs/r/history/e000001.jsonl`
    const lines = place.read(journal).split('\n')
    lines[lines.length - 3] = (lines[lines.length - 3] ?? '').replace('"kind"', '"kInd"')
    place.write(journal, lines.join('\n'))
    const { code, stdout } = await place.dogear(['verify', 'r'])
    expect(code).toBe(5)
    expect(stdout).toContain('damaged, recoverable from')
    expect(stdout).toContain('Obstacles to a resume:')
    expect(stdout).toContain('Workspace not found for run r')
    expect(stdout).toContain('"one" differs from its recorded definition')
    const [report] = JSON.parse((await place.dogear(['verify', 'r', '--json'])).stdout) as { obstacles: string[] }[]
    expect(report?.obstacles).toHaveLength(2)
    await place.shell('rm w.yml')
    expect((await place.dogear(['verify', 'r'])).stdout).toMatch(/w\.yml/)
  })

  test('`plan` runs no step and writes no file', async () => {
    await failedRun('r')
    const state = async (): Promise<string> => (await place.shell('find . -type f | sort | xargs sha256sum')).stdout
    const before = await state()
    for (const words of [['plan'], ['plan', '--force'], ['plan', 'r', '--from-step', 'three', '--json']]) {
      expect((await place.dogear(words)).code).toBe(0)
    }
    expect(await state()).toBe(before)
  })
})

describe('a step that is not idempotent', () => {
  const publish = `
name: publish
steps:
  - { name: build, shell: echo built }
  - { name: publish, shell: echo published >> log; kill -9 $PPID; sleep 1, idempotent: false, capture: url }
  - { name: tell, shell: echo "at $url" }
`
  const crashed = async (): Promise<void> => {
    within({ 'w.yml': publish })
    await place.process(['run', 'w.yml', '--id', 'r'])
    place.write('w.yml', publish.replace('kill -9 $PPID; sleep 1', 'echo u2'))
  }

  test('in a pipe a resume is refused while the outcome of a step is unknown, and the printed commands answer the question', async () => {
    await crashed()
    const { code, stdout, stderr } = await place.dogear(['resume', 'r', '--changes', 'completed'])
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    expect(stderr).toContain('"publish" may already have taken effect, and is not idempotent')
    expect(stderr).toContain('  dogear resume r --changes completed --confirm publish=again\n')
    expect(stderr).toContain('  dogear resume r --changes completed --confirm publish=done:OUTPUT\n')
    expect(stderr).not.toContain('answer with')
    expect(place.read('log')).toBe('published\n')
    const plan = await place.dogear(['plan', 'r'])
    expect(plan.stdout).toContain('2/3  confirm  publish')
    const again = await place.dogear(['resume', 'r', '--confirm', 'publish=again'])
    expect(again.stdout).toBe('u2\nat u2\n')
    expect(place.read('log')).toBe('published\npublished\n')
  })

  test('in a pipe a failed non-idempotent step needs an answer, and the printed commands give that answer', async () => {
    within({
      'w.yml': `
steps:
  - { name: build, shell: echo built }
  - { name: publish, shell: echo published >> log; test -e fixed, idempotent: false }
`
    })
    const failed = await place.dogear(['run', 'w.yml', '--id', 'r'])
    expect(failed.stderr).not.toContain('resume with')
    expect({ code: failed.code, hints: linesOf(failed.stderr).slice(-5) }).toEqual({
      code: 1,
      hints: [
        '"publish" may already have taken effect, and is not idempotent: it failed: exit code 1',
        'To run again:',
        '  dogear resume r --confirm publish=again',
        'To count as done:',
        '  dogear resume r --confirm publish=done'
      ]
    })
    const json = await place.dogear(['resume', 'r', '--confirm', 'publish=again', '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject({
      status: 'failed',
      questions: [{ unit: 'publish', reason: 'Failed', answers: ['again', 'done'] }]
    })
    const refused = await place.dogear(['resume', 'r', '--json'])
    expect(JSON.parse(refused.stdout)).toMatchObject({
      error: {
        code: 'Unconfirmed',
        questions: [
          {
            unit: 'publish',
            reason: 'Failed',
            question: '"publish" may already have taken effect, and is not idempotent: it failed: exit code 1',
            answers: ['again', 'done']
          }
        ]
      }
    })
    const copied = linesOf(failed.stderr).at(-1)?.trim() ?? ''
    expect((await place.shell(copied)).code).toBe(0)
    expect(place.read('log')).toBe('published\npublished\n')
  })

  test('a completed non-idempotent step runs again only with consent, also with --from-step', async () => {
    within({
      'w.yml': `
steps:
  - { name: build, shell: echo built }
  - { name: publish, shell: echo published >> log, idempotent: false }
`
    })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    const refused = await place.dogear(['resume', 'r', '--from-step', 'build'])
    expect({ code: refused.code, log: place.read('log') }).toEqual({ code: 4, log: 'published\n' })
    expect(refused.stderr).toContain(
      'This completed step is not idempotent, and would run again: publish.\nTo agree:\n  dogear resume r --from-step build --yes\n'
    )
    expect((await place.dogear(['resume', 'r', '--from-step', 'build', '--yes'])).code).toBe(0)
    expect(place.read('log')).toBe('published\npublished\n')
  })

  test.each(['--from-step build', '--from-step release', '--restart-wave release', '--force'])(
    'a non-idempotent step in doubt runs again with %s only with consent',
    async (words) => {
      within({
        'w.yml': `
steps:
  - { name: build, shell: echo built }
  - wave: release
    groups: { publish: { shell: 'echo published >> log; test -e fixed', idempotent: false } }
`
      })
      await place.dogear(['run', 'w.yml', '--id', 'r'])
      const flags = words.split(' ')
      const warning =
        'This step is not idempotent, may already have taken effect, and would run again: release/publish.'
      expect((await place.dogear(['plan', 'r', ...flags])).stdout).toContain(`${warning}\n`)
      const refused = await place.dogear(['resume', 'r', ...flags])
      expect({ code: refused.code, log: place.read('log') }).toEqual({ code: 4, log: 'published\n' })
      expect(refused.stderr).toContain(warning)
      place.write('fixed', '')
      const [, command = ''] = /To agree:\n {2}(.*)\n/.exec(refused.stderr) ?? []
      expect((await place.shell(command)).code).toBe(0)
      expect(place.read('log')).toBe('published\npublished\n')
    }
  )

  test('--from-step needs consent to run a step in doubt again, even if an edit declares it idempotent', async () => {
    const publish = "steps: [{ name: publish, shell: 'echo published >> log; exit 1'"
    within({ 'w.yml': `${publish}, idempotent: false }]` })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    place.write('w.yml', `${publish} }]`)
    const refused = await place.dogear(['resume', 'r', '--from-step', 'publish'])
    expect({ code: refused.code, log: place.read('log') }).toEqual({ code: 4, log: 'published\n' })
    expect(refused.stderr).toContain('may already have taken effect, and would run again: publish.')
  })

  test('a resume counts the loaded steps among those before an edit, and says that nothing is left to do', async () => {
    const steps = ['a', 'b', 'c'].map((name) => `{ name: ${name}, shell: 'true' }`)
    within({ 'w.yml': `steps: [${steps.join(', ')}]` })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    place.write('w.yml', `steps: [${steps.slice(1).join(', ')}]`)
    const { code, stderr } = await place.dogear(['resume', 'r', '--changes', 'ignore'])
    expect([code, stderr]).toEqual([0, 'Run r: nothing left to do\n'])
  })

  test('the answer "again" about a step in doubt is the consent that --from-step needs to run it again', async () => {
    within({
      'w.yml': `
steps:
  - { name: build, shell: echo built }
  - { name: pay, waitFor: { question: pay? } }
  - wave: send
    forEach: [a, b]
    key: item
    each: { shell: 'echo "$item" >> log; test -e fixed', idempotent: false }
`
    })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    await place.dogear(['answer', 'r', 'pay', '--value', 'true'])
    expect((await place.dogear(['resume', 'r'])).code).toBe(1)
    const refused = await place.dogear(['resume', 'r', '--from-step', 'pay'])
    expect(refused.code).toBe(4)
    expect(refused.stderr).toContain('not idempotent, may already have taken effect, and would run again: send.')
    const words = ['--from-step', 'pay', '--confirm', 'send=again']
    expect((await place.dogear(['resume', 'r', ...words])).code).toBe(75)
  })

  test('a step that is confirmed as done needs its captured output, and does not run', async () => {
    await crashed()
    const without = await place.dogear(['resume', 'r', '--confirm', 'publish=done'])
    expect(without.code).toBe(4)
    expect(without.stderr).toContain('cannot count "publish" as done: its output is missing')
    expect(without.stderr).toContain('  dogear resume r --confirm publish=done:OUTPUT\n')
    expect((await place.dogear(['plan', 'r', '--confirm', 'publish=done'])).stderr).toContain(
      '  dogear resume r --confirm publish=done:OUTPUT\n'
    )
    const { code, stdout } = await place.dogear(['resume', 'r', '--confirm', 'publish=done:https://x?a=b:c'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'at https://x?a=b:c\n' })
    expect(place.read('log')).toBe('published\n')
    expect((await place.dogear(['show', 'r'])).stdout).toContain('publish  assumed done')
  })
})

describe('the output of a resume', () => {
  test('an answer `done` that completes the run is printed, once', async () => {
    await failedRun('pay', 'steps: [{ shell: "true" }, { name: pay, idempotent: false, shell: exit 1 }]')
    const { code, stderr } = await place.dogear(['resume', 'pay', '--confirm', 'pay=done'])
    expect([code, linesOf(timeless(stderr))]).toEqual([
      0,
      [
        'Resuming run pay',
        'Loaded checkpoint: 1/2 steps completed',
        '↷ 1 step completed earlier: step-1',
        'Assumed done: pay',
        'Run completed in T: 2 steps skipped'
      ]
    ])
    expect((await place.dogear(['resume', 'pay'])).stderr).toBe('Run pay: nothing left to do\n')
  })

  test('a resume lists units that were assumed done earlier among the skipped units', async () => {
    const groups = '{ a: { shell: exit 1, idempotent: false }, b: { shell: "true" } }'
    await failedRun('r', `steps: [{ wave: g, groups: ${groups} }, { name: last, shell: exit 1 }]`)
    expect((await place.dogear(['answer', 'r', 'g/a', 'done'])).code).toBe(0)
    const { stderr } = await place.dogear(['resume', 'r'])
    expect(stderr).toContain('\n↷ 1 unit completed earlier: g/b; assumed done: g/a\n')
    expect(stderr).toMatch(/\nRun failed after .*: 1 task failed, 2 skipped\n/)
  })

  const made = `
steps:
  - { name: generate, shell: echo x > gen.js, artifacts: [gen.js] }
  - { name: pack, shell: 'true' }
  - { name: last, shell: test -e fixed }
`

  test('the step after an assumed one runs again, because the result of the assumed step may differ', async () => {
    await failedRun('r', made)
    place.write('gen.js', 'edited\n')
    const { stderr } = await place.dogear(['resume', 'r', '--confirm', 'generate=done'])
    expect(stderr).toContain('Assumed done: generate\n')
    expect(stderr).toContain('running again:\n  pack: the result of "generate" may differ\n')
    expect(stderr).not.toContain('runs again')
    expect((await place.dogear(['resume', 'r'])).stderr).not.toContain('Assumed done')
  })

  test('a step with missing evidence cannot be assumed done, and a plain resume runs it again', async () => {
    await failedRun('r', made)
    await place.shell('rm gen.js; touch fixed')
    const { code, stderr } = await place.dogear(['resume', 'r', '--from-step', 'pack'])
    expect([code, linesOf(stderr)]).toEqual([
      4,
      [
        'dogear: Cannot resume r:',
        '  cannot count "generate" as done: its evidence is missing (gen.js); restore it, or run from an earlier step',
        'To run "generate" again:',
        '  dogear resume r'
      ]
    ])
    expect((await place.dogear(['resume', 'r'])).code).toBe(0)
    expect(place.exists('gen.js')).toBe(true)
  })

  test('the refusal of an edit by --changes strict prints a command with a policy that accepts the edit', async () => {
    await failedRun('r', made)
    const edited = place.read('w.yml').replace("'true'", 'echo edited').replace('fixed', 'gen.js')
    place.write('w.yml', edited)
    const { code, stderr } = await place.dogear(['resume', 'r', '--changes', 'strict'])
    expect(code).toBe(4)
    expect(stderr).toContain('To run again from "pack" on:\n  dogear resume r --from-step pack --changes completed\n')
  })

  test('show --history names the step and the attempt of each revision after a resume', async () => {
    await failedRun('r')
    await place.dogear(['resume', 'r'])
    await place.dogear(['resume', 'r'])
    const { stdout } = await place.dogear(['show', 'r', '--history'])
    expect(stdout.match(/ AttemptStarted {2}two, attempt 1\n/g)).toHaveLength(3)
    expect(stdout).not.toMatch(/AttemptStarted *\n/)
  })

  test('a failure shows the number of its attempt, and a resume after the last attempt counts from 1 again', async () => {
    const text = 'steps: [{ name: flaky, shell: exit 3, retry: { attempts: 2, delay: 1ms } }]'
    await failedRun('r', text)
    for (let resumes = 0; resumes < 2; resumes++) {
      expect((await place.dogear(['resume', 'r'])).stderr).toContain('error: exit code 3 (attempt 2)')
      expect((await place.dogear(['plan', 'r'])).stdout).toMatch(/retry {4}flaky {2}failed in attempt 2: exit code 3$/m)
      expect((await place.dogear(['show', 'r'])).stdout).toMatch(/1 flaky {2}failed, attempt 2$/m)
    }
    place.write('w.yml', 'steps: [{ name: flaky, shell: exit 3 }]')
    await place.dogear(['resume', 'r'])
    expect((await place.dogear(['plan', 'r'])).stdout).toMatch(/retry {4}flaky {2}failed: exit code 3$/m)
  })
})

describe('damaged state', () => {
  const newestJournal = (): string => {
    const folder = join(place.folder, '.dogear/runs/r/history')
    return join(
      folder,
      readdirSync(folder)
        .filter((name) => name.endsWith('.jsonl'))
        .sort()
        .at(-1) ?? ''
    )
  }
  /** Changes a byte in a line that is not the last one. */
  const damage = (): void => {
    const lines = readFileSync(newestJournal(), 'utf8').split('\n')
    const at = lines.length - 4
    lines[at] = (lines[at] ?? '').replace('UnitCompleted', 'UnitC0mpleted').replace('AttemptStarted', 'AttemptSt4rted')
    writeFileSync(newestJournal(), lines.join('\n'))
  }

  test.each([
    ['without a question', three, '  dogear resume r --plan'],
    [
      'with a question',
      three.replace('echo three >> log }', 'echo three >> log, idempotent: false }'),
      '  dogear resume r --confirm three=again --yes'
    ]
  ])(
    'a refused fork or move of a damaged run %s prints the command that shows how to resume it',
    async (_, text, resumes) => {
      await failedRun('r', text)
      damage()
      for (const words of [
        ['fork', 'r', '--from-step', 'two'],
        ['move', 'r', '--to', 'other']
      ]) {
        const refused = await place.dogear(words)
        expect(refused.code).toBe(5)
        expect(linesOf(refused.stderr).slice(-2)).toEqual([
          'Resume it from the recovered state first. To see what that would do:',
          '  dogear plan r'
        ])
        const { code, stdout } = await place.shell(linesOf(refused.stderr).at(-1) ?? '')
        expect([code, stdout.includes(`\n${resumes}`)]).toEqual([0, true])
      }
    }
  )

  test('the refusal of a damaged run keeps the hash of the reviewed plan in its command', async () => {
    await failedRun('r')
    damage()
    const [, hash = ''] = /--plan (\w{16}) --yes\n/.exec((await place.dogear(['plan', 'r'])).stdout) ?? []
    const refused = await place.dogear(['resume', 'r', '--plan', hash])
    expect(refused.code).toBe(5)
    expect(linesOf(refused.stderr).at(-1)).toBe(`  dogear resume r --plan ${hash} --yes`)
  })

  test('the answers that verify prints for a damaged run also accept the recovered state', async () => {
    await failedRun('r', three.replace('echo three >> log }', 'echo three >> log, idempotent: false }'))
    damage()
    const { stdout } = await place.dogear(['verify', 'r'])
    expect(stdout).toContain('      dogear resume r --confirm three=again --yes\n')
    expect(stdout).not.toContain('  dogear resume r --yes\n')
    place.write('fixed', '')
    expect((await place.dogear(['resume', 'r', '--confirm', 'three=again', '--yes'])).code).toBe(0)
  })

  test('the refusal of a damaged run names the steps that the printed --yes also repeats', async () => {
    await failedRun('r', three.replace('echo one >> log', 'echo one >> log, idempotent: false'))
    damage()
    const refused = await place.dogear(['resume', 'r', '--from-step', 'one'])
    expect(refused.code).toBe(5)
    expect(linesOf(refused.stderr).slice(-3)).toEqual([
      'This completed step is not idempotent, and would run again: one.',
      'To resume from the recovered state:',
      '  dogear resume r --from-step one --yes'
    ])
  })

  test('a resume of a damaged run with a question prints only commands that also answer it', async () => {
    await failedRun('r', three.replace('echo three >> log }', 'echo three >> log, idempotent: false }'))
    damage()
    const refused = await place.dogear(['resume', 'r', '--confirm', 'one=done'])
    expect(refused.code).toBe(5)
    expect(linesOf(refused.stderr).slice(-6)).toEqual([
      'With --yes you agree to continue from the recovered state',
      expect.stringMatching(/^"three" may already have taken effect, and is not idempotent: /),
      'To run again:',
      '  dogear resume r --confirm three=again --yes',
      'To count as done:',
      '  dogear resume r --confirm three=done --yes'
    ])
    place.write('fixed', '')
    expect((await place.dogear(['resume', 'r', '--confirm', 'three=again', '--yes'])).code).toBe(0)
  })

  test('printed commands leave out an answer about a completed step, which has no effect', async () => {
    await failedRun('r', three.replace('echo two >> log }', 'echo two >> log, idempotent: false }'))
    const refused = await place.dogear(['resume', 'r', '--confirm', 'one=done'])
    expect(refused.code).toBe(4)
    expect(linesOf(refused.stderr)).toContain('  dogear resume r --confirm two=again')
    const plan = await place.dogear(['plan', 'r', '--confirm', 'one=done'])
    expect(linesOf(plan.stdout)).toContain('  dogear resume r --confirm two=again')
    const answered = await place.dogear(['plan', 'r', '--confirm', 'one=done', '--confirm', 'two=again'])
    expect(answered.stderr).toBe('')
    const again = await place.dogear(['plan', 'r', '--confirm', 'one=again', '--confirm', 'two=again'])
    expect(again.stderr).toContain(
      'warning: --confirm one=again has no effect: one has completed. To run it again, use --from-step one\n'
    )
    expect(answered.stdout).toMatch(/\n {2}dogear resume r --confirm two=again --plan [0-9a-f]{16}\n/)
  })

  test('verify prints a resume that reopens a cancelled run and accepts its recovered state', async () => {
    await failedRun('r')
    expect((await place.dogear(['cancel', 'r'])).code).toBe(0)
    const journal = readFileSync(newestJournal(), 'utf8')
    writeFileSync(newestJournal(), journal.replace('"kind":"claim"', '"kind":"cl4im"'))
    const { stdout } = await place.dogear(['verify', 'r'])
    expect(stdout).toContain('To resume from the recovered state:\n      dogear resume r --reopen --yes\n')
    expect(stdout).toContain('the revisions in the lines after it are intact')
    expect(stdout.match(/dogear resume/g)).toHaveLength(1)
    place.write('fixed', '')
    expect((await place.dogear(['resume', 'r', '--reopen', '--yes'])).code).toBe(0)
  })

  test('recovered state is used only with consent; without it nothing changes', async () => {
    await failedRun('r')
    damage()
    const { code, stderr } = await place.dogear(['resume', 'r'])
    expect(code).toBe(5)
    expect(stderr).toContain('The newest state of run r is damaged')
    expect(stderr).toContain('  dogear resume r --yes\n')
    expect(place.read('log')).toBe('one\n')
    const verified = await place.dogear(['verify'])
    expect(verified.code).toBe(5)
    expect(verified.stdout).toMatch(/^! r {2}damaged, recoverable from .*, revision \d+\n {4}damage: /)
    const summarized = await place.dogear(['runs'])
    expect([summarized.stdout, summarized.stderr]).toEqual([expect.stringMatching(/^r /m), ''])
    const journal = readFileSync(newestJournal(), 'utf8')
    writeFileSync(newestJournal(), journal.slice(0, journal.trimEnd().lastIndexOf('\n') + 1))
    const listed = await place.dogear(['runs'])
    expect(listed.stdout).toMatch(/^r /m)
    expect(listed.stderr).toBe('warning: the newest state of run r is damaged. Check it with: dogear verify r\n')
    const plan = await place.dogear(['plan', 'r'])
    expect(plan.stdout).toContain('Its newest state is damaged')
    expect(plan.stdout).toContain('With --yes you agree to continue from the recovered state\n')
    place.write('fixed', '')
    const copied = linesOf(plan.stdout).at(-1) ?? ''
    expect(copied).toMatch(/^ {2}dogear resume r --plan [0-9a-f]{16} --yes$/)
    expect((await place.shell(copied)).code).toBe(0)
    expect((await place.dogear(['show', 'r', '--history'])).stdout).toContain('Recovered')
    expect((await place.dogear(['verify'])).stdout).toMatch(
      /^! r {2}newest state intact, revision \d+\n {2}history: revisions 2 to 4 are missing$/m
    )
  })

  test('an unreadable run is an error and breaks no listing', async () => {
    await failedRun('r')
    await place.dogear(['run', 'w.yml', '--id', 'whole'])
    truncateSync(newestJournal(), 0)
    writeFileSync(newestJournal(), '\0\0garbage\n'.repeat(3))
    writeFileSync(join(place.folder, '.dogear/runs/r/checkpoint.json'), 'null')
    const listed = await place.dogear(['runs'])
    expect(listed.code).toBe(0)
    expect(listed.stderr).toMatch(/^warning: Run r cannot be read/)
    expect(linesOf(listed.stdout)).toEqual([
      expect.stringMatching(/^RUN-ID/),
      expect.stringMatching(/^whole/),
      expect.stringMatching(/^r +\? +unreadable/)
    ])
    expect((await place.dogear(['resume', 'r'])).code).toBe(5)
    expect((await place.dogear(['verify', 'r'])).code).toBe(5)
    const all = await place.dogear(['verify', '--json'])
    expect(all.code).toBe(5)
    expect(JSON.parse(all.stdout)).toMatchObject([
      { run_id: 'whole', found: 'exact' },
      { run_id: 'r', found: 'damaged', error: { code: 'Corrupt' } }
    ])
    expect(existsSync(newestJournal())).toBe(true)
  })

  test.skipIf(process.getuid?.() === 0)(
    'a command that cannot write its state folder exits with 5 and prints EACCES',
    async () => {
      within({ 'w.yml': three })
      await place.shell('mkdir locked && chmod 500 locked')
      const { code, stderr } = await place.dogear(['run', 'w.yml', '--home', 'locked/state'])
      expect(code).toBe(5)
      expect(stderr).toContain('EACCES')
    }
  )

  test('a command whose state folder is a file exits with 5', async () => {
    within({ 'w.yml': three, state: 'not a folder' })
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--home', 'state'])
    expect(code).toBe(5)
    expect(stderr).toBe(
      `dogear: Cannot use ${place.folder}/state: it is not a folder; move it away, or pass another one\nAfter fixing this:\n  dogear run w.yml --home state\n`
    )
  })

  test('a run whose folder was moved writes nothing more, and dogear exits with 6', async () => {
    // `mv` is one call. During `rm -r` the run could write its copy into a folder that is already empty.
    within({ 'w.yml': 'steps: [{ shell: \'mv "$DOGEAR_HOME/runs/$DOGEAR_RUN_ID" gone\' }, { shell: touch never }]' })
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--id', 'r'])
    expect(code).toBe(6)
    expect(stderr).toMatch(
      /^Run r stopped: \/.+\/runs\/r was deleted or moved while the run was active\. Put it back and resume/m
    )
    expect(place.exists('never')).toBe(false)
  })
})

test('--force asks before it repeats the completed groups of an unfinished wave', async () => {
  within({
    'w.yml': 'steps: [{ wave: c, groups: { a: { shell: echo a >> log }, b: { shell: exit 1, needs: [a] } } }]'
  })
  await place.dogear(['run', 'w.yml', '--id', 'r'])
  const refused = await place.dogear(['resume', 'r', '--force'])
  expect([refused.code, linesOf(refused.stderr)[0]]).toEqual([4, 'dogear: --force runs 1 completed task again.'])
  expect(place.read('log')).toBe('a\n')
})

test('resume --force without consent in a pipe exits with 4, and --json prints ConsentMissing', async () => {
  within({ 'w.yml': 'steps: [{ name: a, shell: "true" }, { shell: exit 1 }]' })
  await place.dogear(['run', 'w.yml', '--id', 'r'])
  const { code, stdout } = await place.dogear(['resume', 'r', '--force', '--json'])
  expect([code, JSON.parse(stdout)]).toMatchObject([4, { error: { code: 'ConsentMissing' } }])
})

test('a command that runs a step again answers the question about it', async () => {
  within({
    'w.yml':
      'steps: [{ name: one, shell: echo x > out; echo one >> log, artifacts: [out], idempotent: false }, { name: two, shell: test -e go }]'
  })
  await place.dogear(['run', 'w.yml', '--id', 'r'])
  await place.shell('rm out; touch go')
  const refused = await place.dogear(['resume', 'r', '--from-step', 'two'])
  expect(linesOf(refused.stderr).slice(-2)).toEqual(['To run "one" again:', '  dogear resume r --confirm one=again'])
  expect((await place.shell(linesOf(refused.stderr).at(-1) ?? '')).code).toBe(0)
  expect(place.read('log')).toBe('one\none\n')
})

test('the command that runs an edited group again does not answer for a group in doubt beside it', async () => {
  const was = `steps:
  - wave: b
    groups:
      x: { shell: 'echo x >> log; sleep 0.3; test -e go || kill -9 $PPID', idempotent: false }
      y: { shell: echo y }
`
  within({ 'w.yml': was })
  await place.process(['run', 'w.yml', '--id', 'r'])
  place.write('go', '')
  place.write('w.yml', was.replace('echo y', 'echo Y'))
  const { stderr } = await place.dogear(['resume', 'r'])
  const lines = linesOf(stderr)
  expect(lines).toContain('To run again from "b/y" on:')
  const typed = lines[lines.indexOf('To run again from "b/y" on:') + 1] ?? ''
  expect(typed).toBe('  dogear resume r --from-step b/y')
  const asked = await place.shell(typed)
  expect([asked.code, place.read('log')]).toEqual([4, 'x\n'])
})

/** Changes a byte in the second line of a run's journal. */
const damaged = (id: string): void => {
  const file = `.dogear/runs/${id}/history/e000001.jsonl`
  place.write(
    file,
    place.read(file).replace(/\n.(?=.)/, (line) => `${line.slice(0, -1)}#`)
  )
}

test('the plan of a completed run in a recovered state prints the command that accepts it', async () => {
  within({ 'w.yml': 'steps: [{ name: a, shell: "true" }]' })
  await place.dogear(['run', 'w.yml', '--id', 'r'])
  damaged('r')
  const line = linesOf((await place.dogear(['plan', 'r'])).stdout).find((one) => one.includes('dogear resume r')) ?? ''
  expect(line).toContain('--yes')
  expect((await place.shell(line)).code).toBe(0)
  expect((await place.dogear(['fork', 'r', '--from-step', 'a', '--id', 'other'])).code).toBe(0)
})

test('verify of a damaged and edited run prints no consent to run completed steps again', async () => {
  const was = `steps:
  - { name: a, shell: 'true' }
  - { name: b, shell: echo b >> log, idempotent: false }
  - { name: c, shell: test -e go }
`
  within({ 'w.yml': was })
  await place.dogear(['run', 'w.yml', '--id', 'r'])
  damaged('r')
  place.write('w.yml', was.replace('echo b', 'echo B'))
  place.write('go', '')
  const { stdout } = await place.dogear(['verify', 'r'])
  const again = linesOf(stdout).filter((line) => line.includes('--from-step'))
  expect(again.length).toBeGreaterThan(0)
  for (const line of again) expect(line).not.toContain('--yes')
})

test('if --from-step names an item whose file was edited, the printed command answers for the item and not for its map', async () => {
  within({
    'w.yml':
      'steps: [{ wave: b, forEach: [x, y], key: item, each: { shell: echo $item > f-$item, artifacts: ["f-${item}"] } }, { name: d, shell: test -e go }]'
  })
  await place.dogear(['run', 'w.yml', '--id', 'r'])
  place.write('f-x', 'mine')
  place.write('go', '')
  const { stdout } = await place.dogear(['plan', 'r', '--from-step', 'b/x'])
  const line = linesOf(stdout).find((one) => one.includes('--confirm b/x=again')) ?? ''
  expect(line).not.toContain('b=again')
  expect((await place.shell(line)).code).toBe(0)
  expect(place.read('f-x')).toBe('x\n')
})

test('if an edit drops a group of a wave, the printed acceptance does not promise to keep the whole wave', async () => {
  const was =
    'steps: [{ wave: b, groups: { x: { shell: echo x }, y: { shell: echo y } } }, { name: c, shell: test -e go }]'
  within({ 'w.yml': was })
  await place.dogear(['run', 'w.yml', '--id', 'r'])
  place.write('w.yml', was.replace(', y: { shell: echo y }', ''))
  const { stderr } = await place.dogear(['resume', 'r'])
  expect(linesOf(stderr)).toContain('To accept the change and keep the results of "b/x" and drop those of "b/y":')
})

test.each([
  ['b', 'drop the results of "a", whose evidence is missing:'],
  ['c', 'drop the results of "a", "b" (the evidence of "a" is missing):']
])(
  'the printed acceptance of an edit says which missing evidence drops results, up to step %s',
  async (fails, what) => {
    const shellOf = (name: string): string => (name === fails ? 'test -e go' : `echo > f-${name}`)
    const flow = (of: string): string =>
      `steps: [{ name: a, shell: ${of}, artifacts: [f-a] }, { name: b, shell: ${shellOf('b')} }, { name: c, shell: ${shellOf('c')} }]`
    within({ 'w.yml': flow('echo > f-a') })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    place.write('w.yml', flow('printf a > f-a'))
    await place.shell('rm f-a')
    const { stderr } = await place.dogear(['resume', 'r'])
    expect(linesOf(stderr)).toContain(`To accept the change and ${what}`)
  }
)

test('a removed step in doubt does not hide the remedy for another edit', async () => {
  const was = `steps:
  - { name: a, shell: 'true' }
  - { name: b, shell: 'true' }
  - { name: pay, shell: exit 1, idempotent: false }
`
  within({ 'w.yml': was })
  await place.dogear(['run', 'w.yml', '--id', 'r'])
  place.write(
    'w.yml',
    was.replace(/ {2}- { name: pay.*\n/, '').replace("{ name: a, shell: 'true' }", '{ name: a, shell: echo }')
  )
  const { code, stderr } = await place.dogear(['resume', 'r'])
  expect(code).toBe(4)
  expect(stderr).toContain('"pay" was removed, but is not idempotent')
  expect(linesOf(stderr)).toContain('After that, undo the other edit, or accept it with --changes ignore')
})

test('a resume with two removed steps in doubt and one other edit names that edit in the singular', async () => {
  const was = `steps:
  - { name: a, shell: 'true' }
  - wave: both
    groups:
      pay: { shell: exit 1, idempotent: false }
      book: { shell: exit 1, idempotent: false }
      mail: { shell: exit 1 }
`
  within({ 'w.yml': was })
  await place.dogear(['run', 'w.yml', '--id', 'r'])
  place.write('w.yml', was.replace(/ {6}(pay|book):.*\n/g, '').replace("shell: 'true'", 'shell: echo'))
  const { code, stderr } = await place.dogear(['resume', 'r'])
  expect(code).toBe(4)
  expect(stderr).toContain('"both/book" was removed, but is not idempotent')
  expect(linesOf(stderr)).toContain('After that, undo the other edit, or accept it with --changes ignore')
})

test('beside a removed step in doubt, the message asks to undo an edit that makes a completed step another kind', async () => {
  const was = `steps:
  - { name: a, shell: 'true' }
  - { name: pay, shell: exit 1, idempotent: false }
`
  within({ 'w.yml': was })
  await place.dogear(['run', 'w.yml', '--id', 'r'])
  place.write('w.yml', "steps: [{ wave: a, groups: { x: { shell: 'true' } } }]")
  const { code, stderr } = await place.dogear(['resume', 'r'])
  expect(code).toBe(4)
  expect(linesOf(stderr)).toContain('After that, undo the other edit')
})

test('the command that accepts an edit answers no question, and keeps the flags that were typed', async () => {
  const was = `steps:
  - { name: a, shell: echo made > out, artifacts: [out] }
  - { name: b, shell: 'true' }
  - { name: pay, shell: echo paid >> log; test -e go, idempotent: false }
`
  within({ 'w.yml': was })
  await place.dogear(['run', 'w.yml', '--id', 'r'])
  place.write('w.yml', was.replace("shell: 'true'", 'shell: echo'))
  place.write('out', 'mine\n')
  place.write('go', '')
  const { stderr } = await place.dogear(['resume', 'r'])
  expect(linesOf(stderr).slice(-2)).toEqual(['To accept the change:', '  dogear resume r --changes ignore'])
  const typed = await place.shell(linesOf(stderr).at(-1) ?? '')
  expect(typed.code).toBe(4)
  expect(typed.stderr).toContain('its evidence changed since: out')
  expect([place.read('out'), place.read('log')]).toEqual(['mine\n', 'paid\n'])
  const flagged = await place.dogear(['resume', 'r', '--confirm', 'pay=done', '--yes'])
  expect(linesOf(flagged.stderr)).toContain('  dogear resume r --changes ignore --confirm pay=done --yes')
})

/** Artifacts that a user edits between a failure and the resume raise a question and are never overwritten silently. */
import { afterEach, describe, expect, test } from 'vitest'
import { linesOf, type Sandbox, sandbox } from './dogear.js'
import { answering, hasTerminal, onTerminal } from './onTerminal.js'

let place: Sandbox
afterEach(() => place.remove())

/** `generate` writes gen.js, and `check` fails until a user fixes it. */
const workflow = `name: w
steps:
  - { name: generate, shell: 'echo generate >> log; echo broken > gen.js', artifacts: [gen.js] }
  - { name: check, shell: 'echo check >> log; grep -q fixed gen.js' }
  - { name: publish, shell: echo publish >> log }
`

/** A failed run whose gen.js was fixed by hand. */
const fixed = async (text = workflow): Promise<void> => {
  place = sandbox({ 'w.yml': text })
  expect((await place.dogear(['run', 'w.yml', '--id', 'r'])).code).toBe(1)
  place.write('gen.js', 'fixed\n')
  place.write('log', '')
}

/** A failed run of a wave and a step, whose artifacts were both edited by hand. */
const bothEdited = async (): Promise<void> => {
  place = sandbox({
    'w.yml': `name: w
steps:
  - wave: g
    groups:
      b: { shell: echo made > b.txt, artifacts: [b.txt] }
  - { name: mid, shell: echo made > m.txt, artifacts: [m.txt] }
  - { name: end, shell: 'false' }
`
  })
  await place.dogear(['run', 'w.yml', '--id', 'r'])
  place.write('b.txt', 'by hand\n')
  place.write('m.txt', 'by hand\n')
}

const ran = (): readonly string[] => linesOf(place.read('log'))

const revision = async (): Promise<unknown> =>
  (JSON.parse((await place.dogear(['show', 'r', '--json'])).stdout) as { revision: number }).revision

describe('an artifact edited by hand, in a pipe', () => {
  test.each([{ flags: [] }, { flags: ['--yes'] }, { flags: ['--changes', 'ignore'] }])(
    'if an artifact was edited by hand, a resume is refused, names the file and changes nothing: $flags',
    async ({ flags }) => {
      await fixed()
      const before = await revision()
      const { code, stderr } = await place.dogear(['resume', 'r', ...flags])
      expect(code).toBe(4)
      expect(stderr).toContain('"generate" completed, but its evidence changed since: gen.js\n')
      for (const answer of ['again', 'keep', 'done'])
        expect(stderr).toMatch(new RegExp(`^ {2}dogear resume r.* --confirm generate=${answer}( --yes)?$`, 'm'))
      expect(stderr).toContain(
        'let later runs check only that they exist: write expect: { files: [gen.js] } instead of artifacts\n'
      )
      expect(ran()).toEqual([])
      expect(place.read('gen.js')).toBe('fixed\n')
      expect(await revision()).toBe(before)
      const json = await place.dogear(['resume', 'r', '--json', ...flags])
      expect(json.code).toBe(4)
      const { error } = JSON.parse(json.stdout) as { error: { code: string; message: string } }
      expect(error.code).toBe('Unconfirmed')
      expect(error.message).toContain('gen.js')
    }
  )

  test('the printed command to keep an edited artifact keeps it, and the next resume asks nothing', async () => {
    await fixed()
    const { stderr } = await place.dogear(['resume', 'r'])
    const [, keep = ''] = /^ {2}(dogear resume r --confirm generate=keep)$/m.exec(stderr) ?? []
    const { code, stderr: printed } = await place.shell(keep)
    expect(printed).toContain('Kept with changes: gen.js of generate\n')
    expect(code).toBe(0)
    expect(ran()).toEqual(['check', 'publish'])
    expect(place.read('gen.js')).toBe('fixed\n')
    expect(await place.dogear(['resume', 'r'])).toMatchObject({ code: 0, stderr: 'Run r: nothing left to do\n' })
    expect((await place.dogear(['show', 'r', '--history'])).stdout).toContain('Confirmed')
  })

  test('the printed command to make an edited artifact again makes it', async () => {
    await fixed()
    const { stderr } = await place.dogear(['resume', 'r'])
    const [, again = ''] = /^ {2}(dogear resume r --confirm generate=again)$/m.exec(stderr) ?? []
    expect((await place.shell(again)).code).toBe(1)
    expect(ran()).toEqual(['generate', 'check'])
    expect(place.read('gen.js')).toBe('broken\n')
  })

  test('the printed command to count an edited artifact as done runs all later steps again', async () => {
    const first = workflow
      .replace('grep -q fixed gen.js', 'true')
      .replace('publish >> log', 'publish >> log; grep -q fixed gen.js')
    await fixed(first)
    const { stderr } = await place.dogear(['resume', 'r'])
    const [, done = ''] = /^ {2}(dogear resume r --confirm generate=done)$/m.exec(stderr) ?? []
    expect((await place.shell(done)).code).toBe(0)
    expect(ran()).toEqual(['check', 'publish'])
    expect((await place.dogear(['resume', 'r'])).stderr).toBe('Run r: nothing left to do\n')
  })

  test('--from-step of a later step keeps an edited artifact and reports it', async () => {
    await fixed()
    expect((await place.dogear(['plan', 'r', '--from-step', 'check'])).stdout).toMatch(
      /skip +generate +completed; kept with changes: gen\.js/
    )
    const { code, stderr } = await place.dogear(['resume', 'r', '--from-step', 'check'])
    expect(code).toBe(0)
    expect(stderr).toContain('Kept with changes: gen.js of generate\n')
    expect(ran()).toEqual(['check', 'publish'])
    expect((await place.dogear(['resume', 'r'])).stderr).toBe('Run r: nothing left to do\n')
  })

  test('--force and --from-step of the same step overwrite an edited artifact only with an answer; --yes is not an answer', async () => {
    await fixed()
    for (const flags of [
      ['--force'],
      ['--from-step', 'generate'],
      ['--force', '--yes'],
      ['--from-step', 'generate', '--yes']
    ]) {
      const { code, stderr } = await place.dogear(['resume', 'r', ...flags])
      expect(code).toBe(4)
      expect(stderr).toContain('"generate" completed, but its evidence changed since: gen.js\n')
      expect(place.read('gen.js')).toBe('fixed\n')
      // The consent to a repetition belongs only to the command that repeats.
      expect(linesOf(stderr).at(-1)).toBe('  dogear resume r')
    }
    const { stderr } = await place.dogear(['resume', 'r', '--from-step', 'generate'])
    expect(linesOf(stderr).slice(-2)).toEqual([
      'To resume without --from-step, and answer for the changes first:',
      '  dogear resume r'
    ])
    // The printed command omits the answer for `check`: a resume without --from-step would refuse it.
    const answered = await place.dogear(['resume', 'r', '--from-step', 'generate', '--confirm', 'check=again'])
    expect(linesOf(answered.stderr).at(-1)).toBe('  dogear resume r')
    const [, again = ''] = /^ {2}(dogear resume r --from-step generate .*)$/m.exec(stderr) ?? []
    expect(again).toContain('--confirm generate=again')
    expect((await place.shell(again)).code).toBe(1)
    expect(ran()).toEqual(['generate', 'check'])
  })

  test('the command printed after a failed wave check does not overwrite an edited artifact', async () => {
    await fixed(`name: w
steps:
  - wave: gen
    after: grep -q good gen.js
    groups:
      code: { shell: 'echo bad > gen.js', artifacts: [gen.js] }
      mail: { shell: echo sent >> mails, idempotent: false }
`)
    const { code, stderr } = await place.dogear(['resume', 'r', '--restart-wave', 'gen', '--yes'])
    expect(code).toBe(4)
    expect(stderr).toContain('"gen/code" completed, but its evidence changed since: gen.js\n')
    expect(place.read('gen.js')).toBe('fixed\n')
    const [, again = ''] = /^ {2}(dogear resume r --restart-wave gen .*)$/m.exec(stderr) ?? []
    expect((await place.shell(again)).code).toBe(1)
    expect(place.read('gen.js')).toBe('bad\n')
  })

  test('--restart-wave names an edited artifact for each group that recorded it, and does not overwrite a kept artifact', async () => {
    place = sandbox({
      'w.yml': `name: w
steps:
  - wave: make
    groups:
      a: { shell: echo made > v, artifacts: [v] }
  - { name: sign, shell: echo signed >> v, artifacts: [v] }
  - { name: check, shell: grep -q hand v }
`
    })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    place.write('v', 'by hand\n')
    const { code, stderr } = await place.dogear(['resume', 'r', '--restart-wave', 'make'])
    expect(code).toBe(4)
    expect(stderr).toContain('"make/a" completed, but its evidence changed since: v\n')
    const kept = await place.dogear(['resume', 'r', '--restart-wave', 'make', '--confirm', 'sign=keep'])
    expect(kept.code).toBe(4)
    expect(kept.stderr).toContain('"make/a" completed, but its evidence changed since: v\n')
    expect(place.read('v')).toBe('by hand\n')
  })

  test.each(['--force', '--from-step g'])(
    'plan %s names an edited artifact, and the printed command makes it again',
    async (flags) => {
      await bothEdited()
      const words = flags.split(' ')
      const { stdout } = await place.dogear(['plan', 'r', ...words])
      expect(stdout).toContain('This would overwrite changes to b.txt of g/b, m.txt of mid.\n')
      const { overwrites } = JSON.parse((await place.dogear(['plan', 'r', '--json', ...words])).stdout) as {
        overwrites: unknown
      }
      expect(overwrites).toEqual([
        { unit: 'g/b', changed: ['b.txt'] },
        { unit: 'mid', changed: ['m.txt'] }
      ])
      const pattern = /^ {2}(dogear resume r .* --confirm g\/b=again --confirm mid=again --plan \w{16}(?: --yes)?)$/m
      const [, again = ''] = pattern.exec(stdout) ?? []
      expect((await place.shell(again)).code).toBe(1)
      expect([place.read('b.txt'), place.read('m.txt')]).toEqual(['made\n', 'made\n'])
    }
  )

  test('plan --restart-wave names an edited artifact beside questions of later steps, and its first command makes it again', async () => {
    await bothEdited()
    const { stdout } = await place.dogear(['plan', 'r', '--restart-wave', 'g'])
    expect(stdout).toContain('This would overwrite changes to b.txt of g/b.\n')
    expect(stdout).toContain('"mid" completed, but its evidence changed since: m.txt\n')
    const [, again = ''] = /^ {2}(dogear resume r .* --confirm g\/b=again --confirm mid=again)$/m.exec(stdout) ?? []
    expect((await place.shell(again)).code).toBe(1)
    expect([place.read('b.txt'), place.read('m.txt')]).toEqual(['made\n', 'made\n'])
  })

  test('--force warns if it cannot read the evidence of steps', async () => {
    place = sandbox({
      'w.yml': `name: w
steps:
  - { name: tag, shell: 'git commit --allow-empty -qm x && git rev-parse HEAD', capture: c, commits: ["\${c}"] }
  - { name: generate, shell: 'echo made > gen.js', artifacts: [gen.js] }
`
    })
    await place.shell(
      'git init -q . && git config user.email a@b.c && git config user.name a && git commit --allow-empty -qm first'
    )
    expect((await place.dogear(['run', 'w.yml', '--id', 'r'])).code).toBe(0)
    place.write('gen.js', 'by hand\n')
    await place.shell(
      'git commit --allow-empty -qm later; git rev-parse HEAD > .git/shallow; git reflog expire --expire=now --all; git gc -q --prune=now'
    )
    const { code, stderr } = await place.dogear(['resume', 'r', '--force'])
    expect(code).toBe(4)
    expect(stderr).toContain('warning: cannot read the evidence of steps, so changes to it are unknown: ')
    expect(place.read('gen.js')).toBe('by hand\n')
  })

  test('plan shows an edited artifact as a question, also as JSON', async () => {
    await fixed()
    const { stdout } = await place.dogear(['plan', 'r'])
    expect(stdout).toMatch(/1\/3 +confirm +generate +evidence changed: gen\.js/)
    expect(stdout).toMatch(/2\/3 +retry +check/)
    expect(stdout).toMatch(/^ {2}dogear resume r --confirm generate=keep$/m)
    const json = JSON.parse((await place.dogear(['plan', 'r', '--json'])).stdout) as { decisions: unknown[] }
    expect(json).toMatchObject({
      questions: [{ unit: 'generate', reason: 'EvidenceChanged', answers: ['again', 'keep', 'done'] }],
      decisions: [
        { action: 'confirm', reason: 'EvidenceChanged', changed: ['gen.js'] },
        { action: 'retry' },
        { action: 'run' }
      ]
    })
  })

  test.each([
    ['offers to keep an edited file of a completed map', 'true', ['again', 'keep', 'done']],
    ['does not offer to keep an edited file of an unfinished map', 'test $item = a', ['again', 'done']]
  ])('a resume %s that runs again as a whole', async (_, check, answers) => {
    place = sandbox({
      'w.yml': `name: w
steps:
  - { name: list, shell: touch list; echo a; echo b, capture: items, artifacts: [list] }
  - wave: make
    forEach: items
    key: item
    concurrency: 1
    each: { idempotent: false, shell: '${check} && echo made > $item.html', artifacts: ['\${item}.html'] }
  - { name: end, shell: 'false' }
`
    })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    place.write('a.html', 'by hand')
    await place.shell('rm list')
    const { stderr, code } = await place.dogear(['resume', 'r'])
    expect(code).toBe(4)
    const offered = [...stderr.matchAll(/^ {2}dogear resume r --confirm make=(\w+)$/gm)].map(([, answer]) => answer)
    expect(offered).toEqual(answers)
  })

  test('plan and verify name the steps that may raise a question once the one about an edited artifact is answered', async () => {
    await fixed(workflow.replace("grep -q fixed gen.js' }", "false', idempotent: false }"))
    const { stdout } = await place.dogear(['plan', 'r'])
    expect(stdout).toContain('2 questions to answer\n')
    expect(stdout).toContain('\nAfter these answers, "check" may need one, too\n')
    expect((await place.dogear(['verify', 'r'])).stdout).toContain(
      '    After these answers, "check" may need one, too\n'
    )
    const next = await place.dogear(['plan', 'r', '--confirm', 'generate=keep'])
    expect(next.stdout).toContain('1 question to answer\n')
    expect(next.stdout).not.toContain('After these answers')
  })

  test('an edited file raises no question if only its existence is expected', async () => {
    await fixed(workflow.replace('artifacts: [gen.js]', 'expect: { files: [gen.js] }'))
    expect((await place.dogear(['resume', 'r'])).code).toBe(0)
    expect(ran()).toEqual(['check', 'publish'])
  })

  test('an edited artifact that two steps recorded raises one question, at the later step, and the answer "again" runs both steps', async () => {
    const two = workflow.replace(
      '  - { name: check',
      `  - { name: sign, shell: 'echo sign >> log; echo signed >> gen.js', artifacts: [gen.js] }\n  - { name: check`
    )
    await fixed(two)
    const { code, stderr } = await place.dogear(['resume', 'r'])
    expect(code).toBe(4)
    expect(stderr).toContain('"sign" completed, but its evidence changed since: gen.js\n')
    expect(stderr).not.toContain('"generate" completed')
    expect((await place.dogear(['resume', 'r', '--confirm', 'sign=again'])).code).toBe(1)
    expect(ran()).toEqual(['generate', 'sign', 'check'])
  })
})

describe.skipIf(!hasTerminal)('an artifact edited by hand, on a terminal', () => {
  const question = 'Run it again and overwrite the changes, keep the changes, or count it as done? [again/keep/done] '

  test.each([
    ['keep\n', 0, ['check', 'publish'], 'fixed\n'],
    ['k\n', 0, ['check', 'publish'], 'fixed\n'],
    ['perhaps\nagain\n', 1, ['generate', 'check'], 'broken\n'],
    ['done\n', 0, ['check', 'publish'], 'fixed\n'],
    ['\x04', 4, [], 'fixed\n']
  ])(
    'an edited artifact raises a question on a terminal, and the answer %j is obeyed',
    async (answer, code, steps, content) => {
      await fixed()
      const ended = await answering(onTerminal(place, ['resume', 'r', '--yes']), [question, answer])
      expect(ended.stdout).toContain('"generate" completed, but its evidence changed since: gen.js\n')
      expect(ended.code).toBe(code)
      expect(ran()).toEqual(steps)
      expect(place.read('gen.js')).toBe(content)
    }
  )

  test('an artifact edited again after the question was shown is not covered by the answer: nothing runs', async () => {
    await fixed()
    const asked = onTerminal(place, ['resume', 'r'])
    await asked.said(question)
    place.write('gen.js', 'fixed otherwise\n')
    const { code, stdout } = await answering(asked, [question, 'again\n'])
    expect(code).toBe(4)
    expect(stdout).toContain('The plan is not the reviewed one: ')
    expect(ran()).toEqual([])
    expect(place.read('gen.js')).toBe('fixed otherwise\n')
  })
})

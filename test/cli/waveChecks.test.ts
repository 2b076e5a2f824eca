/** A failed check of a wave: the prompts on a terminal, and the output for a pipe. */
import { afterEach, describe, expect, test } from 'vitest'
import { linesOf, type Sandbox, sandbox } from './dogear.js'
import { answering, hasTerminal, onTerminal } from './onTerminal.js'

let place: Sandbox
afterEach(() => place.remove())

/** The check after `checks` holds once `unit` has run twice or the file ok exists; the check before `checks` holds unless the file stop exists. */
const workflow = `name: w
steps:
  - wave: build
    groups:
      js: { shell: 'echo js >> log; rm -f stop' }
  - wave: checks
    concurrency: 1
    before: test ! -e stop
    after: test -e ok || test "$(grep -c unit log)" -ge 2
    groups:
      unit: { shell: echo unit >> log }
      lint: { shell: echo lint >> log }
  - { name: publish, shell: echo publish >> log }
`
const harmful = workflow.replace('lint >> log', 'lint >> log, idempotent: false')
const waiting = workflow.replace('; rm -f stop', '; test -e second && rm -f stop || touch stop second')

const ran = (): readonly string[] => linesOf(place.read('log'))

const failed = async (text = workflow, ...flags: ReadonlyArray<string>) => {
  place = sandbox({ 'w.yml': text })
  return await place.dogear(['run', 'w.yml', '--id', 'r', ...flags])
}

describe('a wave whose `after` check failed, in a pipe', () => {
  test('the command that a failed wave check prints for a restart runs the groups of the wave again', async () => {
    const { code, stderr } = await failed()
    expect(code).toBe(1)
    expect(stderr).toContain('error: it ran, but a check failed: test -e ok')
    expect(stderr).toContain('After fixing this, repeat the check with:\n  dogear resume r\n')
    const [, restart = ''] = /^To run the groups of "checks" again:\n {2}(dogear resume r .+)$/m.exec(stderr) ?? []
    const again = await place.shell(restart)
    expect(again.stderr).toContain(
      'Completed before, running again:\n  checks/unit: as requested\n  checks/lint: as requested\n'
    )
    expect(again.code).toBe(0)
    expect(ran()).toEqual(['js', 'unit', 'lint', 'unit', 'lint', 'publish'])
  })

  test('a plain resume after a failed wave check repeats only the check, and no group runs', async () => {
    await failed()
    expect((await place.dogear(['resume', 'r'])).code).toBe(1)
    place.write('ok', '')
    expect((await place.dogear(['resume', 'r'])).code).toBe(0)
    expect(ran()).toEqual(['js', 'unit', 'lint', 'publish'])
  })

  test('the restart command of a failed wave check names a group that is not idempotent, and runs it again', async () => {
    const { stderr } = await failed(harmful)
    const [, restart = ''] =
      /^To run the groups of "checks" again, including steps that are not idempotent \(checks\/lint\):\n {2}(.+)$/m.exec(
        stderr
      ) ?? []
    expect(restart).toBe('dogear resume r --restart-wave checks --yes')
    expect((await place.shell(restart)).code).toBe(0)
    expect(ran()).toEqual(['js', 'unit', 'lint', 'unit', 'lint', 'publish'])
  })

  test('with --json a failed wave check prints the commands to resume and to restart the wave', async () => {
    const { stdout } = await failed(workflow, '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'failed',
      failures: [{ unit: 'checks', error: { code: 'CHECK_FAILED' } }],
      resume_command: 'dogear resume r',
      restart_wave_command: 'dogear resume r --restart-wave checks'
    })
  })

  test('a wave with `onCheckFailure: retry` runs up to three times', async () => {
    const { code } = await failed(workflow.replace('    before:', '    onCheckFailure: retry\n    before:'))
    expect(code).toBe(0)
    expect(ran()).toEqual(['js', 'unit', 'lint', 'unit', 'lint', 'publish'])
  })
})

describe('a wave whose `before` check failed, in a pipe', () => {
  test('the command that a failed check before a wave prints runs the previous wave again', async () => {
    const { code, stderr } = await failed(waiting)
    expect(code).toBe(1)
    expect(stderr).toContain('error: not started, because a check failed: test ! -e stop')
    expect((await place.dogear(['resume', 'r'])).code).toBe(1)
    expect(ran()).toEqual(['js'])
    const [, restart = ''] = /^To run again from "build" on:\n {2}(dogear resume r .+)$/m.exec(stderr) ?? []
    place.write('ok', '')
    expect((await place.shell(restart)).code).toBe(0)
    expect(ran()).toEqual(['js', 'js', 'unit', 'lint', 'publish'])
  })

  test('a wave that does not start because an artifact changed prints the possible answers', async () => {
    const { stderr, stdout } = await failed(
      `name: w
steps:
  - { name: spec, shell: 'echo spec >> log; echo 1 > spec.txt', artifacts: [spec.txt] }
  - { name: edit, shell: 'echo edit >> log; echo 2 > spec.txt' }
  - { wave: checks, groups: { unit: { shell: echo unit >> log } } }
`,
      '--json'
    )
    expect(stderr).toContain('error: not started, because a check failed: spec.txt of spec changed')
    expect(stderr).not.toMatch(/^ {2}dogear resume r$/m)
    expect(JSON.parse(stdout)).toMatchObject({ questions: [{ unit: 'spec' }] })
    const [, keep = ''] = /^ {2}(dogear resume r --confirm spec=keep)$/m.exec(stderr) ?? []
    expect((await place.shell(keep)).code).toBe(0)
    expect(ran()).toEqual(['spec', 'edit', 'unit'])
  })

  test('a failed check before a wave prints no restart command that would be refused because of changed evidence', async () => {
    const { stderr } = await failed(`name: w
steps:
  - { name: spec, shell: echo 1 > spec.txt, artifacts: [spec.txt] }
  - { wave: edit, groups: { one: { shell: echo 2 > spec.txt } } }
  - { wave: checks, groups: { unit: { shell: 'true' } } }
`)
    expect(stderr).toContain('error: not started, because a check failed: spec.txt of spec changed')
    expect(stderr).toContain('dogear resume r --confirm spec=keep')
    expect(stderr).not.toContain('--restart-wave')
  })

  test('a failed check before a wave whose completed group is not idempotent prints no restart of the previous wave', async () => {
    const text = `name: w
steps:
  - wave: first
    groups: { x: { shell: echo x } }
  - wave: second
    before: test ! -e stop
    groups: { pay: { shell: echo paid >> log, idempotent: false }, other: { shell: test -e go } }
`
    await failed(text)
    place.write('stop', '')
    const { code, stderr } = await place.dogear(['resume', 'r'])
    expect([code, stderr.includes('--restart-wave'), ran()]).toEqual([1, false, ['paid']])
  })

  test('a failed check before the first wave prints no restart of a previous wave', async () => {
    const { stderr } = await failed(workflow.replace('  - wave: build', '  - wave: build\n    before: "false"'))
    expect(stderr).toContain('error: not started, because a check failed: false')
    expect(stderr).not.toContain('--restart-wave')
  })
})

describe.skipIf(!hasTerminal)('a wave whose check failed, on a terminal', () => {
  const AFTER = 'Run its groups again, look again, continue anyway, or abort? [retry/look again/continue/abort] '
  const BEFORE = 'Look again, run "build" again, continue anyway, or abort? [look again/previous wave/continue/abort] '
  const once = ['js', 'unit', 'lint']

  const asked = async (text: string, ...dialogue: ReadonlyArray<readonly [string | RegExp, string]>) => {
    place = sandbox({ 'w.yml': text })
    return await answering(onTerminal(place, ['run', 'w.yml', '--id', 'r']), ...dialogue)
  }

  test.each([
    ['retry\n', 0, [...once, 'unit', 'lint', 'publish']],
    ['look again\nretry\n', 0, [...once, 'unit', 'lint', 'publish']],
    ['continue\n', 0, [...once, 'publish']],
    ['perhaps\nabort\n', 1, once],
    ['\x04', 1, once]
  ])('a failed check after a wave prompts on a terminal, and the answer %j is obeyed', async (answer, code, steps) => {
    const ended = await asked(workflow, [AFTER, answer])
    expect(ended.code).toBe(code)
    expect(ran()).toEqual(steps)
    expect(ended.stdout.includes('Completed before, running again:\n  checks/unit: as requested')).toBe(
      answer.includes('retry')
    )
    expect(ended.stdout.includes('dogear resume r --restart-wave checks')).toBe(code === 1)
  })

  test.each([
    ['previous wave\n', 0, ['js', 'js', 'unit', 'lint', 'publish']],
    ['look again\nprevious wave\n', 0, ['js', 'js', 'unit', 'lint', 'publish']],
    ['continue\n', 0, ['js', 'unit', 'lint', 'publish']],
    ['abort\n', 1, ['js']]
  ])('a failed check before a wave prompts on a terminal, and the answer %j is obeyed', async (answer, code, steps) => {
    const ended = await asked(waiting.replace('test -e ok ||', 'true ||'), [BEFORE, answer])
    expect(ended.stdout).toContain('"checks" cannot start:')
    expect(ended.code).toBe(code)
    expect(ran()).toEqual(steps)
  })

  test('a failed check after a wave in a group offers no answer that runs its groups again', async () => {
    const nested = `name: w
steps:
  - wave: outer
    groups:
      one:
        steps:
          - { wave: inner, after: test -e ok, groups: { unit: { shell: echo unit >> log } } }
`
    const question = 'Look again, continue anyway, or abort? [look again/continue/abort] '
    const ended = await asked(nested, [question, 'retry\n'], [/or abort\?[^]+or abort\?/, 'continue\n'])
    expect(ended.code).toBe(0)
    expect(ran()).toEqual(['unit'])
  })

  test('groups that are not idempotent run again only after the answer "yes"', async () => {
    const agree = 'This completed step is not idempotent, and would run again: checks/lint. Continue?'
    const ended = await asked(harmful, [AFTER, 'retry\n'], [agree, 'n\n'], [/or abort\?[^]+or abort\?/, 'abort\n'])
    expect(ended.code).toBe(1)
    expect(ran()).toEqual(once)
    place.remove()
    expect((await asked(harmful, [AFTER, 'retry\n'], [agree, 'y\n'])).code).toBe(0)
    expect(ran()).toEqual([...once, 'unit', 'lint', 'publish'])
  })
})

/** The command when its state vanishes during a run, and when a resource limit is too low. */
import { afterEach, describe, expect, test } from 'vitest'
import { main, type Sandbox, sandbox } from './dogear.js'

let box: Sandbox

afterEach(() => {
  box.remove()
})

const workflow = (script: string): string => `name: lost
steps:
  - name: first
    shell: echo first >> log
  - name: second
    shell: |
      ${script}
  - name: third
    shell: echo third >> log
`

/** Suspends the run during the script, so that it never sees an intermediate state. */
const unseen = (script: string): string => `kill -STOP $PPID; ${script}; kill -CONT $PPID`

const REMEDY = /put it back and resume, or start the run again/i

describe.skipIf(process.platform === 'win32')('lost state of a live run', () => {
  test.each([
    ['the whole state folder is deleted', 'rm -rf .dogear', /\.dogear was deleted or moved/, REMEDY],
    ['its own folder is deleted', 'rm -rf .dogear/runs/r1', /runs\/r1 was deleted or moved/, REMEDY],
    ['its journals are deleted', 'rm .dogear/runs/r1/history/*', /e000001\.jsonl was deleted or moved/, REMEDY],
    [
      'its folder is replaced by a copy',
      'cp -r .dogear/runs/r1 kept && rm -rf .dogear/runs/r1 && mv kept .dogear/runs/r1',
      /e000001\.jsonl was replaced by another file/,
      /resume the run/i
    ]
  ])('a run reports what happened when %s', async (_, script, happened, remedy) => {
    box = sandbox({ 'w.yml': workflow(unseen(script)) })
    const { code, stderr } = await box.process(['run', 'w.yml', '--id', 'r1'])
    expect(stderr).toMatch(happened)
    expect(stderr).toMatch(remedy)
    expect(stderr).toContain('while the run was active')
    expect(stderr).not.toContain('taken over')
    expect(code).toBe(6)
    expect(box.read('log')).toBe('first\n')
  })

  test('deleting a run during a long step stops the step', async () => {
    box = sandbox({ 'w.yml': workflow('until rm -rf .dogear; do sleep 0.1; done; sleep 60') })
    const begun = Date.now()
    const { code, stderr } = await box.process(['run', 'w.yml', '--id', 'r1'])
    expect(stderr).toContain('.dogear was deleted or moved')
    expect(code).toBe(6)
    expect(Date.now() - begun).toBeLessThan(25_000)
  })
})

/** Resumes the run, or starts it if nothing was saved. */
const goOn = async (): Promise<void> => {
  const resumed = await box.process(['resume', 'r1'])
  const ended = resumed.code === 3 ? await box.process(['run', 'w.yml', '--id', 'r1']) : resumed
  expect(ended.code, ended.stderr).toBe(0)
}

/** Runs the command in a shell with this resource limit. */
const limited = (limit: string, ...words: readonly string[]) =>
  box.shell(`exec bash -c '${limit}; exec "$0" "$@"' '${process.execPath}' '${main}' ${words.join(' ')}`)

const large = (name: string): string => `  - name: ${name}
    shell: echo ${name} >> log; head -c 60000 /dev/zero | tr '\\0' x
    capture: ${name}
`

describe.skipIf(process.platform !== 'linux')('an exhausted resource', () => {
  test('the command reports a limit on open files with the remedy', async () => {
    const codes = new Set<number | null>()
    for (const files of [20, 24, 28, 40, 60]) {
      box = sandbox({ 'w.yml': workflow('echo second >> log') })
      const { code, stderr } = await limited(`ulimit -n ${files}`, 'run', 'w.yml', '--id', 'r1')
      expect(stderr, `${files} files`).not.toContain('bug')
      expect([0, 5], `${files} files: ${stderr}`).toContain(code)
      if (code === 5) expect(stderr, `${files} files`).toMatch(/EMFILE.*ulimit -n/)
      codes.add(code)
      await goOn()
      expect(box.read('log')).toBe('first\nsecond\nthird\n')
      box.remove()
    }
    expect([...codes]).toContain(5)
  })

  test('a resume that could save nothing prints a command with all its flags, because no flag was recorded', async () => {
    box = sandbox({ 'w.yml': `name: large\nsteps:\n${['a', 'b', 'c'].map(large).join('')}` })
    expect((await box.process(['run', 'w.yml', '--id', 'r1'])).code).toBe(0)
    const { code, stderr } = await limited('ulimit -f 0', 'resume', 'r1', '--force', '--yes')
    expect({ code, log: box.read('log') }).toEqual({ code: 5, log: 'a\nb\nc\n' })
    const [, command = ''] = /After fixing this:\n {2}(.*)\n/.exec(stderr) ?? []
    expect(command).toBe('dogear resume r1 --force --yes')
    expect((await box.shell(command)).code).toBe(0)
    expect(box.read('log')).toBe('a\nb\nc\na\nb\nc\n')
    box.remove()
  })

  test('the command reports a limit on file sizes with the remedy', async () => {
    const codes = new Set<number | null>()
    for (const kilobytes of [1, 16, 64, 96, 200]) {
      box = sandbox({ 'w.yml': `name: large\nsteps:\n${['a', 'b', 'c'].map(large).join('')}` })
      const { code, signal, stderr } = await limited(`ulimit -f ${kilobytes}`, 'run', 'w.yml', '--id', 'r1')
      expect(signal, `${kilobytes} KiB: ${stderr}`).toBe(null)
      expect([0, 5], `${kilobytes} KiB: ${stderr}`).toContain(code)
      if (code === 5) expect(stderr, `${kilobytes} KiB`).toMatch(/EFBIG.*ulimit -f/)
      codes.add(code)
      await goOn()
      expect(box.read('log').length).toBeLessThanOrEqual('a\nb\nc\n'.length + 2)
      box.remove()
    }
    expect([...codes]).toContain(5)
  })
})

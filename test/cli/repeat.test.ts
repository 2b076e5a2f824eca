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
  test('takes up the newest run of the workflow, under its id and with the input that it was started with', async () => {
    await runs()
    place.write('other.yml', 'name: other\nsteps: [{ shell: "true" }]')
    await place.dogear(['run', 'other.yml', '--id', 'newer'])
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--from-step', 'two'])
    expect(code).toBe(0)
    expect(stderr).toContain('Resuming run third\n')
    expect(place.read('log')).toBe('third two cleo\nthird three cleo\n')
    expect(linesOf((await place.dogear(['runs'])).stdout)).toHaveLength(5)
  })

  test('takes up the run of --run before the newest, by the beginning of its id, too', async () => {
    await runs()
    expect((await place.dogear(['run', 'w.yml', '--from-step', 'three', '--run', 'firs'])).code).toBe(0)
    expect(place.read('log')).toBe('first three ann\n')
  })

  test('takes up the newest run that was started with --input before one that is newer', async () => {
    await runs()
    const { code } = await place.dogear(['run', 'w.yml', '--from-step', 'three', '--input', 'who=bob'])
    expect(code).toBe(0)
    expect(place.read('log')).toBe('second three bob\n')
  })

  test('goes on with --input before --run: a run that was started with another input is refused, and both ways are offered', async () => {
    await runs()
    const words = ['run', 'w.yml', '--from-step', 'three', '--run', 'first', '--input', 'who=bob']
    const { code, stdout, stderr } = await place.dogear(words)
    expect({ code, stdout, log: place.read('log') }).toEqual({ code: 4, stdout: '', log: '' })
    expect(linesOf(stderr).slice(-5)).toEqual([
      '  who: given "bob", started with "ann"',
      'A run keeps its input. To go on with that:',
      '  dogear resume first --from-step three',
      'To start a new run with what is given:',
      '  dogear run w.yml --input who=bob'
    ])
    expect((await place.shell('dogear resume first --from-step three')).code).toBe(0)
    expect(place.read('log')).toBe('first three ann\n')
  })

  test('with an input that no run was started with says so of the newest, and runs nothing', async () => {
    await runs()
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--from-step', 'one', '--input', 'who=dora'])
    expect(code).toBe(4)
    expect(stderr).toContain('Run third exists already, with another input')
    expect(stderr).toContain('  who: given "dora", started with "cleo"\n')
    const unknown = await place.dogear(['run', 'w.yml', '--from-step', 'one', '--input', 'x=1'])
    expect(unknown.stderr).toContain('  x: given "1", which it was started without\n')
    expect(place.read('log')).toBe('')
  })

  test('keeps to the input of the run though the file gives another one since', async () => {
    await runs()
    place.write('w.yml', work.replace('nobody', 'somebody'))
    expect((await place.dogear(['run', 'w.yml', '--from-step', 'three'])).code).toBe(0)
    expect(place.read('log')).toBe('third three cleo\n')
  })

  test('runs a completed step in the middle again, and all after it, as edited', async () => {
    await runs()
    place.write('w.yml', work.replace('two $who', 'zwei $who'))
    expect((await place.dogear(['run', 'w.yml', '--from-step', 'two'])).code).toBe(0)
    expect(place.read('log')).toBe('third zwei cleo\nthird three cleo\n')
  })

  test('of an unknown step lists those there are, and runs nothing', async () => {
    await runs()
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--from-step', 'tow'])
    expect(code).toBe(4)
    expect(stderr).toContain("step 'tow' not found. Available steps: 'one', 'two', 'three'")
    expect(place.read('log')).toBe('')
  })

  test('where there is no run yet says so, and starts none', async () => {
    within({ 'w.yml': work })
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--from-step', 'two'])
    expect(code).toBe(3)
    expect(linesOf(stderr)).toEqual([
      'dogear: There is no run of workflow work to take up',
      `Looked in ${place.folder}/.dogear`,
      'Start one:',
      '  dogear run w.yml'
    ])
    expect([place.exists('log'), place.exists('.dogear')]).toEqual([false, false])
    const unknown = await place.dogear(['run', 'w.yml', '--from-step', 'two', '--run', 'nobody'])
    expect(unknown.code).toBe(3)
    expect(unknown.stderr).toContain('No checkpoint found for run nobody')
  })

  test('of a run of another workflow is refused', async () => {
    await runs()
    place.write('other.yml', 'name: other\nsteps: [{ name: two, shell: touch ran }]')
    const { code, stderr } = await place.dogear(['run', 'other.yml', '--from-step', 'two', '--run', 'first'])
    expect(code).toBe(4)
    expect(stderr).toContain('the run is of workflow "work", but this is workflow "other"')
    expect(place.exists('ran')).toBe(false)
  })

  test('presupposes what earlier steps gave: what is missing is named, and can be given', async () => {
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
    expect(stderr).toContain(`"version" can't be taken as done without its output: expected a value for version`)
    const given = linesOf(stderr).at(-1)?.trim() ?? ''
    expect(given).toBe('dogear resume r --from-step tell --confirm version=done:OUTPUT')
    expect(await place.shell(given.replace('OUTPUT', '2'))).toMatchObject({ code: 0, stdout: 'at 2\n' })
    const shown = (await place.dogear(['show', 'r'])).stdout
    expect(shown).toMatch(/^✓ {3}1 ask {6}taken as done$/m)
  })
})

describe('`run --restart-wave`', () => {
  const wave = `
name: w
steps:
  - { name: before, shell: echo before >> log }
  - { wave: checks, groups: { a: { shell: echo a >> log }, b: { shell: echo b >> log } } }
`

  test('takes up the newest run, and runs all groups of the wave again', async () => {
    within({ 'w.yml': wave })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    place.write('log', '')
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--restart-wave', 'checks'])
    expect(code).toBe(0)
    expect(stderr).toContain('Resuming run r\n')
    expect(linesOf(place.read('log')).toSorted()).toEqual(['a', 'b'])
  })

  test('of a task says which waves there are', async () => {
    within({ 'w.yml': wave })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    const { code, stderr } = await place.dogear(['run', 'w.yml', '--restart-wave', 'before', '--run', 'r'])
    expect(code).toBe(4)
    expect(stderr).toContain("'checks'")
  })
})

describe('the way to go on is the same', () => {
  const unit = (name: string, script: string): string => `${name}: { shell: '${script}' }`
  const task = (name: string, script: string): string => `{ name: ${name}, shell: '${script}' }`
  const a = 'echo a >> log'
  const b = 'test -e mended && echo b >> log'
  const c = 'echo c >> log'

  test.each([
    ['a list of steps', `[${task('a', a)}, ${task('b', b)}, ${task('c', c)}]`, 'b'],
    [
      'waves',
      `[{ wave: x, groups: { ${unit('a', a)} } }, { wave: y, groups: { ${unit('b', b)} } }, { wave: z, groups: { ${unit('c', c)} } }]`,
      'y'
    ],
    [
      'a graph',
      `[{ wave: g, groups: { ${unit('a', a)}, b: { shell: '${b}', needs: [a] }, c: { shell: '${c}', needs: [b] } } }]`,
      'g'
    ]
  ])('for %s: it fails, is listed, planned, mended, resumed, and completed', async (_, steps, stands) => {
    within({ 'w.yml': `name: w\nsteps: ${steps}\n` })
    const failed = await place.dogear(['run', 'w.yml', '--id', 'r'])
    expect(failed.code).toBe(1)
    expect(linesOf(failed.stderr).slice(-2)).toEqual(['Fix it, then go on with:', '  dogear resume r'])
    expect((await place.dogear(['runs', '--status', 'failed'])).stdout).toMatch(/^r +w +failed/m)
    expect((await place.dogear(['show', 'r'])).stdout).toMatch(new RegExp(`^✗ +\\d ${stands} +failed`, 'm'))
    expect((await place.dogear(['plan', 'r'])).stdout).toMatch(/^ .* retry .* failed after 1 attempt: exit code 1$/m)
    expect(place.read('log')).toBe('a\n')
    place.write('mended', '')
    const resumed = await place.dogear(['resume'])
    expect(resumed.code).toBe(0)
    expect(linesOf(resumed.stderr)[0]).toBe('Resuming run r')
    expect(linesOf(resumed.stderr).at(-1)).toBe('Run completed')
    expect(place.read('log')).toBe('a\nb\nc\n')
    expect((await place.dogear(['resume', 'r'])).stderr).toBe('Run r: nothing left to do\n')
  })
})

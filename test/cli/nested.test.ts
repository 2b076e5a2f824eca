/** Steps within groups, within maps, and from other files, in a workflow file. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { linesOf, type Sandbox, sandbox } from './dogear.js'

const release = `
name: release
steps:
  - name: version
    shell: echo 1.2.3
    capture: version
  - wave: targets
    groups:
      web:
        steps:
          - name: list
            shell: printf 'home\\nabout\\n'
            capture: names
          - wave: pages
            forEach: names
            key: item
            concurrency: 1
            each:
              groups:
                render:
                  shell: echo "$DOGEAR_STEP $DOGEAR_KEY $item" >> did; echo "<$item>"
                  capture: html
                check:
                  run: [sh, -c, 'test ! -e "$1.broken" && echo "$DOGEAR_STEP $DOGEAR_KEY $2" >> did', sh, '\${item}', '\${html}']
                  needs: [render]
          - name: upload
            run: [sh, -c, 'echo "$DOGEAR_STEP $1" >> did', sh, '\${version}']
      docs:
        workflow: ./parts/docs.yml
        needs: [web]
  - name: announce
    shell: echo "$DOGEAR_STEP $site" >> did
`

const docs = `
steps:
  - name: site
    shell: echo "$DOGEAR_STEP $names" | head -1 >> did; echo built
    capture: site
  - shell: echo "$DOGEAR_STEP" >> did
`

const units = [
  'version',
  'targets',
  ...['web', 'web/list', 'web/pages', 'web/pages/home', 'web/pages/home/render', 'web/pages/home/check'].map(inTargets),
  ...['web/pages/about', 'web/pages/about/render', 'web/pages/about/check', 'web/upload'].map(inTargets),
  ...['docs', 'docs/site', 'docs/step-2'].map(inTargets),
  'announce'
]

function inTargets(path: string): string {
  return `targets/${path}`
}

const namesIn = (did: string): readonly string[] =>
  linesOf(did)
    .map((line) => line.split(' ')[0] ?? '')
    .sort()

let place: Sandbox
beforeAll(() => {
  place = sandbox({ 'release.yml': release, 'parts/docs.yml': docs, 'about.broken': '', did: '' })
})
afterAll(() => place.remove())

/** The paths of a JSON document, from the field that lists units. */
const pathsOf = (text: string, field: string): readonly string[] =>
  (JSON.parse(text) as Readonly<Record<string, ReadonlyArray<{ readonly unit: string }>>>)[field]?.map(
    ({ unit }) => unit
  ) ?? []

describe('a workflow file with steps on several levels', () => {
  test('a resume starts at the failed step on the deepest level', async () => {
    const ran = await place.dogear(['run', 'release.yml', '--id', 'r-1'])
    expect(ran.code).toBe(1)
    expect(linesOf(ran.stderr)).toContain('✗ Step 2/3 failed: targets/web/pages/about/check')
    expect(linesOf(ran.stderr).filter((line) => line.includes('command: sh -c'))).toHaveLength(1)
    expect(linesOf(ran.stdout)).toContain('web/list | home')
    rmSync(join(place.folder, 'about.broken'))
    place.write('did', '')
    const resumed = await place.dogear(['resume', 'r-1'])
    expect(resumed.code).toBe(0)
    expect(linesOf(place.read('did'))).toEqual([
      'targets/web/pages/about/check about <about>',
      'targets/web/upload 1.2.3',
      'targets/docs/site home',
      'targets/docs/step-2',
      'announce built'
    ])
  })

  test('a unit has the same path in show, plan and history', async () => {
    const shown = await place.dogear(['show', 'r-1', '--history', '--json'])
    expect(pathsOf(shown.stdout, 'steps')).toEqual(units)
    const planned = await place.dogear(['plan', 'r-1', '--json'])
    expect(pathsOf(planned.stdout, 'decisions')).toEqual(units)
  })

  test.each([
    ['targets/web/pages/about', ['pages/about/check', 'pages/about/render', 'upload']],
    ['targets/web/pages/about/check', ['pages/about/check', 'upload']],
    ['targets/web/upload', ['upload']]
  ])('--from-step %s runs that step and the later ones on each level again', async (from, within) => {
    place.write('did', '')
    expect((await place.dogear(['resume', 'r-1', '--from-step', from])).code).toBe(0)
    const after = ['announce', 'targets/docs/site', 'targets/docs/step-2']
    expect(namesIn(place.read('did'))).toEqual([...after, ...within.map((path) => `targets/web/${path}`)].sort())
  })

  test('show lists each unit with the units inside it', async () => {
    const { stdout } = await place.dogear(['show', 'r-1'])
    const rows = linesOf(stdout).map((line) => line.replace(/, [\d.]+ m?s$/, '').replace(/ +/g, ' '))
    expect(rows).toContain('✓ web completed, 3/3 steps')
    expect(rows).toContain('✓ about completed, 2/2 groups')
  })
})

/** All moments of a run at which its process can die next to a save: in order, before and after each. */
const momentsOf = (saves: number): ReadonlyArray<string> =>
  Array.from({ length: saves }, (_, save) => [`${save + 1} before`, `${save + 1} after`]).flat()

describe('a run killed beside a save', () => {
  test('a run killed between any two steps on any level resumes and repeats no recorded work', async () => {
    const preload = { NODE_OPTIONS: `--require=${join(import.meta.dirname, 'killAtSave.cjs')}` }
    const count = join(place.folder, 'saves')
    const counted = await place.process(['run', 'release.yml', '--id', 'k-0'], {
      environment: { ...preload, TEST_COUNT: count, TEST_KILL_AT: '' }
    })
    expect(counted.code).toBe(0)
    const moments = momentsOf(Number(place.read('saves')))
    expect(moments.length).toBeGreaterThan(30)
    const sample = process.env['DOGEAR_SWEEP'] === '1' ? moments : moments.filter((_, index) => index % 7 === 3)
    for (const [index, moment] of sample.entries()) {
      place.write('did', '')
      const id = `k-${index + 1}`
      const killed = await place.process(['run', 'release.yml', '--id', id], {
        environment: { ...preload, TEST_KILL_AT: moment }
      })
      expect(killed.signal, moment).toBe('SIGKILL')
      const shown = await place.dogear(['show', id, '--json'])
      // Before the first save there is no run yet.
      const steps =
        shown.code === 0
          ? (JSON.parse(shown.stdout) as { steps: ReadonlyArray<{ unit: string; status: string }> }).steps
          : []
      const done = new Set(steps.filter(({ status }) => status === 'completed').map(({ unit }) => unit))
      place.write('did', '')
      const resumed = await place.dogear(shown.code === 0 ? ['resume', id] : ['run', 'release.yml', '--id', id])
      expect(resumed.code, `${moment}: ${resumed.stderr}`).toBe(0)
      const acting = units.filter((unit) => /render|check|upload|site|step-2|announce/.test(unit))
      expect(namesIn(place.read('did')), moment).toEqual(acting.filter((unit) => !done.has(unit)).sort())
    }
  })
})

describe('a file that another one includes', () => {
  const including = (workflow: string): string => `steps: [{ name: a, workflow: ${workflow} }]`
  const said = async (files: Readonly<Record<string, string>>): Promise<readonly string[]> => {
    for (const [name, text] of Object.entries(files)) place.write(name, text)
    const ran = await place.dogear(['run', 'top.yml'])
    expect([ran.code, ran.stdout]).toEqual([2, ''])
    return linesOf(ran.stderr).slice(1)
  }

  test('a problem in an included file is reported once, with the name of the file', async () => {
    expect(
      await said({
        'top.yml': 'steps: [{ name: a, workflow: sub/b.yml }, { name: c, workflow: sub/b.yml }, { shel: x }]',
        'sub/b.yml': 'steps:\n  - shel: x\n'
      })
    ).toEqual([
      expect.stringMatching(/^top\.yml:1:79: a step has no key "shel"\. Did you mean "shell"\?/),
      expect.stringMatching(/^sub\/b\.yml:2:5: a step has no key "shel"\. Did you mean "shell"\?/)
    ])
  })

  test('an included file may include others relative to itself, but not in a cycle', async () => {
    expect(
      await said({
        'top.yml': including('sub/b.yml'),
        'sub/b.yml': including('./c.yml'),
        'sub/c.yml': including('b.yml')
      })
    ).toEqual([
      'sub/c.yml:1:30: files include one another in a cycle: top.yml, sub/b.yml, sub/c.yml, sub/b.yml; remove one inclusion'
    ])
  })

  test('an included file cannot set keys of a whole run', async () => {
    expect(
      await said({
        'top.yml': including('b.yml'),
        'b.yml': 'input: { x: 1 }\nsecrets: [Y]\nworkspace: directory\nonSuccess: delete\nsteps: [{ shell: x }]\n'
      })
    ).toEqual(
      ['1:1 input', '2:1 secrets', '3:1 workspace', '4:1 onSuccess'].map((one) => {
        const [at = '', key = ''] = one.split(' ')
        return `b.yml:${at}: an included workflow has no key "${key}"; it is for a whole run, so move it to the including file`
      })
    )
  })

  test.each([
    ['missing.yml', 'top.yml:1:30: Cannot read workflow missing.yml: the file does not exist'],
    ['.', 'top.yml:1:30: Cannot read workflow .: it is a folder'],
    ['[]', 'top.yml:1:30: "workflow" must be a string, not a list']
  ])(
    'an included file that cannot be read, or whose name is not a string, is refused: workflow: %s',
    async (workflow, message) => {
      expect(await said({ 'top.yml': including(workflow) })).toEqual([message])
    }
  )

  test('a resume reads an included file again, and an edit in it counts as an edit of the including file', async () => {
    place.write('top.yml', `${including('b.yml')}\n`)
    place.write('b.yml', 'name: inner\nsteps: [{ name: one, shell: "echo 1" }, { name: two, shell: "false" }]\n')
    expect((await place.dogear(['run', 'top.yml', '--id', 'i-1'])).code).toBe(1)
    place.write('b.yml', 'name: inner\nsteps: [{ name: one, shell: "echo 2" }, { name: two, shell: "true" }]\n')
    const refused = await place.dogear(['resume', 'i-1'])
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('a/one')])
    place.write('b.yml', 'name: inner\nsteps: [{ name: one, shell: "echo 1" }, { name: two, shell: "true" }]\n')
    expect((await place.dogear(['resume', 'i-1'])).code).toBe(0)
  })
})

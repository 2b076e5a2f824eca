import { afterAll, beforeAll, expect, test } from 'vitest'
import { linesOf, type Sandbox, sandbox } from './dogear.js'

const release = `
name: release
input: { channel: beta }
steps:
  - { name: version, shell: echo 1.2.3, capture: version }
  - wave: checks
    groups:
      unit: { shell: "true" }
      lint: { shell: 'echo "no semicolons" >&2; exit 1' }
  - { name: pack, shell: "true" }
`
const uuid = '3f2a81c0-0000-4000-8000-000000000001'

let place: Sandbox
beforeAll(async () => {
  place = sandbox({ 'release.yml': release, 'ok.yml': 'name: ok\nsteps: [{ shell: "true" }]' })
  expect((await place.dogear(['runs'])).stdout).toBe(
    `No runs in ${place.folder}/.dogear. Start one with: dogear run <file>\n`
  )
  expect((await place.dogear(['runs', '--output', 'json'])).stdout).toBe('[]\n')
  expect((await place.dogear(['verify'])).stdout).toBe(`No runs in ${place.folder}/.dogear\n`)
  await place.dogear(['run', 'release.yml', '--id', uuid])
  await place.dogear(['run', 'ok.yml', '--id', 'nightly'])
})
afterAll(() => place.remove())

const time = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/) as string

test.each(['runs', 'list', 'list runs'])('dogear %s lists runs, newest first, with short ids', async (words) => {
  const { code, stdout, stderr } = await place.dogear(words.split(' '))
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(linesOf(stdout)).toEqual([
    'RUN-ID    NAME     STATUS     STARTED               STEPS',
    expect.stringMatching(/^nightly {3}ok {7}completed {2}\d{4}-\d\d-\d\d \d\d:\d\d UTC {2}1\/1$/),
    expect.stringMatching(/^3f2a81c0 {2}release {2}failed {5}\d{4}-\d\d-\d\d \d\d:\d\d UTC {2}1\/3$/)
  ])
})

test.each(['--output json', '--json'])('with %s the listing is JSON with full ids', async (words) => {
  const { stdout } = await place.dogear(['runs', '--status', 'failed', ...words.split(' ')])
  expect(JSON.parse(stdout)).toEqual([
    {
      run_id: uuid,
      run_name: 'release',
      status: 'failed',
      created_at: time,
      updated_at: time,
      steps_completed: 1,
      steps_total: 3
    }
  ])
})

test('--json with --output table is refused', async () => {
  const { code, stderr } = await place.dogear(['runs', '--json', '--output', 'table'])
  expect([code, stderr]).toEqual([2, 'dogear: --json and --output table cannot be combined; use one of them\n'])
})

test('a status without runs prints an empty listing', async () => {
  expect((await place.dogear(['runs', '--status', 'running'])).stdout).toBe('No running runs\n')
  expect((await place.dogear(['runs', '--status', 'running', '--json'])).stdout).toBe('[]\n')
})

test('the statuses of several --status options are listed together', async () => {
  const both = await place.dogear(['runs', '--status', 'failed', '--status', 'completed', '--json'])
  expect((JSON.parse(both.stdout) as ReadonlyArray<unknown>).length).toBe(2)
  const none = await place.dogear(['runs', '--status', 'running', '--status', 'paused'])
  expect(none.stdout).toBe('No running or paused runs\n')
  const unknown = await place.dogear(['runs', '--status', 'failed', '--status', 'complete'])
  expect({ code: unknown.code, stdout: unknown.stdout }).toEqual({ code: 2, stdout: '' })
})

test('`show` marks every step and group, and prints the errors and variables', async () => {
  const { stdout } = await place.dogear(['show', '3f2a'])
  const lines = linesOf(stdout)
  expect(lines.slice(0, 5)).toEqual([
    `run       ${uuid}`,
    `workflow  release (${place.folder}/release.yml)`,
    'status    failed',
    'progress  1/3 steps done (33%)',
    `folder    ${place.folder}`
  ])
  expect(lines.slice(lines.indexOf('') + 1)).toEqual([
    expect.stringMatching(/^✓ {3}1 version {2}completed, \d+ ms$/),
    '✗   2 checks   failed, 1/2 groups',
    expect.stringMatching(/^✓ {7}unit {3}completed, \d+ ms$/),
    '✗       lint   failed',
    '        exit code 1: no semicolons',
    '○   3 pack     not started',
    '',
    'variables',
    '  channel = "beta"',
    '  version = "1.2.3"'
  ])
})

test('`show --json --history` prints all fields for programs', async () => {
  const { stdout } = await place.dogear(['show', uuid, '--json', '--history'])
  expect(JSON.parse(stdout)).toMatchObject({
    run_id: uuid,
    status: 'failed',
    state: 'Failed',
    step_index: 1,
    workflow_path: `${place.folder}/release.yml`,
    workspace: place.folder,
    held_by: null,
    recovered: null,
    input: { channel: 'beta' },
    variables: { channel: 'beta', version: '1.2.3' },
    steps: [
      { unit: 'version', status: 'completed', attempts: 1, output: '1.2.3' },
      { unit: 'checks', status: 'failed' },
      { unit: 'checks/unit', status: 'completed', output: null },
      { unit: 'checks/lint', status: 'failed', attempts: 1 },
      { unit: 'pack', status: 'not_started', attempts: 0, duration_millis: null }
    ],
    failures: [{ unit: 'checks/lint', error: { message: 'exit code 1: no semicolons' } }]
  })
  const { history } = JSON.parse(stdout) as { readonly history: readonly { readonly change: string }[] }
  expect(history.at(-1)).toMatchObject({ revision: 0, change: 'Started', run_name: 'release' })
  expect(history[0]).toMatchObject({ change: 'UnitFailed', unit: 'checks' })
  expect(history).toContainEqual(
    expect.objectContaining({
      change: 'UnitFailed',
      unit: 'checks/lint',
      attempt: 1,
      error: { name: 'ExitError', message: 'exit code 1: no semicolons', code: '1' }
    })
  )
})

test('`show --history` prints the change of each revision', async () => {
  const { stdout } = await place.dogear(['show', uuid, '--history'])
  const lines = linesOf(stdout)
  const history = lines.slice(lines.indexOf('history') + 1)
  const facts = history.map((line) => line.replace(/^ +(\d+) {2}\S+ {2}/, '').replace(/\d+ ms/, 'N ms'))
  expect(facts).toEqual(
    expect.arrayContaining([
      'UnitFailed      checks',
      'UnitFailed      checks/lint, attempt 1: exit code 1: no semicolons',
      'UnitCompleted   checks/unit, attempt 1, N ms',
      'UnitCompleted   version, attempt 1, N ms',
      'AttemptStarted  version, attempt 1',
      'Started         release'
    ])
  )
})

test('`verify` reports for every run whether its state is intact', async () => {
  const { code, stdout } = await place.dogear(['verify'])
  expect(code).toBe(0)
  expect(linesOf(stdout)).toEqual([
    expect.stringMatching(/^✓ nightly {2}newest state intact, revision \d+$/),
    expect.stringMatching(new RegExp(`^✓ ${uuid} {2}newest state intact, revision \\d+$`))
  ])
  expect(JSON.parse((await place.dogear(['verify', 'nightly', '--json'])).stdout)).toMatchObject([
    { run_id: 'nightly', found: 'exact', held_by: null }
  ])
})

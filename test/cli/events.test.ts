import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterEach, expect, test } from 'vitest'
import { type Ended, linesOf, type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
afterEach(() => place.remove())

interface Line {
  readonly event: string
  readonly [field: string]: unknown
}

const linesIn = ({ stdout }: Pick<Ended, 'stdout'>): readonly Line[] =>
  linesOf(stdout).map((line) => JSON.parse(line) as Line)

const text = { type: 'string' }
const count = { type: 'integer', minimum: 0 }
const time = { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z$' }
const error = {
  type: 'object',
  properties: { name: text, message: text, code: text },
  required: ['name', 'message'],
  additionalProperties: false
}
const units = { type: 'array', items: text }

/** A line with exactly these fields. */
const exactly = (event: string, properties: Readonly<Record<string, object>>): object => ({
  type: 'object',
  properties: { event: { const: event }, ...properties },
  required: ['event', ...Object.keys(properties)],
  additionalProperties: false
})
const change = (event: string, properties: Readonly<Record<string, object>> = {}): object =>
  exactly(event, { revision: count, at: time, ...properties })
const ofUnit = (event: string, properties: Readonly<Record<string, object>> = {}): object =>
  change(event, { unit: text, ...properties })

const attempts = {
  type: 'array',
  minItems: 1,
  items: {
    type: 'object',
    properties: { unit: text, attempt: count },
    required: ['unit', 'attempt'],
    additionalProperties: false
  }
}

const LINE = {
  oneOf: [
    exactly('RunPlanned', { run_id: text, run_name: text, resumed: { type: 'boolean' }, skipped: units }),
    change('Started', { run_name: text }),
    change('WorkflowEdited'),
    change('AttemptStarted', { attempts }),
    ofUnit('AttemptFailed', { attempt: count, error, delay_millis: count }),
    ofUnit('UnitCompleted', { attempts: count, started_at: time, duration_millis: count }),
    ofUnit('UnitFailed', { attempt: count, error }),
    ofUnit('Expanded', { items: count }),
    ofUnit('JobSubmitted', { attempt: count, job: {} }),
    ofUnit('Interrupted', { reason: text }),
    change('Rewound', { units, why: text }),
    {
      type: 'object',
      properties: { event: { const: 'Result' }, run_id: text, status: text },
      required: ['event', 'run_id', 'status', 'steps_completed', 'steps_total']
    }
  ]
}

const problemsOf = new Ajv2020({ strict: true, strictRequired: false }).compile(LINE)

const checked = (ended: Ended): readonly Line[] => {
  const lines = linesIn(ended)
  for (const line of lines) expect(problemsOf(line) || problemsOf.errors, JSON.stringify(line)).toBe(true)
  return lines
}

const workflow = `
name: w
steps:
  - { name: build, shell: echo built }
  - { name: flaky, shell: test -e fixed, retry: { attempts: 2, delay: 10ms } }
  - { wave: pages, forEach: [a, b], key: item, each: { shell: echo page } }
  - { name: train, job: { submit: echo job-7, poll: test -e trained } }
`

test.each([['run'], ['resume']])(
  'each line of %s --events has the fields of its event, and the last line is the result',
  async (command) => {
    place = sandbox({ 'w.yml': workflow })
    const failed = await place.process(['run', 'w.yml', '--id', 'r', '--events'])
    expect(failed.code).toBe(1)
    const first = checked(failed)
    expect(first[0]).toEqual({ event: 'RunPlanned', run_id: 'r', run_name: 'w', resumed: false, skipped: [] })
    expect(first[1]).toMatchObject({ event: 'Started', revision: 0 })
    expect(first.find(({ event }) => event === 'UnitFailed')).toMatchObject({ unit: 'flaky', attempt: 2 })
    if (command === 'run') {
      expect(first.slice(1, -1).map(({ revision }) => revision)).toEqual([...first.slice(1, -1).keys()])
      const { event, ...result } = first.at(-1) ?? { event: 'none' }
      expect([event, result['status'], result['resume_command']]).toEqual(['Result', 'failed', 'dogear resume r'])
      return
    }
    place.write('fixed', '')
    const pending = await place.process(['resume', 'r', '--events'])
    expect(pending.code).toBe(75)
    const lines = checked(pending)
    expect(lines[0]).toMatchObject({ resumed: true, skipped: ['build'] })
    const named = lines.map(({ event, unit }) => `${event} ${String(unit)}`)
    expect(named).toEqual(
      expect.arrayContaining(['UnitCompleted flaky', 'Expanded pages', 'UnitCompleted pages/a', 'JobSubmitted train'])
    )
    expect(lines.at(-1)).toMatchObject({ event: 'Result', status: 'pending', jobs: [{ unit: 'train', job: 'job-7' }] })
    // A watch reads the same changes from the record.
    const watched = linesIn(await place.process(['watch', 'r', '--json']))
    const [after] = lines.slice(1)
    const same = watched.filter(({ revision }) => Number(revision) >= Number(after?.['revision']))
    expect(lines.slice(1, -1)).toEqual(same)
  }
)

test('a change is printed while the run works, and each printed change is on record after a kill', async () => {
  place = sandbox({ 'w.yml': 'steps: [{ name: a, shell: "true" }, { name: b, shell: "echo begun >&2; sleep 60" }]' })
  const running = place.start(['run', 'w.yml', '--id', 'r', '--events'])
  await running.said(/"UnitCompleted".*"unit":"a"/)
  await running.said('begun')
  process.kill(running.pid, 'SIGKILL')
  const lines = checked(await running.ended)
  expect(lines.at(-1)).toMatchObject({ event: 'AttemptStarted', attempts: [{ unit: 'b', attempt: 1 }] })
  const { history } = JSON.parse((await place.process(['show', 'r', '--json', '--history'])).stdout) as {
    readonly history: ReadonlyArray<{ readonly revision: number; readonly change: string }>
  }
  expect(lines.slice(1).map(({ event, revision }) => `${String(revision)} ${event}`)).toEqual(
    history.map(({ revision, change }) => `${revision} ${change}`).toReversed()
  )
})

test('with --events an error is printed as the last line', async () => {
  place = sandbox({ 'w.yml': workflow })
  const refused = linesIn(await place.process(['resume', 'none', '--events']))
  expect(refused).toMatchObject([{ event: 'Result', error: { code: 'NoSuchRun' } }])
  const wrong = linesIn(await place.process(['run', 'w.yml', '--events', '--nonsense']))
  expect(wrong).toMatchObject([
    { event: 'Result', error: { message: expect.stringContaining('--nonsense') as string } }
  ])
})

test('with --events the output of steps and progress go to standard error', async () => {
  place = sandbox({ 'w.yml': 'steps: [{ name: a, shell: echo out }]' })
  const { stdout, stderr } = await place.process(['run', 'w.yml', '--events'])
  expect(stdout).not.toMatch(/^out$/m)
  expect(stderr).toMatch(/^out\n✓ a \(/m)
})

/** Calls of JavaScript hosts, which no compiler checks: an ignored option may repeat work or discard it. */
import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { planRun, resume, run, runOutcome, workflow } from '../../src/promise/index.js'

const one = () => workflow('w').step('one', () => 1)

const refusal = async (call: Promise<unknown>): Promise<string> =>
  await call.then(
    () => expect.fail('it was accepted'),
    (error: unknown) => (error instanceof Error ? error.message : String(error))
  )

describe('options of calls', () => {
  test.each([
    [{ changes: 'foo' }, "changes must be 'strict' or 'completed' or 'ignore'"],
    [{ onChanged: true }, "onChanged must be 'refuse' or 'keep'"],
    [{ confirm: { one: 'again' } }, 'confirm must be a Map by unit'],
    [{ wait: 'yes' }, 'wait must be true or false'],
    [{ fromStep: 1 }, 'fromStep must be a string'],
    [{ id: 7 }, 'id must be a string'],
    [{ onRecovered: 'me' }, 'onRecovered must be a function']
  ])('an invalid value is refused with what is expected: %j', async (options, expected) => {
    const host = { id: 'r', storage: memoryStorage() }
    await run(one(), host)
    for (const call of [resume, planRun])
      expect(await refusal(call(one(), { ...host, ...(options as object) }))).toBe(
        `These options are invalid:\n  ${expected}`
      )
  })

  test('an unknown option is refused, and nothing is recorded', async () => {
    const storage = memoryStorage()
    const options = { id: 'r', storage, formStep: 'one' }
    expect(await refusal(run(one(), options))).toBe(
      'These options are invalid:\n  formStep must be omitted: it is not one of id, storage, signal, environment, input, workspace, wait'
    )
    const outcome = await runOutcome(one(), { ...options, input: {} })
    expect(outcome).toMatchObject({
      _tag: 'Refused',
      error: { _tag: 'InvalidOptions', problems: [{ option: 'formStep' }] }
    })
    expect(await run(one(), { id: 'r', storage })).toEqual({ one: 1 })
  })

  test('an option that is undefined counts as absent', async () => {
    const options = { id: 'r', storage: memoryStorage(), wait: undefined, changes: undefined }
    expect(await run(one(), options as never)).toEqual({ one: 1 })
  })

  test.each([undefined, {}, '.dogear'])('a storage that is none is refused with an example: %j', async (storage) => {
    expect(await refusal(run(one(), { id: 'r', storage: storage as never }))).toBe(
      "These options are invalid:\n  storage must be a CheckpointStorage, such as jsonFileStorage('.dogear')"
    )
    expect((await runOutcome(one(), { id: 'r', storage: storage as never }))._tag).toBe('Refused')
  })
})

describe('options of steps', () => {
  const run1 = (flow: Parameters<typeof run>[0]) => run(flow, { id: 'r', storage: memoryStorage() })

  test('an unknown option of a step is refused with those that exist', async () => {
    const flow = workflow('w').step('one', { run: () => 1, timeout: 5 } as never)
    expect(await refusal(run1(flow as never))).toMatch(/timeout of "one" must be omitted: it is not one of run, job, /)
  })

  test('a third argument of step is refused', async () => {
    const step = workflow('w').step as unknown as (...all: ReadonlyArray<unknown>) => Parameters<typeof run>[0]
    expect(await refusal(run1(step('one', () => 1, { retry: {} })))).toMatch(/options of "one" must be omitted/)
  })

  test('an unknown option of a group and of a body of a map is refused', async () => {
    const flow = workflow('w')
      .wave('checks', { unit: { run: () => 1, retries: 3 } as never })
      .map('pages', { forEach: () => [1] }, { run: () => 1, retries: 3 } as never)
    const message = await refusal(run1(flow as never))
    expect(message).toMatch(/retries of "checks\/unit" must be omitted/)
    expect(message).toMatch(/retries of "pages" must be omitted/)
  })
})

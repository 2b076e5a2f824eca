/** An edit may make a task with recorded sub-steps a composite with parts of the same names. They are other units. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { planRun, runOutcome, workflow } from '../../src/promise/index.js'

const options = () => ({ id: 'r', storage: memoryStorage() })

const before = (end: 'fails' | 'waits' | 'completes', ran: Array<string>) =>
  workflow('w').step('a', async ({ step, waitFor }) => {
    await step('s', () => ran.push('sub-step s'))
    await step('f', () => Promise.reject(new Error('no'))).catch(() => undefined)
    if (end === 'fails') throw new Error('failed')
    return end === 'waits' ? await waitFor('w') : 1
  })

const run = (ran: Array<string>, name: string) => () => ran.push(name)

describe.each(['fails', 'waits', 'completes'] as const)(
  'an edit of a task whose code %s after its sub-steps',
  (end) => {
    const given = end === 'completes' ? ({ fromStep: 'a' } as const) : {}

    test('a sequence that replaces the task runs all its steps, even those named like the sub-steps', async () => {
      const ran: Array<string> = []
      const same = options()
      await runOutcome(before(end, ran), same)
      const edited = workflow('w')
        .sequence('a', (a) => a.step('q', run(ran, 'q')).step('s', run(ran, 's')).step('f', run(ran, 'f')))
        .step('b', ({ outputs }) => Object.keys(outputs.a))
      ran.splice(0)
      const { plan } = await planRun(edited, { ...same, ...given })
      assert.deepEqual(
        plan.decisions.filter(({ _tag }) => _tag === 'Skip').map(({ unit }) => unit),
        []
      )
      const outcome = await runOutcome(edited, { ...same, ...given })
      assert.deepEqual(outcome._tag === 'Completed' ? outcome.outputs.b : outcome, ['q', 's', 'f'])
      assert.deepEqual(ran, ['q', 's', 'f'])
    })

    test('a wave that replaces the task runs all its groups, even those named like the sub-steps', async () => {
      const ran: Array<string> = []
      const same = options()
      await runOutcome(before(end, ran), same)
      ran.splice(0)
      const edited = workflow('w').wave('a', { q: run(ran, 'q'), s: run(ran, 's'), f: run(ran, 'f') })
      const outcome = await runOutcome(edited, { ...same, ...given })
      assert.equal(outcome._tag, 'Completed', JSON.stringify(outcome))
      assert.deepEqual(ran.sort(), ['f', 'q', 's'])
    })
  }
)

test.each(['fails', 'waits'] as const)('a map that replaces a task whose code %s runs all its items', async (end) => {
  const ran: Array<string> = []
  const same = options()
  await runOutcome(before(end, ran), same)
  ran.splice(0)
  const items = { forEach: () => ['s', 'f', 'w'], key: (name: string) => name }
  const outcome = await runOutcome(
    workflow('w').map('a', items, ({ item }) => ran.push(item)),
    same
  )
  assert.equal(outcome._tag, 'Completed', JSON.stringify(outcome))
  assert.deepEqual(ran.sort(), ['f', 's', 'w'])
})

test('a sequence before fromStep counts as done in this and later resumes, even if its step has the path of a recorded sub-step', async () => {
  const ran: Array<string> = []
  const same = options()
  const last = (isFixed: boolean) => {
    if (!isFixed) throw new Error('failed')
    return 'shipped'
  }
  const task = workflow('w')
    .step('a', ({ step }) => step('s', () => 'sub-step'))
    .step('b', () => last(false))
  await runOutcome(task, same)
  const edited = (isFixed: boolean) =>
    workflow('w')
      .sequence('a', (a) => a.step('s', () => ran.push('s') && 'part'))
      .step('b', () => last(isFixed))
  const given = { changes: 'ignore', fromStep: 'b', outputs: new Map([['a/s', 'given']]) } as const
  assert.equal((await runOutcome(edited(false), { ...same, ...given }))._tag, 'Failed')
  const outcome = await runOutcome(edited(true), same)
  assert.deepEqual(outcome._tag === 'Completed' ? outcome.outputs : outcome, { a: { s: 'given' }, b: 'shipped' })
  assert.deepEqual(ran, [])
})

test('an edit that turns a sequence into a task drops the open waits in its steps', async () => {
  const same = options()
  const waiting = workflow('w').sequence('c', (c) => c.step('w', ({ waitFor }) => waitFor('x')))
  await runOutcome(waiting, same)
  const edited = workflow('w')
    .waitFor('b')
    .step('c', () => 1)
  const outcome = await runOutcome(edited, same)
  assert.deepEqual(outcome._tag === 'Pending' ? outcome.units.map(({ unit }) => unit) : outcome, ['b'])
})

test('a wait in the code of a task stays open if the task is edited', async () => {
  const same = options()
  const waiting = (version: string) =>
    workflow('w').sequence('c', (c) => c.step('w', { version, run: ({ waitFor }) => waitFor('x') }))
  const [first, second] = [await runOutcome(waiting('1'), same), await runOutcome(waiting('2'), same)]
  assert.deepEqual(second._tag === 'Pending' && second.units, first._tag === 'Pending' && first.units)
})

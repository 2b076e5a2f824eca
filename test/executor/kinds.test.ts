import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { memoryArtifacts, memoryStorage } from '../../src/adapters/memory.js'
import { describe as describeError } from '../../src/executor/errors/describe.js'
import { runOutcome, workflow } from '../../src/promise/index.js'

const start = () => workflow('w')

/** A workflow whose step `u` is of this kind. */
const OF_KIND = {
  task: (ran: Array<string>) => start().step('u', () => (ran.push('u'), 'U')),
  wait: () => start().waitFor('u'),
  sequence: (ran: Array<string>) => start().sequence('u', (one) => one.step('p', () => (ran.push('p'), 'P'))),
  wave: (ran: Array<string>) => start().wave('u', { p: () => (ran.push('p'), 'P') }),
  map: (ran: Array<string>) =>
    start().map('u', { forEach: () => ['p'], key: (key) => key }, ({ item }) => ran.push(item))
} as unknown as Readonly<Record<Kind, (ran: Array<string>) => ReturnType<typeof start>>>

type Kind = 'task' | 'wait' | 'sequence' | 'wave' | 'map'

const FORMS: ReadonlyArray<ReadonlyArray<Kind>> = [['task', 'wait'], ['sequence', 'wave'], ['map']]

const formOf = (kind: Kind) => FORMS.findIndex((kinds) => kinds.includes(kind))

/** Completes `u` as one kind, fails after it, and resumes with another kind. */
const resumedAs = async (was: Kind, now: Kind, given: object = {}) => {
  const ran: Array<string> = []
  const options = { id: 'r', storage: memoryStorage() }
  const broken = OF_KIND[was](ran).step('z', () => Promise.reject(new Error('broken')))
  assert.equal((await runOutcome(broken, options))._tag, 'Failed')
  ran.splice(0)
  const edited = OF_KIND[now](ran).step('z', ({ outputs }) => JSON.stringify(outputs))
  return { ran, outcome: await runOutcome(edited, { ...options, ...given }) }
}

const KINDS = Object.keys(OF_KIND) as ReadonlyArray<Kind>

const EDITS = KINDS.filter((kind) => kind !== 'wait').flatMap((was) =>
  KINDS.filter((now) => now !== was).map((now) => ({ was, now }))
)

describe('a completed unit whose kind was edited', () => {
  test.each(EDITS.filter(({ was, now }) => formOf(was) !== formOf(now)))(
    'with changes: ignore, a completed $was that is now a $now is refused, and nothing runs',
    async ({ was, now }) => {
      const { ran, outcome } = await resumedAs(was, now, { changes: 'ignore' })
      assert.ok(outcome._tag === 'Refused' && outcome.error._tag === 'PlanError', JSON.stringify(outcome))
      assert.deepEqual(
        outcome.error.problems.flatMap((one) =>
          one._tag === 'WorkflowChanged' ? [one.unit, one.edit, one.otherKind] : []
        ),
        ['u', 'changed', true]
      )
      const said = describeError(outcome.error)
      assert.match(said, /Undo the edit or set fromStep: 'u'/)
      assert.doesNotMatch(said, /ignore/)
      assert.deepEqual(ran, [])
    }
  )

  test.each(EDITS.filter(({ was, now }) => formOf(was) === formOf(now)))(
    'with changes: ignore, a completed $was that is now a $now keeps its result',
    async ({ was, now }) => {
      const { ran, outcome } = await resumedAs(was, now, { changes: 'ignore' })
      assert.equal(outcome._tag, 'Completed', JSON.stringify(outcome))
      assert.deepEqual(ran, [])
    }
  )

  test.each(['task', 'map'] as const)(
    'a completed wave that is now a %s runs from its beginning with fromStep',
    async (now) => {
      const { ran, outcome } = await resumedAs('wave', now, { fromStep: 'u' })
      assert.equal(outcome._tag, 'Completed')
      assert.deepEqual(ran, [now === 'task' ? 'u' : 'p'])
    }
  )

  test('a completed task that is now a sequence is done if a later fromStep assumes its parts done', async () => {
    const given = { changes: 'ignore', fromStep: 'z', outputs: new Map([['u/p', 'given']]) }
    const { ran, outcome } = await resumedAs('task', 'sequence', given)
    assert.ok(outcome._tag === 'Completed', JSON.stringify(outcome))
    assert.equal(outcome.outputs.z, '{"u":{"p":"given"}}')
    assert.deepEqual(ran, [])
  })
})

test('a sub-step in doubt that is now an idempotent group raises a question, even with changes: ignore', async () => {
  let calls = 0
  const options = { id: 'r', storage: memoryStorage() }
  const agent = start().step('a', async ({ step }) => {
    await step('g', { idempotent: false }, () => {
      calls += 1
      throw new Error('no reply')
    })
  })
  assert.equal((await runOutcome(agent, options))._tag, 'Failed')
  const edited = start().wave('a', { g: () => (calls += 1) })
  const outcome = await runOutcome(edited, { ...options, changes: 'ignore' })
  assert.ok(outcome._tag === 'Refused' && outcome.error._tag === 'Unconfirmed', JSON.stringify(outcome))
  assert.equal(outcome.error.questions[0].unit, 'a/g')
  assert.equal(calls, 1)
  const confirm = new Map([['a/g', { _tag: 'Again' }]] as const)
  assert.equal((await runOutcome(edited, { ...options, changes: 'ignore', confirm }))._tag, 'Completed')
  assert.equal(calls, 2)
})

describe('an unfinished task with a completed sub-step', () => {
  /** Ends in a failure after a sub-step that completed. */
  const failing = (idempotent: boolean) => {
    const options = { id: 'r', storage: memoryStorage() }
    const calls: Array<string> = []
    const agent = start().step('a', async ({ step }) => {
      await step('pay', { idempotent }, () => calls.push('pay'))
      throw new Error('no reply')
    })
    return { options, calls, agent }
  }

  const EDITS = [
    ['is removed', 'removed', start().step('b', () => 1)],
    ['is renamed', 'removed', start().step('b', ({ step }) => step('pay', () => 1))],
    ['moves into a sequence', 'removed', start().sequence('s', (s) => s.step('a', ({ step }) => step('pay', () => 1)))],
    ['becomes a wave with a group named like the sub-step', 'changed', start().wave('a', { pay: () => 1 })],
    ['becomes a map', 'changed', start().map('a', { forEach: () => ['pay'], key: (one) => one }, () => 1)],
    ['becomes a wait', 'changed', start().waitFor('a')]
  ] as const

  for (const [what, edit, program] of EDITS) {
    const edited = program as unknown as ReturnType<typeof start>

    test(`an edit by which a task with a completed sub-step ${what} is refused if the sub-step is not idempotent`, async () => {
      const { options, calls, agent } = failing(false)
      assert.equal((await runOutcome(agent, options))._tag, 'Failed')
      const outcome = await runOutcome(edited, options)
      assert.ok(outcome._tag === 'Refused' && outcome.error._tag === 'PlanError', JSON.stringify(outcome))
      assert.deepEqual(
        outcome.error.problems.map((one) => (one._tag === 'WorkflowChanged' ? [one.edit, one.unit] : [one._tag])),
        [[edit, 'a']]
      )
      assert.deepEqual(calls, ['pay'])
    })

    test(`an edit by which a task with a completed sub-step ${what} is accepted if the sub-step is idempotent`, async () => {
      const { options, agent } = failing(true)
      assert.equal((await runOutcome(agent, options))._tag, 'Failed')
      assert.notEqual((await runOutcome(edited, options))._tag, 'Refused')
    })
  }

  interface Charge {
    readonly idempotent: boolean
    readonly run: () => number
  }

  const REPLACEMENTS: ReadonlyArray<[string, string, (charge: Charge) => object]> = [
    ['a group at', 'a/pay', (charge) => start().wave('a', { pay: charge })],
    [
      'a step inside',
      'a/pay/charge',
      (charge) => start().wave('a', { pay: { steps: (s) => s.step('charge', charge) } })
    ],
    ['a map around', 'a', (charge) => start().map('a', { forEach: () => ['pay'], key: (one) => one }, charge)]
  ]

  describe.each(REPLACEMENTS)('%s the path of a completed sub-step', (_, unit, edit) => {
    test.each([
      ['the sub-step', false, 'ignore'],
      ['the new one', true, 'completed']
    ] as const)('runs only after confirmation if %s is not idempotent', async (what, idempotent, changes) => {
      const { options, calls, agent } = failing(idempotent)
      assert.equal((await runOutcome(agent, options))._tag, 'Failed')
      const charge = { idempotent: what !== 'the new one', run: () => calls.push('charge') }
      const outcome = await runOutcome(edit(charge) as ReturnType<typeof start>, { ...options, changes })
      assert.ok(outcome._tag === 'Refused' && outcome.error._tag === 'Unconfirmed', JSON.stringify(outcome))
      const reasons = outcome.error.questions.map(({ unit, reason }) => [unit, reason._tag])
      assert.deepEqual(reasons, [[unit, unit === 'a' ? 'Failed' : 'MayHaveRun']])
      assert.deepEqual(calls, ['pay'])
    })
  })

  test('a task with a completed sub-step may get other code, whose calls are compared with the record', async () => {
    const { options, calls, agent } = failing(false)
    assert.equal((await runOutcome(agent, options))._tag, 'Failed')
    const fixed = start().step('a', ({ step }) => step('pay', { idempotent: false }, () => calls.push('pay')))
    assert.equal((await runOutcome(fixed, options))._tag, 'Completed')
    assert.deepEqual(calls, ['pay'])
  })
})

test('a sub-step that was declared done while an edit made its task a wait does not run after the edit is undone', async () => {
  const options = { id: 'r', storage: memoryStorage() }
  const calls: Array<string> = []
  const agent = (end: () => string) =>
    start().step('a', ({ step }) =>
      step('pay', { idempotent: false }, () => {
        calls.push('pay')
        return end()
      })
    )
  const failing = agent(() => {
    throw new Error('no reply')
  })
  assert.equal((await runOutcome(failing, options))._tag, 'Failed')
  const confirm = new Map([['a/pay', { _tag: 'Done', output: 'paid' }]] as const)
  const waiting = await runOutcome(start().waitFor('a'), { ...options, changes: 'ignore', confirm })
  assert.equal(waiting._tag, 'Pending')
  const back = await runOutcome(
    agent(() => 'twice'),
    options
  )
  assert.ok(back._tag === 'Completed', JSON.stringify(back))
  assert.deepEqual([back.outputs, calls], [{ a: 'paid' }, ['pay']])
})

for (const [what, program] of [
  ['a group with the sub-step inside', start().wave('a', { g: ({ step }) => step('pay', () => 'twice') })],
  [
    'steps inside the sub-step',
    start().sequence('a', (a) => a.sequence('g', (g) => g.sequence('pay', (pay) => pay.step('x', () => 'twice'))))
  ]
] as const)
  test(`a nested sub-step in doubt that an edit replaces by ${what} raises a question, even with changes: ignore`, async () => {
    const options = { id: 'r', storage: memoryStorage() }
    const agent = start().step('a', ({ step }) =>
      step('g', (inner) =>
        inner.step('pay', { idempotent: false }, () => {
          throw new Error('no reply')
        })
      )
    )
    assert.equal((await runOutcome(agent, options))._tag, 'Failed')
    const edited = program as unknown as ReturnType<typeof start>
    const outcome = await runOutcome(edited, { ...options, changes: 'ignore' })
    assert.ok(outcome._tag === 'Refused' && outcome.error._tag === 'Unconfirmed', JSON.stringify(outcome))
  })

test.each([
  ['step in doubt', start().step('a', { idempotent: false, run: () => Promise.reject(new Error('no reply')) })],
  [
    'step with a sub-step in doubt',
    start().step('a', ({ step }) => step('g', { idempotent: false }, () => Promise.reject(new Error('no reply'))))
  ]
])('fromStep at a %s that became a wave runs the wave', async (_, failing) => {
  const options = { id: 'r', storage: memoryStorage() }
  assert.equal((await runOutcome(failing, options))._tag, 'Failed')
  const edited = start().wave('a', { h: () => 'H' })
  assert.equal((await runOutcome(edited, options))._tag, 'Refused')
  const outcome = await runOutcome(edited, { ...options, fromStep: 'a' })
  assert.ok(outcome._tag === 'Completed', JSON.stringify(outcome))
  assert.deepEqual(outcome.outputs, { a: { h: 'H' } })
})

describe('an edit while the evidence of an earlier step is missing', () => {
  const pay = (calls: Array<string>, end: () => unknown = () => 'paid') => ({
    idempotent: false,
    run: () => {
      calls.push('pay')
      return end()
    }
  })
  const noReply = () => Promise.reject(new Error('no reply'))
  const built = () => start().step('build', ({ artifacts }) => artifacts.put('out', 'x').then(() => null))

  test.each([
    ['a step in doubt', (calls: Array<string>) => built().step('a', pay(calls, noReply))],
    ['a completed step', (calls: Array<string>) => built().step('a', pay(calls)).step('z', noReply)],
    [
      'the task of a completed sub-step',
      (calls: Array<string>) =>
        built().step('a', async ({ step }) => {
          await step('g', { idempotent: false }, pay(calls).run)
          await noReply()
        })
    ]
  ])('an edit that makes %s a wave is refused even if missing evidence makes it run again', async (_, failing) => {
    const calls: Array<string> = []
    const options = { id: 'r', storage: memoryStorage() }
    const first = { ...options, environment: { artifacts: memoryArtifacts() } }
    assert.equal((await runOutcome(failing(calls) as ReturnType<typeof start>, first))._tag, 'Failed')
    const lost = { ...options, environment: { artifacts: memoryArtifacts() } }
    const outcome = await runOutcome(built().wave('a', { g: pay(calls) }), lost)
    assert.ok(outcome._tag === 'Refused' && outcome.error._tag === 'PlanError', JSON.stringify(outcome))
    assert.deepEqual(calls, ['pay'])
  })

  const renamings: ReadonlyArray<
    [what: string, was: (calls: Array<string>) => unknown, now: (calls: Array<string>) => unknown]
  > = [
    ['a completed step', (calls) => withCheck().step('a', pay(calls)), (calls) => withCheck().step('b', pay(calls))],
    [
      'a task with a completed sub-step',
      (calls) => withCheck().step('a', ({ step }) => step('g', { idempotent: false }, pay(calls).run)),
      (calls) => withCheck().step('b', ({ step }) => step('g', { idempotent: false }, pay(calls).run))
    ]
  ]
  const withCheck = () => built().step('check', () => null)
  type WithCheck = ReturnType<typeof withCheck>

  test.each(renamings)(
    'an edit that renames %s that is not idempotent is refused unless `fromStep` runs its place again',
    async (_, was, now) => {
      const calls: Array<string> = []
      const options = { id: 'r', storage: memoryStorage() }
      const first = { ...options, environment: { artifacts: memoryArtifacts() } }
      const ending = (program: unknown, z: () => unknown) => (program as WithCheck).wave('z', { z })
      assert.equal((await runOutcome(ending(was(calls), noReply), first))._tag, 'Failed')
      const lost = { ...options, environment: { artifacts: memoryArtifacts() } }
      const renamed = ending(now(calls), () => null)
      for (const more of [{}, { restartWave: 'z' }]) {
        const outcome = await runOutcome(renamed, { ...lost, ...more })
        assert.ok(outcome._tag === 'Refused' && outcome.error._tag === 'PlanError', JSON.stringify(outcome))
      }
      assert.deepEqual(calls, ['pay'])
      assert.equal((await runOutcome(renamed, { ...lost, fromStep: 'build' }))._tag, 'Completed')
      assert.deepEqual(calls, ['pay', 'pay'])
    }
  )

  test('an edit that removes a completed non-idempotent step is refused if a wave becomes a task that is not idempotent', async () => {
    const calls: Array<string> = []
    const options = { id: 'r', storage: memoryStorage() }
    const first = { ...options, environment: { artifacts: memoryArtifacts() } }
    const was = withCheck()
      .step('a', pay(calls))
      .step('z', noReply)
      .wave('m', { g: () => null })
    assert.equal((await runOutcome(was, first))._tag, 'Failed')
    const lost = { ...options, environment: { artifacts: memoryArtifacts() } }
    const now = withCheck()
      .step('z', () => null)
      .step('m', pay(calls))
    const outcome = await runOutcome(now, lost)
    assert.ok(outcome._tag === 'Refused' && outcome.error._tag === 'PlanError', JSON.stringify(outcome))
    assert.deepEqual(calls, ['pay'])
  })

  test('an edit that removes a completed step that would run again is accepted if it adds no step', async () => {
    const calls: Array<string> = []
    const options = { id: 'r', storage: memoryStorage() }
    const first = { ...options, environment: { artifacts: memoryArtifacts() } }
    assert.equal((await runOutcome(withCheck().step('a', pay(calls)).step('z', noReply), first))._tag, 'Failed')
    const lost = { ...options, environment: { artifacts: memoryArtifacts() } }
    assert.equal(
      (
        await runOutcome(
          withCheck().step('z', () => null),
          lost
        )
      )._tag,
      'Completed'
    )
    assert.deepEqual(calls, ['pay'])
  })
})

/** Answers that are recorded without the program, before the resume that would ask. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import { memoryRequests } from '../../src/adapters/memory.js'
import type { Checkpoint } from '../../src/domain/checkpoint/Checkpoint.js'
import { status } from '../../src/domain/checkpoint/Checkpoint.js'
import { get } from '../../src/domain/checkpoint/Units.js'
import type { Answer } from '../../src/domain/plan/Plan.js'
import * as Program from '../../src/executor/program/Program.js'
import { describe as describeError } from '../../src/executor/errors/describe.js'
import { answer, confirm, pause, resume, run } from '../../src/index.js'
import { workflow } from '../../src/promise/index.js'
import type { World } from './fixtures.js'
import { ended, historyOf, newProcess, newWorld, refused, right, stored } from './fixtures.js'

const AGAIN: Answer = { _tag: 'Again' }
const KEEP: Answer = { _tag: 'Keep' }
const DONE: Answer = { _tag: 'Done' }
const SEVEN: Answer = { _tag: 'Done', output: 7 }

const logging = (world: World, name: string, fails: () => boolean = () => false) => ({
  run: () =>
    pipe(
      TE.fromIO<string, Error>(() => {
        world.log.push(name)
        return name
      }),
      TE.chain((output) => (fails() ? TE.left(new Error('no reply')) : TE.right(output)))
    )
})

const answeringAll = (world: World, answers: Readonly<Record<string, Answer>>) =>
  confirm('r', new Map(Object.entries(answers)))(newProcess(world).environment)()

const answering = (world: World, unit: string, answer: Answer) => answeringAll(world, { [unit]: answer })

const openIn = async (world: World, answers: Readonly<Record<string, Answer>>) => {
  const before = await storedIn(world)
  const { questions } = refused(await answeringAll(world, answers), 'Unconfirmed')
  assert.equal((await storedIn(world)).revision, before.revision)
  return questions.map(({ unit }) => unit)
}

const storedIn = (world: World) => stored(newProcess(world).storage)

const outputOf = ({ completedSteps }: Checkpoint, unit: string) => get(completedSteps, unit)?.output

/** Runs again, and returns what ran. */
const rest = async (world: World, program: Program.Program<unknown>): Promise<ReadonlyArray<string>> => {
  world.log.length = 0
  ended(await newProcess(world).perform(resume(program, 'r')), 'Completed')
  return world.log
}

describe('a step that is not idempotent and may have taken effect', () => {
  const failed = async (names: ReadonlyArray<string> = ['charge']) => {
    const world = newWorld()
    let isDown = true
    const unreliable = (name: string) => ({ ...logging(world, name, () => isDown), idempotent: false, capture: name })
    const program = pipe(
      Program.start('order'),
      Program.wave('pay', Object.fromEntries(names.map((name) => [name, unreliable(name)]))),
      Program.step('ship', { run: ({ variables }) => TE.right(variables.get('charge') ?? 'nothing') })
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
    isDown = false
    return { world, program }
  }

  test('the recorded answer "again" lets the next resume run the unit again', async () => {
    const { world, program } = await failed()
    right(await answering(world, 'pay/charge', AGAIN))
    assert.deepEqual(await rest(world, program), ['charge'])
  })

  test('the recorded answer "done" sets the output of its unit, and later steps of the next resume see it', async () => {
    const { world, program } = await failed()
    right(await answering(world, 'pay/charge', { _tag: 'Done', output: 'paid' }))
    assert.deepEqual(await rest(world, program), [])
    assert.equal(outputOf(await storedIn(world), 'pay/charge'), 'paid')
    assert.equal(outputOf(await storedIn(world), 'ship'), 'paid')
  })

  test('answers are refused if they leave a question open', async () => {
    const { world, program } = await failed(['charge', 'invoice'])
    const given: Answer = { _tag: 'Done', output: 1 }
    assert.deepEqual(await openIn(world, { 'pay/charge': given }), ['pay/invoice'])
    right(await answeringAll(world, { 'pay/charge': given, 'pay/invoice': AGAIN }))
    assert.deepEqual(await rest(world, program), ['invoice'])
  })

  test('an answer about an unknown unit is refused, and the error lists the open questions', async () => {
    const { world } = await failed(['charge'])
    const { why, waiting } = refused(await answering(world, 'pay/chagre', DONE), 'AnswerRefused')
    assert.deepEqual({ why, waiting }, { why: 'UnknownUnit', waiting: ['pay/charge'] })
  })

  test('an answer about a unit without a question is refused even beside a valid one, and the error lists all open questions', async () => {
    const { world } = await failed(['charge'])
    const refusalOf = async (unit: string) => {
      const answers = { 'pay/charge': AGAIN, [unit]: AGAIN }
      const { unit: of, why, waiting } = refused(await answeringAll(world, answers), 'AnswerRefused')
      return [of, why, ...waiting]
    }
    assert.deepEqual(await refusalOf('pay/chagre'), ['pay/chagre', 'UnknownUnit', 'pay/charge'])
    assert.deepEqual(await refusalOf('ship'), ['ship', 'NotAsked', 'pay/charge'])
  })

  test.each([
    ['sequence around its unit', 'pay'],
    ['same unit', 'pay/charge']
  ])('a recorded answer cannot be replaced by an answer about the %s', async (_, unit) => {
    const { world, program } = await failed(['charge'])
    right(await answering(world, 'pay/charge', { _tag: 'Done', output: 'paid' }))
    assert.equal(refused(await answering(world, unit, DONE), 'AnswerRefused').why, 'NotAsked')
    assert.deepEqual(await rest(world, program), [])
    assert.equal(outputOf(await storedIn(world), 'pay/charge'), 'paid')
  })

  test('a refused answer does not claim the run', async () => {
    const { world } = await failed(['charge', 'invoice'])
    const { environment, calls } = newProcess(world)
    for (const [unit, answer] of [
      ['ship', DONE],
      ['pay/charge', KEEP],
      ['pay/charge', AGAIN],
      ['other', AGAIN]
    ] as const)
      assert.ok(E.isLeft(await confirm('r', new Map([[unit, answer]]))(environment)()))
    assert.deepEqual(new Set(calls), new Set(['load']))
  })

  test('an answer about a unit without a question is refused, and the error lists the units with one', async () => {
    const { world } = await failed()
    const before = (await storedIn(world)).revision
    const error = refused(await answering(world, 'ship', DONE), 'AnswerRefused')
    assert.equal(
      describeError(error),
      'Cannot answer "ship" of run r: it needs no answer (not started); units with an open question: pay/charge'
    )
    const none = { ...error, waiting: [] }
    assert.equal(describeError(none), 'Cannot answer "ship" of run r: it needs no answer (not started); resume the run')
    const wrong = refused(await answering(world, 'pay/charge', KEEP), 'PlanError')
    assert.match(describeError(wrong), /^Cannot answer this run:\n/)
    assert.equal((await storedIn(world)).revision, before)
  })

  test.each([
    ['again', 'the string "again"'],
    [undefined, 'undefined'],
    [{ _tag: 'Yes' }, "{ _tag: 'Yes' }"]
  ])('the invalid answer %j is refused, and nothing is recorded', async (answer, found) => {
    const { world } = await failed()
    const error = refused(await answering(world, 'pay/charge', answer as never), 'AnswerRefused')
    assert.equal(
      describeError(error),
      `Cannot answer "pay/charge" of run r: the answer must be { _tag: 'Again' }, { _tag: 'Keep' } or { _tag: 'Done' }, not ${found}`
    )
  })

  test('confirm is refused while a process owns the run', async () => {
    const { world } = await failed()
    const { storage, environment } = newProcess(world)
    right(await storage.claim('r', { host: 'other', pid: 7 })())
    refused(await confirm('r', new Map([['pay/charge', AGAIN]]))(environment)(), 'HeldBy')
  })
})

describe('evidence that was edited', () => {
  const writing = (world: World, name: string) => ({
    evidence: [{ _tag: 'Artifact', path: name }] as const,
    run: () =>
      TE.fromIO<undefined, Error>(() => {
        world.log.push(name)
        world.tree.files.set(name, name)
        return undefined
      })
  })

  const edited = async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('docs'),
      Program.step('draft', writing(world, 'draft')),
      Program.step('layout', writing(world, 'layout')),
      Program.step('print', writing(world, 'print'))
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    world.tree.files.set('layout', 'edited by hand')
    return { world, program }
  }

  test('the recorded answer "keep" accepts edited content, and the next resume asks nothing', async () => {
    const { world, program } = await edited()
    right(await answering(world, 'layout', KEEP))
    assert.deepEqual(await rest(world, program), [])
    assert.equal(world.tree.files.get('layout'), 'edited by hand')
  })

  test('the recorded answer "again" lets the next resume run the edited unit and all later ones again', async () => {
    const { world, program } = await edited()
    right(await answering(world, 'layout', AGAIN))
    assert.deepEqual(await rest(world, program), ['layout', 'print'])
  })

  test.each([AGAIN, KEEP])('a paused run stays paused after the answer $_tag', async (answer) => {
    const world = newWorld()
    const requests = memoryRequests()
    const { environment, perform } = newProcess(world, { requests })
    const asking = TE.chain(() => TE.fromTask<undefined, Error>(async () => void (await pause('r')(environment)())))
    const program = pipe(
      Program.start('docs'),
      Program.step('draft', writing(world, 'draft')),
      Program.step('layout', { run: () => asking(writing(world, 'layout').run()) }),
      Program.step('print', writing(world, 'print'))
    )
    ended(await perform(run(program, 'r', {})), 'Interrupted')
    world.tree.files.set('draft', 'edited by hand')
    right(await answering(world, 'draft', answer))
    assert.equal(status(await storedIn(world), false), 'paused')
    const left = answer === KEEP ? ['print'] : ['draft', 'layout', 'print']
    assert.deepEqual(await rest(world, pipe(program)), left)
  })

  test.each([
    ['layout', 'print'],
    ['print', 'layout']
  ])('two edited units must be answered together: an answer about %s alone leaves %s open', async (one, other) => {
    const { world, program } = await edited()
    world.tree.files.set('print', 'edited, too')
    assert.deepEqual(await openIn(world, { [one]: KEEP }), [other])
    right(await answeringAll(world, { [one]: KEEP, [other]: KEEP }))
    assert.deepEqual(await rest(world, program), [])
  })

  /** An artifact of `first` is edited or missing, and a later step is not idempotent. */
  const beforeHarmful = async (now: 'edited' | 'missing', fails: boolean) => {
    const world = newWorld()
    let isDown = fails
    const program = pipe(
      Program.start('docs'),
      Program.step('first', writing(world, 'first')),
      Program.step('send', { ...logging(world, 'send', () => isDown), idempotent: false }),
      Program.step('last', logging(world, 'last'))
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), fails ? 'Failed' : 'Completed')
    isDown = false
    if (now === 'edited') world.tree.files.set('first', 'edited by hand')
    else world.tree.files.delete('first')
    return { world, program }
  }

  test.each([
    ['had completed', false],
    ['was in doubt', true]
  ])(
    'an answer that makes a non-idempotent step run again needs an answer about that step too: the step %s',
    async (_, fails) => {
      const { world, program } = await beforeHarmful('edited', fails)
      assert.deepEqual(await openIn(world, { first: AGAIN }), ['send'])
      right(await answeringAll(world, { first: AGAIN, send: { _tag: 'Done', output: 'sent' } }))
      assert.deepEqual(await rest(world, program), ['first', 'last'])
    }
  )

  test.each([
    ['had completed', false],
    ['was in doubt', true]
  ])(
    'a question about a non-idempotent step after one with missing evidence can be answered: the step %s',
    async (_, fails) => {
      const { world, program } = await beforeHarmful('missing', fails)
      right(await answering(world, 'send', AGAIN))
      assert.deepEqual(await rest(world, program), ['first', 'send', 'last'])
    }
  )

  test('an answer that abandons a pending job needs an answer for the job, which stays pending', async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('docs'),
      Program.step('first', writing(world, 'first')),
      Program.step('send', {
        idempotent: false,
        job: {
          submit: logging(world, 'submit').run,
          poll: () => TE.right({ _tag: 'Unfinished' as const }),
          collect: () => TE.right(null)
        }
      })
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Pending')
    world.tree.files.set('first', 'edited by hand')
    assert.deepEqual(await openIn(world, { first: AGAIN }), ['send'])
    assert.equal((await storedIn(world)).pending.size, 1)
  })

  test('the answer "again" about a group runs the groups that need it again, and no other', async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('docs'),
      Program.wave('all', {
        layout: writing(world, 'layout'),
        print: { ...logging(world, 'print'), needs: ['layout'] },
        other: logging(world, 'other')
      })
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    world.tree.files.set('layout', 'edited by hand')
    right(await answering(world, 'all/layout', AGAIN))
    assert.deepEqual(await rest(world, program), ['layout', 'print'])
  })
})

describe('a sub-step that is not idempotent and may have taken effect', () => {
  test.each([
    ['again', AGAIN, ['agent', 'pay']],
    ['done', { _tag: 'Done', output: 'receipt' } as const, ['agent']]
  ])('the answer "%s" is obeyed by the next resume', async (_, answer, ran) => {
    const world = newWorld()
    let isDown = true
    const program = pipe(
      Program.start('shop'),
      Program.step('agent', {
        run: async ({ step }) => {
          world.log.push('agent')
          return await step('pay', { idempotent: false }, () => {
            world.log.push('pay')
            return isDown ? Promise.reject(new Error('no reply')) : Promise.resolve('second')
          })
        }
      })
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
    isDown = false
    right(await answering(world, 'agent/pay', answer))
    assert.deepEqual(await rest(world, program), ran)
  })
})

test('an answer to a question of a run with secrets records exactly one change, Confirmed', async () => {
  const world = newWorld()
  const program = pipe(
    Program.start('order', { secrets: ['TOKEN'] }),
    Program.step('charge', { ...logging(world, 'charge', () => true), idempotent: false })
  )
  const { environment, perform, storage } = newProcess(world, {
    secrets: { where: 'here', read: () => TE.right(O.some('s3cr3t-value')) }
  })
  ended(await perform(run(program, 'r', {})), 'Failed')
  const before = (await historyOf(storage)).length
  right(await confirm('r', new Map([['charge', AGAIN]]))(environment)())
  assert.deepEqual((await historyOf(storage)).slice(before), ['Confirmed'])
})

test('the output of an answer is recorded redacted, and is refused in an environment that cannot read the secrets', async () => {
  const world = newWorld()
  const program = pipe(
    Program.start('order', { secrets: ['TOKEN'] }),
    Program.step('charge', { ...logging(world, 'charge', () => true), idempotent: false })
  )
  const secrets = { where: 'here', read: () => TE.right(O.some('s3cr3t-value')) }
  ended(await newProcess(world, { secrets }).perform(run(program, 'r', {})), 'Failed')
  const answers = new Map<string, Answer>([['charge', { _tag: 'Done', output: 'paid with s3cr3t-value' }]])
  refused(await confirm('r', answers)(newProcess(world).environment)(), 'SecretsMissing')
  right(await confirm('r', answers)(newProcess(world, { secrets }).environment)())
  assert.equal(outputOf(await storedIn(world), 'charge'), 'paid with ***')
})

describe('an answer "done" without the output that the step needs', () => {
  const declared = async (answer: Answer, output?: t.Mixed) => {
    const world = newWorld()
    const charge = { ...logging(world, 'charge', () => true), idempotent: false }
    const program = pipe(
      Program.start('order'),
      Program.step('charge', output === undefined ? charge : { ...charge, output }),
      Program.step('ship', { run: ({ outputs }) => TE.right(outputs.charge ?? 'nothing') })
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
    right(await answering(world, 'charge', answer))
    world.log.length = 0
    return { world, program }
  }
  const paid = new Map<string, Answer>([['charge', { _tag: 'Done', output: 'paid' }]])

  test.each([
    ['no output', DONE],
    ['an output that does not fit', SEVEN]
  ])(
    'after the answer "done" with %s the resume is refused, and the error names what the step needs',
    async (_, answer) => {
      const { world, program } = await declared(answer, t.string)
      const error = refused(await newProcess(world).perform(resume(program, 'r')), 'PlanError')
      const expected = { _tag: 'OutputNotDecodable', unit: 'charge', path: '$', expected: 'string', assumed: true }
      assert.deepEqual(error.problems, [expected])
      assert.match(
        describeError(error),
        /"charge" was declared done without an output that it accepts: expected string/
      )
    }
  )

  test.each([
    ['no output, with a codec', DONE, t.string, { confirm: paid }],
    ['an output that the codec refuses', SEVEN, t.string, { confirm: paid }],
    [
      'no output, with a codec; the option `outputs` supplies it',
      DONE,
      t.string,
      { outputs: new Map([['charge', 'paid']]) }
    ],
    ['no output, without a codec', DONE, undefined, { confirm: paid }]
  ])(
    'a resume supplies the output that the answer "done" lacked, and does not run the step: %s',
    async (_, answer, output, options) => {
      const { world, program } = await declared(answer, output)
      ended(await newProcess(world).perform(resume(program, 'r', options)), 'Completed')
      assert.deepEqual(world.log, [])
      assert.equal(outputOf(await storedIn(world), 'charge'), 'paid')
      assert.equal(outputOf(await storedIn(world), 'ship'), 'paid')
      // The same call again changes nothing.
      const { revision } = await storedIn(world)
      ended(await newProcess(world).perform(resume(program, 'r', { confirm: paid })), 'Completed')
      assert.equal((await storedIn(world)).revision, revision)
    }
  )
})

describe('the error of a refused answer', () => {
  const why = async (program: Program.Program<unknown>, unit: string, value?: number): Promise<string> => {
    const world = newWorld()
    const { environment, perform } = newProcess(world)
    await perform(run(program, 'r', {}))
    const answers = new Map([[unit, DONE]])
    return describeError(
      value === undefined
        ? refused(await confirm('r', answers)(environment)(), 'AnswerRefused')
        : refused(await answer('r', unit, value)(environment)(), 'AnswerRefused')
    )
  }
  const job = {
    submit: () => TE.right(7),
    poll: () => TE.right({ _tag: 'Unfinished' as const }),
    collect: () => TE.right(1)
  }
  const boom = { run: () => TE.left(new Error('boom')) }
  const suspended = workflow('w').step('t', ({ waitFor }) => waitFor('ok', { question: 'Go?' }))

  test.each([
    [
      'a pending job',
      pipe(Program.start('w'), Program.step('a', { job })),
      'a',
      /^Cannot answer "a" of run r: it waits for its job, submitted at \S+: 7; poll the run, or, to abandon the job, resume with `fromStep` "a"$/
    ],
    [
      'a step that sleeps',
      pipe(Program.start('w'), Program.sleep('a', { millis: 60_000 })),
      'a',
      /^Cannot answer "a" of run r: it sleeps until \S+Z; then resume the run$/
    ],
    [
      'a completed step',
      pipe(
        Program.start('w'),
        Program.step('a', () => TE.right(1)),
        Program.step('b', boom)
      ),
      'a',
      /^Cannot answer "a" of run r: it needs no answer \(completed\); a resume with `fromStep` "a" runs it again$/
    ],
    [
      'a failed step that runs again',
      pipe(Program.start('w'), Program.step('a', boom)),
      'a',
      /^Cannot answer "a" of run r: it needs no answer \(failed: boom\); resume the run, or, to count it as done, resume with a later step as `fromStep`, if there is one$/
    ]
  ])('the error says what a resume does with the unit, and which call helps: %s', async (_, program, unit, message) => {
    assert.match(await why(program, unit), message)
    assert.match(await why(program, unit, 1), message)
  })

  test('the error for a wait in the code of a task says to pass a value with `answer`', async () => {
    assert.equal(
      await why(suspended, 't/ok'),
      'Cannot answer "t/ok" of run r: it waits for a value, not for again, keep or done: Go?; pass a value with `answer`'
    )
  })

  test('the error for a value given to a step in doubt says to use `confirm`', async () => {
    assert.equal(
      await why(pipe(Program.start('w'), Program.step('pay', { ...boom, idempotent: false })), 'pay', 1),
      'Cannot answer "pay" of run r: it does not wait for a value: "pay" may already have taken effect, and is not idempotent: it failed: boom; answer with `confirm`, or with the option `confirm` of a resume'
    )
  })
})

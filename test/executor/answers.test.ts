/** Valid answers, and answers that no unit takes. */
import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import { memoryRequests } from '../../src/adapters/memory.js'
import { describe as describeError } from '../../src/executor/errors/describe.js'
import type { Requests } from '../../src/index.js'
import { answer, Program, RequestCodec, resume, run } from '../../src/index.js'
import { workflow } from '../../src/promise/index.js'
import { ended, newProcess, newWorld, refused, right, stored } from './fixtures.js'

const approving = pipe(Program.start('release'), Program.waitFor('ok'))

describe("the name of an answer's author", () => {
  test.each([
    ['a tab', 'ada\tlovelace'],
    ['no character', ''],
    ['513 characters', 'x'.repeat(513)]
  ])('an answer is refused and leaves no request if the name of its author has %s', async (_, by) => {
    const left: Array<unknown> = []
    const memory = memoryRequests()
    const requests: Requests = {
      ...memory,
      leave: (request) => {
        left.push(request)
        return memory.leave(request)
      }
    }
    const process = newProcess(newWorld(), { requests })
    ended(await process.perform(run(approving, 'r', {})), 'Pending')
    const error = refused(await answer('r', 'ok', 1, { by })(process.environment)(), 'AnswerRefused')
    assert.equal(error.why, 'InvalidName')
    assert.equal(
      describeError(error),
      'Cannot answer "ok" of run r: `by` must have 1 to 512 characters and no control characters; pass another name'
    )
    right(await process.storage.claim('r', { host: 'other', pid: 1 })())
    refused(await answer('r', 'ok', 1, { by })(process.environment)(), 'AnswerRefused')
    assert.deepEqual(left, [])
  })

  test("an author's name may have 512 characters, and its request can be decoded", async () => {
    const requests = memoryRequests()
    const process = newProcess(newWorld(), { requests })
    ended(await process.perform(run(approving, 'r', {})), 'Pending')
    right(await process.storage.claim('r', { host: 'other', pid: 1 })())
    assert.equal(right(await answer('r', 'ok', 1, { by: '𝄞'.repeat(512) })(process.environment)())._tag, 'Requested')
    for (const one of right(await requests.list('r')()))
      assert.deepEqual(RequestCodec.decodeRequest(RequestCodec.encode(one)), E.right(one))
  })
})

describe('an answer to a wait in the code of a task', () => {
  const paying = workflow('pay').step('collect', async ({ waitFor }) => [
    await waitFor('paid 2'),
    await waitFor('paid 2')
  ])

  test.each([
    'collect/paid 2',
    'collect/',
    'collect//x',
    'collect/%70aid',
    'collect/x#1',
    'collect/x#02',
    'collect/x/y'
  ])('an answer to a path that no wait can have is refused with the paths of the open waits: %s', async (unit) => {
    const process = newProcess(newWorld())
    ended(await process.perform(run(paying, 'r', {})), 'Pending')
    const error = refused(await answer('r', unit, 1)(process.environment)(), 'AnswerRefused')
    assert.equal(error.why, unit.split('/').length > 2 ? 'NotAWait' : 'UnknownUnit')
    assert.deepEqual(error.waiting, ['collect/paid%202'])
  })

  test('an answer to a repeated wait is accepted even before the code starts that wait', async () => {
    const process = newProcess(newWorld())
    ended(await process.perform(run(paying, 'r', {})), 'Pending')
    for (const [unit, value] of [
      ['collect/paid%202#2', 2],
      ['collect/paid%202', 1]
    ] as const)
      right(await answer('r', unit, value)(process.environment)())
    assert.deepEqual(ended(await process.perform(resume(paying, 'r')), 'Completed').outputs, { collect: [1, 2] })
  })
})

describe('an answer with the value of a secret', () => {
  test('an answer is recorded redacted even if the owner releases the run before the request is stored', async () => {
    const requests = memoryRequests()
    const secrets = { where: 'here', read: () => TE.right(O.some('hunter2-hunter2')) }
    const process = newProcess(newWorld(), { requests, secrets })
    const program = pipe(
      Program.start('w', { secrets: ['TOKEN'] }),
      Program.step('one', () => async () => {
        const given = await answer('r', 'ok', 'it is hunter2-hunter2', { by: 'hunter2-hunter2' })(process.environment)()
        assert.equal(right(given)._tag, 'Requested')
        return E.left('it fails')
      }),
      Program.waitFor('ok')
    )
    ended(await process.perform(run(program, 'r', {})), 'Failed')
    const { answers } = await stored(process.storage)
    assert.deepEqual(
      [...answers].map(({ value, by }) => [value, by]),
      [['it is ***', '***']]
    )
  })
})

describe('the size of an answer', () => {
  test.each([['at rest', false] as const, ['held by another process', true] as const])(
    'an answer of more than 16 MiB is refused with its size, and leaves no request: the run is %s',
    async (_, isHeld) => {
      const requests = memoryRequests()
      const process = newProcess(newWorld(), { requests })
      ended(await process.perform(run(approving, 'r', {})), 'Pending')
      if (isHeld) right(await process.storage.claim('r', { host: 'other', pid: 1 })())
      const error = refused(await answer('r', 'ok', 'x'.repeat(16_777_215))(process.environment)(), 'AnswerRefused')
      assert.equal(
        describeError(error),
        'Cannot answer "ok" of run r: the answer must be at most 16777216 bytes of JSON, not 16777217; answer with the path of a file'
      )
      assert.deepEqual(right(await requests.list('r')()), [])
      assert.equal(
        right(await answer('r', 'ok', 'x'.repeat(16_777_214))(process.environment)())._tag,
        isHeld ? 'Requested' : 'Recorded'
      )
    }
  )
})

describe('an answer to a wait that the task never started', () => {
  test('an answer to a wait that the task never started is reported as rejected when the task completes', async () => {
    const process = newProcess()
    const program = workflow('w')
      .step('t', ({ waitFor }) => waitFor('ok'))
      .step('u', () => 1)
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    for (const unit of ['t/oc', 't/ok']) right(await answer('r', unit, 1, { by: 'ada' })(process.environment)())
    ended(await process.perform(resume(program, 'r')), 'Completed')
    const rejected = process.events.filter(({ _tag }) => _tag === 'AnswerRejected')
    assert.deepEqual(rejected, [
      {
        _tag: 'AnswerRejected',
        runId: 'r',
        unit: 't/oc',
        stepIndex: 0,
        by: 'ada',
        path: '$',
        expected: 'a unit that waits for an answer'
      }
    ])
  })
})

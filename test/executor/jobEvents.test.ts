import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { test } from 'vitest'
import { poll, Program, run, StepError, StepFailure } from '../../src/index.js'
import { ended, newProcess, policy, right } from './fixtures.js'

test('the event of a failed job has the number of the attempt that submitted it', async () => {
  const process = newProcess()
  let calls = 0
  const busy = StepFailure.transient(StepError.make('Busy', 'busy'))
  const program = pipe(
    Program.start('w'),
    Program.step('train', {
      retry: policy({ attempts: 3, delayMillis: 1 }),
      job: {
        submit: () => (++calls === 1 ? TE.left(busy) : TE.right('job-1')),
        poll: () => TE.right({ _tag: 'Failed', error: new Error('no') } as const),
        collect: () => TE.right(1)
      }
    })
  )
  ended(await process.perform(run(program, 'r', {})), 'Pending')
  right(await poll(program, 'r')(process.environment)())
  const failed = process.events.find(({ _tag }) => _tag === 'StepFailed')
  assert.ok(failed?._tag === 'StepFailed')
  assert.equal(failed.attempt, 2)
})

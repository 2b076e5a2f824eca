/** The recorder: staged changes are visible at once and durable after the next commit. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { make, revisionOf } from '../../src/executor/storage/Recorder.js'
import { Checkpoint, Program, run } from '../../src/index.js'
import type * as Change from '../../src/domain/change/Change.js'
import { ended, newProcess, newWorld, right, stored } from './fixtures.js'

const AT = '2026-01-02T03:04:05.000Z'

/** A recorder of a new run, and how many revisions each of its saves had. */
const recording = async () => {
  const program = pipe(Program.start('w'), Program.step('one', { run: () => TE.right(1) }))
  const started: Change.Started = { _tag: 'Started', at: AT, runId: 'r', workflow: program.identity, input: {} }
  const checkpoint = Checkpoint.start(started)
  const storage = memoryStorage()
  const { claim } = right(await storage.claim('r', { host: 'h', pid: 1 })())
  const saves: Array<number> = []
  const recorder = make(storage, claim, checkpoint, [revisionOf(checkpoint, started)], (_, revisions) => {
    saves.push(revisions.length)
  })
  return { recorder, saves }
}

const recovered: Change.Change = { _tag: 'Recovered', at: AT, from: 'a', lost: 'b', agreedBy: 'c' }
/** A change that the state of the run does not permit. */
const invalid: Change.Change = { _tag: 'UnitFailed', at: AT, unit: 'seven', retryable: false }

describe('a recorder', () => {
  test('a recorder shows staged changes at once, and saves them all with the next commit', async () => {
    const { recorder, saves } = await recording()
    recorder.stage([recovered])
    recorder.stage([recovered])
    assert.equal(recorder.checkpoint().revision, 2)
    assert.deepEqual(saves, [])
    assert.equal(right(await recorder.commit()).revision, 2)
    assert.deepEqual(saves, [3])
  })

  test('a commit with nothing staged writes nothing', async () => {
    const { recorder, saves } = await recording()
    await recorder.commit()
    await recorder.commit()
    assert.deepEqual(saves, [1])
  })

  test('changes staged during a save share the next save', async () => {
    const { recorder, saves } = await recording()
    const first = recorder.commit()
    recorder.stage([recovered])
    const second = recorder.commit()
    recorder.stage([recovered])
    const third = recorder.commit()
    await Promise.all([first, second, third])
    assert.deepEqual(saves, [1, 2])
  })

  test('a commit fails at a change that does not apply, but saves the changes staged before it', async () => {
    const { recorder, saves } = await recording()
    recorder.stage([recovered, invalid, recovered])
    assert.ok(E.isLeft(await recorder.commit()))
    assert.deepEqual(saves, [2])
    assert.ok(E.isLeft(await recorder.commit()))
    assert.equal(recorder.checkpoint().revision, 1)
  })
})

test('the completion of a step is durable before the check of the next wave starts', async () => {
  const world = newWorld()
  const process = newProcess(world)
  let seen: ReadonlyArray<string> = []
  const before = () =>
    TE.fromTask(async () => {
      seen = [...(await stored(process.storage)).completedSteps].map(({ unit }) => unit)
    })
  const program = pipe(
    Program.start('w'),
    Program.step('fetch', { run: () => TE.right(1) }),
    Program.wave('build', { js: { run: () => TE.right(1) } }, { before })
  )
  ended(await process.perform(run(program, 'r', {})), 'Completed')
  assert.deepEqual(seen, ['fetch'])
})

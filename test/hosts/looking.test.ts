import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { nodeEnvironment } from '../../src/adapters/node/index.js'
import type { CheckpointStorage, Json, StorageError } from '../../src/index.js'
import { renderRun, runChanges, viewRun as viewRunOf } from '../../src/index.js'
import { isRunFailure, listRuns, run, runOutcome, start, viewRun, workflow } from '../../src/promise/index.js'

const greet = workflow('greet').step('hello', () => 'hello')

const threeRuns = async (): Promise<CheckpointStorage> => {
  const storage = memoryStorage()
  for (const id of ['a', 'b', 'c']) await run(greet, { id, storage })
  return storage
}

describe('runChanges', () => {
  const changesOf = async (error: StorageError) => {
    const storage = memoryStorage()
    await run(greet, { id: 'r', storage })
    return runChanges('r')(nodeEnvironment({ ...storage, loadRevision: () => TE.left(error) }))()
  }

  test('runChanges leaves out the changes of a damaged revision', async () => {
    const changes = await changesOf({ _tag: 'Corrupt', runId: 'r', where: 'r', why: 'no checkpoint' })
    assert.ok(E.isRight(changes))
    assert.equal(changes.right.size, 0)
  })

  test('runChanges fails if the store cannot be read', async () => {
    const error = { _tag: 'ReadFailed', where: 'r', operation: 'read', code: 'EIO', cause: undefined } as const
    assert.deepEqual(await changesOf(error), E.left(error))
  })
})

describe('listRuns with promises', () => {
  test('listRuns pages through all runs by id', async () => {
    const storage = await threeRuns()
    const seen: Array<string> = []
    for (let after = ''; ;) {
      const page = await listRuns({ storage, after, limit: 2 })
      seen.push(...page.map(({ runId }) => runId))
      const last = page.at(-1)
      if (last === undefined) break
      after = last.runId
    }
    assert.deepEqual(seen, ['a', 'b', 'c'])
    assert.deepEqual(
      (await listRuns({ storage })).map(({ summary }) => [summary?.status, summary?.steps.completed]),
      Array.from({ length: 3 }, () => ['completed', 1])
    )
  })

  test('listRuns lists a run that cannot be read with its error', async () => {
    const storage = await threeRuns()
    const damaged: CheckpointStorage = {
      ...storage,
      load: (id) =>
        id === 'b' ? TE.left({ _tag: 'Corrupt', runId: id, where: 'b', why: 'no checkpoint' }) : storage.load(id),
      list: (page) =>
        TE.map((all: ReadonlyArray<{ runId: string }>) => all.map(({ runId }) => ({ runId })))(storage.list(page))
    }
    const listed = await listRuns({ storage: damaged })
    assert.deepEqual(
      listed.map(({ runId, error }) => [runId, error?._tag]),
      [
        ['a', undefined],
        ['b', 'Corrupt'],
        ['c', undefined]
      ]
    )
  })

  test.each<[string, (all: ReadonlyArray<{ runId: string }>) => ReadonlyArray<object>, RegExp]>([
    ['ignores where a page begins', (all) => all, /listed the string "a"/],
    ['lists entries without a run id', () => [{}], /must have a runId, not undefined/],
    ['does not list an array', () => undefined as never, /must list an array, not undefined/]
  ])('listRuns ends with an error if the store %s', async (_, altered, why) => {
    const storage = await threeRuns()
    const list: CheckpointStorage['list'] = ({ limit } = {}) =>
      TE.map(altered)(storage.list(limit === undefined ? {} : { limit })) as ReturnType<CheckpointStorage['list']>
    const error = await listRuns({ storage: { ...storage, list }, after: 'a', limit: 2 }).catch(
      (thrown: unknown) => thrown
    )
    assert.ok(isRunFailure(error) && error.outcome._tag === 'Refused')
    assert.match(error.message, why)
  })

  test('listRuns rejects with a RunFailure if the storage cannot be read', async () => {
    const broken: CheckpointStorage = { ...memoryStorage(), list: () => () => Promise.reject(new Error('no disk')) }
    const error = await listRuns({ storage: broken }).catch((thrown: unknown) => thrown)
    assert.ok(isRunFailure(error) && error.outcome._tag === 'Refused')
    assert.equal(error.outcome.error._tag, 'ReadFailed')
  })
})

describe('viewRun with promises', () => {
  test('viewRun returns undefined for an unknown run, and a held run with its owner', async () => {
    const options = { id: 'slow-1', storage: memoryStorage() }
    assert.equal(await viewRun(options), undefined)
    let end = (): void => undefined
    const gate = new Promise<void>((resolve) => (end = resolve))
    const { outcome } = await start(
      workflow('slow').step('wait', () => gate),
      options
    )
    const held = await viewRun(options)
    assert.deepEqual([held?.status, held?.heldBy?.pid], ['running', process.pid])
    end()
    await outcome
    const free = await viewRun(options)
    assert.deepEqual([free?.status, free !== undefined && 'heldBy' in free], ['completed', false])
  })

  test('renderRun renders the view that either form of the library returns, with the owner of the run', async () => {
    const storage = memoryStorage()
    const begun = new EventEmitter()
    const stopping = new AbortController()
    const waiting = workflow('waiting').step('wait', ({ signal }) => {
      begun.emit('step')
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
    })
    const isBegun = once(begun, 'step')
    const { outcome } = await start(waiting, { id: 'a', storage, signal: stopping.signal })
    await isBegun
    const view = await viewRun({ id: 'a', storage })
    const same = await viewRunOf('a')(nodeEnvironment(storage))()
    assert.ok(view !== undefined && E.isRight(same) && O.isSome(same.right))
    const page = renderRun(view)
    assert.equal(page, renderRun(same.right.value))
    assert.ok(page.includes(`<dt>Process</dt><dd>${process.pid} on `))
    stopping.abort()
    await outcome
    const ended = await viewRun({ id: 'a', storage })
    assert.ok(ended !== undefined && !renderRun(ended).includes('<dt>Process</dt>'))
  })

  test('a sub-step in doubt of a completed step is shown as failed, with one attempt', async () => {
    const storage = memoryStorage()
    const paying = workflow('paying').step('pay', async ({ step }) => {
      await step('call', { idempotent: false }, () => Promise.reject(new Error('no reply'))).catch(() => undefined)
      return 'paid'
    })
    await run(
      paying.step('end', () => 1),
      { id: 'p', storage }
    )
    const view = await viewRun({ id: 'p', storage })
    assert.deepEqual(
      view?.units.map(({ unit, status, attempts }) => [unit, status, attempts]),
      [
        ['pay', 'completed', 1],
        ['pay/call', 'failed', 1],
        ['end', 'completed', 1]
      ]
    )
  })

  test('a wave in a sequence has failed if its own check failed', async () => {
    const options = { id: 'w-1', storage: memoryStorage() }
    const expect = { files: ['missing.txt'] }
    await runOutcome(
      workflow('w').sequence('build', (part) => part.wave('all', { a: () => 1 }, { expect }).step('pack', () => 2)),
      options
    )
    const view = await viewRun(options)
    assert.deepEqual(
      view?.units.map(({ unit, status }) => [unit, status]),
      [
        ['build', 'failed'],
        ['build/all', 'failed'],
        ['build/all/a', 'completed'],
        ['build/pack', 'not started']
      ]
    )
  })

  test('a view survives JSON with its units, records and failures', async () => {
    const options = { id: 'w-1', storage: memoryStorage() }
    const failing = workflow('w')
      .step('one', () => 1)
      .wave('checks', { good: () => 'fine', bad: () => Promise.reject(new Error('no')) })
    await runOutcome(failing, options)
    const view = await viewRun(options)
    const json = JSON.parse(JSON.stringify(view)) as Readonly<Record<string, Json>>
    const units = json['units'] as ReadonlyArray<{ readonly unit: string; readonly status: string }>
    assert.deepEqual(
      units.map(({ unit, status }) => [unit, status]),
      [
        ['one', 'completed'],
        ['checks', 'failed'],
        ['checks/good', 'completed'],
        ['checks/bad', 'failed']
      ]
    )
    const { completedSteps } = json['checkpoint'] as {
      readonly completedSteps: ReadonlyArray<{ readonly output?: number }>
    }
    assert.equal(completedSteps[0]?.output, 1)
    assert.ok(JSON.stringify(json).includes('"message":"no"'))
  })
})

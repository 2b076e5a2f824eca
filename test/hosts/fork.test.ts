import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import { fileArtifacts, jsonFileStorage } from '../../src/adapters/json-file/index.js'
import { memoryArtifacts, memoryData, memoryRequests, memoryStorage } from '../../src/adapters/memory.js'
import { nodeEnvironment, workspaces } from '../../src/adapters/node/index.js'
import type { CheckpointStorage, Json } from '../../src/index.js'
import { fork as forkInFp, RunError } from '../../src/index.js'
import { cancel, fork, isRunFailure, listRuns, resume, runOutcome, viewRun, workflow } from '../../src/promise/index.js'
import { withFaults } from '../../src/testing/faults.js'
import { folder } from '../adapters/json-file/kit.js'

/** Three steps that log their keys; `broken` fails the last one. */
const logging = (broken = false) => {
  const keys: Array<string> = []
  const ran: Array<string> = []
  const of = (name: string) => (context: { readonly idempotencyKey: string }) => {
    ran.push(name)
    keys.push(context.idempotencyKey)
    if (broken && name === 'three') throw new Error('broken')
    return name
  }
  const program = workflow('w').step('one', of('one')).step('two', of('two')).step('three', of('three'))
  return { program, keys, ran }
}

const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString()

const refusal = async (refused: Promise<unknown>): Promise<RunError> => {
  const failure = await refused.catch((error: unknown) => error)
  assert.ok(isRunFailure(failure) && failure.outcome._tag === 'Refused')
  return failure.outcome.error
}

const idsIn = async (storage: CheckpointStorage): Promise<ReadonlyArray<string>> =>
  (await listRuns({ storage })).map(({ runId }) => runId)

describe('fork', () => {
  test('the fp-ts form of fork refuses a `confirm` that is not a Map, and creates no run', async () => {
    const storage = memoryStorage()
    await runOutcome(logging().program, { id: 'old', storage })
    const options = { fromStep: 'two', confirm: { two: { _tag: 'Again' } } as unknown as Map<string, never> }
    const expected = 'a Map of answers by unit, such as new Map([["build", { _tag: "Again" }]]), not an object'
    assert.deepEqual(await forkInFp('old', 'new', options)(nodeEnvironment(storage))(), {
      _tag: 'Left',
      left: { _tag: 'InvalidOptions', problems: [{ option: 'confirm', expected }] }
    })
    assert.deepEqual(await idsIn(storage), ['old'])
  })

  test('a fork refuses a program in place of a run id, and names the argument', async () => {
    const { program } = logging()
    const wrong = forkInFp as unknown as (...given: ReadonlyArray<unknown>) => ReturnType<typeof forkInFp>
    const ended = await wrong(program, 'old', 'new', { fromStep: 'two' })(nodeEnvironment(memoryStorage()))()
    assert.deepEqual(ended, {
      _tag: 'Left',
      left: {
        _tag: 'InvalidOptions',
        problems: [
          { option: 'runId', expected: 'a string, not an object' },
          { option: 'options', expected: 'an object, not the string "new"' }
        ]
      }
    })
  })

  test('a fork of a completed run keeps the outputs before its unit and runs that unit and all later ones under new keys; both runs are completed', async () => {
    const storage = memoryStorage()
    const { program, keys, ran } = logging()
    await runOutcome(program, { id: 'old', storage })
    const { runId } = await fork({ id: 'old', newId: 'new', fromStep: 'two', storage })
    assert.equal(runId, 'new')
    assert.deepEqual(await resume(program, { id: 'new', storage }), { one: 'one', two: 'two', three: 'three' })
    assert.deepEqual(ran, ['one', 'two', 'three', 'two', 'three'])
    assert.equal(new Set(keys).size, keys.length)
    for (const id of ['old', 'new']) assert.equal((await viewRun({ id, storage }))?.status, 'completed')
  })

  test('the files of the old run are byte-equal after the fork and the end of the new run', async () => {
    const root = folder()
    const options = { storage: jsonFileStorage(root), environment: { artifacts: fileArtifacts(root) } }
    const program = workflow('w')
      .step('make', async ({ artifacts }) => void (await artifacts.put('model', 'weights')))
      .step('use', async ({ artifacts }) => text(await artifacts.get('model')))
    await runOutcome(program, { id: 'old', ...options })
    const before = await contentOf(join(root, 'runs', 'old'))
    await fork({ id: 'old', newId: 'new', fromStep: 'use', ...options })
    assert.equal((await resume(program, { id: 'new', ...options })).use, 'weights')
    assert.deepEqual(await contentOf(join(root, 'runs', 'old')), before)
  })

  test('a fork of a failed run can start at any unit, and has no failure', async () => {
    const storage = memoryStorage()
    await runOutcome(logging(true).program, { id: 'old', storage })
    for (const [newId, fromStep, expected] of [
      ['again', 'three', ['three']],
      ['earlier', 'two', ['two', 'three']]
    ] as const) {
      await fork({ id: 'old', newId, fromStep, storage })
      const view = await viewRun({ id: newId, storage })
      assert.deepEqual(
        view?.units.map(({ error }) => error).filter((error) => error !== undefined),
        []
      )
      const fixed = logging()
      await resume(fixed.program, { id: newId, storage })
      assert.deepEqual(fixed.ran, expected)
    }
    assert.equal((await viewRun({ id: 'old', storage }))?.status, 'failed')
  })

  test('a fork of a pending run starts its wait again: neither a wait nor an answer of the old run counts', async () => {
    const storage = memoryStorage()
    const program = workflow('w')
      .step('one', () => 1)
      .waitFor('approve')
      .step('two', () => 2)
    assert.equal((await runOutcome(program, { id: 'old', storage }))._tag, 'Pending')
    for (const [newId, fromStep] of [
      ['at', 'approve'],
      ['before', 'one']
    ] as const) {
      const { checkpoint } = await fork({ id: 'old', newId, fromStep, storage })
      assert.equal(checkpoint.pending.size, 0)
      assert.equal((await runOutcome(program, { id: newId, storage }))._tag, 'Pending')
    }
  })

  test('a fork submits the job of a pending unit again, under a key of its own', async () => {
    const storage = memoryStorage()
    const submitted: Array<string> = []
    const program = workflow('w')
      .step('one', () => 1)
      .wave('both', {
        train: {
          job: {
            submit: ({ idempotencyKey }) => {
              submitted.push(idempotencyKey)
              return Promise.resolve(idempotencyKey)
            },
            poll: () => Promise.resolve({ _tag: 'Unfinished' as const }),
            collect: () => Promise.resolve(1)
          }
        },
        other: { run: () => 2 }
      })
    assert.equal((await runOutcome(program, { id: 'old', storage }))._tag, 'Pending')
    await fork({ id: 'old', newId: 'new', fromStep: 'both/other', storage })
    assert.equal((await runOutcome(program, { id: 'new', storage }))._tag, 'Pending')
    assert.equal(new Set(submitted).size, 2)
  })

  test('a fork of a cancelled run is not cancelled', async () => {
    const data = memoryData()
    const [storage, environment] = [memoryStorage(data), { requests: memoryRequests(data) }]
    const { program } = logging()
    const paused = await runOutcome(program, { id: 'old', storage, signal: AbortSignal.abort() })
    assert.equal(paused._tag, 'Interrupted')
    await cancel({ id: 'old', storage, environment })
    await fork({ id: 'old', newId: 'new', fromStep: 'one', storage })
    assert.equal((await runOutcome(program, { id: 'new', storage }))._tag, 'Completed')
    assert.equal((await viewRun({ id: 'old', storage }))?.status, 'cancelled')
  })

  test('a fork may take another input, and resume with an edited unit', async () => {
    const storage = memoryStorage()
    const program = (suffix: string) =>
      workflow('w', { input: t.string })
        .step('one', () => 1)
        .step('two', { version: suffix, run: ({ input }) => `${input}${suffix}` })
    await runOutcome(program(''), { id: 'old', storage, input: 'a' })
    await fork({ id: 'old', newId: 'new', fromStep: 'two', input: 'b', storage })
    assert.equal((await resume(program('!'), { id: 'new', storage })).two, 'b!')
  })

  test('a fork is refused, and creates nothing, if its input is not plain JSON', async () => {
    const storage = memoryStorage()
    await runOutcome(logging().program, { id: 'old', storage })
    const cyclic: Record<string, unknown> = {}
    cyclic['self'] = cyclic
    for (const [input, path, found] of [
      [() => 1, '$', 'a function'],
      [{ at: Number.NaN }, '$.at', 'NaN'],
      [{ at: new Date(0) }, '$.at', 'a Date'],
      [10n, '$', 'a bigint'],
      [cyclic, '$.self', 'a cycle']
    ] as const) {
      const forked = fork({ id: 'old', newId: 'new', fromStep: 'two', input: input as unknown as Json, storage })
      assert.deepEqual(await refusal(forked), { _tag: 'InvalidInput', path, expected: `plain JSON, not ${found}` })
    }
    assert.deepEqual(await idsIn(storage), ['old'])
  })

  test('the record of a fork names the run, the revision and the unit that it comes from', async () => {
    const storage = memoryStorage()
    const { program } = logging()
    await runOutcome(program, { id: 'old', storage })
    const { checkpoint } = await fork({ id: 'old', newId: 'new', fromStep: 'three', storage })
    const revision = (await viewRun({ id: 'old', storage }))?.revision
    assert.deepEqual(checkpoint.forkedFrom, { runId: 'old', revision, unit: 'three' })
    await resume(program, { id: 'new', storage })
    assert.deepEqual((await viewRun({ id: 'new', storage }))?.checkpoint.forkedFrom, checkpoint.forkedFrom)
    const history = await storage.history('new')()
    assert.equal(E.isRight(history) && history.right.at(-1)?.change, 'Forked')
  })

  test('a fork without a new id gets a generated one', async () => {
    const storage = memoryStorage()
    await runOutcome(logging().program, { id: 'old', storage })
    const [one, other] = [
      await fork({ id: 'old', fromStep: 'two', storage }),
      await fork({ id: 'old', fromStep: 'two', storage })
    ]
    assert.notEqual(one.runId, other.runId)
    assert.deepEqual(await idsIn(storage), ['old', one.runId, other.runId].sort())
  })

  test('a fork is refused, and creates nothing, if the run or the unit does not exist, or the new id already exists', async () => {
    const storage = memoryStorage()
    const { program } = logging()
    for (const id of ['old', 'taken']) await runOutcome(program, { id, storage })
    const forked = (id: string, newId: string, fromStep: string) => refusal(fork({ id, newId, fromStep, storage }))
    assert.equal((await forked('none', 'new', 'two'))._tag, 'NoSuchRun')
    const unknown = await forked('old', 'new', 'four')
    assert.ok(unknown._tag === 'PlanError' && unknown.problems[0]._tag === 'UnknownStep')
    assert.deepEqual(unknown.problems[0].available, ['one', 'two', 'three'])
    assert.match(RunError.describe(unknown), /^Cannot fork this run:\n {2}step "four" not found/)
    assert.equal((await forked('old', 'taken', 'two'))._tag, 'RunExists')
    assert.equal((await forked('old', 'old', 'two'))._tag, 'RunExists')
    assert.equal((await forked('old', 'a/b', 'two'))._tag, 'InvalidRunId')
    assert.deepEqual(await idsIn(storage), ['old', 'taken'])
  })

  test('a fork onto the id of an existing run leaves that run unchanged, even if its owner is dead', async () => {
    const root = folder()
    const storage = jsonFileStorage(root)
    const { program } = logging()
    await runOutcome(program, { id: 'old', storage })
    await runOutcome(program, { id: 'taken', storage, signal: AbortSignal.abort() })
    const before = await contentOf(join(root, 'runs', 'taken'))
    assert.equal((await refusal(fork({ id: 'old', newId: 'taken', fromStep: 'two', storage })))._tag, 'RunExists')
    assert.deepEqual(await contentOf(join(root, 'runs', 'taken')), before)
  })

  test('a run with a workspace of its own cannot be forked, and the error names the workspace', async () => {
    const root = folder()
    const storage = jsonFileStorage(root)
    const environment = { workspaces: workspaces(root, root) }
    await runOutcome(logging().program, { id: 'old', storage, environment, workspace: 'directory' })
    const error = await refusal(fork({ id: 'old', newId: 'new', fromStep: 'two', storage, environment }))
    assert.ok(error._tag === 'ForkRefused')
    assert.equal(error.workspace.kind, 'directory')
    assert.deepEqual(await idsIn(storage), ['old'])
  })

  test('a fork that fails between the copy of its artifacts and its save leaves no run and no artifact, and a repeated fork succeeds', async () => {
    const data = memoryData()
    const environment = { artifacts: memoryArtifacts(data) }
    const program = workflow('w')
      .step('make', async ({ artifacts }) => void (await artifacts.put('model', 'weights')))
      .step('use', async ({ artifacts }) => text(await artifacts.get('model')))
    const storage = memoryStorage(data)
    await runOutcome(program, { id: 'old', storage, environment })
    const error = { committed: 'no', where: 'state', operation: 'write', code: 'ENOSPC', cause: undefined } as const
    const full = { ...storage, save: () => TE.left({ _tag: 'WriteFailed', ...error } as const) }
    const unknown = withFaults(storage, [{ call: 'save', nth: 1, fault: { _tag: 'Fail', when: 'before' } }])
    const options = { id: 'old', newId: 'new', fromStep: 'use', environment }
    assert.equal((await refusal(fork({ ...options, storage: full })))._tag, 'WriteFailed')
    assert.deepEqual(await environment.artifacts.list('new')(), E.right([]))
    assert.equal((await refusal(fork({ ...options, storage: unknown })))._tag, 'WriteFailed')
    const kept = await environment.artifacts.list('new')()
    assert.ok(E.isRight(kept) && kept.right.length === 1, 'a save that may still take effect needs its artifacts')
    const left = await storage.load('new')()
    assert.ok(E.isRight(left) && O.isNone(left.right))
    await fork({ ...options, storage })
    assert.equal((await resume(program, { id: 'new', storage, environment })).use, 'weights')
  })

  test('a fork keeps its artifacts if its save reports an error although the run was stored', async () => {
    const data = memoryData()
    const environment = { artifacts: memoryArtifacts(data) }
    const program = workflow('w')
      .step('make', async ({ artifacts }) => void (await artifacts.put('model', 'weights')))
      .step('use', async ({ artifacts }) => text(await artifacts.get('model')))
    const storage = memoryStorage(data)
    await runOutcome(program, { id: 'old', storage, environment })
    const late = withFaults(storage, [{ call: 'save', nth: 1, fault: { _tag: 'Fail', when: 'after' } }])
    const options = { id: 'old', newId: 'new', fromStep: 'use', environment }
    assert.equal((await refusal(fork({ ...options, storage: late })))._tag, 'WriteFailed')
    assert.equal((await resume(program, { id: 'new', storage, environment })).use, 'weights')
  })

  test('a fork that lacks an output names the option that takes it, and accepts the output there', async () => {
    const storage = memoryStorage()
    const failing = { capture: 'v', run: () => Promise.reject(new Error('no')) }
    await runOutcome(
      workflow('w')
        .step('one', failing)
        .step('two', () => 2),
      { id: 'old', storage }
    )
    const error = await refusal(fork({ id: 'old', newId: 'new', fromStep: 'two', storage }))
    assert.match(RunError.describe(error), /; pass it with the answer done in `confirm`$/)
    const confirm = new Map([['one', { _tag: 'Done', output: 1 } as const]])
    assert.equal((await fork({ id: 'old', newId: 'new', fromStep: 'two', storage, confirm })).runId, 'new')
  })

  test('a fork is refused while an artifact of a kept record is missing', async () => {
    const data = memoryData()
    const environment = { artifacts: memoryArtifacts(data) }
    const storage = memoryStorage(data)
    const program = workflow('w')
      .step('make', async ({ artifacts }) => void (await artifacts.put('model', 'weights')))
      .step('use', () => 'used')
    await runOutcome(program, { id: 'old', storage, environment })
    await environment.artifacts.remove('old', 'model')()
    const error = await refusal(fork({ id: 'old', newId: 'new', fromStep: 'use', storage, environment }))
    assert.ok(error._tag === 'PlanError' && error.problems[0]._tag === 'AssumedOutputMissing')
  })

  test('a unit in doubt in parallel with the forked unit raises its question, and an answer is recorded in the new run only', async () => {
    const storage = memoryStorage()
    const ran: Array<string> = []
    const program = workflow('w').wave('both', {
      pay: {
        idempotent: false,
        run: () => {
          ran.push('pay')
          throw new Error('no reply')
        }
      },
      mail: { run: () => 'sent' }
    })
    await runOutcome(program, { id: 'old', storage })
    const options = { id: 'old', newId: 'new', fromStep: 'both/mail', storage }
    assert.equal((await refusal(fork(options)))._tag, 'Unconfirmed')
    await fork({ ...options, confirm: new Map([['both/pay', { _tag: 'Done' }]]) })
    await resume(program, { id: 'new', storage })
    assert.deepEqual(ran, ['pay'])
    assert.equal((await viewRun({ id: 'old', storage }))?.status, 'failed')
  })
})

const contentOf = async (folder: string): Promise<ReadonlyMap<string, string>> => {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = found.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
  return new Map(await Promise.all(files.sort().map(async (file) => [file, await readFile(file, 'hex')] as const)))
}

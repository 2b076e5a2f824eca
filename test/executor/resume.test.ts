import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import type { CheckpointStorage, Event } from '../../src/index.js'
import type * as Checkpoint from '../../src/domain/checkpoint/Checkpoint.js'
import type * as Json from '../../src/domain/data/Json.js'
import type * as Plan from '../../src/domain/plan/Plan.js'
import * as CheckpointState from '../../src/domain/checkpoint/CheckpointState.js'
import * as IdempotencyKey from '../../src/domain/checkpoint/IdempotencyKey.js'
import * as Program from '../../src/executor/program/Program.js'
import { RunError } from '../../src/index.js'
import * as RetryPolicy from '../../src/domain/workflow/RetryPolicy.js'
import {
  CheckpointCodec,
  hashPlan,
  planResume,
  resume,
  run,
  runOrResume,
  StepError,
  StepFailure
} from '../../src/index.js'
import {
  ended,
  fakeClock,
  group,
  historyOf,
  loaded,
  newProcess,
  newWorld,
  policy,
  refused,
  right,
  statesOf,
  stored,
  task
} from './fixtures.js'

/** Five steps that log their names and succeed except for the broken one; the second captures a variable. */
const five = (log: Array<string>, broken?: number): Program.Program<unknown> =>
  Program.fromSteps(
    'five',
    Array.from({ length: 5 }, (_, index) =>
      task(`step-${index}`, {
        ...(index === 1 ? { capture: 'seen' } : {}),
        run: () => {
          log.push(`step-${index}`)
          return index === broken
            ? TE.left(Object.assign(new Error('500 error'), { status: 500 }))
            : TE.right(`output ${index}`)
        }
      })
    )
  )

describe('a run that failed and is resumed', () => {
  test('a run of five steps whose third fails keeps the first two, and the fixed workflow continues from the third', async () => {
    const world = newWorld()
    const first = newProcess(world, { clock: fakeClock(1) })
    const failed = ended(await first.perform(run(five(world.log, 2), 'r', { channel: 'beta' })), 'Failed')
    assert.deepEqual(world.log, ['step-0', 'step-1', 'step-2'])
    assert.equal(failed.stepIndex, 2)
    assert.equal(failed.step, 'step-2')
    assert.equal(failed.retryable, true)
    assert.equal(failed.failures[0]?.error.message, '500 error')

    const checkpoint = await stored(first.storage)
    assert.deepEqual(failed.checkpoint.state, checkpoint.state)
    assert.equal(checkpoint.state._tag, 'Failed')
    assert.equal(checkpoint.state.stepIndex, 2)
    assert.equal(checkpoint.completedSteps.size, 2)
    const [zero, one] = [...checkpoint.completedSteps]
    assert.ok(zero !== undefined && one !== undefined)
    const [fingerprint] = five([]).steps.map((step) => step.fingerprint)
    assert.deepEqual(zero, {
      unit: 'step-0',
      stepIndex: 0,
      fingerprint,
      output: 'output 0',
      captured: [],
      attempts: 1,
      startedAt: zero.startedAt,
      completedAt: zero.completedAt,
      durationMillis: Date.parse(zero.completedAt) - Date.parse(zero.startedAt),
      evidence: []
    })
    assert.ok(zero.durationMillis > 0)
    assert.ok(zero.completedAt <= one.startedAt)
    assert.deepEqual([one.stepIndex, one.output, one.captured], [1, 'output 1', ['seen']])
    assert.deepEqual(Object.fromEntries(checkpoint.variables), { channel: 'beta', seen: 'output 1' })

    world.log.length = 0
    const second = newProcess(world)
    const completed = ended(await second.perform(resume(five(world.log), 'r')), 'Completed')
    assert.deepEqual(world.log, ['step-2', 'step-3', 'step-4'])
    assert.deepEqual(
      [...completed.checkpoint.completedSteps].map(({ stepIndex }) => stepIndex),
      [0, 1, 2, 3, 4]
    )
    assert.deepEqual((await stored(second.storage)).state, { _tag: 'Completed', stepIndex: 4, step: 'step-4' })
  })

  test.each([0, 1, 2, 3, 4])(
    'a failure at index %i is recorded, and a resume executes that step first',
    async (index) => {
      const world = newWorld()
      ended(await newProcess(world).perform(run(five(world.log, index), 'r', {})), 'Failed')
      const { state } = await stored(memoryStorage(world.data))
      assert.deepEqual([state._tag, state.stepIndex], ['Failed', index])
      world.log.length = 0
      ended(await newProcess(world).perform(resume(five(world.log), 'r')), 'Completed')
      assert.equal(world.log[0], `step-${index}`)
      assert.equal(world.log.length, 5 - index)
    }
  )

  test('an edited step that failed runs its new code, and the new workflow is recorded', async () => {
    const world = newWorld()
    const edited = (version: string, failing: boolean): Program.Program<unknown> =>
      Program.fromSteps('edited', [
        task('one', { run: () => TE.right(1) }),
        task('two', {
          version,
          run: () => {
            world.log.push(version)
            return failing ? TE.left('no') : TE.right(2)
          }
        })
      ])
    ended(await newProcess(world).perform(run(edited('broken', true), 'r', {})), 'Failed')
    ended(await newProcess(world).perform(resume(edited('fixed', false), 'r')), 'Completed')
    assert.deepEqual(world.log, ['broken', 'fixed'])
    const checkpoint = await stored(memoryStorage(world.data))
    assert.equal(checkpoint.workflow.fingerprint, edited('fixed', false).identity.fingerprint)
    assert.ok((await historyOf(memoryStorage(world.data))).includes('WorkflowEdited'))
  })

  test('a resume of a completed run executes nothing, writes nothing and returns Completed', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(five(world.log), 'r', {})), 'Completed')
    world.log.length = 0
    const again = newProcess(world)
    const outcome = ended(await again.perform(resume(five(world.log), 'r')), 'Completed')
    assert.deepEqual(world.log, [])
    assert.equal(again.saves.length, 0)
    assert.equal(outcome.checkpoint.completedSteps.size, 5)
  })

  test('a resume of a completed run returns Completed even if the process was asked to stop before the resume', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(five(world.log), 'r', {})), 'Completed')
    const again = newProcess(world)
    again.stop()
    ended(await again.perform(resume(five(world.log), 'r')), 'Completed')
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// what is durable, and when
// ---------------------------------------------------------------------------------------------------------------------

describe('durability', () => {
  test('the attempt of a step is stored before the step starts', async () => {
    const world = newWorld()
    const process = newProcess(world)
    const seen: Array<Checkpoint.Checkpoint['state']> = []
    const look = TE.tryCatch(
      async () => void seen.push((await stored(process.storage)).state),
      (error) => error
    )
    const program = Program.fromSteps('looking', [
      task('one', { run: () => look }),
      task('two', { run: () => look }),
      Program.waveOf('three', [group('a', { run: () => look })])
    ])
    ended(await process.perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(seen, [
      CheckpointState.beforeStep(0, 'one', [{ unit: 'one', attempt: 1 }]),
      CheckpointState.beforeStep(1, 'two', [{ unit: 'two', attempt: 1 }]),
      CheckpointState.beforeStep(2, 'three', [{ unit: 'three/a', attempt: 1 }])
    ])
  })

  test('a linear run of n steps makes n + 1 saves, and its history shows both revisions of each step', async () => {
    const world = newWorld()
    const process = newProcess(world)
    ended(await process.perform(run(five(world.log), 'r', {})), 'Completed')
    assert.deepEqual(
      process.saves.map((changes) => changes.map(({ _tag }) => _tag)),
      [
        ['Started', 'AttemptStarted'],
        ['UnitCompleted', 'AttemptStarted'],
        ['UnitCompleted', 'AttemptStarted'],
        ['UnitCompleted', 'AttemptStarted'],
        ['UnitCompleted', 'AttemptStarted'],
        ['UnitCompleted']
      ]
    )
    const states = (await statesOf(process.storage)).map(({ state }) => `${state._tag} ${state.stepIndex}`)
    assert.deepEqual(states, [
      'BeforeStep 0',
      ...[0, 1, 2, 3, 4].flatMap((index) => [`BeforeStep ${index}`, `Completed ${index}`])
    ])
  })

  test('revisions count up by one from 0, and updatedAt increases with each save', async () => {
    const process = newProcess(newWorld(), { clock: fakeClock(1) })
    ended(await process.perform(run(five([]), 'r', {})), 'Completed')
    const states = await statesOf(process.storage)
    assert.deepEqual(
      states.map(({ revision }) => revision),
      states.map((_, index) => index)
    )
    const times = process.events.flatMap((event) =>
      event._tag === 'CheckpointSaved' ? [states[event.revision]?.updatedAt ?? ''] : []
    )
    assert.equal(times.length, 6)
    for (let index = 1; index < times.length; index++) assert.ok((times[index - 1] ?? '') < (times[index] ?? ''))
    for (const time of times) assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  test('a checkpoint names its run, workflow and input, byte for byte', async () => {
    const process = newProcess()
    const input = { text: 'ä\u2028\n"\u0000 😀', list: [1, 2.5, null, true] }
    ended(await process.perform(run(five([]), 'r', input, { workspace: { kind: 'none', path: '/w' } })), 'Completed')
    const checkpoint = await stored(process.storage)
    assert.equal(checkpoint.runId, 'r')
    assert.deepEqual(checkpoint.input, input)
    assert.deepEqual(checkpoint.workspace, { kind: 'none', path: '/w' })
    assert.equal(checkpoint.workflow.name, 'five')
    assert.match(checkpoint.workflow.fingerprint, /^v1:[0-9a-f]{64}$/)
    assert.equal(checkpoint.createdAt, '2026-01-02T03:04:05.000Z')
  })

  test('groups that end together share saves: 100 groups need far fewer than 100 saves', async () => {
    const world = newWorld()
    const clock = fakeClock()
    const process = newProcess(world, { clock })
    const groups = Array.from({ length: 100 }, (_, index) =>
      group(`g${index}`, { run: ({ signal }) => TE.fromTask(clock.sleep(1000, signal)) })
    )
    const program = Program.fromSteps('together', [Program.waveOf('all', groups)])
    ended(await process.perform(run(program, 'r', {})), 'Completed')
    assert.ok(process.saves.length <= 5, `${process.saves.length} saves`)
    assert.equal((await stored(process.storage)).completedSteps.size, 101)
  })

  test('after every save each unit is in exactly one place: completed, in flight, failed, or not started', async () => {
    const world = newWorld()
    const clock = fakeClock()
    const process = newProcess(world, { clock })
    const groups = ['a', 'b', 'c', 'd'].map((name, index) =>
      group(name, {
        needs: name === 'd' ? ['a'] : [],
        retry: policy({ attempts: 2, delayMillis: 500 }),
        run: ({ signal, attempt }) =>
          pipe(
            TE.fromTask(clock.sleep(100 * (index + 1), signal)),
            TE.chain(() => (index % 2 === 1 && attempt === 1 ? TE.left({ status: 500 }) : TE.right(name)))
          )
      })
    )
    const program = Program.fromSteps('parts', [Program.waveOf('all', groups, { concurrency: 2 })])
    ended(await process.perform(run(program, 'r', {})), 'Completed')
    for (const { state, completedSteps } of await statesOf(process.storage)) {
      const done = [...completedSteps].flatMap((record) => (record.unit === 'all' ? [] : [record.unit]))
      const inFlight = state._tag === 'BeforeStep' ? state.inFlight.records.map(({ unit }) => unit) : []
      assert.equal(new Set([...done, ...inFlight]).size, done.length + inFlight.length)
      assert.ok(inFlight.length <= 2)
    }
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// what prevents a run
// ---------------------------------------------------------------------------------------------------------------------

describe('a refused run', () => {
  test('`run` refuses the id of an existing run even if that run failed, and changes nothing', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(five([], 1), 'r', {})), 'Failed')
    const before = await stored(memoryStorage(world.data))
    refused(await newProcess(world).perform(run(five(world.log), 'r', {})), 'RunExists')
    assert.deepEqual(world.log, [])
    assert.equal((await stored(memoryStorage(world.data))).revision, before.revision)
  })

  test('resuming a missing run fails, and leaves nothing behind', async () => {
    const world = newWorld()
    const process = newProcess(world)
    assert.deepEqual(await process.perform(resume(five([]), 'r')), E.left({ _tag: 'NoSuchRun', runId: 'r' }))
    assert.ok(!process.calls.includes('claim'), 'it was claimed')
    assert.ok(O.isNone(await loaded(process.storage)))
    ended(await process.perform(run(five([]), 'r', {})), 'Completed')
  })

  test('an invalid run id is refused, and nothing runs', async () => {
    const process = newProcess()
    refused(await process.perform(run(five(process.world.log), '../r', {})), 'InvalidRunId')
    refused(await process.perform(resume(five(process.world.log), '../r')), 'InvalidRunId')
    assert.deepEqual(process.world.log, [])
  })

  test('a run that a live process holds is refused, and the holder continues undisturbed', async () => {
    const world = newWorld()
    const process = newProcess(world)
    let inner: E.Either<unknown, unknown> | undefined
    const program = Program.fromSteps('held', [
      task('one', {
        run: () =>
          TE.tryCatch(
            async () => {
              inner = await resume(five(world.log), 'r')(process.environment)()
            },
            (error) => error
          )
      })
    ])
    ended(await process.perform(run(program, 'r', {})), 'Completed')
    assert.ok(inner !== undefined && E.isLeft(inner))
    const held = refused(inner as never, 'HeldBy')
    assert.equal(held.holder.pid, 100)
    assert.deepEqual(world.log, [])
  })

  test('runOrResume starts a new run, resumes an existing one, and refuses an existing one with another input', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(runOrResume(five(world.log, 1), 'r', { a: 1, b: 2 })), 'Failed')
    refused(await newProcess(world).perform(runOrResume(five(world.log), 'r', { a: 2, b: 2 })), 'InputChanged')
    ended(await newProcess(world).perform(runOrResume(five(world.log), 'r', { b: 2, a: 1 })), 'Completed')
    assert.deepEqual(world.log, ['step-0', 'step-1', 'step-1', 'step-2', 'step-3', 'step-4'])
  })

  test('an invalid definition is refused before anything is claimed, with all its problems', async () => {
    const world = newWorld()
    const process = newProcess(world)
    const none = () => TE.right(undefined)
    const program = Program.fromSteps('bad', [
      task('same', { run: none }),
      task('same', { run: none }),
      task('no name', { run: none })
    ])
    const { problems } = refused(await process.perform(run(program, 'r', {})), 'PlanError')
    assert.deepEqual(
      problems.map((one) => one._tag === 'InvalidWorkflow' && one.problem._tag),
      ['InvalidName', 'DuplicateName']
    )
    assert.ok(O.isNone(await loaded(process.storage)))
    assert.deepEqual(process.calls, ['load'])
  })

  test('a changed completed step is refused with both fingerprints, unless changes are ignored', async () => {
    const world = newWorld()
    const versioned = (version: string, failing: boolean): Program.Program<unknown> =>
      Program.fromSteps('v', [
        task('one', { version, run: () => TE.right(version) }),
        task('two', { run: () => (failing ? TE.left('no') : TE.right(2)) })
      ])
    ended(await newProcess(world).perform(run(versioned('1', true), 'r', {})), 'Failed')
    const { problems } = refused(await newProcess(world).perform(resume(versioned('2', false), 'r')), 'PlanError')
    const [problem] = problems
    assert.ok(problem._tag === 'WorkflowChanged')
    assert.equal(problem.recorded, versioned('1', true).steps[0]?.fingerprint)
    assert.equal(problem.present, versioned('2', true).steps[0]?.fingerprint)
    ended(await newProcess(world).perform(resume(versioned('2', false), 'r', { changes: 'ignore' })), 'Completed')
  })

  test('a record counts as unchanged with the definition that ran and with the accepted edit, but with no other', async () => {
    const world = newWorld()
    const versioned = (version: string, fails: boolean): Program.Program<unknown> =>
      Program.fromSteps('v', [
        task('one', { version, run: () => TE.fromIO(() => void world.log.push(version)) }),
        task('two', { run: () => (fails ? TE.left('no') : TE.right(2)) })
      ])
    const go = (version: string, options = {}, fails = true) =>
      newProcess(world).perform(resume(versioned(version, fails), 'r', options))
    ended(await newProcess(world).perform(run(versioned('1', true), 'r', {})), 'Failed')
    ended(await go('2', { changes: 'ignore' }), 'Failed')
    const { completedSteps } = await stored(memoryStorage(world.data))
    assert.equal([...completedSteps][0]?.fingerprint, versioned('1', true).steps[0]?.fingerprint)
    ended(await go('2'), 'Failed')
    ended(await go('1'), 'Failed')
    const { problems } = refused(await go('3'), 'PlanError')
    assert.equal(
      problems[0]._tag === 'WorkflowChanged' && problems[0].recorded,
      versioned('1', true).steps[0]?.fingerprint
    )
    ended(await go('1', {}, false), 'Completed')
    assert.deepEqual(world.log, ['1'])
  })

  test('a resume with the hash of another plan is refused', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(five(world.log, 2), 'r', {})), 'Failed')
    const reviewed = right(planResume(await stored(memoryStorage(world.data)), five([])))
    const planHash = hashPlan(reviewed)
    world.log.length = 0
    const other = await newProcess(world).perform(resume(five(world.log), 'r', { planHash: '0123456789abcdef' }))
    assert.deepEqual(other, E.left({ _tag: 'PlanChanged', expected: '0123456789abcdef', found: planHash }))
    assert.deepEqual(world.log, [])
    ended(await newProcess(world).perform(resume(five(world.log), 'r', { planHash })), 'Completed')
  })

  test('a plan with an open question is not executed, and nothing is written', async () => {
    const world = newWorld()
    const program = Program.fromSteps('q', [
      task('pay', {
        idempotent: false,
        run: () => {
          world.log.push('pay')
          return TE.left('no answer')
        }
      })
    ])
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
    const before = await stored(memoryStorage(world.data))
    const { questions } = refused(await newProcess(world).perform(resume(program, 'r')), 'Unconfirmed')
    assert.deepEqual(
      questions.map((one: Plan.Confirm) => one.unit),
      ['pay']
    )
    assert.deepEqual(world.log, ['pay'])
    assert.equal((await stored(memoryStorage(world.data))).revision, before.revision)
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// stored content that is damaged, or too new
// ---------------------------------------------------------------------------------------------------------------------

describe('stored content', () => {
  const recovered =
    (how: 'Exact' | 'Recovered', content?: (checkpoint: Json.Json) => Json.Json) =>
    (storage: CheckpointStorage): CheckpointStorage => {
      const found = how === 'Exact' ? { _tag: how } : { _tag: how, from: 'revision 3', lost: 'the last 2 revisions' }
      return {
        ...storage,
        claim: (runId, owner) => async () => {
          const claimed = await storage.claim(runId, owner)()
          if (E.isLeft(claimed) || O.isNone(claimed.right.stored)) return claimed
          const one = claimed.right.stored.value
          const checkpoint = content === undefined ? one.checkpoint : content(one.checkpoint)
          return E.right({ ...claimed.right, stored: O.some({ ...one, checkpoint, found }) })
        }
      }
    }

  test('a recovered state needs consent, and a refusal changes nothing', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(five(world.log, 2), 'r', {})), 'Failed')
    const before = await stored(memoryStorage(world.data))
    world.log.length = 0
    const refusals = [
      [{}, undefined],
      [{ onRecovered: () => Promise.resolve(O.none) }, 'it returned nothing']
    ] as const
    for (const [options, why] of refusals) {
      const process = newProcess(world, { around: recovered('Recovered') })
      const error = await process.perform(resume(five(world.log), 'r', options))
      const { from, lost, cause } = refused(error, 'RecoveryRefused')
      assert.deepEqual([from, lost], ['revision 3', 'the last 2 revisions'])
      assert.equal(cause instanceof Error ? cause.message : cause, why)
      assert.deepEqual(
        process.events.map(({ _tag }) => _tag),
        ['CheckpointRecovered']
      )
    }
    assert.deepEqual(world.log, [])
    assert.equal((await stored(memoryStorage(world.data))).revision, before.revision)
  })

  test('consent to a recovered state is recorded before the first effect, with the name of the person who gave it', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(five(world.log, 2), 'r', {})), 'Failed')
    const process = newProcess(world, { around: recovered('Recovered') })
    let asked: Checkpoint.Checkpoint | undefined
    const onRecovered = ({ checkpoint }: { checkpoint: Checkpoint.Checkpoint }): Promise<O.Option<string>> => {
      asked = checkpoint
      return Promise.resolve(O.some('ada'))
    }
    ended(await process.perform(resume(five(world.log), 'r', { onRecovered })), 'Completed')
    assert.equal(asked?.state._tag, 'Failed')
    const [first] = process.saves[0] ?? []
    assert.ok(first?._tag === 'Recovered')
    assert.deepEqual([first.agreedBy, first.from, first.lost], ['ada', 'revision 3', 'the last 2 revisions'])
    assert.equal(process.saves[0]?.at(-1)?._tag, 'AttemptStarted')
  })

  test('consent to a recovered state is recorded even if the run has nothing left to do', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(five(world.log), 'r', {})), 'Completed')
    const process = newProcess(world, { around: recovered('Recovered') })
    const onRecovered = () => Promise.resolve(O.some('ada'))
    ended(await process.perform(resume(five(world.log), 'r', { onRecovered })), 'Completed')
    assert.equal((await historyOf(process.storage)).at(-1), 'Recovered')
  })

  test('the run stays unclaimed and unchanged if `onRecovered` rejects', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(five(world.log, 2), 'r', {})), 'Failed')
    const process = newProcess(world, { around: recovered('Recovered') })
    const before = await stored(process.storage)
    const onRecovered = () => Promise.reject(new Error('the terminal was closed'))
    const { cause } = refused(await process.perform(resume(five(world.log), 'r', { onRecovered })), 'RecoveryRefused')
    assert.match(String(cause), /terminal was closed/)
    assert.deepEqual(await stored(process.storage), before)
    assert.ok(E.isRight(await process.storage.claim('r', { host: 'h', pid: 1 })()))
  })

  test('what `onRecovered` returns is no consent if it is no text, as `false` in untyped code', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(five(world.log, 2), 'r', {})), 'Failed')
    const process = newProcess(world, { around: recovered('Recovered') })
    const onRecovered = () => Promise.resolve(O.some(false as unknown as string))
    const { cause } = refused(await process.perform(resume(five(world.log), 'r', { onRecovered })), 'RecoveryRefused')
    assert.match(String(cause), /it must return a name or nothing, not the boolean false/)
  })

  test('after consent to a recovered state, a step that is not idempotent needs confirmation if it may have run since', async () => {
    const world = newWorld()
    const flow = Program.fromSteps('pay', [
      task('build', { run: () => TE.left(new Error('no')) }),
      task('pay', { idempotent: false, run: () => TE.right((world.log.push('paid'), 1)) })
    ])
    ended(await newProcess(world).perform(run(flow, 'r', {})), 'Failed')
    const onRecovered = () => Promise.resolve(O.some('ada'))
    const process = newProcess(world, { around: recovered('Recovered') })
    const { questions } = refused(await process.perform(resume(flow, 'r', { onRecovered })), 'Unconfirmed')
    assert.deepEqual(
      questions.map(({ unit }) => unit),
      ['pay']
    )
    assert.deepEqual(world.log, [])
  })

  test('stored content of another run is Corrupt', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(five(world.log, 2), 'r', {})), 'Failed')
    const process = newProcess(world, {
      around: recovered('Exact', (checkpoint) => ({ ...(checkpoint as Json.JsonObject), runId: 'other' }))
    })
    const { why, runId } = refused(await process.perform(resume(five(world.log), 'r')), 'Corrupt')
    assert.deepEqual([why, runId], ['it belongs to run other', 'r'])
  })

  test('stored content of a newer format stays unchanged, and the error says to upgrade', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(five(world.log, 2), 'r', {})), 'Failed')
    const before = await stored(memoryStorage(world.data))
    const newer = recovered('Exact', (checkpoint) => ({ ...(checkpoint as object), format: 2 }))
    const error = refused(
      await newProcess(world, { around: newer }).perform(resume(five([]), 'r')),
      'UnsupportedFormat'
    )
    assert.deepEqual([error.runId, error.found, error.supported], ['r', 2, 1])
    assert.match(RunError.describe(error), /upgrade Dogear/)
    assert.equal((await stored(memoryStorage(world.data))).revision, before.revision)
  })

  test.each([
    ['a missing field', (checkpoint: object) => ({ ...checkpoint, state: undefined })],
    ['another shape', () => []],
    ['null', () => null]
  ])('stored content that does not decode is Corrupt, and no step runs: %s', async (_, damage) => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(five([], 2), 'r', {})), 'Failed')
    const damaged = recovered('Exact', (checkpoint) => damage(checkpoint as object) as unknown as Json.Json)
    const process = newProcess(world, { around: damaged })
    refused(await process.perform(resume(five(world.log), 'r')), 'Corrupt')
    refused(await process.perform(runOrResume(five(world.log), 'r', {})), 'Corrupt')
    refused(await process.perform(run(five(world.log), 'r', {})), 'Corrupt')
    assert.deepEqual(world.log, [])
    assert.ok(E.isRight(await process.storage.claim('r', { host: 'h', pid: 1 })()), 'it was not released')
  })

  test('the stored checkpoint equals the one of the outcome', async () => {
    const process = newProcess()
    const { checkpoint } = ended(await process.perform(run(five([]), 'r', { a: 1 })), 'Completed')
    assert.deepEqual(CheckpointCodec.encode(await stored(process.storage)), CheckpointCodec.encode(checkpoint))
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// identity and events
// ---------------------------------------------------------------------------------------------------------------------

describe('the idempotency key', () => {
  const keys = (log: Array<string>, failing: boolean): Program.Program<unknown> =>
    Program.fromSteps('keys', [
      task('pay', {
        retry: policy({ attempts: 2, delayMillis: 10 }),
        run: ({ idempotencyKey, attempt }) => {
          log.push(`${attempt} ${idempotencyKey}`)
          return failing ? TE.left({ status: 500 }) : TE.right(undefined)
        }
      })
    ])

  test('the idempotency key is the same for all attempts and resumes, and changes after a rewind', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(keys(world.log, true), 'r', {})), 'Failed')
    ended(await newProcess(world).perform(resume(keys(world.log, true), 'r')), 'Failed')
    ended(await newProcess(world).perform(resume(keys(world.log, false), 'r')), 'Completed')
    ended(await newProcess(world).perform(resume(keys(world.log, false), 'r', { fromStep: 'pay' })), 'Completed')
    const seen = world.log.map((line) => line.split(' '))
    assert.deepEqual(
      seen.map(([attempt]) => attempt),
      ['1', '2', '1', '2', '1', '1']
    )
    const used = seen.map(([, key]) => key)
    assert.equal(new Set(used.slice(0, 5)).size, 1)
    assert.notEqual(used[5], used[0])
  })

  test('the idempotency key never changes between versions of the library', () => {
    const at = { runId: 'release-42', createdAt: '2026-01-02T03:04:05.678Z', renewals: IdempotencyKey.none }
    assert.equal(IdempotencyKey.of(at, 'publish'), 'ba901a7c877bd0b2391b09025cf03db9')
    assert.equal(IdempotencyKey.of(at, 'publish/npm'), '7cbeb11e24f8cfc10d32042b203a6eec')
  })

  test('idempotency keys differ between runs, starts of a run, units and rewinds', () => {
    const at = { runId: 'a', createdAt: '2026-01-02T03:04:05.678Z', renewals: IdempotencyKey.none }
    const again = { ...at, renewals: IdempotencyKey.renewed(at.renewals, ['s']) }
    const twice = { ...at, renewals: IdempotencyKey.renewed(again.renewals, ['s', 's/g']) }
    const all = [
      IdempotencyKey.of(at, 's'),
      IdempotencyKey.of({ ...at, runId: 'b' }, 's'),
      IdempotencyKey.of({ ...at, createdAt: '2026-01-02T03:04:05.679Z' }, 's'),
      IdempotencyKey.of(again, 's'),
      IdempotencyKey.of(twice, 's'),
      IdempotencyKey.of(at, 't'),
      ...[at, again, twice].map((run) => IdempotencyKey.of(run, 's/g'))
    ]
    assert.equal(new Set(all).size, all.length)
    assert.equal(IdempotencyKey.of(twice, 't'), IdempotencyKey.of(at, 't'))
  })
})

describe('events', () => {
  const told = (event: Event): string => {
    const unit = 'unit' in event ? ` ${event.unit}` : 'step' in event ? ` ${event.step}` : ''
    switch (event._tag) {
      case 'RunPlanned':
        return `RunPlanned ${event.resumed ? 'resumed' : 'new'} from ${event.plan.startIndex}`
      case 'CheckpointSaved':
        return `CheckpointSaved ${event.revision} ${event.state._tag} ${event.state.stepIndex}`
      case 'StepStarted':
        return `StepStarted${unit} #${event.attempt} (${event.summary})`
      case 'StepRetrying':
        return `StepRetrying${unit} #${event.attempt}/${event.maxAttempts} in ${event.delayMillis}: ${event.error.message}`
      case 'StepCompleted':
        return `StepCompleted${unit} after ${event.attempts}`
      case 'StepFailed':
        return `StepFailed${unit} after ${event.attempt}: ${event.error.message}`
      default:
        return `${event._tag}${unit}`
    }
  }

  test('an observer gets all events in order, each after it is durable', async () => {
    const world = newWorld()
    const program = (failing: boolean): Program.Program<unknown> =>
      Program.fromSteps('told', [
        task('one', {
          summary: 'the first',
          retry: policy({ attempts: 3, delayMillis: 5000 }),
          run: ({ attempt }) =>
            attempt === 1 ? TE.left(Object.assign(new Error('busy'), { status: 503 })) : TE.right(1)
        }),
        Program.waveOf('two', [
          group('a', { run: () => TE.right('a') }),
          group('b', {
            run: () => (failing ? TE.left(StepFailure.permanent(StepError.make('E', 'no'))) : TE.right('b'))
          })
        ])
      ])
    const first = newProcess(world)
    ended(await first.perform(run(program(true), 'r', {})), 'Failed')
    expect(first.events.map(told)).toEqual([
      'RunPlanned new from 0',
      'CheckpointSaved 1 BeforeStep 0',
      'StepStarted one #1 (the first)',
      'CheckpointSaved 2 BeforeStep 0',
      'StepRetrying one #1/3 in 5000: busy',
      'CheckpointSaved 3 BeforeStep 0',
      'StepStarted one #2 (the first)',
      'CheckpointSaved 5 BeforeStep 1',
      'StepCompleted one after 2',
      'StepStarted two/a #1 (a)',
      'StepStarted two/b #1 (b)',
      'CheckpointSaved 8 Failed 1',
      'StepCompleted two/a after 1',
      'StepFailed two/b after 1: no',
      'RunFailed two'
    ])
    const second = newProcess(world)
    ended(await second.perform(resume(program(false), 'r')), 'Completed')
    expect(second.events.map(told)).toEqual([
      'RunPlanned resumed from 1',
      'CheckpointSaved 9 BeforeStep 1',
      'StepStarted two/b #1 (b)',
      'CheckpointSaved 11 Completed 1',
      'StepCompleted two/b after 1',
      'StepCompleted two after 1',
      'RunCompleted'
    ])
  })

  test('the store contains every change that an observer has been notified of', async () => {
    const world = newWorld()
    const behind: Array<string> = []
    const report = (event: Event): void => {
      if (event._tag === 'RunPlanned') return
      const durable = process.saves.flat().length - 1
      if (event._tag === 'CheckpointSaved') assert.equal(event.revision, durable)
      behind.push(event._tag)
    }
    let wrong: unknown
    const events = {
      report: (event: Event) => {
        try {
          report(event)
        } catch (error) {
          wrong = error
        }
      }
    }
    const process = newProcess(world, { events })
    ended(await process.perform(run(five([]), 'r', {})), 'Completed')
    assert.equal(wrong, undefined)
    assert.ok(behind.includes('StepCompleted'))
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// refusals before anything is claimed or written
// ---------------------------------------------------------------------------------------------------------------------

describe('a program with an invalid setting', () => {
  const settings: ReadonlyArray<readonly [string, Partial<Parameters<typeof task>[1]>, string]> = [
    ['a delay of NaN', { retry: { ...RetryPolicy.standard, delayMillis: Number('x') } }, 'retry.delayMillis'],
    ['attempts of NaN', { retry: { ...RetryPolicy.standard, attempts: Number('x') } }, 'retry.attempts'],
    ['a policy of an unknown kind', { retry: { _tag: 'Never' as never } }, 'retry._tag'],
    ['a timeout of NaN', { timeoutMillis: Number('x') }, 'timeoutMillis'],
    ['an infinite timeout', { timeoutMillis: Infinity }, 'timeoutMillis']
  ]

  test.each(settings)('an invalid setting is refused: %s', async (_, spec, field) => {
    const world = newWorld()
    const flow = Program.fromSteps('w', [task('build', { run: () => TE.right(1), ...spec })])
    const process = newProcess(world)
    const { problems } = refused(await process.perform(run(flow, 'r', {})), 'PlanError')
    assert.deepEqual(
      problems.map(
        (one) => one._tag === 'InvalidWorkflow' && one.problem._tag === 'InvalidSetting' && one.problem.field
      ),
      [field]
    )
    assert.ok(O.isNone(right(await process.storage.load('r')())))
  })
})

describe('an untyped program', () => {
  const fieldsOf = (program: Parameters<typeof Program.problems>[0]) =>
    Program.problems(program).map((one) => one._tag === 'InvalidSetting' && `${one.place} ${one.field}`)

  test('a step or job without its functions is refused, and the refusal names them', () => {
    const steps = [
      Program.task('bare', {} as never),
      Program.task('none', undefined as never),
      Program.task('job', { job: { submit: () => 1 } } as never)
    ]
    assert.deepEqual(fieldsOf(Program.fromSteps('w', steps)), [
      'bare run',
      'none run',
      'job job.poll',
      'job job.collect'
    ])
  })

  test('a concurrency that is not a whole number of at least 1 is refused', () => {
    const wave = (concurrency: number) =>
      Program.waveOf('a', [{ ...Program.task('b', () => 1), needs: [] }], { concurrency })
    const wrong = [0, -1, 1.5, NaN].map((one) => Program.fromSteps('w', [wave(one)]))
    assert.deepEqual(wrong.flatMap(fieldsOf), ['a concurrency', 'a concurrency', 'a concurrency', 'a concurrency'])
    assert.deepEqual(
      [1, Infinity].flatMap((one) => fieldsOf(Program.fromSteps('w', [wave(one)]))),
      []
    )
  })
})

describe('an input codec that encodes to undefined', () => {
  test('an input that encodes to undefined is refused at the start', async () => {
    const flow = pipe(
      Program.start('w', { input: t.union([t.undefined, t.type({ a: t.string })]) }),
      Program.step('build', { run: () => TE.right(1) })
    )
    const process = newProcess(newWorld())
    assert.equal(refused(await process.perform(run(flow, 'r', undefined)), 'InputMissing').path, '$')
    ended(await process.perform(run(flow, 'r', { a: 'x' })), 'Completed')
  })
})

describe('the plan options of a new run', () => {
  test('a new run is refused if its plan differs from the reviewed one', async () => {
    const world = newWorld()
    const process = newProcess(world)
    refused(await process.perform(runOrResume(five(world.log), 'r', {}, { planHash: 'reviewed' })), 'PlanChanged')
    refused(await process.perform(runOrResume(five(world.log), 'r', {}, { fromStep: 'nonsense' })), 'PlanError')
    assert.deepEqual(world.log, [])
    ended(
      await process.perform(runOrResume(five(world.log), 'r', {}, { fromStep: 'step-2', outputs: GIVEN })),
      'Completed'
    )
    assert.deepEqual(world.log, ['step-2', 'step-3', 'step-4'])
  })
})

const GIVEN = new Map([
  ['step-0', 'given'],
  ['step-1', 'given']
])

describe('a store that throws', () => {
  test.each(['load', 'claim'] as const)(
    'a call that uses `%s` of the store is refused with ReadFailed if the store throws there',
    async (operation) => {
      const throwing = (storage: CheckpointStorage): CheckpointStorage => ({
        ...storage,
        [operation]: () => {
          throw new Error('not connected')
        }
      })
      const process = newProcess(newWorld(), { around: throwing })
      const error = refused(
        await process.perform(resume(five([]), 'r')),
        operation === 'load' ? 'ReadFailed' : 'NoSuchRun'
      )
      if (error._tag === 'ReadFailed') assert.equal(error.code, 'THREW')
      if (operation === 'claim') {
        const { code } = refused(await process.perform(run(five([]), 'r', {})), 'ReadFailed')
        assert.equal(code, 'THREW')
      }
    }
  )
})

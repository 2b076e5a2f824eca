import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import { memoryArtifacts, memoryRequests } from '../../src/adapters/memory.js'
import type { JobEnd } from '../../src/executor/poll.js'
import type { CheckpointStorage, PollOutcome } from '../../src/index.js'
import type * as ProgramType from '../../src/executor/program/Program.js'
import { Checkpoint, pause, planResume, poll, Program, resume, run, StepError, StepFailure } from '../../src/index.js'
import { nameOf } from '../../src/domain/workflow/Unit.js'
import type { Process, World } from './fixtures.js'
import { ended, FULL, historyOf, newProcess, newWorld, patiently, quiet, refused, right, stored } from './fixtures.js'

// ---------------------------------------------------------------------------------------------------------------------
// a provider
// ---------------------------------------------------------------------------------------------------------------------

/** A job provider: the number of submissions of each key, and the status of each job. */
interface Provider {
  readonly submissions: Map<string, number>
  readonly status: Map<string, ProgramType.JobStatus>
  readonly asked: Array<string>
}

const newProvider = (): Provider => ({ submissions: new Map(), status: new Map(), asked: [] })

const UNFINISHED = { _tag: 'Unfinished', done: 3, total: 10 } as const

const jobOf = (provider: Provider, name: string) =>
  ({
    submit: ({ idempotencyKey }) =>
      TE.fromIO(() => {
        provider.submissions.set(idempotencyKey, (provider.submissions.get(idempotencyKey) ?? 0) + 1)
        return { id: name }
      }),
    poll: ({ job }) =>
      TE.fromIO(() => {
        provider.asked.push((job as { readonly id: string }).id)
        return provider.status.get(name) ?? UNFINISHED
      }),
    collect: ({ job }) => TE.right(`${(job as { readonly id: string }).id} is done`)
  }) satisfies ProgramType.Job<ProgramType.StepContext<object>, typeof t.string>

const training = (provider: Provider, process: Process, idempotent = true) =>
  pipe(
    Program.start('nightly'),
    Program.step('train', { output: t.string, idempotent, job: jobOf(provider, 'train') }),
    Program.step('report', {
      run: ({ outputs: { train } }) =>
        TE.fromIO(() => {
          process.world.log.push(train.toUpperCase())
          return null
        })
    })
  )

/** Two jobs, a group that needs one of them, and one that needs nothing. */
const batches = (provider: Provider, process: Process) =>
  pipe(
    Program.start('batches'),
    Program.wave('all', {
      a: { output: t.string, job: jobOf(provider, 'a') },
      b: { output: t.string, job: jobOf(provider, 'b') },
      lint: { run: () => TE.fromIO(() => process.world.log.push('lint')) },
      after: { needs: ['a'], run: ({ outputs }) => TE.fromIO(() => process.world.log.push(JSON.stringify(outputs))) }
    }),
    Program.step('report', { run: () => TE.fromIO(() => process.world.log.push('report')) })
  )

const polls = async <A, B>(process: Process, program: ProgramType.Program<A, B>): Promise<PollOutcome> =>
  right(await patiently(process.clock, poll(program, 'r')(process.environment)()))

const endsOf = (outcome: PollOutcome): ReadonlyArray<JobEnd> =>
  outcome._tag === 'Fenced' ? assert.fail('fenced') : outcome.jobs.map(({ end }) => end)

const finished = (provider: Provider, ...names: ReadonlyArray<string>): void => {
  for (const name of names) provider.status.set(name, { _tag: 'Finished' })
}

const once = ({ submissions }: Provider): ReadonlyArray<number> => [...submissions.values()]

// ---------------------------------------------------------------------------------------------------------------------
// pending jobs
// ---------------------------------------------------------------------------------------------------------------------

describe('a step with a job', () => {
  test('a submitted job is recorded and suspends the run, so that no later step runs', async () => {
    const [provider, process] = [newProvider(), newProcess()]
    const outcome = ended(await process.perform(run(training(provider, process), 'r', {})), 'Pending')
    assert.deepEqual(
      outcome.units.map((one) => one._tag === 'Job' && [one.unit, one.job, one.key]),
      [['train', { id: 'train' }, [...provider.submissions.keys()][0]]]
    )
    const checkpoint = await stored(process.storage)
    assert.deepEqual(checkpoint.pending.records, outcome.units)
    assert.equal(Checkpoint.status(checkpoint, false), 'pending')
    assert.deepEqual(process.world.log, [])
    const plan = right(planResume(checkpoint, training(provider, process)))
    assert.deepEqual(
      plan.decisions.map(({ _tag, reason }) => [_tag, reason._tag]),
      [
        ['Poll', 'JobPending'],
        ['Run', 'NotStarted']
      ]
    )
  })

  test('the key of a job is recorded before its submission', async () => {
    const [provider, process] = [newProvider(), newProcess()]
    const keys: Array<unknown> = []
    const job: ProgramType.Job<ProgramType.StepContext<object>, unknown> = {
      ...jobOf(provider, 'train'),
      submit: ({ idempotencyKey }) =>
        pipe(
          TE.fromTask(() => stored(process.storage)),
          TE.map(({ submissions }) => {
            keys.push(
              submissions.records.map(({ key }) => key),
              [idempotencyKey]
            )
            return 'j'
          })
        )
    }
    ended(await process.perform(run(pipe(Program.start('w'), Program.step('s', { job })), 'r', {})), 'Pending')
    assert.equal(keys.length, 2)
    assert.deepEqual(keys[0], keys[1])
  })

  test('the groups that do not need a group with a pending job run', async () => {
    const [provider, process] = [newProvider(), newProcess()]
    const outcome = ended(await process.perform(run(batches(provider, process), 'r', {})), 'Pending')
    assert.deepEqual(process.world.log, ['lint'])
    assert.deepEqual(
      outcome.units.map(({ unit }) => nameOf(unit)),
      ['a', 'b']
    )
    const tags = right(planResume(outcome.checkpoint, batches(provider, process))).decisions.map(({ _tag }) => _tag)
    assert.deepEqual(tags, ['Run', 'Poll', 'Poll', 'Skip', 'Run', 'Run'])
  })

  test('a resume before a poll submits nothing for a group with a pending job, and changes nothing', async () => {
    const world = newWorld()
    const [provider, first] = [newProvider(), newProcess(world)]
    ended(await first.perform(run(batches(provider, first), 'r', {})), 'Pending')
    const before = await stored(first.storage)
    const second = newProcess(world)
    const outcome = ended(await second.perform(resume(batches(provider, second), 'r')), 'Pending')
    assert.equal((await stored(second.storage)).revision, before.revision)
    assert.deepEqual(outcome.units, before.pending.records)
    assert.deepEqual(second.saves, [])
    assert.deepEqual([once(provider), provider.asked], [[1, 1], []])
  })

  test('a resume before a poll submits nothing for a step with a pending job, and changes nothing', async () => {
    const world = newWorld()
    const [provider, first] = [newProvider(), newProcess(world)]
    const { checkpoint } = ended(await first.perform(run(training(provider, first), 'r', {})), 'Pending')
    const second = newProcess(world)
    const outcome = ended(await second.perform(resume(training(provider, second), 'r')), 'Pending')
    assert.deepEqual(outcome.checkpoint, checkpoint)
    assert.deepEqual([second.saves, world.log, once(provider), provider.asked], [[], [], [1], []])
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// polls
// ---------------------------------------------------------------------------------------------------------------------

describe('polling jobs', () => {
  test('a poll of unfinished jobs changes nothing, and reports their progress', async () => {
    const [provider, process] = [newProvider(), newProcess()]
    ended(await process.perform(run(batches(provider, process), 'r', {})), 'Pending')
    const before = await stored(process.storage)
    const calls = process.calls.length
    assert.deepEqual(endsOf(await polls(process, batches(provider, process))), [UNFINISHED, UNFINISHED])
    assert.deepEqual(await stored(process.storage), before)
    assert.deepEqual(process.calls.slice(calls), ['load', 'load'])
  })

  test('a poll is possible while another process holds the run; results are recorded after its release', async () => {
    const world = newWorld()
    const [provider, process] = [newProvider(), newProcess(world)]
    const program = batches(provider, process)
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    const { claim } = right(await process.storage.claim('r', { host: 'other', pid: 1 })())
    assert.deepEqual(endsOf(await polls(process, program)), [UNFINISHED, UNFINISHED])
    finished(provider, 'b')
    const before = await stored(process.storage)
    refused(await poll(program, 'r')(process.environment)(), 'HeldBy')
    assert.deepEqual(await stored(process.storage), before)
    right(await process.storage.release(claim)())
    provider.asked.length = 0
    assert.deepEqual(endsOf(await polls(process, program)), [UNFINISHED, { _tag: 'Collected' }])
    assert.deepEqual(provider.asked, ['a', 'b'])
  })

  test('a poll records no result of a job that was abandoned before the results are recorded', async () => {
    const [provider, process] = [newProvider(), newProcess()]
    const program = training(provider, process)
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    provider.status.set('train', { _tag: 'Missing' })
    const { storage } = process
    let [isForced, first] = [false, true]
    const claim: CheckpointStorage['claim'] = (runId, owner) => async () => {
      if (first) {
        first = false
        ended(await resume(program, 'r', { fromStep: 'train' })(process.environment)(), 'Pending')
        provider.status.clear()
        isForced = true
      }
      return await storage.claim(runId, owner)()
    }
    const outcome = right(await poll(program, 'r')({ ...process.environment, storage: { ...storage, claim } })())
    assert.deepEqual([isForced, endsOf(outcome)], [true, [UNFINISHED]])
    assert.equal((await stored(storage)).pending.size, 1)
  })

  test.each<[what: string, counts: object, end: JobEnd]>([
    ['a count without a total', { done: 3 }, { _tag: 'Unfinished', done: 3 }],
    ['a total below the count', { done: 10, total: 3 }, { _tag: 'Unfinished', done: 10 }],
    ['a count that is a string', { done: '\u001b[2J', total: 5 }, { _tag: 'Unfinished' }],
    ['NaN and a fraction', { done: NaN, total: 1.5, more: 1n }, { _tag: 'Unfinished' }]
  ])('a poll reports only valid counts as progress: %s', async (_, counts, end) => {
    const [provider, process] = [newProvider(), newProcess()]
    provider.status.set('train', { _tag: 'Unfinished', ...counts })
    const program = training(provider, process)
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    assert.deepEqual(endsOf(await polls(process, program)), [end])
  })

  test.each<[string, (context: ProgramType.StepContext<object>) => Promise<unknown>, string]>([
    ['put', ({ artifacts }) => artifacts.put('seen', 'it'), 'ReadOnly'],
    ['reuse', ({ artifacts }) => artifacts.reuse({ fromRun: 'other', artifact: 'a' }), 'ReadOnly'],
    ['step', ({ step }) => step('look', () => 1), 'SUB_STEP_NOT_ALLOWED']
  ])('a call of %s in the poll of a job is rejected, and writes nothing', async (_, write, code) => {
    const artifacts = memoryArtifacts()
    right(await artifacts.put('other', 'a', 'b')())
    const [provider, process] = [newProvider(), newProcess(newWorld(), { artifacts })]
    const program = pipe(
      Program.start('nightly'),
      Program.step('train', {
        job: {
          ...jobOf(provider, 'train'),
          poll: async (context) => {
            await write(context)
            return UNFINISHED
          }
        }
      })
    )
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    const [end] = endsOf(await polls(process, program))
    assert.ok(end?._tag === 'Unknown' && end.error.code === code)
    assert.deepEqual(right(await artifacts.list('r')()), [])
    assert.equal((await stored(process.storage)).completedSteps.size, 0)
  })

  test('a collected job records the artifacts of collect as evidence of its step', async () => {
    const artifacts = memoryArtifacts()
    const world = newWorld()
    const [provider, process] = [newProvider(), newProcess(world, { artifacts })]
    const program = pipe(
      Program.start('nightly'),
      Program.step('train', {
        job: {
          ...jobOf(provider, 'train'),
          submit: ({ step }) => step('upload', () => 'uploaded'),
          poll: () => TE.right({ _tag: 'Finished' }),
          collect: ({ artifacts: own }) => own.put('model', 'weights')
        }
      })
    )
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    assert.deepEqual(endsOf(await polls(process, program)), [{ _tag: 'Collected' }])
    const [upload, record] = (await stored(process.storage)).completedSteps
    assert.deepEqual([upload?.unit, upload?.evidence], ['train/upload', []])
    assert.deepEqual(
      record?.evidence.map((one) => (one._tag === 'Stored' ? one.id : one._tag)),
      ['model']
    )
    right(await artifacts.remove('r', 'model')())
    ended(await process.perform(resume(program, 'r')), 'Pending')
  })

  test('a poll records outputs, and a resume continues without a second submission', async () => {
    const world = newWorld()
    const [provider, first] = [newProvider(), newProcess(world)]
    ended(await first.perform(run(training(provider, first), 'r', {})), 'Pending')
    finished(provider, 'train')
    assert.deepEqual(endsOf(await polls(first, training(provider, first))), [{ _tag: 'Collected' }])
    assert.deepEqual((await stored(first.storage)).pending.records, [])
    const second = newProcess(world)
    const outcome = ended(await second.perform(resume(training(provider, second), 'r')), 'Completed')
    assert.deepEqual([...outcome.checkpoint.completedSteps][0]?.output, 'train is done')
    assert.deepEqual([world.log, once(provider)], [['TRAIN IS DONE'], [1]])
  })

  test('a paused run stays paused after a poll that collects a job', async () => {
    const provider = newProvider()
    const process = newProcess(newWorld(), { requests: memoryRequests() })
    const program = training(provider, process)
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    assert.equal(right(await pause('r')(process.environment)())._tag, 'Paused')
    finished(provider, 'train')
    const polled = await polls(process, program)
    assert.deepEqual(endsOf(polled), [{ _tag: 'Collected' }])
    const { state } = await stored(process.storage)
    assert.ok(state._tag === 'Interrupted')
    assert.deepEqual([state.reason, state.step, state.inProgress], ['paused', 'report', false])
    ended(await process.perform(resume(program, 'r')), 'Completed')
    assert.deepEqual(process.world.log, ['TRAIN IS DONE'])
  })

  test('a poll records the jobs that have finished, and the run waits for the others', async () => {
    const [provider, process] = [newProvider(), newProcess()]
    const program = batches(provider, process)
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    finished(provider, 'a')
    assert.deepEqual(endsOf(await polls(process, program)), [{ _tag: 'Collected' }, UNFINISHED])
    assert.equal(Checkpoint.status(await stored(process.storage), false), 'pending')
    ended(await process.perform(resume(program, 'r')), 'Pending')
    assert.deepEqual(process.world.log, ['lint', '{"a":"a is done"}'])
    finished(provider, 'b')
    assert.deepEqual(endsOf(await polls(process, program)), [{ _tag: 'Collected' }])
    assert.equal(Checkpoint.status(await stored(process.storage), false), 'interrupted')
    ended(await process.perform(resume(program, 'r')), 'Completed')
    assert.deepEqual([process.world.log.at(-1), once(provider)], ['report', [1, 1]])
    assert.deepEqual(endsOf(await polls(process, program)), [])
  })

  test('a poll records each result before it polls the next job', async () => {
    const [provider, process] = [newProvider(), newProcess()]
    const program = batches(provider, process)
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    finished(provider, 'a')
    const seen: Array<number> = []
    const looking: ProgramType.Program<unknown, never> = {
      ...program,
      steps: program.steps.map((step) =>
        step._tag !== 'Wave'
          ? step
          : {
              ...step,
              groups: step.groups.map((group) =>
                group.name === 'b' && group._tag === 'Task' && group.job !== undefined
                  ? {
                      ...group,
                      job: {
                        ...group.job,
                        poll: () =>
                          pipe(
                            TE.fromTask(() => stored(process.storage)),
                            TE.map(({ pending }) => {
                              seen.push(pending.size)
                              return UNFINISHED
                            })
                          )
                      }
                    }
                  : group
              )
            }
      )
    }
    await polls(process, looking)
    assert.deepEqual(seen, [1])
  })

  test.each<[string, ProgramType.JobStatus, RegExp]>([
    ['failed', { _tag: 'Failed', error: new Error('out of memory') }, /out of memory/],
    ['is missing', { _tag: 'Missing' }, /missing/]
  ])('a step fails if its job %s, and the next submission has another key', async (_, status, message) => {
    const [provider, process] = [newProvider(), newProcess()]
    const program = batches(provider, process)
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    provider.status.set('a', status)
    finished(provider, 'b')
    const [first, second] = endsOf(await polls(process, program))
    assert.ok(first?._tag === 'Failed')
    assert.match(first.error.message, message)
    assert.deepEqual(second, { _tag: 'Collected' })
    const checkpoint = await stored(process.storage)
    assert.equal(Checkpoint.status(checkpoint, false), 'failed')
    assert.deepEqual(checkpoint.pending.records, [])
    ended(await process.perform(resume(program, 'r')), 'Pending')
    assert.deepEqual(once(provider), [1, 1, 1])
    assert.deepEqual(endsOf(await polls(process, program))[0]?._tag, 'Failed')
  })

  test.each(['Finished', undefined, { _tag: 'Done' }])(
    'a poll that returns %j is reported with an error that says what it must return',
    async (status) => {
      const [provider, process] = [newProvider(), newProcess()]
      const wrong = pipe(
        Program.start('nightly'),
        Program.step('train', { job: { ...jobOf(provider, 'train'), poll: () => TE.right(status as never) } })
      )
      ended(await process.perform(run(wrong, 'r', {})), 'Pending')
      const [end] = endsOf(await polls(process, wrong))
      assert.ok(end?._tag === 'Unknown')
      assert.equal(
        end.error.message,
        'poll must return an object whose _tag is Unfinished, Finished, Failed or Missing, such as { _tag: "Finished" }'
      )
    }
  )

  test('a poll that fails is reported, and changes nothing', async () => {
    const [provider, process] = [newProvider(), newProcess()]
    const failing = pipe(
      Program.start('nightly'),
      Program.step('train', {
        job: { ...jobOf(provider, 'train'), poll: () => TE.left(new Error('no network')) }
      })
    )
    ended(await process.perform(run(failing, 'r', {})), 'Pending')
    const before = await stored(process.storage)
    const [end] = endsOf(await polls(process, failing))
    assert.ok(end?._tag === 'Unknown' && end.error.message === 'no network')
    assert.deepEqual(await stored(process.storage), before)
  })

  test.each<[string, () => TE.TaskEither<unknown, never>, string]>([
    ['permanently fails its step', () => TE.left(new Error('gone')), 'Failed'],
    ['transiently stays pending', () => TE.left(StepFailure.transient(StepError.make('Error', 'busy'))), 'Unknown'],
    ['with a value that is not JSON fails its step', () => TE.right(new Map() as never), 'Failed']
  ])('a job whose collect fails %s', async (_, collect, tag) => {
    const [provider, process] = [newProvider(), newProcess()]
    finished(provider, 'train')
    const program = pipe(
      Program.start('nightly'),
      Program.step('train', { job: { ...jobOf(provider, 'train'), collect } })
    )
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    assert.deepEqual(
      endsOf(await polls(process, program)).map(({ _tag }) => _tag),
      [tag]
    )
    assert.equal((await stored(process.storage)).pending.size, tag === 'Failed' ? 0 : 1)
  })

  test('a poll ends at its timeout, and changes nothing', async () => {
    const [provider, process] = [newProvider(), newProcess()]
    const program = pipe(
      Program.start('nightly'),
      Program.step('train', {
        timeoutMillis: 1000,
        job: { ...jobOf(provider, 'train'), poll: () => () => new Promise(() => undefined) }
      })
    )
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    const [end] = endsOf(await polls(process, program))
    assert.ok(end?._tag === 'Unknown' && end.error.code === 'TIMEOUT')
  })

  test('a poll is refused for an edited step and for a missing run', async () => {
    const [provider, process] = [newProvider(), newProcess()]
    ended(await process.perform(run(training(provider, process), 'r', {})), 'Pending')
    const edited = pipe(
      Program.start('nightly'),
      Program.step('train', { version: '2', job: jobOf(provider, 'train') })
    )
    const error = refused(await poll(edited, 'r')(process.environment)(), 'PlanError')
    assert.ok(error.problems[0]._tag === 'WorkflowChanged' && error.problems[0].pending === true)
    refused(await poll(edited, 'other')(process.environment)(), 'NoSuchRun')
    refused(await process.perform(resume(edited, 'r')), 'PlanError')
    assert.deepEqual(once(provider), [1])
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// crashes and overrides
// ---------------------------------------------------------------------------------------------------------------------

/** A store whose disk is full after this many saves, so that later submissions are not recorded. */
const fullAfter =
  (saves: number) =>
  (storage: CheckpointStorage): CheckpointStorage => {
    let left = saves
    return {
      ...storage,
      save: (claim, revisions) => (left-- > 0 ? storage.save(claim, revisions) : TE.left(FULL))
    }
  }

const submittedUnrecorded = async (world: World, provider: Provider, idempotent: boolean): Promise<void> => {
  const process = newProcess(world, { around: fullAfter(1) })
  refused(await process.perform(run(training(provider, process, idempotent), 'r', {})), 'WriteFailed')
  assert.deepEqual(once(provider), [1])
}

type Edited = (program: ReturnType<typeof Program.start>) => ProgramType.Program<unknown, unknown>

describe('a submission with an unknown effect', () => {
  test('a submission is repeated under the same key if the step is idempotent', async () => {
    const [world, provider] = [newWorld(), newProvider()]
    await submittedUnrecorded(world, provider, true)
    const process = newProcess(world)
    ended(await process.perform(resume(training(provider, process), 'r')), 'Pending')
    assert.deepEqual(once(provider), [2])
  })

  test('a submission of a step that is not idempotent needs confirmation', async () => {
    const [world, provider] = [newWorld(), newProvider()]
    await submittedUnrecorded(world, provider, false)
    const process = newProcess(world)
    const program = training(provider, process, false)
    refused(await process.perform(resume(program, 'r')), 'Unconfirmed')
    assert.deepEqual(once(provider), [1])
    const again = new Map([['train', { _tag: 'Again' } as const]])
    ended(await process.perform(resume(program, 'r', { confirm: again })), 'Pending')
    assert.deepEqual(once(provider), [2])
  })

  test.each<readonly [string, Edited]>([
    ['a timer', Program.sleep('train', { millis: 1_000 })],
    ['a wait for an answer', Program.waitFor('train')]
  ])('a step whose submission failed may be edited into %s, and the run resumes', async (_, edited) => {
    const world = newWorld()
    const failing = Program.step('train', {
      job: { ...jobOf(newProvider(), 'train'), submit: () => TE.left(new Error('no queue')) }
    })
    const nightly = pipe(Program.start('nightly'), failing)
    ended(await newProcess(world).perform(run(nightly, 'r', {})), 'Failed')
    const waiting = edited(Program.start('nightly'))
    for (let n = 0; n < 2; n++) {
      const { checkpoint } = ended(await newProcess(world).perform(resume(waiting, 'r')), 'Pending')
      assert.deepEqual([checkpoint.pending.size, checkpoint.submissions.size], [1, 0])
    }
  })

  test('a submission keeps its key when other groups of its wave run again', async () => {
    const [world, provider] = [newWorld(), newProvider()]
    const first = newProcess(world, { around: fullAfter(2) })
    const lintIsRecorded = async (): Promise<void> => {
      while ((await stored(first.storage)).completedSteps.size === 0) await quiet()
    }
    const program = pipe(
      Program.start('w'),
      Program.wave('all', {
        lint: { run: () => TE.right('clean') },
        train: {
          output: t.string,
          job: {
            ...jobOf(provider, 'train'),
            submit: (context) =>
              pipe(
                TE.fromTask(lintIsRecorded),
                TE.chain(() => jobOf(provider, 'train').submit(context))
              )
          }
        }
      })
    )
    refused(await first.perform(run(program, 'r', {})), 'WriteFailed')
    assert.deepEqual(once(provider), [1])
    const second = newProcess(world, { clock: first.clock })
    const evidence = [{ unit: 'all/lint', missing: [{ _tag: 'File', path: 'lint.txt' }] }] as const
    ended(await second.perform(resume(program, 'r', { evidence })), 'Pending')
    assert.equal((await stored(second.storage)).generation, 1)
    assert.deepEqual(once(provider), [2])
  })
})

describe('a step whose job is pending', () => {
  test('fromStep at a step with a pending job submits another job, under another key', async () => {
    const [provider, process] = [newProvider(), newProcess()]
    const program = training(provider, process)
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    ended(await process.perform(resume(program, 'r', { fromStep: 'train' })), 'Pending')
    assert.deepEqual(once(provider), [1, 1])
    assert.equal((await stored(process.storage)).pending.size, 1)
    assert.ok((await historyOf(process.storage)).includes('Rewound'))
  })

  test('a pending job that is not idempotent needs confirmation when its step is forced', async () => {
    const [provider, process] = [newProvider(), newProcess()]
    const program = training(provider, process, false)
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    const error = refused(await process.perform(resume(program, 'r', { fromStep: 'train' })), 'Unconfirmed')
    assert.deepEqual(
      error.questions.map(({ reason }) => reason._tag),
      ['JobPending']
    )
    const again = new Map([['train', { _tag: 'Again' } as const]])
    ended(await process.perform(resume(program, 'r', { fromStep: 'train', confirm: again })), 'Pending')
    assert.deepEqual(once(provider), [1, 1])
  })

  test('an answer about a step with a pending job is refused, because the job must be polled', async () => {
    const [provider, process] = [newProvider(), newProcess()]
    const program = training(provider, process, false)
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    const again = new Map([['train', { _tag: 'Again' } as const]])
    const error = refused(await process.perform(resume(program, 'r', { confirm: again })), 'PlanError')
    assert.deepEqual(error.problems, [{ _tag: 'UnitPending', unit: 'train', waitsFor: 'Job' }])
  })
})

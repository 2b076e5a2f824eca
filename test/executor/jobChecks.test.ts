/** Checks of a step that submits a job: before it submits, and after its job is collected. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import type { JobEnd } from '../../src/executor/poll.js'
import type { CheckAnswer } from '../../src/index.js'
import type * as ProgramType from '../../src/executor/program/Program.js'
import { poll, Program, resume, run } from '../../src/index.js'
import type { Process, World } from './fixtures.js'
import { ended, newProcess, newWorld, patiently, policy, refused, right, stored } from './fixtures.js'

type Checks = Pick<
  ProgramType.JobSpec<ProgramType.StepContext<object>, t.StringC>,
  'before' | 'after' | 'expect' | 'evidence' | 'onCheckFailure' | 'retry'
>

/** A job that leaves the file `model` and has ended at the first poll. */
const training = ({ log, tree }: World, checks: Checks) =>
  pipe(
    Program.start('nightly'),
    Program.step('train', {
      output: t.string,
      ...checks,
      job: {
        submit: ({ idempotencyKey }) => TE.fromIO(() => void log.push(`submit ${idempotencyKey}`)),
        poll: () => TE.right({ _tag: 'Finished' }),
        collect: () =>
          TE.fromIO(() => {
            tree.files.set('model', 'weights')
            log.push('collect')
            return 'model'
          })
      }
    }),
    Program.step('report', { run: () => TE.fromIO(() => log.push('report')) })
  )

const submissions = ({ log }: World): ReadonlyArray<string> => log.filter((line) => line.startsWith('submit'))

const polls = async (process: Process, checks: Checks): Promise<JobEnd | undefined> => {
  const polled = right(
    await patiently(process.clock, poll(training(process.world, checks), 'r')(process.environment)())
  )
  return polled._tag === 'Fenced' ? undefined : polled.jobs[0]?.end
}

const runs = async (process: Process, checks: Checks) =>
  ended(await process.perform(run(training(process.world, checks), 'r', {})), 'Pending')

const wrongOf = (end: JobEnd | undefined): string => (end?._tag === 'Failed' ? end.error.message : assert.fail())

describe('a check before a job', () => {
  test('a failed check before a job is reported before anything is submitted', async () => {
    const process = newProcess()
    const checks = { before: () => TE.left(new Error('no room')) }
    const { failures } = ended(await process.perform(run(training(process.world, checks), 'r', {})), 'Failed')
    assert.match(failures[0]?.error.message ?? '', /not started, because a check failed: no room/)
    assert.deepEqual(process.world.log, [])
  })

  test('a check before a job runs before each submission, and not when the job is polled', async () => {
    const process = newProcess()
    let [looked, well] = [0, false]
    const checks: Checks = {
      onCheckFailure: 'retry',
      retry: policy({ attempts: 3 }),
      before: () => (looked++, well ? TE.right(null) : ((well = true), TE.left('not yet')))
    }
    await runs(process, checks)
    assert.deepEqual([looked, submissions(process.world).length], [2, 1])
    assert.deepEqual(await polls(process, checks), { _tag: 'Collected' })
    assert.equal(looked, 2)
  })

  test('the check before a wave does not run again while the wave only waits for jobs', async () => {
    const process = newProcess()
    const looked: Array<string> = []
    const job: ProgramType.Job<ProgramType.StepContext<object>, unknown> = {
      submit: () => TE.right('j'),
      poll: () => TE.right({ _tag: 'Unfinished' }),
      collect: () => TE.right('c')
    }
    const program = pipe(
      Program.start('batches'),
      Program.wave(
        'all',
        { a: { job }, b: { needs: ['a'], run: () => TE.right(null) } },
        { before: () => (looked.push('before'), looked.length === 1 ? TE.right(null) : TE.left('too late')) }
      )
    )
    const { checkpoint } = ended(await process.perform(run(program, 'r', {})), 'Pending')
    const again = ended(await process.perform(resume(program, 'r')), 'Pending')
    assert.deepEqual(again.checkpoint, checkpoint)
    assert.deepEqual(looked, ['before'])
  })
})

describe('the checks of a job', () => {
  test('the checks of a job run with its output once it is collected, and its evidence is recorded', async () => {
    const process = newProcess()
    const seen: Array<string> = []
    const checks: Checks = {
      expect: { files: ['model'], cleanTree: true },
      evidence: (output) => [{ _tag: 'Artifact', path: output }],
      after: (context) => TE.fromIO(() => seen.push('job' in context ? 'its job' : 'no job'))
    }
    await runs(process, checks)
    assert.deepEqual([seen, process.world.log.length], [[], 1])
    assert.deepEqual(await polls(process, checks), { _tag: 'Collected' })
    assert.deepEqual(seen, ['its job'])
    const [record] = (await stored(process.storage)).completedSteps
    assert.deepEqual(
      record?.evidence.map(({ _tag }) => _tag),
      ['Artifact', 'File']
    )
    ended(await process.perform(resume(training(process.world, checks), 'r')), 'Completed')
  })

  test('a job whose evidence is missing later is submitted again under another key', async () => {
    const world = newWorld()
    const checks: Checks = { evidence: [{ _tag: 'Artifact', path: 'model' }] }
    const process = newProcess(world)
    await runs(process, checks)
    await polls(process, checks)
    ended(await process.perform(resume(training(world, checks), 'r')), 'Completed')
    world.tree.files.delete('model')
    ended(await newProcess(world).perform(resume(training(world, checks), 'r')), 'Pending')
    assert.equal(new Set(submissions(world)).size, 2)
  })

  test.each<[string, Checks, RegExp]>([
    ['a missing file', { expect: { files: ['other'] } }, /it ran, but a check failed: other is missing/],
    ['missing evidence', { evidence: (output) => [{ _tag: 'File', path: `${output}.txt` }] }, /model\.txt/],
    ['its own check', { after: () => TE.left(new Error('too small')) }, /it ran, but a check failed: too small/],
    ['a check with the retry policy', { onCheckFailure: 'retry', after: () => TE.left('bad') }, /bad/]
  ])('a job fails if a check of its result fails, and a resume submits another job: %s', async (_, checks, message) => {
    const process = newProcess()
    await runs(process, checks)
    assert.match(wrongOf(await polls(process, checks)), message)
    assert.equal((await stored(process.storage)).state._tag, 'Failed')
    ended(await process.perform(resume(training(process.world, checks), 'r')), 'Pending')
    assert.equal(new Set(submissions(process.world)).size, 2)
  })

  test.each<[CheckAnswer, ReadonlyArray<CheckAnswer>]>([
    ['continue', []],
    ['retry', ['continue']]
  ])('the answer "%s" to a failed check of a job is obeyed', async (first, more) => {
    const answers = [first, ...more]
    const process = newProcess(newWorld(), { onCheckFailed: () => Promise.resolve(answers.shift() ?? 'abort') })
    const checks: Checks = { expect: { files: ['other'] } }
    await runs(process, checks)
    assert.deepEqual(await polls(process, checks), { _tag: 'Collected' })
    assert.equal(process.world.log.filter((line) => line === 'collect').length, 1 + more.length)
    assert.equal(submissions(process.world).length, 1)
  })

  test('a job stays pending while the evidence of its result cannot be read', async () => {
    const world = newWorld()
    const checks: Checks = { evidence: [{ _tag: 'Artifact', path: 'model' }] }
    await runs(newProcess(world), checks)
    const plain = newProcess(world)
    const before = await stored(plain.storage)
    const unreadable = {
      _tag: 'TreeUnreadable',
      where: 'model',
      why: 'denied',
      code: 'EACCES',
      cause: undefined
    } as const
    const blind = newProcess(world, {
      tree: { ...plain.environment.tree, content: () => () => Promise.resolve(E.left(unreadable)) }
    })
    assert.equal((await polls(blind, checks))?._tag, 'Unknown')
    assert.deepEqual(await stored(plain.storage), before)
    assert.deepEqual(await polls(newProcess(world), checks), { _tag: 'Collected' })
  })

  test('a job that expects commits is refused', async () => {
    const process = newProcess()
    const error = refused(
      await process.perform(run(training(process.world, { expect: { commits: 1 } }), 'r', {})),
      'PlanError'
    )
    assert.match(JSON.stringify(error.problems), /InvalidSetting.*expect\.commits/)
    assert.deepEqual(process.calls, [])
  })
})

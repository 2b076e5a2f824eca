/** Later steps and resumes find the artifacts that steps put, and records have them as evidence. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { identity, pipe } from 'fp-ts/lib/function.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import type { MemoryData } from '../../src/adapters/memory.js'
import { memoryArtifacts, memoryData, memoryStorage } from '../../src/adapters/memory.js'
import { nodeEnvironment } from '../../src/adapters/node/index.js'
import { sha256 } from '../../src/domain/data/Digest.js'
import type { RunOutcome } from '../../src/executor/RunOutcome.js'
import { resume, run, runOrResume } from '../../src/index.js'
import * as Program from '../../src/executor/program/Program.js'
import * as StepFailure from '../../src/domain/data/StepFailure.js'
import type { Environment } from '../../src/ports/Environment.js'
import * as Async from '../../src/promise/index.js'
import { nameOf } from '../../src/domain/workflow/Unit.js'
import * as RunError from '../../src/public/RunError.js'
import { ended, newProcess, newWorld } from './fixtures.js'

type AnyProgram = Parameters<typeof runOrResume>[0]

const environmentOn = (data: MemoryData, given: Partial<Environment> = {}): Environment =>
  nodeEnvironment(memoryStorage(data), { artifacts: memoryArtifacts(data), ...given })

/** One execution of the run `r` in a new process. */
const go = async (program: AnyProgram, data: MemoryData, given: Partial<Environment> = {}): Promise<RunOutcome> => {
  const outcome = await runOrResume(program, 'r', {})(environmentOn(data, given))()
  assert.ok(E.isRight(outcome), JSON.stringify(outcome))
  return outcome.right
}

/** The units with a question in a resume. */
const askedIn = async (program: AnyProgram, data: MemoryData): Promise<ReadonlyArray<string>> => {
  const refused = await runOrResume(program, 'r', {})(environmentOn(data, {}))()
  assert.ok(E.isLeft(refused) && refused.left._tag === 'Unconfirmed', JSON.stringify(refused))
  return refused.left.questions.map(({ unit }) => unit)
}

const recordsOf = (outcome: RunOutcome) => (outcome._tag === 'Fenced' ? [] : [...outcome.checkpoint.completedSteps])

const failureOf = (outcome: RunOutcome) => {
  assert.ok(outcome._tag === 'Failed', outcome._tag)
  const [failure] = outcome.failures
  assert.ok(failure !== undefined)
  return failure
}

const text = (bytes: Uint8Array | undefined): string | null =>
  bytes === undefined ? null : Buffer.from(bytes).toString()

const evidence = (id: string, content: string) => ({
  _tag: 'Stored',
  id,
  size: Buffer.byteLength(content),
  sha256: sha256(content)
})

const TWICE = { _tag: 'Constant', attempts: 2, delayMillis: 0, maxDelayMillis: 0, jitter: 0 } as const

const stop = (message = 'stopped here') => TE.left(new Error(message))

describe('an artifact', () => {
  test('a missing artifact makes its step and all later ones run again; a replaced one raises a question', async () => {
    const data = memoryData()
    const ran: Array<string> = []
    const program = pipe(
      Program.start('p'),
      Program.step('before', { run: () => TE.fromIO(() => ran.push('before')) }),
      Program.step('make', {
        run: async ({ artifacts }) => {
          await artifacts.put('model', 'weights')
          ran.push('make')
        }
      }),
      Program.step('after', { run: () => TE.fromIO(() => ran.push('after')) })
    )
    await go(program as AnyProgram, data)
    await go(program as AnyProgram, data)
    assert.deepEqual(ran, ['before', 'make', 'after'])
    await memoryArtifacts(data).remove('r', 'model')()
    ran.length = 0
    await go(program as AnyProgram, data)
    assert.deepEqual(ran, ['make', 'after'])
    await memoryArtifacts(data).put('r', 'model', 'other')()
    assert.deepEqual(await askedIn(program as AnyProgram, data), ['make'])
    assert.deepEqual(ran, ['make', 'after'])
  })

  test.each(['put', 'get', 'has'] as const)(
    'a step can catch the exception of a store that throws in %s',
    async (call) => {
      const artifacts = {
        ...memoryArtifacts(),
        [call]: () => {
          throw new Error('no disk')
        }
      }
      const program = pipe(
        Program.start('p'),
        Program.step('one', { run: ({ artifacts }) => artifacts[call]('model', 'weights').then(String, String) })
      )
      const outcome = await go(program as AnyProgram, memoryData(), { artifacts })
      const [record] = recordsOf(outcome)
      const operation = call === 'put' ? 'Writing' : 'Reading'
      assert.equal(record?.output, `ArtifactError: ${operation} the artifacts failed: ${call} threw: no disk`)
    }
  )

  test('an artifact that a later step replaces is valid evidence of both steps, and neither runs again', async () => {
    const data = memoryData()
    const ran: Array<string> = []
    const putting = (name: string) => ({
      run: async ({ artifacts }: Program.StepContext<unknown>) => {
        await artifacts.put('report', name)
        ran.push(name)
      }
    })
    const program = pipe(
      Program.start('p'),
      Program.step('first', putting('first')),
      Program.wave('wave', { a: putting('a'), b: putting('b') }),
      Program.step('last', putting('last'))
    ) as AnyProgram
    await go(program, data)
    await go(program, data)
    assert.equal(ran.length, 4)
    await memoryArtifacts(data).put('r', 'report', 'other')()
    assert.deepEqual(await askedIn(program, data), ['last'])
    await memoryArtifacts(data).remove('r', 'report')()
    ran.length = 0
    await go(program, data)
    assert.equal(ran.length, 4)
  })

  test('a step that replaced an artifact and then failed runs again without a question about the artifact', async () => {
    const data = memoryData()
    const ran: Array<string> = []
    let broken = true
    const putting = (name: string, fails = false) => ({
      run: ({ artifacts }: Program.StepContext<unknown>) =>
        pipe(
          TE.tryCatch(() => artifacts.put('report', name), identity),
          TE.chainW(() => (fails && broken ? stop() : TE.right(undefined))),
          TE.map(() => void ran.push(name))
        )
    })
    const program = pipe(
      Program.start('p'),
      Program.step('first', putting('first')),
      Program.step('second', putting('second', true))
    ) as AnyProgram
    assert.equal((await go(program, data))._tag, 'Failed')
    broken = false
    await go(program, data)
    assert.deepEqual(ran, ['first', 'second'])
  })

  test('a resume without an artifact store is refused if recorded evidence is an artifact', async () => {
    const data = memoryData()
    const program = pipe(Program.start('p'), Program.step('make', { run: ({ artifacts }) => artifacts.put('a', 'b') }))
    await go(program as AnyProgram, data)
    const refused = await runOrResume(program as AnyProgram, 'r', {})(nodeEnvironment(memoryStorage(data)))()
    assert.ok(E.isLeft(refused) && refused.left._tag === 'TreeUnreadable')
    assert.deepEqual([refused.left.code, refused.left.where], ['NO_STORE', 'the artifacts of run r'])
    assert.match(RunError.describe(refused.left), /\(NO_STORE\); set `artifacts` in the environment\./)
  })

  test('later steps read an artifact, even after a resume, and its digest is recorded', async () => {
    const data = memoryData()
    let broken = true
    const program = pipe(
      Program.start('p'),
      Program.step('make', {
        run: ({ artifacts }) =>
          pipe(
            TE.tryCatch(() => artifacts.put('reports/unit.txt', 'draft'), identity),
            TE.chain(() => TE.tryCatch(() => artifacts.put('raw', new Uint8Array([1, 2])), identity)),
            TE.chain(() => TE.tryCatch(() => artifacts.put('reports/unit.txt', '12 passed'), identity)),
            TE.map(() => 'made')
          )
      }),
      Program.step('use', {
        run: ({ artifacts }) => (broken ? stop() : artifacts.get('reports/unit.txt').then(text))
      })
    ) as AnyProgram
    assert.equal((await go(program, data))._tag, 'Failed')
    broken = false
    const [make, use] = recordsOf(await go(program, data))
    assert.equal(use?.output, '12 passed')
    assert.deepEqual(make?.evidence, [evidence('reports/unit.txt', '12 passed'), evidence('raw', '\u0001\u0002')])
    assert.deepEqual(use.evidence, [])
  })

  test('a record names the artifacts of all attempts, and each group records its own artifacts', async () => {
    const data = memoryData()
    const program = pipe(
      Program.start('p'),
      Program.step('retried', {
        retry: TWICE,
        run: async ({ artifacts, attempt }) => {
          await artifacts.put(`attempt-${attempt}`, 'x')
          if (attempt === 1) throw Object.assign(new Error('later'), { status: 503 })
        }
      }),
      Program.wave('w', {
        a: { run: ({ artifacts }) => artifacts.put('of a', 'a') },
        b: { run: ({ artifacts }) => artifacts.put('of b', 'b') }
      })
    ) as AnyProgram
    const records = recordsOf(await go(program, data))
    const found = records.map(({ unit, evidence }) => [unit, evidence.map((one) => 'id' in one && one.id)])
    assert.deepEqual(found, [
      ['retried', ['attempt-1', 'attempt-2']],
      ['w/a', ['of a']],
      ['w/b', ['of b']],
      ['w', []]
    ])
  })

  test('an invalid or reserved artifact id fails the step permanently', async () => {
    for (const id of ['../x', '/x', '_own/x']) {
      const data = memoryData()
      const program = pipe(Program.start('p'), Program.step('s', { run: ({ artifacts }) => artifacts.put(id, 'x') }))
      const outcome = await go(program as AnyProgram, data)
      const { error } = failureOf(outcome)
      assert.deepEqual([error.name, error.code], ['ArtifactError', 'InvalidArtifactId'])
      assert.match(error.message, /is not a valid artifact id/)
      assert.ok(outcome._tag === 'Failed' && !outcome.retryable)
    }
  })

  test('a step that uses artifacts fails if there is no artifact store; other steps need none', async () => {
    const program = pipe(
      Program.start('p'),
      Program.step('plain', { run: () => TE.right(1) }),
      Program.step('asks', { run: ({ artifacts }) => artifacts.has('x') })
    )
    const storage = memoryStorage()
    const outcome = await runOrResume(program, 'r', {})(nodeEnvironment(storage))()
    assert.ok(E.isRight(outcome))
    const { error } = failureOf(outcome.right)
    assert.equal(error.code, 'NoArtifactStore')
    assert.match(error.message, /set `artifacts` in its environment/)
    assert.equal(recordsOf(outcome.right).length, 1)
  })

  test.each<[call: string, code: string, act: (context: Program.StepContext<object>) => Promise<unknown>]>([
    ['put of a number', 'NotBytes', ({ artifacts }) => artifacts.put('x', 42 as never)],
    ['put of undefined', 'NotBytes', ({ artifacts }) => artifacts.put('x', undefined as never)],
    ['put under a number', 'InvalidArtifactId', ({ artifacts }) => artifacts.put(42 as never, 'x')],
    ['get of undefined', 'InvalidArtifactId', ({ artifacts }) => artifacts.get(undefined as never)],
    [
      'reuse of a number',
      'InvalidArtifactId',
      ({ artifacts }) => artifacts.reuse({ fromRun: 'r', artifact: 42 as never })
    ],
    ['reuse of undefined', 'InvalidArtifactId', ({ artifacts }) => artifacts.reuse(undefined as never)]
  ])('%s is rejected with %s and stores nothing', async (_, code, act) => {
    const artifacts = memoryArtifacts()
    const process = newProcess(newWorld(), { artifacts })
    const program = pipe(Program.start('p'), Program.step('s', { run: act }))
    const { failures } = ended(await process.perform(run(program, 'r', {})), 'Failed')
    assert.deepEqual([failures[0]?.error.name, failures[0]?.error.code], ['ArtifactError', code])
    const listed = await artifacts.list('r')()
    assert.deepEqual(listed, E.right([]))
  })

  test('an attempt that has ended cannot write artifacts', async () => {
    const world = newWorld()
    const process = newProcess(world, { artifacts: memoryArtifacts(world.data), graceMillis: 1 })
    const late: Array<() => Promise<unknown>> = []
    const program = pipe(
      Program.start('p'),
      Program.step('make', {
        timeoutMillis: 1000,
        run: ({ artifacts }) => {
          if (process.world.log.push('make') > 1) return artifacts.put('model', 'new')
          late.push(() => artifacts.put('model', 'old'))
          return new Promise<never>(() => undefined)
        }
      }),
      Program.step('after', {
        run: async ({ artifacts }) => {
          await artifacts.put('note', 'x')
          late.push(() => artifacts.put('note', 'y'))
        }
      })
    )
    ended(await process.perform(run(program, 'r', {})), 'Failed')
    ended(await process.perform(resume(program, 'r')), 'Completed')
    assert.equal(late.length, 2)
    for (const put of late) await assert.rejects(put(), { code: 'AttemptOver' })
    world.log.length = 0
    ended(await process.perform(resume(program, 'r')), 'Completed')
    assert.deepEqual(world.log, [])
  })

  test('fenced attempts cannot write artifacts', async () => {
    const data = memoryData()
    const program = pipe(
      Program.start('p'),
      Program.step('s', {
        run: ({ artifacts, signal }) => {
          memoryStorage(data)
          assert.ok(signal.aborted)
          return artifacts.put('late', 'x')
        }
      })
    )
    assert.equal((await go(program as AnyProgram, data))._tag, 'Fenced')
    assert.deepEqual(await memoryArtifacts(data).list('r')(), E.right([]))
  })

  test('removing a run removes its artifacts', async () => {
    const data = memoryData()
    const program = pipe(Program.start('p'), Program.step('s', { run: ({ artifacts }) => artifacts.put('x', 'x') }))
    await go(program as AnyProgram, data)
    await memoryStorage(data).remove('r')()
    assert.deepEqual(await memoryArtifacts(data).list('r')(), E.right([]))
  })
})

describe('a step that reuses an artifact of another run', () => {
  const train = pipe(
    Program.start('train'),
    Program.wave('inputs', {
      corpus: Program.reuse({ fromRun: 'crawl-7', artifact: 'data/corpus' }),
      words: { run: ({ artifacts }) => artifacts.put('words', 'a b c') }
    }),
    Program.step('fit', {
      run: async ({ artifacts, outputs }) => [text(await artifacts.get('data/corpus')), outputs.inputs.corpus]
    })
  ) as AnyProgram

  test('reuse copies an artifact of another run, and the output of its step names the source', async () => {
    const data = memoryData()
    await memoryArtifacts(data).put('crawl-7', 'data/corpus', 'all of it')()
    const records = recordsOf(await go(train, data))
    assert.deepEqual(records.find(({ unit }) => unit === 'fit')?.output, ['all of it', 'reuse:crawl-7/data/corpus'])
    const corpus = records.find(({ unit }) => nameOf(unit) === 'corpus')
    assert.equal(corpus?.output, 'reuse:crawl-7/data/corpus')
    assert.deepEqual(corpus.evidence, [evidence('data/corpus', 'all of it')])
    // The other run may be deleted now.
    await memoryArtifacts(data).remove('crawl-7', 'data/corpus')()
    assert.equal(
      text(
        O.toUndefined(
          E.getOrElse((): O.Option<Uint8Array> => O.none)(await memoryArtifacts(data).get('r', 'data/corpus')())
        )
      ),
      'all of it'
    )
  })

  test.each([
    ['the run is missing', { fromRun: 'nowhere', artifact: 'data/corpus' }, 'ArtifactMissing'],
    ['the artifact is missing', { fromRun: 'crawl-7', artifact: 'other' }, 'ArtifactMissing'],
    ['the run id is invalid', { fromRun: '../crawl-7', artifact: 'x' }, 'InvalidRunId']
  ])(
    'a step that reuses a missing artifact fails permanently with the outcome notApplied: %s',
    async (_, from, code) => {
      const data = memoryData()
      await memoryArtifacts(data).put('crawl-7', 'data/corpus', 'all of it')()
      const program = pipe(
        Program.start('p'),
        Program.wave('w', { gone: Program.reuse(from), sibling: { run: () => TE.right('done') } })
      ) as AnyProgram
      const outcome = await go(program, data)
      const { unit, error, outcome: effect } = failureOf(outcome)
      assert.deepEqual([unit, error.code, effect], ['w/gone', code, 'notApplied'])
      assert.ok(outcome._tag === 'Failed' && !outcome.retryable)
      assert.deepEqual(
        recordsOf(outcome).map(({ unit }) => unit),
        ['w/sibling']
      )
    }
  )

  test('reusing another artifact changes the fingerprint of a step', () => {
    const fingerprintOf = (from: Parameters<typeof Program.reuse>[0]) =>
      (Program.task('s', Program.reuse(from)) as { readonly fingerprint: string }).fingerprint
    assert.notEqual(fingerprintOf({ fromRun: 'a', artifact: 'x' }), fingerprintOf({ fromRun: 'b', artifact: 'x' }))
  })
})

describe('artifacts with promises', () => {
  test('artifact functions return promises, and a missing artifact is undefined', async () => {
    const data = memoryData()
    const program = Async.workflow('p')
      .step('make', async ({ artifacts }) => artifacts.put('x', 'content'))
      .step('use', async ({ artifacts, runId, unit, attempt, outputs }) => {
        const found = await artifacts.get('x')
        assert.deepEqual([runId, unit, attempt], ['r', 'use', 1])
        return [
          Buffer.from(found ?? []).toString(),
          (await artifacts.get('y')) === undefined,
          await artifacts.has('x'),
          outputs.make
        ]
      })
    const outputs = await Async.runOrResume(program, {
      id: 'r',
      storage: memoryStorage(data),
      environment: { artifacts: memoryArtifacts(data) }
    })
    assert.deepEqual(outputs.use, ['content', true, true, { id: 'x', size: 7, sha256: sha256('content') }])
  })

  test('a failed artifact call rejects with an Error that keeps its classification', async () => {
    let caught: unknown
    const program = Async.workflow('p').step('s', async ({ artifacts }) => {
      try {
        return await artifacts.has('k')
      } catch (error) {
        caught = error
        throw error
      }
    })
    const outcome = await Async.runOutcome(program, { id: 'r', storage: memoryStorage() })
    assert.ok(caught instanceof Error && StepFailure.isStepFailure(caught))
    assert.equal((caught as Error & { readonly code?: unknown }).code, 'NoArtifactStore')
    assert.ok(outcome._tag === 'Failed')
    assert.equal(outcome.failures[0]?.error.code, 'NoArtifactStore')
  })
})

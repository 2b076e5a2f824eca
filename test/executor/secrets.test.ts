/** Only steps get secrets: no file, event or outcome contains one, and no later step reads one from the record. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { afterEach, describe, test } from 'vitest'
import { fileArtifacts, jsonFileStorage } from '../../src/adapters/json-file/index.js'
import { memoryStorage } from '../../src/adapters/memory.js'
import { environmentSecrets, nodeEnvironment } from '../../src/adapters/node/index.js'
import type { Environment, Secrets } from '../../src/index.js'
import type * as ProgramType from '../../src/executor/program/Program.js'
import * as Program from '../../src/executor/program/Program.js'
import type { StandardSchema } from '../../src/executor/program/StandardSchema.js'
import { planRun, poll, resume, run, RunError, runOrResume, StepError, StepFailure } from '../../src/index.js'
import * as Async from '../../src/promise/index.js'
import { ended, newProcess, newWorld, outputsOf, refused, right, stored } from './fixtures.js'

const TOKEN = 'canary-"zq7w\\9c"'
const PIN = '90210471'

const folders: Array<string> = []

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** A state folder, and an environment that records every event. */
const onDisk = (given: Partial<Environment> = {}) => {
  const folder = mkdtempSync(join(tmpdir(), 'dogear-secrets-'))
  folders.push(folder)
  const reported: Array<unknown> = []
  const environment = nodeEnvironment(jsonFileStorage(folder), {
    artifacts: fileArtifacts(folder),
    secrets: environmentSecrets({ TOKEN, PIN }),
    events: { report: (event) => void reported.push(event) },
    onCheckFailed: (failed) => {
      reported.push(failed)
      return Promise.resolve('abort')
    },
    ...given
  })
  return { folder, reported, environment }
}

/** The content of all files below a folder, and their names. */
const bytesBelow = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) =>
      [name, statSync(join(folder, name)).isFile() ? readFileSync(join(folder, name), 'latin1') : ''].join()
    )
    .join('\n')

/** The forms of a string that reveal a secret: plain, JSON, base64, and its number. */
const SIGNS = [
  TOKEN,
  JSON.stringify(TOKEN).slice(1, -1),
  PIN,
  'canary',
  'zq7w',
  ...[TOKEN, PIN].flatMap((one) => [
    Buffer.from(one).toString('base64').slice(0, 8),
    Buffer.from(one).toString('hex').slice(0, 12)
  ])
]

const assertNone = (text: string, where: string): void => {
  for (const sign of SIGNS)
    assert.ok(
      !text.includes(sign),
      `${where} has ${sign}: ${text.slice(Math.max(0, text.indexOf(sign) - 80)).slice(0, 200)}`
    )
}

const everything = (value: unknown): string =>
  inspect(value, { depth: null, maxStringLength: null, maxArrayLength: null })

const start = (name: string) => Program.start(name, { secrets: ['TOKEN', 'PIN'] })

const fail = (error: unknown) => TE.left(error)

describe('a secret', () => {
  test('a secret is redacted from the items of a map before their keys are computed and before the items are recorded', async () => {
    const { folder, reported, environment } = onDisk()
    const got: Array<unknown> = []
    const leaking = (name: string, key?: (item: { readonly id: string }) => string) =>
      pipe(
        start(name),
        Program.map(
          'each',
          { forEach: () => [{ id: TOKEN }], item: t.type({ id: t.string }), ...(key === undefined ? {} : { key }) },
          { run: ({ item, itemKey }) => TE.fromIO(() => void got.push([item, itemKey])) }
        )
      )
    const done = right(await run(leaking('plain'), 'r', {})(environment)())
    assert.equal(done._tag, 'Completed')
    assert.deepEqual(got, [[{ id: '***' }, '1']])
    const keyed = leaking('keyed', ({ id }) => `k-${id.slice(0, 6)}`)
    const named = right(await run(keyed, 'k', {})(environment)())
    assert.equal(named._tag, 'Completed')
    assert.deepEqual(got[1], [{ id: '***' }, 'k-***'])
    const outOfDigits = pipe(
      start('pins'),
      Program.map('each', { forEach: () => [Number(PIN)], item: t.number }, { run: ({ item }) => TE.right(item) })
    )
    const misfit = ended(await run(outOfDigits, 'p', {})(environment)(), 'Failed')
    assert.match(misfit.failures[0]?.error.message ?? '', /item 1 must be number/)
    assertNone(bytesBelow(folder), 'the state folder')
    assertNone(everything([reported, done, named, misfit]), 'an event or outcome')
  })

  test('a step gets its secrets, but no file, event or outcome contains them, whatever the step returns, stores or throws', async () => {
    const { folder, reported, environment } = onDisk()
    const got: Array<unknown> = []
    const leak = ({ secrets }: { readonly secrets: Readonly<Record<string, string>> }): string =>
      `<${secrets['TOKEN']}>`
    const program = pipe(
      start('leaky'),
      Program.step('output', {
        capture: 'login',
        run: (context) => TE.right({ [leak(context)]: [leak(context)], pin: Number(context.secrets['PIN']) })
      }),
      Program.step('inner', { run: (context) => context.step('leak', () => [leak(context)]) }),
      Program.step('retried', {
        retry: { _tag: 'Constant', attempts: 2, delayMillis: 0, maxDelayMillis: 0, jitter: 0 },
        run: (context) =>
          context.attempt === 1
            ? fail(StepFailure.transient(StepError.make(leak(context), leak(context))))
            : TE.right(null)
      }),
      Program.wave('checked', { a: { run: (context) => TE.right(leak(context)) } }),
      Program.step('job', {
        job: {
          submit: (context) => TE.right({ url: leak(context) }),
          poll: (context) => (got.push(context.job), TE.right({ _tag: 'Finished' } as const)),
          collect: (context) => TE.right(leak(context))
        }
      }),
      Program.step('later', {
        run: (context) => {
          const { output, inner, retried, checked, job } = context.outputs
          got.push(
            { output, inner, retried, checked, job },
            context.variables.get('login'),
            context.input,
            context.secrets
          )
          const error = Object.assign(new Error(leak(context), { cause: new Error(leak(context)) }), {
            token: leak(context)
          })
          return fail(error)
        }
      })
    )
    const input = { note: `the token is ${TOKEN}` }
    const resting = right(await run(program, 'r', input)(environment)())
    assert.equal(resting._tag, 'Pending')
    const polled = right(await poll(program, 'r')(environment)())
    const failed = ended(await resume(program, 'r')(environment)(), 'Failed')
    assertNone(bytesBelow(folder), 'the state folder')
    assertNone(everything(reported), 'an event')
    assertNone(everything([resting, polled, failed]), 'an outcome')
    assert.deepEqual(got, [
      { url: '<***>' },
      {
        output: { '<***>': ['<***>'], pin: '***' },
        inner: ['<***>'],
        retried: null,
        checked: { a: '<***>' },
        job: '<***>'
      },
      { '<***>': ['<***>'], pin: '***' },
      { note: 'the token is ***' },
      { TOKEN, PIN }
    ])
    assert.match(failed.failures[0]?.error.message ?? '', /^<\*\*\*>/)
  })

  test('a secret is redacted from failed checks of steps and waves, and from their prompts', async () => {
    for (const place of ['step', 'wave'] as const) {
      const { folder, reported, environment } = onDisk()
      const before = ({ secrets }: { readonly secrets: Readonly<Record<string, string>> }) =>
        fail(new Error(secrets['TOKEN']))
      const program: ProgramType.Program<unknown> =
        place === 'step'
          ? pipe(start('p'), Program.step('a', { before, run: () => TE.right(1) }))
          : pipe(start('p'), Program.wave('a', { g: { run: () => TE.right(1) } }, { before }))
      const failed = ended(await run(program, 'r', {})(environment)(), 'Failed')
      assert.match(failed.failures[0]?.error.message ?? '', /^not started, because a check failed: \*\*\*$/)
      assert.ok(reported.some((one) => everything(one).includes("'***'")))
      assertNone(bytesBelow(folder) + everything(reported), 'what was reported')
    }
  })

  test('a secret is redacted from the errors of jobs that failed or could not be polled', async () => {
    const { folder, reported, environment } = onDisk()
    const program = (how: (token: string) => TE.TaskEither<unknown, Program.JobStatus>) =>
      pipe(
        start('p'),
        Program.step('a', {
          job: {
            submit: () => TE.right(null),
            poll: ({ secrets }) => how(secrets['TOKEN'] ?? ''),
            collect: () => TE.right(1)
          }
        })
      )
    const asking = program((token) => fail(new Error(token)))
    ended(await run(asking, 'r', {})(environment)(), 'Pending')
    const unknown = right(await poll(asking, 'r')(environment)())
    const failing = program((token) => TE.right({ _tag: 'Failed', error: new Error(token) }))
    const failed = right(await poll(failing, 'r')(environment)())
    assert.ok(unknown._tag === 'Polled' && unknown.jobs[0]?.end._tag === 'Unknown')
    assert.ok(failed._tag === 'Polled' && failed.jobs[0]?.end._tag === 'Failed')
    assertNone(bytesBelow(folder) + everything([reported, unknown, failed]), 'what was reported')
  })

  test('the task of a map gets redacted items, and a key that contains a secret fails the map', async () => {
    for (const isKey of [false, true]) {
      const { folder, reported, environment } = onDisk()
      const seen: Array<unknown> = []
      const program = pipe(
        start('p'),
        Program.map(
          'm',
          { forEach: () => [`pin-${PIN}`], key: (item) => (isKey ? `pin-${PIN}` : `k${item.length}`) },
          { run: ({ item }) => (seen.push(item), fail(new Error('stop here'))) }
        )
      )
      const failed = ended(await run(program, 'r', {})(environment)(), 'Failed')
      assert.match(
        failed.failures[0]?.error.message ?? '',
        isKey ? /^the key of item 1 contains the value of a secret/ : /stop/
      )
      ended(await resume(program, 'r')(environment)(), 'Failed')
      assert.deepEqual(seen, isKey ? [] : ['pin-***', 'pin-***'])
      assertNone(bytesBelow(folder) + everything([reported, failed]), 'what was reported')
    }
  })

  test('later steps see redacted outputs, both in the first run and after a resume', async () => {
    const { environment } = onDisk()
    const seen: Array<unknown> = []
    const program = pipe(
      start('p'),
      Program.step('a', { capture: 'a', run: ({ secrets }) => TE.right(secrets['TOKEN']) }),
      Program.step('b', {
        run: ({ outputs, variables }) => (seen.push([outputs.a, variables.get('a')]), fail(new Error('stop here')))
      })
    )
    ended(await run(program, 'r', {})(environment)(), 'Failed')
    ended(await resume(program, 'r')(environment)(), 'Failed')
    assert.deepEqual(seen, [
      ['***', '***'],
      ['***', '***']
    ])
  })

  test('a secret is redacted from an output that a resume supplies', async () => {
    const { folder, reported, environment } = onDisk()
    const got: Array<unknown> = []
    const program = pipe(
      start('p'),
      Program.step('a', { capture: 'a', run: () => fail(new Error('no')) }),
      Program.step('b', { run: ({ outputs, variables }) => TE.right(got.push(outputs.a, variables.get('a'))) })
    )
    ended(await run(program, 'r', {})(environment)(), 'Failed')
    const outputs = new Map([['a', `token=${TOKEN}`]])
    const outcome = ended(await resume(program, 'r', { fromStep: 'b', outputs })(environment)(), 'Completed')
    assert.deepEqual(got, ['token=***', 'token=***'])
    assert.equal(outputsOf(outcome.checkpoint)['a'], 'token=***')
    assertNone(bytesBelow(folder) + everything(reported), 'what was reported')
  })

  test('a step fails if an artifact or an evidence path contains a secret, or if its output is invalid once redacted', async () => {
    const Token = t.refinement(t.string, (text) => text.startsWith('canary'), 'Token')
    const leaks: Readonly<Record<string, ProgramType.Program<unknown>>> = {
      SecretInArtifact: pipe(
        start('p'),
        Program.step('a', {
          run: ({ artifacts, secrets }) => artifacts.put('log', Buffer.from(`\xff${secrets['TOKEN']}`, 'latin1'))
        })
      ),
      SECRET_IN_OUTPUT: pipe(
        start('p'),
        Program.step('a', { output: Token, run: ({ secrets }) => TE.right(secrets['TOKEN'] ?? '') })
      )
    }
    for (const [code, program] of Object.entries(leaks)) {
      const { folder, environment } = onDisk()
      const failed = ended(await run(program, 'r', {})(environment)(), 'Failed')
      assert.equal(failed.failures[0]?.error.code, code)
      assertNone(bytesBelow(folder), 'the state folder')
    }
    const world = newWorld()
    world.tree.files.set(PIN, 'content')
    const process = newProcess(world, { secrets: environmentSecrets({ TOKEN, PIN }) })
    const named = pipe(
      start('p'),
      Program.step('a', { evidence: [{ _tag: 'File', path: PIN }], run: () => TE.right(1) })
    )
    const failed = ended(await process.perform(run(named, 'r', {})), 'Failed')
    assert.equal(failed.failures[0]?.error.code, 'SECRET_IN_OUTPUT')
  })

  test('an input field with the name of a secret is refused, and nothing is written', async () => {
    const process = newProcess(newWorld(), { secrets: environmentSecrets({ TOKEN, PIN }) })
    const program = pipe(start('p'), Program.step('a', { run: () => TE.right(1) }))
    const error = refused(await process.perform(run(program, 'r', { TOKEN: 'x' })), 'InvalidInput')
    assert.equal(error.path, '$.TOKEN')
    assert.match(RunError.describe(error), /secret/)
    assert.deepEqual(process.calls, [])
  })

  test('the message of a schema about an input is redacted, also in a plan', async () => {
    const process = newProcess(newWorld(), { secrets: environmentSecrets({ TOKEN, PIN }) })
    let accepts = false
    const input: StandardSchema<string> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) =>
          accepts ? { value: value as string } : { issues: [{ message: `${String(value)} is not allowed` }] }
      }
    }
    const program = Async.workflow('p', { secrets: ['TOKEN', 'PIN'], input }).step('a', () => 1)
    const expectedIn = (result: E.Either<RunError, unknown>): string => refused(result, 'InvalidInput').expected
    assert.equal(expectedIn(await process.perform(run(program, 'r', TOKEN))), 'a valid value (*** is not allowed)')
    accepts = true
    ended(await process.perform(run(program, 'r', 'x')), 'Completed')
    accepts = false
    const options = { input: TOKEN, fromStep: 'a' }
    assert.equal(
      expectedIn(await planRun(program, 'r', options)(process.environment)()),
      'a valid value (*** is not allowed)'
    )
    assert.equal(expectedIn(await process.perform(resume(program, 'r', options))), 'a valid value (*** is not allowed)')
  })

  test('runOrResume accepts the same input again if it contains a secret, although the recorded input is redacted', async () => {
    const process = newProcess(newWorld(), { secrets: environmentSecrets({ TOKEN, PIN }) })
    const program = pipe(start('p'), Program.step('a', { run: ({ input }) => TE.right(input) }))
    const input = { url: `https://${TOKEN}@host` }
    for (let time = 0; time < 2; time++) {
      const outcome = ended(await process.perform(runOrResume(program, 'r', input)), 'Completed')
      assert.deepEqual(outputsOf(outcome.checkpoint), { a: { url: 'https://***@host' } })
    }
  })
})

describe('the names of secrets', () => {
  const program = pipe(
    start('p'),
    Program.step('a', { run: ({ secrets }) => (secrets['TOKEN'] === 'second value' ? TE.right(1) : fail('no')) })
  )

  test('the checkpoint records only the names of secrets, and each resume reads the values again', async () => {
    const world = newWorld()
    const environment = (value: string) => newProcess(world, { secrets: environmentSecrets({ TOKEN: value, PIN }) })
    ended(await environment('first value').perform(run(program, 'r', {})), 'Failed')
    assert.deepEqual((await stored(memoryStorage(world.data))).workflow.secrets, ['TOKEN', 'PIN'])
    ended(await environment('second value').perform(resume(program, 'r')), 'Completed')
  })

  test('run, resume and poll report all unusable secrets together before they claim the run', async () => {
    const values: Readonly<Record<string, E.Either<string, O.Option<string>>>> = {
      UNSET: E.right(O.none),
      EMPTY: E.right(O.some(' \n')),
      SHORT: E.right(O.some('abc')),
      SEALED: E.left('the vault is sealed'),
      FINE: E.right(O.some('long enough'))
    }
    const vault: Secrets = {
      where: 'the vault',
      read: (name) => {
        const found = values[name]
        assert.ok(found !== undefined, 'it throws')
        return TE.fromEither(
          E.mapLeft((why: string) => ({ _tag: 'SecretUnreadable', why, cause: why }) as const)(found)
        )
      }
    }
    const needy = pipe(
      Program.start('p', { secrets: [...Object.keys(values), 'THROWS'] }),
      Program.step('a', { run: () => TE.right(1) })
    )
    const world = newWorld()
    const simple = pipe(Program.start('p'), Program.step('a', { run: () => fail('no') }))
    ended(await newProcess(world).perform(run(simple, 'r', {})), 'Failed')
    for (const act of [run(needy, 'new', {}), resume(needy, 'r'), runOrResume(needy, 'r', {}), poll(needy, 'r')]) {
      const process = newProcess(world, { secrets: vault })
      const error = refused(await act(process.environment)(), 'SecretsMissing')
      assert.deepEqual(error.where, 'the vault')
      assert.deepEqual(
        error.secrets.map(({ name, problem }) => [name, problem]),
        [
          ['UNSET', 'missing'],
          ['EMPTY', 'missing'],
          ['SHORT', 'tooShort'],
          ['SEALED', 'unreadable'],
          ['THROWS', 'unreadable']
        ]
      )
      assert.match(
        RunError.describe(error),
        /the vault:\n {2}UNSET is not set\n.*\n {2}SHORT is too short to redact safely \(minimum 4 characters\)/
      )
      assert.deepEqual(
        process.calls.filter((call) => call !== 'load'),
        []
      )
    }
  })

  test('a program with secrets is refused if the environment has no `secrets`', async () => {
    const error = refused(await newProcess().perform(run(program, 'r', {})), 'SecretsMissing')
    assert.match(RunError.describe(error), /^Unusable secrets in an environment without `secrets`:\n {2}/)
  })

  test.each([[undefined], [7]])('secrets whose `where` is %s are named in the error all the same', async (where) => {
    const secrets = { where, read: () => TE.right(O.none) } as unknown as Secrets
    const error = refused(await newProcess(newWorld(), { secrets }).perform(run(program, 'r', {})), 'SecretsMissing')
    assert.match(RunError.describe(error), /^Unusable secrets in `secrets` of the environment:\n {2}/)
  })

  test('the names of secrets must be unique, have no blanks, and differ from captured variables', async () => {
    const wrong = [
      pipe(start('p'), Program.step('a', { capture: 'PIN', run: () => TE.right(1) })),
      pipe(Program.start('p', { secrets: ['A', 'A'] }), Program.step('a', { run: () => TE.right(1) })),
      pipe(Program.start('p', { secrets: ['A B'] }), Program.step('a', { run: () => TE.right(1) }))
    ]
    for (const one of wrong) {
      const [problem] = refused(await newProcess().perform(run(one, 'r', {})), 'PlanError').problems
      assert.ok(problem._tag === 'InvalidWorkflow' && problem.problem._tag === 'InvalidSetting')
    }
  })

  test('an edit of the names of secrets repeats no completed step', async () => {
    const world = newWorld()
    const environment = { secrets: environmentSecrets({ TOKEN, PIN }) }
    const steps = (names: ReadonlyArray<string>, last: TE.TaskEither<unknown, unknown>) =>
      pipe(
        Program.start('p', { secrets: names }),
        Program.step('a', { run: () => TE.fromIO(() => world.log.push('a')) }),
        Program.step('b', { run: () => last })
      )
    ended(await newProcess(world, environment).perform(run(steps([], fail('no')), 'r', {})), 'Failed')
    ended(await newProcess(world, environment).perform(resume(steps(['TOKEN'], TE.right(1)), 'r')), 'Completed')
    assert.deepEqual(world.log, ['a'])
    assert.deepEqual((await stored(memoryStorage(world.data))).workflow.secrets, ['TOKEN'])
  })
})

test('async steps get their secrets, and the errors that they reject with are redacted', async () => {
  const { folder, environment } = onDisk()
  const { storage, ...ports } = environment
  const flow = Async.workflow('p', { secrets: ['TOKEN', 'PIN'] })
    .step('a', ({ secrets }) => `${secrets['TOKEN']}`)
    .step('b', ({ secrets }) => Promise.reject(new Error(secrets['TOKEN'])))
  const failure: unknown = await Async.run(flow, { id: 'r', storage, environment: ports }).catch(
    (error: unknown) => error
  )
  assert.ok(failure instanceof Async.RunFailure)
  assertNone(everything(failure) + bytesBelow(folder), 'what it rejected with')
})

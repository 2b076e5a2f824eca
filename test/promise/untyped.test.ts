/** Calls of JavaScript hosts, which no compiler checks: an ignored option may repeat work or discard it. */
import { inspect } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { fileArchive, fileArtifacts, fileRequests, jsonFileStorage } from '../../src/adapters/json-file/index.js'
import { connect, postgresArtifacts, postgresRequests, postgresStorage } from '../../src/adapters/postgres/index.js'
import { connect as connectSqlite, sqliteStorage } from '../../src/adapters/sqlite/index.js'
import { nodeEnvironment } from '../../src/adapters/node/index.js'
import * as fp from '../../src/index.js'
import * as RunError from '../../src/public/RunError.js'
import type { RunError as AnyError } from '../../src/executor/errors/RunError.js'
import * as dogear from '../../src/promise/index.js'
import { planRun, resume, run, runOutcome, workflow } from '../../src/promise/index.js'

const one = () => workflow('w').step('one', () => 1)

const refusal = async (call: Promise<unknown>): Promise<string> =>
  await call.then(
    () => expect.fail('it was accepted'),
    (error: unknown) => (error instanceof Error ? error.message : String(error))
  )

describe('options of calls', () => {
  const invalid: ReadonlyArray<readonly [options: object, expected: string]> = [
    [{ changes: 'foo' }, "changes must be 'strict', 'completed' or 'ignore'"],
    [{ onChanged: true }, "onChanged must be 'refuse' or 'keep'"],
    [
      { confirm: { one: 'again' } },
      'confirm must be a Map of answers by unit, such as new Map([["build", { _tag: "Again" }]])'
    ],
    [{ wait: 'yes' }, 'wait must be true or false'],
    [{ environment: { request: {} } }, 'unknown option "environment.request"; did you mean "environment.requests"?'],
    [{ requests: {} }, 'unknown option "requests"; did you mean "environment.requests"?'],
    [{ events: {} }, 'unknown option "events"; did you mean "environment.events"?'],
    [{ fromStep: 1 }, 'fromStep must be a string'],
    [{ evidence: ['a.txt'] }, 'evidence must be an array of what collectEvidence returns'],
    [{ id: 7 }, 'id must be a string'],
    [{ onRecovered: 'me' }, 'onRecovered must be a function'],
    [{ recovered: 'by me' }, 'recovered must be true or false'],
    [{ formStep: 'one' }, 'unknown option "formStep"; did you mean "fromStep"?'],
    [
      { confirm: new Map([['one', 'again']]) },
      `confirm must be a Map of answers by unit; the answer to "one" must be { _tag: 'Again' }, { _tag: 'Keep' } or { _tag: 'Done' }, not the string "again"`
    ]
  ]

  test.each(invalid.map(([options, expected]) => [inspect(options), options, expected] as const))(
    'an invalid option is refused with what is expected: %s',
    async (_, options, expected) => {
      const host = { id: 'r', storage: memoryStorage() }
      await run(one(), host)
      for (const call of [resume, planRun])
        expect(await refusal(call(one(), { ...host, ...options }))).toBe(`These options are invalid:\n  ${expected}`)
    }
  )

  test('an unknown option is refused, and nothing is recorded', async () => {
    const storage = memoryStorage()
    const options = { id: 'r', storage, formStep: 'one' }
    expect(await refusal(run(one(), options))).toBe(
      'These options are invalid:\n  unknown option "formStep"; the options are id, storage, signal, environment, input, workspace, wait'
    )
    const outcome = await runOutcome(one(), { ...options, input: {} })
    expect(outcome).toMatchObject({
      _tag: 'Refused',
      error: { _tag: 'InvalidOptions', problems: [{ option: 'formStep' }] }
    })
    // console.log prints the problems as [Object].
    expect(inspect(outcome)).toContain('unknown option "formStep"; did you mean "fromStep"?')
    expect(await run(one(), { id: 'r', storage })).toEqual({ one: 1 })
  })

  test.each(['worktre', 'folder', '', 5, { kind: 'directory' }, { kind: 'none' }])(
    'an invalid workspace is refused: %j',
    async (workspace) => {
      const call = run(one(), { id: 'r', storage: memoryStorage(), workspace: workspace as never })
      expect(await refusal(call)).toContain("workspace must be 'directory', 'worktree' or { kind: 'none', path }, not ")
    }
  )

  test('an option that is undefined counts as absent', async () => {
    const options = { id: 'r', storage: memoryStorage(), wait: undefined, changes: undefined }
    expect(await run(one(), options as never)).toEqual({ one: 1 })
  })

  test.each([
    ['undefined', undefined],
    ['an object', {}],
    ['the string ".dogear"', '.dogear'],
    ['a Promise', Promise.resolve(memoryStorage())],
    ['an object without release', { ...memoryStorage(), release: undefined }]
  ])('an invalid storage is refused, and the error shows an example: %s', async (found, storage) => {
    expect(await refusal(run(one(), { id: 'r', storage: storage as never }))).toBe(
      `These options are invalid:\n  storage must be a CheckpointStorage, such as jsonFileStorage('.dogear'), not ${found}`
    )
    expect((await runOutcome(one(), { id: 'r', storage: storage as never }))._tag).toBe('Refused')
  })
})

describe('arguments of calls', () => {
  type Call = (...args: ReadonlyArray<unknown>) => Promise<unknown>
  const calls = dogear as unknown as Readonly<Record<string, Call>>
  const ofWorkflows = ['run', 'resume', 'runOrResume', 'start', 'poll', 'planRun']
  const ofRuns = ['answer', 'confirm', 'pause', 'cancel', 'viewRun', 'listRuns', 'fork', 'resumeAll']
  const host = () => ({ id: 'r', storage: memoryStorage() })

  test.each([...ofWorkflows, ...ofRuns])(
    '%s without options is refused, and the error says which options are missing',
    async (name) => {
      const before = ofWorkflows.includes(name) ? [one()] : []
      for (const none of [[], [undefined], [null], ['r'], [{}]]) {
        const error: unknown = await calls[name]?.(...before, ...none).catch((thrown: unknown) => thrown)
        expect(dogear.isRunFailure(error) && error.message).toMatch(
          /storage must be a CheckpointStorage|options must be an object, not (null|the string "r")/
        )
      }
    }
  )

  test.each(ofWorkflows)('%s refuses a first argument that is no workflow', async (name) => {
    for (const value of [undefined, {}, host()])
      expect(await refusal(calls[name]?.(value, host()) as Promise<unknown>)).toMatch(
        /the first argument must be a workflow, not (undefined|an object)$/
      )
  })

  test('a workflow without a name is refused, and the error says that the name must be a string', async () => {
    const nameless = workflow(undefined as never).step('one', () => 1)
    await expect(run(nameless, { id: 'r', storage: memoryStorage() })).rejects.toThrow(
      'the name of the workflow must be a string, not undefined'
    )
  })

  test.each(ofRuns)('%s refuses a workflow as its first argument, because it takes only options', async (name) => {
    expect(await refusal(calls[name]?.(one(), { ...host(), fromStep: 'one' }) as Promise<unknown>)).toBe(
      'These options are invalid:\n  options must be an object with storage, not a workflow'
    )
  })

  test('runOutcome does not reject for invalid arguments, but returns a Refused outcome', async () => {
    const outcome = await calls['runOutcome']?.()
    expect(outcome).toMatchObject({ _tag: 'Refused', error: { _tag: 'InvalidOptions' } })
  })

  const wrong: ReadonlyArray<readonly [call: string, options: object, expected: string]> = [
    ['resumeAll', {}, 'workflows must be an array of workflows'],
    ['resumeAll', { workflows: [{}] }, 'workflows must be an array of workflows'],
    [
      'resumeAll',
      { workflows: [one(), one()] },
      'workflows must be an array of workflows with different names; it has "w" twice'
    ],
    [
      'confirm',
      { id: 'r' },
      'confirm must be a Map of answers by unit, such as new Map([["build", { _tag: "Again" }]])'
    ],
    [
      'confirm',
      { id: 'r', confirm: new Map([[1, { _tag: 'Again' }]]) },
      'confirm must be a Map of answers by unit; a unit must be a string, not the number 1'
    ],
    ['fork', { id: 'r' }, 'fromStep must be a string'],
    ['answer', { id: 'r', unit: 'one' }, 'value must be plain JSON; it is missing'],
    ['pause', { id: 'r', comit: false }, 'unknown option "comit"; did you mean "commit"?'],
    ['cancel', { id: 'r', environment: null }, 'environment must be an object, not null'],
    ['listRuns', { limit: -1 }, 'limit must be a whole number ≥ 1, not the number -1'],
    ['resumeAll', { workflows: [], concurrency: 0 }, 'concurrency must be a whole number ≥ 1, not the number 0'],
    ['resumeAll', { workflows: [], concurrency: 1.5 }, 'concurrency must be a whole number ≥ 1, not the number 1.5'],
    [
      'viewRun',
      { id: 'r', environment: { clok: 1 } },
      'unknown option "environment.clok"; did you mean "environment.clock"?'
    ],
    [
      'viewRun',
      { id: 'r', environment: { clock: {} } },
      'environment.clock must be a Clock, such as systemClock, not an object'
    ],
    ['viewRun', { id: 'r', environment: { random: 4 } }, 'environment.random must be a function'],
    [
      'viewRun',
      { id: 'r', environment: { interrupt: { reason: () => undefined } } },
      'environment.interrupt must be an Interrupt, with signal and reason, not an object'
    ],
    [
      'viewRun',
      { id: 'r', environment: { artifacts: { put: () => undefined } } },
      'environment.artifacts must be an ArtifactStore, such as fileArtifacts(folder), not an object without get, has, remove, list, clear'
    ],
    [
      'viewRun',
      { id: 'r', environment: { archive: {} } },
      'environment.archive must be an Archive, such as fileArchive(folder), not an object'
    ],
    [
      'viewRun',
      { id: 'r', environment: { asyncContext: {} } },
      'environment.asyncContext must be an AsyncContext, such as that of nodeEnvironment, not an object'
    ],
    [
      'viewRun',
      { id: 'r', environment: { workspaces: {} } },
      'environment.workspaces must be Workspaces, such as workspaces(folder), not an object'
    ],
    [
      'viewRun',
      { id: 'r', environment: { tree: {} } },
      'environment.tree must be a WorkingTree, such as workingTree(folder), not an object'
    ],
    ['listRuns', { limt: 3 }, 'unknown option "limt"; did you mean "limit"?']
  ]

  test.each(wrong.map(([name, options, expected]) => [name, expected, options] as const))(
    '%s with an invalid or missing option is refused: %s',
    async (name, expected, options) => {
      const called = calls[name]?.({ storage: memoryStorage(), ...options }) as Promise<unknown>
      expect(await refusal(called)).toBe(`These options are invalid:\n  ${expected}`)
    }
  )

  test('an unknown part of an environment is refused, and the error lists all parts unless it suggests one', async () => {
    const called = calls['viewRun']?.({
      storage: memoryStorage(),
      id: 'r',
      environment: { foo: 1 }
    }) as Promise<unknown>
    expect(await refusal(called)).toMatch(
      /unknown option "environment\.foo"; the options are environment\.storage, environment\.clock, /
    )
  })

  test('calls that run nothing ignore the options of calls that run a workflow', async () => {
    const options = { ...host(), input: {}, wait: false, changes: 'strict' } as const
    await runOutcome(one(), options)
    expect(await dogear.viewRun(options)).toMatchObject({ runId: 'r', status: 'completed' })
    expect(await dogear.listRuns(options)).toHaveLength(1)
    expect(await dogear.poll(one(), options)).toMatchObject({ jobs: [] })
  })

  test('planRun ignores the options that only a run or a resume has', async () => {
    const resuming = { wait: true, takeOver: true, planHash: 'other', onRecovered: () => 'me', workspace: 'directory' }
    const options = { ...host(), ...resuming }
    await run(one(), { id: options.id, storage: options.storage })
    expect((await planRun(one(), options)).questions).toEqual([])
  })

  test('a part of an environment that is undefined counts as absent', async () => {
    const environment = { clock: undefined, random: undefined, requests: undefined }
    expect(await runOutcome(one(), { ...host(), environment })).toMatchObject({
      _tag: 'Completed'
    })
  })

  test('options and environments may be instances of classes with accessors', async () => {
    const { storage } = host()
    const seen: Array<string> = []
    class Surroundings {
      get events() {
        return { report: ({ _tag }: { readonly _tag: string }) => void seen.push(_tag) }
      }
    }
    class Call {
      readonly #id = 'r'
      get id() {
        return this.#id
      }
      get storage() {
        return storage
      }
      get environment() {
        return new Surroundings()
      }
    }
    expect(await runOutcome(one(), new Call())).toMatchObject({ _tag: 'Completed', runId: 'r' })
    expect(seen).toContain('RunCompleted')
  })

  test('a `confirm` that lacks some methods of a Map is refused', async () => {
    const given = new Map([['one', { _tag: 'Again' }]])
    const like = { get: given.get.bind(given), has: given.has.bind(given), entries: given.entries.bind(given) }
    for (const name of ['resume', 'runOutcome']) {
      const ended = await calls[name]?.(one(), { ...host(), confirm: like }).catch((error: Error) => error.message)
      expect(JSON.stringify(ended)).toContain('a Map of ')
    }
  })

  test('a call with a store that was made without a folder is refused, and the error shows an example', async () => {
    const storage = jsonFileStorage(undefined as never)
    expect(await refusal(dogear.listRuns({ storage }))).toMatch(
      /jsonFileStorage needs the path of a folder, not undefined; pass one, such as '\.dogear'/
    )
  })

  const NONE = undefined as never
  const request = { _tag: 'Pause', runId: 'r', requestedAt: '2026-01-02T03:04:05.000Z' } as never
  const storage = postgresStorage(NONE)

  const ports: ReadonlyArray<readonly [string, () => Promise<E.Either<unknown, unknown>>]> = [
    ['fileRequests needs the path of a folder, not undefined', fileRequests(NONE).leave(request)],
    ['fileRequests needs the path of a folder, not undefined', fileRequests(NONE).pointer],
    ['fileArtifacts needs the path of a folder, not undefined', fileArtifacts(NONE).list('r')],
    ['fileArchive needs the path of a folder, not undefined', fileArchive(NONE).keep(NONE)],
    ['jsonFileStorage needs the path of a folder, not the string ""', jsonFileStorage('').list()],
    ['a PostgreSQL store needs a pool, not undefined', storage.list()],
    ['a PostgreSQL store needs a pool, not undefined', storage.claim('r', { host: 'h', pid: 1 })],
    [
      'a PostgreSQL store needs a pool, not the string "postgres://h"',
      postgresArtifacts('postgres://h' as never).list('r')
    ],
    ['a PostgreSQL store needs a pool, not an object', postgresRequests({ query: () => 1 } as never).list('r')],
    ['a SQLite store needs an open database, not an object', sqliteStorage({ exec: () => 1 } as never).list()],
    ['a SQLite store needs an open database, not undefined', sqliteStorage(NONE).claim('r', { host: 'h', pid: 1 })],
    ['connect needs the path of a file, not undefined', connectSqlite(NONE, class {} as never).requests.list('r')],
    ['connect needs the address of a database, not undefined', async () => (await connect(NONE)).storage.list()()]
  ]

  test.each(ports)('a port without its folder, pool or database fails: %s', async (why, call) => {
    const result = await call()
    if (E.isRight(result)) expect.fail('it was accepted')
    const text = RunError.describe(result.left as AnyError)
    expect(text).toContain(`${why}; pass one, such as `)
    expect(text).not.toMatch(/unknown whether|Earlier saves/)
  })

  test('requests that were made without a folder return true from isAny, so that a run reads them and fails', () => {
    expect(fileRequests(NONE).isAny('r')).toBe(true)
  })
})

describe('options of steps', () => {
  const run1 = (flow: Parameters<typeof run>[0]) => run(flow, { id: 'r', storage: memoryStorage() })

  type Chain = Readonly<Record<string, (...args: ReadonlyArray<unknown>) => Chain>>
  /** JSON can keep neither a BigInt nor this. */
  const circular = (): object => {
    const value: Record<string, unknown> = {}
    return Object.assign(value, { value })
  }
  const untyped = workflow as unknown as (...args: ReadonlyArray<unknown>) => Chain

  const steps: ReadonlyArray<readonly [string, (w: Chain) => Chain | undefined, string]> = [
    [
      'an unknown option',
      (w) => w['step']?.('q', { run: () => 1, timeout: 5 }),
      'unknown option "timeout" of "q"; did you mean "timeoutMillis"?'
    ],
    [
      'a run beside a job',
      (w) => w['step']?.('q', { run: () => 1, job: { submit: () => 1, poll: () => 1, collect: () => 1 } }),
      'run of "q" must be passed as job.submit'
    ],
    [
      'an unknown option of a wait',
      (w) => w['waitFor']?.('q', { timeout: 5 }),
      'unknown option "timeout" of "q"; did you mean "timeoutMillis"?'
    ],
    [
      'an unknown option of a sleep',
      (w) => w['sleep']?.('q', { millis: 5, sumary: 'x' }),
      'unknown option "sumary" of "q"; did you mean "summary"?'
    ],
    [
      'an unknown option of a group',
      (w) => w['wave']?.('c', { q: { run: () => 1, retries: 3 } }),
      'unknown option "retries" of "c/q"; did you mean "retry"?'
    ],
    [
      'an unknown option of the body of a map',
      (w) => w['map']?.('m', { forEach: () => [1] }, { run: () => 1, retries: 3 }),
      'unknown option "retries" of "m"; did you mean "retry"?'
    ],
    [
      'an unknown option of a wave',
      (w) => w['wave']?.('c', { q: () => 1 }, { concurency: 3 }),
      'unknown option "concurency" of "c"; did you mean "concurrency"?'
    ],
    [
      'options of a wave that are not an object',
      (w) => w['wave']?.('c', { q: () => 1 }, null),
      'options of "c" must be an object, not null'
    ],
    [
      'options of a sequence that are not an object',
      (w) => w['sequence']?.('q', (part: Chain) => part['step']?.('one', () => 1), 3),
      'options of "q" must be an object, not the number 3'
    ],
    ['a name that is undefined', (w) => w['step']?.(undefined, () => 1), '"" is not a valid name'],
    ['a name that is null', (w) => w['wave']?.(null, { a: () => 1 }), '"" is not a valid name'],
    ...[1n, circular()].flatMap((value): typeof steps => [
      [
        `a version of type ${typeof value}`,
        (w) => w['step']?.('q', { run: () => 1, version: value }),
        'version of "q" must be a string'
      ],
      [
        `a capture of type ${typeof value}`,
        (w) => w['step']?.('q', { run: () => 1, capture: value }),
        'capture of "q" must be a string'
      ],
      [
        `needs of type ${typeof value}`,
        (w) => w['wave']?.('c', { q: { needs: [value], run: () => 1 } }),
        'needs of "c/q" must be an array of names of groups'
      ],
      [
        `a name of type ${typeof value}`,
        (w) => w['step']?.(value, () => 1),
        `"${typeof value === 'bigint' ? 'a bigint' : 'an object'}" is not a valid name`
      ]
    ]),
    [
      'a nested object that is no step',
      (w) => w['sequence']?.('q', () => ({ steps: [{}] })),
      'step 1 of "q" must be made by Program.task, sequenceOf, waveOf or mapOf, not an object'
    ],
    [
      'a body of a map that is null',
      (w) => w['map']?.('q', { forEach: () => [1] }, null),
      'the third argument of "q" must be a function, or an object with run, job or steps'
    ],
    [
      'a group with needs and an invalid wait',
      (w) => w['wave']?.('c', { l: () => 1, q: { needs: ['l'], waitFor: { timeoutMillis: -1 } } }),
      'waitFor.timeoutMillis of "c/q" must be a number of milliseconds ≥ 0, at most 1,000 years'
    ],
    [
      'a job that is undefined',
      (w) => w['step']?.('q', { job: undefined }),
      'job of "q" must be an object with submit, poll and collect, not undefined'
    ],
    [
      'a misspelled function of a job',
      (w) => w['step']?.('q', { job: { submit: () => 1, polls: () => 1, collect: () => 1 } }),
      'unknown option "job.polls" of "q"; did you mean "job.poll"?'
    ],
    [
      'a retry that is an array',
      (w) => w['step']?.('q', { run: () => 1, retry: [] }),
      'retry of "q" must be a RetryPolicy such as { attempts: 3 }, not an array'
    ],
    [
      'a wait with a string',
      (w) => w['waitFor']?.('q', 'Sure?'),
      'waitFor of "q" must be an object such as { question: "Publish?" }, not the string "Sure?"'
    ],
    [
      'a sleep with a number',
      (w) => w['sleep']?.('q', 500),
      'sleep of "q" must be { millis } or { until }, not the number 500'
    ],
    ['a sleep with null', (w) => w['sleep']?.('q', null), 'sleep of "q" must be { millis } or { until }, not null'],
    ...['1969-12-31T23:59:59Z', '2026-01-02T03:04:05', new Date(8.64e15)].map((until): (typeof steps)[number] => [
      `a sleep until ${String(until)}`,
      (w) => w['sleep']?.('q', { until }),
      'sleep.until of "q" must be a Date, or a time with its zone, like 2026-01-02T03:04:05Z, from 1970 to 9999'
    ]),
    [
      'a misspelled field of a retry',
      (w) => w['step']?.('q', { run: () => 1, retry: { attemps: 3 } }),
      'unknown option "retry.attemps" of "q"; did you mean "retry.attempts"?'
    ],
    [
      'a jitter that is null',
      (w) => w['step']?.('q', { run: () => 1, retry: { jitter: null } }),
      'retry.jitter of "q" must be a number from 0 to 1'
    ],
    [
      'an invalid field of a retry',
      (w) => w['step']?.('q', { run: () => 1, retry: { attempts: 0 } }),
      'retry.attempts of "q" must be a whole number from 1 to 1000'
    ],
    [
      'code beside a wait',
      (w) => w['step']?.('q', { waitFor: {}, run: () => 1 }),
      'unknown option "run" of "q"; the options are waitFor, output, capture, summary'
    ],
    [
      'an output in waitFor instead of beside it',
      (w) => w['step']?.('q', { waitFor: { question: 'Ship?', output: {} } }),
      'unknown option "waitFor.output" of "q"; the options are waitFor.question, waitFor.timeoutMillis'
    ],
    [
      'a summary in sleep instead of beside it',
      (w) => w['step']?.('q', { sleep: { millis: 3, summary: 'rest' } }),
      'unknown option "sleep.summary" of "q"; the options are sleep.millis, sleep.until'
    ],
    [
      'a question beside waitFor',
      (w) => w['step']?.('q', { waitFor: {}, question: 'Ship?' }),
      'question of "q" must be in waitFor'
    ],
    [
      'code in the options of a sleep',
      (w) => w['sleep']?.('q', { millis: 3, run: () => 1 }),
      'unknown option "run" of "q"; the options are millis, until, summary'
    ],
    ...(
      [
        ['sleep', 'third', 'second', [{ millis: 3 }, { summary: 'rest' }]],
        ['waitFor', 'third', 'second', [{ question: 'Ship?' }, { output: {} }]],
        ['map', 'fourth', 'second', [{ forEach: () => [1] }, () => 1, { concurrency: 1 }]],
        ['wave', 'fourth', 'third', [{ a: () => 1 }, {}, { concurrency: 1 }]],
        ['sequence', 'fourth', 'third', [(part: Chain) => part['step']?.('one', () => 1), {}, { summary: 'rest' }]],
        ['step', 'fourth', 'second', [() => 1, undefined, { retry: { attempts: 3 } }]]
      ] as const
    ).map(([kind, extra, last, args]): (typeof steps)[number] => [
      `a ${extra} argument of ${kind}`,
      (w) => w[kind]?.('q', ...args),
      `the ${extra} argument of "q" must be omitted; pass all options in the ${last}`
    ]),
    [
      'a flag that is a string',
      (w) => w['step']?.('q', { run: () => 1, idempotent: 'no' }),
      'idempotent of "q" must be true or false'
    ]
  ]

  test.each(steps)('a step is refused for %s', async (_, add, expected) => {
    const ran = await refusal(run1(add(untyped('w')) as never))
    expect(ran).toMatch(/^Cannot run this workflow:\n/)
    expect(ran).toContain(`\n  ${expected}`)
  })

  test.each([
    ['a string', { wait: 'x', awaits: 1 }],
    ['a function', { wait: (): number => 1, awaits: 2 }]
  ])('a step with the unknown options `wait` and `awaits` is refused for both: `wait` is %s', async (_, more) => {
    expect(await refusal(run1(untyped('w')['step']?.('q', { run: () => 1, ...more }) as never))).toMatch(
      /^Cannot run this workflow:\n {2}unknown option "wait" of "q"; [^\n]+\n {2}unknown option "awaits" of "q"; [^\n]+$/
    )
  })

  const job = { submit: () => 1, poll: () => 1, collect: () => 1 }
  const NOT_COUNTED =
    'expect.commits of "q" must be omitted: the commits of a job are not counted; declare them as its evidence'
  const RETRY = 'retry.attempts of "q" must be a whole number from 1 to 1000'
  const NO_REPOSITORY =
    'expect of "q" must be without commits and cleanTree: the own folder of the step is no repository'

  test.each<readonly [object, readonly string[]]>([
    [{ job, version: 5, expect: { commits: 1 } }, ['version of "q" must be a string', NOT_COUNTED]],
    [{ job, retry: { attempts: 0 }, expect: { commits: 1 } }, [RETRY, NOT_COUNTED]],
    [{ job, expect: { commits: 'x' } }, ['expect.commits of "q" must be a number or true']],
    [{ run: () => 1, workspace: 'fresh', retry: { attempts: 0 }, expect: { commits: 1 } }, [RETRY, NO_REPOSITORY]],
    [{ run: () => 1, workspace: 'fresh', expect: { cleanTree: 5 } }, ['expect.cleanTree of "q" must be true or false']],
    [{ run: () => 1, workspace: 'own', expect: { commits: 1 } }, [`workspace of "q" must be 'fresh'`]]
  ])('all problems of a step are reported at once, each option with one: %j', async (options, expected) => {
    expect(await refusal(run1(untyped('w')['step']?.('q', options) as never))).toBe(
      ['Cannot run this workflow:', ...expected].join('\n  ')
    )
  })

  test.each([
    ['sleep', [1], 'an array'],
    ['sleep', new Map(), 'a Map'],
    ['waitFor', [1], 'an array'],
    ['waitFor', new Map(), 'a Map'],
    ['step', { *[Symbol.iterator](): Generator<never> {} }, 'an iterable object']
  ])('a %s whose options are %j is refused with what was given: %s', async (kind, options, given) => {
    expect(await refusal(run1(untyped('w')[kind]?.('q', options) as never))).toBe(
      `Cannot run this workflow:\n  options of "q" must be an object, not ${given}`
    )
  })

  test('a sleep whose option `millis` is misspelled is refused with one problem only', async () => {
    expect(await refusal(run1(untyped('w')['sleep']?.('q', { milis: 3 }) as never))).toBe(
      'Cannot run this workflow:\n  unknown option "milis" of "q"; did you mean "millis"?'
    )
  })

  test('a sleep with both `millis` and `until` is refused, as a step and in the code of a task', async () => {
    const both = { millis: 3, until: '2026-01-02T03:04:05Z' }
    expect(await refusal(run1(untyped('w')['sleep']?.('q', both) as never))).toBe(
      'Cannot run this workflow:\n  sleep of "q" must be either { millis } or { until }, not both'
    )
    const flow = untyped('w')['step']?.('one', ({ sleep }: Readonly<Record<string, Call>>) => sleep?.('q', both))
    expect(await refusal(run1(flow as never))).toMatch(
      /sleep of "one\/q" must be either { millis } or { until }, not both/
    )
  })

  test.each([
    [null, 'options of "w" must be an object, not null'],
    [{ secrets: 'X' }, 'secrets of "w" must be an array of names'],
    [{ onSucess: 'delete' }, 'unknown option "onSucess" of "w"; did you mean "onSuccess"?']
  ])('a workflow with the options %j is refused', async (options, expected) => {
    const flow = untyped('w', options)['step']?.('one', () => 1)
    expect(await refusal(run1(flow as never))).toBe(`Cannot run this workflow:\n  ${expected}`)
  })

  test('a step fails its check if its evidence function returns strings', async () => {
    const flow = untyped('w')['step']?.('one', { run: () => 1, evidence: () => ['f'] })
    expect(await refusal(run1(flow as never))).toMatch(/its `evidence` function must return an array such as \[\{ _tag/)
  })

  test.each([
    ['step', 'fourth', [{}, () => 1, { retry: { attempts: 3 } }]],
    ['sleep', 'third', [{ millis: 0 }, { summary: 'rest' }]],
    ['waitFor', 'third', [{ question: 'Ship?' }, { output: {} }]]
  ])('a call of %s in the code of a task is refused for its %s argument', async (kind, extra, args) => {
    const flow = untyped('w')['step']?.('one', (context: Readonly<Record<string, Call>>) =>
      context[kind]?.('q', ...args)
    )
    expect(await refusal(run1(flow as never))).toContain(
      `the ${extra} argument of "one/q" must be omitted; pass all options in the second`
    )
  })

  test('arguments that are undefined count as absent', async () => {
    const flow = untyped('w')
      ['sleep']?.('q', { millis: 0 }, undefined)
      ['step']?.('one', () => 1, undefined, undefined)
    expect(await run(flow as never, { id: 'r', storage: memoryStorage(), wait: true })).toMatchObject({ one: 1 })
  })

  test('an unknown option of a sub-step is refused', async () => {
    const flow = untyped('w')['step']?.('one', ({ step }: Readonly<Record<string, Call>>) =>
      step?.('a', { retries: 3 }, () => 1)
    )
    expect(await refusal(run1(flow as never))).toMatch(/unknown option "retries" of "one\/a"; did you mean "retry"\?/)
  })
})

type Call = (...args: ReadonlyArray<unknown>) => unknown

/** Options with one option whose getter throws. */
const unreadable = (option: string): never =>
  Object.defineProperty({}, option, { enumerable: true, get: () => expect.fail('read') }) as never

test.each(['planRun', 'resume'] as const)(
  '%s of the promise form refuses an option whose getter throws',
  async (call) => {
    const options = { id: 'w-1', storage: memoryStorage() }
    await run(one(), options)
    const given = Object.defineProperty({ ...options }, 'fromStep', {
      enumerable: true,
      get: () => expect.fail('read')
    })
    const error = await dogear[call](one(), given).then(undefined, (thrown: unknown) => thrown)
    expect(dogear.isRunFailure(error) && error.message).toBe(
      'These options are invalid:\n  fromStep must be readable, but its getter throws'
    )
  }
)

describe('calls of the package dogear', () => {
  const NONE = undefined as never
  const calls: ReadonlyArray<readonly [string, fp.Executor<unknown>]> = [
    ['programs must be an array of workflows, not undefined', fp.resumeAll(NONE)],
    ['programs must be an array of workflows, not an object', fp.resumeAll(one() as never)],
    ['programs must be an array of workflows', fp.resumeAll([undefined] as never)],
    ['fromStep must be a string, not undefined', fp.fork('w-1', 'w-2', NONE)],
    [
      'answers must be a Map of answers by unit, such as new Map([["build", { _tag: "Again" }]]), not undefined',
      fp.confirm('w-1', NONE)
    ],
    [
      'answers must be a Map of answers by unit; a unit must be a string, not a symbol',
      fp.confirm('w-1', new Map([[Symbol('a'), { _tag: 'Again' }]]) as never)
    ],
    ['runs must be an array of summaries of runs, not the string "w-1"', fp.removeRuns('w-1' as never)],
    ['policy must be an object, such as { keep: 10 }', fp.findExpired(NONE)],
    ['keep must be a whole number ≥ 0, unless olderThanMillis is set', fp.findExpired({})],
    ['keep must be a whole number ≥ 0, unless olderThanMillis is set', fp.prune({ statuses: ['failed'] })],
    ['options must be an object, not null', fp.prune(null as never)],
    ['keep must be a whole number ≥ 0, not null', fp.prune({ keep: null as never })],
    ...[NaN, 1.5, -1].map((keep): readonly [string, fp.Executor<unknown>] => [
      `keep must be a whole number ≥ 0, not the number ${keep}`,
      fp.prune({ keep })
    ]),
    ['olderThanMillis must be a number ≥ 0, not the number NaN', fp.prune({ olderThanMillis: NaN })],
    [
      "statuses must be an array of 'completed', 'cancelled', 'failed', 'interrupted', 'paused', 'pending' or 'queued'",
      fp.prune({ keep: 0, statuses: ['complete'] as never })
    ],
    ['unknown option "olderThan"; did you mean "olderThanMillis"?', fp.prune({ olderThan: 1 } as never)],
    ['options must be an object, not null', fp.planRun(one() as never, 'w-1', null as never)],
    ['options must be an object, not null', fp.run(one(), 'w-2', {}, null as never)],
    ['options must be an object, not null', fp.resume(one() as never, 'w-1', null as never)],
    ['options must be an object, not null', fp.runOrResume(one(), 'w-1', {}, null as never)],
    ['fromStep must be readable, but its getter throws', fp.planRun(one() as never, 'w-1', unreadable('fromStep'))],
    ['reopen must be readable, but its getter throws', fp.planRun(one() as never, 'w-1', unreadable('reopen'))],
    ['input must be readable, but its getter throws', fp.resume(one() as never, 'w-1', unreadable('input'))],
    ['keep must be readable, but its getter throws', fp.prune(unreadable('keep'))]
  ]

  test.each(calls)(
    'a call with an invalid or missing argument is refused, and no run is removed: %s',
    async (why, call) => {
      const storage = memoryStorage()
      await run(one(), { id: 'w-1', storage })
      const ended = await call(nodeEnvironment(storage))()
      if (E.isRight(ended)) expect.fail('it was accepted')
      expect(fp.RunError.describe(ended.left)).toBe(`These options are invalid:\n  ${why}`)
      expect(await dogear.listRuns({ storage })).toHaveLength(1)
    }
  )
})

/** A port that throws instead of returning an error has failed; no call of the executor rejects. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { memoryArtifacts, memoryRequests } from '../../src/adapters/memory.js'
import type { ArtifactStore, CheckpointStorage, Environment, Executor, Requests, Workspaces } from '../../src/index.js'
import type { AsyncContext } from '../../src/ports/AsyncContext.js'
import {
  answer,
  cancel,
  cleanWorkspace,
  collectEvidence,
  confirm,
  findExpired,
  fork,
  hasWorkspace,
  listRuns,
  mergeWorkspace,
  pause,
  planRun,
  poll,
  Program,
  prune,
  removeRuns,
  resume,
  resumeAll,
  run,
  runChanges,
  RunError,
  runOrResume,
  start,
  StepError,
  StepFailure,
  viewRun
} from '../../src/index.js'
import type { Worktree } from '../../src/domain/workflow/Workspace.js'
import { nodeEnvironment } from '../../src/adapters/node/index.js'
import { memoryTree } from '../../src/testing/memoryTree.js'
import { ended, fakeClock, newProcess, newWorld, policy, refused, right, START } from './fixtures.js'

const BROKEN = new Error('not connected')

const throwing = (): never => {
  throw BROKEN
}

const once = (options: { readonly onSuccess?: 'delete' } = {}, fresh = false) =>
  pipe(
    Program.start('w', options),
    Program.step('one', { ...(fresh ? { workspace: 'fresh' as const } : {}), run: () => TE.right(1) })
  )

describe('workspaces that throw', () => {
  const world = newWorld()
  const path = '/ws/r'
  const working: Workspaces = {
    plan: (_, kind) => TE.right(kind === 'worktree' ? worktree : { kind, path }),
    make: () => TE.right(undefined),
    find: () => TE.right({ there: true, folders: [path] }),
    stepFolder: () => TE.right('/steps'),
    tree: () => memoryTree(world.tree),
    commit: () => throwing,
    merge: () => throwing,
    remove: () => TE.right({ folders: [path] })
  }
  const worktree: Worktree = {
    kind: 'worktree',
    path,
    root: path,
    repository: '/repo',
    branch: 'b',
    commit: 'a'.repeat(40)
  }

  test.each(['plan', 'make'] as const)(
    'workspaces that throw in %s make a new run fail with WorkspaceFailed',
    async (call) => {
      const process = newProcess(newWorld(), { workspaces: { ...working, [call]: throwing } })
      const { operation, code, cause } = refused(
        await process.perform(run(once(), 'r', {}, { workspace: 'directory' })),
        'WorkspaceFailed'
      )
      assert.deepEqual([operation, code, cause], [call, 'THREW', BROKEN])
    }
  )

  test('workspaces that throw in find make a resume fail with WorkspaceFailed', async () => {
    const process = newProcess(newWorld(), { workspaces: working })
    ended(await process.perform(run(once(), 'r', {}, { workspace: 'directory' })), 'Completed')
    const workspaces = { ...working, find: throwing }
    refused(await resume(once(), 'r')({ ...process.environment, workspaces })(), 'WorkspaceFailed')
    refused(
      await hasWorkspace({ runId: 'r', workspace: { kind: 'directory', path } })({
        ...process.environment,
        workspaces
      })(),
      'WorkspaceFailed'
    )
  })

  test('a step fails if workspaces throw while they make its folder', async () => {
    const process = newProcess(newWorld(), { workspaces: { ...working, stepFolder: throwing } })
    const { failures } = ended(await process.perform(run(once({}, true), 'r', {})), 'Failed')
    assert.equal(failures[0]?.error.code, 'THREW')
  })

  test('cleanWorkspace and mergeWorkspace fail with WorkspaceFailed if workspaces throw', async () => {
    const process = newProcess(newWorld(), { workspaces: working })
    ended(await process.perform(run(once(), 'r', {}, { workspace: 'worktree' })), 'Completed')
    const workspaces = { ...working, remove: throwing, merge: throwing }
    const environment = { ...process.environment, workspaces }
    refused(await cleanWorkspace('r')(environment)(), 'WorkspaceFailed')
    refused(await mergeWorkspace('r')(environment)(), 'WorkspaceFailed')
  })

  test('pruning keeps a run whose workspace cannot be looked up, and says why', async () => {
    const process = newProcess(newWorld(), { workspaces: working })
    ended(await process.perform(run(once(), 'r', {}, { workspace: 'directory' })), 'Completed')
    const environment = { ...process.environment, workspaces: { ...working, find: throwing } }
    const { left } = right(await prune({ keep: 0 })(environment)())
    assert.deepEqual(
      left.map(({ reason, why }) => [reason, why]),
      [['failed', 'its workspace cannot be read: find failed in the workspaces: not connected']]
    )
  })

  test('a run that completes before workspaces throw stays Completed', async () => {
    const process = newProcess(newWorld(), { workspaces: { ...working, find: throwing } })
    const outcome = await process.perform(run(once({ onSuccess: 'delete' }), 'r', {}, { workspace: 'worktree' }))
    assert.ok(E.isLeft(outcome) ? outcome.left._tag === 'WorkspaceFailed' : outcome.right._tag === 'Completed')
    const removing = newProcess(newWorld(), { workspaces: { ...working, remove: throwing } })
    ended(await removing.perform(run(once({ onSuccess: 'delete' }), 'r', {})), 'Completed')
    assert.equal(removing.events.at(-1)?._tag, 'RunRemoved')
  })
})

describe('an artifact store that throws', () => {
  const putting = (onSuccess: 'keep' | 'delete') =>
    pipe(
      Program.start('w', { onSuccess }),
      Program.step('one', { run: ({ artifacts }) => artifacts.put('report', 'all of it').then(() => 1) })
    )

  test('an artifact store that throws makes a resume fail with TreeUnreadable', async () => {
    const artifacts = memoryArtifacts()
    const process = newProcess(newWorld(), { artifacts })
    ended(await process.perform(run(putting('keep'), 'r', {})), 'Completed')
    const environment = { ...process.environment, artifacts: { ...artifacts, list: throwing } }
    assert.match(refused(await resume(putting('keep'), 'r')(environment)(), 'TreeUnreadable').why, /not connected/)
  })

  test.each(['list', 'remove'] as const)(
    'a completed run is kept if the artifact store throws in `%s`, and the event has the reason',
    async (call) => {
      const artifacts: ArtifactStore = { ...memoryArtifacts(), [call]: throwing }
      const process = newProcess(newWorld(), { artifacts })
      ended(await process.perform(run(putting('delete'), 'r', {})), 'Completed')
      const last = process.events.at(-1)
      assert.ok(last?._tag === 'RunNotRemoved' && last.why.includes('not connected'), JSON.stringify(last))
    }
  )
})

describe('a working tree that throws', () => {
  test.each(['head', 'commitsSince'] as const)(
    'a step that expects commits fails with TreeUnreadable if the working tree throws in `%s`',
    async (call) => {
      const world = newWorld()
      const tree = { ...memoryTree(world.tree), [call]: throwing }
      const process = newProcess(world, { tree })
      const program = pipe(Program.start('w'), Program.step('one', { expect: { commits: 1 }, run: () => TE.right(1) }))
      const { failures } = ended(await process.perform(run(program, 'r', {})), 'Failed')
      assert.equal(failures[0]?.error.name, 'TreeUnreadable')
    }
  )
})

describe('a clock that throws', () => {
  test.each(['after the code of a group', 'before the code of a group'])(
    'if the clock throws %s, the run rejects once the other groups have ended, and can be resumed',
    async (when) => {
      const world = newWorld()
      const clock = fakeClock()
      let isBroken = false
      const now = (): number => (isBroken ? throwing() : clock.now())
      const { environment, perform } = newProcess(world, { clock: { ...clock, now } })
      const log = (name: string) => () => {
        isBroken = name === 'breaks' && !world.log.includes(name)
        world.log.push(name)
        return TE.right(name)
      }
      const program = pipe(
        Program.start('w'),
        Program.wave('all', {
          ok: log('ok'),
          breaks: log('breaks'),
          later: { run: log('later'), needs: when.startsWith('after') ? ['breaks'] : [] }
        })
      )
      await assert.rejects(run(program, 'r', {})(environment)(), BROKEN)
      isBroken = false
      ended(await perform(resume(program, 'r')), 'Completed')
      assert.ok(world.log.includes('later'))
    }
  )
})

describe('a failed write', () => {
  const waiting = pipe(Program.start('w'), Program.waitFor('ok'))

  /** The environment while another process owns the run. */
  const held = async (given: Partial<Requests>): Promise<Environment> => {
    const process = newProcess(newWorld(), { requests: { ...memoryRequests(), ...given } })
    ended(await process.perform(run(waiting, 'r', {})), 'Pending')
    right(await process.storage.claim('r', { host: 'other', pid: 1 })())
    return process.environment
  }

  test('a pause, a cancel and an answer fail with WriteFailed if the inbox throws in `leave`', async () => {
    const environment = await held({ leave: throwing })
    for (const asking of [pause('r'), cancel('r'), answer('r', 'ok', 1)])
      assert.equal(refused(await asking(environment)(), 'WriteFailed').operation, 'leave')
  })

  test('a pause fails with WriteFailed if its request cannot be withdrawn', async () => {
    const world = newWorld()
    const requests: Requests = { ...memoryRequests(), withdraw: throwing }
    const process = newProcess(world, { requests })
    ended(await process.perform(run(waiting, 'r', {})), 'Pending')
    const { claim } = right(await process.storage.claim('r', { host: 'other', pid: 1 })())
    const leaving: Requests = {
      ...requests,
      leave: (request) => async () => {
        const left = await requests.leave(request)()
        right(await process.storage.release(claim)())
        return left
      }
    }
    const asked = await pause('r')({ ...process.environment, requests: leaving })()
    assert.equal(refused(asked, 'WriteFailed').operation, 'withdraw')
  })

  test('removeRuns reports a failed write for a run that it cannot remove', async () => {
    const around = (storage: CheckpointStorage): CheckpointStorage => ({ ...storage, remove: throwing })
    const process = newProcess(newWorld(), { around })
    ended(await process.perform(run(once(), 'r', {})), 'Completed')
    const runs = right(await listRuns()(process.environment)()).map(({ summary }) => right(summary))
    const { left } = right(await removeRuns(runs)(process.environment)())
    assert.match(left[0]?.why ?? '', /^Writing the store failed: remove threw: not connected/)
  })
})

describe('a store whose functions do not return TaskEithers', () => {
  const untyped = (value: unknown) => value as CheckpointStorage['claim']

  test.each([
    [
      'a TaskEither of undefined',
      untyped(() => () => Promise.resolve(undefined)),
      'it returned undefined; return a Right, or a Left of an error that the port declares'
    ],
    [
      'a left that is an Error',
      untyped(() => () => Promise.resolve({ _tag: 'Left', left: new Error('down') })),
      'it returned a Left of the error "down"; return a Right, or a Left of an error that the port declares'
    ],
    [
      'a left without a tag',
      untyped(() => () => Promise.resolve({ _tag: 'Left', left: 'held' })),
      'it returned a Left of the string "held"; return a Right, or a Left of an error that the port declares'
    ],
    [
      'a left with a tag of its own',
      untyped(() => () => Promise.resolve({ _tag: 'Left', left: { _tag: 'Throttled' } })),
      'it returned a Left with the unknown "_tag" "Throttled"; return a Right, or a Left of an error that the port declares'
    ],
    [
      'a ReadFailed without a code',
      untyped(() => () => Promise.resolve({ _tag: 'Left', left: { _tag: 'ReadFailed', where: 'x', operation: 'op' } })),
      'it returned a Left of ReadFailed without the string "code"; return a Right, or a Left of an error that the port declares'
    ],
    [
      'a HeldBy without a holder',
      untyped(() => () => Promise.resolve({ _tag: 'Left', left: { _tag: 'HeldBy', runId: 'r' } })),
      'it returned a Left of HeldBy without the object "holder"; return a Right, or a Left of an error that the port declares'
    ],
    ['a promise', untyped(() => Promise.reject(new Error('held'))), 'it must return a TaskEither, not a promise'],
    ['nothing', untyped(() => undefined), 'it must return a TaskEither, not undefined']
  ])('if `claim` of the store returns %s, the error says that the store is at fault', async (_, claim, why) => {
    const { environment, storage } = newProcess(newWorld())
    const bad = { ...environment, storage: { ...storage, claim } }
    const error = refused(await run(once(), 'r', {})(bad)(), 'ReadFailed')
    assert.equal(error.code, 'NO_TASK_EITHER')
    assert.match(RunError.describe(error), /^Reading the store failed: claim: it (must return|returned) /)
    assert.ok(RunError.describe(error).endsWith(why), RunError.describe(error))
  })
})

describe('a call of an untyped program without a usable environment', () => {
  const program = once()
  const summaries: Parameters<typeof removeRuns>[0] = []
  const calls: Readonly<Record<string, Executor<unknown>>> = {
    answer: answer('r', 'one', 1),
    cancel: cancel('r'),
    cleanWorkspace: cleanWorkspace('r'),
    collectEvidence: collectEvidence({ runId: 'r', completedSteps: [] }),
    confirm: confirm('r', new Map()),
    findExpired: findExpired({ keep: 1 }),
    fork: fork('r', 's', { fromStep: 'one' }),
    hasWorkspace: hasWorkspace({ runId: 'r' }),
    listRuns: listRuns(),
    mergeWorkspace: mergeWorkspace('r'),
    pause: pause('r'),
    planRun: planRun(program, 'r'),
    poll: poll(program, 'r'),
    prune: prune({ keep: 1 }),
    removeRuns: removeRuns(summaries),
    resume: resume(program, 'r'),
    resumeAll: resumeAll([program]),
    run: run(program, 'r', {}),
    runChanges: runChanges('r'),
    runOrResume: runOrResume(program, 'r', {}),
    start: start(program, 'r', {}),
    viewRun: viewRun('r')
  }
  const whole = nodeEnvironment(memoryStorage())
  const store = memoryStorage()
  const environment = 'the environment must be an Environment, such as nodeEnvironment(storage), not '
  const storage = "environment.storage must be a CheckpointStorage, such as jsonFileStorage('.dogear'), not "
  const rest = 'clock, tree, owner, interrupt, events, random, graceMillis'
  const cases: ReadonlyArray<readonly [unknown, string]> = [
    [undefined, `${environment}undefined`],
    [null, `${environment}null`],
    ['.dogear', `${environment}the string ".dogear"`],
    [store, `${environment}an object without storage, ${rest}`],
    [{ storage: store }, `${environment}an object without ${rest}`],
    [nodeEnvironment(undefined as never), `${environment}an object without storage`],
    [{ ...whole, storage: {} }, `${storage}an object`],
    [{ ...whole, storage: '.dogear' }, `${storage}the string ".dogear"`],
    [{ ...whole, storage: { ...store, history: undefined, remove: 1 } }, `${storage}an object without history, remove`],
    [
      { ...whole, asyncContext: { get: () => undefined } },
      'environment.asyncContext must be an AsyncContext, such as that of nodeEnvironment, not an object without run'
    ],
    [
      { ...whole, artifacts: {}, owner: 'me' },
      'environment.owner must be an Owner, with host and pid, not the string "me"\n' +
        '  environment.artifacts must be an ArtifactStore, such as fileArtifacts(folder), not an object'
    ]
  ]

  test.each(Object.entries(calls))(
    '%s is refused with an error that says what is missing and what to pass',
    async (_, call) => {
      for (const [given, problem] of cases) {
        const ended = await call(given as Environment)()
        assert.equal(RunError.describe(refused(ended, 'InvalidOptions')), `These options are invalid:\n  ${problem}`)
      }
    }
  )
})

test.each(Object.entries({ collectEvidence, hasWorkspace }))(
  '%s of an untyped program without a checkpoint is refused with an error that says what to pass',
  async (_, call) => {
    const environment = nodeEnvironment(memoryStorage())
    for (const [given, found] of [
      [undefined, 'undefined'],
      ['r', 'the string "r"']
    ]) {
      const error = refused(await call(given as never)(environment)(), 'InvalidOptions')
      const problem = `checkpoint must be a Checkpoint, such as that of viewRun, not ${found}`
      assert.equal(RunError.describe(error), `These options are invalid:\n  ${problem}`)
    }
  }
)

const ofOneRun: Readonly<Record<string, (id: string) => Executor<unknown>>> = {
  cancel,
  cleanWorkspace,
  mergeWorkspace,
  pause,
  resume: (id) => resume(once(), id),
  run: (id) => run(once(), id, {}),
  start: (id) => start(once(), id, {}),
  viewRun
}

test.each(Object.entries(ofOneRun))(
  '%s without an id is refused as InvalidRunId, even if the environment has not the port that it needs',
  async (_, call) => {
    refused(await call(undefined as never)(nodeEnvironment(memoryStorage()))(), 'InvalidRunId')
  }
)

test('a clock whose `sleep` returns a promise instead of a Task works', async () => {
  const clock = fakeClock()
  const untyped = { ...clock, sleep: (millis: number, signal: AbortSignal) => clock.sleep(millis, signal)() }
  const starts: Array<number> = []
  const program = pipe(
    Program.start('w'),
    Program.step('one', {
      retry: policy({ attempts: 2, delayMillis: 5000 }),
      run: () =>
        starts.push(clock.now()) === 1 ? TE.left(StepFailure.transient(StepError.make('Error', 'no'))) : TE.right(1)
    })
  )
  const { perform } = newProcess(newWorld(), { clock: untyped as unknown as typeof clock })
  ended(await perform(run(program, 'r', {})), 'Completed')
  assert.deepEqual(starts, [START, START + 5000])
})

test.each([
  ['throws', throwing],
  ['returns NaN', () => NaN],
  ['returns 7', () => 7],
  ['returns a promise', () => Promise.resolve(0.5)]
])('if `random` of the environment %s, a retry waits as without jitter', async (_, random) => {
  const clock = fakeClock()
  const starts: Array<number> = []
  const busy = TE.left(StepFailure.transient(StepError.make('Error', 'busy')))
  const program = pipe(
    Program.start('w'),
    Program.step('one', {
      retry: { attempts: 2, delayMillis: 5000, jitter: 1 },
      run: () => (starts.push(clock.now()) === 1 ? busy : TE.right(1))
    }),
    Program.sequence(
      'checked',
      Program.step('two', () => 2),
      {
        onCheckFailure: 'retry',
        before: () => starts.push(clock.now()) > 3
      }
    )
  )
  const { perform } = newProcess(newWorld(), { clock, random: random as () => number })
  ended(await perform(run(program, 'r', {})), 'Completed')
  assert.deepEqual(starts, [START, START + 5000, START + 5000, START + 6000])
})

test.each<readonly [string, () => unknown, string]>([
  ['throws', throwing, 'not connected'],
  [
    'does not call its function',
    () => undefined,
    '`asyncContext.run` of the environment did not call its function; call it before you return'
  ]
])('a sub-step fails if asyncContext.run %s, and its task goes on', async (_, wrong, message) => {
  const environment = nodeEnvironment(memoryStorage(), {
    asyncContext: { run: wrong as AsyncContext['run'], get: () => undefined }
  })
  let caught: unknown
  const program = pipe(
    Program.start('w'),
    Program.step('one', async ({ step }) => {
      caught = await step('a', () => 1).catch((error: unknown) => error)
      return 'went on'
    })
  )
  const { checkpoint } = ended(await run(program, 'r', {})(environment)(), 'Completed')
  assert.equal((caught as Error).message, message)
  assert.equal([...checkpoint.completedSteps].at(-1)?.output, 'went on')
})

test('a sub-step runs in an async context whose run returns nothing', async () => {
  const asyncContext = { run: (_: unknown, act: () => unknown) => void act(), get: () => undefined }
  const environment = nodeEnvironment(memoryStorage(), { asyncContext: asyncContext as AsyncContext })
  const program = pipe(
    Program.start('w'),
    Program.step('one', ({ step }) => step('a', () => 'ran'))
  )
  assert.deepEqual(ended(await run(program, 'r', {})(environment)(), 'Completed').outputs, { one: 'ran' })
})

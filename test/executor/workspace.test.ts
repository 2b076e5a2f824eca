import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import * as State from '../../src/domain/checkpoint/CheckpointState.js'
import type { CheckpointStorage, Workspaces } from '../../src/index.js'
import type { WorkspaceFailed } from '../../src/ports/Workspaces.js'
import { cleanWorkspace, poll, Program, resume, run, RunError, runOrResume } from '../../src/index.js'
import { planRun } from '../../src/promise/index.js'
import { memoryTree, treeData } from '../../src/testing/memoryTree.js'
import type { World } from './fixtures.js'
import { ended, newProcess, newWorld, right, stored } from './fixtures.js'

/** Workspaces that only log calls. `there`: those that exist. */
const noted = (world: World, given: Partial<Workspaces> = {}): Workspaces & { readonly there: Set<string> } => {
  const there = new Set<string>()
  return {
    there,
    plan: (runId, kind) => TE.right(kind === 'directory' ? { kind, path: `/ws/${runId}` } : assert.fail()),
    make: (_, { path }) => {
      world.log.push('make')
      there.add(path)
      return TE.right(undefined)
    },
    find: (_, workspace) =>
      TE.right({ there: workspace === undefined || there.has(workspace.path), folders: [...there] }),
    stepFolder: ({ runId, unit }, fresh) => {
      world.log.push(`folder of ${unit}, ${fresh ? 'fresh' : 'as it is'}`)
      return TE.right(`/steps/${runId}/${unit}`)
    },
    tree: () => memoryTree(world.tree),
    commit: () => assert.fail('nothing is to be committed'),
    merge: () => assert.fail('nothing is to be merged'),
    remove: (_, workspace) => {
      there.delete(workspace?.path ?? '')
      return TE.right({ folders: [workspace?.path ?? ''] })
    },
    ...given
  }
}

const full: WorkspaceFailed = {
  _tag: 'WorkspaceFailed',
  where: '/ws',
  operation: 'mkdir',
  code: 'ENOSPC',
  why: 'full',
  cause: 0
}

const failing = (world: World) =>
  pipe(
    Program.start('w'),
    Program.step('one', {
      evidence: [{ _tag: 'File', path: 'one.txt' }],
      run: ({ folder }) => {
        world.tree.files.set('one.txt', '')
        world.log.push(`one in ${folder ?? 'no folder'}`)
        return TE.right(1)
      }
    }),
    Program.step('two', {
      run: ({ workspace }) => {
        world.log.push('two')
        return world.log.includes('mended') ? TE.right(workspace?.kind) : TE.left(new Error('not mended'))
      }
    })
  )

describe('the workspace of a run', () => {
  test('a run that is removed between the first look and the claim starts again in a workspace of its own', async () => {
    const world = newWorld()
    const workspaces = noted(world)
    ended(await newProcess(world, { workspaces }).perform(run(failing(world), 'r', {})), 'Failed')
    world.log.splice(0)
    const removing = (storage: CheckpointStorage): CheckpointStorage => ({
      ...storage,
      claim: (...how) =>
        pipe(
          storage.remove('r'),
          TE.chainW(() => storage.claim(...how))
        )
    })
    const process = newProcess(world, { workspaces, around: removing })
    ended(await process.perform(runOrResume(failing(world), 'r', {}, { workspace: 'directory' })), 'Failed')
    assert.deepEqual(world.log.slice(0, 2), ['make', 'one in /ws/r'])
  })

  test('a resume looks for evidence in the workspace: a completed step never runs again', async () => {
    const world = newWorld()
    const workspaces = noted(world)
    const elsewhere = { workspaces, tree: memoryTree(treeData()) }
    ended(
      await newProcess(world, elsewhere).perform(run(failing(world), 'r', {}, { workspace: 'directory' })),
      'Failed'
    )
    world.log.splice(0, world.log.length, 'mended')
    const process = newProcess(world, elsewhere)
    const {
      plan: { decisions }
    } = await planRun(failing(world), { id: 'r', storage: process.storage, environment: elsewhere })
    assert.deepEqual(
      decisions.map(({ unit, _tag }) => [unit, _tag]),
      [
        ['one', 'Skip'],
        ['two', 'Retry']
      ]
    )
    ended(await process.perform(resume(failing(world), 'r')), 'Completed')
    assert.deepEqual(world.log, ['mended', 'two'])
  })

  test('a workspace is recorded, then created, and then the first attempt starts', async () => {
    const world = newWorld()
    const process = newProcess(world, { workspaces: noted(world) })
    ended(await process.perform(run(failing(world), 'r', {}, { workspace: 'directory' })), 'Failed')
    assert.deepEqual(world.log, ['make', 'one in /ws/r', 'two'])
    assert.deepEqual(process.events.map(({ _tag }) => _tag).slice(0, 4), [
      'RunPlanned',
      'CheckpointSaved',
      'WorkspaceReady',
      'CheckpointSaved'
    ])
    assert.deepEqual((await stored(process.storage)).workspace, { kind: 'directory', path: '/ws/r' })
  })

  test('the next resume creates a workspace that could not be created, and later resumes use it', async () => {
    const world = newWorld()
    const workspaces = noted(world)
    const broken = newProcess(world, { workspaces: { ...workspaces, make: () => TE.left(full) } })
    assert.deepEqual(await broken.perform(run(failing(world), 'r', {}, { workspace: 'directory' })), E.left(full))
    assert.equal(world.log.length, 0)
    ended(await newProcess(world, { workspaces }).perform(resume(failing(world), 'r')), 'Failed')
    assert.deepEqual(world.log, ['make', 'one in /ws/r', 'two'])
    world.log.push('mended')
    const outcome = ended(await newProcess(world, { workspaces }).perform(resume(failing(world), 'r')), 'Completed')
    assert.deepEqual(world.log.slice(3), ['mended', 'two'])
    assert.deepEqual(
      [...outcome.checkpoint.completedSteps].map(({ output }) => output),
      [1, 'directory']
    )
  })

  test('a resume without the workspace fails, lists the missing evidence and runs nothing; a completed run does not need it', async () => {
    const world = newWorld()
    const workspaces = noted(world)
    const process = (): ReturnType<typeof newProcess> => newProcess(world, { workspaces })
    await process().perform(run(failing(world), 'r', {}, { workspace: 'directory' }))
    workspaces.there.clear()
    const before = [...world.log]
    assert.deepEqual(await process().perform(resume(failing(world), 'r')), {
      _tag: 'Left',
      left: {
        _tag: 'WorkspaceMissing',
        runId: 'r',
        kind: 'directory',
        path: '/ws/r',
        missing: [{ unit: 'one', missing: [{ _tag: 'File', path: 'one.txt' }] }]
      }
    })
    assert.deepEqual(world.log, before)
    const { storage } = process()
    const planning = planRun(failing(world), { id: 'r', storage, environment: { workspaces } })
    await assert.rejects(planning, { message: /^Workspace not found for run r\. It may have been cleaned up\.\n/ })
    workspaces.there.add('/ws/r')
    world.log.push('mended')
    ended(await process().perform(resume(failing(world), 'r')), 'Completed')
    right(await cleanWorkspace('r')(process().environment)())
    assert.equal(workspaces.there.size, 0)
    ended(await process().perform(resume(failing(world), 'r')), 'Completed')
  })

  test('a restart of the whole run creates a missing workspace again, even if the process died after the restart was recorded', async () => {
    const world = newWorld()
    const workspaces = noted(world)
    await newProcess(world, { workspaces }).perform(run(failing(world), 'r', {}, { workspace: 'directory' }))
    workspaces.there.clear()
    world.log.length = 0
    const cut = newProcess(world, { workspaces: { ...workspaces, make: () => TE.left(full) } })
    assert.deepEqual(await cut.perform(resume(failing(world), 'r', { fromStep: 'one' })), E.left(full))
    const { completedSteps, generation } = await stored(cut.storage)
    assert.deepEqual({ completed: completedSteps.size, generation }, { completed: 0, generation: 1 })
    ended(await newProcess(world, { workspaces }).perform(resume(failing(world), 'r')), 'Failed')
    assert.deepEqual(world.log, ['make', 'one in /ws/r', 'two'])
  })

  test('a run with a workspace is refused if the environment has no `workspaces`, and nothing is stored', async () => {
    const world = newWorld()
    const process = newProcess(world)
    const refused = await process.perform(run(failing(world), 'r', {}, { workspace: 'worktree' }))
    assert.deepEqual(refused, E.left({ _tag: 'NoWorkspaces', runId: 'r' }))
    assert.equal(
      RunError.describe({ _tag: 'NoWorkspaces', runId: 'r' }),
      'Cannot use a workspace for run r: the environment has no `workspaces`; set them, as in { workspaces: workspaces(folder) }'
    )
    assert.deepEqual(await process.storage.list()(), E.right([]))
  })

  test('`run` with a workspace refuses an existing id before it plans the workspace', async () => {
    const world = newWorld()
    const workspaces = noted(world, { plan: () => assert.fail('it exists') })
    await newProcess(world).perform(run(failing(world), 'r', {}))
    const process = newProcess(world, { workspaces })
    const again = await process.perform(run(failing(world), 'r', {}, { workspace: 'worktree' }))
    assert.deepEqual(again, E.left({ _tag: 'RunExists', runId: 'r' }))
    world.log.push('mended')
    ended(await process.perform(runOrResume(failing(world), 'r', {}, { workspace: 'worktree' })), 'Completed')
  })
})

describe('the own folder of a step', () => {
  test('an attempt gets a new folder of its own, and evidence in it is recorded with absolute paths', async () => {
    const world = newWorld()
    world.tree.files.set('app', '')
    world.tree.files.set('/steps/r/build/app', '')
    const program = pipe(
      Program.start('w'),
      Program.step('build', {
        workspace: 'fresh',
        evidence: [{ _tag: 'File', path: 'app' }],
        run: ({ folder }) => TE.right(folder)
      })
    )
    const process = newProcess(world, { workspaces: noted(world) })
    const { checkpoint } = ended(await process.perform(run(program, 'r', {})), 'Completed')
    const [record] = [...checkpoint.completedSteps]
    assert.equal(record?.output, '/steps/r/build')
    assert.deepEqual(record.evidence, [{ _tag: 'File', path: '/steps/r/build/app' }])
    assert.deepEqual(world.log, ['folder of build, fresh'])
  })

  test('the code of a step does not begin if the run is stopped while the own folder of the step is made', async () => {
    const world = newWorld()
    const { stepFolder, ...more } = noted(world)
    const stopping: Workspaces = {
      ...more,
      stepFolder: (...how) =>
        pipe(
          stepFolder(...how),
          TE.map((folder) => {
            process.stop()
            return folder
          })
        )
    }
    const process = newProcess(world, { workspaces: stopping })
    const program = pipe(
      Program.start('w'),
      Program.step('build', { workspace: 'fresh', idempotent: false, run: () => assert.fail('it began') })
    )
    const { checkpoint } = ended(await process.perform(run(program, 'r', {})), 'Interrupted')
    assert.equal(State.failures(checkpoint.state).size, 1)
    const again = pipe(
      Program.start('w'),
      Program.step('build', { workspace: 'fresh', idempotent: false, run: () => TE.right('built') })
    )
    ended(await newProcess(world, { workspaces: noted(world) }).perform(resume(again, 'r')), 'Completed')
  })

  test('a step fails with the outcome notApplied if its own folder cannot be created', async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('w'),
      Program.step('build', { workspace: 'fresh', idempotent: false, run: () => assert.fail('not begun') })
    )
    const { failures } = ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
    assert.equal(failures[0]?.error.code, 'NO_WORKSPACES')
    assert.equal(failures[0].outcome, 'notApplied')
  })

  test('a job gets a new folder of its own for its submission, and its poll sees the same folder', async () => {
    const world = newWorld()
    const folders: Array<string | undefined> = []
    const program = pipe(
      Program.start('w'),
      Program.step('train', {
        workspace: 'fresh',
        job: {
          submit: ({ folder }) => TE.right(folder),
          poll: ({ folder }) => (folders.push(folder), TE.right({ _tag: 'Finished' })),
          collect: ({ folder }) => (folders.push(folder), TE.right('done'))
        }
      })
    )
    const process = newProcess(world, { workspaces: noted(world) })
    ended(await process.perform(run(program, 'r', {})), 'Pending')
    right(await poll(program, 'r')(process.environment)())
    assert.deepEqual(folders, ['/steps/r/train', '/steps/r/train'])
    assert.deepEqual(world.log, ['folder of train, fresh', 'folder of train, as it is', 'folder of train, as it is'])
  })

  test('a step’s own folder is part of its definition: adding it changes the fingerprint', () => {
    const plain = Program.task('build', { run: () => TE.right(1) })
    const fresh = Program.task('build', { run: () => TE.right(1), workspace: 'fresh' })
    assert.notEqual(plain.fingerprint, fresh.fingerprint)
  })

  test('a step with its own folder is refused if it expects commits', () => {
    const guarded = Program.task('build', { run: () => TE.right(1), workspace: 'fresh', expect: { commits: 1 } })
    const problems = Program.problems({ name: 'w', steps: [guarded] })
    assert.equal(problems[0]?._tag === 'InvalidSetting' ? problems[0].field : '', 'expect')
    const moved = {
      ...Program.task('build', { run: () => TE.right(1), expect: { commits: 1 } }),
      workspace: 'fresh'
    } as const
    assert.deepEqual(Program.problems({ name: 'w', steps: [moved] }), problems)
  })
})

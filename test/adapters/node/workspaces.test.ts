/** Real folders and real git repositories. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { afterAll, describe, test } from 'vitest'
import { workspaces } from '../../../src/adapters/node/index.js'
import { branchOf } from '../../../src/adapters/node/git/worktree.js'
import * as Unit from '../../../src/domain/workflow/Unit.js'
import type { Worktree } from '../../../src/domain/workflow/Workspace.js'
import * as RunError from '../../../src/public/RunError.js'
import type { RunError as AnyError } from '../../../src/executor/errors/RunError.js'

const folders: Array<string> = []

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'dogear work spaces '))
  folders.push(folder)
  return folder
}

const gitIn =
  (folder: string) =>
  (...args: ReadonlyArray<string>): string =>
    execFileSync('git', ['-c', 'protocol.file.allow=always', ...args], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore']
    }).trim()

const newRepository = () => {
  const folder = join(newFolder(), 'a repository')
  mkdirSync(folder)
  const git = gitIn(folder)
  git('init', '--initial-branch=main')
  for (const [name, value] of [
    ['user.name', 'A'],
    ['user.email', 'a@example.org'],
    ['commit.gpgsign', 'false']
  ])
    git('config', name ?? '', value ?? '')
  writeFileSync(join(folder, 'a.txt'), 'a')
  git('add', '.')
  git('commit', '-m', 'begin')
  return { folder, git, all: workspaces(join(newFolder(), 'state'), folder) }
}

const right = async <A>(ask: TaskEither<unknown, A>): Promise<A> => {
  const answer = await ask()
  return E.isRight(answer) ? answer.right : assert.fail(`refused: ${JSON.stringify(answer.left)}`)
}

const left = async <X>(ask: TaskEither<X, unknown>): Promise<X> => {
  const answer = await ask()
  return E.isLeft(answer) ? answer.left : assert.fail(`not refused: ${JSON.stringify(answer.right)}`)
}

const made = async ({ all }: ReturnType<typeof newRepository>, runId = 'r'): Promise<Worktree> => {
  const worktree = await right(all.plan(runId, 'worktree'))
  await right(all.make(runId, worktree))
  return worktree as Worktree
}

/** The workspace and environment that a step receives. */
interface Tree {
  readonly git: ReturnType<typeof gitIn>
  readonly edit: (text: string) => void
}

describe('worktrees', () => {
  test('the worktree of a repository with submodules starts with empty ones, which can be filled, and the worktree can be removed', async () => {
    const inner = newRepository()
    const outer = newRepository()
    outer.git('submodule', 'add', inner.folder, 'inner')
    outer.git('commit', '-m', 'with a submodule')
    const worktree = await made(outer)
    assert.equal(existsSync(join(worktree.root, 'inner', 'a.txt')), false)
    gitIn(worktree.root)('submodule', 'update', '--init')
    assert.equal(readFileSync(join(worktree.root, 'inner', 'a.txt'), 'utf8'), 'a')
    writeFileSync(join(worktree.root, 'b.txt'), 'b')
    const end = await right(outer.all.merge('r', worktree))
    assert.deepEqual(end, { _tag: 'Merged', into: 'main', committed: true })
    assert.equal(readFileSync(join(outer.folder, 'b.txt'), 'utf8'), 'b')
    assert.equal(existsSync(worktree.root), false)
    assert.equal(outer.git('branch', '--list', 'dogear/*'), '')
  })

  test('making an existing worktree again leaves it unchanged, with the work in it', async () => {
    const repository = newRepository()
    const worktree = await made(repository)
    writeFileSync(join(worktree.root, 'a.txt'), 'changed')
    await right(repository.all.make('r', worktree))
    assert.equal(readFileSync(join(worktree.root, 'a.txt'), 'utf8'), 'changed')
  })

  test('a deleted worktree that git still lists, even as locked, is created again at the same path', async () => {
    const repository = newRepository()
    const worktree = await made(repository)
    repository.git('worktree', 'lock', worktree.root)
    rmSync(worktree.root, { recursive: true })
    await right(repository.all.make('r', worktree))
    assert.equal(readFileSync(join(worktree.root, 'a.txt'), 'utf8'), 'a')
    assert.equal(repository.git('worktree', 'list', '--porcelain').match(/^worktree /gm)?.length, 2)
  })

  test('a worktree is created over a folder that has only a `.git` file, and that git does not list', async () => {
    const repository = newRepository()
    const worktree = (await right(repository.all.plan('r', 'worktree'))) as Worktree
    mkdirSync(worktree.root, { recursive: true })
    writeFileSync(join(worktree.root, '.git'), `gitdir: ${repository.folder}/.git/worktrees/r\n`)
    assert.equal((await right(repository.all.find('r', worktree))).there, false)
    await right(repository.all.make('r', worktree))
    assert.equal(readFileSync(join(worktree.root, 'a.txt'), 'utf8'), 'a')
  })

  test('a worktree is refused where an unknown file exists, and the file stays', async () => {
    const repository = newRepository()
    const worktree = await made(repository)
    assert.deepEqual(await left(repository.all.plan('r', 'directory')), {
      _tag: 'WorkspaceTaken',
      what: 'Folder',
      path: worktree.root
    })
  })

  test.each(['a..b', 'x.lock', 'a...b', 'lock'])('run %j has a branch name that git accepts', async (runId) => {
    const repository = newRepository()
    const { branch } = await made(repository, runId)
    assert.equal(repository.git('branch', '--list', '--format=%(refname:short)', 'dogear/*'), branch)
  })

  test('each run has a different branch', () => {
    const ids = ['a..b', 'a.b', 'a...b', 'a....b', 'x.lock', 'x', 'xlock', 'x.lock.lock']
    assert.equal(new Set(ids.map(branchOf)).size, ids.length)
  })

  test('a worktree whose repository was moved is distinguished from a worktree that was cleaned up', async () => {
    const repository = newRepository()
    const worktree = await made(repository)
    renameSync(repository.folder, `${repository.folder} elsewhere`)
    const error = await left(repository.all.find('r', worktree))
    assert.equal(error._tag, 'WorkspaceFailed')
    assert.match('why' in error ? error.why : '', /git worktree repair/)
    rmSync(worktree.root, { recursive: true })
    assert.deepEqual(await right(repository.all.find('r', worktree)), { there: false, folders: [] })
  })

  test('a worktree whose uncommitted work cannot be committed is not merged, and the reason is that of git', async () => {
    const repository = newRepository()
    const worktree = await made(repository)
    const hook = join(repository.folder, '.git', 'hooks', 'pre-commit')
    writeFileSync(hook, '#!/bin/sh\necho "no tests, no commit" >&2; exit 1\n')
    chmodSync(hook, 0o755)
    writeFileSync(join(worktree.root, 'b.txt'), 'b')
    const end = await right(repository.all.merge('r', worktree))
    assert.deepEqual(end, { _tag: 'NotMerged', why: 'Refused', said: 'no tests, no commit', committed: false })
    assert.equal(readFileSync(join(worktree.root, 'b.txt'), 'utf8'), 'b')
  })

  test.each([
    [
      'a merge',
      'a merge is in progress',
      ({ git, edit }: Tree) => {
        git('checkout', '-q', '-b', 'other')
        edit('theirs')
        git('commit', '-qam', 'theirs')
        git('checkout', '-q', 'dogear/r')
        edit('ours')
        git('commit', '-qam', 'ours')
        assert.throws(() => git('merge', 'other'))
      }
    ],
    [
      'a cherry-pick',
      'a cherry-pick is in progress',
      ({ git, edit }: Tree) => {
        git('checkout', '-q', '-b', 'other')
        edit('theirs')
        git('commit', '-qam', 'theirs')
        git('checkout', '-q', 'dogear/r')
        edit('ours')
        git('commit', '-qam', 'ours')
        assert.throws(() => git('cherry-pick', 'other'))
      }
    ],
    [
      'a stash in conflict',
      'conflicts are unresolved',
      ({ git, edit }: Tree) => {
        edit('theirs')
        git('stash')
        edit('ours')
        git('commit', '-qam', 'ours')
        assert.throws(() => git('stash', 'pop'))
      }
    ]
  ])('a worktree in the middle of %s is neither committed nor merged, and stays unchanged', async (_, why, begin) => {
    const repository = newRepository()
    const worktree = await made(repository)
    const git = gitIn(worktree.root)
    begin({ git, edit: (text) => writeFileSync(join(worktree.root, 'a.txt'), text) })
    writeFileSync(join(worktree.root, 'b.txt'), 'b')
    const before = [git('status', '--porcelain'), git('rev-parse', 'HEAD')]
    const refused = await left(repository.all.commit('r', worktree))
    assert.ok(refused._tag === 'WorkspaceFailed')
    assert.equal(refused.why, why)
    const end = await right(repository.all.merge('r', worktree))
    assert.deepEqual(end, { _tag: 'NotMerged', why: 'Refused', said: why, committed: false })
    assert.deepEqual([git('status', '--porcelain'), git('rev-parse', 'HEAD')], before)
  })

  test('without git, a commit of a worktree and its merge say that git could not be started', async () => {
    const repository = newRepository()
    const { all } = repository
    const worktree = await made(repository)
    const path = process.env['PATH']
    process.env['PATH'] = '/nowhere'
    try {
      const ends = [await left(all.commit('r', worktree)), await left(all.merge('r', worktree))]
      assert.deepEqual(
        ends.map((end) => end._tag === 'WorkspaceFailed' && [end.operation, end.why]),
        ends.map(() => ['git branch --show-current', 'spawn git ENOENT'])
      )
    } finally {
      process.env['PATH'] = path
    }
  })

  test('a commit of a worktree whose folder was deleted says that there is no such folder', async () => {
    const repository = newRepository()
    const worktree = await made(repository)
    rmSync(worktree.root, { recursive: true })
    const refused = await left(repository.all.commit('r', worktree))
    assert.ok(refused._tag === 'WorkspaceFailed')
    assert.equal(refused.why, `no such folder: ${worktree.root}`)
  })

  test.each([
    ['is refused by a hook', 'exit 1', 'it ended with 1'],
    ['is killed by a signal', 'kill -TERM $PPID; sleep 1', 'it was ended by SIGTERM']
  ])(
    'if the commit of a worktree %s, exactly the changes that were staged before stay staged',
    async (_, script, why) => {
      const repository = newRepository()
      const worktree = await made(repository)
      const git = gitIn(worktree.root)
      const hook = join(repository.folder, '.git', 'hooks', 'pre-commit')
      writeFileSync(hook, `#!/bin/sh\n${script}\n`)
      chmodSync(hook, 0o755)
      writeFileSync(join(worktree.root, 'a.txt'), 'changed')
      writeFileSync(join(worktree.root, 'b.txt'), 'b')
      git('add', 'a.txt')
      writeFileSync(join(worktree.root, 'a.txt'), 'changed again')
      const refused = await left(repository.all.commit('r', worktree))
      assert.equal(refused._tag === 'WorkspaceFailed' && refused.why, why)
      assert.equal(git('status', '--porcelain'), 'MM a.txt\n?? b.txt')
      rmSync(hook)
      assert.ok(O.isSome(await right(repository.all.commit('r', worktree))))
      assert.equal(git('status', '--porcelain'), '')
      assert.equal(existsSync(join(repository.folder, '.git', 'worktrees', 'r', 'index.dogear')), false)
    }
  )

  test('new files are committed even if git is configured to hide them', async () => {
    const repository = newRepository()
    repository.git('config', 'status.showUntrackedFiles', 'no')
    const worktree = await made(repository)
    writeFileSync(join(worktree.root, 'b.txt'), 'b')
    assert.ok(O.isSome(await right(repository.all.commit('r', worktree))))
    assert.equal(gitIn(worktree.root)('ls-files', 'b.txt'), 'b.txt')
  })

  test('uncommitted work in a submodule is not committed, and its worktree is not merged and stays', async () => {
    const inner = newRepository()
    const outer = newRepository()
    outer.git('submodule', 'add', inner.folder, 'inner')
    outer.git('commit', '-m', 'with a submodule')
    const worktree = await made(outer)
    gitIn(worktree.root)('submodule', 'update', '--init')
    writeFileSync(join(worktree.root, 'inner', 'a.txt'), 'changed')
    assert.deepEqual(await right(outer.all.commit('r', worktree)), O.none)
    writeFileSync(join(worktree.root, 'b.txt'), 'b')
    const end = await right(outer.all.merge('r', worktree))
    const said = 'a submodule has uncommitted work'
    assert.deepEqual(end, { _tag: 'NotMerged', why: 'Refused', said, committed: true })
    assert.equal(readFileSync(join(worktree.root, 'inner', 'a.txt'), 'utf8'), 'changed')
  })

  test('a worktree that would overwrite an uncommitted file is not merged, and the file stays', async () => {
    const repository = newRepository()
    const worktree = await made(repository)
    writeFileSync(join(worktree.root, 'b.txt'), 'theirs')
    writeFileSync(join(repository.folder, 'b.txt'), 'ours')
    const end = await right(repository.all.merge('r', worktree))
    assert.equal(end._tag === 'NotMerged' ? end.why : end._tag, 'Refused')
    assert.equal(readFileSync(join(repository.folder, 'b.txt'), 'utf8'), 'ours')
    assert.equal(repository.git('log', '--format=%s'), 'begin')
  })

  test('a merge in progress in the repository is left alone', async () => {
    const repository = newRepository()
    const worktree = await made(repository)
    writeFileSync(join(worktree.root, 'b.txt'), 'b')
    repository.git('checkout', '-q', '-b', 'side')
    repository.git('commit', '-q', '--allow-empty', '-m', 'side')
    repository.git('checkout', '-q', 'main')
    repository.git('merge', '--no-ff', '--no-commit', 'side')
    const end = await right(repository.all.merge('r', worktree))
    assert.equal(end._tag === 'NotMerged' && end.why === 'Refused' ? end.said : '', 'another merge is in progress')
    assert.ok(existsSync(join(repository.folder, '.git', 'MERGE_HEAD')))
  })

  test('removing a worktree loses no commit: its branch stays if it has commits, and commits outside that branch get a new branch', async () => {
    const repository = newRepository()
    const worktree = await made(repository)
    const git = gitIn(worktree.root)
    git('checkout', '-q', '--detach')
    git('commit', '-q', '--allow-empty', '-m', 'beside')
    const removed = await right(repository.all.remove('r', worktree))
    assert.deepEqual(removed, { folders: [worktree.root], keptBranch: 'dogear/r.attempt-1' })
    assert.equal(repository.git('log', '--format=%s', '-1', 'dogear/r.attempt-1'), 'beside')
    assert.deepEqual(await right(repository.all.remove('r', worktree)), { folders: [] })
    const other = await made(repository, 's')
    gitIn(other.root)('commit', '-q', '--allow-empty', '-m', 'on it')
    assert.equal((await right(repository.all.remove('s', other))).keptBranch, 'dogear/s')
    assert.equal(repository.git('log', '--format=%s', '-1', 'dogear/s'), 'on it')
  })

  test('a worktree whose .git file has a relative path is found, and its removal keeps the commits of a detached HEAD', async () => {
    const repository = newRepository()
    const worktree = await made(repository)
    const link = join(worktree.root, '.git')
    const target = readFileSync(link, 'utf8').trim().replace('gitdir: ', '')
    writeFileSync(link, `gitdir: ${relative(worktree.root, target)}\n`)
    assert.equal((await right(repository.all.find('r', worktree))).there, true)
    const git = gitIn(worktree.root)
    git('checkout', '-q', '--detach')
    git('commit', '-q', '--allow-empty', '-m', 'beside')
    assert.equal((await right(repository.all.remove('r', worktree))).keptBranch, 'dogear/r.attempt-1')
    assert.equal(repository.git('log', '--format=%s', '-1', 'dogear/r.attempt-1'), 'beside')
  })

  test('a worktree is removed while its repository is at a branch without a commit', async () => {
    const repository = newRepository()
    const worktree = await made(repository)
    repository.git('checkout', '-q', '--orphan', 'empty')
    assert.deepEqual(await right(repository.all.remove('r', worktree)), { folders: [worktree.root] })
    assert.equal(repository.git('branch', '--list', 'dogear/r'), '')
  })

  test('a worktree is removed while its branch is checked out in the repository, and the branch stays', async () => {
    const repository = newRepository()
    const worktree = await made(repository)
    gitIn(worktree.root)('checkout', '-q', '--detach')
    repository.git('checkout', '-q', 'dogear/r')
    const removed = await right(repository.all.remove('r', worktree))
    assert.deepEqual(removed, { folders: [worktree.root], keptBranch: 'dogear/r' })
    assert.equal(repository.git('branch', '--show-current'), 'dogear/r')
  })

  test('the branch of a removed worktree stays if only the detached HEAD of the repository has its commits', async () => {
    const repository = newRepository()
    const worktree = await made(repository)
    gitIn(worktree.root)('commit', '-q', '--allow-empty', '-m', 'on it')
    repository.git('checkout', '-q', '--detach', 'dogear/r')
    assert.equal((await right(repository.all.remove('r', worktree))).keptBranch, 'dogear/r')
  })

  test('the branch of a removed worktree is deleted if the run started from a detached HEAD and made no commit', async () => {
    const repository = newRepository()
    repository.git('checkout', '-q', '--detach')
    repository.git('commit', '-q', '--allow-empty', '-m', 'on no branch')
    const worktree = await made(repository)
    repository.git('commit', '-q', '--allow-empty', '-m', 'later')
    assert.equal((await right(repository.all.remove('r', worktree))).keptBranch, undefined)
  })

  test('a worktree is removed only where Dogear makes worktrees, whatever path is recorded', async () => {
    const repository = newRepository()
    const worktree = await made(repository)
    const elsewhere = { ...worktree, root: repository.folder, path: repository.folder }
    await right(repository.all.remove('other', elsewhere))
    assert.ok(existsSync(join(repository.folder, 'a.txt')))
    assert.ok(existsSync(worktree.root))
  })
})

test('a worktree of a folder that does not exist is refused with the folder, not as if git were missing', async () => {
  const missing = join(newFolder(), 'missing')
  const refused = await workspaces(join(newFolder(), 'state'), missing).plan('r', 'worktree')()
  assert.ok(E.isLeft(refused) && refused.left._tag === 'WorkspaceFailed')
  assert.deepEqual([refused.left.code, refused.left.why], ['NO_FOLDER', `no such folder: ${missing}`])
})

describe('folders of steps', () => {
  test('different steps and groups have different folders, even if the file system ignores case', async () => {
    const { all } = newRepository()
    const long = 'S'.repeat(128)
    const units = ['a', 'A', 'a/a', 'a/A', long, long.toLowerCase()]
    const paths = await Promise.all(units.map((unit) => right(all.stepFolder({ runId: 'r', unit }, true))))
    assert.equal(new Set(paths.map((path) => path.toLowerCase())).size, units.length)
  })

  test('items whose keys have slashes, dots or plus signs have folders of their own in the folder of their step', async () => {
    const { all } = newRepository()
    const step = join(await right(all.stepFolder({ runId: 'r', unit: 'pages' }, true)), '..')
    const keys = ['../../../../x', 'a/b', 'a', 'A', '+a', '', '\0', '中'.repeat(150)]
    const units = keys.map((key) => Unit.join('pages', key))
    const paths = await Promise.all(units.map((unit) => right(all.stepFolder({ runId: 'r', unit }, true))))
    assert.equal(new Set(paths).size, keys.length)
    for (const path of paths) assert.equal(join(path, '../..'), step)
  })
})

describe.skipIf(process.platform === 'win32')('links and folders of other users in workspaces', () => {
  const unit = { runId: 'r', unit: 'Unpack' }

  /** A run with a workspace and a step folder, and a folder elsewhere that holds a file. */
  const begun = async () => {
    const state = join(newFolder(), 'state')
    const behind = newFolder()
    const all = workspaces(state)
    const own = await right(all.plan('r', 'directory'))
    await right(all.make('r', own))
    await right(all.stepFolder(unit, false))
    mkdirSync(join(behind, 'r'))
    writeFileSync(join(behind, 'r/file'), 'kept')
    return { all, own, behind, at: join(state, 'workspaces') }
  }

  const tree = (folder: string): ReadonlyArray<string> =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()

  const asks = ({ all, own }: Awaited<ReturnType<typeof begun>>) => ({
    plan: all.plan('other', 'directory'),
    make: all.make('r', own),
    find: all.find('r', own),
    stepFolder: all.stepFolder(unit, true),
    reusedFolder: all.stepFolder(unit, false),
    remove: all.remove('r', own)
  })

  const cases: Record<string, ReadonlyArray<keyof ReturnType<typeof asks>>> = {
    '.': ['plan', 'make', 'find', 'stepFolder', 'remove'],
    r: ['make', 'find', 'remove'],
    _steps: ['find', 'stepFolder', 'remove'],
    '_steps/r': ['find', 'stepFolder', 'remove'],
    '_steps/r/+unpack': ['stepFolder'],
    '_steps/r/+unpack/work': ['reusedFolder'],
    _gone: ['find', 'remove'],
    '_gone/r': ['find', 'remove']
  }
  for (const [name, refused] of Object.entries(cases)) {
    test(`a link or a folder of another user at workspaces/${name} is Insecure, and nothing behind it is written or deleted`, async () => {
      for (const ask of refused) {
        const given = await begun()
        const place = join(given.at, name)
        mkdirSync(join(given.at, '_gone'), { recursive: true })
        rmSync(place, { recursive: true, force: true })
        symlinkSync(given.behind, place)
        const before = tree(given.behind)
        const error = await left(asks(given)[ask] as TaskEither<AnyError, unknown>)
        assert.ok(error._tag === 'Insecure' && error.where === place, `${ask}: ${JSON.stringify(error)}`)
        assert.match(RunError.describe(error), /symbolic link/)
        assert.deepEqual(tree(given.behind), before, ask)
      }
    })
  }

  test.runIf(process.getuid?.() === 0)(
    'workspaces is Insecure if it belongs neither to this user nor to the owner of the state',
    async () => {
      const given = await begun()
      lchownSync(given.at, 65_534, 65_534)
      for (const ask of Object.values(asks(given))) {
        const error = await left(ask as TaskEither<AnyError, unknown>)
        assert.ok(error._tag === 'Insecure' && /belongs to user 65534/.test(error.why), JSON.stringify(error))
      }
      lchownSync(join(given.at, '..'), 65_534, 65_534)
      await right(given.all.find('r', given.own))
    }
  )
})

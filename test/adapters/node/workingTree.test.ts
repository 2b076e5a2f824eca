/** Real files and real git repositories. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { afterAll, describe, test } from 'vitest'
import { workingTree } from '../../../src/adapters/node/index.js'
import type { TreeUnreadable } from '../../../src/ports/WorkingTree.js'

const folders: Array<string> = []

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'dogear tree '))
  folders.push(folder)
  return folder
}

const IDENTITY = ['-c', 'user.name=A', '-c', 'user.email=a@example.org', '-c', 'commit.gpgsign=false']

const gitIn =
  (folder: string) =>
  (...args: ReadonlyArray<string>): string =>
    execFileSync('git', [...IDENTITY, ...args], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore']
    }).trim()

const newRepository = () => {
  const folder = newFolder()
  const git = gitIn(folder)
  git('init', '--initial-branch=main')
  const commit = (name: string): string => {
    writeFileSync(join(folder, name), name)
    git('add', name)
    git('commit', '-m', name)
    return git('rev-parse', 'HEAD')
  }
  return { folder, git, commit, tree: workingTree(folder) }
}

const right = async <A>(ask: TaskEither<unknown, A>): Promise<A> => {
  const answer = await ask()
  return E.isRight(answer) ? answer.right : assert.fail(`refused: ${JSON.stringify(answer.left)}`)
}

/** The bytes that this process has read so far, as counted by Linux. */
const bytesRead = (): number => Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])

describe('the content at a path', () => {
  test('the content of a path has its size and digest, and a missing path has none', async () => {
    const folder = newFolder()
    const tree = workingTree(folder)
    writeFileSync(join(folder, 'a.txt'), 'hello')
    assert.deepEqual(
      await right(tree.content('a.txt')),
      O.some({ size: 5, sha256: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824' })
    )
    assert.deepEqual(await right(tree.content('b.txt')), O.none)
    assert.deepEqual(await right(tree.content('a.txt/b')), O.none)
    assert.equal(await right(tree.has('a.txt')), true)
    assert.equal(await right(tree.has('b.txt')), false)
  })

  test('two folders have the same digest exactly if everything in them is the same', async () => {
    const folder = newFolder()
    const make = (name: string, files: Readonly<Record<string, string>>): void => {
      mkdirSync(join(folder, name, 'inner'), { recursive: true })
      for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, name, path), text)
    }
    make('one', { 'a.txt': '1', 'inner/b.txt': '2' })
    make('same', { 'inner/b.txt': '2', 'a.txt': '1' })
    make('moved', { 'b.txt': '2', 'inner/a.txt': '1' })
    make('changed', { 'a.txt': '1', 'inner/b.txt': '3' })
    make('joined', { 'a.txt': '12', 'inner/b.txt': '' })
    symlinkSync('a.txt', join(folder, 'joined', 'link'))
    const tree = workingTree(folder)
    const contents = await Promise.all(
      ['one', 'same', 'moved', 'changed', 'joined'].map((name) => right(tree.content(name)))
    )
    const [one, same, ...others] = contents.map((found) => (O.isSome(found) ? found.value.sha256 : 'none'))
    assert.equal(one, same)
    assert.equal(new Set([one, ...others]).size, 4)
  })

  test('the content of a link is that of its target, and none if the target is missing', async () => {
    const folder = newFolder()
    const tree = workingTree(folder)
    writeFileSync(join(folder, 'app-3.tgz'), 'three')
    symlinkSync('app-3.tgz', join(folder, 'latest.tgz'))
    symlinkSync('round', join(folder, 'round'))
    assert.deepEqual(await right(tree.content('latest.tgz')), await right(tree.content('app-3.tgz')))
    rmSync(join(folder, 'app-3.tgz'))
    for (const path of ['latest.tgz', 'round', 'round/a']) {
      assert.deepEqual(await right(tree.content(path)), O.none)
      assert.equal(await right(tree.has(path)), false)
    }
  })

  test.runIf(process.platform === 'linux')(
    'reading a device file returns, and file names may contain any bytes',
    async () => {
      const folder = newFolder()
      const tree = workingTree(folder)
      assert.ok(O.isSome(await right(tree.content('/dev/zero'))))
      const named = async (byte: number): Promise<unknown> => {
        const name = Buffer.concat([Buffer.from(join(folder, 'inner', 'caf')), Buffer.from([byte])])
        mkdirSync(join(folder, 'inner'))
        writeFileSync(name, 'x')
        const found = await right(tree.content('inner'))
        rmSync(join(folder, 'inner'), { recursive: true })
        return O.isSome(found) ? found.value.sha256 : assert.fail('none')
      }
      assert.notEqual(await named(0xe9), await named(0xe8))
    }
  )

  test('excluded paths do not affect the digest of a folder', async () => {
    const folder = newFolder()
    const tree = workingTree(folder, ['state'])
    mkdirSync(join(folder, 'state'))
    writeFileSync(join(folder, 'a.txt'), 'a')
    const before = await right(tree.content('.'))
    writeFileSync(join(folder, 'state', 'journal'), 'more')
    assert.deepEqual(await right(tree.content('.')), before)
  })

  test.runIf(process.platform === 'linux')('a file is read again only if its stamp has changed', async () => {
    const folder = newFolder()
    const large = fileURLToPath(new URL('../../../node_modules/typescript/lib/typescript.js', import.meta.url))
    const copied = join(folder, 'copied.js')
    copyFileSync(large, copied)
    utimesSync(copied, new Date(), new Date(Date.now() + 3_600_000))
    const tree = workingTree(folder)
    const bytesFor = async (path: string): Promise<number> => {
      const before = bytesRead()
      await right(tree.content(path))
      return bytesRead() - before
    }
    const { size } = statSync(large)
    assert.ok((await bytesFor(large)) >= size)
    assert.ok((await bytesFor(large)) < size / 2)
    // A file that changed just now might change again within the same clock tick.
    assert.ok((await bytesFor(copied)) >= size)
    assert.ok((await bytesFor(copied)) >= size)
  })

  test('a small file is read into a small buffer, and a large one in parts', async () => {
    const folder = newFolder()
    const tree = workingTree(folder)
    const allocate = Buffer.allocUnsafe.bind(Buffer)
    let bytes = 0
    Buffer.allocUnsafe = (size) => ((bytes += size), allocate(size))
    try {
      for (let n = 0; n < 100; n++) {
        writeFileSync(join(folder, `${n}`), `${n}`)
        assert.ok(O.isSome(await right(tree.content(`${n}`))))
      }
    } finally {
      Buffer.allocUnsafe = allocate
    }
    assert.ok(bytes < 100 * 10_000, `${bytes} bytes`)
    const whole = 'x'.repeat(3_000_001)
    writeFileSync(join(folder, 'large'), whole)
    const sha256 = createHash('sha256').update(whole).digest('hex')
    assert.deepEqual(await right(tree.content('large')), O.some({ size: whole.length, sha256 }))
  })

  test('reading a file stops when its signal fires', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'a.txt'), 'hello')
    const stopped = await workingTree(folder).content('.', AbortSignal.abort())()
    assert.ok(E.isLeft(stopped) && stopped.left.code === 'ABORTED')
  })

  test('a folder counts as present if a file in it is deleted while it is read', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'a'), '')
    truncateSync(join(folder, 'a'), 200_000_000)
    const without = await right(workingTree(folder).content('.'))
    writeFileSync(join(folder, 'b'), '')
    const reading = workingTree(folder).content('.')()
    setTimeout(() => rmSync(join(folder, 'b')), 20)
    assert.deepEqual(await reading, E.right(without))
  })

  test('a folder that is deleted while it is read counts as missing', async () => {
    const folder = newFolder()
    const inside = join(folder, 'out')
    mkdirSync(inside)
    for (const name of ['a', 'b']) {
      writeFileSync(join(inside, name), '')
      truncateSync(join(inside, name), 200_000_000)
    }
    const reading = workingTree(folder).content('out')()
    setTimeout(() => rmSync(inside, { recursive: true }), 20)
    assert.deepEqual(await reading, E.right(O.none))
  })

  test('an unreadable path is an error and does not count as missing', async () => {
    const tree = workingTree(newFolder())
    const tooLong = 'x'.repeat(300)
    for (const ask of [tree.content(tooLong), tree.has(tooLong)]) {
      const answer = await ask()
      assert.ok(E.isLeft(answer))
      assert.equal(answer.left.code, 'ENAMETOOLONG')
    }
  })
})

describe('commits', () => {
  test('a commit exists while HEAD contains it', async () => {
    const { commit, tree } = newRepository()
    const hashes = ['a', 'b', 'c'].map(commit)
    assert.deepEqual(await right(tree.head), O.some(hashes[2]))
    assert.deepEqual(await right(tree.missingCommits(hashes)), [])
    assert.deepEqual(await right(tree.missingCommits(hashes.map((hash) => hash.slice(0, 12)))), [])
    assert.deepEqual(await right(tree.commitsSince(O.some(hashes[0] as string))), hashes.slice(1))
    assert.deepEqual(await right(tree.commitsSince(O.none)), hashes)
  })

  test('a rebased commit is missing, and the commits before it exist', async () => {
    const { commit, git, tree } = newRepository()
    const [first, second] = [commit('a'), commit('b')]
    git('commit', '--amend', '-m', 'other words')
    assert.deepEqual(await right(tree.missingCommits([first, second])), [second])
  })

  test('a commit is still stored when HEAD no longer contains it, until git has collected it', async () => {
    const { commit, git, tree } = newRepository()
    const [first, second] = [commit('a'), commit('b')]
    git('reset', '--hard', '--quiet', 'HEAD~1')
    assert.deepEqual(await right(tree.missingCommits([first, second])), [second])
    assert.deepEqual(await right(tree.storedCommits([second, first, '0'.repeat(40), 'main'])), [second, first])
    git('reflog', 'expire', '--expire=now', '--all')
    git('gc', '--quiet', '--prune=now')
    assert.deepEqual(await right(tree.storedCommits([second, first])), [first])
    assert.deepEqual(await right(workingTree(newFolder()).storedCommits([first])), [])
  })

  test('a commit that is only on another branch is missing until that branch is merged', async () => {
    const { commit, git, tree } = newRepository()
    commit('a')
    git('checkout', '-b', 'side')
    const beside = commit('b')
    git('checkout', 'main')
    assert.deepEqual(await right(tree.missingCommits([beside])), [beside])
    git('merge', '--no-ff', '-m', 'merge', 'side')
    assert.deepEqual(await right(tree.missingCommits([beside])), [])
  })

  test('a commit is found by its hash in any case and by a prefix, but not by a branch or tag name', async () => {
    const { git, commit, tree } = newRepository()
    const [one, two] = [commit('one'), commit('two')]
    git('tag', 'v1.0')
    git('branch', one.slice(0, 8), two)
    assert.deepEqual(await right(tree.fullHash(two.toUpperCase())), O.some(two))
    assert.deepEqual(await right(tree.fullHash(two.slice(0, 9))), O.some(two))
    for (const name of ['v1.0', 'HEAD', 'main', one.slice(0, 8), '', '0'.repeat(40), `${two}^`])
      assert.deepEqual(await right(tree.fullHash(name)), O.none, name)
    assert.deepEqual(await right(tree.missingCommits([two.toUpperCase(), one])), [])
  })

  test('a commit missing from a shallow clone is unknown, and one in the clone exists', async () => {
    const { folder, commit } = newRepository()
    const [one, two] = [commit('one'), commit('two')]
    const clone = newFolder()
    gitIn(clone)('clone', '--depth', '1', `file://${folder}`, 'inside')
    const tree = workingTree(join(clone, 'inside'))
    assert.deepEqual(await right(tree.missingCommits([two])), [])
    for (const ask of [tree.missingCommits([two, one]), tree.fullHash(one)]) {
      const answer = await (ask as () => Promise<E.Either<TreeUnreadable, unknown>>)()
      assert.ok(E.isLeft(answer) && answer.left.code === 'SHALLOW' && answer.left.why.includes('--unshallow'))
    }
    assert.deepEqual(await right(tree.missingCommits(['v1.0'])), ['v1.0'])
    gitIn(join(clone, 'inside'))('fetch', '--unshallow')
    assert.deepEqual(await right(tree.missingCommits([two, one])), [])
  })

  test('a commit that never existed is missing, whatever its name', async () => {
    const { commit, git, tree } = newRepository()
    const hash = commit('a')
    const blob = git('rev-parse', 'HEAD:a')
    const wrong = ['0'.repeat(40), 'main', '--help', '', 'HEAD', '-n', blob, 'c0ffee ee']
    assert.deepEqual(await right(tree.missingCommits([hash, ...wrong])), wrong)
  })

  test('a commit is missing without a repository or without any commit', async () => {
    for (const folder of [newFolder(), newRepository().folder]) {
      const tree = workingTree(folder)
      assert.deepEqual(await right(tree.head), O.none)
      assert.deepEqual(await right(tree.missingCommits(['c0ffee'])), ['c0ffee'])
      assert.deepEqual(await right(tree.commitsSince(O.none)), [])
    }
  })

  test('commits are looked up in the given repository, whatever git variables a hook has set', async () => {
    const { commit, tree } = newRepository()
    const hash = commit('a')
    const set = {
      GIT_DIR: '/nowhere',
      GIT_COMMON_DIR: '/nowhere',
      GIT_OBJECT_DIRECTORY: '/nowhere',
      GIT_NAMESPACE: 'a'
    }
    Object.assign(process.env, set)
    try {
      assert.deepEqual(await right(tree.missingCommits([hash])), [])
    } finally {
      for (const name of Object.keys(set)) delete process.env[name]
    }
  })

  test('looking up a commit without git fails', async () => {
    const path = process.env['PATH']
    process.env['PATH'] = '/nowhere'
    try {
      const answer = await workingTree(newFolder()).head()
      assert.ok(E.isLeft(answer))
      assert.deepEqual([answer.left.code, answer.left.why], ['ENOENT', 'git could not be started'])
    } finally {
      process.env['PATH'] = path
    }
  })
})

describe('differences from HEAD', () => {
  test('without a repository, the differences are unknown', async () => {
    const answer = await workingTree(newFolder()).changed()
    assert.ok(E.isLeft(answer))
    assert.equal(answer.left.why, 'there is no git repository')
  })

  test('the differences are changed, new, deleted and renamed files, without ignored ones', async () => {
    const { folder, commit, git, tree } = newRepository()
    for (const name of ['kept', 'changed', 'gone', 'old name']) commit(name)
    writeFileSync(join(folder, '.git/info/exclude'), 'ignored\n')
    assert.deepEqual(await right(tree.changed), [])
    writeFileSync(join(folder, 'changed'), 'x')
    writeFileSync(join(folder, 'new ü'), 'x')
    writeFileSync(join(folder, 'ignored'), 'x')
    rmSync(join(folder, 'gone'))
    git('mv', 'old name', 'new name')
    const changed = ['changed', 'gone', 'new name', 'new ü']
    assert.deepEqual((await right(tree.changed)).toSorted(), changed)
    const others = workingTree(folder, ['new ü', 'no such'])
    assert.deepEqual(await right(others.changed), changed.slice(0, 3))
  })
})

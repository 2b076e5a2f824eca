/** Without a power cut, files in memory behave and fail like those of a real file system. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, test } from 'vitest'
import type { FileStats, FileSystem } from '../../../src/adapters/json-file/files/FileSystem.js'
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.js'
import { crashFiles } from './CrashFiles.js'

const isLinux = process.platform === 'linux'
const seed = process.env['DOGEAR_SEED'] === undefined ? {} : { seed: Number(process.env['DOGEAR_SEED']) }
const numRuns = process.env['DOGEAR_SWEEP'] === '1' ? 5_000 : 300

const folders: Array<string> = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** The environment of the calls: a tree, the open files, and names for equal files. */
interface World {
  readonly fs: FileSystem
  readonly root: string
  readonly fds: Array<number>
  readonly inos: Map<bigint, number>
}

type Command = (world: World) => unknown

const facts = ({ inos }: World, { kind, size, ino }: FileStats) => {
  // A number may be reused once a file is deleted, so only simultaneous files are compared.
  if (!inos.has(ino)) inos.set(ino, inos.size)
  return kind === 'file' ? { kind, size } : { kind }
}

const path = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 }).map(
  (names) =>
    ({ root }: World) =>
      join(root, ...names)
)
const fd = fc.nat({ max: 5 }).map(
  (index) =>
    ({ fds }: World) =>
      fds[index % Math.max(1, fds.length)] ?? 9_999
)
const bytes = fc.uint8Array({ minLength: 1, maxLength: 1_500 })
const position = fc.oneof(fc.nat({ max: 10 }), fc.nat({ max: 10_000 }))

const sync = (world: World, file: number): Promise<void> =>
  new Promise((resolve, reject) => world.fs.fdatasync(file, (error) => (error === null ? resolve() : reject(error))))

const command: fc.Arbitrary<readonly [string, Command]> = fc.oneof(
  path.map((at) => ['mkdir', (w: World) => w.fs.mkdir(at(w))] as const),
  path.map((at) => ['readdir', async (w: World) => [...(await w.fs.readdir(at(w)))].sort()] as const),
  path.map((at) => ['fsyncFolder', (w: World) => w.fs.fsyncFolder(at(w))] as const),
  path.map((at) => {
    const look = (w: World) => {
      const found = w.fs.lstatSync(at(w))
      return found === undefined ? undefined : facts(w, found)
    }
    return ['lstatSync', look] as const
  }),
  fc.tuple(path, fc.constantFrom('read', 'write', 'create', 'create')).map(([at, how]) => {
    const open = async (w: World) => void w.fds.push(await w.fs.open(at(w), how))
    return [`open ${how}`, open] as const
  }),
  fd.map((of) => {
    const place = (w: World) => w.fs.placeSync(of(w))?.slice(w.root.length === 1 ? 0 : w.root.length)
    return ['placeSync', isLinux ? place : () => undefined] as const
  }),
  fd.map((of) => ['fstat', async (w: World) => facts(w, await w.fs.fstat(of(w)))] as const),
  fc.tuple(fd, position, fc.integer({ min: 1, max: 2_000 })).map(([of, at, length]) => {
    const read = async (w: World) => {
      const into = new Uint8Array(length)
      const count = await w.fs.read(of(w), into, at)
      return [count, Buffer.from(into).toString('base64')]
    }
    return ['read', read] as const
  }),
  fc.tuple(fd, bytes, position).map(([of, all, at]) => ['write', (w: World) => w.fs.write(of(w), all, at)] as const),
  fc
    .tuple(fd, bytes, position)
    .map(([of, all, at]) => ['writeSync', (w: World) => w.fs.writeSync(of(w), all, at)] as const),
  fc
    .tuple(fd, position, position)
    .map(([of, from, more]) => ['extendSync', (w: World) => w.fs.extendSync(of(w), from, from + more)] as const),
  fc
    .tuple(fd, position)
    .map(([of, length]) => ['ftruncateSync', (w: World) => w.fs.ftruncateSync(of(w), length)] as const),
  fd.map((of) => ['fdatasync', (w: World) => sync(w, of(w))] as const),
  fd.map((of) => {
    const close = async (w: World) => {
      const file = of(w)
      await w.fs.close(file)
      w.fds.splice(w.fds.indexOf(file), 1)
    }
    return ['close', close] as const
  }),
  fc.tuple(path, path).map(([from, to]) => ['link', (w: World) => w.fs.link(from(w), to(w))] as const),
  fc.tuple(path, path).map(([from, to]) => ['renameSync', (w: World) => w.fs.renameSync(from(w), to(w))] as const),
  path.map((at) => ['unlinkSync', (w: World) => w.fs.unlinkSync(at(w))] as const),
  path.map((at) => ['rmdirSync', (w: World) => w.fs.rmdirSync(at(w))] as const),
  path.map((at) => ['removeTree', (w: World) => w.fs.removeTree(at(w))] as const),
  fc.tuple(path, fc.string()).map(([at, text]) => ['replace', (w: World) => w.fs.replace(at(w), text)] as const)
)

const outcome = async (world: World, run: Command): Promise<unknown> => {
  try {
    return { value: await run(world) }
  } catch (error) {
    return { code: (error as NodeJS.ErrnoException).code ?? String(error) }
  }
}

/** Everything below a folder. */
const treeOf = async (world: World, at = world.root): Promise<unknown> => {
  const tree: Record<string, unknown> = {}
  for (const name of [...(await world.fs.readdir(at))].sort()) {
    const found = world.fs.lstatSync(join(at, name))
    if (found?.kind === 'folder') tree[name] = await treeOf(world, join(at, name))
    else {
      const content = new Uint8Array(found?.size ?? 0)
      const file = await world.fs.open(join(at, name), 'read')
      await world.fs.read(file, content, 0)
      await world.fs.close(file)
      tree[name] = Buffer.from(content).toString('base64')
    }
  }
  return tree
}

const nameOf = (world: World, found: FileStats | undefined): number | undefined => {
  if (found === undefined) return undefined
  if (!world.inos.has(found.ino)) world.inos.set(found.ino, world.inos.size)
  return world.inos.get(found.ino)
}

describe('files in memory', () => {
  test(
    'files in memory return the same results and errors as a real file system',
    { skip: !isLinux, timeout: 20 * 60_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 40 }), async (commands) => {
          const root = mkdtempSync(join(tmpdir(), 'dogear-model-'))
          folders.push(root)
          const real: World = { fs: nodeFileSystem, root, fds: [], inos: new Map() }
          const model: World = { fs: crashFiles().fs, root: '/', fds: [], inos: new Map() }
          const done: Array<string> = []
          try {
            for (const [name, run] of commands) {
              const expected = await outcome(real, run)
              const given = await outcome(model, run)
              done.push(`${name}: ${JSON.stringify(expected)}`)
              assert.deepEqual(given, expected, done.join('\n'))
            }
            assert.deepEqual(await treeOf(model), await treeOf(real))
          } finally {
            for (const file of real.fds) await nodeFileSystem.close(file)
            rmSync(root, { recursive: true, force: true })
          }
        }),
        { numRuns, ...seed }
      )
    }
  )

  test('an extension overwrites what a file already has there, as on a real file system', async () => {
    const root = mkdtempSync(join(tmpdir(), 'dogear-model-'))
    folders.push(root)
    const extended = async (world: World): Promise<unknown> => {
      const fd = await world.fs.open(join(world.root, 'a'), 'create')
      world.fs.writeSync(fd, new Uint8Array(10).fill(1), 0)
      world.fs.extendSync(fd, 5, 10_000)
      await world.fs.close(fd)
      return await treeOf(world)
    }
    const real = await extended({ fs: nodeFileSystem, root, fds: [], inos: new Map() })
    assert.deepEqual(await extended({ fs: crashFiles().fs, root: '/', fds: [], inos: new Map() }), real)
  })

  test('files in memory have hard links, as on a real file system', async () => {
    const root = mkdtempSync(join(tmpdir(), 'dogear-model-'))
    folders.push(root)
    const named = async (world: World): Promise<ReadonlyArray<number | undefined>> => {
      const at = (name: string): string => join(world.root, name)
      await world.fs.close(await world.fs.open(at('a'), 'create'))
      await world.fs.link(at('a'), at('b'))
      await world.fs.close(await world.fs.open(at('c'), 'create'))
      world.fs.renameSync(at('a'), at('b'))
      world.fs.renameSync(at('c'), at('d'))
      return ['a', 'b', 'c', 'd'].map((name) => nameOf(world, world.fs.lstatSync(at(name))))
    }
    const real = await named({ fs: nodeFileSystem, root, fds: [], inos: new Map() })
    assert.deepEqual(await named({ fs: crashFiles().fs, root: '/', fds: [], inos: new Map() }), real)
    assert.deepEqual(real, [0, 0, undefined, 1])
  })

  test(
    'paths through an open folder lead to its entries after it was moved, as on a real file system',
    { skip: !isLinux },
    async () => {
      const root = mkdtempSync(join(tmpdir(), 'dogear-model-'))
      folders.push(root)
      const through = async ({ fs, root: at }: World): Promise<ReadonlyArray<unknown>> => {
        await fs.mkdir(join(at, 'a'))
        for (const name of ['x', 'y']) await fs.close(await fs.open(join(at, 'a', name), 'create'))
        const open = await fs.open(join(at, 'a'), 'read')
        const folder = fs.folderSync(open) ?? assert.fail('it has a path')
        const found: Array<unknown> = [fs.lstatSync(folder)?.kind]
        fs.renameSync(join(at, 'a'), join(at, 'b'))
        await fs.mkdir(join(at, 'a'))
        await fs.close(await fs.open(join(at, 'a/x'), 'create'))
        fs.unlinkSync(join(folder, 'x'))
        await fs.link(join(folder, 'y'), join(folder, 'z'))
        found.push(...(await Promise.all([folder, join(at, 'a'), join(at, 'b')].map((path) => fs.readdir(path)))))
        await fs.removeTree(join(at, 'b'))
        found.push(await outcome({ fs } as World, () => Promise.resolve(fs.unlinkSync(join(folder, 'y')))))
        await fs.close(open)
        return found.map((one) => (Array.isArray(one) ? one.toSorted() : one))
      }
      const real = await through({ fs: nodeFileSystem, root, fds: [], inos: new Map() })
      assert.deepEqual(await through({ fs: crashFiles().fs, root: '/', fds: [], inos: new Map() }), real)
      assert.deepEqual(real, ['folder', ['y', 'z'], ['x'], ['y', 'z'], { code: 'ENOENT' }])
    }
  )

  test('a heartbeat in memory is fresh until it is stopped, and is then deleted', async () => {
    const { fs } = crashFiles()
    const beat = { updateMillis: 1_000, staleMillis: 2_000 }
    const stop = await fs.heartbeat('/beat', beat, () => assert.fail('the heartbeat was disturbed'))
    const found = fs.lstatSync('/beat')
    assert.ok(found?.kind === 'folder' && found.modifiedMillis + 1_000 > Date.now())
    await assert.rejects(
      fs.heartbeat('/beat', beat, () => undefined),
      { code: 'ELOCKED' }
    )
    await stop()
    assert.equal(fs.lstatSync('/beat'), undefined)
  })
})

/** The states that a power cut may and may not leave of files in memory. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { FileSystem } from '../../../src/adapters/json-file/files/FileSystem.js'
import type { CrashFiles, PowerCutOptions } from './CrashFiles.js'
import { crashFiles } from './CrashFiles.js'
import { failingCalls, interceptedFiles, systemError } from './Intercept.js'

const sync = (fs: FileSystem, fd: number): Promise<void> =>
  new Promise((resolve, reject) => fs.fdatasync(fd, (error) => (error === null ? resolve() : reject(error))))

const write = async (fs: FileSystem, path: string, text: string, position = 0): Promise<number> => {
  const fd = await fs.open(path, fs.lstatSync(path) === undefined ? 'create' : 'write')
  await fs.write(fd, Buffer.from(text), position)
  return fd
}

/** The content of a file as a string; NULs are dots. */
const read = async (fs: FileSystem, path: string): Promise<string> => {
  const size = fs.lstatSync(path)?.size
  if (size === undefined) return 'none'
  const bytes = Buffer.alloc(size)
  const fd = await fs.open(path, 'read')
  await fs.read(fd, bytes, 0)
  await fs.close(fd)
  return bytes.toString('latin1').replaceAll('\0', '.')
}

/** The possible targets of a path after a power cut, each once. */
const left = async (
  files: CrashFiles,
  look: (fs: FileSystem) => Promise<string>,
  options?: PowerCutOptions
): Promise<ReadonlyArray<string>> => {
  const found = new Set<string>()
  for (const { files: after } of files.powerCuts(options)) found.add(await look(after.fs))
  return [...found].sort()
}

const names = async (fs: FileSystem, path: string): Promise<string> => [...(await fs.readdir(path))].sort().join(' ')

describe('synced content', () => {
  test('synced content exists after every power cut', async () => {
    const files = crashFiles()
    await files.fs.mkdir('/a')
    await sync(files.fs, await write(files.fs, '/a/b', 'hello'))
    await files.fs.fsyncFolder('/a')
    await files.fs.fsyncFolder('/')
    const synced = files.operations.length
    await write(files.fs, '/a/c', 'more')
    await write(files.fs, '/a/b', '!', 5)
    assert.deepEqual(await left(files, (fs) => read(fs, '/a/b'), { after: synced }), ['hello'])
    for (const text of await left(files, (fs) => read(fs, '/a/b'))) assert.ok(text.startsWith('hello'), text)
  })

  test('synced content may be missing because its name was not synced', async () => {
    const files = crashFiles()
    await sync(files.fs, await write(files.fs, '/a', 'hello'))
    assert.deepEqual(await left(files, (fs) => read(fs, '/a')), ['hello', 'none'])
  })

  test('a sync covers only what was written before it began', async () => {
    const files = crashFiles()
    const fd = await write(files.fs, '/a', 'one')
    await files.fs.fsyncFolder('/')
    const done = sync(files.fs, fd)
    files.fs.writeSync(fd, Buffer.from('two'), 0)
    await done
    assert.deepEqual(await left(files, (fs) => read(fs, '/a')), ['one', 'two'])
    await sync(files.fs, fd)
    assert.deepEqual(await left(files, (fs) => read(fs, '/a')), ['two'])
  })

  test('content is durable once the sync has ended, and not before', async () => {
    const files = crashFiles()
    const fd = await write(files.fs, '/a', 'one')
    await files.fs.fsyncFolder('/')
    const done = sync(files.fs, fd)
    assert.ok((await left(files, (fs) => read(fs, '/a'))).includes(''))
    await done
    assert.deepEqual(await left(files, (fs) => read(fs, '/a')), ['one'])
  })

  test('synced content survives a second power cut', async () => {
    const files = crashFiles()
    await sync(files.fs, await write(files.fs, '/a', 'one'))
    await files.fs.fsyncFolder('/')
    for (const { files: after } of files.powerCuts()) {
      await write(after.fs, '/a', 'two')
      await write(after.fs, '/b', 'two')
      assert.deepEqual(await left(after, (fs) => read(fs, '/a')), ['one', 'two'])
    }
  })
})

describe('unsynced content', () => {
  test('unsynced content is torn at sectors in any order, and a length may precede its content', async () => {
    const files = crashFiles()
    await write(files.fs, '/a', `${'x'.repeat(512)}${'y'.repeat(512)}`)
    await files.fs.fsyncFolder('/')
    const short = (text: string): string => text.replaceAll(/(.)\1*/g, '$1')
    const texts = await left(files, async (fs) => short(await read(fs, '/a')))
    assert.deepEqual(texts, ['', '.', '.y', 'x.', 'xy'])
  })

  test('unsynced content may be an older version', async () => {
    const files = crashFiles()
    await write(files.fs, '/a', 'one')
    await write(files.fs, '/a', 'two')
    await files.fs.fsyncFolder('/')
    assert.deepEqual(await left(files, (fs) => read(fs, '/a')), ['', '...', 'one', 'two'])
  })

  test('a power cut can lose the lines or the length of an unsynced preallocated tail', async () => {
    const files = crashFiles()
    const fd = await write(files.fs, '/a', 'one')
    await sync(files.fs, fd)
    await files.fs.fsyncFolder('/')
    files.fs.extendSync(fd, 3, 8192)
    files.fs.writeSync(fd, Buffer.from('two'), 3)
    const texts = await left(files, async (fs) => {
      const text = await read(fs, '/a')
      return `${text.length} ${text.replace(/\.+$/, '')}`
    })
    assert.deepEqual(texts, ['3 one', '4096 one', '4096 onetwo', '8192 one', '8192 onetwo'])
  })

  test('unwritten sectors read as zeros', async () => {
    const files = crashFiles()
    const fd = await files.fs.open('/a', 'create')
    await files.fs.fsyncFolder('/')
    await files.fs.write(fd, Buffer.from('x'), 600)
    const texts = await left(files, async (fs) => (await read(fs, '/a')).replace(/\.+/, (dots) => `${dots.length} `))
    assert.deepEqual(texts, ['', '600 x', '601 '])
  })

  test('an unsynced truncation may have no effect', async () => {
    const files = crashFiles()
    const fd = await write(files.fs, '/a', 'one')
    await sync(files.fs, fd)
    await files.fs.fsyncFolder('/')
    files.fs.ftruncateSync(fd, 1)
    const texts = await left(files, (fs) => read(fs, '/a'))
    assert.ok(texts.includes('one') && texts.includes('o'), texts.join(' '))
  })

  test('content of a failed sync may be lost even if a later sync succeeds', async () => {
    const files = crashFiles({ before: failingCalls({ nth: 0, code: 'EIO', call: 'fdatasync' }) })
    const fd = await write(files.fs, '/a', 'one')
    await files.fs.fsyncFolder('/')
    await assert.rejects(sync(files.fs, fd), { code: 'EIO' })
    assert.equal(await read(files.fs, '/a'), 'one')
    await sync(files.fs, fd)
    assert.deepEqual(await left(files, (fs) => read(fs, '/a')), ['', '...', 'one'])
    await files.fs.write(fd, Buffer.from('!'), 4095)
    await sync(files.fs, fd)
    assert.deepEqual(await left(files, async (fs) => (await read(fs, '/a')).slice(0, 3)), ['one'])
  })
})

describe('unsynced names', () => {
  test('each unsynced name exists or not, independently', async () => {
    const files = crashFiles()
    for (const name of ['/a', '/b']) await files.fs.close(await write(files.fs, name, ''))
    assert.deepEqual(await left(files, (fs) => names(fs, '/')), ['', 'a', 'a b', 'b'])
    await files.fs.fsyncFolder('/')
    files.fs.unlinkSync('/a')
    files.fs.unlinkSync('/b')
    assert.deepEqual(await left(files, (fs) => names(fs, '/')), ['', 'a', 'a b', 'b'])
  })

  test('an unsynced rename leaves the old or the new name, never none', async () => {
    const files = crashFiles()
    for (const text of ['one', 'two']) {
      await sync(files.fs, await write(files.fs, `/${text}`, text))
    }
    await files.fs.fsyncFolder('/')
    files.fs.renameSync('/two', '/one')
    const both = async (fs: FileSystem) => `${await read(fs, '/one')} ${await read(fs, '/two')}`
    assert.deepEqual(await left(files, both), ['one two', 'two none'])
  })

  test('a rename to another folder leaves the old or the new name until that folder is synced', async () => {
    const files = crashFiles()
    await files.fs.mkdir('/a')
    await files.fs.mkdir('/b')
    await files.fs.mkdir('/a/c')
    for (const path of ['/a', '/b', '/']) await files.fs.fsyncFolder(path)
    files.fs.renameSync('/a/c', '/b/c')
    const both = async (fs: FileSystem) => `${await names(fs, '/a')}-${await names(fs, '/b')}`
    assert.deepEqual(await left(files, both), ['-c', 'c-'])
    await files.fs.fsyncFolder('/b')
    assert.deepEqual(await left(files, both), ['-c'])
  })

  test('a rename to another folder may lose both names if only the source folder is synced', async () => {
    const files = crashFiles()
    await files.fs.mkdir('/a')
    await files.fs.mkdir('/b')
    await files.fs.mkdir('/a/c')
    for (const path of ['/a', '/b', '/']) await files.fs.fsyncFolder(path)
    files.fs.renameSync('/a/c', '/b/c')
    await files.fs.fsyncFolder('/a')
    const both = async (fs: FileSystem) => `${await names(fs, '/a')}-${await names(fs, '/b')}`
    assert.deepEqual(await left(files, both), ['-', '-c'])
  })

  test('a name may be durable before its content', async () => {
    const files = crashFiles()
    await sync(files.fs, await write(files.fs, '/a', 'old'))
    await files.fs.fsyncFolder('/')
    await write(files.fs, '/b', 'new')
    files.fs.renameSync('/b', '/a')
    await files.fs.fsyncFolder('/')
    assert.deepEqual(await left(files, (fs) => read(fs, '/a')), ['', '...', 'new'])
  })

  test('the name of a recreated file leads to either file or to none', async () => {
    const files = crashFiles()
    await sync(files.fs, await write(files.fs, '/a', 'one'))
    files.fs.unlinkSync('/a')
    await sync(files.fs, await write(files.fs, '/a', 'two'))
    assert.deepEqual(await left(files, (fs) => read(fs, '/a')), ['none', 'one', 'two'])
  })

  test('if an unsynced folder is lost, everything in it is lost, even synced files', async () => {
    const files = crashFiles()
    await files.fs.mkdir('/a')
    await files.fs.mkdir('/a/b')
    await files.fs.fsyncFolder('/a')
    await sync(files.fs, await write(files.fs, '/a/b/c', 'one'))
    await files.fs.fsyncFolder('/a/b')
    const all = async (fs: FileSystem) =>
      (await names(fs, '/')) === '' ? 'none' : `${await names(fs, '/a')} ${await read(fs, '/a/b/c')}`
    assert.deepEqual(await left(files, all), ['b one', 'none'])
  })

  test('a moved folder moves everything in it', async () => {
    const files = crashFiles()
    await files.fs.mkdir('/a')
    await sync(files.fs, await write(files.fs, '/a/b', 'one'))
    await files.fs.fsyncFolder('/a')
    assert.deepEqual(await left(files, (fs) => read(fs, '/a/b')), ['none', 'one'])
  })

  test('a replaced file has the old or the new content', async () => {
    const files = crashFiles()
    await files.fs.replace('/a', 'one')
    await files.fs.fsyncFolder('/')
    const before = files.operations.length
    await files.fs.replace('/a', 'two')
    assert.deepEqual(await left(files, (fs) => read(fs, '/a')), ['one', 'two'])
    for (let after = before; after < files.operations.length; after++) {
      for (const text of await left(files, (fs) => read(fs, '/a'), { after })) assert.equal(text, 'one')
    }
  })
})

describe('sampled power cuts', () => {
  const many = async (): Promise<CrashFiles> => {
    const files = crashFiles()
    for (let n = 0; n < 20; n++) await write(files.fs, `/${n}`, 'text')
    return files
  }
  const prints = (files: CrashFiles, options: PowerCutOptions) =>
    [...files.powerCuts(options)].map(({ files: after }) => after.fingerprint())

  test('a sample of power cuts has the requested size, no duplicates, the cut that loses nothing and the cut that loses everything', async () => {
    const files = await many()
    const chosen = prints(files, { limit: 50 })
    assert.equal(new Set(chosen).size, 50)
    assert.ok(chosen.includes(files.fingerprint()) && chosen.includes(crashFiles().fingerprint()))
  })

  test('the same seed samples the same cuts, and another seed samples other cuts', async () => {
    const files = await many()
    assert.deepEqual(prints(files, { limit: 50, seed: 7 }), prints(files, { limit: 50, seed: 7 }))
    assert.notDeepEqual(prints(files, { limit: 50, seed: 7 }), prints(files, { limit: 50, seed: 8 }))
  })

  test('each power cut describes what is lost', async () => {
    const files = crashFiles()
    await files.fs.mkdir('/a')
    assert.deepEqual(
      [...files.powerCuts()].map(({ what }) => what()),
      ['nothing is lost', 'without: mkdir /a']
    )
  })
})

describe('flipped bits', () => {
  test('each file with a flipped bit differs in exactly one bit', async () => {
    const files = crashFiles()
    await write(files.fs, '/a', 'ab')
    const texts: Array<string> = []
    for (const { files: wrong } of files.bitFlips()) texts.push(await read(wrong.fs, '/a'))
    assert.equal(new Set(texts).size, 16)
    const bitsOf = (text: string): number => text.charCodeAt(0) * 256 + text.charCodeAt(1)
    for (const text of texts) assert.ok([...Array(16).keys()].some((bit) => (bitsOf(text) ^ bitsOf('ab')) === 1 << bit))
  })
})

describe('injected failures', () => {
  test('an injected failure is thrown, rejected or passed to the callback, as the call reports its errors', async () => {
    const { fs } = crashFiles({ before: failingCalls({ nth: 0, times: Number.POSITIVE_INFINITY, code: 'ENOSPC' }) })
    assert.throws(() => fs.unlinkSync('/a'), { code: 'ENOSPC' })
    await assert.rejects(fs.readdir('/'), { code: 'ENOSPC' })
    await assert.rejects(sync(fs, 3), { code: 'ENOSPC' })
  })

  test('an injected failure occurs as often as configured, and only in the configured call', async () => {
    const fs = interceptedFiles(failingCalls({ nth: 1, times: 2, code: 'EIO', call: 'mkdir' }))(crashFiles().fs)
    const outcomes: Array<string> = []
    for (const path of ['/a', '/b', '/c', '/d']) {
      assert.deepEqual(fs.lstatSync('/none'), undefined)
      await fs.mkdir(path).then(
        () => outcomes.push('made'),
        (error: { readonly code: string }) => outcomes.push(error.code)
      )
    }
    assert.deepEqual(outcomes, ['made', 'EIO', 'EIO', 'made'])
  })

  test('a SHORT write writes only the first half', async () => {
    const { fs } = crashFiles({ before: failingCalls({ nth: 1, code: 'SHORT' }) })
    const fd = await fs.open('/a', 'create')
    assert.equal(await fs.write(fd, Buffer.from('hello'), 0), 3)
    assert.equal(await read(fs, '/a'), 'hel')
  })

  test('an error of the real call is passed on unchanged', () => {
    const fs = interceptedFiles(() => undefined)(crashFiles().fs)
    assert.throws(() => fs.unlinkSync('/none'), { code: 'ENOENT' })
    assert.equal(systemError('EIO').code, 'EIO')
  })
})

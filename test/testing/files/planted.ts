/** The JSON store with a planted fault: one exact piece of text in one module is replaced. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Plugin } from 'esbuild'
import { build } from 'esbuild'
import { afterAll } from 'vitest'
import type { MakeStorage } from './lives.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const folders: Array<string> = []

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** Text of a module below src/adapters/json-file, and its replacement. */
export interface Fault {
  readonly module: string
  readonly text: string
  readonly instead: string
}

/** Faults that each way of testing must find. */
export const FAULTS = {
  folderNotSynced: [
    { module: 'Publish.ts', text: 'context.fs.fsyncFolder(layout.history)', instead: 'Promise.resolve()' }
  ],
  acknowledgesBeforeSync: [
    {
      module: 'Save.ts',
      text: 'fs.fdatasync(journal.fd, check)',
      instead: 'fs.fdatasync(journal.fd, () => undefined)\n      check(null)'
    }
  ],
  unreadableIsNothing: [
    {
      module: 'Read.ts',
      text: '    if (E.isLeft(level)) return level\n    if (level.right === undefined) return E.right(undefined)\n    const { number, whole, journal } = level.right\n    inspected',
      instead:
        '    if (E.isLeft(level)) continue\n    if (level.right === undefined) return E.right(undefined)\n    const { number, whole, journal } = level.right\n    inspected'
    },
    {
      module: 'ReadOne.ts',
      text: 'return E.isLeft(same) ? same : E.right(same.right',
      instead: 'return E.isLeft(same) ? E.right(true) : E.right(same.right'
    }
  ],
  sumsNotChecked: [
    {
      module: 'Line.ts',
      text: 'if (!head.startsWith(sumOf(isText ? line.slice(BODY) : line.subarray(BODY)), SUM_BEGIN))',
      instead: 'if (!head.startsWith(HEAD))'
    }
  ],
  checkedBeforeSync: [
    {
      module: 'Save.ts',
      text: '    const now = ownership(fs, journal)\n    if (E.isLeft(now)) return done',
      instead: '    if (E.isLeft(now)) return done'
    },
    {
      module: 'Save.ts',
      text: '  const extended = extend(holding, journal.position + line.length)\n',
      instead:
        '  const now = ownership(fs, journal)\n  const extended = extend(holding, journal.position + line.length)\n'
    }
  ]
} as const satisfies Readonly<Record<string, ReadonlyArray<Fault>>>

const planting = (faults: ReadonlyArray<Fault>, planted: Set<Fault>): Plugin => ({
  name: 'planting',
  setup: (context) =>
    context.onLoad({ filter: /src[/\\]adapters[/\\]json-file[/\\].+\.ts$/ }, ({ path }) => {
      let contents = readFileSync(path, 'utf8')
      for (const fault of faults.filter(({ module }) => module === basename(path))) {
        assert.equal(contents.split(fault.text).length, 2, `not once in ${fault.module}: ${fault.text}`)
        contents = contents.replace(fault.text, () => fault.instead)
        planted.add(fault)
      }
      return { contents, loader: 'ts' }
    })
})

/** The store with faults. Fails unless each text occurs exactly once. */
export const planted = async (...faults: ReadonlyArray<Fault>): Promise<MakeStorage> => {
  const temporary = join(root, 'test/.tmp')
  mkdirSync(temporary, { recursive: true })
  const folder = mkdtempSync(join(temporary, 'planted-'))
  folders.push(folder)
  const done = new Set<Fault>()
  const outfile = join(folder, 'store.mjs')
  await build({
    entryPoints: [join(root, 'src/adapters/json-file/index.ts')],
    plugins: [planting(faults, done)],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    logLevel: 'error'
  })
  assert.equal(done.size, faults.length)
  const store = (await import(/* @vite-ignore */ pathToFileURL(outfile).href)) as { jsonFileStorage: MakeStorage }
  return store.jsonFileStorage
}

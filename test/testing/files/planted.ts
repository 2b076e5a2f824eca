/** The JSON store with a fault planted in its source: one exact piece of text in one module is another. */
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

/** Text of a module below src/adapters/json-file, and what stands there instead. */
export interface Fault {
  readonly module: string
  readonly text: string
  readonly instead: string
}

const planting = (faults: ReadonlyArray<Fault>, planted: Set<Fault>): Plugin => ({
  name: 'planting',
  setup: (context) =>
    context.onLoad({ filter: /json-file[/\\]\w+\.ts$/ }, ({ path }) => {
      let contents = readFileSync(path, 'utf8')
      for (const fault of faults.filter(({ module }) => module === basename(path))) {
        assert.equal(contents.split(fault.text).length, 2, `not once in ${fault.module}: ${fault.text}`)
        contents = contents.replace(fault.text, () => fault.instead)
        planted.add(fault)
      }
      return { contents, loader: 'ts' }
    })
})

/** The store with faults. That there is the text, and once, is sure. */
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

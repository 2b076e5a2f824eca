/** The PostgreSQL store with planted faults: exact pieces of its source are replaced. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { afterAll } from 'vitest'
import type { postgresStorage } from '../../../src/adapters/postgres/index.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const folders: Array<string> = []

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** Text of a module below src/adapters/postgres, and its replacement. */
interface Fault {
  readonly module: string
  readonly text: string
  readonly instead: string
}

const CLAIM = 'epoch = $2::bigint AND token = $3::uuid AND head = $4::bigint'
const NO_CLAIM = '$2::bigint IS NOT NULL AND $3::uuid IS NOT NULL AND $4::bigint IS NOT NULL'

export const FAULTS = {
  'checks the fence in a statement before the write': [
    { module: 'Statements.ts', text: CLAIM, instead: NO_CLAIM },
    { module: 'Save.ts', text: '  if (isRepeated) {', instead: '  if (isRepeated || true) {' }
  ],
  'loads in two statements': [
    {
      module: 'Read.ts',
      text: '    const { run, head, rows } = result.right.value\n    const content = Contents.newest',
      instead: `    const again = await find(database, runId, query(database, columns, which))
    const { run, head, rows: first } = result.right.value
    const later = E.isRight(again) && O.isSome(again.right) ? again.right.value.rows : first
    const rows = [...first.filter((row) => row.checkpoint !== null), ...later.filter((row) => row.checkpoint === null)]
    const content = Contents.newest`
    }
  ],
  'draws the epoch before it has the lock of the row': [
    {
      module: 'Claims.ts',
      text: 'SELECT $1, ${FORMAT}, 1,',
      instead: "SELECT $1, ${FORMAT}, 1 + coalesce((SELECT epoch FROM ${database.table('runs')} WHERE id = $1), 0),"
    },
    { module: 'Claims.ts', text: 'epoch = r.epoch + 1', instead: 'epoch = excluded.epoch' }
  ],
  'fences by the epoch alone': [
    { module: 'Statements.ts', text: 'AND token = $3::uuid', instead: 'AND $3::uuid IS NOT NULL' }
  ],
  'takes an error for a missing run': [
    {
      module: 'Read.ts',
      text: 'if (E.isLeft(result)) return result\n  const [run]',
      instead: 'if (E.isLeft(result)) return E.right(O.none)\n  const [run]'
    }
  ],
  'repeats a save without looking for it': [
    { module: 'Save.ts', text: "if (row?.['saved'] === true) return E.right('committed')", instead: '' }
  ],
  'does not take its lock again': [
    { module: 'Liveness.ts', text: '    session = undefined\n    onBroken()', instead: '    session = undefined' },
    { module: 'ClaimKeeper.ts', text: '} else if (liveness.current() === undefined) await writeKey()', instead: '}' }
  ],
  'does not listen for errors of the pool': [
    { module: 'Database.ts', text: "if (!watched.has(pool)) pool.on('error', () => undefined)", instead: '' }
  ],
  'commits asynchronously': [
    {
      module: 'Statements.ts',
      text: "current_setting('synchronous_commit') = ANY ($7::text[])",
      instead: "$7::text[] IS NOT NULL AND set_config('synchronous_commit', 'off', true) = 'off'"
    }
  ]
} as const satisfies Readonly<Record<string, ReadonlyArray<Fault>>>

/** The store with a fault. Fails unless each text occurs exactly once. */
export const planted = async (faults: ReadonlyArray<Fault>): Promise<typeof postgresStorage> => {
  const temporary = join(root, 'test/.tmp')
  mkdirSync(temporary, { recursive: true })
  const folder = mkdtempSync(join(temporary, 'planted-'))
  folders.push(folder)
  const done = new Set<Fault>()
  const outfile = join(folder, 'store.mjs')
  await build({
    entryPoints: [join(root, 'src/adapters/postgres/index.ts')],
    plugins: [
      {
        name: 'planting',
        setup: (context) =>
          context.onLoad({ filter: /src[/\\]adapters[/\\]postgres[/\\].+\.ts$/ }, ({ path }) => {
            let contents = readFileSync(path, 'utf8')
            for (const fault of faults.filter(({ module }) => module === basename(path))) {
              assert.equal(contents.split(fault.text).length, 2, `not once in ${fault.module}: ${fault.text}`)
              contents = contents.replace(fault.text, () => fault.instead)
              done.add(fault)
            }
            return { contents, loader: 'ts' }
          })
      }
    ],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    logLevel: 'error'
  })
  assert.equal(done.size, faults.length)
  return ((await import(/* @vite-ignore */ pathToFileURL(outfile).href)) as { postgresStorage: typeof postgresStorage })
    .postgresStorage
}

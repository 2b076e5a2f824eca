/** Lists and prunes many completed runs in JSON files. */
import { createHash } from 'node:crypto'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { listRuns, prune } from 'dogear'
import { jsonFileStorage } from 'dogear/json-file'
import { nodeEnvironment } from 'dogear/node'
import { run, workflow } from 'dogear/promise'

/** Milliseconds for all runs. */
export interface Listing {
  readonly listMillis: number
  readonly pruneMillis: number
}

const ID = 'run-00000'

/** The lines of a journal for a run with another id of the same length. */
const renamed = (journal: string, id: string): string =>
  journal.replaceAll(/^.{42}(.+)$/gm, (_, rest: string) => {
    const body = rest.replaceAll(ID, id)
    return `{"sum":"${createHash('sha256').update(body).digest('hex').slice(0, 32)}",${body}`
  })

/** Runs of ten steps, copied from one. */
const make = async (root: string, count: number): Promise<void> => {
  let flow = workflow('listed')
  for (let n = 0; n < 10; n++) flow = flow.step(`step-${n}`, () => ({ value: n, text: 'x'.repeat(50) }))
  await run(flow, { id: ID, storage: jsonFileStorage(root) })
  const first = join(root, 'runs', ID)
  const journal = await readFile(join(first, 'history/e000001.jsonl'), 'utf8')
  for (let n = 1; n < count; n++) {
    const id = `run-${String(n).padStart(5, '0')}`
    const place = join(root, 'runs', id)
    await mkdir(join(place, 'history'), { recursive: true, mode: 0o700 })
    await writeFile(join(place, 'history/e000001.jsonl'), renamed(journal, id), { mode: 0o600 })
    await cp(join(first, 'checkpoint.json'), join(place, 'checkpoint.json'))
  }
}

const timed = async (act: () => Promise<number>, count: number): Promise<number> => {
  const began = performance.now()
  const found = await act()
  if (found !== count) throw new Error(`${found} runs of ${count}`)
  return performance.now() - began
}

/** The median of some listings with a warm cache, and one prune. */
export const listing = async (root: string, count: number): Promise<Listing> => {
  const folder = join(root, `listed-${count}`)
  await make(folder, count)
  const environment = nodeEnvironment(jsonFileStorage(folder))
  const all: Array<number> = []
  for (let n = 0; n < 5; n++)
    all.push(
      await timed(async () => {
        const listed = await listRuns()(environment)()
        return E.isRight(listed) ? listed.right.length : -1
      }, count)
    )
  const pruneMillis = await timed(async () => {
    const pruned = await prune({ keep: 0 })(environment)()
    return E.isRight(pruned) ? pruned.right.removed.length : -1
  }, count)
  await rm(folder, { recursive: true })
  return { listMillis: all.sort((a, b) => a - b)[2] ?? 0, pruneMillis }
}

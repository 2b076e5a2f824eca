/** Lists runs by the summaries at the ends of their journals (`docs/file-format.md` §6.1). It never fails a run: what it cannot read is loaded. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { join, resolve } from 'node:path'
import * as RunId from '../../../domain/checkpoint/RunId.js'
import * as Summary from '../../../domain/checkpoint/Summary.js'
import type { Listed, ListOptions, StorageError } from '../../../ports/CheckpointStorage.js'
import type { Context } from '../Context.js'
import { isFolder, isOld, namesIn, checkRoot, readBetween, withFile } from '../files/Files.js'
import * as Layout from '../files/Layout.js'
import * as Line from './Line.js'

/** How many runs are read at once. */
const AT_ONCE = 64

export const list = async (
  context: Context,
  { after = '', limit }: ListOptions
): Promise<E.Either<StorageError, ReadonlyArray<Listed>>> => {
  const own = checkRoot(context.fs, resolve(context.root))
  if (E.isLeft(own)) return own
  const names = await namesIn(context.fs, Layout.runsOf(context.root))
  if (E.isLeft(names)) return names
  const ids = O.isNone(names.right)
    ? []
    : names.right.value.filter((name) => name > after && E.isRight(RunId.parse(name)))
  const page = ids.sort().slice(0, limit)
  const listed: Array<Listed> = []
  for (let n = 0; n < page.length; n += AT_ONCE)
    listed.push(...(await Promise.all(page.slice(n, n + AT_ONCE).map((runId) => listedRun(context, runId)))))
  return E.right(listed)
}

const listedRun = async (context: Context, runId: string): Promise<Listed> => {
  const layout = Layout.of(context.root, runId)
  const there = isFolder(context.fs, layout.run)
  const names = E.isRight(there) && there.right ? await namesIn(context.fs, layout.history) : E.right(O.none)
  const [highest] = E.isRight(names) && O.isSome(names.right) ? Layout.numbers(names.right.value) : []
  const summary = highest === undefined ? O.none : await summaryIn(context, layout, highest)
  if (O.isSome(summary)) return { runId, summary: { ...summary.value, heldBy: O.none } }
  return (await isAbandoned(context, layout)) ? { runId, isAbandoned: true } : { runId }
}

/** True if a run's folder has nothing but old files of claims: not if it is a user's own, or if a claim may be in progress. */
const isAbandoned = async ({ fs }: Context, layout: Layout.Layout): Promise<boolean> => {
  try {
    if (!isOld(fs, layout.run)) return false
    for (const folder of [layout.run, layout.history]) {
      const names = await namesIn(fs, folder)
      if (E.isLeft(names)) return false
      for (const name of O.isSome(names.right) ? names.right.value : []) {
        const path = join(folder, name)
        if (!(path === layout.history || Layout.isOfClaim(name)) || !isOld(fs, path)) return false
      }
    }
    return true
  } catch {
    return false
  }
}

/** More than a released line has, unless its names are very long. */
const TAIL_BYTES = 2_048

/** The summary in the released line that ends a journal. */
const summaryIn = async (
  { fs }: Context,
  layout: Layout.Layout,
  number: number
): Promise<O.Option<Summary.Summary>> => {
  const path = Layout.journal(layout, number)
  const tail = await withFile(fs, path, (fd, { size }) =>
    readBetween(fs, path, fd, Math.max(0, size - TAIL_BYTES), size)
  )
  if (E.isLeft(tail) || O.isNone(tail.right)) return O.none
  const bytes = tail.right.value
  const begin = bytes.lastIndexOf(NEWLINE, -2) + 1
  if (begin === 0 || bytes.at(-1) !== NEWLINE) return O.none
  const line = Line.decode(bytes.subarray(begin, -1))
  if (E.isLeft(line)) return O.none
  const { kind, runId, epoch, summary } = line.right
  return kind === 'released' && runId === layout.runId && epoch === number ? Summary.decode(summary) : O.none
}

const NEWLINE = 0x0a

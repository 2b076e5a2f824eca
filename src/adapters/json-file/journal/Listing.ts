/** Lists runs by the summaries at the ends of their journals (`docs/file-format.md` §6.1). The caller loads a run without a readable summary. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { join, resolve } from 'node:path'
import * as RunId from '../../../domain/checkpoint/RunId.js'
import * as Summary from '../../../domain/checkpoint/Summary.js'
import type { Listed, ListOptions, StorageError } from '../../../ports/CheckpointStorage.js'
import type { Context } from '../Context.js'
import { isFolder, isOld, namesIn, checkRoot, readBetween, withFile } from '../files/Files.js'
import * as Layout from '../files/Layout.js'
import { holderOf } from '../claim/Liveness.js'
import * as Line from './Line.js'
import * as Read from './Read.js'

/** The number of runs to read concurrently. */
const CONCURRENCY = 64

export const list = async (
  context: Context,
  { after = '', limit }: ListOptions
): Promise<E.Either<StorageError, ReadonlyArray<Listed>>> => {
  const checked = checkRoot(context.fs, resolve(context.root))
  if (E.isLeft(checked)) return checked
  const names = await namesIn(context.fs, Layout.runsOf(context.root))
  if (E.isLeft(names)) return names
  const ids = names.right.filter((name) => name > after && E.isRight(RunId.parse(name)))
  const page = ids.sort().slice(0, limit)
  const listed: Array<Listed> = []
  for (let n = 0; n < page.length; n += CONCURRENCY)
    listed.push(...(await Promise.all(page.slice(n, n + CONCURRENCY).map((runId) => listedRun(context, runId)))))
  return E.right(listed)
}

const listedRun = async (context: Context, runId: string): Promise<Listed> => {
  const layout = Layout.of(context.root, runId)
  const there = isFolder(context.fs, layout.run)
  const names = E.isRight(there) && there.right ? await namesIn(context.fs, layout.history) : E.right([])
  const [highest] = E.isRight(names) ? Layout.numbers(names.right) : []
  const summary = highest === undefined ? undefined : await summaryIn(context, layout, highest)
  if (summary !== undefined) return { runId, summary: { ...summary, heldBy: O.none } }
  return (await isAbandoned(context, layout)) ? { runId, isAbandoned: true } : { runId }
}

/** True if a run's folder has only old files of claims, and the run has no owner. False if there is any other file, or a claim may be in progress. */
const isAbandoned = async (context: Context, layout: Layout.Layout): Promise<boolean> => {
  const { fs } = context
  try {
    if (!isOld(fs, layout.run)) return false
    for (const folder of [layout.run, layout.history]) {
      const names = await namesIn(fs, folder)
      if (E.isLeft(names)) return false
      for (const name of names.right) {
        const path = join(folder, name)
        if (!(path === layout.history || Layout.isOfClaim(name)) || !isOld(fs, path)) return false
      }
    }
    const read = await Read.readHighest(context, layout)
    if (E.isLeft(read) || read.right === undefined) return E.isRight(read)
    return (await holderOf(context, layout, read.right.journals.highest)) === undefined
  } catch {
    return false
  }
}

/** More than the length of a released line, unless its names are very long. */
const TAIL_BYTES = 2_048

/** The summary in the released line that ends a journal. */
const summaryIn = async (
  { fs }: Context,
  layout: Layout.Layout,
  number: number
): Promise<Summary.Summary | undefined> => {
  const path = Layout.journal(layout, number)
  const tail = await withFile(fs, path, (fd, { size }) =>
    readBetween(fs, path, fd, Math.max(0, size - TAIL_BYTES), size)
  )
  if (E.isLeft(tail) || tail.right === undefined) return undefined
  const bytes = tail.right
  const begin = bytes.lastIndexOf(NEWLINE, -2) + 1
  if (begin === 0 || bytes.at(-1) !== NEWLINE) return undefined
  const line = Line.decode(bytes.subarray(begin, -1))
  if (E.isLeft(line)) return undefined
  const { kind, runId, epoch, summary } = line.right
  const isOwn = kind === 'released' && runId === layout.runId && epoch === number
  return isOwn ? O.toUndefined(Summary.decode(summary)) : undefined
}

const NEWLINE = 0x0a

/** Deletes the oldest journals and the leftovers of crashes (`docs/file-format.md` §8 and §9). */
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { Context } from '../Context.js'
import { codeOf, quietly, reading } from '../files/Fault.js'
import { isOld, namesIn } from '../files/Files.js'
import type { FoundRecord } from './Journal.js'
import * as Layout from '../files/Layout.js'
import type { Published } from './Publish.js'
import { ownership } from './Publish.js'
import { descent } from './Read.js'
import { readJournal } from './ReadOne.js'
import type { Holding } from '../claim/Holding.js'

/** Once the base of `journal` is synced and checked, deletes journals below the newest `keep` with a good base; damaged ones get another name. */
export const prune = async (holding: Holding, journal: Published): Promise<void> => {
  const { fs } = holding.context
  const { layout } = holding
  // Works below the open folder, which stays the same even if the run is removed and its id reused.
  const folder = await reading(layout.history, 'open', () => fs.open(layout.history, 'read'))
  // Windows cannot open folders.
  if (E.isLeft(folder) && process.platform !== 'win32') return
  await quietly(() => {
    const place = E.isRight(folder) ? fs.folderSync(folder.right) : undefined
    return pruneIn(holding, place === undefined ? layout : { ...layout, history: place }, journal)
  })
  if (E.isRight(folder)) await quietly(() => fs.close(folder.right))
}

const pruneIn = async (
  { context, record, claim, found }: Holding,
  layout: Layout.Layout,
  journal: Published
): Promise<void> => {
  const names = await namesIn(context.fs, layout.history)
  if (E.isLeft(names)) return
  const below = Layout.numbers(names.right).filter((number) => number < journal.number)
  if (below.length < context.settings.keep) return
  const superfluous = await belowKept(context, layout, below, journal.number === claim.epoch ? found : undefined)
  for (const number of superfluous.toReversed()) {
    const read = await readJournal(context, layout, number)
    if (E.isLeft(read)) return
    if (read.right === undefined) continue
    if (read.right.damage.length > 0 && !(await keepDamaged(context, layout, number, record.token))) return
    const now = ownership(context.fs, journal)
    if (E.isLeft(now) || now.right !== 'Owner') return
    // The check and the deletion run in the same synchronous code, so that this process does nothing in between.
    if (!unlink(context, Layout.journal(layout, number))) return
  }
}

/** Links a damaged journal to another name; the caller deletes the old one, under which an owner that wakes would keep saving. */
const keepDamaged = async ({ fs }: Context, layout: Layout.Layout, number: number, token: string): Promise<boolean> => {
  try {
    await fs.link(Layout.journal(layout, number), Layout.prunedDamaged(layout, number, token))
    return true
  } catch (cause) {
    return codeOf(cause) === 'EEXIST'
  }
}

/** True if the file no longer exists, whichever process deleted it. */
const unlink = ({ fs }: Context, path: string): boolean => {
  try {
    fs.unlinkSync(path)
    return true
  } catch (cause) {
    return codeOf(cause) === 'ENOENT'
  }
}

/** The numbers below the kept ones, highest first. This claim's journal counts as kept, one with the refused base of a fenced owner does not. */
const belowKept = async (
  context: Context,
  layout: Layout.Layout,
  below: ReadonlyArray<number>,
  foundByOwner: FoundRecord | undefined
): Promise<ReadonlyArray<number>> => {
  let toKeep = context.settings.keep - 1
  if (toKeep === 0) return below
  for await (const level of descent(context, layout, below, foundByOwner)) {
    if (E.isLeft(level)) return []
    const lowest = level.right
    if (lowest?.journal.base === undefined) continue
    toKeep--
    if (toKeep === 0) return below.filter((number) => number < lowest.number)
  }
  return []
}

/** Deletes the leftovers of crashes in a claimed run: the previous owner's at once, others and those of write-file-atomic after an hour. */
export const cleanUp = async (
  context: Context,
  layout: Layout.Layout,
  ownToken: string,
  formerToken: string | undefined
): Promise<void> => {
  for (const folder of [layout.run, layout.history]) {
    const names = await namesIn(context.fs, folder)
    if (E.isLeft(names)) continue
    for (const name of names.right) {
      const token = Layout.tokenIn(name)
      if (token === ownToken || (token === undefined && !Layout.isUnfinishedCopy(name))) continue
      const path = join(folder, name)
      if (token === formerToken || isOld(context.fs, path)) await remove(context, path)
    }
  }
}

const remove = ({ fs }: Context, path: string): Promise<void> =>
  quietly(() => (fs.lstatSync(path)?.kind === 'folder' ? fs.removeTree(path) : fs.unlinkSync(path)))

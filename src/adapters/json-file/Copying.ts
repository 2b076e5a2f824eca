/**
 * Keeping `checkpoint.json` up to date, aside: it never delays or fails a save. `docs/file-format.md` §7 is the norm.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as Copy from './Copy.js'
import { quietly } from './Fault.js'
import { readWhole } from './Files.js'
import { FORMAT } from './Journal.js'
import { copyInTheMaking } from './Layout.js'
import { standing } from './Publish.js'
import type { Holding } from './Holding.js'
import { later } from './Holding.js'

/** How much of a claim's time goes into copies while it runs. */
const SHARE_OF_TIME = 0.05

/** How much is written in copies while it runs, as a part of what is written in journals. */
const SHARE_OF_BYTES = 0.25

/**
 * Sees whether a copy is to be made after a save: at the start, when the run comes to rest, and else whenever copies took
 * little of the time and of the writing so far. It is made in the background.
 *
 * @category combinators
 * @since 0.1.0
 */
export const consider = (holding: Holding): void => {
  if (holding.copying || !isDue(holding)) return
  holding.copying = true
  later(holding, () => make(holding))
}

const isDue = (holding: Holding): boolean =>
  isAtRest(holding) || (holding.writtenBytes >= holding.nextCopyBytes && performance.now() >= holding.nextCopyMillis)

const isAtRest = ({ saved }: Holding): boolean =>
  saved?.revision.change._tag === 'StepFailed' || saved?.revision.change._tag === 'Interrupted'

/**
 * Makes a copy of what was saved last, unless there is one.
 *
 * @category combinators
 * @since 0.1.0
 */
export const make = async (holding: Holding): Promise<void> => {
  const { context, layout, journal, record, saved, moving } = holding
  holding.copying = false
  if (saved === undefined || moving || holding.ended !== undefined) return
  const { revision, checkpoint } = saved.revision
  if (revision === holding.copied) return
  const begun = performance.now()
  const of = {
    format: FORMAT,
    runId: layout.runId,
    lineage: record.lineage,
    // Not that of the journal in use: its base may be about to be written only.
    epoch: saved.number,
    revision
  }
  holding.nextCopyMillis = Number.POSITIVE_INFINITY
  const text = Copy.encode(of, checkpoint(), context.settings.readBytes)
  const now = standing(context.fs, journal)
  if (E.isRight(now) && now.right === 'Owner') {
    await quietly(async () => {
      if (await replace(holding, text)) holding.copied = revision
    })
  }
  const end = performance.now()
  const took = end - begun
  holding.copyingMillis += took
  holding.copiedBytes += text.length
  holding.nextCopyMillis = Math.max(end, holding.startMillis + (holding.copyingMillis + took) / SHARE_OF_TIME)
  holding.nextCopyBytes = (holding.copiedBytes + text.length) / SHARE_OF_BYTES
}

/**
 * Made beside it, read back, and only then given its name: what write-file-atomic publishes may be half a file. The check
 * comes last. Whether it has its name now. If the run is removed after it, what was made moves away with the folder, and can't get into another run's.
 */
const replace = async (
  { context: { fs, settings }, layout, journal, record }: Holding,
  text: string
): Promise<boolean> => {
  const made = copyInTheMaking(layout, record.token)
  await fs.replace(made, text)
  const found = await readWhole(fs, made, settings.readBytes, layout.runId)
  const isWhole = E.isRight(found) && O.isSome(found.right) && found.right.value.equals(Buffer.from(text))
  const now = standing(fs, journal)
  if (!isWhole || E.isLeft(now) || now.right !== 'Owner') {
    fs.unlinkSync(made)
    return false
  }
  fs.renameSync(made, layout.copy)
  await fs.fsyncFolder(layout.run)
  return true
}

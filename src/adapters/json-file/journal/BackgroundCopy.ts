/** Keeps `checkpoint.json` up to date in the background, without delaying or failing a save (`docs/file-format.md` §7). */
import * as E from 'fp-ts/lib/Either.js'
import * as CheckpointCopy from './CheckpointCopy.js'
import { quietly } from '../files/Fault.js'
import { readWhole } from '../files/Files.js'
import { FORMAT } from './Journal.js'
import { unfinishedCopy } from '../files/Layout.js'
import { ownership } from './Publish.js'
import type { Holding } from '../claim/Holding.js'
import { COPY_LAG_MILLIS, runLater } from '../claim/Holding.js'

/** The maximum share of a claim's time to spend on copies while the run is active. */
const SHARE_OF_TIME = 0.05

/** A larger copy is written only when the run stops. */
const RUNNING_BYTES = 8 * 1_048_576

type Saved = NonNullable<Holding['saved']>

/** Schedules a copy after a save: at once if the run stopped or the last copy is old enough, else later. */
export const update = (holding: Holding): void => {
  if (holding.copying) return
  if (isAtRest(holding)) queue(holding)
  else if (holding.copyTimer === undefined && !isTooLarge(holding)) schedule(holding)
}

const isAtRest = ({ released, saved }: Holding): boolean =>
  released || saved?.revision.change._tag === 'UnitFailed' || saved?.revision.change._tag === 'Interrupted'

/** Before a journal's first copy, its base predicts the size. */
const isTooLarge = ({ baseBytes, copyBytes }: Holding): boolean => (copyBytes || baseBytes) > RUNNING_BYTES

const queue = (holding: Holding): void => {
  stop(holding)
  holding.copying = true
  runLater(holding, () => make(holding))
}

const schedule = (holding: Holding): void => {
  const wait = holding.nextCopyMillis - performance.now()
  if (wait <= 0) return queue(holding)
  holding.copyTimer = setTimeout(() => {
    holding.copyTimer = undefined
    schedule(holding)
  }, wait)
  holding.copyTimer.unref()
}

/** Cancels a scheduled copy. */
export const stop = (holding: Holding): void => {
  clearTimeout(holding.copyTimer)
  holding.copyTimer = undefined
}

/** Copies the newest saved revision, unless it is already copied. */
export const make = async (holding: Holding): Promise<void> => {
  const { saved, compacting, ended } = holding
  if (saved === undefined || compacting || ended !== undefined || saved.revision.revision === holding.copied) {
    holding.copying = false
    return
  }
  const begun = performance.now()
  await quietly(() => copy(holding, saved))
  const took = performance.now() - begun
  if (holding.nextCopyMillis > 0 && !isAtRest(holding)) holding.copyingMillis += took
  const affordableMillis = holding.startMillis + (holding.copyingMillis + took) / SHARE_OF_TIME
  holding.nextCopyMillis = Math.max(begun + COPY_LAG_MILLIS, affordableMillis)
  holding.copying = false
  if (holding.released || holding.ended !== undefined) return
  if (holding.saved !== saved) update(holding)
  else if (holding.copied !== saved.revision.revision && !isTooLarge(holding)) schedule(holding)
}

const copy = async (holding: Holding, { revision, number }: Saved): Promise<void> => {
  const { context, layout, journal, record } = holding
  const source = {
    format: FORMAT,
    runId: layout.runId,
    lineage: record.lineage,
    epoch: number,
    revision: revision.revision
  }
  const text = CheckpointCopy.encode(source, revision.checkpoint(), context.settings.readBytes)
  const bytes = Buffer.from(text)
  holding.copyBytes = bytes.length
  if (isTooLarge(holding) && !isAtRest(holding)) return
  const now = ownership(context.fs, journal)
  if (E.isLeft(now) || now.right !== 'Owner') return
  if (await replace(holding, text, bytes)) holding.copied = revision.revision
}

/** Writes elsewhere, verifies, checks ownership, then renames: write-file-atomic may publish half a file. Returns whether it renamed. */
const replace = async (
  { context: { fs, settings }, layout, journal, record }: Holding,
  text: string,
  bytes: Buffer
): Promise<boolean> => {
  const made = unfinishedCopy(layout, record.token)
  await fs.replace(made, text)
  const found = await readWhole(fs, made, settings.readBytes, layout.runId)
  const isWhole = E.isRight(found) && found.right?.equals(bytes) === true
  const now = ownership(fs, journal)
  if (!isWhole || E.isLeft(now) || now.right !== 'Owner') {
    fs.unlinkSync(made)
    return false
  }
  fs.renameSync(made, layout.copy)
  await fs.fsyncFolder(layout.run)
  return true
}

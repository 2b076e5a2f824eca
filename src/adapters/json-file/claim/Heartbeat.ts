/** The liveness signal for processes that see neither the owner's process nor its socket: a folder that the owner touches every few seconds. */
import * as E from 'fp-ts/lib/Either.js'
import type { WriteFailed } from '../../../ports/CheckpointStorage.js'
import type { Verdict, Context, Observation } from '../Context.js'
import { quietly, writing } from '../files/Fault.js'
import type { Layout } from '../files/Layout.js'
import { heartbeat } from '../files/Layout.js'
import { withFolder } from '../files/Mounts.js'

export interface Heartbeat {
  readonly stop: () => Promise<void>
}

/** The heartbeat of a claim that needs none. */
export const NONE: Heartbeat = { stop: () => Promise.resolve() }

/** If another process touches or deletes the folder, `onDisturbed` returns whether to create it again; if that fails, `onLost` gets the error. */
export const start = async (
  path: string,
  { fs, settings }: Context,
  onDisturbed: () => boolean,
  onLost: (error: WriteFailed) => void
): Promise<E.Either<WriteFailed, Heartbeat>> => {
  const timing = { updateMillis: settings.heartbeatMillis, staleMillis: settings.staleMillis }
  let stopped = false
  let end: () => Promise<void>

  const begin = (): Promise<E.Either<WriteFailed, void>> =>
    writing(path, 'lock', async () => {
      end = await fs.heartbeat(path, timing, () => void restart())
    })

  const restart = async (): Promise<void> => {
    if (stopped || !onDisturbed()) return
    await quietly(() => fs.removeTree(path))
    const result = await begin()
    if (stopped) await quietly(() => end())
    else if (E.isLeft(result)) onLost(result.left)
  }

  const stop = async (): Promise<void> => {
    stopped = true
    await quietly(() => end())
  }

  return E.map((): Heartbeat => ({ stop }))(await begin())
}

/** Returns `dead` if this thread saw the same beat twice, at least the stale time apart by its monotonic clock, never by the owner's. */
export const check = async (context: Context, layout: Layout, token: string): Promise<Verdict> => {
  const path = heartbeat(layout, token)
  const beat = beatOf(context, path)
  if (beat === undefined) return undefined
  const now = performance.now()
  const before = context.observations.get(path)
  if (before?.beat !== beat) {
    const hasChanged = before !== undefined && beat !== MISSING
    remember(context, path, { beat, sinceMillis: now, hasChanged })
    return hasChanged ? 'alive' : undefined
  }
  const elapsed = now - before.sinceMillis
  if (elapsed >= context.settings.staleMillis && elapsed >= (await leastStaleMillis(context, layout))) return 'dead'
  return before.hasChanged ? 'alive' : undefined
}

const MISSING = 'missing'

/** The modification time and inode of the folder; `undefined` if it cannot be read. */
const beatOf = ({ fs }: Context, path: string): string | undefined => {
  try {
    const stats = fs.lstatSync(path)
    return stats === undefined ? MISSING : `${stats.modifiedMillis} of ${stats.ino}`
  } catch {
    return undefined
  }
}

const MOST_OBSERVATIONS = 10_000

/** Evicts the oldest observations beyond the limit; a verdict on their owners then needs two new observations. */
const remember = ({ observations }: Context, path: string, seen: Observation): void => {
  observations.delete(path)
  for (const oldest of observations.keys()) {
    if (observations.size < MOST_OBSERVATIONS) break
    observations.delete(oldest)
  }
  observations.set(path, seen)
}

/** An NFS client may cache attributes for a minute. */
const NFS_STALE_MILLIS = 65_000

const leastStaleMillis = async ({ fs }: Context, { run }: Layout): Promise<number> => {
  try {
    return (await withFolder(fs, run, ({ type }) => Promise.resolve(/^nfs\d?$/.test(type) ? NFS_STALE_MILLIS : 0))) ?? 0
  } catch {
    return 0
  }
}

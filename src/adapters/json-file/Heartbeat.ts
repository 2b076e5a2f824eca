/**
 * The sign of life for those who can't see our process: a folder that is touched every few seconds.
 *
 * Each claim has a path of its own, so nobody competes for one, and nothing is decided by it but whether a claim may be
 * tried. `docs/file-format.md` §11 says more.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { WriteFailed } from '../../ports/CheckpointStorage.js'
import type { Context } from './Context.js'
import { quietly, writing } from './Fault.js'

/**
 * A heartbeat that goes on until it is stopped.
 *
 * @category model
 * @since 0.1.0
 */
export interface Heartbeat {
  readonly stop: () => Promise<void>
}

/**
 * Starts a heartbeat. When somebody else touches or removes the folder, `onDisturbed` is asked whether to go on; a
 * heartbeat that can't go on then says so through `onLost`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const start = async (
  path: string,
  { fs, settings }: Context,
  onDisturbed: () => boolean,
  onLost: (error: WriteFailed) => void
): Promise<E.Either<WriteFailed, Heartbeat>> => {
  const beat = { updateMillis: settings.heartbeatMillis, staleMillis: settings.staleMillis }
  let stopped = false
  let end: () => Promise<void>

  const begin = (): Promise<E.Either<WriteFailed, void>> =>
    writing(path, 'lock', async () => {
      end = await fs.heartbeat(path, beat, () => void again())
    })

  const again = async (): Promise<void> => {
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

/**
 * The sign of life for those who can't see our process: a folder that proper-lockfile touches every few seconds.
 *
 * Each claim has a path of its own, so nobody competes for one, and nothing is decided by it but whether a claim may be
 * tried. `docs/file-format.md` §11 says what is known of the package.
 *
 * @since 0.1.0
 */
import * as fs from 'node:fs'
import * as E from 'fp-ts/lib/Either.js'
import type { WriteFailed } from '../../ports/CheckpointStorage.js'
import type { Settings } from './Context.js'
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

/** What proper-lockfile calls; a fresh one each time, since it remembers the precision of mtimes by it. */
const fileSystem = () => ({
  mkdir: (path: string, done: fs.NoParamCallback) => fs.mkdir(path, { mode: 0o700 }, done),
  stat: fs.stat,
  utimes: fs.utimes,
  rmdir: fs.rmdir,
  rmdirSync: fs.rmdirSync,
  realpath: fs.realpath
})

/**
 * Starts a heartbeat. When somebody else touches or removes the folder, `onDisturbed` is asked whether to go on; a
 * heartbeat that can't go on then says so through `onLost`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const start = async (
  path: string,
  settings: Settings,
  onDisturbed: () => boolean,
  onLost: (error: WriteFailed) => void
): Promise<E.Either<WriteFailed, Heartbeat>> => {
  const loaded = await writing(path, 'import', () => import('proper-lockfile'))
  if (E.isLeft(loaded)) return loaded
  const { lock } = loaded.right
  let stopped = false
  let release: () => Promise<void>

  const begin = (): Promise<E.Either<WriteFailed, void>> =>
    writing(path, 'lock', async () => {
      release = await lock(path, {
        lockfilePath: path,
        realpath: false,
        stale: settings.staleMillis,
        update: settings.heartbeatMillis,
        retries: 0,
        fs: fileSystem(),
        onCompromised: () => void again()
      })
    })

  const again = async (): Promise<void> => {
    if (stopped || !onDisturbed()) return
    await quietly(() => fs.rmdirSync(path))
    const result = await begin()
    if (stopped) await quietly(() => release())
    else if (E.isLeft(result)) onLost(result.left)
  }

  const stop = async (): Promise<void> => {
    stopped = true
    await quietly(() => release())
  }

  return E.map((): Heartbeat => ({ stop }))(await begin())
}

/**
 * The two packages of the JSON store, loaded at the first claim. `docs/file-format.md` §11 says what is known of them.
 *
 * @since 0.1.0
 */
import { mkdir, open, rmdir, stat, utimes } from 'node:fs/promises'
import { codeOf } from './Fault.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * How a heartbeat is kept: `lock` of proper-lockfile, as far as the store uses it.
 *
 * @category model
 * @since 0.1.0
 */
export type Lock = (
  path: string,
  options: {
    readonly stale: number
    readonly update: number
    readonly onCompromised: (error: Error) => void
    readonly [option: string]: unknown
  }
) => Promise<() => Promise<void>>

/**
 * How a file is written: write-file-atomic, as far as the store uses it.
 *
 * @category model
 * @since 0.1.0
 */
export type Write = (path: string, text: string, options: { mode: number }) => Promise<void>

/**
 * What the store uses of the two packages.
 *
 * @category model
 * @since 0.1.0
 */
export interface Packages {
  readonly lock: Lock
  readonly write: Write
}

// ---------------------------------------------------------------------------------------------------------------------
// loading
// ---------------------------------------------------------------------------------------------------------------------

let loading: Promise<Packages> | undefined

/**
 * Loads both, once. In the place of one that cannot be loaded there is a function that does as much as the store needs.
 *
 * @category effects
 * @since 0.1.0
 */
export const packages = (): Promise<Packages> => (loading ??= load())

const load = async (): Promise<Packages> => {
  ignoreFullFiles()
  const none = (): undefined => undefined
  const [lockfile, atomic] = await Promise.all([
    import('proper-lockfile').catch(none),
    import('write-file-atomic').catch(none)
  ])
  return { lock: lockfile?.lock ?? lockPlainly, write: atomic === undefined ? writePlainly : writing(atomic.default) }
}

/**
 * Node ignores the signal that comes with EFBIG, so that a write beyond `ulimit -f` fails like any other. Both packages listen for it, and
 * end the process if nobody else does.
 */
const ignoreFullFiles = (): void => {
  if (process.platform !== 'win32') process.on('SIGXFSZ', () => undefined)
}

/** Inside a bundle that is an ES module there is no `__filename`, which the package uses in each call. */
const writing =
  (write: Write): Write =>
  (path, text, options) =>
    write(path, text, options).catch((error: unknown) =>
      error instanceof ReferenceError ? writePlainly(path, text, options) : Promise.reject(error as Error)
    )

// ---------------------------------------------------------------------------------------------------------------------
// without them
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Keeps a heartbeat: makes a folder and touches it again and again, until somebody else touched or deleted it.
 *
 * @category effects
 * @since 0.1.0
 */
export const lockPlainly: Lock = async (path, { stale, update, onCompromised }) => {
  await mkdir(path, { mode: 0o700 })
  let touched = (await stat(path)).mtimeMs
  let touchedAt = Date.now()
  let state: 'waiting' | 'touching' | 'ended' = 'waiting'

  const end = (): void => {
    state = 'ended'
    clearInterval(timer)
  }

  /** Whether it is still ours. */
  const touch = async (): Promise<boolean> => {
    try {
      if ((await stat(path)).mtimeMs !== touched) return false
      const now = new Date()
      await utimes(path, now, now)
      touched = (await stat(path)).mtimeMs
      touchedAt = now.getTime()
      return true
    } catch (error) {
      return codeOf(error) !== 'ENOENT' && touchedAt + stale >= Date.now()
    }
  }

  const beat = async (): Promise<void> => {
    if (state !== 'waiting') return
    state = 'touching'
    const isOurs = await touch()
    if (hasEnded()) return
    state = 'waiting'
    if (isOurs) return
    end()
    onCompromised(new Error('somebody else touched or deleted it'))
  }

  const hasEnded = (): boolean => state === 'ended'
  const timer = setInterval(() => void beat(), update)
  timer.unref()

  return async () => {
    if (hasEnded()) return
    end()
    await rmdir(path)
  }
}

/** Whoever calls this reads it back, and gives it its name only then. */
const writePlainly: Write = async (path, text, { mode }) => {
  const file = await open(path, 'w', mode)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

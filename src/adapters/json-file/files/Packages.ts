/** Loads the store's two packages when they are first needed; `docs/file-format.md` §11 lists what the store relies on. */
import { mkdir, open, rmdir, stat, utimes } from 'node:fs/promises'
import { codeOf } from './Fault.js'

/** Keeps a heartbeat: the part of proper-lockfile's `lock` that the store uses. */
export type Lock = (
  path: string,
  options: {
    readonly stale: number
    readonly update: number
    readonly onCompromised: (error: Error) => void
    readonly [option: string]: unknown
  }
) => Promise<() => Promise<void>>

/** Writes a file: the part of write-file-atomic that the store uses. */
export type Write = (path: string, text: string, options: { mode: number }) => Promise<void>

/** Loads a package once. A minimal function replaces one that cannot be loaded. */
const loadOnce = <Package, Function>(
  load: () => Promise<Package>,
  pick: (loaded: Package) => Function,
  plain: Function
): (() => Promise<Function>) => {
  let loading: Promise<Function> | undefined
  return () => {
    ignoreFullFiles()
    return (loading ??= load().then(pick, () => plain))
  }
}

let ignoresFullFiles = process.platform === 'win32'

/** Both packages end the process on SIGXFSZ unless another listener exists; then a write beyond `ulimit -f` fails with EFBIG. */
const ignoreFullFiles = (): void => {
  if (!ignoresFullFiles) process.on('SIGXFSZ', () => undefined)
  ignoresFullFiles = true
}

/** The package reads `__filename` in each call, and a bundled ES module has none. */
const writing =
  (write: Write): Write =>
  (path, text, options) =>
    write(path, text, options).catch((error: unknown) =>
      error instanceof ReferenceError ? writePlainly(path, text, options) : Promise.reject(error as Error)
    )

/** Keeps a heartbeat: creates a folder and touches it until another process touches or deletes it. */
export const lockPlainly: Lock = async (path, { stale, update, onCompromised }) => {
  await mkdir(path, { mode: 0o700 })
  let touched = (await stat(path)).mtimeMs
  let touchedAt = Date.now()
  let state: 'waiting' | 'touching' | 'ended' = 'waiting'

  const end = (): void => {
    state = 'ended'
    clearInterval(timer)
  }

  /** Touches the folder; returns false if another process changed it. */
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
    onCompromised(new Error('another process touched or deleted it'))
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

/** The caller reads the file back before it renames it. */
const writePlainly: Write = async (path, text, { mode }) => {
  const file = await open(path, 'w', mode)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** The `lock` of proper-lockfile. */
export const lockFunction: () => Promise<Lock> = loadOnce(
  () => import('proper-lockfile'),
  ({ lock }): Lock => lock,
  lockPlainly
)

/** The function of write-file-atomic. */
export const writeFunction: () => Promise<Write> = loadOnce(
  () => import('write-file-atomic'),
  (loaded): Write => writing(loaded.default),
  writePlainly
)

/** Loads the store's two packages when they are first needed; `docs/file-format.md` §11 lists what the store relies on. */
import { open } from 'node:fs/promises'

/** The part of proper-lockfile's `lock` that the store uses, to keep a heartbeat. */
export type Lock = (
  path: string,
  options: {
    readonly stale: number
    readonly update: number
    readonly onCompromised: (error: Error) => void
    readonly [option: string]: unknown
  }
) => Promise<() => Promise<void>>

/** The part of write-file-atomic that the store uses. */
export type Write = (path: string, text: string, options: { mode: number }) => Promise<void>

/** Loads a package once; `fallback` replaces the function of one that cannot be loaded. */
const loadOnce = <Package, Function, Fallback>(
  load: () => Promise<Package>,
  pick: (loaded: Package) => Function,
  fallback: Fallback
): (() => Promise<Function | Fallback>) => {
  let loading: Promise<Function | Fallback> | undefined
  return () => {
    ignoreFullFiles()
    return (loading ??= load().then(pick, () => fallback))
  }
}

let ignoresFullFiles = process.platform === 'win32'

/** Both packages end the process on SIGXFSZ unless another listener exists; then a write beyond `ulimit -f` fails with EFBIG. */
const ignoreFullFiles = (): void => {
  if (!ignoresFullFiles) process.on('SIGXFSZ', () => undefined)
  ignoresFullFiles = true
}

/** write-file-atomic reads `__filename` in each call, and a bundled ES module has none. */
const orPlainly =
  (write: Write): Write =>
  (path, text, options) =>
    write(path, text, options).catch((error: unknown) =>
      error instanceof ReferenceError ? writePlainly(path, text, options) : Promise.reject(error as Error)
    )

/** Need not be atomic, because the caller reads the file back before it renames it. */
const writePlainly: Write = async (path, text, { mode }) => {
  const file = await open(path, 'w', mode)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** The `lock` of proper-lockfile, if it can be loaded. */
export const lockFunction: () => Promise<Lock | undefined> = loadOnce(
  () => import('proper-lockfile'),
  ({ lock }): Lock => lock,
  undefined
)

/** The function of write-file-atomic. */
export const writeFunction: () => Promise<Write> = loadOnce(
  () => import('write-file-atomic'),
  (loaded): Write => orPlainly(loaded.default),
  writePlainly
)

/** Jest fails a process that loads a package after the tests of a file, as the timers of an open claim would. */
export const loadForJest = async (): Promise<void> => {
  if (process.env['JEST_WORKER_ID'] !== undefined) await Promise.all([lockFunction(), writeFunction()])
}

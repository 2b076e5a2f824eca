/** Handles failures of standard output and error output. */

/** A closed pipe or terminal is no failure. */
const hasLeft = ({ isTTY }: NodeJS.WriteStream, { code }: NodeJS.ErrnoException): boolean =>
  code === 'EPIPE' || (code === 'EIO' && isTTY)

/** Drops output that fails, reports it at the end, and then turns success into `exitCode`. */
export const watch = (process: NodeJS.Process, exitCode: number): void => {
  const { stdout, stderr } = process
  const broken = new Map<NodeJS.WriteStream, NodeJS.ErrnoException>()
  for (const stream of [stdout, stderr]) {
    // The first error is the cause of the later ones.
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (!broken.has(stream)) broken.set(stream, error)
    })
  }
  process.on('exit', (code) => {
    const lost = [...broken].filter(([stream, error]) => !hasLeft(stream, error))
    if (lost.length > 0 && code === 0) process.exitCode = exitCode
    const error = lost.find(([stream]) => stream === stdout)?.[1]
    if (error !== undefined && !broken.has(stderr)) {
      stderr.write(`dogear: standard output could not be written: ${error.code ?? error.message}\n`)
    }
  })
}

/** Ends the process once its output is written, whatever still keeps it alive. */
export const endWith = async (
  { stdout, stderr, exit }: Pick<NodeJS.Process, 'stdout' | 'stderr' | 'exit'>,
  exitCode: number
): Promise<never> => {
  const written = [stdout, stderr].map((stream) => new Promise<void>((resolve) => stream.write('', () => resolve())))
  await Promise.all(written)
  return exit(exitCode)
}

export const isShortOfFiles = (error: Error): error is NodeJS.ErrnoException & { readonly code: string } =>
  ['EMFILE', 'ENFILE'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Reports that the command could not load for lack of file descriptors; rethrows any other error. */
export const reportShortage = async ({ stderr }: NodeJS.Process, error: Error): Promise<undefined> => {
  if (!isShortOfFiles(error)) return await Promise.reject(error)
  stderr.write(`dogear: ${error.message}: raise the limit, \`ulimit -n\`, then try again\n`)
  return undefined
}

/** What becomes of output that can't be written. */

/** Nobody reads it any more: no reason to say so, nor to stop. */
const hasLeft = ({ isTTY }: NodeJS.WriteStream, { code }: NodeJS.ErrnoException): boolean =>
  code === 'EPIPE' || (code === 'EIO' && isTTY)

/**
 * Keeps an error of standard output or error output from ending the process in the middle of its work. Output of which
 * the reader has gone is dropped; when other output was lost, that is said at the end, and what would be a success ends
 * with `exitCode`.
 */
export const watch = (process: NodeJS.Process, exitCode: number): void => {
  const { stdout, stderr } = process
  const broken = new Map<NodeJS.WriteStream, NodeJS.ErrnoException>()
  for (const stream of [stdout, stderr]) {
    // What is written behind the first error fails for that alone.
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

/** Ends the process when all output is written, whatever is still under way in it. */
export const endWith = async (
  { stdout, stderr, exit }: Pick<NodeJS.Process, 'stdout' | 'stderr' | 'exit'>,
  exitCode: number
): Promise<never> => {
  const written = [stdout, stderr].map((stream) => new Promise<void>((resolve) => stream.write('', () => resolve())))
  await Promise.all(written)
  return exit(exitCode)
}

/** Whether the process or the machine has run out of file descriptors. */
export const isShortOfFiles = (error: Error): error is NodeJS.ErrnoException & { readonly code: string } =>
  ['EMFILE', 'ENFILE'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Reports that the command could not load for lack of file descriptors; rethrows any other error. */
export const reportShortage = async ({ stderr }: NodeJS.Process, error: Error): Promise<undefined> => {
  if (!isShortOfFiles(error)) return await Promise.reject(error)
  stderr.write(`dogear: ${error.message}: raise the limit, \`ulimit -n\`, then try again\n`)
  return undefined
}

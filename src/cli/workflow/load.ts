/**
 * Loading a workflow file.
 *
 * @since 0.1.0
 */
import { constants } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { basename, dirname, extname, join, relative } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { CliError } from '../CliError.js'
import { usage } from '../CliError.js'
import { decode } from './decode.js'
import { MAX_BYTES, parse } from './Source.js'
import { didYouMean } from './Suggestion.js'
import type { WorkflowFile } from './WorkflowFile.js'

/**
 * Reads a workflow file. `shown`: its name in messages.
 *
 * @category effects
 * @since 0.1.0
 */
export const load = async (path: string, shown: string): Promise<E.Either<CliError, WorkflowFile>> => {
  const text = await read(path, shown)
  if (E.isLeft(text)) return text
  const source = parse(text.right)
  const file = E.isLeft(source) ? source : decode(source.right, basename(path, extname(path)))
  return E.isLeft(file) ? E.left({ _tag: 'InvalidWorkflow', file: shown, problems: file.left }) : file
}

/**
 * A path as it is shown: relative if it lies below the current folder.
 *
 * @category destructors
 * @since 0.1.0
 */
export const shownPath = (path: string, folder: string): string => {
  const below = relative(folder, path)
  return below.startsWith('..') || below === '' ? path : below
}

const WHY: Readonly<Record<string, string>> = {
  ENOTDIR: 'there is no such file',
  EACCES: 'no permission to read it',
  EISDIR: 'it is a folder'
}

const read = async (path: string, shown: string): Promise<E.Either<CliError, string>> => {
  if (shown === '') return E.left(usage('The name of a workflow file must not be empty'))
  const unreadable = (why: string): E.Either<CliError, never> => E.left(usage(`Can't read workflow ${shown}: ${why}`))
  const missing = async (): Promise<E.Either<CliError, never>> =>
    unreadable(`there is no such file${didYouMean(shown, await workflowsBeside(path, shown))}`)
  try {
    // Not blocking: opening a FIFO would wait for somebody to write to it.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stats = await handle.stat()
      if (!stats.isFile()) return unreadable(stats.isDirectory() ? 'it is a folder' : 'it is not a regular file')
      if (stats.size > MAX_BYTES) return unreadable(`it has ${stats.size} bytes, at most ${MAX_BYTES} are read`)
      const bytes = await handle.readFile()
      const text = E.tryCatch(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes), String)
      return E.isRight(text) ? text : unreadable('it is not UTF-8 text')
    } finally {
      await handle.close()
    }
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? missing() : unreadable(WHY[code] ?? code)
  }
}

/** The workflow files in the folder of a missing one, as they are typed from the current folder. */
const workflowsBeside = async (path: string, shown: string): Promise<ReadonlyArray<string>> => {
  const names = await readdir(dirname(path)).catch(() => [])
  return names.filter((name) => /\.ya?ml$/i.test(name)).map((name) => join(dirname(shown), name))
}

/** Loads a workflow file and the files that it includes. */
import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, extname, isAbsolute, join, relative, resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { CliError } from '../CliError.js'
import { invalidWorkflow, wrongUse } from '../CliError.js'
import { decode } from './decode.js'
import type { Include, WorkflowText } from './schema/Reading.js'
import { MAX_BYTES, parse } from './Source.js'
import { closest } from '../../domain/data/Suggestion.js'
import type { WorkflowFile } from './WorkflowFile.js'

/** `shown`: the path of the file in messages. */
export interface Loaded {
  readonly file: WorkflowFile
  readonly path: string
  readonly shown: string
}

export const load = (path: string, shown: string): E.Either<CliError, Loaded> => {
  if (shown === '') return wrongUse('The name of the workflow file is empty; name a file')
  const found = textAt(path, shown, undefined)
  if (E.isLeft(found)) return wrongUse(found.left)
  const file = decode(found.right, including(new Map()))
  return E.isLeft(file) ? E.left(invalidWorkflow(shown, file.left)) : E.right({ file: file.right, path, shown })
}

/** Reads each included file once. */
const including =
  (known: Map<string, E.Either<string, WorkflowText>>): Include =>
  (from, name) => {
    const path = resolve(dirname(from.path), name)
    const shown = isAbsolute(name) ? name : join(dirname(from.shown), name)
    const text = known.get(path) ?? textAt(path, shown, shown)
    known.set(path, text)
    return text
  }

const textAt = (path: string, shown: string, file: string | undefined): E.Either<string, WorkflowText> => {
  const text = read(path, shown)
  if (E.isLeft(text)) return E.left(`Cannot read workflow ${shown}: ${text.left}`)
  return E.right({ path, shown, name: basename(path, extname(path)), source: parse(text.right, file) })
}

export const shownPath = (path: string, folder: string): string => {
  const below = relative(folder, path)
  return below.startsWith('..') || below === '' ? path : below
}

/** Why a file cannot be read, by the code of the error. */
export const WHY: Readonly<Record<string, string>> = {
  ENOENT: 'the file does not exist',
  ENOTDIR: 'the file does not exist',
  EACCES: 'no permission to read it',
  EISDIR: 'it is a folder',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not UTF-8'
}

const read = (path: string, shown: string): E.Either<string, string> => {
  try {
    // Opening a FIFO would block until another process writes to it.
    const handle = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stats = fstatSync(handle)
      if (!stats.isFile()) return E.left(stats.isDirectory() ? 'it is a folder' : 'it is not a regular file')
      if (stats.size > MAX_BYTES) return E.left(`it has ${stats.size} bytes (limit: ${MAX_BYTES})`)
      return E.right(new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(handle)))
    } finally {
      closeSync(handle)
    }
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    return E.left(`${WHY[code] ?? code}${code === 'ENOENT' ? suggestion(path, shown) : ''}`)
  }
}

const EXTENSION = /\.ya?ml$/i

/** Suggests a workflow file in the folder of a missing one, as typed from the current folder. Compares neither folder nor extension. */
const suggestion = (path: string, shown: string): string => {
  const names = E.tryCatch(
    () => readdirSync(dirname(path)).filter((name) => EXTENSION.test(name)),
    () => undefined
  )
  if (E.isLeft(names)) return ''
  const stemOf = (name: string): string => basename(name).replace(EXTENSION, '')
  const stem = closest(stemOf(shown), names.right.map(stemOf))
  const meant = names.right.find((name) => stemOf(name) === stem)
  return meant === undefined ? '' : `. Did you mean "${join(dirname(shown), meant)}"?`
}

/** Replaces an adapter whose host, without type checks, passed invalid options or no folder path: each call fails with the reason. */
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { OptionTable } from '../../../domain/data/Options.js'
import { describeInvalid, kindOf } from '../../../domain/data/Options.js'
import { sameFor } from '../../../domain/data/portMethods.js'
import type { ReadFailed } from '../../../ports/CheckpointStorage.js'
import { readFailed } from './Fault.js'

type Failing = TaskEither<ReadFailed, never>

/** `call` fails with the reason; `calls` returns functions of these names that do the same. */
export interface Refusal {
  readonly call: Failing
  readonly calls: <Name extends string>(...names: ReadonlyArray<Name>) => Readonly<Record<Name, () => Failing>>
}

/** Options for tests: no message lists them. */
const HIDDEN = ['fs', 'processes']

/** Returns `undefined` for valid arguments. `constructor`: the function that the host called, for the message. */
export const refusalOf = (
  constructor: string,
  root: unknown,
  options: unknown,
  table: OptionTable = {}
): Refusal | undefined => {
  // An empty path would be the current folder.
  if (typeof root !== 'string' || root === '') {
    const why = `${constructor} needs the path of a folder, not ${kindOf(root)}; pass one, such as '.dogear'`
    return refusing('NO_FOLDER', why)
  }
  const invalid = describeInvalid(constructor, options, table, HIDDEN)
  return invalid === undefined ? undefined : refusing('INVALID_OPTIONS', invalid)
}

const refusing = (code: string, why: string): Refusal => {
  const error = readFailed('the state folder', 'open', Object.assign(new Error(why), { code }))
  const call: Failing = () => Promise.resolve(E.left(error))
  return { call, calls: (...names) => sameFor(names, () => call) }
}

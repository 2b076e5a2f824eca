/** Refuses the calls of a port whose host, untyped, passed no path of a folder, or invalid options. */
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { OptionTable } from '../../../domain/data/Options.js'
import { describeInvalid, kindOf } from '../../../domain/data/Options.js'
import { sameFor } from '../../../domain/data/storeMethods.js'
import type { ReadFailed } from '../../../ports/CheckpointStorage.js'
import { readFailed } from './Fault.js'

type Failing = TaskEither<ReadFailed, never>

/** `call`: what fails; `calls`: functions that fail, by their names. */
export interface Refusal {
  readonly call: Failing
  readonly calls: <Name extends string>(...names: ReadonlyArray<Name>) => Readonly<Record<Name, () => Failing>>
}

/** Options for tests, which no message names. */
const HIDDEN = ['fs', 'processes']

/** Returns undefined for valid arguments. `constructor`: what the host called. */
export const refusalOf = (
  constructor: string,
  root: unknown,
  options: unknown,
  table: OptionTable = {}
): Refusal | undefined => {
  if (typeof root !== 'string') {
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

/** Refuses the calls of a port whose host, untyped, passed no path of a folder. */
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { kindOf } from '../../../domain/data/Options.js'
import type { ReadFailed } from '../../../ports/CheckpointStorage.js'
import { readFailed } from './Fault.js'

type Refusal = TaskEither<ReadFailed, never>

/** `call`: what fails; `calls`: functions that fail, by their names. `constructor`: what the host called. */
export const refusalOf = (constructor: string, given: unknown) => {
  const why = `${constructor} needs the path of a folder, not ${kindOf(given)}; pass one, such as '.dogear'`
  const error = readFailed('the state folder', 'open', Object.assign(new Error(why), { code: 'NO_FOLDER' }))
  const call: Refusal = () => Promise.resolve(E.left(error))
  const calls = <Name extends string>(...names: ReadonlyArray<Name>): Readonly<Record<Name, () => Refusal>> =>
    Object.fromEntries(names.map((name) => [name, () => call])) as Record<Name, () => Refusal>
  return { call, calls }
}

/** Where the values of secrets come from. */
import type { Option } from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'

/** It is not known what a secret is: whoever keeps it could not be asked, or refused. */
export interface SecretUnreadable {
  readonly _tag: 'SecretUnreadable'
  readonly why: string
  readonly cause: unknown
}

/**
 * Whoever keeps secrets: the environment of a process, a vault. `where` says who that is, for messages.
 *
 * @category model
 */
export interface Secrets {
  readonly where: string
  /** The value of a secret; none if there is none of this name. */
  readonly read: (name: string) => TaskEither<SecretUnreadable, Option<string>>
}

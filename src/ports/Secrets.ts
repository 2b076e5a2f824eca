/** The port for the values of secrets. */
import type { Option } from 'fp-ts/lib/Option.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'

/** Reading a secret failed or was refused. */
export interface SecretUnreadable {
  readonly _tag: 'SecretUnreadable'
  readonly why: string
  readonly cause: unknown
}

/**
 * Reads secrets from the environment of a process or a vault. `where`: its name, for messages.
 *
 * @category model
 */
export interface Secrets {
  readonly where: string
  /** Reads a secret; none if it does not exist. */
  readonly read: (name: string) => TaskEither<SecretUnreadable, Option<string>>
}

/** Reads secrets from environment variables. */
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Secrets } from '../../ports/Secrets.js'

/**
 * Secrets from environment variables (default: those of this process). Each read looks up the current value.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import * as O from 'fp-ts/lib/Option.js'
 * import { environmentSecrets } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * const secrets = environmentSecrets({ NPM_TOKEN: 'npm_1234567890' })
 * assert.deepEqual(await secrets.read('NPM_TOKEN')(), E.right(O.some('npm_1234567890')))
 *
 * @category constructors
 */
export const environmentSecrets = (variables: Readonly<Record<string, string | undefined>> = process.env): Secrets => ({
  where: 'the environment variables of this process',
  read: (name) => () => TE.right(Object.hasOwn(variables, name) ? O.fromNullable(variables[name]) : O.none)()
})

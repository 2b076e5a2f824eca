/** All cases for artifact stores. */
import type { ArtifactCase } from './ArtifactCase.js'
import { damageCases } from './damage.js'
import { idCases } from './ids.js'
import { absenceCases, replacementCases } from './replacement.js'
import { roundTripCases } from './roundTrip.js'
import { runCases } from './runs.js'

/**
 * All cases for artifact stores, in order.
 *
 * @example
 * import { artifactStoreCases } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const first = artifactStoreCases.find(({ id }) => id === 'AS-PUT-02')
 * assert.match(first?.title ?? '', /the complete content of one/)
 *
 * @category cases
 */
export const artifactStoreCases: ReadonlyArray<ArtifactCase> = [
  ...roundTripCases,
  ...idCases,
  ...replacementCases,
  ...absenceCases,
  ...runCases,
  ...damageCases
]

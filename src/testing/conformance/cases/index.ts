/** All cases for checkpoint stores. */
import type { ConformanceCase } from '../Case.js'
import { claimCases } from './claims.js'
import { damageCases } from './damage.js'
import { errorCases } from './errors.js'
import { fenceCases } from './fences.js'
import { historyCases } from './history.js'
import { idCases } from './ids.js'
import { listingCases } from './listing.js'
import { networkCases } from './network.js'
import { processCases } from './processes.js'
import { removalCases } from './removal.js'
import { reopeningCases } from './reopening.js'
import { revisionCases } from './revisions.js'
import { roundTripCases } from './roundTrip.js'
import { stallCases } from './stalls.js'
import { takeOverCases } from './takeOver.js'

/**
 * All cases for checkpoint stores, in order.
 *
 * @example
 * import { checkpointStorageCases } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const fenced = checkpointStorageCases.find(({ id }) => id === 'CS-FENCE-03')
 * assert.match(fenced?.title ?? '', /the `lost` signal of a superseded owner fires/)
 *
 * @category cases
 */
export const checkpointStorageCases: ReadonlyArray<ConformanceCase> = [
  ...roundTripCases,
  ...idCases,
  ...claimCases,
  ...fenceCases,
  ...revisionCases,
  ...historyCases,
  ...listingCases,
  ...removalCases,
  ...reopeningCases,
  ...damageCases,
  ...errorCases,
  ...stallCases,
  ...processCases,
  ...takeOverCases,
  ...networkCases
]

/** The PostgreSQL store passes the conformance kit, with locks and with leases. */
import { describe, test } from 'vitest'
import { conformanceTests } from '../../../src/testing/index.js'
import { sweep } from '../../sweep.js'
import { open } from './kit.js'
import { sleeper, specOf } from './spec.js'

conformanceTests({ describe, test }, specOf('the PostgreSQL store', {}))

/** The lease of a living process proves nothing until it runs out. */
const leaseSpec = specOf('the PostgreSQL store with leases', { liveness: 'lease' })

conformanceTests(
  { describe, test },
  {
    ...leaseSpec,
    undecided: (where) => Promise.resolve(open(where, { liveness: 'lease' }).storage),
    sleeper: (where) => sleeper(where, { liveness: 'lease' }),
    capabilities: [...leaseSpec.capabilities, 'takeOver', 'leases']
  },
  sweep
    ? {}
    : {
        only: ['CS-CLAIM', 'CS-FENCE', 'CS-TAKE', 'CS-NET', 'CS-OVER', 'CS-STALL', 'CS-LEASE'],
        levels: ['core', 'capability']
      }
)

import { describe, test } from 'vitest'
import { sqliteArtifacts } from '../../../src/adapters/sqlite/index.js'
import { artifactConformanceTests, conformanceTests } from '../../../src/testing/index.js'
import { sweep } from '../../sweep.js'
import { waitingTogether } from '../../testing/conformance/waitingTogether.js'
import type { Place } from './kit.js'
import { connected, drivers, placeOf, reopen, sqliteSpec } from './kit.js'

const levels = sweep ? (['core', 'capability', 'stress'] as const) : (['core', 'capability'] as const)

for (const driver of drivers) {
  const spec = sqliteSpec(driver)
  conformanceTests({ describe, test: waitingTogether(test) }, spec, { levels })
  const limited = {
    ...spec,
    name: `${spec.name} and a limit of 100,000 bytes`,
    reopen: (place: Place) => Promise.resolve(reopen(place, { limits: { checkpointBytes: 100_000 } }))
  }
  conformanceTests({ describe, test }, limited, { only: ['CS-TRIP-24'] })
  artifactConformanceTests(
    { describe, test },
    {
      name: `the artifact store in SQLite with ${driver.name}`,
      create: () => Promise.resolve(placeOf(driver.open)),
      reopen: (place: Place) => Promise.resolve(sqliteArtifacts(connected(place))),
      damage: (place, runId, id) => {
        const damaged = 'UPDATE artifacts SET content = ? WHERE run = ? AND id = ?'
        connected(place).prepare(damaged).run(Buffer.alloc(1_024, 7), runId, id)
        return Promise.resolve()
      },
      ...(spec.destroy === undefined ? {} : { destroy: spec.destroy }),
      capabilities: ['large', 'damage']
    },
    { levels }
  )
}

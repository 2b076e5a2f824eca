import { describe, test } from 'vitest'
import { conformanceTests } from '../../../src/testing/index.js'
import { sweep } from '../../sweep.js'
import { jsonFileSpec, limitedSpec } from './jsonFile.js'
import { waitingTogether } from './waitingTogether.js'

// processes.test.ts has silent owners in real processes, and memory.test.ts the other cases under load.
const levels = sweep ? (['core', 'capability', 'stress'] as const) : (['core', 'capability'] as const)

conformanceTests({ describe, test: waitingTogether(test) }, jsonFileSpec, { levels })
conformanceTests({ describe, test }, limitedSpec, { only: ['CS-TRIP-24'] })

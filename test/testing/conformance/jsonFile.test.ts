import { describe, test } from 'vitest'
import { conformanceTests } from '../../../src/testing/index.js'
import { jsonFileSpec } from './jsonFile.js'
import { waitingTogether } from './waitingTogether.js'

conformanceTests({ describe, test: waitingTogether(test) }, jsonFileSpec)

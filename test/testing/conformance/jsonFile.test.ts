import { describe, test } from 'vitest'
import { conformanceTests } from '../../../src/testing/index.js'
import { jsonFileSpec } from './jsonFile.js'

conformanceTests({ describe, test }, jsonFileSpec)

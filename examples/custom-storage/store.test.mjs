// store.test.mjs: node --test
import { describe, test } from 'node:test'
import { conformanceTests } from 'dogear/testing'
import { spec } from './spec.mjs'

conformanceTests({ describe, test }, spec, { levels: ['core', 'capability'] })

import { writeFileSync } from 'node:fs'
import { conformanceTests } from 'dogear/testing'
import { describe, test } from 'vitest'
import { comparable, options, spec } from './spec.mjs'

const onReport = (report) => writeFileSync(process.env.REPORT, JSON.stringify(comparable(report)))
conformanceTests({ describe, test }, spec, { ...options, onReport })

import { writeFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { conformanceTests } from 'dogear/testing'
import { comparable, options, spec } from './spec.mjs'

const onReport = (report) => writeFileSync(process.argv[2], JSON.stringify(comparable(report)))
conformanceTests({ describe, test }, spec, { ...options, onReport })

import { runConformance } from 'dogear/testing'
import { comparable, options, spec } from './spec.mjs'

console.log(JSON.stringify(comparable(await runConformance(spec, options))))

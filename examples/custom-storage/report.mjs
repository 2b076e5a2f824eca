// report.mjs: node examples/custom-storage/report.mjs
import { ConformanceReport, runConformance } from 'dogear/testing'
import { spec } from './spec.mjs'

const report = await runConformance(spec, { levels: ['core', 'capability'] })
console.log(ConformanceReport.toText(report))
process.exitCode = ConformanceReport.isConformant(report) ? 0 : 1

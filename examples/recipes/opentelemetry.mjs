// Spans of OpenTelemetry for a run: one for each attempt of a step and each sub-step that runs, none for what a resume skips.
//
//   node opentelemetry.mjs report-1
//
// opentelemetry.log shows what ran, and the spans.
import { appendFileSync } from 'node:fs'
import { context, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { jsonFileStorage } from 'dogear/json-file'
import { runOrResume, workflow } from 'dogear/promise'

const log = (line) => appendFileSync('opentelemetry.log', `${line}\n`)

// The set-up of your process, with an exporter of yours.
const exporter = {
  export: (spans, done) => {
    for (const { name, attributes, status } of spans)
      log(`span ${name}, attempt ${attributes['dogear.attempt']}: ${SpanStatusCode[status.code]}`)
    done({ code: 0 })
  },
  shutdown: async () => {}
}
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
trace.setGlobalTracerProvider(provider)
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())

/** Wraps each attempt. The spans of one run have the same `dogear.run`, over all its processes. */
const around = ({ runId, unit }, attempt, act) => {
  const attributes = { 'dogear.run': runId, 'dogear.attempt': attempt }
  return trace.getTracer('dogear').startActiveSpan(unit, { attributes }, async (span) => {
    try {
      await act()
    } catch (error) {
      // It sleeps, waits for an answer, or was stopped: nothing failed.
      if (error.name === 'AbortError') span.setAttribute('dogear.stopped', true)
      else {
        span.recordException(error)
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      throw error
    } finally {
      span.end()
    }
  })
}

const report = workflow('report')
  .step('load', async ({ step }) => {
    const pages = await step('pages', async () => (log('pages'), 3))
    return pages * 10
  })
  .step('send', async ({ outputs }) => log(`send ${outputs.load} rows`))

const [, , id = 'report-1'] = process.argv
try {
  await runOrResume(report, { id, storage: jsonFileStorage('state'), environment: { around } })
} finally {
  await provider.shutdown() // exports what a processor still keeps
}

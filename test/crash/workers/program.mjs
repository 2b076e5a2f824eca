// The workflow that the crash tests kill: 20 steps with a wave, captures, retries, a codec, two non-idempotent steps and a
// non-idempotent group, and optionally errors and outputs so large that the journal is compacted. Each output contains the
// earlier ones, so whatever a resume loses or mixes up shows in the last one.
import { createHash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { StepError, StepFailure } from 'dogear'
import { workflow } from 'dogear/promise'

/** A Date in the program, a string in the file. */
const Moment = new t.Type(
  'Moment',
  (value) => value instanceof Date,
  (value, context) =>
    E.chain((text) => (Number.isNaN(Date.parse(text)) ? t.failure(value, context) : t.success(new Date(text))))(
      t.string.validate(value, context)
    ),
  (moment) => moment.toISOString()
)

export const digest = (value) => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16)

const RETRY = { _tag: 'Constant', attempts: 30, delayMillis: 1, maxDelayMillis: 1, jitter: 0 }

/** The failure happened before any effect, so even a non-idempotent step may be retried. */
const notYet = (message, bytes) => {
  const ballast = 'x'.repeat(bytes)
  const details = bytes === 0 ? {} : { stack: ballast, data: { ballast } }
  return StepFailure.transient(StepError.make('NotYet', message + ballast, details), 'notApplied')
}

/** `act(unit, attempt, output)` performs the effect of a unit and returns `output`. */
const makerOf = (act, version, bytes = 200) => {
  const work = (shape) => async (context) => {
    const { unit, attempt, outputs, variables } = context
    const seen = { unit, version, before: digest([Object.entries(outputs).slice(-2), [...variables]]) }
    const output = shape(seen, context)
    await act(unit, attempt, output, context)
    return output
  }
  const plain = work((seen) => seen)
  const large = work((seen) => ({ ...seen, ballast: 'x'.repeat(bytes) }))
  const flaky =
    (name, failures = 2, errorBytes = 0) =>
    async (context) => {
      if (context.attempt <= failures) throw notYet(`${name} is not there yet`, errorBytes)
      return await plain(context)
    }
  return { work, plain, large, flaky }
}

export const release = (act, version = 1, { bytes, failures = 2, errorBytes = 0 } = {}) => {
  const { work, plain, large, flaky } = makerOf(act, version, bytes)
  return workflow('release')
    .step('begin', { run: plain, capture: 'begun' })
    .step('when', { output: Moment, run: work((_, { input }) => new Date(Date.UTC(2026, 0, input.day))) })
    .step('later', { output: Moment, run: work((_, { outputs }) => new Date(outputs.when.getTime() + 86_400_000)) })
    .step('fetch', { retry: RETRY, run: flaky('the server', failures, errorBytes) })
    .step('bundle', { run: large })
    .step('sign', plain)
    .step('publish', { idempotent: false, run: plain, capture: 'published' })
    .step('index', { run: large })
    .step('lint-index', plain)
    .wave('checks', {
      unit: { run: plain, capture: 'tested' },
      lint: { run: plain },
      flaky: { retry: RETRY, run: flaky('the database') },
      notify: { idempotent: false, run: plain },
      pack: { needs: ['unit'], run: work((seen, { outputs }) => ({ ...seen, unit: digest(outputs.unit) })) }
    })
    .step('collect', plain)
    .step('mirror-1', plain)
    .step('mirror-2', plain)
    .step('mirror-3', plain)
    .step('deploy', { idempotent: false, retry: RETRY, run: flaky('the cluster'), capture: 'deployed' })
    .step('verify', plain)
    .step('announce', plain)
    .step('tidy', plain)
    .step('archive', { output: Moment, run: work((_, { outputs }) => outputs.later) })
    .step(
      'report',
      work((seen, { outputs, variables }) => ({ ...seen, all: digest([outputs, [...variables]]) }))
    )
}

/** Nine repeatable steps, one of them a wave; every output contains the version that produced it. */
export const rerunnable = (act, version) => {
  const { plain } = makerOf(act, version)
  return workflow('rerunnable')
    .step('one', { run: plain, capture: 'one' })
    .step('two', plain)
    .step('three', plain)
    .wave('four', {
      left: { run: plain, capture: 'left' },
      right: { run: plain },
      both: { needs: ['left'], run: plain }
    })
    .step('five', plain)
    .step('six', plain)
    .step('seven', plain)
    .step('eight', { run: plain, capture: 'eight' })
    .step('nine', plain)
}

/** The step in the middle must not run twice without an answer. */
export const careful = (act, version) => {
  const { plain } = makerOf(act, version)
  return workflow('careful').step('before', plain).step('pay', { idempotent: false, run: plain }).step('after', plain)
}

/** A chosen number of steps, each with an output of a chosen size. */
export const heavy = (act, version, { steps = 10, bytes = 1000 } = {}) => {
  const { work } = makerOf(act, version)
  const run = work((seen, { unit }) => ({ ...seen, ballast: unit.slice(-1).repeat(bytes) }))
  return Array.from({ length: steps }, (_, n) => `step-${n}`).reduce(
    (made, name) => made.step(name, run),
    workflow('heavy')
  )
}

export const programs = { release, rerunnable, careful, heavy }

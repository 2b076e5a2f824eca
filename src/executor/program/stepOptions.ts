/** The options of steps, with the check of each. */
import { isExpectedEvidence } from '../../domain/checkpoint/CompletedStep.js'
import type { Check, OptionCheck, OptionProblem, OptionTable } from '../../domain/data/Options.js'
import * as Opt from '../../domain/data/Options.js'
import { retryOption } from '../../domain/workflow/RetryPolicy.js'
import { schema } from './conversions.js'
import type { Expectation, CheckOptions } from './UnitChecks.js'
import type {
  Job,
  JobSpec,
  MapOptions,
  Needs,
  Reuse,
  SequenceOptions,
  SleepSpec,
  TaskSpec,
  WaitForSpec,
  WaveOptions
} from './StepSpec.js'

type Table<Options> = Readonly<Record<keyof Options, OptionCheck>>

const EXPECT: Table<Expectation> = {
  files: Opt.arrayOf(Opt.isText, 'an array of paths'),
  commits: (value) => (typeof value === 'number' || value === true ? undefined : 'a number or true'),
  cleanTree: Opt.flag
}

const EVIDENCE = "an array such as [{ _tag: 'File', path: 'a.txt' }], with Artifact, File or Commit"

/** Checks `evidence` that is an array, and the array that an `evidence` function returned. */
export const evidenceProblem = Opt.arrayOf(isExpectedEvidence, EVIDENCE)

const CHECKS: Table<CheckOptions<never> & { readonly evidence: unknown }> = {
  before: Opt.callback,
  after: Opt.callback,
  expect: Opt.inside('expect', EXPECT, "an object like { files: ['a.txt'] }"),
  onCheckFailure: Opt.oneOf('retry', 'continue', 'abort', 'ask'),
  evidence: (value) => (typeof value === 'function' ? undefined : evidenceProblem(value))
}

/** Checks `onSuccess`: an unknown value must not delete a run. */
export const ON_SUCCESS = Opt.oneOf('keep', 'archive', 'delete')

const SUMMARY = { summary: Opt.text }

/** The option of a group that other steps do not have. */
export const NEEDS: Table<Needs> = { needs: Opt.arrayOf(Opt.isText, 'an array of names of groups') }

const COMMON = {
  ...SUMMARY,
  output: schema,
  capture: Opt.text,
  idempotent: Opt.flag,
  retry: retryOption,
  timeoutMillis: Opt.millis,
  ...CHECKS,
  workspace: Opt.oneOf('fresh'),
  version: Opt.text,
  numbered: Opt.flag
}

const TASK: Table<TaskSpec<never, unknown>> = { run: Opt.callback, ...COMMON }

const FUNCTIONS: Table<Job<never, unknown>> = { submit: Opt.callback, poll: Opt.callback, collect: Opt.callback }

const JOB: Table<JobSpec<never, unknown>> = {
  job: Opt.inside('job', FUNCTIONS, 'an object with submit, poll and collect', Object.keys(FUNCTIONS)),
  ...COMMON
}

const IN_SLEEP = Opt.instead('in sleep')

const OF_SLEEP: OptionTable = { millis: IN_SLEEP, until: IN_SLEEP }

const SLEEP: Table<SleepSpec> = { sleep: Opt.anything, ...SUMMARY }

const IN_WAIT = Opt.instead('in waitFor')

const OF_WAIT: OptionTable = { question: IN_WAIT, timeoutMillis: IN_WAIT }

const BESIDE_WAIT = { output: schema, capture: Opt.text, ...SUMMARY }

const WAIT: Table<WaitForSpec<unknown>> = { waitFor: Opt.anything, ...BESIDE_WAIT }

/** The problem of a step whose `steps` is not a function that adds steps. */
const NO_STEPS: OptionProblem = {
  option: 'steps',
  expected: 'a function that adds steps to its argument and returns the result'
}

const REUSE: Table<Reuse> = { fromRun: Opt.text, artifact: Opt.text }

/** Checks the argument of `Program.reuse`. */
export const notReuse: Check = (given) => {
  const [problem] = Opt.optionProblems(given ?? null, REUSE, { required: Object.keys(REUSE) })
  if (problem === undefined) return undefined
  const why = problem.option === 'options' ? '' : `: ${Opt.describeOption(problem)}`
  return `an object like { fromRun: 'crawl-7', artifact: 'corpus' }${why}`
}

const MISPLACED: OptionTable = {
  reuse: (given) => notReuse(given) ?? 'the argument of Program.reuse, which makes the step',
  options: Opt.instead('in one object with the code, such as { retry: { attempts: 3 }, run: … }')
}

const MISPLACED_IN_JOB: OptionTable = { run: Opt.instead('passed as job.submit') }

export const SEQUENCE: Table<SequenceOptions<never>> = { ...SUMMARY, ...CHECKS }

export const WAVE: Table<WaveOptions<never>> = {
  ...SUMMARY,
  ...CHECKS,
  concurrency: (value) =>
    value === Infinity || (Number.isInteger(value) && (value as number) >= 1)
      ? undefined
      : `a whole number ≥ 1, not ${Opt.kindOf(value)}`,
  onFailure: Opt.oneOf('finish', 'continue', 'halt')
}

export const MAP: Table<MapOptions<unknown, unknown, unknown>> = {
  ...WAVE,
  forEach: Opt.callback,
  key: Opt.callback,
  item: schema
}

const IN_BODY = Opt.instead('in the third argument')

/** The options of `mapOf` from which the items are computed. */
export const ITEM_SOURCE: OptionTable = { forEach: Opt.callback, key: Opt.callback, item: schema }

/** The code of the body of a map, passed among the options of the map. */
const MISPLACED_IN_MAP: OptionTable = { run: IN_BODY, job: IN_BODY, steps: IN_BODY }

/** Checks the arguments of `Program.map`: its options, and that it has a body. */
export const mapProblems = (options: unknown, body: unknown): ReadonlyArray<OptionProblem> => [
  ...Opt.optionProblems(options, MAP, { required: ['forEach'], unlisted: MISPLACED_IN_MAP }),
  ...(body === undefined || body === null ? [NO_BODY] : [])
]

const NO_BODY: OptionProblem = {
  option: 'the third argument',
  expected: 'a function, or an object with run, job or steps'
}

/** Shared by the tasks of a long workflow. */
const NO_PROBLEMS: ReadonlyArray<never> = []

/** Returns the problems of a step that must be a task: untyped authors may pass anything. */
export const taskProblems = (step: unknown): ReadonlyArray<OptionProblem> => {
  if (typeof step === 'function') return NO_PROBLEMS
  const given = typeof step === 'object' && step !== null ? step : {}
  const checked = (table: OptionTable, required: ReadonlyArray<string> = [], misplaced: OptionTable = {}) =>
    Opt.optionProblems(given, table, { required, unlisted: { ...MISPLACED, ...misplaced } })
  // `Program.sleep` and `Program.waitFor` take the options of the wait beside the others. Their keys stay in `given`, as undefined.
  if ('sleep' in given)
    return 'millis' in given ? checked({ ...OF_SLEEP, ...SUMMARY }, [], SLEEP) : checked(SLEEP, [], OF_SLEEP)
  if ('waitFor' in given)
    return 'question' in given ? checked({ ...OF_WAIT, ...BESIDE_WAIT }, [], WAIT) : checked(WAIT, [], OF_WAIT)
  if ('steps' in given && !('job' in given)) return [NO_STEPS]
  return 'job' in given ? checked(JOB, ['job'], MISPLACED_IN_JOB) : checked(TASK, ['run'])
}

/** The schema of tasks. */
import { defined } from '../../../domain/data/defined.js'
import * as E from 'fp-ts/lib/Either.js'
import * as RunId from '../../../domain/checkpoint/RunId.js'
import * as ArtifactId from '../../../domain/data/ArtifactId.js'
import type { RetryPolicy } from '../../../domain/workflow/RetryPolicy.js'
import { MAX_ATTEMPTS, policyOf, standard } from '../../../domain/workflow/RetryPolicy.js'
import * as Duration from '../Duration.js'
import { didYouMean } from '../../../domain/data/Suggestion.js'
import type { Action, CommandAction, JobAction, TaskEntry } from '../WorkflowFile.js'
import { commandLine, DEFAULT_TIMEOUT_MILLIS } from '../WorkflowFile.js'
import { argv, checked, checksOf, command, script, taskChecks } from './checks.js'
import type { Reading } from './Reading.js'
import { duration, durationOr, flag, number, text, textOr, variable, word } from './scalars.js'
import type { Read, Rule, Schema } from './Schema.js'
import { atLeastOne, either, field, firstOf, hasAll, mapped, named, notWith, object, or, refined } from './Schema.js'

const NOTHING: CommandAction = { _tag: 'Shell', script: '' }

/** Stands in for a task that could not be read, so that its name is not reported as missing too. */
export const standIn = ({ at, name }: Reading['unit']): TaskEntry => ({
  _tag: 'Task',
  at,
  name,
  action: NOTHING,
  summary: name,
  idempotent: true
})

// ---------------------------------------------------------------------------------------------------------------------
// what a task does
// ---------------------------------------------------------------------------------------------------------------------

const job: Schema<JobAction> = mapped(
  object(
    '"job"',
    {
      submit: field(
        command,
        'The command that starts the job and prints its id.',
        '"job" needs "submit": the command that starts the job and prints its id'
      ),
      poll: field(
        command,
        'The command that polls the job; its exit code is the answer.',
        '"job" needs "poll": the command that polls the job'
      ),
      collect: field(command, 'The command that prints the output of the job once it has ended.')
    },
    { otherwise: (kind) => `"job" is a mapping of "submit", "poll" and "collect", not ${kind}` }
  ),
  ({ submit, poll, collect }) => ({
    _tag: 'Job',
    submit: submit?.value ?? NOTHING,
    poll: poll?.value ?? NOTHING,
    ...(collect === undefined ? {} : { collect: collect.value ?? NOTHING })
  })
)

const idBy = (parse: (id: string) => E.Either<{ readonly why: string }, string>): Schema<string> =>
  refined(text, {}, (id, { key }) => {
    const valid = parse(id)
    return E.isLeft(valid) ? `"${key}" cannot be "${id}": ${valid.left.why}` : undefined
  })

const reuse: Schema<Action> = mapped(
  object(
    '"reuse"',
    {
      fromRun: field(idBy(RunId.parse), 'The id of the run that has the artifact.'),
      artifact: field(
        idBy((id) =>
          ArtifactId.isReserved(id) ? E.left({ why: 'ids that begin with "_" are reserved' }) : ArtifactId.parse(id)
        ),
        'The id of the artifact.'
      )
    },
    {
      rules: [
        {
          check: ({ fromRun, artifact }, { report }, { at }) => {
            if (fromRun === undefined || artifact === undefined)
              report(at, '"reuse" needs "fromRun" (the id of a run) and "artifact" (the id of its artifact)')
          },
          json: hasAll('fromRun', 'artifact')
        }
      ]
    }
  ),
  ({ fromRun, artifact }) => ({ _tag: 'Reuse', fromRun: fromRun?.value ?? '', artifact: artifact?.value ?? '' })
)

// ---------------------------------------------------------------------------------------------------------------------
// how it is done
// ---------------------------------------------------------------------------------------------------------------------

const STRATEGIES: Readonly<Record<string, RetryPolicy['_tag']>> = {
  constant: 'Constant',
  linear: 'Linear',
  exponential: 'Exponential'
}

/** An unknown strategy is only warned about. */
const strategy: Schema<RetryPolicy['_tag']> = {
  ...mapped(text, (name, { warn }, { value }) => {
    const known = Object.keys(STRATEGIES)
    if (!known.includes(name))
      warn(value.at, `unknown retry strategy "${name}", using exponential${didYouMean(name, known)}`)
    return known.includes(name) ? STRATEGIES[name] : 'Exponential'
  }),
  json: (definitions) => ({ anyOf: [{ enum: Object.keys(STRATEGIES) }, text.json(definitions)] })
}

const FIRST_DELAY = `${standard.delayMillis / 1_000}s`

const retry: Schema<RetryPolicy> = mapped(
  object(
    '"retry"',
    {
      strategy: field(strategy, 'How delays grow: constant, linear or exponential. Default: exponential.'),
      attempts: field(
        number({ from: 1, to: MAX_ATTEMPTS, whole: true }),
        `The total number of attempts. Default: ${standard.attempts}.`
      ),
      delay: field(duration, `The first delay. Default: ${FIRST_DELAY}.`),
      maxDelay: field(duration, 'No delay is longer. Default: 2m, or the first delay if that is longer.'),
      jitter: field(
        number({ from: 0, to: 1, whole: false }),
        `The fraction by which each delay varies, up or down. Default: ${standard.jitter}.`
      )
    },
    { otherwise: (kind) => `"retry" must be false, or a mapping like { attempts: 3 }, not ${kind}` }
  ),
  ({ strategy, attempts, delay, maxDelay, jitter }, { report }) => {
    const policy = policyOf({
      _tag: strategy?.value,
      attempts: attempts?.value,
      delayMillis: delay?.value,
      maxDelayMillis: maxDelay?.value,
      jitter: jitter?.value
    })
    if (maxDelay !== undefined && policy.maxDelayMillis < policy.delayMillis)
      report(
        maxDelay.entry.at,
        `"maxDelay" must not be shorter than "delay"${delay === undefined ? ` (default: ${FIRST_DELAY})` : ''}`
      )
    return policy
  }
)

/** A number counts as it is written: `1.10` is not `1.1`. */
const version: Schema<string> = either(
  (node) => node._tag === 'Scalar' && typeof node.value === 'number',
  {
    decode: (_, { value }) => (value._tag === 'Scalar' ? value.source : undefined),
    json: () => ({ type: 'number' })
  },
  textOr('a string or a number')
)

const timeout = refined(durationOr('false, or '), { pattern: `(?=.*[1-9])${Duration.PATTERN}` }, (millis) =>
  millis === 0 ? '"timeout" must be longer than 0; write false for no limit' : undefined
)

export const taskFields = {
  shell: field(script, 'A script for the shell. It stops at its first command that fails.'),
  run: field(
    argv((kind, key) => `"${key}" must be a list, not ${kind}; for a command line use "shell"`),
    'A command and its arguments, without a shell. ${name} in an argument stands for a variable.'
  ),
  reuse: field(
    named('reuse', () => reuse),
    'Copies an artifact of another run instead of running anything.'
  ),
  job: field(
    named('job', () => job),
    'A job in another system: the run is pending until it has ended.'
  ),
  summary: field(text, 'A line for people. Default: the name, else the command.'),
  capture: field(variable(text, 'variable'), 'The variable that standard output becomes.'),
  retry: field(
    or(
      false,
      named('retry', () => retry)
    ),
    'How a failed attempt is repeated. Default: false, one attempt.'
  ),
  timeout: field(or(false, timeout), 'The time for each attempt, like 30s or 10m; false: no limit. Default: 10m.'),
  idempotent: field(flag, 'false: Dogear asks before the task runs twice. Default: true.'),
  version: field(version, 'Raise it to invalidate recorded results.'),
  workspace: field(word('fresh'), 'fresh: each attempt runs in a new, empty folder.'),
  ...taskChecks
}

type Task = Read<typeof taskFields>

// ---------------------------------------------------------------------------------------------------------------------
// rules about several keys
// ---------------------------------------------------------------------------------------------------------------------

export const WORK = ['shell', 'run', 'reuse', 'job']

const oneWork: Rule<Task> = firstOf(
  notWith('job', ['shell', 'run', 'reuse'], '"job" cannot be combined with "shell", "run" or "reuse"; use one of them'),
  notWith('reuse', ['shell', 'run'], '"reuse" cannot be combined with "shell" or "run"; use one of them'),
  notWith('run', ['shell'], 'a task has either "shell" or "run", not both'),
  atLeastOne(
    ['shell', 'run', 'reuse', 'job'],
    'a task needs "shell" (a script), "run" (a command and its arguments), "job" or "reuse"; a wait needs "sleep" or "waitFor"',
    ({ unit }) => unit.at
  )
)

const jobOutput: Rule<Task> = {
  check: ({ job, capture }, { report }) => {
    if (job?.value !== undefined && capture !== undefined && job.value.collect === undefined)
      report(capture.entry.at, '"capture" of a job needs "collect": the command that prints the output of the job')
  },
  json: { dependencies: { capture: { properties: { job: { type: 'object', ...hasAll('collect') } } } } }
}

const jobCommits: Rule<Task> = {
  check: ({ job, expect }, { report }) => {
    if (job?.value !== undefined && expect?.value?.commits?.value !== undefined)
      report(expect.entry.at, '"commits" cannot be counted for a job; list their hashes in "commits" of the task')
  },
  json: { dependencies: { job: { properties: { expect: { type: 'object', properties: { commits: false } } } } } }
}

/** A private folder is not a repository. */
const freshCommits: Rule<Task> = {
  check: ({ workspace, commits, expect }, { report }) => {
    const needsRepository =
      (commits?.value ?? []).length > 0 ||
      expect?.value?.commits?.value !== undefined ||
      expect?.value?.cleanTree?.value !== undefined
    if (workspace?.value !== undefined && needsRepository)
      report(
        workspace.entry.at,
        '"commits" and "cleanTree" need a repository, which "workspace: fresh" is not; remove one of them'
      )
  },
  json: {
    dependencies: {
      workspace: {
        properties: {
          commits: { type: 'array', maxItems: 0 },
          expect: { type: 'object', properties: { commits: false, cleanTree: false } }
        }
      }
    }
  }
}

export const taskRules: ReadonlyArray<Rule<Task>> = [oneWork, jobOutput, jobCommits, freshCommits, checked]

/** `isNamed`: the default summary is the name, not the command. The body of a map has the map's name, so an item shows its key. */
export const taskOf = (read: Task, { warn, unit: { at, name } }: Reading, isNamed: boolean): TaskEntry => {
  const { shell, run, reuse, job, retry, timeout, workspace } = read
  const action: Action = job?.value ?? reuse?.value ?? run?.value ?? shell?.value ?? NOTHING
  const policy = retry?.value === false ? undefined : retry?.value
  const idempotent = read.idempotent?.value ?? true
  if (retry !== undefined && policy !== undefined && !idempotent)
    warn(retry.entry.at, `"${name}" is not idempotent: it is retried only if its command did not start`)
  const limit = timeout === undefined ? DEFAULT_TIMEOUT_MILLIS : timeout.value
  return {
    _tag: 'Task',
    at,
    name,
    action,
    summary: (read.summary?.value ?? (isNamed ? name : commandLine(action))).replace(/\s+/g, ' ').trim(),
    idempotent,
    ...defined({
      capture: read.capture?.value,
      retry: policy,
      timeoutMillis: limit === false ? undefined : limit,
      version: read.version?.value,
      fresh: workspace?.value === undefined ? undefined : (true as const),
      checks: checksOf(read)
    })
  }
}

/** Tasks of a workflow file. */
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as O from 'fp-ts/lib/Option.js'
import * as ArtifactId from '../../domain/data/ArtifactId.js'
import type { RetryPolicy } from '../../domain/workflow/RetryPolicy.js'
import { MAX_ATTEMPTS, standard } from '../../domain/workflow/RetryPolicy.js'
import * as RunId from '../../domain/checkpoint/RunId.js'
import { argument, CHECK_KEYS, decodeChecks } from './decodeChecks.js'
import type { Fields } from './Field.js'
import * as Field from './Field.js'
import type { Position, Report } from './Problem.js'
import type { Entry } from './Source.js'
import { didYouMean } from './Suggestion.js'
import { objection } from './Variable.js'
import type { Action, ChecksEntry, CommandAction, TaskEntry } from './WorkflowFile.js'
import { commandLine, DEFAULT_TIMEOUT_MILLIS } from './WorkflowFile.js'

/** The keys that every task may have. */
export const TASK_KEYS = [
  ...['shell', 'run', 'reuse', 'job', 'summary', 'capture', 'retry', 'timeout', 'idempotent', 'version', 'workspace'],
  ...CHECK_KEYS
] as const

/** Where a task stands, and what it is called. */
export interface Named {
  readonly at: Position
  readonly name: string
  /** Whether the name is summary enough. A group's is shown beside its summary anyway. */
  readonly telling: boolean
}

/** Where problems and warnings go. */
export interface Reports {
  readonly report: Report
  readonly warn: Report
}

/** A task of these fields. What is wrong is reported, and a stand-in used, so that everything else is looked at too. */
export const decodeTask = (reports: Reports, fields: Fields, { at, name, telling }: Named): TaskEntry => {
  const { report } = reports
  const { action, job } = workOf(report, fields, at)
  const summary = pipe(
    Field.text(report, fields.get('summary')),
    O.getOrElse(() => (telling ? name : commandLine(action)))
  )
  const idempotent = pipe(
    Field.flag(report, fields.get('idempotent')),
    O.getOrElse(() => true)
  )
  const capture = captureOf(report, fields.get('capture'))
  const retry = retryOf(reports, fields.get('retry'))
  if (O.isSome(retry) && !idempotent) {
    const place = fields.get('retry')?.at ?? at
    reports.warn(place, `"${name}" is not idempotent: it is retried only if its command could not be started`)
  }
  const timeoutMillis = timeoutOf(report, fields.get('timeout'))
  const version = versionOf(report, fields.get('version'))
  const checks = decodeChecks(report, fields, 'task')
  if (job !== undefined && O.isSome(checks) && checks.value.expect.commits !== undefined)
    report(fields.get('expect')?.at ?? at, '"commits" can\'t be counted for a job: name them in "commits" of the task')
  const fresh = Field.word(report, fields.get('workspace'), ['fresh'])
  if (O.isSome(fresh) && O.isSome(checks) && needsRepository(checks.value))
    report(fields.get('workspace')?.at ?? at, '"commits" and "cleanTree" are for steps without a folder of their own')
  return {
    _tag: 'Task',
    at,
    name,
    action,
    ...(job === undefined ? {} : { job }),
    summary: summary.replace(/\s+/g, ' ').trim(),
    ...(O.isSome(capture) ? { capture: capture.value } : {}),
    ...(O.isSome(retry) ? { retry: retry.value } : {}),
    ...(O.isSome(timeoutMillis) ? { timeoutMillis: timeoutMillis.value } : {}),
    idempotent,
    ...(O.isSome(version) ? { version: version.value } : {}),
    ...(O.isSome(fresh) ? { fresh: true } : {}),
    ...(O.isSome(checks) ? { checks: checks.value } : {})
  }
}

/** The folder of a step's own is no repository. */
const needsRepository = ({ commits, expect }: ChecksEntry): boolean =>
  commits.length > 0 || expect.commits !== undefined || expect.cleanTree !== undefined

/** Stands in for a task that could not be read, so that nobody is told that its name is missing too. */
export const standIn = (at: Position, name: string): TaskEntry => ({
  _tag: 'Task',
  at,
  name,
  action: NOTHING,
  summary: name,
  idempotent: true
})

const NOTHING: CommandAction = { _tag: 'Shell', script: '' }

/** What a task executes, or hands over. */
const workOf = (report: Report, fields: Fields, at: Position): Pick<TaskEntry, 'action' | 'job'> => {
  const entry = fields.get('job')
  if (entry === undefined) return { action: actionOf(report, fields, at) }
  const other = fields.get('shell') ?? fields.get('run') ?? fields.get('reuse')
  if (other !== undefined) report(other.at, 'a task that has "job" has neither "shell" nor "run" nor "reuse"')
  if (entry.value._tag !== 'Mapping') {
    report(entry.value.at, `"job" is a mapping of "submit", "poll" and "collect", not ${Field.kindOf(entry.value)}`)
    return { action: NOTHING }
  }
  const given = Field.fieldsOf(report, entry.value, ['submit', 'poll', 'collect'], '"job"')
  const [submit, poll, collect] = [given.get('submit'), given.get('poll'), given.get('collect')]
  if (submit === undefined) report(entry.at, '"job" needs "submit": what starts the job and prints its id')
  if (poll === undefined) report(entry.at, '"job" needs "poll": what asks whether the job has ended')
  const capture = fields.get('capture')
  if (capture !== undefined && collect === undefined)
    report(capture.at, '"capture" of a job needs "collect": what prints what the job gave')
  const action = submit === undefined ? NOTHING : scriptOrWords(report, submit)
  return {
    action,
    job: {
      submit: action,
      poll: poll === undefined ? NOTHING : scriptOrWords(report, poll),
      ...(collect === undefined ? {} : { collect: scriptOrWords(report, collect) })
    }
  }
}

/** A text is a script for the shell, a list is a command and its arguments. */
const scriptOrWords = (report: Report, entry: Entry): CommandAction => {
  if (entry.value._tag === 'List') return argvOf(report, entry)
  const script = Field.text(report, entry)
  return O.isSome(script) ? { _tag: 'Shell', script: script.value } : NOTHING
}

const actionOf = (report: Report, fields: Fields, at: Position): Action => {
  const shell = fields.get('shell')
  const run = fields.get('run')
  const reuse = fields.get('reuse')
  if (reuse !== undefined && (shell !== undefined || run !== undefined)) {
    report(reuse.at, 'a task that has "reuse" has neither "shell" nor "run"')
    return NOTHING
  }
  if (reuse !== undefined) return reuseOf(report, reuse)
  if (shell !== undefined && run !== undefined) {
    report(run.at, 'a task has either "shell" or "run", not both')
    return NOTHING
  }
  if (run !== undefined) return argvOf(report, run)
  if (shell === undefined) {
    report(at, 'a task needs "shell" (a script), "run" (a command and its arguments) or "job"')
    return NOTHING
  }
  const script = Field.text(report, shell)
  return O.isSome(script) ? { _tag: 'Shell', script: script.value } : NOTHING
}

const reuseOf = (report: Report, entry: Entry): Action => {
  const source = Field.mapping(report, entry)
  if (O.isNone(source)) return NOTHING
  const fields = Field.fieldsOf(report, source.value, ['fromRun', 'artifact'], '"reuse"')
  const [fromRun, artifact] = [fields.get('fromRun'), fields.get('artifact')]
  if (fromRun === undefined || artifact === undefined)
    report(source.value.at, '"reuse" needs "fromRun" (the id of a run) and "artifact" (the id of what it has)')
  return {
    _tag: 'Reuse',
    fromRun: idOf(report, fromRun, RunId.parse),
    artifact: idOf(report, artifact, notSystem)
  }
}

const idOf = (
  report: Report,
  entry: Entry | undefined,
  parse: (id: string) => E.Either<{ readonly why: string }, string>
): string => {
  const id = O.getOrElse(() => '')(Field.text(report, entry))
  const valid = parse(id)
  if (id !== '' && entry !== undefined && E.isLeft(valid))
    report(entry.value.at, `"${entry.key}" can't be "${id}": ${valid.left.why}`)
  return id
}

const notSystem = (id: string): E.Either<{ readonly why: string }, string> =>
  ArtifactId.isSystem(id) ? E.left({ why: 'ids that begin with "_" are Dogear\'s own' }) : ArtifactId.parse(id)

const argvOf = (report: Report, entry: Entry): CommandAction => {
  const words = Field.list(report, entry)
  if (O.isNone(words)) return NOTHING
  const [command, ...more] = words.value.items.map((item) => argument(report, item))
  if (command === undefined) {
    report(entry.value.at, '"run" needs a command')
    return NOTHING
  }
  if (command.text === '') report(command.at, 'the command must not be empty')
  return { _tag: 'Argv', argv: [command, ...more] }
}

const captureOf = (report: Report, entry: Entry | undefined): O.Option<string> => {
  const name = Field.text(report, entry)
  if (O.isNone(name)) return O.none
  const why = objection(name.value)
  if (O.isNone(why)) return name
  report(entry?.value.at ?? { line: 1, column: 1 }, `"${name.value}" can't be a variable: ${why.value}`)
  return O.none
}

/** None: no limit. */
const timeoutOf = (report: Report, entry: Entry | undefined): O.Option<number> => {
  if (entry === undefined) return O.some(DEFAULT_TIMEOUT_MILLIS)
  if (entry.value._tag === 'Scalar' && entry.value.value === false) return O.none
  const millis = Field.duration(report, entry)
  if (O.isSome(millis) && millis.value === 0) report(entry.value.at, '"timeout" must be longer. For none, write false')
  return millis
}

const versionOf = (report: Report, entry: Entry | undefined): O.Option<string> =>
  entry?.value._tag === 'Scalar' && typeof entry.value.value === 'number'
    ? O.some(entry.value.source)
    : Field.text(report, entry)

const STRATEGIES: ReadonlyMap<string, RetryPolicy['_tag']> = new Map([
  ['constant', 'Constant'],
  ['linear', 'Linear'],
  ['exponential', 'Exponential']
])

/** None: one try. */
const retryOf = ({ report, warn }: Reports, entry: Entry | undefined): O.Option<RetryPolicy> => {
  if (entry === undefined || (entry.value._tag === 'Scalar' && entry.value.value === false)) return O.none
  if (entry.value._tag !== 'Mapping') {
    report(entry.value.at, `"retry" must be a mapping or false, not ${Field.kindOf(entry.value)}`)
    return O.none
  }
  const keys = ['strategy', 'attempts', 'delay', 'maxDelay', 'jitter']
  const fields = Field.fieldsOf(report, entry.value, keys, '"retry"')
  const attempts = Field.number(report, fields.get('attempts'), { from: 1, to: MAX_ATTEMPTS, whole: true })
  const jitter = Field.number(report, fields.get('jitter'), { from: 0, to: 1, whole: false })
  const delay = pipe(
    Field.duration(report, fields.get('delay')),
    O.getOrElse(() => standard.delayMillis)
  )
  const maxDelay = pipe(
    Field.duration(report, fields.get('maxDelay')),
    O.getOrElse(() => Math.max(standard.maxDelayMillis, delay))
  )
  if (maxDelay < delay) report(fields.get('maxDelay')?.at ?? entry.at, '"maxDelay" must not be shorter than "delay"')
  return O.some({
    _tag: strategyOf({ report, warn }, fields.get('strategy')),
    attempts: O.getOrElse(() => standard.attempts)(attempts),
    delayMillis: delay,
    maxDelayMillis: maxDelay,
    jitter: O.getOrElse(() => standard.jitter)(jitter)
  })
}

const strategyOf = ({ report, warn }: Reports, entry: Entry | undefined): RetryPolicy['_tag'] => {
  const name = Field.text(report, entry)
  if (O.isNone(name) || entry === undefined) return 'Exponential'
  const strategy = STRATEGIES.get(name.value)
  if (strategy !== undefined) return strategy
  const hint = didYouMean(name.value, [...STRATEGIES.keys()])
  warn(entry.value.at, `unknown retry strategy "${name.value}", using exponential${hint}`)
  return 'Exponential'
}

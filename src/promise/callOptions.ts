/** Checks the arguments of `dogear/promise`: untyped hosts may pass anything, and an ignored option may repeat work or discard it. */
import type { Check, OptionCheck, OptionProblem, OptionTable } from '../domain/data/Options.js'
import { anything, fieldsOf, flag, inside, kindOf, optionProblems, signal, text } from '../domain/data/Options.js'
import { isProgram, isWorkflow, refusal, workflows } from '../executor/arguments.js'
import { PORTS, store } from '../executor/environmentProblems.js'
import { answerMap } from '../domain/plan/planOptions.js'
import type { InvalidOptions } from '../executor/errors/RunError.js'
import { ANSWER } from '../executor/requests/answer.js'
import { PAUSE } from '../executor/requests/pause.js'
import { RESUME, RUN } from '../executor/RunOptions.js'
import { LIST } from '../executor/storage/runs.js'
import { FORK } from '../hosts/fork.js'
import { RESUME_ALL } from '../hosts/ResumeAllOptions.js'
import type { Environment } from '../ports/Environment.js'
import type { HostOptions } from './options.js'

/** Checks only that there is a value; the executor checks the value. */
const present: Check = (value) => (value === undefined ? 'plain JSON; it is missing' : undefined)

/** The parts of an environment. Its storage is that of the call. */
const ENVIRONMENT: Readonly<Record<keyof Environment, Check>> = { ...PORTS, storage: anything }

const HOST: Readonly<Record<keyof HostOptions, OptionCheck>> = {
  storage: store,
  signal,
  environment: inside('environment', ENVIRONMENT, 'an object')
}

const { recovered: _, ...OF_RESUME } = RESUME

const ONE_RUN = { id: text, ...HOST }

/** The options of each call. `oneRun`: those of calls that take only a run, such as `poll` and `cancel`. */
const KNOWN = {
  run: { ...ONE_RUN, input: anything, ...RUN },
  resume: { ...ONE_RUN, ...OF_RESUME },
  runOrResume: { ...ONE_RUN, ...OF_RESUME, ...RUN },
  oneRun: ONE_RUN,
  answer: { ...ONE_RUN, unit: text, value: present, ...ANSWER },
  confirm: { ...ONE_RUN, confirm: answerMap },
  pause: { ...ONE_RUN, ...PAUSE },
  fork: { ...ONE_RUN, newId: text, ...FORK },
  list: { ...HOST, ...LIST },
  // The executor checks the values.
  prune: { ...HOST, keep: anything, olderThanMillis: anything, statuses: anything },
  resumeAll: { ...HOST, workflows, ...RESUME_ALL }
} satisfies Readonly<Record<string, OptionTable>>

export type CallName = keyof typeof KNOWN

/** The required options of each call, beside its storage and id. */
const REQUIRED: Readonly<Partial<Record<CallName, ReadonlyArray<string>>>> = {
  answer: ['unit', 'value'],
  confirm: ['confirm'],
  fork: ['fromStep'],
  resumeAll: ['workflows']
}

/** The calls that ignore the options of a run, because they start no step: hosts pass one object to all calls. */
const IGNORING_RUN_OPTIONS: ReadonlySet<CallName> = new Set(['oneRun', 'answer', 'confirm', 'pause', 'list'])

const RUN_OPTIONS: OptionTable = Object.fromEntries(Object.keys(KNOWN.runOrResume).map((option) => [option, anything]))

/** A host may pass the options of a `Planned`. A resume finds out itself whether the state is a recovered one. */
const OF_PLANNED: OptionTable = { recovered: flag }

/** Refuses options that a call does not have, and invalid or missing values. An option that is `undefined` counts as absent. */
export const invalidOptions = (call: CallName, options: unknown): InvalidOptions | undefined => {
  if (isProgram(options)) return refusal([{ option: 'options', expected: 'an object with storage, not a workflow' }])
  return refusal([
    ...optionProblems(options, KNOWN[call], {
      required: ['storage', ...('id' in KNOWN[call] ? ['id'] : []), ...(REQUIRED[call] ?? [])],
      unlisted: IGNORING_RUN_OPTIONS.has(call) ? RUN_OPTIONS : OF_PLANNED
    }).map(suggestEnvironment)
  ])
}

/** Suggests `environment.<option>` for an unknown option that is the name of a port. */
const suggestEnvironment = (problem: OptionProblem): OptionProblem =>
  'known' in problem && Object.hasOwn(ENVIRONMENT, problem.option)
    ? { ...problem, known: [`environment.${problem.option}`] }
    : problem

/** Returns the options of a call, and the ports of its environment, as plain objects: an instance of a class may inherit them. */
export const plainOptions = <O extends HostOptions>(call: CallName, options: O): O => {
  const plain = picked(options, KNOWN[call], (option) => option in options)
  const { environment } = options
  if (environment === undefined) return plain as unknown as O
  const parts = fieldsOf(environment)
  return { ...plain, environment: picked(parts, ENVIRONMENT, (part) => parts[part] !== undefined) } as unknown as O
}

const picked = (
  given: object,
  table: OptionTable,
  isWanted: (option: string) => boolean
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.keys(table)
      .filter(isWanted)
      .map((option) => [option, (given as Readonly<Record<string, unknown>>)[option]])
  )

export const invalidWorkflow = (program: unknown): InvalidOptions | undefined =>
  refusal(isWorkflow(program) ? [] : [notWorkflow(program)])

const notWorkflow = (program: unknown): OptionProblem =>
  isProgram(program)
    ? { option: 'the name of the workflow', expected: `a string, not ${kindOf(fieldsOf(program)['name'])}` }
    : { option: 'the first argument', expected: `a workflow, not ${kindOf(program)}` }

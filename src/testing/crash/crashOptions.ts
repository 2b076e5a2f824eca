/** The options of a crash test, and their check. */
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import type { PendingWait } from '../../domain/checkpoint/Pending.js'
import type { Check } from '../../domain/data/Options.js'
import {
  anything,
  arrayOf,
  callback,
  fieldsOf,
  flag,
  isText,
  kindOf,
  millis,
  oneOf,
  text,
  whole,
  wholeFrom
} from '../../domain/data/Options.js'
import type { TableOf } from '../arguments.js'
import { isWorkflow, problemsOf, recordOf, refuse } from '../arguments.js'
import { HOWS } from './CrashPoint.js'
import type { CrashCase } from './CrashReport.js'
import type { Intervention } from './Intervention.js'
import { INTERVENTIONS } from './Intervention.js'
import type { CrashStorage } from './process/CrashStorage.js'
import type { Trace } from './Trace.js'

/**
 * What an invariant gets, between two processes of a run and at its end (`completed`).
 *
 * - `world`: the outside world as the steps left it.
 * - `trace`: the events so far.
 * - `checkpoint`: what the next process finds; absent if nothing is stored.
 * - `undisturbed`: the final checkpoint of the undisturbed run; absent in that run.
 *
 * @category model
 */
export interface Observation<World> {
  readonly world: World
  readonly trace: Trace
  readonly checkpoint: Checkpoint | undefined
  readonly undisturbed: Checkpoint | undefined
  readonly completed: boolean
}

/**
 * A condition that must always hold. It is violated if it throws, or returns `false` or a string that describes the
 * problem.
 *
 * @category model
 */
export type Invariant<World> = (seen: Observation<World>) => unknown

/**
 * The options of a crash test.
 *
 * - `storage`: the store, default in memory.
 * - `input`: the run's input, default `{}`.
 * - `world`: creates the outside world of each simulated run.
 * - `invariants`: your own, by name.
 * - `answers`: the answer to a question about a unit in doubt: `again`, `done` (with its output of the undisturbed
 *   run), or each in turn (`both`, the default). A unit declared done may never have taken effect; the trace contains
 *   the answers.
 * - `mayDiffer`: paths of units whose outputs may differ from the undisturbed run.
 * - `mayFail`: how many processes of a run may end because a step failed, default 0. The next one continues.
 * - `twice`: the number of sampled runs with two crashes, default 100.
 * - `overridden`: the number of sampled runs in which a user starts from a step, restarts a wave, deletes or edits evidence, pauses or
 *   cancels, default 0.
 * - `pauses`: also requests a pause before and after each store call, and when a unit first starts; after a pause at a
 *   unit it also crashes the process at each later point. Default false.
 * - `seed`: the seed of the samples, default 1.
 * - `stopAfter`: the number of violations that ends the test, default 10.
 * - `reply`: the answer to a wait, or undefined for none; the default answers none. Virtual time passes until a wait is
 *   over.
 * - `patienceMillis`: how long, in real time, a step may do unobservable work such as file access, default 1000; store
 *   calls may take ten times as long. Then virtual time advances without it; if nothing sleeps, that violates `Ends`.
 * - `maxWaits`: how often virtual time may advance in one process, default 10,000.
 * - `only`: repeats one case of a violation, after the undisturbed run.
 *
 * @category model
 */
export interface CrashOptions<World, Data, Input> {
  readonly storage?: CrashStorage<Data>
  readonly input?: Input
  /** Creates the outside world of each simulated run. */
  readonly world?: () => World
  readonly invariants?: Readonly<Record<string, Invariant<World>>>
  readonly answers?: 'again' | 'done' | 'both'
  readonly mayDiffer?: ReadonlyArray<string>
  readonly mayFail?: number
  readonly twice?: number
  readonly overridden?: number
  readonly pauses?: boolean
  readonly seed?: number
  /** The answer to a wait, or undefined for none. */
  readonly reply?: (wait: PendingWait, world: World) => unknown
  readonly stopAfter?: number
  readonly patienceMillis?: number
  readonly maxWaits?: number
  readonly only?: CrashCase
}

const isOf = (tags: ReadonlyArray<string>, value: unknown): boolean => tags.includes(String(fieldsOf(value)['_tag']))

const POINTS = Object.keys(HOWS)

const hasHow = ({ _tag, how }: Readonly<Record<string, unknown>>): boolean =>
  Object.entries(HOWS).some(([tag, hows]) => tag === _tag && hows.some((one) => one === how)) ||
  (_tag === 'AtUnit' && how === 'waits')

const schedule = arrayOf(
  (point) => isOf(POINTS, point) && hasHow(fieldsOf(point)) && wholeFrom(1)(fieldsOf(point)['n']) === undefined,
  `an array of crash points: ${POINTS.join(', ')}, each with \`n\` (from 1) and a \`how\` of its kind`
)

const FIELDS: Readonly<Record<Intervention['_tag'], Readonly<Record<string, Check>>>> = {
  FromStep: { step: text },
  RestartWave: { wave: text },
  DeleteEvidence: { unit: text },
  EditEvidence: { unit: text, answer: oneOf('again', 'keep', 'done') },
  Pause: { unit: text, when: (value) => (value === undefined ? undefined : oneOf('during', 'late')(value)) },
  PauseAtCall: { n: wholeFrom(1), how: oneOf('before', 'after') },
  Cancel: { unit: text },
  AnswerWait: { n: wholeFrom(1), unit: text }
}

const hasFields = (given: Readonly<Record<string, unknown>>): boolean =>
  Object.entries({ ...FIELDS[given['_tag'] as Intervention['_tag']], life: wholeFrom(1) }).every(
    ([name, check]) => check(given[name]) === undefined
  )

const interventions = arrayOf(
  (one) => isOf(INTERVENTIONS, one) && hasFields(fieldsOf(one)),
  `an array of interventions: ${INTERVENTIONS.join(', ')}, each with \`life\` (from 1) and the fields of its kind`
)

const CASE: TableOf<CrashCase> = { schedule, answer: oneOf('again', 'done'), interventions }

const only: Check = (value) => {
  const [problem] = problemsOf(value, CASE, ['schedule', 'answer'])
  return problem === undefined ? undefined : `the \`only\` of a violation: ${problem}`
}

const storage: Check = (value) =>
  ['create', 'reopen'].every((name) => typeof fieldsOf(value)[name] === 'function')
    ? undefined
    : 'an object with the functions `create` and `reopen`'

const OPTIONS: TableOf<CrashOptions<unknown, unknown, unknown>> = {
  storage,
  input: anything,
  world: callback,
  invariants: recordOf((value) => typeof value === 'function', 'an object of functions by name'),
  answers: oneOf('again', 'done', 'both'),
  mayDiffer: arrayOf(isText, 'an array of paths of units'),
  mayFail: wholeFrom(0),
  twice: wholeFrom(0),
  overridden: wholeFrom(0),
  pauses: flag,
  seed: whole,
  reply: callback,
  stopAfter: wholeFrom(1),
  patienceMillis: millis,
  maxWaits: wholeFrom(1),
  only
}

export const checkMade = (program: unknown): void =>
  refuse('crashEverywhere', isWorkflow(program) ? [] : [`the function must return a workflow, not ${kindOf(program)}`])

export const checkCall = (program: unknown, options: unknown): void => {
  const isProgram = typeof program === 'function' || isWorkflow(program)
  refuse('crashEverywhere', [
    ...(isProgram
      ? []
      : [`the first argument must be a workflow or a function that makes one, not ${kindOf(program)}`]),
    ...problemsOf(options, OPTIONS)
  ])
}

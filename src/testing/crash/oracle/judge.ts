/** The laws between two processes of a run and at its end. */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint, Variables } from '../../../domain/checkpoint/Checkpoint.js'
import type { Json } from '../../../domain/data/Json.js'
import { equals } from '../../../domain/data/Json.js'
import { planResume } from '../../../domain/plan/planResume.js'
import { definitionAt } from '../../../domain/workflow/Node.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { ancestors, isWithin } from '../../../domain/workflow/Unit.js'
import type { Step, Workflow } from '../../../domain/workflow/Workflow.js'
import type { ProgramTask } from '../../../executor/program/Program.js'
import type { Between } from '../simulateRun.js'
import { tasksOf } from '../../planning/arbitrary/tree.js'
import type { Finding } from './Oracle.js'

/** The outputs and variables of a run. */
export interface Result {
  readonly outputs: ReadonlyMap<string, Json | undefined>
  readonly variables: Variables
}

export const resultOf = (checkpoint: Checkpoint): Result => ({
  outputs: new Map([...checkpoint.completedSteps].map(({ unit, output }) => [unit, output])),
  variables: checkpoint.variables
})

/** Checks the laws that hold for every workflow. `undisturbed` is absent in the undisturbed run. */
export const judge =
  (undisturbed: Result | undefined, mayDiffer: ReadonlySet<string>) =>
  <World>(between: Between<World>): ReadonlyArray<Finding> => [
    ...nothingForgotten(between),
    ...sameKey(between),
    ...sameAttempt(between),
    ...(between.completed ? [...atLeastOnce(between), ...sameEnd(between, undisturbed, mayDiffer)] : [])
  ]

/** The tasks by their units, without those of unexpanded maps. */
const unitsOf = <World>({ program, checkpoint }: Between<World>): ReadonlyMap<Unit, ProgramTask> =>
  tasksOf(program, checkpoint?.items)

const nothingForgotten = <World>(between: Between<World>): ReadonlyArray<Finding> => {
  const { program, checkpoint } = between
  if (checkpoint === undefined) return []
  // `accepts` is user code and may throw.
  const tried = E.tryCatch(() => planResume(checkpoint, program), E.toError)
  if (E.isLeft(tried)) return [{ law: 'NothingForgotten', what: `planning threw: ${tried.left.message}` }]
  const plan = tried.right
  if (E.isLeft(plan)) {
    const what = `the stored run has no plan: ${JSON.stringify(plan.left.problems)}`
    return [{ law: 'NothingForgotten', what }]
  }
  const recorded = new Set([...checkpoint.completedSteps].map(({ unit }) => unit))
  const skipped = new Set(plan.right.decisions.filter(({ _tag }) => _tag === 'Skip').map(({ unit }) => unit))
  const planned = new Set(plan.right.decisions.map(({ unit }) => unit))
  return [...unitsOf(between).keys()]
    .filter((unit) => !planned.has(unit) || (skipped.has(unit) && !recorded.has(unit)))
    .map((unit) => ({ law: 'NothingForgotten', unit, what: `${unit} is neither recorded nor scheduled` }))
}

/** A unit keeps its key until it is rewound itself or its job fails. */
const sameKey = <World>({ trace, program }: Between<World>): ReadonlyArray<Finding> => {
  const keys = new Map<string, string>()
  for (const entry of trace) {
    if (entry._tag === 'Recorded' && RENEWING.has(entry.what)) {
      for (const unit of entry.units) keys.delete(unit)
      // The items of a rewound map may be unknown by now.
      for (const unit of keys.keys())
        if (mapsAround(program, unit).some((map) => entry.named?.some((one) => isWithin(map, one)))) keys.delete(unit)
    }
    if (entry._tag !== 'Started') continue
    const { unit, key } = entry
    const known = keys.get(unit)
    if (known !== undefined && known !== key)
      return [{ law: 'SameKey', unit, what: `${unit} ran again under another idempotency key` }]
    keys.set(unit, key)
  }
  return []
}

/** The maps around a unit. */
const mapsAround = (workflow: Workflow, unit: Unit): ReadonlyArray<Unit> =>
  [...ancestors(unit)].filter((one) => definitionAt<Step>(workflow, one)?._tag === 'Map')

const RENEWING: ReadonlySet<string> = new Set(['rewound', 'job failed', 'job refused'])

/** An attempt that was cut short is repeated under its own number, so that crashes add no attempts. */
const sameAttempt = <World>({ trace }: Between<World>): ReadonlyArray<Finding> => {
  const inFlight = new Map<string, number>()
  const undone = new Map<string, number>()
  for (const entry of trace) {
    if (entry._tag === 'Answered' || entry._tag === 'Failed') inFlight.delete(entry.unit)
    if (entry._tag === 'Recorded') {
      for (const unit of entry.units)
        if (entry.what === 'not attempted') undone.set(unit, entry.life)
        else inFlight.delete(unit)
    }
    if (entry._tag !== 'Started') continue
    const { unit, attempt, life } = entry
    // A unit that was not attempted has failed, so its attempts start at 1 again.
    if ((undone.get(unit) ?? life) < life) inFlight.delete(unit)
    const before = inFlight.get(unit) ?? attempt
    if (attempt !== before)
      return [
        { law: 'SameAttempt', unit, what: `${unit} was in attempt ${before}, and ran again as attempt ${attempt}` }
      ]
    inFlight.set(unit, attempt)
    undone.delete(unit)
  }
  return []
}

/** A rewound unit has to complete again. */
const atLeastOnce = <World>(between: Between<World>): ReadonlyArray<Finding> => {
  const { trace } = between
  const done = new Set<string>()
  for (const entry of trace) {
    if (entry._tag === 'Done') done.add(entry.unit)
    if (entry._tag !== 'Recorded') continue
    for (const unit of entry.units) {
      if (entry.what === 'assumed done' || entry.what === 'wait over') done.add(unit)
      if (entry.what === 'rewound') done.delete(unit)
    }
  }
  return [...unitsOf(between).keys()]
    .filter((unit) => !done.has(unit))
    .map((unit) => ({ law: 'AtLeastOnce', unit, what: `the run is completed, and ${unit} did not end well` }))
}

const sameEnd = <World>(
  between: Between<World>,
  undisturbed: Result | undefined,
  mayDiffer: ReadonlySet<string>
): ReadonlyArray<Finding> => {
  const { program, checkpoint } = between
  if (checkpoint?.state._tag !== 'Completed' || checkpoint.completedSteps.steps !== program.steps.length)
    return [{ law: 'SameEnd', what: 'the run ended as completed, and the stored run is not completed' }]
  if (undisturbed === undefined) return []
  const units = unitsOf(between)
  const free = new Set([...mayDiffer].flatMap((unit) => units.get(unit)?.captures ?? []))
  const { outputs, variables } = resultOf(checkpoint)
  const differing = (
    actual: ReadonlyMap<string, Json | undefined>,
    expected: ReadonlyMap<string, Json | undefined>,
    except: ReadonlySet<string>,
    kind: string
  ): ReadonlyArray<Finding> =>
    [...new Set([...actual.keys(), ...expected.keys()])]
      // Ignores sub-steps, because an assumed task has none.
      .filter((name) => ![...ancestors(name)].some((above) => units.has(above)))
      .filter((name) => !except.has(name) && !same(actual.get(name), expected.get(name)))
      .map((unit) => ({
        law: 'SameEnd',
        unit,
        what: `${kind} ${unit} is ${text(actual.get(unit))}, and undisturbed it is ${text(expected.get(unit))}`
      }))
  return [
    ...differing(outputs, undisturbed.outputs, mayDiffer, 'the output of'),
    ...differing(variables, undisturbed.variables, free, 'the variable')
  ]
}

const same = (a: Json | undefined, b: Json | undefined): boolean =>
  a === undefined || b === undefined ? a === b : equals(a, b)

const text = (value: Json | undefined): string =>
  value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 200)

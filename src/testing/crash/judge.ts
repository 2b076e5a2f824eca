/**
 * What must hold between two processes of a run, and at its end.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint, Variables } from '../../domain/Checkpoint.js'
import type { Json } from '../../domain/Json.js'
import { equals } from '../../domain/Json.js'
import { unitName } from '../../domain/Plan.js'
import { planResume } from '../../domain/planResume.js'
import { tasks } from '../../domain/Workflow.js'
import type { Task, Workflow } from '../../domain/Workflow.js'
import type { Between, Finding } from './SimulatedRun.js'
import type { Trace } from './Trace.js'

/** What a run came to: what each unit gave, and the variables. */
export interface Result {
  readonly outputs: ReadonlyMap<string, Json | undefined>
  readonly variables: Variables
}

/** What a checkpoint holds of it. */
export const resultOf = (checkpoint: Checkpoint): Result => ({
  outputs: new Map([...checkpoint.completedSteps].map((record) => [unitName(record), record.output])),
  variables: checkpoint.variables
})

/** What must hold whatever the workflow is. `undisturbed`: none if this is the undisturbed run. */
export const judge =
  (undisturbed: Result | undefined, mayDiffer: ReadonlySet<string>) =>
  <World>(between: Between<World>): ReadonlyArray<Finding> => [
    ...nothingLost(between),
    ...nothingTwice(between),
    ...nothingForgotten(between),
    ...atMostOnce(between),
    ...sameKey(between),
    ...sameAttempt(between),
    ...(between.completed ? [...atLeastOnce(between), ...sameEnd(between, undisturbed, mayDiffer)] : [])
  ]

const recordedIn = (checkpoint: Checkpoint | undefined): ReadonlySet<string> =>
  new Set(checkpoint === undefined ? [] : [...checkpoint.completedSteps].map(unitName))

/** The tasks of a workflow by the names of their units; waves are none. */
const unitsOf = ({ steps }: Workflow): ReadonlyMap<string, Task> =>
  new Map(
    steps.flatMap((step) =>
      tasks(step).map((task) => [step._tag === 'Task' ? step.name : `${step.name}/${task.name}`, task] as const)
    )
  )

const nothingLost = <World>({ before, checkpoint, acknowledged }: Between<World>): ReadonlyArray<Finding> => {
  const now = recordedIn(checkpoint)
  const lost = (units: Iterable<string>, what: string): ReadonlyArray<Finding> =>
    [...units]
      .filter((unit) => !now.has(unit))
      .map((unit) => ({ law: 'NothingLost', unit, what: `the record of ${unit} ${what}, and is gone` }))
  const found = lost(acknowledged.units, 'was acknowledged')
  if (found.length > 0) return found
  const there = checkpoint?.revision ?? -1
  if (there < acknowledged.revision) {
    const what = `revision ${acknowledged.revision} was acknowledged, and ${there < 0 ? 'nothing' : `revision ${there}`} is stored`
    return [{ law: 'NothingLost', what }]
  }
  return lost(recordedIn(before), 'was found by the process before')
}

const lastLife = (trace: Trace): number => trace.at(-1)?.life ?? 0

const nothingTwice = <World>({ before, trace }: Between<World>): ReadonlyArray<Finding> => {
  const recorded = recordedIn(before)
  const life = lastLife(trace)
  return trace
    .filter((entry) => entry._tag === 'Started' && entry.life === life && recorded.has(entry.unit))
    .flatMap((entry) => ('unit' in entry ? [entry.unit] : []))
    .map((unit) => ({ law: 'NothingTwice', unit, what: `${unit} was recorded completed, and ran again` }))
}

const nothingForgotten = <World>({ program, checkpoint }: Between<World>): ReadonlyArray<Finding> => {
  if (checkpoint === undefined) return []
  const plan = planOrThrown(checkpoint, program)
  if (typeof plan === 'string') return [{ law: 'NothingForgotten', what: `planning threw: ${plan}` }]
  if (E.isLeft(plan)) {
    const what = `there is no plan for what is stored: ${JSON.stringify(plan.left.problems)}`
    return [{ law: 'NothingForgotten', what }]
  }
  const recorded = recordedIn(checkpoint)
  const skipped = new Set(plan.right.decisions.filter(({ _tag }) => _tag === 'Skip').map(unitName))
  const planned = new Set(plan.right.decisions.map(unitName))
  return [...unitsOf(program).keys()]
    .filter((unit) => !planned.has(unit) || (skipped.has(unit) && !recorded.has(unit)))
    .map((unit) => ({ law: 'NothingForgotten', unit, what: `${unit} is neither recorded nor scheduled` }))
}

/** The plan, or what was thrown instead: the judgement of a step's output is the workflow's own code. */
const planOrThrown = (checkpoint: Checkpoint, workflow: Workflow): ReturnType<typeof planResume> | string => {
  try {
    return planResume(checkpoint, workflow)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const atMostOnce = <World>({ program, trace }: Between<World>): ReadonlyArray<Finding> => {
  const units = unitsOf(program)
  const inDoubt = new Set<string>()
  const found: Array<Finding> = []
  for (const entry of trace) {
    if (entry._tag === 'Started' && units.get(entry.unit)?.idempotent === false) {
      const { unit } = entry
      if (inDoubt.has(unit)) {
        found.push({
          law: 'AtMostOnce',
          unit,
          what: `${unit} is not idempotent, may have had its effect, and ran again unasked`
        })
      }
      inDoubt.add(unit)
    } else if (entry._tag === 'Answered' || (entry._tag === 'Failed' && !entry.applied)) inDoubt.delete(entry.unit)
  }
  return found
}

const sameKey = <World>({ trace }: Between<World>): ReadonlyArray<Finding> => {
  const keys = new Map<string, string>()
  for (const entry of trace) {
    if (entry._tag !== 'Started') continue
    const { unit, key } = entry
    const known = keys.get(unit)
    if (known !== undefined && known !== key)
      return [{ law: 'SameKey', unit, what: `${unit} ran again under another idempotency key` }]
    keys.set(unit, key)
  }
  return []
}

/** What was in flight when a process died is repeated under its own number: else a crash would give it more attempts. */
const sameAttempt = <World>({ trace }: Between<World>): ReadonlyArray<Finding> => {
  const inFlight = new Map<string, number>()
  for (const entry of trace) {
    if (entry._tag === 'Answered' || entry._tag === 'Failed') inFlight.delete(entry.unit)
    if (entry._tag !== 'Started') continue
    const { unit, attempt } = entry
    const before = inFlight.get(unit) ?? attempt
    if (attempt !== before)
      return [
        { law: 'SameAttempt', unit, what: `${unit} was in attempt ${before}, and ran again as attempt ${attempt}` }
      ]
    inFlight.set(unit, attempt)
  }
  return []
}

const atLeastOnce = <World>({ program, trace }: Between<World>): ReadonlyArray<Finding> => {
  const done = new Set(
    trace.flatMap((entry) =>
      entry._tag === 'Done' || (entry._tag === 'Answered' && entry.answer === 'done') ? [entry.unit] : []
    )
  )
  return [...unitsOf(program).keys()]
    .filter((unit) => !done.has(unit))
    .map((unit) => ({ law: 'AtLeastOnce', unit, what: `the run is completed, and ${unit} never ended well` }))
}

const sameEnd = <World>(
  { program, checkpoint }: Between<World>,
  undisturbed: Result | undefined,
  mayDiffer: ReadonlySet<string>
): ReadonlyArray<Finding> => {
  if (checkpoint?.state._tag !== 'Completed' || checkpoint.completedSteps.steps !== program.steps.length)
    return [{ law: 'SameEnd', what: 'the run ended as completed, and what is stored is not completed' }]
  if (undisturbed === undefined) return []
  const units = unitsOf(program)
  const free = new Set([...mayDiffer].flatMap((unit) => units.get(unit)?.captures ?? []))
  const { outputs, variables } = resultOf(checkpoint)
  const differing = (
    now: ReadonlyMap<string, Json | undefined>,
    then: ReadonlyMap<string, Json | undefined>,
    except: ReadonlySet<string>,
    kind: string
  ): ReadonlyArray<Finding> =>
    [...new Set([...now.keys(), ...then.keys()])]
      .filter((name) => !except.has(name) && !same(now.get(name), then.get(name)))
      .map((unit) => ({
        law: 'SameEnd',
        unit,
        what: `${kind} ${unit} is ${text(now.get(unit))}, and undisturbed it is ${text(then.get(unit))}`
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

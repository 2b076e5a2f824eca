/**
 * Arbitraries for property tests of resume plans: workflows, runs that such workflows can reach, edits, plan options.
 */
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import type { Checkpoint } from '../../src/domain/Checkpoint.js'
import type { Json } from '../../src/domain/Json.js'
import type { Answer, MissingEvidence, PlanOptions } from '../../src/domain/Plan.js'
import { unitName } from '../../src/domain/Plan.js'
import type { Group, Step, Task, TaskOptions, Workflow } from '../../src/domain/Workflow.js'
import * as W from '../../src/domain/Workflow.js'
import type { Dice, Moment, SimulatedRun } from './simulate.js'
import { diceOf, doneAnswer, simulate } from './simulate.js'

// ---------------------------------------------------------------------------------------------------------------------
// chance
// ---------------------------------------------------------------------------------------------------------------------

/** Numbers to roll with. Shrinks towards an execution without trouble. */
export const numbers: fc.Arbitrary<ReadonlyArray<number>> = fc.array(fc.nat({ max: 0xffff }), { maxLength: 60 })

// ---------------------------------------------------------------------------------------------------------------------
// workflows
// ---------------------------------------------------------------------------------------------------------------------

/** Outputs that a task may insist on. */
const ACCEPTED: Readonly<Record<string, Task['accepts']>> = {
  anything: () => E.right(undefined),
  something: (output) => (output === undefined ? E.left({ path: '$', expected: 'an output' }) : E.right(undefined)),
  number: (output) => (typeof output === 'number' ? E.right(undefined) : E.left({ path: '$', expected: 'number' })),
  object: (output) =>
    typeof output === 'object' && output !== null && 'n' in output
      ? E.right(undefined)
      : E.left({ path: '$.n', expected: 'number' })
}

interface TaskSpec {
  readonly idempotent: boolean
  readonly accepts: string
  readonly captures: number
  readonly version: number
}

const taskSpec: fc.Arbitrary<TaskSpec> = fc.record({
  idempotent: fc.boolean(),
  accepts: fc.constantFrom('anything', ...Object.keys(ACCEPTED)),
  captures: fc.constantFrom(0, 0, 1, 2),
  version: fc.nat({ max: 3 })
})

/** A task of this name. What it captures has a name of its own, at times a nasty one. */
const taskOf = (name: string, { idempotent, accepts, captures, version }: TaskSpec, place: string): Task => {
  const variables = place === '0' ? ['__proto__', 'constructor'] : [`${place}-a`, 'toString'.slice(0, captures) + place]
  const options: TaskOptions = {
    summary: `does ${name}`,
    definition: { accepts, version },
    idempotent,
    captures: variables.slice(0, captures),
    accepts: ACCEPTED[accepts] ?? (() => E.right(undefined))
  }
  return W.task(name, options)
}

interface StepSpec {
  readonly name: number
  readonly task: TaskSpec
  readonly groups: ReadonlyArray<{ readonly task: TaskSpec; readonly needs: number }>
}

const stepSpec: fc.Arbitrary<StepSpec> = fc.record({
  name: fc.nat({ max: 99 }),
  task: taskSpec,
  groups: fc.oneof(
    fc.constant([]),
    fc.array(fc.record({ task: taskSpec, needs: fc.nat({ max: 15 }) }), { minLength: 1, maxLength: 4 })
  )
})

const GROUP_NAMES = ['unit', 'lint', 'constructor', 'toString']

const stepOf = ({ task, groups }: StepSpec, name: string, place: string): Step =>
  groups.length === 0
    ? taskOf(name, task, place)
    : W.wave(
        name,
        groups.map((group, index) =>
          W.group(
            taskOf(GROUP_NAMES[index] as string, group.task, `${place}.${index}`),
            GROUP_NAMES.slice(0, index).filter((_, other) => (group.needs & (1 << other)) !== 0)
          )
        )
      )

const NAMES = ['constructor', 'build', 'test', 'pack', 'publish', 'toString', 'deploy', 'notify']

/** A valid workflow of tasks and waves. Some step names are those of properties that every object has. */
export const workflow = (
  limits: { readonly maxSteps?: number; readonly tasksOnly?: boolean } = {}
): fc.Arbitrary<Workflow> =>
  fc.array(stepSpec, { minLength: 1, maxLength: limits.maxSteps ?? 6 }).map((specs) => ({
    name: 'release',
    steps: specs.map((spec, index) =>
      stepOf(limits.tasksOnly === true ? { ...spec, groups: [] } : spec, NAMES[index] ?? `step-${index}`, String(index))
    )
  }))

// ---------------------------------------------------------------------------------------------------------------------
// edits
// ---------------------------------------------------------------------------------------------------------------------

/** How somebody edits a workflow. `at` and `salt` are taken modulo what there is. */
export interface WorkflowEdit {
  readonly kind: (typeof EDITS)[number]
  readonly at: number
  readonly salt: number
}

const EDITS = [
  'change',
  'remove',
  'add',
  'rename',
  'move',
  'flip',
  'kind',
  'addGroup',
  'removeGroup',
  'changeGroup',
  'renameGroup',
  'summary'
] as const

/** An edit. */
export const workflowEdit: fc.Arbitrary<WorkflowEdit> = fc.record({
  kind: fc.constantFrom(...EDITS),
  at: fc.nat({ max: 6 }),
  salt: fc.nat({ max: 99 })
})

/** An edited workflow, still valid, and the first step that is not as it was. */
export const edit = (
  before: Workflow,
  { kind, at, salt }: WorkflowEdit
): { readonly workflow: Workflow; readonly first: number } => {
  const { steps } = before
  const first = at % steps.length
  const step = steps[first] as Step
  const fresh = `new-${salt}`
  const taken = steps.some(({ name }) => name === fresh)
  const done = (edited: ReadonlyArray<Step>, from = first) => ({ workflow: { ...before, steps: edited }, first: from })
  const put = (...now: ReadonlyArray<Step>) => done([...steps.slice(0, first), ...now, ...steps.slice(first + 1)])
  switch (kind) {
    case 'change':
      return put(changed(step, salt))
    case 'remove':
      return steps.length === 1 ? done(steps) : put()
    case 'add': {
      const place = at % (steps.length + 1)
      const added = W.task(taken ? `${fresh}-x` : fresh, { idempotent: salt % 2 === 0 })
      return taken && steps.some(({ name }) => name === `${fresh}-x`)
        ? done(steps, steps.length)
        : done([...steps.slice(0, place), added, ...steps.slice(place)], place)
    }
    case 'rename':
      return taken ? done(steps) : put(renamed(step, fresh))
    case 'move': {
      const rest = steps.filter((one) => one !== step)
      const to = salt % steps.length
      return done([...rest.slice(0, to), step, ...rest.slice(to)], Math.min(to, first))
    }
    case 'flip':
      return put(step._tag === 'Task' ? again(step, { idempotent: !step.idempotent }) : step)
    case 'kind':
      return put(
        step._tag === 'Task'
          ? W.wave(step.name, [W.group(again({ ...step, name: step.name }, {}))])
          : again({ ...(step.groups[0] as Task), name: step.name }, {})
      )
    case 'addGroup':
      return put(
        step._tag === 'Task' || step.groups.some(({ name }) => name === fresh)
          ? step
          : W.wave(step.name, [...step.groups, W.group(W.task(fresh, { idempotent: salt % 2 === 0 }))])
      )
    case 'removeGroup':
      return put(step._tag === 'Task' || step.groups.length === 1 ? step : withoutGroup(step.name, step.groups, salt))
    case 'changeGroup':
      return put(
        step._tag === 'Task'
          ? step
          : W.wave(
              step.name,
              step.groups.map((group, index) =>
                index === salt % step.groups.length ? W.group(again(group, { definition: salt }), group.needs) : group
              )
            )
      )
    case 'renameGroup':
      return put(step._tag === 'Task' ? step : renamedGroup(step.name, step.groups, salt))
    case 'summary':
      return put({ ...step, summary: `${step.summary} (${salt})` })
  }
}

/** The same task, declared again with other options. */
const again = (task: Task, options: TaskOptions): Task =>
  W.task(task.name, {
    summary: task.summary,
    definition: task.fingerprint,
    idempotent: task.idempotent,
    captures: task.captures,
    accepts: task.accepts,
    ...options
  })

const changed = (step: Step, salt: number): Step =>
  step._tag === 'Task'
    ? again(step, { definition: [step.fingerprint, salt] })
    : W.wave(
        step.name,
        step.groups.map((group) => W.group(again(group, { definition: [group.fingerprint, salt] }), group.needs))
      )

const renamed = (step: Step, name: string): Step =>
  step._tag === 'Task' ? again({ ...step, name }, {}) : W.wave(name, step.groups)

const withoutGroup = (name: string, groups: ReadonlyArray<Group>, salt: number): Step => {
  const gone = groups[salt % groups.length] as Group
  const rest = groups.filter((group) => group !== gone)
  return W.wave(
    name,
    rest.map((group) => ({ ...group, needs: group.needs.filter((need) => need !== gone.name) }))
  )
}

const renamedGroup = (name: string, groups: ReadonlyArray<Group>, salt: number): Step => {
  const old = groups[salt % groups.length] as Group
  const fresh = `group-${salt}`
  if (groups.some((group) => group.name === fresh)) return W.wave(name, groups)
  const rename = (one: string): string => (one === old.name ? fresh : one)
  return W.wave(
    name,
    groups.map((group) => W.group(again({ ...group, name: rename(group.name) }, {}), group.needs.map(rename)))
  )
}

// ---------------------------------------------------------------------------------------------------------------------
// plan options
// ---------------------------------------------------------------------------------------------------------------------

/** What may be asked of a plan, as the dice say: mostly nothing. */
export const chooseOptions = (dice: Dice, moment: Moment): PlanOptions => ({
  ...(dice.roll(5) === 4 ? { fromStep: pick(dice, moment.workflow.steps).name } : {}),
  ...(dice.roll(5) === 4 ? restart(dice, moment.workflow) : {}),
  ...(dice.roll(4) === 3 ? { changes: pick(dice, ['ignore', 'ignore', 'strict', 'completed'] as const) } : {}),
  ...(dice.roll(4) === 3 ? { confirm: chooseAnswers(dice, moment.workflow) } : {}),
  ...(dice.roll(3) === 2 ? { outputs: chooseOutputs(dice, moment.workflow) } : {}),
  ...(dice.roll(4) === 3 ? { evidence: chooseMissing(dice, moment.checkpoint) } : {})
})

const pick = <A>(dice: Dice, all: ReadonlyArray<A>): A => all[dice.roll(all.length)] as A

const restart = (dice: Dice, { steps }: Workflow): PlanOptions => {
  const waves = steps.filter((step) => step._tag === 'Wave')
  return waves.length === 0 ? {} : { restartWave: pick(dice, waves).name }
}

/** Every task of a workflow, by the name of its unit. */
export const taskUnits = ({ steps }: Workflow): ReadonlyMap<string, Task> =>
  new Map(
    steps.flatMap((step) =>
      step._tag === 'Task'
        ? [[step.name, step] as const]
        : step.groups.map((group) => [unitName({ step: step.name, group: group.name }), group] as const)
    )
  )

const chooseAnswers = (dice: Dice, of: Workflow): ReadonlyMap<string, Answer> => {
  const answers = new Map<string, Answer>()
  for (const [name, task] of taskUnits(of)) {
    const roll = dice.roll(6)
    if (roll === 4) answers.set(name, { _tag: 'Again' })
    if (roll === 5) answers.set(name, doneAnswer(task, dice))
  }
  return answers
}

const chooseOutputs = (dice: Dice, of: Workflow): ReadonlyMap<string, Json> => {
  const outputs = new Map<string, Json>()
  for (const [name, task] of taskUnits(of)) {
    const answer = doneAnswer(task, dice)
    if (answer._tag === 'Done' && answer.output !== undefined) outputs.set(name, answer.output)
  }
  return outputs
}

const chooseMissing = (dice: Dice, { completedSteps }: Checkpoint): ReadonlyArray<MissingEvidence> =>
  [...completedSteps]
    .filter(() => dice.roll(3) === 2)
    .map(({ step, group }) => ({
      step,
      ...(group === undefined ? {} : { group }),
      missing: [{ _tag: 'File', path: `${step}.txt` }]
    }))

// ---------------------------------------------------------------------------------------------------------------------
// runs
// ---------------------------------------------------------------------------------------------------------------------

/** What goes into a run. */
export const input: fc.Arbitrary<Json> = fc.oneof(
  fc.constant<Json>({}),
  fc.constant<Json>({ channel: 'beta', ['__proto__']: 1 }),
  fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as Json)
)

/** Edits a workflow now and then, and asks something of a plan now and then. */
const anything = {
  edit: (dice: Dice, moment: Moment): Workflow =>
    dice.roll(3) === 2
      ? edit(moment.workflow, { kind: pick(dice, EDITS), at: dice.roll(7), salt: dice.roll(100) }).workflow
      : moment.workflow,
  options: chooseOptions
}

const nothing = { edit: (_: Dice, moment: Moment): Workflow => moment.workflow, options: (): PlanOptions => ({}) }

/** A run that was started, failed, completed, interrupted, killed, edited, rewound, confirmed: whatever can happen. */
export const run: fc.Arbitrary<SimulatedRun> = fc
  .tuple(workflow(), input, numbers)
  .map(([of, given, chance]) => simulate(of, given, diceOf(chance), anything))

/** A run of a workflow that nobody edits and of plans of which nothing is asked. */
export const undisturbedRun = (
  limits: { readonly maxSteps?: number; readonly tasksOnly?: boolean } = {}
): fc.Arbitrary<SimulatedRun> =>
  fc.tuple(workflow(limits), input, numbers).map(([of, given, chance]) => simulate(of, given, diceOf(chance), nothing))

/** A run, and what is asked of its next plan. */
export const runWithOptions: fc.Arbitrary<{ readonly run: SimulatedRun; readonly options: PlanOptions }> = fc
  .tuple(run, numbers)
  .map(([of, chance]) => ({ run: of, options: chooseOptions(diceOf(chance), of) }))

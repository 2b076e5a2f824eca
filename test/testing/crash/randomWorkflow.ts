/** Random workflows for the crash simulator: what their steps do, how they fail, what they leave behind. */
import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as fc from 'fast-check'
import { Program, StepError, StepFailure } from '../../../src/index.js'
import type { CompletedStep, Program as P } from '../../../src/index.js'
import type { Scene } from '../../../src/testing/crash/Process.js'
import { policy } from '../../executor/fixtures.js'

// ---------------------------------------------------------------------------------------------------------------------
// what is defined
// ---------------------------------------------------------------------------------------------------------------------

/** What a call of a unit comes to, if not to its end: it may be tried again, or not, or has done nothing. */
type Trouble = 'none' | 'transient' | 'permanent' | 'refused'

/** How a job ends: it is done when somebody asks the second time, or its first one fails, or is forgotten. */
type Job = 'done' | 'fails' | 'forgotten'

/** What a unit leaves behind that has to stay there. */
type Leaves = 'nothing' | 'artifact' | 'file' | 'commit'

/** A task, or a group of a wave. `trouble`: what its first calls come to. `job`: it hands its work over. */
export interface UnitSpec {
  readonly idempotent: boolean
  readonly trouble: ReadonlyArray<Trouble>
  readonly leaves: Leaves
  readonly capture: boolean
  readonly sleeps: number
  readonly job?: Job
}

/** A step. `needs`: of the groups before it, as bits. */
export type StepSpec =
  | { readonly _tag: 'Task'; readonly unit: UnitSpec }
  | {
      readonly _tag: 'Wave'
      readonly groups: ReadonlyArray<{ readonly unit: UnitSpec; readonly needs: number }>
      readonly concurrency: number
      readonly onFailure: 'finish' | 'continue' | 'halt'
      readonly leaves: boolean
    }
  | { readonly _tag: 'Map'; readonly unit: UnitSpec; readonly items: number; readonly concurrency: number }

export type WorkflowSpec = ReadonlyArray<StepSpec>

/** The names of the items of a map. */
const itemsOf = (count: number): ReadonlyArray<string> => Array.from({ length: count }, (_, index) => `i${index}`)

const unitSpec: fc.Arbitrary<UnitSpec> = fc.record(
  {
    idempotent: fc.constantFrom(true, true, false),
    trouble: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      fc.array(fc.constantFrom<Trouble>('none', 'transient', 'permanent', 'refused'), { minLength: 1, maxLength: 2 })
    ),
    leaves: fc.constantFrom<Leaves>('nothing', 'nothing', 'artifact', 'file', 'commit'),
    capture: fc.boolean(),
    sleeps: fc.nat({ max: 2 }),
    job: fc.oneof(
      { weight: 4, arbitrary: fc.constant(undefined) },
      fc.constantFrom<Job>('done', 'done', 'fails', 'forgotten')
    )
  },
  { noNullPrototype: true }
) as fc.Arbitrary<UnitSpec>

const stepSpec: fc.Arbitrary<StepSpec> = fc.oneof(
  fc.record({ _tag: fc.constant('Task' as const), unit: unitSpec }, { noNullPrototype: true }),
  fc.record(
    {
      _tag: fc.constant('Wave' as const),
      groups: fc.array(fc.record({ unit: unitSpec, needs: fc.nat({ max: 7 }) }, { noNullPrototype: true }), {
        minLength: 1,
        maxLength: 4
      }),
      concurrency: fc.integer({ min: 1, max: 4 }),
      onFailure: fc.constantFrom('finish' as const, 'continue' as const, 'halt' as const),
      leaves: fc.constantFrom(false, false, true)
    },
    { noNullPrototype: true }
  ),
  fc.record(
    {
      _tag: fc.constant('Map' as const),
      unit: unitSpec,
      items: fc.nat({ max: 3 }),
      concurrency: fc.integer({ min: 1, max: 3 })
    },
    { noNullPrototype: true }
  )
)

/** A workflow of up to four steps. It shrinks towards one step that gives something and leaves nothing. */
export const workflowSpec: fc.Arbitrary<WorkflowSpec> = fc.array(stepSpec, { minLength: 1, maxLength: 4 })

/** The units of the maps. */
export const itemUnitsOf = (spec: WorkflowSpec): ReadonlyArray<string> =>
  spec.flatMap((step, index) => (step._tag === 'Map' ? itemsOf(step.items).map((item) => `s${index}/${item}`) : []))

/** The names of what leaves something behind. */
export const leavingOf = (spec: WorkflowSpec): ReadonlyArray<string> =>
  spec.flatMap((step, index) => {
    if (step._tag === 'Task') return step.unit.leaves === 'nothing' ? [] : [`s${index}`]
    if (step._tag === 'Map')
      return step.unit.leaves === 'nothing' ? [] : itemsOf(step.items).map((item) => `s${index}/${item}`)
    const groups = step.groups.flatMap(({ unit }, group) => (unit.leaves === 'nothing' ? [] : [`s${index}/g${group}`]))
    return step.leaves ? [`s${index}`, ...groups] : groups
  })

// ---------------------------------------------------------------------------------------------------------------------
// what it does
// ---------------------------------------------------------------------------------------------------------------------

/** What outlives a process: how often each unit was called, and the jobs by key. */
export interface Outside {
  readonly calls: Map<string, number>
  readonly jobs: Map<string, { readonly unit: string; readonly ends: Job; asked: number }>
}

export const outside = (): Outside => ({ calls: new Map(), jobs: new Map() })

type Context = P.StepContext<Readonly<Record<string, unknown>>, unknown>

const retry = policy({ _tag: 'Constant', attempts: 2, delayMillis: 1000 })

/** The program of a workflow, as each process makes it. */
export const programOf =
  (spec: WorkflowSpec) =>
  (scene: Scene<Outside>): P.Program<Readonly<Record<string, unknown>>> =>
    Program.fromSteps(
      'random',
      spec.map((step, index) => stepOf(scene, step, `s${index}`))
    )

const stepOf = (scene: Scene<Outside>, step: StepSpec, name: string): P.ProgramStep => {
  switch (step._tag) {
    case 'Task':
      return taskOf(scene, step.unit, name, name)
    case 'Wave': {
      const names = step.groups.map((_, index) => `g${index}`)
      const mark = step.leaves ? `${name}.wave` : undefined
      const groups = step.groups.map(({ unit, needs }, index) => ({
        ...taskOf(scene, unit, names[index] as string, `${name}/${names[index]}`, mark),
        needs: names.slice(0, index).filter((_, other) => (needs & (1 << other)) !== 0)
      }))
      const { concurrency, onFailure } = step
      const evidence = mark === undefined ? {} : { evidence: [{ _tag: 'File', path: mark } as const] }
      return Program.waveOf(name, groups, { concurrency, onFailure, ...evidence })
    }
    case 'Map': {
      const { unit: spec, items, concurrency } = step
      const each = taskOf(scene, { ...spec, capture: false }, name, ({ group = '' }) => `${name}/${group}`)
      const keyed = {
        forEach: () => E.right(itemsOf(items)),
        key: (item: unknown) => E.right(item as string)
      }
      return Program.mapOf(name, each, keyed, { concurrency })
    }
  }
}

/** `named`: its unit, or for the task of a map how its units are called. */
const taskOf = (
  scene: Scene<Outside>,
  spec: UnitSpec,
  name: string,
  named: string | ((context: Pick<Context, 'group'>) => string),
  mark?: string
): P.ProgramTask => {
  const unitOf = (context: Pick<Context, 'group'>): string => (typeof named === 'string' ? named : named(context))
  const declared = {
    idempotent: spec.idempotent,
    retry,
    ...(spec.capture && typeof named === 'string' ? { capture: named.replace('/', '_') } : {}),
    ...(spec.leaves === 'nothing'
      ? {}
      : {
          evidence: (_: unknown, context: Context) =>
            [evidenceOf(spec, unitOf(context))].filter((one) => one !== undefined)
        })
  }
  const leave = (unit: string): void => {
    const { tree } = scene
    const evidence = evidenceOf(spec, unit)
    if (mark !== undefined) tree.files.set(mark, mark)
    if (evidence?._tag === 'Commit') {
      if (!tree.commits.includes(evidence.hash)) tree.commits = [...tree.commits, evidence.hash]
    } else if (evidence !== undefined) tree.files.set(evidence.path, unit)
  }
  const { job } = spec
  return job === undefined
    ? Program.task(name, {
        ...declared,
        run: (context: Context) => working(scene, spec, unitOf(context), context, leave)
      })
    : Program.task(name, { ...declared, job: jobOf(scene, spec, unitOf, job, leave) })
}

const evidenceOf = ({ leaves }: UnitSpec, unit: string): CompletedStep.ExpectedEvidence | undefined => {
  switch (leaves) {
    case 'nothing':
      return undefined
    case 'artifact':
      return { _tag: 'Artifact', path: `${unit}.out` }
    case 'file':
      return { _tag: 'File', path: `${unit}.txt` }
    case 'commit':
      return { _tag: 'Commit', hash: `commit of ${unit}` }
  }
}

/** What this call comes to, if it is to be trouble. */
const troubleOf = (
  { world }: Scene<Outside>,
  { trouble }: UnitSpec,
  unit: string
): StepFailure.StepFailure | undefined => {
  const call = world.calls.get(unit) ?? 0
  const kind = trouble[call]
  world.calls.set(unit, call + 1)
  if (kind === undefined || kind === 'none') return undefined
  const error = StepError.make('Trouble', `call ${call + 1} of ${unit}`)
  switch (kind) {
    case 'transient':
      return StepFailure.transient(error)
    case 'permanent':
      return StepFailure.permanent(error)
    case 'refused':
      return StepFailure.transient(error, 'notApplied')
  }
}

const working = (
  scene: Scene<Outside>,
  spec: UnitSpec,
  unit: string,
  { outputs, variables, signal }: Context,
  leave: (unit: string) => void
): TE.TaskEither<unknown, unknown> => {
  return async () => {
    if (spec.sleeps > 0) await scene.sleep(spec.sleeps * 500, signal)
    if (signal.aborted) return E.left(StepFailure.permanent(StepError.make('Stopped', 'told to stop')))
    const trouble = troubleOf(scene, spec, unit)
    if (trouble !== undefined) return E.left(trouble)
    await scene.effect(unit, () => leave(unit))
    return E.right(`${unit} of ${digest(JSON.stringify([outputs, [...variables]]))}`)
  }
}

/** Who submits under one key twice has one job. */
const jobOf = (
  scene: Scene<Outside>,
  spec: UnitSpec,
  unitOf: (context: Pick<Context, 'group'>) => string,
  ends: Job,
  leave: (unit: string) => void
): P.Job<Readonly<Record<string, unknown>>, unknown, undefined> => ({
  submit: (context) => async () => {
    const { idempotencyKey } = context
    const unit = unitOf(context)
    const trouble = troubleOf(scene, spec, unit)
    if (trouble !== undefined) return E.left(trouble)
    await scene.effect(`submit ${unit}`, () => {
      const { jobs } = scene.world
      const isFirst = [...jobs.values()].every((one) => one.unit !== unit)
      if (!jobs.has(idempotencyKey)) jobs.set(idempotencyKey, { unit, ends: isFirst ? ends : 'done', asked: 0 })
    })
    return E.right(unit)
  },
  poll: ({ idempotencyKey }) =>
    TE.fromIO(() => {
      const job = scene.world.jobs.get(idempotencyKey)
      if (job === undefined || job.ends === 'forgotten') return { _tag: 'Missing' }
      job.asked += 1
      if (job.asked < 2) return { _tag: 'Unfinished' }
      return job.ends === 'fails' ? { _tag: 'Failed', error: new Error('the job failed') } : { _tag: 'Finished' }
    }),
  collect: (context) =>
    TE.fromIO(() => {
      const { job, outputs } = context
      leave(unitOf(context))
      return `${job as string} of ${digest(JSON.stringify(outputs))}`
    })
})

const digest = (text: string): number =>
  [...text].reduce((sum, char) => (Math.imul(sum, 31) + char.charCodeAt(0)) | 0, 7)

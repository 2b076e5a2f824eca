/** Random workflows for the crash simulator: the work of their steps, their failures and their evidence. */
import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as fc from 'fast-check'
import { Program, StepError } from '../../../src/index.js'
import * as StepFailure from '../../../src/domain/data/StepFailure.js'
import type * as CompletedStep from '../../../src/domain/checkpoint/CompletedStep.js'
import type * as P from '../../../src/executor/program/Program.js'
import type { ProcessContext } from '../../../src/testing/crash/process/Process.js'
import { plainObject, taggedObject } from '../../../src/testing/arbitraryObjects.js'
import { policy } from '../../executor/fixtures.js'
import type { Asked, CodeWait, WaitSpec } from './randomWaits.js'
import { codeWait, namesOf, waitInCode, waitSpec, waitStep } from './randomWaits.js'

// ---------------------------------------------------------------------------------------------------------------------
// definitions
// ---------------------------------------------------------------------------------------------------------------------

/** How a call of a unit fails: transiently, permanently, or without an effect. */
type Trouble = 'none' | 'transient' | 'permanent' | 'refused'

/** How a job ends: done at the second poll, or its first one fails or is lost. */
type Job = 'done' | 'fails' | 'forgotten'

/** The evidence of a unit. */
type Leaves = 'nothing' | 'artifact' | 'file' | 'commit'

/**
 * A sub-step. `parallel`: it does not wait for the previous one; `fails`: its first call fails without an effect, or each call,
 * which the task catches; `nested`: it has a non-idempotent sub-step; `waits`: it is a wait instead.
 */
export interface SubStepSpec {
  readonly idempotent: boolean
  readonly parallel: boolean
  readonly fails: 'never' | 'once' | 'always'
  readonly nested: boolean
  readonly waits?: CodeWait
}

/**
 * A task. `subSteps`: its sub-steps, if it is idempotent and has no job. `trouble`: the failures of its first calls. `job`: it submits a job.
 * `wait`: it only waits.
 */
export interface UnitSpec {
  readonly idempotent: boolean
  readonly trouble: ReadonlyArray<Trouble>
  readonly leaves: Leaves
  readonly capture: boolean
  readonly sleeps: number
  readonly job?: Job
  readonly subSteps?: ReadonlyArray<SubStepSpec>
  readonly wait?: WaitSpec
}

/** A step. `needs`: earlier groups, as bits. */
export type StepSpec =
  | { readonly _tag: 'Task'; readonly unit: UnitSpec }
  | { readonly _tag: 'Sequence'; readonly steps: ReadonlyArray<StepSpec> }
  | {
      readonly _tag: 'Wave'
      readonly groups: ReadonlyArray<{ readonly step: StepSpec; readonly needs: number }>
      readonly concurrency: number
      readonly onFailure: 'finish' | 'continue' | 'halt'
      readonly leaves: boolean
    }
  | { readonly _tag: 'Map'; readonly each: StepSpec; readonly items: number; readonly concurrency: number }

export type WorkflowSpec = ReadonlyArray<StepSpec>

/** An idempotent unit without trouble. */
const SIMPLE: UnitSpec = { idempotent: true, trouble: [], leaves: 'nothing', capture: false, sleeps: 0 }

export const task = (given: Partial<UnitSpec> = {}): StepSpec => ({ _tag: 'Task', unit: { ...SIMPLE, ...given } })

/** The names of the items of a map. */
const itemsOf = (count: number): ReadonlyArray<string> => Array.from({ length: count }, (_, index) => `i${index}`)

const stepName = (index: number): string => `s${index}`

const groupName = (index: number): string => `g${index}`

const subStepName = (index: number): string => `x${index}`

/** Undefined `weight` times as often as a value. */
const sometimes = <A>(weight: number, arbitrary: fc.Arbitrary<A>): fc.Arbitrary<A> =>
  fc.oneof({ weight, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary }) as fc.Arbitrary<A>

const subStepSpec: fc.Arbitrary<SubStepSpec> = plainObject<SubStepSpec>({
  idempotent: fc.constantFrom(true, true, false),
  parallel: fc.boolean(),
  fails: fc.constantFrom('never', 'never', 'once', 'always'),
  nested: fc.constantFrom(false, false, true),
  waits: sometimes(2, codeWait)
})

const unitSpec: fc.Arbitrary<UnitSpec> = plainObject<UnitSpec>({
  idempotent: fc.constantFrom(true, true, false),
  trouble: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    fc.array(fc.constantFrom<Trouble>('none', 'transient', 'permanent', 'refused'), { minLength: 1, maxLength: 2 })
  ),
  leaves: fc.constantFrom('nothing', 'nothing', 'artifact', 'file', 'commit'),
  capture: fc.boolean(),
  sleeps: fc.nat({ max: 2 }),
  job: sometimes(4, fc.constantFrom<Job>('done', 'done', 'fails', 'forgotten')),
  subSteps: sometimes(2, fc.array(subStepSpec, { minLength: 1, maxLength: 3 })),
  wait: sometimes(5, waitSpec)
})

/** A step with at most this many levels. Nested composites are small, because a schedule runs the whole workflow many times. */
const stepSpec = (levels: number, most: number): fc.Arbitrary<StepSpec> => {
  const one = taggedObject('Task', { unit: unitSpec })
  if (levels === 1) return one
  const part = fc.oneof(
    { weight: 3, arbitrary: one },
    { weight: 1, arbitrary: fc.constant(null).chain(() => stepSpec(levels - 1, 2)) }
  )
  const wave = taggedObject('Wave', {
    groups: fc.array(plainObject({ step: part, needs: fc.nat({ max: 7 }) }), { minLength: 1, maxLength: most }),
    concurrency: fc.integer({ min: 1, max: 4 }),
    onFailure: fc.constantFrom('finish', 'continue', 'halt'),
    leaves: fc.constantFrom(false, false, true)
  })
  const map = taggedObject('Map', {
    each: part,
    items: fc.nat({ max: most - 1 }),
    concurrency: fc.integer({ min: 1, max: 3 })
  })
  const sequence = taggedObject('Sequence', { steps: fc.array(part, { minLength: 1, maxLength: Math.min(3, most) }) })
  return fc.oneof(
    { weight: 4, arbitrary: one },
    { weight: 4, arbitrary: wave },
    { weight: 4, arbitrary: map },
    { weight: 2, arbitrary: sequence }
  )
}

/** A workflow of up to four steps and five levels. Shrinks towards one step with an output and no evidence. */
export const workflowSpec: fc.Arbitrary<WorkflowSpec> = fc.array(stepSpec(5, 4), { minLength: 1, maxLength: 4 })

/** A step of a spec with its path; `isInMap`: it belongs to an item. */
interface Placed {
  readonly unit: string
  readonly step: StepSpec
  readonly isInMap: boolean
}

/**
 * Whether a wave leaves a mark. One whose tasks may all not run without a question leaves none, because no task makes it. Waits
 * make none, nor does a run that starts at a map without items.
 */
const leavesMark = (step: StepSpec): boolean =>
  step._tag === 'Wave' && step.leaves && hasWork(step) && !hasWait(step) && !hasEmptyMap(step)

const hasEmptyMap = (step: StepSpec): boolean => isAny(step, (one) => one._tag === 'Map' && one.items === 0)

const hasWait = (step: StepSpec): boolean => isAny(step, (one) => one._tag === 'Task' && one.unit.wait !== undefined)

const hasWork = (step: StepSpec): boolean =>
  isAny(step, (one) => one._tag === 'Task' && one.unit.idempotent && one.unit.leaves !== 'artifact')

/** Whether this holds for a step or for any part of it. */
const isAny = (step: StepSpec, is: (step: StepSpec) => boolean): boolean =>
  is(step) || partsOf(step).some((part) => isAny(part.step, is))

/** The parts of a step with their names. Each item of a map has the same parts. */
const partsOf = (step: StepSpec): ReadonlyArray<{ readonly name: string; readonly step: StepSpec }> => {
  switch (step._tag) {
    case 'Task':
      return []
    case 'Sequence':
      return step.steps.map((part, index) => ({ name: stepName(index), step: part }))
    case 'Wave':
      return step.groups.map((part, index) => ({ name: groupName(index), step: part.step }))
    case 'Map':
      return itemsOf(step.items).map((name) => ({ name, step: step.each }))
  }
}

const placed = (spec: WorkflowSpec): ReadonlyArray<Placed> => {
  const visit = (step: StepSpec, unit: string, isInMap: boolean): ReadonlyArray<Placed> => {
    const isItem = isInMap || step._tag === 'Map'
    return [
      { unit, step, isInMap },
      ...partsOf(step).flatMap((part) => visit(part.step, `${unit}/${part.name}`, isItem))
    ]
  }
  return spec.flatMap((step, index) => visit(step, stepName(index), false))
}

/** The tasks of the maps that run code. */
export const itemUnitsOf = (spec: WorkflowSpec): ReadonlyArray<string> =>
  placed(spec).flatMap(({ unit, step, isInMap }) =>
    isInMap && step._tag === 'Task' && step.unit.wait === undefined ? [unit] : []
  )

/** The names of units with evidence. */
export const leavingOf = (spec: WorkflowSpec): ReadonlyArray<string> =>
  placed(spec).flatMap(({ unit, step }) => {
    const leaves =
      step._tag === 'Task' ? step.unit.leaves !== 'nothing' && step.unit.wait === undefined : leavesMark(step)
    return leaves ? [unit] : []
  })

/** The units that wait for an answer. */
export const askingOf = (spec: WorkflowSpec): ReadonlyArray<string> =>
  placed(spec).flatMap(({ unit, step }) => {
    if (step._tag !== 'Task') return []
    const { wait, subSteps = [] } = step.unit
    if (wait !== undefined) return wait._tag === 'Ask' ? [unit] : []
    if (!step.unit.idempotent || step.unit.job !== undefined) return []
    return subSteps.flatMap(({ waits }, index) =>
      waits === undefined ? [] : namesOf(subStepName(index), waits).map((name) => `${unit}/${name}`)
    )
  })

// ---------------------------------------------------------------------------------------------------------------------
// behaviour
// ---------------------------------------------------------------------------------------------------------------------

/** What outlives a process: the calls of each unit, the jobs by key, and the polls. */
export interface Outside {
  readonly calls: Map<string, number>
  readonly jobs: Map<string, { readonly unit: string; readonly ends: Job; asked: number }>
  readonly asked: Asked
}

export const outside = (): Outside => ({ calls: new Map(), jobs: new Map(), asked: new Map() })

type Context = P.StepContext<Readonly<Record<string, unknown>>, unknown>

const retry = policy({ _tag: 'Constant', attempts: 2, delayMillis: 1000 })

/** The program of a workflow, as each process makes it. */
export const programOf =
  (spec: WorkflowSpec) =>
  (host: ProcessContext<Outside>): P.Program<Readonly<Record<string, unknown>>> =>
    Program.fromSteps(
      'random',
      spec.map((step, index) => stepOf(host, step, { name: stepName(index), place: stepName(index), marks: [] }))
    )

/** The position of a step. `place`: its path, with `*` for items; `marks`: the enclosing waves with evidence, by depth. */
interface At {
  readonly name: string
  readonly place: string
  readonly marks: ReadonlyArray<number>
}

const depthOf = (place: string): number => place.split('/').length

const partOf = ({ place, marks }: At, name: string, key = name): At => ({ name, place: `${place}/${key}`, marks })

const stepOf = (host: ProcessContext<Outside>, step: StepSpec, at: At): P.ProgramStep => {
  const { name, place } = at
  switch (step._tag) {
    case 'Task':
      return taskOf(host, step.unit, at)
    case 'Sequence':
      return Program.sequenceOf(
        name,
        step.steps.map((part, index) => stepOf(host, part, partOf(at, stepName(index))))
      )
    case 'Wave': {
      const inside = leavesMark(step) ? { ...at, marks: [...at.marks, depthOf(place)] } : at
      const groups = step.groups.map(({ step: part, needs }, index) => ({
        ...stepOf(host, part, partOf(inside, groupName(index))),
        needs: Array.from({ length: index }, (_, other) => other)
          .filter((other) => (needs & (1 << other)) !== 0)
          .map(groupName)
      }))
      const { concurrency, onFailure } = step
      const evidence = (
        _: undefined,
        { unit }: { readonly unit: string }
      ): ReadonlyArray<CompletedStep.ExpectedEvidence> => [{ _tag: 'File', path: markOf(unit) }]
      return Program.waveOf(name, groups, { concurrency, onFailure, ...(leavesMark(step) ? { evidence } : {}) })
    }
    case 'Map': {
      const { each, items, concurrency } = step
      const keyed = {
        forEach: () => E.right(itemsOf(items)),
        key: (item: unknown) => E.right(item as string)
      }
      return Program.mapOf(name, stepOf(host, each, partOf(at, name, '*')), keyed, { concurrency })
    }
  }
}

const markOf = (wave: string): string => `${wave}.wave`

const taskOf = (host: ProcessContext<Outside>, spec: UnitSpec, { name, place, marks }: At): P.ProgramTask => {
  if (spec.wait !== undefined) return waitStep(name, spec.wait)
  const captures = spec.capture && !place.endsWith('/*')
  const declared = {
    idempotent: spec.idempotent,
    retry,
    ...(captures ? { capture: place.replace(/[/*]/g, '_') } : {}),
    ...(spec.leaves === 'nothing'
      ? {}
      : {
          evidence: (_: unknown, { unit }: Context) => [evidenceOf(spec, unit)].filter((one) => one !== undefined)
        })
  }
  const leave = (unit: string): void => {
    const { tree } = host
    const evidence = evidenceOf(spec, unit)
    for (const depth of marks) {
      const mark = markOf(unit.split('/').slice(0, depth).join('/'))
      tree.files.set(mark, mark)
    }
    if (evidence?._tag === 'Commit') {
      if (!tree.commits.includes(evidence.hash)) tree.commits = [...tree.commits, evidence.hash]
    } else if (evidence !== undefined) tree.files.set(evidence.path, unit)
  }
  const { job } = spec
  return job === undefined
    ? Program.task(name, {
        ...declared,
        run: (context: Context) => working(host, spec, context, leave)
      })
    : Program.task(name, { ...declared, job: jobOf(host, spec, job, leave) })
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

/** The failure of this call, if any. */
const troubleOf = (
  { world }: ProcessContext<Outside>,
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
  host: ProcessContext<Outside>,
  spec: UnitSpec,
  context: Context,
  leave: (unit: string) => void
): TE.TaskEither<unknown, unknown> => {
  const { unit, outputs, variables, signal } = context
  return async () => {
    if (spec.sleeps > 0) await host.sleep(spec.sleeps * 500, signal)
    if (signal.aborted) return E.left(StepFailure.permanent(StepError.make('Stopped', 'told to stop')))
    let found: ReadonlyArray<unknown> = []
    if (spec.idempotent && spec.subSteps !== undefined)
      try {
        found = await subStepsOf(host, spec.subSteps, context)
      } catch (error) {
        return E.left(error)
      }
    const trouble = troubleOf(host, spec, unit)
    if (trouble !== undefined) return E.left(trouble)
    await host.effect(unit, () => leave(unit))
    return E.right(`${unit} of ${digest(JSON.stringify([outputs, [...variables], ...found]))}`)
  }
}

const subStepsOf = async (
  host: ProcessContext<Outside>,
  specs: ReadonlyArray<SubStepSpec>,
  context: Context
): Promise<ReadonlyArray<unknown>> => {
  const found: Array<unknown> = []
  const open: Array<Promise<unknown>> = []
  for (const [index, spec] of specs.entries()) {
    if (!spec.parallel) found.push(...(await Promise.all(open.splice(0))))
    const name = subStepName(index)
    open.push(
      spec.waits === undefined
        ? subStepOf(host, spec, name, context.step)
        : waitInCode(context, name, spec.waits, () => host.sleep(1000))
    )
  }
  return [...found, ...(await Promise.all(open))]
}

const subRetry = policy({ _tag: 'Constant', attempts: 2, delayMillis: 500 })

const subStepOf = async (
  host: ProcessContext<Outside>,
  { idempotent, fails, nested }: SubStepSpec,
  name: string,
  step: P.RunSubStep
): Promise<unknown> => {
  const { calls } = host.world
  const called = step(name, { idempotent, retry: subRetry }, async (context): Promise<string> => {
    const { unit } = context
    const inner =
      nested && idempotent
        ? await context.step('y', { idempotent: false }, async (inside): Promise<string> => {
            await host.effect(inside.unit, () => undefined)
            return inside.unit
          })
        : ''
    const call = calls.get(unit) ?? 0
    calls.set(unit, call + 1)
    const error = StepError.make('Trouble', `call ${call + 1} of ${unit}`)
    if (fails === 'once' && call === 0) throw StepFailure.transient(error, 'notApplied') as unknown as Error
    await host.effect(unit, () => undefined)
    if (fails === 'always') throw StepFailure.permanent(error) as unknown as Error
    return `${unit} with ${inner}`
  })
  // Its output depends neither on the number of failures nor on answers.
  return fails === 'always' ? await called.then(...[() => 'caught', () => 'caught']) : await called
}

/** A second submission under one key returns the same job. */
const jobOf = (
  host: ProcessContext<Outside>,
  spec: UnitSpec,
  ends: Job,
  leave: (unit: string) => void
): P.Job<P.StepContext<Readonly<Record<string, unknown>>, unknown>, unknown> => ({
  submit: (context) => async () => {
    const { idempotencyKey, unit } = context
    const trouble = troubleOf(host, spec, unit)
    if (trouble !== undefined) return E.left(trouble)
    await host.effect(`submit ${unit}`, () => {
      const { jobs } = host.world
      const isFirst = [...jobs.values()].every((one) => one.unit !== unit)
      if (!jobs.has(idempotencyKey)) jobs.set(idempotencyKey, { unit, ends: isFirst ? ends : 'done', asked: 0 })
    })
    return E.right(unit)
  },
  poll: ({ idempotencyKey }) =>
    TE.fromIO(() => {
      const job = host.world.jobs.get(idempotencyKey)
      if (job === undefined || job.ends === 'forgotten') return { _tag: 'Missing' }
      job.asked += 1
      if (job.asked < 2) return { _tag: 'Unfinished' }
      return job.ends === 'fails' ? { _tag: 'Failed', error: new Error('the job failed') } : { _tag: 'Finished' }
    }),
  collect: (context) =>
    TE.fromIO(() => {
      const { job, outputs, unit } = context
      leave(unit)
      return `${job as string} of ${digest(JSON.stringify(outputs))}`
    })
})

const digest = (text: string): number =>
  [...text].reduce((sum, char) => (Math.imul(sum, 31) + char.charCodeAt(0)) | 0, 7)

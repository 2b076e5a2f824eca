/** Arbitrary runs and reachable checkpoints. */
import { strict as assert } from 'node:assert'
import * as fc from 'fast-check'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import type { Json } from '../../../domain/data/Json.js'
import type { PlanOptions } from '../../../domain/plan/Plan.js'
import type { Workflow } from '../../../domain/workflow/Workflow.js'
import type { Choices } from './Choices.js'
import { choicesOf, numbers, pick } from './Choices.js'
import { edit, EDITS } from './edits.js'
import { chooseOptions } from './options.js'
import type { Outputs } from './Samples.js'
import { samplesOf, withoutSample } from './Samples.js'
import type { Scenario } from './simulate.js'
import { simulate, undisturbed } from './simulate.js'
import type { Moment, SimulatedRun } from './RunRecorder.js'
import { workflow as anyWorkflow } from './workflows.js'

/**
 * The runs to generate.
 *
 * - `workflow`: one workflow, or an arbitrary of them; default any.
 * - `outputs`: the outputs of units by path; units that are not named get outputs that their task accepts.
 * - `input`: default any JSON.
 *
 * @category model
 */
export interface RunsOf {
  readonly workflow?: Workflow | fc.Arbitrary<Workflow>
  readonly outputs?: Outputs
  readonly input?: fc.Arbitrary<Json>
}

/** JSON inputs, some with names that every object has. */
export const input: fc.Arbitrary<Json> = fc.oneof(
  fc.constant<Json>({}),
  fc.constant<Json>({ channel: 'beta', ['__proto__']: 1 }),
  fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as Json)
)

/** Sometimes edits the workflow or sets plan options. */
const disturbed: Scenario = {
  edit: (choices: Choices, { workflow }: Moment): Workflow => {
    if (choices.below(3) !== 2) return workflow
    const [kind, at, salt] = [pick(choices, EDITS), choices.below(7), choices.below(100)]
    return edit(workflow, { kind, at, salt, inside: Array.from({ length: choices.below(4) }, () => choices.below(4)) })
      .workflow
  },
  options: chooseOptions
}

/**
 * A run that started, failed, completed, was interrupted, killed, edited, rewound or confirmed. Its `workflow` is the
 * one at its end. Throws and names the units if no accepted output is known for some.
 *
 * @example
 * import * as fc from 'fast-check'
 * import { Transition } from 'dogear'
 * import * as E from 'fp-ts/lib/Either.js'
 * import { Arbitrary } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * fc.assert(
 *   fc.property(Arbitrary.run(), ({ trail, changes, checkpoint }) => {
 *     const [first] = trail
 *     const [, ...later] = changes
 *     const replayed = first === undefined ? assert.fail() : Transition.replay(first.checkpoint, later)
 *     assert.ok(E.isRight(replayed) && replayed.right.revision === checkpoint.revision)
 *   })
 * )
 *
 * @category arbitraries
 */
export const run = (of: RunsOf = {}): fc.Arbitrary<SimulatedRun> => simulated(of, disturbed)

/** A run without edits of the workflow and without plan options. */
export const undisturbedRun = (of: RunsOf = {}): fc.Arbitrary<SimulatedRun> => simulated(of, undisturbed)

const simulated = (of: RunsOf, scenario: Scenario): fc.Arbitrary<SimulatedRun> => {
  const samples = samplesOf(of.outputs)
  return fc
    .tuple(workflowsOf(of), of.input ?? input, numbers)
    .map(([workflow, given, chance]) => simulate(workflow, given, choicesOf(chance, samples), scenario))
}

/**
 * A run at any of its revisions, mostly late ones.
 *
 * @example
 * import * as fc from 'fast-check'
 * import { planResume } from 'dogear'
 * import * as E from 'fp-ts/lib/Either.js'
 * import { Arbitrary } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * fc.assert(
 *   fc.property(Arbitrary.moment(), ({ checkpoint, workflow }) => {
 *     assert.ok(E.isRight(planResume(checkpoint, workflow)))
 *   })
 * )
 *
 * @category arbitraries
 */
export const moment = (of: RunsOf = {}): fc.Arbitrary<Moment> =>
  fc.tuple(run(of), fc.nat({ max: 999 })).map(([{ trail }, back]) => atSave(trail, -1 - back))

/** The n-th moment that ends a save, modulo their number. */
const atSave = (trail: ReadonlyArray<Moment>, nth: number): Moment => {
  const saved = trail.filter(({ within }) => within !== true)
  return saved.at(nth % saved.length) as Moment
}

/** A moment, and options for its next plan. */
export const momentWithOptions = (
  of: RunsOf = {}
): fc.Arbitrary<{ readonly moment: Moment; readonly options: PlanOptions }> => {
  const samples = samplesOf(of.outputs)
  return fc
    .tuple(moment(of), numbers)
    .map(([one, chance]) => ({ moment: one, options: chooseOptions(choicesOf(chance, samples), one) }))
}

/**
 * A checkpoint that a run can reach, in mid-run or at its end.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import * as fc from 'fast-check'
 * import { planResume, Workflow } from 'dogear'
 * import { Arbitrary } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const workflow = { name: 'release', steps: [Workflow.task('build'), Workflow.task('publish', { idempotent: false })] }
 * fc.assert(
 *   fc.property(Arbitrary.checkpoint({ workflow }), (checkpoint) => {
 *     assert.ok(E.isRight(planResume(checkpoint, workflow)))
 *   })
 * )
 *
 * @category arbitraries
 */
export const checkpoint = (of: RunsOf = {}): fc.Arbitrary<Checkpoint> =>
  fc
    .tuple(undisturbedRun(of), fc.boolean(), fc.nat({ max: 999 }))
    .map(([{ checkpoint: last, trail }, anywhere, at]) => (anywhere ? atSave(trail, at).checkpoint : last))

/**
 * Plan options for a moment: mostly none, sometimes `fromStep`, `restartWave`, another `changes` policy, answers,
 * outputs, missing or changed evidence, another input or a damaged state (`recovered`).
 *
 * @example
 * import * as fc from 'fast-check'
 * import { Arbitrary } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const options = Arbitrary.moment().chain((moment) => Arbitrary.planOptions(moment))
 * assert.ok(fc.sample(options, { numRuns: 50, seed: 1 }).some(({ fromStep }) => fromStep !== undefined))
 *
 * @category arbitraries
 */
export const planOptions = (at: Moment, outputs?: Outputs): fc.Arbitrary<PlanOptions> => {
  const samples = samplesOf(outputs)
  return numbers.map((chance) => chooseOptions(choicesOf(chance, samples), at))
}

/** Throws for a workflow without known outputs. */
const workflowsOf = (of: RunsOf): fc.Arbitrary<Workflow> => {
  const { workflow = anyWorkflow() } = of
  if (!('steps' in workflow)) return workflow
  const missing = withoutSample(workflow, samplesOf(of.outputs))
  return missing.length === 0
    ? fc.constant(workflow)
    : assert.fail(
        `no output is known that these units accept; pass an arbitrary for each in \`outputs\`: ${missing.join(', ')}`
      )
}

/** A law of the planner, and the words in which such laws are said. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import type { Decision, PlanOptions, ResumePlan } from '../../../domain/plan/Plan.js'
import { planResume } from '../../../domain/plan/planResume.js'
import type { Task } from '../../../domain/workflow/Workflow.js'
import { isWithin } from '../../../domain/workflow/Unit.js'
import type { RunsOf } from '../arbitrary/runs.js'
import { samplesFor } from '../arbitrary/runs.js'
import type { Samples } from '../arbitrary/Samples.js'
import { taskUnits } from '../arbitrary/Samples.js'
import type { Moment } from '../arbitrary/RunRecorder.js'

/**
 * How often a law is tried: `numRuns` cases (default 100) drawn from `seed`; `path` leads at once to the counterexample that a
 * result has.
 *
 * @category model
 */
export interface LawOptions {
  readonly numRuns?: number
  readonly seed?: number
  readonly path?: string
}

/**
 * What trying a law showed, as plain data. If it does not hold: `counterexample` is the smallest case that was found, as text,
 * `why` what is wrong with it, and `seed` and `path` repeat it.
 *
 * @category model
 */
export interface LawResult {
  readonly id: string
  readonly title: string
  readonly holds: boolean
  readonly numRuns: number
  readonly seed: number
  readonly path?: string
  readonly counterexample?: string
  readonly why?: string
}

/**
 * A law of the planner. `id` never changes its meaning; `title` says what always holds. `check` tries it on runs of a workflow;
 * it does not throw because of what it finds.
 *
 * @category model
 */
export interface PlanLaw {
  readonly id: string
  readonly title: string
  /** Tries it on runs of a workflow. It does not throw because of what it finds. */
  readonly check: (of: RunsOf, options?: LawOptions) => LawResult
}

/** A law: for all cases that are drawn of runs, `holds` throws nothing. */
export const law = <A>(
  id: string,
  title: string,
  cases: (of: RunsOf) => fc.Arbitrary<A>,
  holds: (one: A, samples: Samples) => void
): PlanLaw => ({
  id,
  title,
  check: (of, options = {}) => {
    try {
      const samples = samplesFor(of)
      const property = fc.property(cases(of), (one) => holds(one, samples))
      return resultOf({ id, title }, fc.check(property, options))
    } catch (error) {
      // The workflow's own functions threw while a case was drawn.
      return { id, title, holds: false, numRuns: 0, seed: options.seed ?? 0, why: messageOf(error) }
    }
  }
})

const resultOf = <A>(named: { readonly id: string; readonly title: string }, run: fc.RunDetails<[A]>): LawResult => {
  const { failed, numRuns, seed, counterexamplePath: path, counterexample, errorInstance } = run
  const tried = { ...named, holds: !failed, numRuns, seed }
  if (!failed) return tried
  return {
    ...tried,
    ...(path === null ? {} : { path }),
    ...(counterexample === null ? {} : { counterexample: fc.stringify(counterexample[0]) }),
    why: messageOf(errorInstance)
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The plan at a moment; that there is one is part of each law that says so. */
export const planOf = ({ checkpoint, workflow }: Moment, options?: PlanOptions): ResumePlan => {
  const plan = planResume(checkpoint, workflow, options)
  return E.isRight(plan) ? plan.right : assert.fail(JSON.stringify(plan.left))
}

/** The units of a plan that are neither skipped nor waited for. A composite is no unit of work: its parts are. */
export const scheduled = (plan: ResumePlan): ReadonlyArray<string> =>
  works(plan)
    .filter((one) => one._tag !== 'Skip' && one._tag !== 'Poll')
    .map(({ unit }) => unit)

/** The decisions about units of work: tasks, and maps whose items are to be found out; not those about composites as a whole. */
export const works = ({ decisions }: ResumePlan): ReadonlyArray<Decision> =>
  decisions.filter(({ unit }, index) => !isWithin(decisions[index + 1]?.unit ?? '', unit))

/** The tasks of a moment, by their paths. */
export const unitsOf = ({ checkpoint, workflow }: Moment): ReadonlyMap<string, Task> =>
  taskUnits(workflow, checkpoint.items)

/** The names of the units that are recorded completed. */
export const recorded = ({ completedSteps }: Checkpoint): ReadonlySet<string> =>
  new Set([...completedSteps].map(({ unit }) => unit))

/** The names of the units whose job is pending. */
export const waiting = ({ pending }: Checkpoint): ReadonlySet<string> =>
  new Set(Array.from(pending, ({ unit }) => unit))

/** Everything in a plan that can be compared. */
export const dataOf = ({ decisions, startIndex, retryCurrent, skipSteps, variables }: ResumePlan): unknown => ({
  decisions,
  startIndex,
  retryCurrent,
  skipSteps: [...skipSteps],
  variables: [...variables].sort(([a], [b]) => (a < b ? -1 : 1))
})

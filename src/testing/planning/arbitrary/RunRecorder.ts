/** Records a simulated run: its changes, and the checkpoint after each of them. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import type { Change } from '../../../domain/change/Change.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import { start } from '../../../domain/checkpoint/Checkpoint.js'
import type { Json } from '../../../domain/data/Json.js'
import { apply } from '../../../domain/change/Transition.js'
import type { Step, Workflow } from '../../../domain/workflow/Workflow.js'
import { listedParts } from '../../../domain/workflow/Node.js'
import * as Identity from '../../../domain/workflow/WorkflowIdentity.js'

/**
 * A run at one revision, with its current workflow. `within`: the revision is inside a save, because overrides are
 * saved as one, so no process ever loads it.
 *
 * @category model
 */
export interface Moment {
  readonly checkpoint: Checkpoint
  readonly workflow: Workflow
  readonly within?: true
}

/**
 * A simulated run: its changes, `Started` first, and the moment after each of them (`trail`).
 *
 * @category model
 */
export interface SimulatedRun extends Moment {
  readonly changes: ReadonlyArray<Change>
  readonly trail: ReadonlyArray<Moment>
}

/** A change whose time may be absent. */
export type Undated<A extends Change> = A extends Change ? Omit<A, 'at'> & Partial<Pick<A, 'at'>> : never

const timeOf = (revision: number): string => new Date(Date.UTC(2026, 0, 2, 3, 4, 5) + revision * 1000).toISOString()

export const startedRun = (workflow: Workflow, input: Json): SimulatedRun => {
  const started = {
    _tag: 'Started',
    at: timeOf(0),
    runId: 'run-1',
    workflow: Identity.of(workflow),
    input
  } as const
  const checkpoint = start(started)
  return { checkpoint, workflow, changes: [started], trail: [{ checkpoint, workflow }] }
}

const SEPARATORS = { Sequence: ' > ', Wave: ' | ' }

const textOf = (step: Step): string => {
  const needs = 'needs' in step ? (step.needs as ReadonlyArray<string>) : []
  const name = `${step.name}${needs.length > 0 ? `(${needs.join()})` : ''}`
  if (step._tag === 'Task')
    return `${name}${step.idempotent ? '' : '!'}${step.wait === undefined ? '' : `: ${step.wait}`}`
  if (step._tag === 'Map') return `${name}: each ${textOf(step.each)}`
  return `${name}: [${listedParts<Step>(step).map(textOf).join(SEPARATORS[step._tag])}]`
}

/** Adds a short `toString` for counterexamples: the workflow, the changes and the result. */
const withText = <A extends Moment>(moment: A, changes: ReadonlyArray<Change> = []): A => {
  const recorded = ('changes' in moment ? (moment.changes as ReadonlyArray<Change>) : changes).slice()
  const toText = (): string =>
    [
      '',
      ...moment.workflow.steps.map(textOf),
      ...recorded.map(({ at: _, ...change }) =>
        change._tag === 'Started' || change._tag === 'WorkflowEdited' ? change._tag : JSON.stringify(change)
      ),
      `state: ${JSON.stringify(moment.checkpoint.state)}`,
      `done: ${[...moment.checkpoint.completedSteps].map(({ unit }) => unit).join(', ')}`,
      ''
    ].join('\n')
  Object.defineProperty(moment, fc.toStringMethod, { value: toText })
  return moment
}

export type RunRecorder = ReturnType<typeof recorderOf>

/** Continues a run: applies each change that it is given, and keeps the result. */
export const recorderOf = (from: SimulatedRun) => {
  let { checkpoint, workflow } = from
  const changes = [...from.changes]
  const trail = [...from.trail]
  return {
    now: (): Moment => ({ checkpoint, workflow }),
    run: (): SimulatedRun => withText({ checkpoint, workflow, changes, trail }),
    /** The time of the next change. */
    at: (): string => timeOf(checkpoint.revision + 1),
    adopt: (edited: Workflow): void => {
      workflow = edited
    },
    /** Records a change, with its own time or that of the next revision. */
    put: (undated: Undated<Change>, within?: true): void => {
      const change = { at: timeOf(checkpoint.revision + 1), ...undated }
      const next = apply(checkpoint, change)
      if (E.isLeft(next))
        return assert.fail(
          `the run cannot record ${change._tag}: ${JSON.stringify(next.left)} after ${JSON.stringify(changes, null, 1)}`
        )
      checkpoint = next.right
      changes.push(change)
      trail.push(withText({ checkpoint, workflow, ...(within === undefined ? {} : { within }) }, changes))
    }
  }
}

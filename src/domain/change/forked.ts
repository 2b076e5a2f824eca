/** Makes a new run from the records of another one. */
import type * as Change from './Change.js'
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import { make } from '../checkpoint/Checkpoint.js'
import * as State from '../checkpoint/CheckpointState.js'
import { none as noRenewals } from '../checkpoint/IdempotencyKey.js'
import * as Units from '../checkpoint/Units.js'

/**
 * Returns revision 0 of a fork. It keeps the records of completed units and the items of maps. Open attempts, failures, jobs, waits and answers
 * stay with the old run, so every other unit starts again, under a new key.
 */
export const forked = (rewound: Checkpoint, { at, runId, from }: Omit<Change.Forked, '_tag'>): Checkpoint => {
  const { completedSteps, state } = rewound
  const { step, stepIndex } = state
  return make({
    ...rewound,
    runId,
    revision: 0,
    generation: 0,
    state: Units.has(completedSteps, step) ? State.completed(stepIndex, step) : State.beforeStep(stepIndex, step),
    pending: Units.none,
    answers: Units.none,
    submissions: Units.none,
    renewals: noRenewals,
    forkedFrom: from,
    createdAt: at,
    updatedAt: at
  })
}

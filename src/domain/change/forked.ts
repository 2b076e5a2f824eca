/** Makes a new run from the records of another one. */
import type * as Change from './Change.js'
import type { Checkpoint } from '../checkpoint/Checkpoint.js'
import { make } from '../checkpoint/Checkpoint.js'
import type { CheckpointState } from '../checkpoint/CheckpointState.js'
import * as State from '../checkpoint/CheckpointState.js'
import { none as noRenewals } from '../checkpoint/IdempotencyKey.js'
import * as Units from '../checkpoint/Units.js'

/**
 * Returns revision 0 of a fork. It keeps the records of completed units and the items of maps. Open attempts, failures, jobs, waits and answers
 * stay with the old run, so every other unit starts again, under a new key.
 */
export const forked = (rewound: Checkpoint, { at, runId, from }: Omit<Change.Forked, '_tag'>): Checkpoint =>
  make({
    ...rewound,
    runId,
    revision: 0,
    generation: 0,
    state: atRest(rewound),
    pending: Units.none,
    answers: Units.none,
    submissions: Units.none,
    renewals: noRenewals,
    forkedFrom: from,
    createdAt: at,
    updatedAt: at
  })

const atRest = ({ state, completedSteps }: Checkpoint): CheckpointState =>
  Units.has(completedSteps, state.step)
    ? State.completed(state.stepIndex, state.step)
    : State.beforeStep(state.stepIndex, state.step)

/** Checks that processes obey pause and cancel requests. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Change } from '../../../domain/change/Change.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import { isFinal, status } from '../../../domain/checkpoint/Checkpoint.js'
import * as State from '../../../domain/checkpoint/CheckpointState.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import { ancestors, isWithin, parent } from '../../../domain/workflow/Unit.js'
import type { CancelResult } from '../../../executor/requests/cancel.js'
import type { PauseResult } from '../../../executor/requests/pause.js'
import type { RunError } from '../../../executor/errors/RunError.js'
import { describe } from '../../../executor/errors/describe.js'
import type { RunOutcome } from '../../../executor/RunOutcome.js'
import type { Revision } from '../../../ports/CheckpointStorage.js'
import type { Requests } from '../../../ports/Requests.js'
import type { StorageCall } from '../../faults.js'
import type { ConcurrentRequest } from '../Intervention.js'
import type { Report, Recorded } from './ChangeLog.js'

type Answer = E.Either<RunError, PauseResult | CancelResult>

/**
 * One execution. `inDoubt`: it may not know whom a request addresses. `agreed`, `looking`: when it agreed to pause, or read its requests. `saving`:
 * composites whose parts start in a save that was in flight then.
 */
const newExecution = (life: number) => ({
  life,
  started: new Set<Unit>(),
  open: new Set<Unit>(),
  holds: false,
  asked: false,
  inDoubt: false,
  agreed: undefined as string | undefined,
  looking: undefined as string | undefined,
  starting: new Set<Unit | undefined>(),
  saving: undefined as ReadonlySet<Unit | undefined> | undefined,
  recorded: false,
  over: false
})

export type PauseOracle = ReturnType<typeof makePauseOracle>

/** `storeMayFail`: the store has injected faults, so requesters may get errors. */
export const makePauseOracle = (report: Report, storeMayFail: boolean) => {
  let current = newExecution(0)
  let asking = 0
  let hasRequestFailed = false
  let tooLate = false
  let cancelled: string | undefined
  /** A process that runs a unit holds the run and must accept requests. A run exists from its first save on. */
  const checkReply = (by: ConcurrentRequest, answer: Answer): void => {
    if (by._tag !== 'PauseAtCall' && current.open.has(by.unit) && E.isRight(answer))
      report('PauseKept', `${by.unit} runs, and the request was answered as if no process held the run`, by.unit)
    if (E.isRight(answer) || storeMayFail || (by._tag === 'PauseAtCall' && answer.left._tag === 'NoSuchRun')) return
    report('PauseKept', `the request failed: ${describe(answer.left)}`)
  }
  /** A running unit may be retried; a unit may start only if the process decided so before the request. */
  const checkStarts = (revisions: ReadonlyArray<Revision>): void => {
    const { started, agreed, looking, saving } = current
    const starting = revisions.flatMap(({ change }) => unitsStartedBy(change)).filter((unit) => !started.has(unit))
    for (const unit of starting) {
      started.add(unit)
      // A running task may continue with its sub-steps.
      if ([...ancestors(unit)].some((one) => started.has(one))) continue
      const isBeside = parent(unit) !== undefined && saving?.has(parent(unit)) === false
      if (cancelled !== undefined && !isBeside)
        report('CancelKept', `${unit} started although the run was cancelled ${cancelled}`, unit)
      else if (agreed !== undefined && !isBeside)
        report('PauseKept', `${unit} started although a pause was agreed ${agreed}`, unit)
    }
    if (starting.length > 0) current.agreed = agreed ?? looking
    current.starting = new Set(starting.map(parent))
    current.saving = undefined
  }
  const checkEnding = (outcome: RunOutcome, { records, jobs }: Recorded): void => {
    const { life, asked, inDoubt, agreed, recorded, open } = current
    const isPaused = outcome._tag === 'Interrupted' && outcome.reason === 'paused'
    const isCancelled = outcome._tag === 'Interrupted' && outcome.reason === 'cancelled'
    if (isPaused && cancelled !== undefined)
      report('CancelKept', `process ${life} paused although the run was cancelled ${cancelled}`)
    if (!isPaused && !isCancelled) {
      if (agreed !== undefined && (outcome._tag === 'Interrupted' || outcome._tag === 'Fenced'))
        report('PauseKept', `process ${life} agreed to pause ${agreed} and ended as ${outcome._tag}`)
      return
    }
    if (isPaused && !asked && !inDoubt) report('PauseMeant', `process ${life} paused without a request`)
    if (isPaused && !recorded) report('PauseKept', `process ${life} paused, and the pause is not recorded`)
    const failed = new Set(Array.from(State.failures(outcome.checkpoint.state), ({ unit }) => unit))
    for (const unit of open)
      if (!records.has(unit) && !jobs.has(unit) && !failed.has(unit))
        report('PauseKept', `${unit} was cut off by the pause`, unit)
  }
  return {
    /** An execution or a poll starts. A request addresses the millisecond of a claim, which two executions of one process may share. */
    begins: (life: number): void => {
      current = { ...newExecution(life), asked: current.life === life && current.asked, inDoubt: storeMayFail }
    },
    claimed: (): void => {
      current.holds = true
    },
    /** `call`: the store call in flight; without it, a unit runs. */
    asks: (by: ConcurrentRequest, call?: StorageCall) => {
      const execution = current
      const isFormer = call !== undefined && !execution.holds
      asking += 1
      return {
        /** The request is stored. */
        leaves: (): void => {
          if (!execution.over) execution.asked = true
          // A process that releases the run withdraws earlier requests.
          if (call === 'release') tooLate = true
        },
        /** The requester got a reply. */
        answered: (answer: Answer, alive: boolean): void => {
          asking -= 1
          // If this process dies, the next one takes the cancel in.
          if (by._tag === 'Cancel' && E.isRight(answer) && execution === current && !execution.over)
            cancelled = timeOf(by)
          if (!alive || execution.over || execution !== current) return
          // Opening the store for the next process ended the claim of a requester on the former one.
          if (by.life < execution.life && E.isLeft(answer) && answer.left._tag === 'Fenced') return
          if (E.isRight(answer) && answer.right._tag === 'Requested') {
            if (isFormer) return
            execution[call === 'load' ? 'looking' : 'agreed'] = timeOf(by)
            if (call === 'save') execution.saving = execution.starting
          } else checkReply(by, answer)
        }
      }
    },
    /** A late request for a dead process replaces the agreed one. */
    replaced: (): void => {
      current.agreed = undefined
      current.looking = undefined
    },
    looked: (checkpoint: Checkpoint | undefined): void => {
      // The cancel came too late.
      if (checkpoint !== undefined && status(checkpoint, false) === 'completed') cancelled = undefined
    },
    /** A process resumes a cancelled run. */
    reopens: (): void => {
      cancelled = undefined
      current.agreed = undefined
    },
    saves: (life: number, revisions: ReadonlyArray<Revision>): void => {
      if (life === current.life) checkStarts(revisions)
    },
    acknowledged: (life: number, revisions: ReadonlyArray<Revision>): void => {
      if (life === current.life && revisions.some(({ change }) => isPause(change))) current.recorded = true
    },
    starts: (unit: string): void => void current.open.add(unit),
    endsWell: (unit: string): void => void current.open.delete(unit),
    /** A process writes the pointer. */
    points: (): void => {
      if (!current.recorded) report('DurableFirst', 'the pointer was written before the pause was recorded')
    },
    /** A store call failed, so the process may not know whom a request addresses. */
    storeFailed: (call: StorageCall): void => {
      current.inDoubt = true
      // A run that was not released keeps its requests for the next owner.
      if (call === 'release' || call === 'load') tooLate = true
    },
    requestFailed: (): void => void (hasRequestFailed = true),
    ended: (result: E.Either<RunError, RunOutcome>, recorded: Recorded): void => {
      current.over = true
      if (E.isRight(result)) checkEnding(result.right, recorded)
    },
    /** Checks the requests and the pointer that a process left when it ended by itself. */
    left: async (
      requests: Requests,
      checkpoint: Checkpoint,
      ended: 'paused' | 'completed' | 'cancelled'
    ): Promise<void> => {
      if (asking > 0 || hasRequestFailed) return
      const { runId, state } = checkpoint
      // A cancel that arrives while a process releases its paused run is recorded after the pause.
      const how = status(checkpoint, false) === 'cancelled' ? 'cancelled' : ended
      if (cancelled !== undefined && !isFinal(status(checkpoint, false)))
        report('CancelKept', `the run was cancelled ${cancelled}, and is ${status(checkpoint, false)}`)
      if (!tooLate && requests.isAny(runId))
        report('PauseKept', 'a process has ended by itself, and the request is still stored')
      const pointer = await requests.pointer()
      if (E.isLeft(pointer)) return report('PauseKept', `the pointer can't be read: ${pointer.left._tag}`)
      const to = O.isSome(pointer.right) && pointer.right.value.runId === runId ? pointer.right.value : undefined
      if (how !== 'paused' && to !== undefined)
        report('PauseKept', `the run is ${how}, and the pointer still leads to it`)
      if (how === 'paused' && (to === undefined || !isWithin(to.unit, state.step)))
        report('PauseKept', `the run is paused at ${state.step}, and the pointer leads to ${to?.unit ?? 'nothing'}`)
    }
  }
}

const timeOf = (by: ConcurrentRequest): string =>
  by._tag === 'PauseAtCall' ? `${by.how} call ${by.n} took effect` : `while ${by.unit} ran`

const isPause = (change: Change): boolean => change._tag === 'Interrupted' && change.reason === 'paused'

const unitsStartedBy = (change: Change): ReadonlyArray<string> =>
  change._tag === 'AttemptStarted' ? change.attempts.map(({ unit }) => unit) : []

/** Who sees what is asked of processes, and whether they pause as they must. */
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
import type { RunError } from '../../../executor/RunError.js'
import { describe } from '../../../executor/RunError.js'
import type { RunOutcome } from '../../../executor/RunOutcome.js'
import type { Revision } from '../../../ports/CheckpointStorage.js'
import type { Requests } from '../../../ports/Requests.js'
import type { StorageCall } from '../../faults.js'
import type { CrashLaw } from '../CrashReport.js'
import type { ConcurrentRequest } from '../Intervention.js'
import type { Recorded } from './ChangeLog.js'

/** Somebody asks. `leaves`: the request is left; `answered`: whether the process still lives then. */
export interface Asked {
  readonly leaves: () => void
  readonly answered: (answer: Answer, alive: boolean) => void
}

type Answer = E.Either<RunError, PauseResult | CancelResult>

/** What the oracle is told. */
export interface PauseOracle {
  /** A process executes the run, or asks for its jobs, from the beginning. */
  readonly begins: (life: number) => void
  /** The process is granted a claim. */
  readonly claimed: () => void
  /** `call`: that of the process that is under way meanwhile; else it runs a unit. */
  readonly asks: (by: ConcurrentRequest, call?: StorageCall) => Asked
  /** A request that is for nobody any more comes late. There is one for each run, the newest: it takes the place of what was agreed. */
  readonly replaced: () => void
  /** What is stored between two processes. */
  readonly looked: (checkpoint: Checkpoint | undefined) => void
  /** A process resumes the run although it is cancelled. */
  readonly reopens: () => void
  /** What a process gives to the store. */
  readonly saves: (life: number, revisions: ReadonlyArray<Revision>) => void
  readonly acknowledged: (life: number, revisions: ReadonlyArray<Revision>) => void
  /** A unit's own code is called. */
  readonly starts: (unit: string) => void
  readonly endsWell: (unit: string) => void
  /** A process leaves the pointer. */
  readonly points: () => void
  /** The process was told that a call of its store failed: it may not know then whom a request is for. */
  readonly storeFailed: (call: StorageCall) => void
  /** A process was told that a call of its requests failed. */
  readonly failed: () => void
  readonly ended: (result: E.Either<RunError, RunOutcome>, recorded: Recorded) => void
  /** What a process has left that ended by itself: because it paused, or because the run is over. */
  readonly left: (
    requests: Requests,
    checkpoint: Checkpoint,
    how: 'paused' | 'completed' | 'cancelled'
  ) => Promise<void>
}

/**
 * One execution.
 *
 * - `holds`: whether it has claimed the run. Until then a request is for a former execution whose release failed.
 * - `asked`: whether a request was left for its process; `inDoubt`: whether that may not have found out whom one is for.
 * - `agreed`: when it was agreed that it pauses; `looking`: that, if it was looking for requests just then, and may not have seen this one.
 * - `starting`: the composites of which the newest save starts parts; `saving`: these, if that save was under way when it was agreed, until
 *   the next one. Other composites beside them may have looked before, and start with the next save what they have decided to start.
 */
interface Execution {
  readonly life: number
  readonly started: Set<string>
  /** What has begun and did not end well. */
  readonly open: Set<string>
  holds: boolean
  asked: boolean
  inDoubt: boolean
  agreed: string | undefined
  looking: string | undefined
  starting: ReadonlySet<Unit | undefined>
  saving: ReadonlySet<Unit | undefined> | undefined
  recorded: boolean
  over: boolean
}

/** Notes that something does not hold. */
type Note = (law: CrashLaw, what: string, unit?: string) => void

const begun = (life: number): Execution => ({
  life,
  started: new Set(),
  open: new Set(),
  holds: false,
  asked: false,
  inDoubt: false,
  agreed: undefined,
  looking: undefined,
  starting: new Set(),
  saving: undefined,
  recorded: false,
  over: false
})

/** The oracle of a run. `mayFail`: something goes wrong below the store, so that who asks may be told of that. */
export const makePauseOracle = (found: Note, mayFail: boolean): PauseOracle => {
  let current = begun(0)
  let asking = 0
  let troubled = false
  let tooLate = false
  let cancelled: string | undefined
  return {
    // Executions in one process are told apart by the millisecond in which they claimed, which may be the same.
    begins: (life) => {
      current = { ...begun(life), asked: current.life === life && current.asked, inDoubt: mayFail }
    },
    claimed: () => {
      current.holds = true
    },
    asks: (by, call) => {
      const execution = current
      const isFormer = call !== undefined && !execution.holds
      asking += 1
      return {
        leaves: () => {
          if (!execution.over) execution.asked = true
          // A process that gives the run back has taken away what was asked of it before.
          if (call === 'release') tooLate = true
        },
        answered: (answer, alive) => {
          asking -= 1
          // The next process takes it in.
          if (by._tag === 'Cancel' && E.isRight(answer) && execution === current && !execution.over)
            cancelled = timeOf(by)
          if (!alive || execution.over || execution !== current) return
          if (E.isRight(answer) && answer.right._tag === 'Requested') {
            if (isFormer) return
            execution[call === 'load' ? 'looking' : 'agreed'] = timeOf(by)
            if (call === 'save') execution.saving = execution.starting
          } else answeredElse(found, by, answer, mayFail, execution.open)
        }
      }
    },
    replaced: () => {
      current.agreed = undefined
      current.looking = undefined
    },
    // The cancel came too late.
    looked: (checkpoint) => {
      if (checkpoint !== undefined && status(checkpoint, false) === 'completed') cancelled = undefined
    },
    reopens: () => {
      cancelled = undefined
      current.agreed = undefined
    },
    saves: (life, revisions) => {
      if (life === current.life) startsIn(found, current, revisions, cancelled)
    },
    acknowledged: (life, revisions) => {
      if (life === current.life && revisions.some(({ change }) => isPause(change))) current.recorded = true
    },
    starts: (unit) => void current.open.add(unit),
    endsWell: (unit) => void current.open.delete(unit),
    points: () => {
      if (!current.recorded)
        found('DurableFirst', 'it was pointed to where the run is paused before that was on record')
    },
    storeFailed: (call) => {
      current.inDoubt = true
      // A run that was not given back, or can't be looked at, keeps what was asked of it for its next owner.
      if (call === 'release' || call === 'load') tooLate = true
    },
    failed: () => (troubled = true),
    ended: (result, recorded) => {
      current.over = true
      if (E.isLeft(result)) return
      endsAs(found, current, result.right, recorded, cancelled)
    },
    left: async (requests, checkpoint, how) => {
      if (asking > 0 || troubled) return
      const { runId, state } = checkpoint
      if (cancelled !== undefined && !isFinal(status(checkpoint, false)))
        found('CancelKept', `the run was cancelled ${cancelled}, and is ${status(checkpoint, false)}`)
      if (!tooLate && requests.isAny(runId))
        found('PauseKept', 'a process has ended by itself, and the request is still there')
      const pointer = await requests.pointer()
      if (E.isLeft(pointer)) return found('PauseKept', `the pointer can't be read: ${pointer.left._tag}`)
      const to = O.isSome(pointer.right) && pointer.right.value.runId === runId ? pointer.right.value : undefined
      if (how !== 'paused' && to !== undefined) found('PauseKept', 'the run is over, and the pointer leads to it')
      if (how === 'paused' && (to === undefined || !isWithin(to.unit, state.step)))
        found('PauseKept', `the run is paused at ${state.step}, and the pointer leads to ${to?.unit ?? 'nothing'}`)
    }
  }
}

const timeOf = (by: ConcurrentRequest): string =>
  by._tag === 'PauseAtCall' ? `${by.how} call ${by.n} took effect` : `while ${by.unit} ran`

/** Who runs a unit holds the run, and can be asked. Before its first save a run is not there. `open`: a unit that is suspended by now is not. */
const answeredElse = (
  found: Note,
  by: ConcurrentRequest,
  answer: Answer,
  mayFail: boolean,
  open: Pick<ReadonlySet<string>, 'has'>
): void => {
  if (by._tag !== 'PauseAtCall' && open.has(by.unit) && E.isRight(answer))
    found('PauseKept', `${by.unit} runs, and who asked was told that nobody runs it`, by.unit)
  if (E.isRight(answer) || mayFail || (by._tag === 'PauseAtCall' && answer.left._tag === 'NoSuchRun')) return
  found('PauseKept', `who asked was told: ${describe(answer.left)}`)
}

const isPause = (change: Change): boolean => change._tag === 'Interrupted' && change.reason === 'paused'

/** Whoever runs already may be tried again; nothing else starts, but what a look that was under way has allowed. */
const startsIn = (
  found: Note,
  execution: Execution,
  revisions: ReadonlyArray<Revision>,
  cancelled: string | undefined
): void => {
  const { started, agreed, looking, saving } = execution
  const starting = revisions.flatMap(({ change }) => unitsStartedBy(change)).filter((unit) => !started.has(unit))
  for (const unit of starting) {
    started.add(unit)
    // A task that runs may go on with its sub-steps.
    if ([...ancestors(unit)].some((one) => started.has(one))) continue
    const isBeside = parent(unit) !== undefined && saving?.has(parent(unit)) === false
    if (cancelled !== undefined && !isBeside)
      found('CancelKept', `${unit} is started, though the run was cancelled ${cancelled}`, unit)
    else if (agreed !== undefined && !isBeside)
      found('PauseKept', `${unit} is started, though it was agreed to pause ${agreed}`, unit)
  }
  if (starting.length > 0) execution.agreed = agreed ?? looking
  execution.starting = new Set(starting.map(parent))
  execution.saving = undefined
}

const unitsStartedBy = (change: Change): ReadonlyArray<string> =>
  change._tag === 'AttemptStarted' ? change.attempts.map(({ unit }) => unit) : []

const endsAs = (
  found: Note,
  execution: Execution,
  outcome: RunOutcome,
  { records, jobs }: Recorded,
  cancelled: string | undefined
): void => {
  const { life, asked, inDoubt, agreed, recorded, open } = execution
  const isPaused = outcome._tag === 'Interrupted' && outcome.reason === 'paused'
  const isCancelled = outcome._tag === 'Interrupted' && outcome.reason === 'cancelled'
  if (isPaused && cancelled !== undefined)
    found('CancelKept', `process ${life} has paused, though the run was cancelled ${cancelled}`)
  if (!isPaused && !isCancelled) {
    if (agreed !== undefined && (outcome._tag === 'Interrupted' || outcome._tag === 'Fenced'))
      found('PauseKept', `it was agreed to pause ${agreed}, and it ended as ${outcome._tag} otherwise`)
    return
  }
  if (isPaused && !asked && !inDoubt) found('PauseMeant', `process ${life} has paused, and nobody has asked it to`)
  if (isPaused && !recorded) found('PauseKept', `process ${life} has paused, and that is not on record`)
  const failed = new Set(Array.from(State.failures(outcome.checkpoint.state), ({ unit }) => unit))
  for (const unit of open)
    if (!records.has(unit) && !jobs.has(unit) && !failed.has(unit))
      found('PauseKept', `${unit} was under way, and was not let end before the run stopped`, unit)
}

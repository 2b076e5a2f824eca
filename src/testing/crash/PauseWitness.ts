/**
 * Who sees what is asked of processes, and whether they pause as they must.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Change } from '../../domain/Change.js'
import type { Checkpoint } from '../../domain/Checkpoint.js'
import * as State from '../../domain/CheckpointState.js'
import { unitName } from '../../domain/Plan.js'
import type { PauseAnswer } from '../../executor/pause.js'
import type { RunError } from '../../executor/RunError.js'
import { describe } from '../../executor/RunError.js'
import type { RunOutcome } from '../../executor/RunOutcome.js'
import type { Revision } from '../../ports/CheckpointStorage.js'
import type { Pauses } from '../../ports/Pauses.js'
import type { CrashLaw } from './CrashReport.js'
import type { Pause } from './Intervention.js'
import type { Standing } from './Ledger.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/** Somebody asks. `leaves`: the request is left; `answered`: whether the process still lives then. */
export interface Asked {
  readonly leaves: () => void
  readonly answered: (answer: E.Either<RunError, PauseAnswer>, alive: boolean) => void
}

/** What the witness is told. */
export interface PauseWitness {
  /** A process executes the run, or asks for its jobs, from the beginning. */
  readonly begins: (life: number) => void
  readonly asks: (by: Pause) => Asked
  /** What a process gives to the store. */
  readonly saves: (life: number, revisions: ReadonlyArray<Revision>) => void
  readonly acknowledged: (life: number, revisions: ReadonlyArray<Revision>) => void
  /** A unit's own code is called. */
  readonly starts: (unit: string) => void
  readonly endsWell: (unit: string) => void
  /** A process leaves the pointer. */
  readonly points: () => void
  /** The process was told that a call of its store failed: it may not know then whom a request is for. */
  readonly storeFailed: () => void
  /** A process was told that a call of its pauses failed. */
  readonly failed: () => void
  readonly ended: (result: E.Either<RunError, RunOutcome>, standing: Standing) => void
  /** What a process has left that ended by itself: because it paused, or because the run was over. */
  readonly left: (pauses: Pauses, checkpoint: Checkpoint, how: 'paused' | 'completed') => Promise<void>
}

/**
 * One execution. `asked`: whether a request was left for it; `inDoubt`: whether it may not have found out whom one is for;
 * `agreed`: the unit during which it was agreed that it pauses.
 */
interface Course {
  readonly life: number
  readonly started: Set<string>
  /** What has begun and did not end well. */
  readonly open: Set<string>
  asked: boolean
  inDoubt: boolean
  agreed: string | undefined
  recorded: boolean
  over: boolean
}

/** Notes that something does not hold. */
type Note = (law: CrashLaw, what: string, unit?: string) => void

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

const begun = (life: number): Course => ({
  life,
  started: new Set(),
  open: new Set(),
  asked: false,
  inDoubt: false,
  agreed: undefined,
  recorded: false,
  over: false
})

/** The witness of a run. `mayFail`: something goes wrong below the store, so that who asks may be told of that. */
export const makePauseWitness = (found: Note, mayFail: boolean): PauseWitness => {
  let current = begun(0)
  let asking = 0
  let troubled = false
  return {
    begins: (life) => (current = { ...begun(life), inDoubt: mayFail }),
    asks: ({ unit }) => {
      const course = current
      asking += 1
      return {
        leaves: () => {
          if (!course.over) course.asked = true
        },
        answered: (answer, alive) => {
          asking -= 1
          if (!alive || course.over || course !== current) return
          if (E.isRight(answer) && answer.right._tag === 'Requested') course.agreed = unit
          else if (E.isRight(answer))
            found('PauseKept', `${unit} runs, and who asked was told that nobody runs it`, unit)
          else if (!mayFail) found('PauseKept', `who asked was told: ${describe(answer.left)}`, unit)
        }
      }
    },
    saves: (life, revisions) => {
      if (life === current.life) for (const { change } of revisions) startsIn(found, current, change)
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
    storeFailed: () => (current.inDoubt = true),
    failed: () => (troubled = true),
    ended: (result, standing) => {
      current.over = true
      if (E.isRight(result)) endsAs(found, current, result.right, standing)
    },
    left: async (pauses, checkpoint, how) => {
      if (asking > 0 || troubled) return
      const { runId, state } = checkpoint
      if (pauses.isRequested(runId)) found('PauseKept', 'a process has ended by itself, and the request is still there')
      const pointer = await pauses.pointer()
      if (E.isLeft(pointer)) return found('PauseKept', `the pointer can't be read: ${pointer.left._tag}`)
      const to = O.isSome(pointer.right) && pointer.right.value.runId === runId ? pointer.right.value : undefined
      if (how === 'completed' && to !== undefined) found('PauseKept', 'the run is over, and the pointer leads to it')
      if (how === 'paused' && to?.step !== state.step)
        found('PauseKept', `the run is paused at ${state.step}, and the pointer leads to ${to?.step ?? 'nothing'}`)
    }
  }
}

const isPause = (change: Change): boolean => change._tag === 'Interrupted' && change.reason === 'paused'

/** Whoever runs already may be tried again; nothing else starts. */
const startsIn = (found: Note, { started, agreed }: Course, change: Change): void => {
  if (change._tag !== 'AttemptStarted') return
  for (const { group } of change.attempts) {
    const unit = unitName({ step: change.step, ...(group === undefined ? {} : { group }) })
    if (agreed !== undefined && !started.has(unit))
      found('PauseKept', `${unit} is started, though while ${agreed} ran it was agreed to pause`, unit)
    started.add(unit)
  }
}

const endsAs = (found: Note, course: Course, outcome: RunOutcome, { records, jobs }: Standing): void => {
  const { life, asked, inDoubt, agreed, recorded, open } = course
  if (outcome._tag !== 'Interrupted' || outcome.reason !== 'paused') {
    if (agreed !== undefined && (outcome._tag === 'Interrupted' || outcome._tag === 'Fenced'))
      found('PauseKept', `it was agreed to pause while ${agreed} ran, and it ended as ${outcome._tag} otherwise`)
    return
  }
  if (!asked && !inDoubt) found('PauseMeant', `process ${life} has paused, and nobody has asked it to`)
  if (!recorded) found('PauseKept', `process ${life} has paused, and that is not on record`)
  const { state } = outcome.checkpoint
  const failed = new Set(
    State.failures(state).map(({ group }) => unitName({ step: state.step, ...(group === undefined ? {} : { group }) }))
  )
  for (const unit of open)
    if (!records.has(unit) && !jobs.has(unit) && !failed.has(unit))
      found('PauseKept', `${unit} was under way, and was not let end before the pause`, unit)
}

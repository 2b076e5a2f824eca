/** Polls jobs, answers waits and advances time while a simulated run is pending. */
import * as E from 'fp-ts/lib/Either.js'
import type { PendingWait } from '../../domain/checkpoint/Pending.js'
import { has } from '../../domain/checkpoint/Units.js'
import { answer } from '../../executor/requests/answer.js'
import { poll } from '../../executor/poll.js'
import type { RunError } from '../../executor/errors/RunError.js'
import type { Pending } from '../../executor/RunOutcome.js'
import type { AnswerWait } from './Intervention.js'
import { RUN_ID } from './process/CrashStorage.js'
import type { Process } from './process/Process.js'

/** `replyTo`: the answer to a wait; undefined if there is none now. */
interface WhilePending<World> {
  readonly process: Process<World>
  readonly replyTo: (wait: PendingWait, world: World) => unknown
  readonly replies: ReadonlyArray<AnswerWait>
}

/** Right: whether the process resumes the run next. */
type ResumeNext = E.Either<RunError, boolean>

/** Answers the waits that the case answers before the `n`-th start or resume. */
export const answerBefore = async <World>(actions: WhilePending<World>, n: number): Promise<ResumeNext> => {
  const { process, replies, replyTo } = actions
  const { world, life, now } = process.context
  for (const by of replies.filter((one) => one.n === n)) {
    process.note({ _tag: 'Intervened', life, by })
    const startedAt = new Date(now()).toISOString()
    const value = 'value' in by ? by.value : replyTo({ _tag: 'Answer', unit: by.unit, startedAt }, world)
    const given = value === undefined ? E.right(true) : await answerUnit(actions, by.unit, value)
    if (E.isLeft(given)) return given
  }
  return E.right(true)
}

/** The virtual time between two polls of a job. */
const POLL_MILLIS = 1000

/**
 * Returns the function to call with each pending outcome: it polls, answers and advances the time. The process then resumes the run, unless it has
 * no job, nothing was answered, no time is left to wait for, and the revision is the same as before.
 */
export const whilePending = <World>(actions: WhilePending<World>): ((outcome: Pending) => Promise<ResumeNext>) => {
  const { process, replyTo } = actions
  const { context } = process
  const early = new Set<string>()
  let lastRevision = -1
  return async ({ units, wakeAt, checkpoint }) => {
    const isSame = checkpoint.revision === lastRevision
    lastRevision = checkpoint.revision
    const hasJobs = units.some(({ _tag }) => _tag === 'Job')
    if (hasJobs) {
      begins(actions, 'poll')
      const polled = await poll(process.program, RUN_ID)(process.environment)()
      if (E.isLeft(polled)) return polled
    }
    let replied = 0
    for (const wait of units) {
      const isOpen = wait._tag === 'Answer' && !has(checkpoint.answers, wait.unit)
      const value = isOpen ? replyTo(wait, context.world) : undefined
      if (value === undefined) continue
      replied += 1
      const given = await answerUnit(actions, wait.unit, value)
      if (E.isLeft(given)) return given
    }
    const left = wakeAt === undefined ? Infinity : Date.parse(wakeAt) - context.now()
    if (replied > 0) await context.sleep(1)
    else if (hasJobs) await context.sleep(left > 0 ? Math.min(left, POLL_MILLIS) : POLL_MILLIS)
    else if (wakeAt === undefined || left <= 0) {
      if (isSame) return E.right(false)
      await context.sleep(1)
    } else {
      // Resumes too early first, which must not end the wait.
      await context.sleep(early.has(wakeAt) ? left : Math.ceil(left / 2))
      early.add(wakeAt)
    }
    return E.right(true)
  }
}

const begins = <World>({ process }: WhilePending<World>, how: 'poll' | 'answer'): void => {
  const { context, program, oracle } = process
  oracle.begins({ life: context.life, how, program, override: undefined, answers: new Map() })
}

/** Answers a unit, as another command of the same process does. */
const answerUnit = async <World>(actions: WhilePending<World>, unit: string, value: unknown): Promise<ResumeNext> => {
  const { process } = actions
  const { environment, context, oracle } = process
  begins(actions, 'answer')
  const at = new Date(context.now()).toISOString()
  const given = await answer(RUN_ID, unit, value, { by: 'the simulation' })(environment)()
  if (!process.alive()) return E.right(false)
  if (E.isLeft(given) && !REFUSALS.has(given.left._tag)) return given
  const how = E.isLeft(given) ? 'refused' : given.right._tag === 'Requested' ? 'requested' : 'acknowledged'
  oracle.waits.answers(unit, how, at)
  return E.right(true)
}

const REFUSALS: ReadonlySet<RunError['_tag']> = new Set(['AnswerRefused', 'AlreadyAnswered', 'NoSuchRun'])

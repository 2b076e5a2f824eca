/** Resumes all runs of a storage that are queued, were interrupted or are due. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { byStatus, dueAt } from '../domain/checkpoint/Due.js'
import { defined } from '../domain/data/defined.js'
import { ignoringErrors } from '../domain/data/notTaskEither.js'
import { readFailed, STORE } from '../executor/callPort.js'
import type { Executor } from '../executor/ExecutorCall.js'
import { argumentProblems, callProblems, unless, workflows } from '../executor/arguments.js'
import type { Program } from '../executor/program/Program.js'
import { requireNoQuestions, planStored } from '../executor/planRun.js'
import { requestsFor } from '../executor/requests/inbox.js'
import { resumeDue } from '../executor/run.js'
import type { RunError } from '../executor/errors/RunError.js'
import type { RunOutcome } from '../executor/RunOutcome.js'
import { report, timestamp } from '../executor/RunScope.js'
import { onAbort } from '../executor/onAbort.js'
import { LOOK_MILLIS, sleep, sleepUnless, stopwatch, ticks, turn } from '../executor/sleep.js'
import type { ListedRun, RunSummary, RunView } from '../executor/storage/runs.js'
import { listRuns, storedRun } from '../executor/storage/runs.js'
import type { Environment } from '../ports/Environment.js'
import type { Event } from '../ports/Events.js'
import type { KnownRun } from './KnownRun.js'
import { isDue, millisOf, retryAt } from './KnownRun.js'
import type { ResumeAllOptions } from './ResumeAllOptions.js'
import { RESUME_ALL } from './ResumeAllOptions.js'
import type { ResumedRun } from './ResumedRun.js'
import { reportOf, isSameReport, isTransient, leftByError, leftByStatus, leftRun } from './ResumedRun.js'

/** A program with any outputs and input. */
export type AnyProgram = Program<unknown, never, unknown, unknown>

/**
 * Resumes every run of the storage that is queued, was interrupted, or whose timer has ended or answer has come. The programs are found by
 * their names. All other runs are left as they are, and reported: cancelled, paused, failed and waiting ones (jobs are not polled), those that
 * are refused or need an answer first, and those that a live process holds. Completed runs are not reported, except those that their program
 * still has to archive or delete (`onSuccess`): a resume does that. The failure of one run stops no other. Several hosts may call this at
 * once: each run is resumed by one of them, and none waits for another.
 * Returns the last report of each run, in the order of their ids. Fails only if the first listing does.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { resumeAll } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import { runOutcome, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const storage = memoryStorage()
 * const order = workflow('order').step('charge', () => 'charged')
 * await runOutcome(order, { id: 'order-1', storage, signal: AbortSignal.abort() })
 * const found = await resumeAll([order])(nodeEnvironment(storage))()
 * assert.ok(E.isRight(found))
 * assert.deepEqual(found.right, [{ _tag: 'Resumed', runId: 'order-1', workflow: 'order', outcome: 'Completed' }])
 *
 * @category running
 */
export const resumeAll = (
  programs: ReadonlyArray<AnyProgram>,
  options: ResumeAllOptions = {}
): Executor<ReadonlyArray<ResumedRun>> =>
  unless([...argumentProblems('programs', programs, workflows), ...callProblems(options, RESUME_ALL)], () =>
    resumeEach(programs, options)
  )

const resumeEach =
  (programs: ReadonlyArray<AnyProgram>, options: ResumeAllOptions): Executor<ReadonlyArray<ResumedRun>> =>
  (environment) =>
  async () => {
    const host: Host = {
      environment,
      options,
      programs: new Map(programs.map((program) => [program.name, program])),
      active: new Map(),
      known: new Map(),
      reports: new Map(),
      undecided: new Map(),
      waitedMillis: 0,
      onEnd: () => undefined,
      onDue: () => undefined
    }
    const looked = await lookAtAll(host)
    if (E.isLeft(looked)) {
      await untilIdle(host)
      return looked
    }
    await (options.watch === true ? watch(host) : retryUndecided(host))
    await untilIdle(host)
    return E.right([...host.reports.values()].sort((a, b) => (a.runId < b.runId ? -1 : 1)))
  }

interface Host {
  readonly environment: Environment
  readonly options: ResumeAllOptions
  readonly programs: ReadonlyMap<string, AnyProgram>
  readonly active: Map<string, Promise<void>>
  readonly known: Map<string, KnownRun>
  readonly reports: Map<string, ResumedRun>
  /** The runs whose owner's liveness is undecided, and since when in `ticks`. */
  readonly undecided: Map<string, { readonly run: KnownRun; readonly since: number }>
  /** How long the current look has waited for free slots. */
  waitedMillis: number
  /** Called when a resume has ended. */
  onEnd: () => void
  /** Called with the time at which a run is due, once it is known. */
  onDue: (at: number) => void
}

const isStopped = ({ environment }: Host): boolean => environment.interrupt.signal.aborted

/** Resumes or reports each run once, page by page. Waits for a free slot for each due run, so that the listing is never far ahead. */
const lookAtAll = async (host: Host): Promise<E.Either<RunError, ReadonlySet<string>>> => {
  const seen = new Set<string>()
  let after = ''
  for (;;) {
    const page = await listRuns({ after, limit: PAGE })(host.environment)()
    if (E.isLeft(page)) return page
    for (const run of page.right) {
      if (isStopped(host)) return E.right(seen)
      seen.add(run.runId)
      await lookAt(host, run)
    }
    const last = page.right.at(-1)
    if (last === undefined) return E.right(seen)
    after = last.runId
  }
}

const PAGE = 100

const lookAt = async (host: Host, { runId, summary }: ListedRun): Promise<void> => {
  if (host.active.has(runId)) return
  if (E.isLeft(summary)) return reportRun(host, { _tag: 'Left', runId, why: 'Unreadable', error: summary.left })
  const run = summary.right
  const holder = O.toUndefined(run.heldBy)
  if (holder?.liveness === 'alive') return reportRun(host, leftRun(run, 'Held', { holder }))
  const program = host.programs.get(run.workflow.name)
  const what = needsCleanup(run, program) ? 'resume' : byStatus(run.status)
  if (what === 'leave') {
    // Keeps the entry of a completed run: if the resume that completed it returned an error, another resume reports the run as completed.
    if (run.status !== 'completed') host.known.delete(runId)
    const [left, before] = [leftByStatus(run), host.reports.get(runId)]
    // The resume in which the run failed has reported that.
    const isReported = run.status === 'failed' && before?._tag === 'Resumed' && before.outcome === 'Failed'
    return left === undefined || isReported ? undefined : reportRun(host, left)
  }
  if (program === undefined) return reportRun(host, leftRun(run, 'UnknownWorkflow'))
  const known = await knownOf(host, run, what)
  if (known !== undefined && isDue(known, host.environment.clock.now())) await resumeSoon(host, known)
}

/** Detects a completed run that its program should have archived or deleted: the process died before it did. */
const needsCleanup = ({ status }: RunSummary, program: AnyProgram | undefined): boolean =>
  status === 'completed' && (program?.onSuccess ?? 'keep') !== 'keep'

/** Returns what is known of a run, and reports one that waits. Undefined: the run was removed, or it cannot be read. */
const knownOf = async (host: Host, run: RunSummary, what: 'resume' | 'look'): Promise<KnownRun | undefined> => {
  const { runId, revision } = run
  const before = host.known.get(runId)
  if (before?.revision === revision) {
    // A failed resume is repeated after growing delays, whatever is in the inbox.
    const isRetried = before.failedAttempts > 0 && before.at < Infinity
    return !isRetried && (await hasRequests(host, runId)) ? { ...before, at: 0 } : before
  }
  const found = { runId, workflow: run.workflow }
  if (what === 'resume' || (await hasRequests(host, runId))) return { found, revision, at: 0, failedAttempts: 0 }
  const view = await storedRun(runId)(host.environment)()
  if (E.isLeft(view)) {
    reportRun(host, { _tag: 'Left', runId, why: 'Unreadable', error: view.left })
    return undefined
  }
  if (O.isNone(view.right)) return undefined
  const due = dueAt(view.right.value.checkpoint)
  const known: KnownRun = { found, revision: view.right.value.revision, at: millisOf(due), failedAttempts: 0 }
  if (known.at > host.environment.clock.now()) {
    host.known.set(runId, known)
    const refusal = await refusalOf(host, view.right.value)
    const waits = due === undefined ? {} : { wakeAt: due }
    reportRun(
      host,
      refusal === undefined
        ? leftRun(found, 'Waiting', waits)
        : { ...leftByError(found, refusal), ...waits, waiting: true }
    )
  }
  return known
}

/** Returns why a resume of a waiting run would be refused, such as an edit. Reads no evidence, which may change until the run is due. */
const refusalOf = async ({ environment, options, programs }: Host, view: RunView): Promise<RunError | undefined> => {
  const program = programs.get(view.workflow.name)
  if (program === undefined) return undefined
  const planned = await planStored(program, view, { ...policyOf(options), evidence: [] })(environment)().catch(
    (cause: unknown) => E.left(readFailed(STORE)('plan', cause))
  )
  const end = E.isLeft(planned) ? planned : requireNoQuestions(planned.right)
  return E.isLeft(end) && !isTransient(end.left) ? end.left : undefined
}

/**
 * Lists the inbox, because `isAny` may be true for an empty one. Ignores a pause, which is for a former owner. Returns true for an inbox that
 * cannot be read, because the resume then reports the error.
 */
const hasRequests = async ({ environment }: Host, runId: string): Promise<boolean> => {
  const all = await requestsFor(environment, runId)
  return E.isLeft(all) || all.right.some(({ _tag }) => _tag !== 'Pause')
}

/** Resumes a run once fewer than `concurrency` others run. */
const resumeSoon = async (host: Host, known: KnownRun): Promise<void> => {
  const { active, options } = host
  const { runId } = known.found
  const waited = stopwatch(host.environment.clock)
  while (active.size >= Math.max(1, options.concurrency ?? AT_ONCE)) await nextEnd(host)
  host.waitedMillis += waited()
  if (isStopped(host)) return
  const done = resumeOne(host, known).finally(() => {
    active.delete(runId)
    host.onEnd()
  })
  active.set(runId, done)
}

const AT_ONCE = 10

/** Reports a run that its resume left, because it was stopped or has failed since it was looked at. Returns whether that is so. */
const leaveIfStopped = async (host: Host, runId: string): Promise<boolean> => {
  const view = await storedRun(runId)(host.environment)()
  if (E.isLeft(view) || O.isNone(view.right)) return false
  const run = view.right.value
  if (byStatus(run.status) !== 'leave' || run.status === 'completed') return false
  host.known.delete(runId)
  host.undecided.delete(runId)
  const left = leftByStatus(run)
  if (left !== undefined) reportRun(host, left)
  return true
}

/** Resolves when the next resume ends. `Promise.race` over all runs would add a callback to each run's promise at each call. */
const nextEnd = (host: Host): Promise<void> => new Promise((resolve) => (host.onEnd = resolve))

const untilIdle = async (host: Host): Promise<void> => {
  while (host.active.size > 0) await nextEnd(host)
}

const resumeOne = async (host: Host, known: KnownRun): Promise<void> => {
  const { environment, options, programs } = host
  const { runId, workflow } = known.found
  const program = programs.get(workflow.name)
  if (program === undefined) return
  const startedAt = timestamp(environment.clock.now())
  host.known.delete(runId)
  let { revision } = known
  const observed = (event: Event): void => {
    report(environment, event)
    if (event._tag === 'CheckpointSaved') revision = event.revision
  }
  const end = await resumeDue(
    program,
    runId,
    policyOf(options)
  )({ ...environment, events: { report: observed } })().catch((cause: unknown) =>
    E.left(readFailed(STORE)('resume', cause))
  )
  const isUndecided = E.isLeft(end) && end.left._tag === 'HeldBy' && end.left.holder.liveness === 'undecided'
  if (!isUndecided) host.undecided.delete(runId)
  // The run was removed meanwhile.
  if (E.isLeft(end) && end.left._tag === 'NoSuchRun') return
  if (revision === known.revision && (await leaveIfStopped(host, runId))) return
  // The revisions that a failed resume saved must not count as a change of the run, which would make it due at once.
  await remember(host, E.isLeft(end) ? { ...known, revision } : known, end, startedAt)
  reportRun(host, reportOf(known.found, end))
}

/** Without `onRecovered`: consent to a recovered state is given for one run. */
const policyOf = ({ changes, onChanged }: ResumeAllOptions): Pick<ResumeAllOptions, 'changes' | 'onChanged'> =>
  defined({ changes, onChanged })

/** Stores when to resume a run next, by how its resume ended. */
const remember = async (
  host: Host,
  known: KnownRun,
  end: E.Either<RunError, RunOutcome>,
  startedAt: string
): Promise<void> => {
  const { runId } = known.found
  const now = host.environment.clock.now()
  if (E.isRight(end)) {
    if (end.right._tag !== 'Pending' && end.right._tag !== 'Completed') return
    const { checkpoint } = end.right
    // If the resume changed nothing, the waits that were over when it started are ignored: they would cause the same resume at once.
    const isUnchanged = checkpoint.revision === known.revision
    const at = millisOf(dueAt(checkpoint, isUnchanged ? startedAt : ''))
    host.known.set(runId, { ...known, revision: checkpoint.revision, at, failedAttempts: 0 })
    return host.onDue(at)
  }
  if (end.left._tag === 'HeldBy') {
    if (end.left.holder.liveness === 'undecided' && !host.undecided.has(runId))
      host.undecided.set(runId, { run: known, since: ticks(host.environment.clock) })
    return
  }
  const failedAttempts = known.failedAttempts + 1
  // A request in the inbox may be the answer that the resume lacked. The delays grow, because it may be about something else.
  const mayPass = isTransient(end.left) || (await hasRequests(host, runId))
  host.known.set(runId, { ...known, at: mayPass ? retryAt(now, failedAttempts) : Infinity, failedAttempts })
}

const reportRun = ({ reports, options }: Host, run: ResumedRun): void => {
  const before = reports.get(run.runId)
  reports.set(run.runId, run)
  if (isSameReport(before, run)) return
  ignoringErrors(() => options.onRun?.(run))
}

/** Waits until all runs have ended. Meanwhile, retries those whose owner may be dead, until the store has decided. */
const retryUndecided = async (host: Host): Promise<void> => {
  const { clock, interrupt } = host.environment
  const { undecidedMillis = 70_000 } = host.options
  while (!isStopped(host) && (host.active.size > 0 || host.undecided.size > 0)) {
    if (host.undecided.size === 0) {
      await nextEnd(host)
      continue
    }
    await sleepUnless(clock, LOOK_MILLIS, interrupt.signal)
    await turn()
    for (const [runId, { run, since }] of [...host.undecided]) {
      if (ticks(clock) - since >= undecidedMillis) host.undecided.delete(runId)
      else if (!host.active.has(runId)) await resumeSoon(host, run)
    }
  }
}

/** Looks again and again until the stop. Between two looks, runs are resumed when they are due. */
const watch = async (host: Host): Promise<void> => {
  const { clock, interrupt } = host.environment
  // A countdown, not a time: if the clock were set back, that time could be hours away.
  let untilLook = LOOK_MILLIS
  while (!isStopped(host)) {
    const before = clock.now()
    const next = [...host.known.values()].reduce((first, { at }) => Math.min(first, at), before + untilLook)
    const pause = Math.max(MIN_PAUSE_MILLIS, next - before)
    const waking = new AbortController()
    host.onDue = (at) => void (at < next && waking.abort())
    const ignore = onAbort(interrupt.signal, () => waking.abort())
    await sleep(clock, pause, waking.signal)
    ignore()
    await turn()
    if (isStopped(host)) return
    const now = clock.now()
    untilLook -= waking.signal.aborted ? Math.max(0, Math.min(pause, now - before)) : pause
    for (const known of [...host.known.values()])
      if (isDue(known, now) && !host.active.has(known.found.runId)) await resumeSoon(host, known)
    if (untilLook > 0) continue
    host.waitedMillis = 0
    const elapsed = stopwatch(clock)
    const seen = await lookAtAll(host)
    if (E.isRight(seen) && !isStopped(host)) forget(host, seen.right)
    untilLook = Math.max(LOOK_MILLIS, LOOK_GAP_FACTOR * (elapsed() - host.waitedMillis))
  }
}

const MIN_PAUSE_MILLIS = 10

/** The pause after a look at all runs takes at least this many times as long as the look. */
const LOOK_GAP_FACTOR = 20

/** Drops what is known of runs that were removed. */
const forget = ({ known, reports, active }: Host, seen: ReadonlySet<string>): void => {
  for (const runId of [...known.keys(), ...reports.keys()])
    if (!seen.has(runId) && !active.has(runId)) {
      known.delete(runId)
      reports.delete(runId)
    }
}

/** A wave: its groups in parallel, each recorded when it ends. */
import * as E from 'fp-ts/lib/Either.js'
import type { Change } from '../../domain/change/Change.js'
import type { DecisionTree } from '../../domain/plan/Plan.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { mustStop } from '../requests/RequestWatch.js'
import { join } from '../../domain/workflow/Unit.js'
import { nextAttempt, attemptsStart, HALTED, runningFailed } from '../storage/changes.js'
import { closeComposite, openComposite } from './compositeChecks.js'
import { endFailedBy } from './endFailed.js'
import { onAbort } from '../onAbort.js'
import type { ProgramGroup, ProgramWave } from '../program/Program.js'
import { hasCode } from '../../domain/workflow/Node.js'
import { waitsFor } from '../../domain/workflow/needs.js'
import { runStarted } from './runTask.js'
import type { Ending, StepToRun, RunScope, RunStep, StepEnd } from '../RunScope.js'
import { nextTurn } from '../sleep.js'
import type { Place } from '../Values.js'

/** `Bug`: a port threw, which no port may. */
interface GroupEnd {
  readonly name: string
  readonly group: ProgramGroup
  readonly result: Ending | { readonly _tag: 'Bug'; readonly bug: Error }
}

/** `unmet`: how many of the groups that it needs are not done. */
interface GroupToRun {
  readonly group: ProgramGroup
  readonly name: string
  readonly index: number
  readonly node: DecisionTree
  unmet: number
}

/** `ready`: groups that only need a free slot, in the order of the wave. */
interface Board {
  readonly unstarted: Map<string, GroupToRun>
  readonly needing: Map<string, Array<GroupToRun>>
  readonly ready: Array<GroupToRun>
  readonly running: Set<string>
  readonly done: Set<string>
  /** For each failed group, whether the failure looked transient. */
  readonly failed: Array<boolean>
  pendingCount: number
  stopped: boolean
  paused: boolean
}

/** Runs a wave. Groups that end during a save share the next one. */
export const runWave = async (scope: RunScope, toRun: StepToRun<ProgramWave>, run: RunStep): Promise<Ending> => {
  const startedAt = scope.environment.clock.now()
  const { place, step: wave } = toRun
  const board = boardOf(scope, toRun)
  // A wave that only waits starts nothing, so its `before` check does not run.
  const isWaiting = board.ready.length === 0 && board.pendingCount > 0
  const ended = isWaiting ? E.right(undefined) : await openComposite(scope, place, wave)
  if (E.isLeft(ended)) return ended
  if (ended.right !== undefined) return E.right(ended.right)
  const halt = linkedTo(toRun.stopping)
  const mailbox = makeMailbox<GroupEnd>()
  const launch = ({ name, group, node }: GroupToRun): void => {
    board.running.add(name)
    // No spreads: each would create a hidden class.
    const at = { unit: join(place.unit, name), stepIndex: place.stepIndex }
    const stopping = halt.signal
    const put = (result: GroupEnd['result']): void => mailbox.put({ name, group, result })
    const done = (ending: Ending | Promise<Ending>): void =>
      void Promise.resolve(ending).then(put, (bug: Error) => put({ _tag: 'Bug', bug }))
    if (!hasCode(group)) return done(run(scope, { place: at, step: group, node, stopping }))
    try {
      runStarted(scope, { place: at, step: group, node, stopping }, nextAttempt(scope, node.decision), done)
    } catch (bug) {
      put({ _tag: 'Bug', bug: bug as Error })
    }
  }
  const { recorder } = scope
  let failure: Exclude<GroupEnd['result'], E.Right<StepEnd>> | undefined
  for (;;) {
    let ready = failure === undefined && !halt.signal.aborted ? await takeReady(scope, board, wave) : []
    recorder.stage(tasksStart(scope, place.unit, ready))
    if (board.running.size === 0 && ready.length === 0) break
    const saved = await recorder.commit()
    if (E.isLeft(saved)) failure ??= saved
    if (failure === undefined) ready.forEach(launch)
    else halt.abort(NOT_SAVED)
    // Frees the memory of the groups while they run.
    ready = []
    if (board.running.size === 0) break
    for (const ended of await mailbox.take(board.running.size)) {
      board.running.delete(ended.name)
      if (ended.result._tag !== 'Right') failure ??= ended.result
      else noteEnd(scope, place, board, ended, ended.result.right)
    }
    if (board.failed.length > 0 && wave.onFailure === 'halt') halt.abort(HALTED)
  }
  halt.dispose()
  if (failure?._tag === 'Bug') return await Promise.reject(failure.bug)
  if (failure !== undefined) return failure
  return await conclude(scope, board, toRun, startedAt)
}

/** One change starts all groups that are tasks. Other groups record their own start. */
const tasksStart = (scope: RunScope, wave: Unit, ready: ReadonlyArray<GroupToRun>): ReadonlyArray<Change> => {
  const tasks = ready.flatMap(({ name, group, node }) =>
    hasCode(group) ? [{ unit: join(wave, name), attempt: nextAttempt(scope, node.decision), job: group.job }] : []
  )
  return tasks.length === 0 ? [] : [attemptsStart(scope, tasks)]
}

const boardOf = ({ awake }: RunScope, { step: wave, node: { parts } }: StepToRun<ProgramWave>): Board => {
  const board: Board = {
    unstarted: new Map(),
    needing: new Map(),
    ready: [],
    running: new Set(),
    done: new Set(),
    failed: [],
    pendingCount: 0,
    stopped: false,
    paused: false
  }
  for (const [index, group] of wave.groups.entries()) {
    const node = parts[index]
    const { name } = group
    if (node === undefined || node.decision._tag === 'Skip') board.done.add(name)
    else if (node.decision._tag === 'Poll' && !awake.has(node.decision.unit)) board.pendingCount += 1
    else board.unstarted.set(name, { group, name, index, node, unmet: 0 })
  }
  const needsOf = waitsFor(wave.groups, board.done)
  for (const one of board.unstarted.values()) {
    for (const need of needsOf(one.group)) {
      if (board.done.has(need)) continue
      one.unmet += 1
      const needing = board.needing.get(need)
      if (needing === undefined) board.needing.set(need, [one])
      else needing.push(one)
    }
    if (one.unmet === 0) board.ready.push(one)
  }
  return board
}

/** Marks a group as done. Groups that only waited for it become ready, in the order of the wave. */
const complete = ({ done, needing, ready }: Board, name: string): void => {
  done.add(name)
  for (const one of needing.get(name) ?? []) {
    one.unmet -= 1
    if (one.unmet === 0) ready.splice(ready.findLastIndex(({ index }) => index < one.index) + 1, 0, one)
  }
}

const mayStart = ({ failed }: Board, { onFailure }: ProgramWave): boolean =>
  failed.length === 0 || onFailure === 'continue'

/** Takes the groups that start now: while there is room, no failure forbids it, and the run must not pause. */
const takeReady = async (scope: RunScope, board: Board, wave: ProgramWave): Promise<ReadonlyArray<GroupToRun>> => {
  if (board.ready.length === 0 || board.running.size >= wave.concurrency) return []
  if (await mustStop(scope)) board.paused = true
  if (board.paused || scope.stopping.aborted || !mayStart(board, wave)) return []
  const taken = board.ready.splice(0, wave.concurrency - board.running.size)
  for (const { name } of taken) board.unstarted.delete(name)
  return taken
}

/** Notes how a group ended, and ends the units that a halt left in flight in it. */
const noteEnd = (scope: RunScope, wave: Place, board: Board, { name, group }: GroupEnd, end: StepEnd): void => {
  switch (end._tag) {
    case 'Done':
      return complete(board, name)
    case 'Pending':
      board.pendingCount += 1
      return
    case 'Failed':
      board.failed.push(end.retryable)
      return
    default:
      if (scope.stopping.aborted) board.stopped = true
      // A halted task has recorded its end. The units in flight of a halted composite end here; after a pause or a cancel they stay in flight.
      else if (hasCode(group)) return
      else if (scope.requests.seen()) board.stopped = true
      else scope.recorder.stage(runningFailed(scope, join(wave.unit, name), HALTED))
  }
}

const NOT_SAVED = 'stopped because the state of the run could not be saved'

const NOT_RESUMED = 'in flight when the process ended, and not started again because another group of the wave failed'

const conclude = async (
  scope: RunScope,
  board: Board,
  toRun: StepToRun<ProgramWave>,
  startedAt: number
): Promise<Ending> => {
  const { place, step: wave } = toRun
  if (board.done.size === wave.groups.length) return await closeComposite(scope, toRun, startedAt)
  const isHeldBack = (scope.stopping.aborted || board.paused) && board.ready.length > 0 && mayStart(board, wave)
  if (board.stopped || isHeldBack) return E.right({ _tag: 'Stopped' })
  if (board.failed.length === 0) return E.right({ _tag: board.pendingCount > 0 ? 'Pending' : 'Stopped' })
  const retryable = board.failed.every((isTransient) => isTransient)
  const failed = [...board.unstarted.keys()].flatMap((name) =>
    runningFailed(scope, join(place.unit, name), NOT_RESUMED)
  )
  return await endFailedBy(scope, place, failed, retryable)
}

/** A signal that fires with another one, for the same reason, or independently. */
const linkedTo = (
  parent: AbortSignal
): { readonly signal: AbortSignal; readonly abort: (why: string) => void; readonly dispose: () => void } => {
  const own = new AbortController()
  return {
    signal: own.signal,
    abort: (why) => own.abort(new DOMException(why, 'AbortError')),
    dispose: onAbort(parent, () => own.abort(parent.reason))
  }
}

/** `take` waits for an item, then one turn more if fewer than `expected` have arrived, so that groups that end at the same time share a save. */
const makeMailbox = <A>(): {
  readonly put: (item: A) => void
  readonly take: (expected: number) => Promise<ReadonlyArray<A>>
} => {
  let items: Array<A> = []
  let wake: (() => void) | undefined
  return {
    put: (item) => {
      items.push(item)
      wake?.()
    },
    take: async (expected) => {
      if (items.length === 0) await new Promise<void>((resolve) => (wake = resolve))
      wake = undefined
      if (items.length < expected) await new Promise<void>((resolve) => nextTurn(resolve))
      const taken = items
      items = []
      return taken
    }
  }
}

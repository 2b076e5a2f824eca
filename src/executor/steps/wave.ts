/** A wave: its groups in parallel, each recorded when it ends. */
import * as E from 'fp-ts/lib/Either.js'
import type { Change } from '../../domain/change/Change.js'
import type { DecisionTree } from '../../domain/plan/Plan.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { mustStop } from '../requests/StopRequests.js'
import { join } from '../../domain/workflow/Unit.js'
import { nextAttempt, attemptsStarted, HALTED, runningFailed } from '../storage/changes.js'
import { closeComposite, openComposite } from './compositeChecks.js'
import { endFailedBy } from './endFailed.js'
import { onAbort } from '../onAbort.js'
import type { ProgramGroup, ProgramWave } from '../program/Program.js'
import { hasCode } from '../../domain/workflow/Node.js'
import { waitsFor } from '../../domain/workflow/needs.js'
import { runStarted } from './runTask.js'
import type { Ending, StepToRun, RunScope, RunStep, StepEnd } from '../RunScope.js'
import { turn } from '../sleep.js'
import type { Place } from '../Values.js'

/** How a group ended. `Bug`: the executor or a port threw, which neither may. */
interface GroupEnd {
  readonly name: string
  readonly group: ProgramGroup
  readonly result: Ending | { readonly _tag: 'Bug'; readonly bug: Error }
}

/** `unmet`: how many of the groups that this one needs are not done. */
interface GroupToRun {
  readonly group: ProgramGroup
  readonly name: string
  readonly index: number
  readonly node: DecisionTree
  unmet: number
}

/** The groups of a wave. `needing`: the groups that need a group, by its name; `ready`: in order, those that only need a free slot. */
interface WaveState {
  readonly unstarted: Map<string, GroupToRun>
  readonly needing: Map<string, Array<GroupToRun>>
  readonly ready: Array<GroupToRun>
  readonly running: Set<string>
  readonly done: Set<string>
  /** For each failed group, whether the failure looked transient. */
  readonly failed: Array<boolean>
  pendingCount: number
  isStopped: boolean
  /** A pause or cancel was requested, so no more groups start. */
  mustStop: boolean
}

/** Runs a wave. Groups that end during a save share the next one. */
export const runWave = async (scope: RunScope, toRun: StepToRun<ProgramWave>, run: RunStep): Promise<Ending> => {
  const startedAt = scope.environment.clock.now()
  const { place, step: wave } = toRun
  const state = waveState(scope, toRun)
  // A wave that only waits starts nothing, so its `before` check does not run.
  const isWaiting = state.ready.length === 0 && state.pendingCount > 0
  const ended = isWaiting ? E.right(undefined) : await openComposite(scope, toRun)
  if (E.isLeft(ended)) return ended
  if (ended.right !== undefined) return E.right(ended.right)
  const halt = linkedTo(toRun.stopping)
  const mailbox = makeMailbox<GroupEnd>()
  const launch = ({ name, group, node }: GroupToRun): void => {
    state.running.add(name)
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
    let ready = failure === undefined && !halt.signal.aborted ? await takeReady(scope, state, wave) : []
    recorder.stage(tasksStarted(scope, place.unit, ready))
    if (state.running.size === 0 && ready.length === 0) break
    const saved = await recorder.commit()
    if (E.isLeft(saved)) failure ??= saved
    if (failure === undefined) ready.forEach(launch)
    else halt.abort(NOT_SAVED)
    // Else this variable would keep the groups in memory while they run.
    ready = []
    if (state.running.size === 0) break
    for (const ended of await mailbox.take(state.running.size)) {
      state.running.delete(ended.name)
      if (ended.result._tag !== 'Right') failure ??= ended.result
      else applyEnd(scope, place, state, ended, ended.result.right)
    }
    if (state.failed.length > 0 && wave.onFailure === 'halt') halt.abort(HALTED)
  }
  halt.dispose()
  if (failure?._tag === 'Bug') return await Promise.reject(failure.bug)
  if (failure !== undefined) return failure
  return await endWave(scope, state, toRun, startedAt)
}

/** One change starts all groups that are tasks. Other groups record their own start. */
const tasksStarted = (scope: RunScope, wave: Unit, ready: ReadonlyArray<GroupToRun>): ReadonlyArray<Change> => {
  const tasks = ready.flatMap(({ name, group, node }) =>
    hasCode(group) ? [{ unit: join(wave, name), attempt: nextAttempt(scope, node.decision), job: group.job }] : []
  )
  return tasks.length === 0 ? [] : [attemptsStarted(scope, tasks)]
}

const waveState = ({ awake }: RunScope, { step: wave, node: { parts } }: StepToRun<ProgramWave>): WaveState => {
  const state: WaveState = {
    unstarted: new Map(),
    needing: new Map(),
    ready: [],
    running: new Set(),
    done: new Set(),
    failed: [],
    pendingCount: 0,
    isStopped: false,
    mustStop: false
  }
  for (const [index, group] of wave.groups.entries()) {
    const node = parts[index]
    const { name } = group
    if (node === undefined || node.decision._tag === 'Skip') state.done.add(name)
    else if (node.decision._tag === 'Poll' && !awake.has(node.decision.unit)) state.pendingCount += 1
    else state.unstarted.set(name, { group, name, index, node, unmet: 0 })
  }
  const needsOf = waitsFor(wave.groups, state.done)
  for (const one of state.unstarted.values()) {
    for (const need of needsOf(one.group)) {
      if (state.done.has(need)) continue
      one.unmet += 1
      const needing = state.needing.get(need)
      if (needing === undefined) state.needing.set(need, [one])
      else needing.push(one)
    }
    if (one.unmet === 0) state.ready.push(one)
  }
  return state
}

/** Marks a group as done. Groups that only waited for it become ready, in the order of the wave. */
const complete = ({ done, needing, ready }: WaveState, name: string): void => {
  done.add(name)
  for (const one of needing.get(name) ?? []) {
    one.unmet -= 1
    if (one.unmet === 0) ready.splice(ready.findLastIndex(({ index }) => index < one.index) + 1, 0, one)
  }
}

const mayStart = ({ failed }: WaveState, { onFailure }: ProgramWave): boolean =>
  failed.length === 0 || onFailure === 'continue'

/** Takes the groups that start now, if there is room, no failure forbids it, and the run need not stop. */
const takeReady = async (scope: RunScope, state: WaveState, wave: ProgramWave): Promise<ReadonlyArray<GroupToRun>> => {
  if (state.ready.length === 0 || state.running.size >= wave.concurrency) return []
  if (await mustStop(scope)) state.mustStop = true
  if (state.mustStop || scope.stopping.aborted || !mayStart(state, wave)) return []
  const taken = state.ready.splice(0, wave.concurrency - state.running.size)
  for (const { name } of taken) state.unstarted.delete(name)
  return taken
}

/** Updates the state for a group that ended, and fails the units that a halt left in flight in it. */
const applyEnd = (scope: RunScope, wave: Place, state: WaveState, { name, group }: GroupEnd, end: StepEnd): void => {
  switch (end._tag) {
    case 'Done':
      return complete(state, name)
    case 'Pending':
      state.pendingCount += 1
      return
    case 'Failed':
      state.failed.push(end.retryable)
      return
    default:
      if (scope.stopping.aborted) state.isStopped = true
      // A halted task has recorded its end. The units in flight of a halted composite end here; after a pause or a cancel they stay in flight.
      else if (hasCode(group)) return
      else if (scope.requests.isStopSeen()) state.isStopped = true
      else scope.recorder.stage(runningFailed(scope, join(wave.unit, name), HALTED))
  }
}

const NOT_SAVED = 'stopped because the state of the run could not be saved'

const NOT_RESUMED = 'in flight when the process ended, and not started again because another group of the wave failed'

const endWave = async (
  scope: RunScope,
  state: WaveState,
  toRun: StepToRun<ProgramWave>,
  startedAt: number
): Promise<Ending> => {
  const { place, step: wave } = toRun
  if (state.done.size === wave.groups.length) return await closeComposite(scope, toRun, startedAt)
  const isHeldBack = (scope.stopping.aborted || state.mustStop) && state.ready.length > 0 && mayStart(state, wave)
  if (state.isStopped || isHeldBack) return E.right({ _tag: 'Stopped' })
  if (state.failed.length === 0) return E.right({ _tag: state.pendingCount > 0 ? 'Pending' : 'Stopped' })
  const retryable = state.failed.every((isTransient) => isTransient)
  // A group that waits may have an attempt in flight, too: an edit put the wait before a step whose attempt was cut short.
  return await endFailedBy(scope, place, runningFailed(scope, place.unit, NOT_RESUMED), retryable)
}

/** Makes a signal that fires with its parent, for the same reason, or when `abort` is called. */
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

/** Collects items until they are taken. `take` waits one turn more if fewer than `expected` came, so that groups can share a save. */
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
      if (items.length < expected) await turn()
      const taken = items
      items = []
      return taken
    }
  }
}

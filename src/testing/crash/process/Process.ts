/** One simulated process: its program, its ports and its work in flight. */
import * as E from 'fp-ts/lib/Either.js'
import type { Program } from '../../../executor/program/Program.js'
import type { CheckpointStorage, Claim } from '../../../ports/CheckpointStorage.js'
import type { Environment } from '../../../ports/Environment.js'
import type { Requests } from '../../../ports/Requests.js'
import type { TreeData } from '../../memoryTree.js'
import { memoryTree } from '../../memoryTree.js'
import type { AtCall, AtEffect, AtRequest, CrashPoint } from '../CrashPoint.js'
import { describePoint, isSamePlace } from '../CrashPoint.js'
import type { DelayedCalls } from './DelayedCalls.js'
import type { Requester } from './requesting.js'
import { whileCalled, whileRunning } from './requesting.js'
import type { ConcurrentRequest } from '../Intervention.js'
import { callWhileAlive, counted, killable, never, startLife, whileAlive } from './Life.js'
import { killableRequests } from './KillableRequests.js'
import type { TraceEntry } from '../Trace.js'
import type { Oracle } from '../oracle/Oracle.js'
import { START, virtualClock } from './VirtualClock.js'
import type { VirtualClock } from './VirtualClock.js'
import type { HostProcess } from './watchedProgram.js'
import { programIn } from './watchedProgram.js'

/**
 * What the steps of a simulated program may use. Each simulated process creates the program again, as a restarted
 * process does.
 *
 * - `world`: the outside world, one for each simulated run.
 * - `tree`: the files and commits that steps leave as evidence, one tree for each simulated run.
 * - `life`: the number of this process, from 1.
 * - `now`: the virtual time, in milliseconds since 1970-01-01 UTC.
 * - `sleep`: sleeps in virtual time, in milliseconds. It ends early when the signal fires.
 * - `effect`: performs an effect on the outside world. The process may die right before it and right after it; a dead
 *   process performs nothing.
 *
 * @category model
 */
export interface ProcessContext<World> {
  readonly world: World
  /** The files and commits that steps leave as evidence. */
  readonly tree: TreeData
  readonly life: number
  /** The virtual time, in milliseconds since 1970-01-01 UTC. */
  readonly now: () => number
  /** Sleeps in virtual time, or until the signal fires. */
  readonly sleep: (millis: number, signal?: AbortSignal) => Promise<void>
  /** Performs an effect on the outside world. The process can die right before it and right after it. */
  readonly effect: <A>(name: string, act: () => A | Promise<A>) => Promise<A>
}

/** What a process shares with the others of its run, and its own number, store, time and crash point. */
export interface ProcessParts<World> {
  readonly world: World
  readonly tree: TreeData
  readonly programOf: (context: ProcessContext<World>) => Program<unknown, unknown>
  readonly note: (entry: TraceEntry) => void
  readonly oracle: Oracle
  readonly requests: () => Requests
  /** The requests of other processes. If there are any, calls of the requests port are crash points too. */
  readonly requested: ReadonlyArray<ConcurrentRequest>
  readonly delayed: DelayedCalls
  readonly life: number
  readonly storage: CheckpointStorage
  readonly startsAt: number | undefined
  readonly point: CrashPoint | undefined
}

interface ProcessState<World> extends ProcessParts<World>, HostProcess {
  /** The crash points that the process reached, in order. */
  readonly points: ReadonlyArray<CrashPoint>
  readonly claims: Array<Claim>
  readonly clock: VirtualClock
}

export type Process<World> = ReturnType<typeof startProcess<World>>

export const startProcess = <World>(parts: ProcessParts<World>) => {
  const life = startLife()
  const clock = virtualClock(0, parts.startsAt ?? START)
  const { point } = parts
  const points: Array<CrashPoint> = []
  const inside: ProcessState<World> = {
    ...parts,
    ...life,
    whileRunning: (unit) => asks(unit),
    state: { progress: 0, calls: 0, running: 0, asleep: 0, failed: false },
    points,
    claims: [],
    clock,
    reach: (here) => {
      // A process that gets no request may die only at its other calls.
      if (here._tag !== 'AtRequest' || parts.requested.length > 0) points.push(here)
      return point !== undefined && isSamePlace(point, here) ? point.how : undefined
    },
    die: () => {
      if (!life.alive()) return
      parts.note({ _tag: 'Died', life: parts.life, where: point === undefined ? 'killed' : describePoint(point) })
      life.kill()
    },
    // A sleeper of 0 ms wakes when no other work that takes no time is left.
    yieldToOthers: () => clock.sleep(0, life.signal)()
  }
  const context = contextOf(inside)
  const requester = requesterOf(inside)
  const asks = whileRunning(requester)
  return {
    ...inside,
    context,
    environment: {
      ...portsOf(inside),
      storage: storageIn(inside, whileCalled(requester, parts.storage)),
      requests: requestsIn(inside),
      owner: { host: 'simulated', pid: parts.life }
    },
    program: programIn(inside, parts.programOf(context))
  }
}

/** The ports that the process shares with requesters. */
const portsOf = <World>(inside: ProcessState<World>): Omit<Environment, 'storage' | 'requests' | 'owner'> => ({
  clock: inside.clock,
  tree: memoryTree(inside.tree),
  interrupt: { signal: new AbortController().signal, reason: () => 'aborted' },
  events: {
    report: (event) => {
      if (event._tag === 'StepCompleted' && inside.alive()) inside.oracle.reportsEnd(event.unit)
    }
  },
  random: () => 0.5,
  graceMillis: 10_000
})

const storageIn = <World>(inside: ProcessState<World>, opened: CheckpointStorage): CheckpointStorage => {
  const { state, life } = inside
  const watched = killable({ ...inside, kill: inside.die }, noting(inside, opened), {
    at: (call, n) => {
      const how = inside.reach<AtCall>({ _tag: 'AtCall', n, how: 'before', call })
      if (how === 'fails' || how === 'failsAfter') {
        state.failed = true
        inside.oracle.pauses.storeFailed(call)
        inside.note({ _tag: 'Died', life, where: describePoint({ _tag: 'AtCall', n, how, call }) })
      }
      return how
    },
    delayed: inside.delayed.add,
    around: (make) => counted(state, 'calls', make)
  })
  return {
    ...watched,
    claim: (runId, owner, options) => async () => {
      await inside.delayed.claiming()
      const claimed = await watched.claim(runId, owner, options)()
      if (E.isRight(claimed)) {
        inside.claims.push(claimed.right.claim)
        await inside.delayed.claimed(life, claimed.right)
      }
      return claimed
    }
  }
}

/** An acknowledged save is durable, even if the process died before the reply. */
const noting = ({ oracle, life }: HostProcess, storage: CheckpointStorage): CheckpointStorage => ({
  ...storage,
  save: (claim, revisions) => async () => {
    oracle.saves(life, claim, revisions)
    const saved = await storage.save(claim, revisions)()
    if (E.isRight(saved)) oracle.acknowledged(life, claim, revisions)
    return saved
  }
})

const requestsIn = <World>(inside: ProcessState<World>): Requests => {
  const { oracle, state } = inside
  return killableRequests({ ...inside, kill: inside.die }, inside.requests(), {
    at: (call, n) => {
      if (call === 'point') oracle.pauses.points()
      const how = inside.reach<AtRequest>({ _tag: 'AtRequest', n, how: 'before', call })
      if (how === 'fails') oracle.pauses.requestFailed()
      return how
    },
    around: (make) => counted(state, 'calls', make)
  })
}

/** A requester has its own environment on the same store and outlives the process. */
const requesterOf = <World>(inside: ProcessState<World>): Requester => {
  const { storage, requested, life, alive, oracle, note } = inside
  return {
    due: requested.filter((by) => by.life === life),
    environment: {
      ...portsOf(inside),
      storage: {
        ...storage,
        save: (claim, revisions) => async () => {
          const saved = await storage.save(claim, revisions)()
          if (E.isRight(saved)) oracle.savedByRequester(life, claim, revisions)
          return saved
        }
      },
      requests: inside.requests(),
      owner: { host: 'simulated', pid: 0 }
    },
    alive,
    oracle: oracle.pauses,
    note: (by) => note({ _tag: 'Intervened', life, by }),
    late: (arrive) => inside.delayed.addRequest(life, arrive)
  }
}

const contextOf = <World>(inside: ProcessState<World>): ProcessContext<World> => {
  const { state, clock } = inside
  let effects = 0
  return {
    world: inside.world,
    tree: inside.tree,
    life: inside.life,
    now: clock.now,
    sleep: (millis, signal = new AbortController().signal) =>
      whileAlive(inside, () => counted(state, 'asleep', clock.sleep(millis, signal))),
    effect: (name, act) =>
      callWhileAlive(
        { ...inside, kill: inside.die },
        () => {
          effects += 1
          state.progress += 1
          return inside.reach<AtEffect>({ _tag: 'AtEffect', n: effects, how: 'before', name })
        },
        async () => {
          const given = await act()
          inside.note({ _tag: 'Effect', life: inside.life, name })
          return given
        },
        () => never<never>()
      )
  }
}

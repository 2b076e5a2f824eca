/**
 * One run from beginning to end, through as many processes as it takes.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type * as TE from 'fp-ts/lib/TaskEither.js'
import type { Checkpoint } from '../../domain/Checkpoint.js'
import type { Json } from '../../domain/Json.js'
import type { Answer } from '../../domain/Plan.js'
import { unitName } from '../../domain/Plan.js'
import type { Program } from '../../executor/Program.js'
import { poll } from '../../executor/jobs.js'
import { runOrResume } from '../../executor/run.js'
import type { RunError } from '../../executor/RunError.js'
import { describe } from '../../executor/RunError.js'
import type { RunOutcome } from '../../executor/RunOutcome.js'
import { restoreStored } from '../../executor/stored.js'
import type { CheckpointStorage, Claimed, StorageError } from '../../ports/CheckpointStorage.js'
import type { StorageCall } from '../faults.js'
import type { CrashCase, CrashLaw } from './CrashReport.js'
import type { CrashStorage } from './CrashStorage.js'
import type { CrashPoint } from './CrashPoint.js'
import type { Limits } from './drive.js'
import type { Delayed } from './Life.js'
import { drive, STORE_PATIENCE } from './drive.js'
import type { Process, Scene } from './Process.js'
import { startProcess } from './Process.js'
import type { Trace, TraceEntry } from './Trace.js'
import { quiet } from './VirtualClock.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/** What is the same for all simulated runs. */
export interface Setting<World, Data> {
  readonly programOf: (scene: Scene<World>) => Program<unknown, unknown>
  readonly input: unknown
  readonly world: () => World
  readonly storage: CrashStorage<Data>
  readonly limits: Limits
  readonly judge: Judge<World>
  /** What each unit gave in the undisturbed run. */
  readonly outputs: ReadonlyMap<string, Json | undefined>
}

/** Something that does not hold. */
export interface Finding {
  readonly law: CrashLaw
  readonly what: string
  readonly unit?: string
  readonly name?: string
}

/**
 * What stands between two processes, and at the end: what the processes before left (`checkpoint`, none if nothing is
 * stored), what was known `before` the last of them ran, what was `acknowledged` (-1: nothing), and what happened (`trace`).
 * `completed`: the run is over.
 */
export interface Between<World> {
  readonly program: Program<unknown, unknown>
  readonly world: World
  readonly trace: Trace
  readonly before: Checkpoint | undefined
  readonly checkpoint: Checkpoint | undefined
  readonly acknowledged: { readonly units: ReadonlySet<string>; readonly revision: number }
  readonly completed: boolean
}

/** What does not hold there. */
export type Judge<World> = (between: Between<World>) => ReadonlyArray<Finding>

/**
 * A run that was simulated. `points`: where each process came along; `asked`: whether there was a question; `checkpoint`: what
 * it left.
 */
export interface SimulatedRun {
  readonly findings: ReadonlyArray<Finding>
  readonly trace: Trace
  readonly points: ReadonlyArray<ReadonlyArray<CrashPoint>>
  readonly asked: boolean
  readonly checkpoint: Checkpoint | undefined
}

/** What a run has come to. */
interface Course<World, Data> {
  readonly setting: Setting<World, Data>
  readonly answer: CrashCase['answer']
  readonly world: World
  readonly data: Data
  readonly trace: Array<TraceEntry>
  readonly findings: Array<Finding>
  readonly acknowledged: { readonly units: Set<string>; revision: number }
  readonly points: Array<ReadonlyArray<CrashPoint>>
  readonly delayed: Array<DelayedCall>
  /** Calls of the dead that were made when a process claimed, and have not been answered yet. */
  readonly meanwhile: Array<Promise<E.Either<StorageError, unknown>>>
  readonly dead: Array<{ readonly process: Process<World>; readonly storage: CheckpointStorage }>
  asked: boolean
  /** How many processes in a row have ended with an error of their store. */
  trouble: number
}

/** A call of a process that is dead by now. */
interface DelayedCall {
  readonly call: StorageCall
  readonly how: Delayed
  readonly make: () => Promise<E.Either<StorageError, unknown>>
}

/** The id of every simulated run. */
export const RUN_ID = 'simulated'

// ---------------------------------------------------------------------------------------------------------------------
// a run
// ---------------------------------------------------------------------------------------------------------------------

/** Simulates one run, with one process after the other, the n-th dying at the n-th point of the schedule. */
export const simulateRun = async <World, Data>(
  setting: Setting<World, Data>,
  { schedule, answer }: CrashCase
): Promise<SimulatedRun> => {
  const data = await setting.storage.create()
  const course: Course<World, Data> = {
    setting,
    answer,
    world: setting.world(),
    data,
    trace: [],
    findings: [],
    acknowledged: { units: new Set(), revision: -1 },
    points: [],
    delayed: [],
    meanwhile: [],
    dead: [],
    asked: false,
    trouble: 0
  }
  const checkpoint = await liveOn(course, schedule)
  await bury(course)
  await setting.storage.destroy?.(data)
  const { findings, trace, points, asked } = course
  return { findings, trace, points, asked, checkpoint }
}

const liveOn = async <World, Data>(
  course: Course<World, Data>,
  schedule: ReadonlyArray<CrashPoint>
): Promise<Checkpoint | undefined> => {
  const { setting, trace, findings } = course
  let before: Checkpoint | undefined
  let startsAt: number | undefined
  const { reopen, start } = setting.storage
  let storage = await (start?.(course.data, 1) ?? reopen(course.data))
  for (let life = 1; ; life++) {
    const process = processOf(course, storage, life, schedule[life - 1], startsAt)
    const over = await liveOnce(course, process)
    course.points.push(process.points)
    course.dead.push({ process, storage })
    storage = await reopen(course.data)
    const found = await look(storage, setting.limits)
    if (E.isLeft(found)) {
      findings.push({ law: 'NothingLost', what: `what is stored can't be read: ${describe(found.left)}` })
      return undefined
    }
    const { acknowledged, world } = course
    const { program } = process
    const checkpoint = found.right
    if (start !== undefined) storage = await start(course.data, life + 1)
    const completed = over === 'completed'
    findings.push(...setting.judge({ program, world, trace, before, checkpoint, acknowledged, completed }))
    if (over !== 'cut short' || findings.length > 0) return checkpoint
    before = checkpoint
    startsAt = checkpoint === undefined ? undefined : process.clock.now()
  }
}

const processOf = <World, Data>(
  course: Course<World, Data>,
  storage: CheckpointStorage,
  life: number,
  point: CrashPoint | undefined,
  startsAt: number | undefined
): Process<World> =>
  startProcess({
    world: course.world,
    life,
    storage,
    startsAt,
    point,
    programOf: course.setting.programOf,
    note: (entry) => course.trace.push(entry),
    acknowledged: (revisions) => {
      for (const { revision, change } of revisions) {
        course.acknowledged.revision = Math.max(course.acknowledged.revision, revision)
        if (COMPLETING.has(change._tag)) course.acknowledged.units.add(unitName(change as { readonly step: string }))
      }
    },
    told: (unit) => course.acknowledged.units.add(unit),
    delayed: (call, how, make) => course.delayed.push({ call, how, make }),
    claiming: () => claiming(course),
    claimed: (granted) => claimed(course, granted)
  })

const COMPLETING: ReadonlySet<string> = new Set(['StepCompleted', 'GroupCompleted', 'Assumed'])

/** What the dead ones were about to do and has not arrived yet. */
const due = <World, Data>({ delayed }: Course<World, Data>, now: Delayed): ReadonlyArray<DelayedCall> => {
  const calls = delayed.filter(({ how }) => how === now)
  for (const one of calls) delayed.splice(delayed.indexOf(one), 1)
  return calls
}

/** Another process is about to claim the run. */
const claiming = async <World, Data>(course: Course<World, Data>): Promise<void> => {
  for (const { make } of due(course, 'slow')) await make()
  course.meanwhile.push(...due(course, 'meanwhile').map(({ make }) => make()))
}

/** Another process has claimed the run. */
const claimed = async <World, Data>(course: Course<World, Data>, { stored }: Claimed): Promise<void> => {
  const { acknowledged, findings, meanwhile, setting } = course
  for (const answer of meanwhile.splice(0)) await soon(() => answer, setting.limits)
  const given = O.isSome(stored) ? stored.value.revision : -1
  if (given < acknowledged.revision && !(O.isSome(stored) && stored.value.found._tag === 'Recovered')) {
    const what = `revision ${acknowledged.revision} was acknowledged, and the process that claimed then was given ${given}`
    findings.push({ law: 'NothingLost', what })
  }
  for (const { call, make } of due(course, 'late')) {
    const result = await make()
    if (call === 'save' && E.isRight(result)) {
      const what = 'a save of a dead process took effect after another process had claimed the run'
      findings.push({ law: 'Fenced', what })
    }
  }
}

/** What the next process finds. */
const look = async (
  storage: CheckpointStorage,
  limits: Limits
): Promise<E.Either<StorageError, Checkpoint | undefined>> => {
  const stored = await soon(storage.load(RUN_ID), limits)
  if (E.isLeft(stored)) return stored
  return O.isNone(stored.right) ? E.right(undefined) : restoreStored(stored.right.value, RUN_ID)
}

/** Lets dead processes come to rest, and gives back what they claimed, so that nothing of them is left. */
const bury = async <World, Data>({ dead, setting }: Course<World, Data>): Promise<void> => {
  const { limits } = setting
  const until = performance.now() + limits.patienceMillis
  while (dead.some(({ process }) => !process.storeIsQuiet()) && performance.now() < until) await quiet()
  for (const { process, storage } of dead) {
    process.kill()
    for (const claim of process.claims) await soon(storage.release(claim), limits)
  }
}

/** What a call of the store gives, if it gives anything in time. */
const soon = async <A>(
  call: TE.TaskEither<StorageError, A>,
  { patienceMillis }: Limits
): Promise<E.Either<StorageError, A>> => {
  const failed = (code: string, cause: unknown): E.Either<StorageError, never> =>
    E.left({ _tag: 'ReadFailed', where: 'the store', operation: 'call', code, cause })
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<E.Either<StorageError, A>>((resolve) => {
    timer = setTimeout(() => resolve(failed('TIMEOUT', 'no answer came')), patienceMillis * STORE_PATIENCE)
  })
  try {
    return await Promise.race([call(), late])
  } catch (cause) {
    return failed('THREW', cause)
  } finally {
    clearTimeout(timer)
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// a life
// ---------------------------------------------------------------------------------------------------------------------

type Ended = E.Either<RunError, RunOutcome>

/** Whether the run is completed, or this process was only cut short and the next is to go on, or something is wrong. */
type Over = 'completed' | 'cut short' | 'wrong'

/** How a process may end if something goes wrong below its store: it says so. */
const TROUBLE: ReadonlySet<RunError['_tag']> = new Set(['ReadFailed', 'WriteFailed', 'Corrupt', 'RecoveryRefused'])

/** How many processes in a row may end so. */
const MOST_TROUBLE = 10

const liveOnce = async <World, Data>(course: Course<World, Data>, process: Process<World>): Promise<Over> => {
  const { setting, trace, findings } = course
  const { life } = process.scene
  let thrown: unknown
  const running = askAndRun(course, process).catch((error: unknown) => {
    thrown = error
    return undefined
  })
  const how = await drive(process, running, setting.limits)
  switch (how) {
    case 'killed':
      await quiet()
      return 'cut short'
    case 'stuck':
    case 'endless':
      findings.push({ law: 'Ends', what: STUCK[how](process, setting.limits) })
      process.kill()
      return 'wrong'
    case 'settled':
      break
  }
  const ended = await running
  if (!process.alive()) return 'cut short'
  if (ended === undefined) {
    findings.push({ law: 'Ends', what: `it threw: ${thrown instanceof Error ? thrown.message : String(thrown)}` })
    return 'wrong'
  }
  const said = E.isLeft(ended) ? describe(ended.left) : saidBy(ended.right)
  if (E.isRight(ended) && ended.right._tag === 'Completed') {
    trace.push({ _tag: 'Ended', life, how: said })
    return 'completed'
  }
  if (process.failed()) return 'cut short'
  if (E.isLeft(ended) && setting.storage.start !== undefined && TROUBLE.has(ended.left._tag)) {
    trace.push({ _tag: 'Ended', life, how: said })
    course.trouble += 1
    if (course.trouble <= MOST_TROUBLE) return 'cut short'
    findings.push({ law: 'Ends', what: `${MOST_TROUBLE} processes in a row could not go on, the last one as ${said}` })
    return 'wrong'
  }
  course.trouble = 0
  trace.push({ _tag: 'Ended', life, how: said })
  findings.push({ law: 'SameEnd', what: `it ended otherwise than undisturbed: ${said}` })
  return 'wrong'
}

const STUCK = {
  stuck: <World>(process: Process<World>, { patienceMillis }: Limits): string => {
    const { calls, units } = process.busy()
    const what =
      calls > 0 ? 'a call of the store does not end' : units > 0 ? 'a step does not end' : 'nothing is under way'
    return `${what}: nothing has happened for ${patienceMillis} ms, and nothing sleeps`
  },
  endless: <World>(_: Process<World>, { maxWaits }: Limits): string =>
    `time was moved on ${maxWaits} times without an end`
}

const saidBy = (outcome: RunOutcome): string => {
  switch (outcome._tag) {
    case 'Completed':
      return 'completed'
    case 'Failed':
      return `${outcome.step} failed: ${outcome.failures.map(({ error }) => error.message).join('; ')}`
    case 'Interrupted':
      return `interrupted at ${outcome.step}`
    case 'Pending':
      return `it waits for the jobs of ${outcome.jobs.map(unitName).join(', ')}`
    case 'Fenced':
      return 'another process has taken the run over'
  }
}

/** How long, in virtual time, a process waits before it asks for a job again. */
const POLL_MILLIS = 1000

/** Runs the program, and again with answers as long as it has questions, and after it has asked for the jobs it waits for. */
const askAndRun = async <World, Data>(course: Course<World, Data>, process: Process<World>): Promise<Ended> => {
  const { setting, answer, trace } = course
  const confirm = new Map<string, Answer>()
  for (;;) {
    const ended = await runOrResume(process.program, RUN_ID, setting.input, { confirm })(process.environment)()
    if (E.isRight(ended) && ended.right._tag === 'Pending') {
      const polled = await poll(process.program, RUN_ID)(process.environment)()
      if (E.isLeft(polled)) return polled
      // What was answered is on record.
      confirm.clear()
      await process.scene.sleep(POLL_MILLIS)
      continue
    }
    if (E.isRight(ended) || ended.left._tag !== 'Unconfirmed') return ended
    course.asked = true
    for (const question of ended.left.questions) {
      const unit = unitName(question)
      // Who asks the same again was told already.
      if (confirm.has(unit)) return ended
      const output = answer === 'done' ? setting.outputs.get(unit) : undefined
      const given = output === undefined ? {} : { output }
      confirm.set(unit, answer === 'done' ? { _tag: 'Done', ...given } : { _tag: 'Again' })
      trace.push({ _tag: 'Answered', life: process.scene.life, unit, answer, ...given })
    }
  }
}

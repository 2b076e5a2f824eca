/** One run from beginning to end, through as many processes as it takes. */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import type { Json } from '../../domain/data/Json.js'
import type { Answer } from '../../domain/plan/Plan.js'
import { definitionAt } from '../../domain/workflow/Node.js'
import type { Step } from '../../domain/workflow/Workflow.js'
import type { Program } from '../../executor/program/Program.js'
import { runOrResume } from '../../executor/run.js'
import type { RunError } from '../../executor/RunError.js'
import { describe } from '../../executor/RunError.js'
import type { RunOutcome } from '../../executor/RunOutcome.js'
import type { CheckpointStorage, Claimed, StorageError } from '../../ports/CheckpointStorage.js'
import type { Requests } from '../../ports/Requests.js'
import type { StorageCall } from '../faults.js'
import type { TreeData } from '../memoryTree.js'
import { treeData } from '../memoryTree.js'
import type { CrashCase } from './CrashReport.js'
import type { CrashStorage } from './process/CrashStorage.js'
import { requestsOn } from './process/CrashStorage.js'
import type { CrashPoint } from './CrashPoint.js'
import type { Limits } from './process/drive.js'
import { drive } from './process/drive.js'
import type { Over } from './process/endings.js'
import { MOST_TROUBLE, overBy, saidBy, STUCK, TROUBLE } from './process/endings.js'
import { answerToChange, asksIn, intervene, isAsk, optionsOf, repliesIn } from './intervene.js'
import type { Override } from './Intervention.js'
import type { Delayed } from './process/Life.js'
import type { Process, Scene } from './process/Process.js'
import { startProcess } from './process/Process.js'
import { look, soon } from './process/look.js'
import type { ReplyTo } from './resting.js'
import { answerBefore, resting } from './resting.js'
import { tasksOf } from './tasksOf.js'
import type { Trace, TraceEntry } from './Trace.js'
import { quiet } from './process/VirtualClock.js'
import type { Finding, Witness } from './witness/Witness.js'
import { makeWitness } from './witness/Witness.js'

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
  /** How many processes may end because a step failed. */
  readonly mayFail: number
  readonly reply: ReplyTo<World>
}

/**
 * What stands between two processes, and at the end: what the processes before left (`checkpoint`, none if nothing is
 * stored), and what happened (`trace`). `completed`: the run is over.
 */
export interface Between<World> {
  readonly program: Program<unknown, unknown>
  readonly world: World
  readonly trace: Trace
  readonly checkpoint: Checkpoint | undefined
  readonly completed: boolean
}

/** What does not hold there. */
export type Judge<World> = (between: Between<World>) => ReadonlyArray<Finding>

/** A run that was simulated. `points`: where each process came along; `asked`: whether there was a question; `checkpoint`: what it left. */
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
  readonly one: CrashCase
  readonly world: World
  readonly tree: TreeData
  readonly data: Data
  readonly trace: Array<TraceEntry>
  readonly findings: Array<Finding>
  /** Opens where requests to runs are left. */
  readonly requests: () => Requests
  /** Requests that reach the run only when another process than the one with this number has claimed it. */
  readonly late: Array<{ readonly life: number; readonly arrive: () => Promise<unknown> }>
  readonly witness: Witness
  readonly points: Array<ReadonlyArray<CrashPoint>>
  readonly delayed: Array<DelayedCall>
  /** Calls of the dead that were made when a process claimed, and have not been answered yet. */
  readonly meanwhile: Array<Promise<E.Either<StorageError, unknown>>>
  readonly dead: Array<{ readonly process: Process<World>; readonly storage: CheckpointStorage }>
  asked: boolean
  /** How many processes in a row have ended with an error of their store. */
  trouble: number
  /** How many processes have ended because a step failed. */
  failures: number
}

/** A call of a process that is dead by now. */
interface DelayedCall {
  readonly call: StorageCall
  readonly how: Delayed
  readonly make: () => Promise<E.Either<StorageError, unknown>>
}

/** The id of every simulated run. */
export const RUN_ID = 'simulated'

/** Simulates one run, with one process after the other, the n-th dying at the n-th point of the schedule. */
export const simulateRun = async <World, Data>(
  setting: Setting<World, Data>,
  one: CrashCase
): Promise<SimulatedRun> => {
  const data = await setting.storage.create()
  const tree = treeData()
  const findings: Array<Finding> = []
  const trace: Array<TraceEntry> = []
  const course: Course<World, Data> = {
    setting,
    one,
    world: setting.world(),
    tree,
    data,
    trace,
    findings,
    requests: requestsOn(setting.storage, data),
    late: [],
    witness: makeWitness(tree, findings, (entry) => trace.push(entry), {
      mayFail: setting.storage.start !== undefined,
      misfits: repliesIn(one).flatMap(({ value }) => (value === undefined ? [] : [value]))
    }),
    points: [],
    delayed: [],
    meanwhile: [],
    dead: [],
    asked: false,
    trouble: 0,
    failures: 0
  }
  const checkpoint = await liveOn(course)
  await bury(course)
  await setting.storage.destroy?.(data)
  const { points, asked } = course
  return { findings, trace, points, asked, checkpoint }
}

const liveOn = async <World, Data>(course: Course<World, Data>): Promise<Checkpoint | undefined> => {
  const { setting, trace, findings, witness } = course
  const { schedule, interventions = [] } = course.one
  const lastTold = Math.max(0, ...interventions.map((by) => (isAsk(by) ? 0 : by.life)))
  let before: Checkpoint | undefined
  let startsAt: number | undefined
  const { reopen, start } = setting.storage
  let storage = await (start?.(course.data, 1) ?? reopen(course.data))
  for (let life = 1; ; life++) {
    const override = intervene(course.one, life, before, course.tree, (entry) => trace.push(entry))
    const process = processOf(course, storage, life, schedule[life - 1], startsAt)
    const over = await liveOnce(course, process, override, before)
    course.points.push(process.points)
    course.dead.push({ process, storage })
    storage = await reopen(course.data)
    const found = await look(storage, RUN_ID, setting.limits)
    if (E.isLeft(found)) {
      findings.push({ law: 'NothingLost', what: `what is stored can't be read: ${describe(found.left)}` })
      return undefined
    }
    const { world } = course
    const { program } = process
    const checkpoint = found.right
    if (start !== undefined) storage = await start(course.data, life + 1)
    const completed = over === 'completed'
    witness.looked(checkpoint)
    findings.push(...setting.judge({ program, world, trace, checkpoint, completed }))
    if (checkpoint !== undefined && over !== 'cut short' && over !== 'wrong')
      await witness.pauses.left(course.requests(), checkpoint, over)
    const goesOn = over === 'cut short' || over === 'paused' || over === 'cancelled' || (completed && life < lastTold)
    if (!goesOn || findings.length > 0) return checkpoint
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
    runId: RUN_ID,
    world: course.world,
    tree: course.tree,
    life,
    storage,
    startsAt,
    point,
    programOf: course.setting.programOf,
    note: (entry) => course.trace.push(entry),
    witness: course.witness,
    requests: course.requests,
    pausing: asksIn(course.one).length > 0,
    asked: asksIn(course.one).filter((by) => by.life === life),
    late: (arrive) => course.late.push({ life, arrive }),
    delayed: (call, how, make) => course.delayed.push({ call, how, make }),
    claiming: () => claiming(course),
    claimed: (granted) => claimed(course, life, granted)
  })

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
const claimed = async <World, Data>(course: Course<World, Data>, life: number, granted: Claimed): Promise<void> => {
  const { witness, findings, meanwhile, setting, late } = course
  for (const answer of meanwhile.splice(0)) await soon(() => answer, setting.limits)
  witness.claimed(granted)
  for (const { call, make } of due(course, 'late')) {
    const result = await make()
    if (call === 'save' && E.isRight(result)) {
      const what = 'a save of a dead process took effect after another process had claimed the run'
      findings.push({ law: 'Fenced', what })
    }
  }
  for (const one of late.filter((request) => request.life < life)) {
    late.splice(late.indexOf(one), 1)
    await one.arrive()
    witness.pauses.replaced()
  }
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

type Ended = E.Either<RunError, RunOutcome>

const liveOnce = async <World, Data>(
  course: Course<World, Data>,
  process: Process<World>,
  override: Override | undefined,
  before: Checkpoint | undefined
): Promise<Over> => {
  const { setting, trace, findings } = course
  const { life } = process.scene
  let thrown: unknown
  const running = askAndRun(course, process, override, before).catch((error: unknown) => {
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
  const over = E.isRight(ended) ? overBy(ended.right) : ended.left._tag === 'RunCancelled' ? 'cancelled' : undefined
  if (over !== undefined) {
    trace.push({ _tag: 'Ended', life, how: said })
    return over
  }
  if (process.failed()) return 'cut short'
  if (mayEndSo(course, ended, override)) {
    trace.push({ _tag: 'Ended', life, how: said })
    return 'cut short'
  }
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

/** A step may fail, a few times, and what a process was told may be refused; whether it was refused rightly the witness says. */
const mayEndSo = <World, Data>(course: Course<World, Data>, ended: Ended, override: Override | undefined): boolean => {
  if (E.isLeft(ended)) return override !== undefined && ended.left._tag === 'PlanError' && course.witness.mayRefuse()
  if (ended.right._tag !== 'Failed') return false
  course.failures += 1
  return course.failures <= course.setting.mayFail
}

/** Runs the program, and again with answers as long as it has questions, and when what it waits for may be over. */
const askAndRun = async <World, Data>(
  course: Course<World, Data>,
  process: Process<World>,
  told: Override | undefined,
  before: Checkpoint | undefined
): Promise<Ended> => {
  const { setting, trace, witness } = course
  const { answer } = course.one
  const { program } = process
  const { life } = process.scene
  const units = tasksOf(program)
  const confirm = new Map<string, Answer>()
  let override = told
  let reopen = false
  const rest = {
    runId: RUN_ID,
    process,
    witness,
    replyTo: setting.reply,
    replies: repliesIn(course.one).filter((by) => by.life === life),
    note: (entry: TraceEntry) => void trace.push(entry)
  }
  const onceRested = resting(rest)
  for (let n = 1; ; n++) {
    const given = await answerBefore(rest, n)
    if (E.isLeft(given)) return given
    witness.begins({ life, how: 'run', program, override, answers: confirm })
    const options = {
      confirm,
      reopen,
      ...optionsOf(program, override, (unit) => units.has(unit), setting.outputs, before)
    }
    const ended = await runOrResume(program, RUN_ID, setting.input, options)(process.environment)()
    const isReopened = reopen
    // A run that is cancelled once more is refused once more.
    reopen = false
    if (process.alive()) witness.ended(ended)
    if (E.isRight(ended) && ended.right._tag === 'Pending') {
      // A request may have been left to an execution whose release failed. The next execution need not obey it.
      if (process.failed() && asksIn(course.one).length > 0) return ended
      const rested = await onceRested(ended.right)
      if (E.isLeft(rested)) return rested
      if (!rested.right) return ended
      override = undefined
      // What was answered is on record.
      confirm.clear()
      continue
    }
    if (E.isLeft(ended) && ended.left._tag === 'RunCancelled' && !isReopened) {
      witness.pauses.reopens()
      reopen = true
      continue
    }
    if (E.isRight(ended) || ended.left._tag !== 'Unconfirmed') return ended
    course.asked = true
    for (const question of ended.left.questions) {
      const unit = question.unit
      // Who asks the same again was told already.
      if (confirm.has(unit)) return ended
      // A map that is said to be done as a whole gives nothing to later steps: it would end otherwise.
      const isEdited = question.reason._tag === 'EvidenceChanged'
      const said =
        definitionAt<Step>(program, unit)?._tag === 'Map'
          ? 'again'
          : isEdited
            ? answerToChange(course.one, life)
            : answer
      const output = said === 'done' ? setting.outputs.get(unit) : undefined
      const given = output === undefined ? {} : { output }
      confirm.set(unit, said === 'done' ? { _tag: 'Done', ...given } : { _tag: said === 'keep' ? 'Keep' : 'Again' })
      trace.push({ _tag: 'Answered', life, unit, answer: said, ...given })
    }
  }
}

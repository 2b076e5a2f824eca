/** Simulates one run, in as many processes as it needs. */
import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import type { Json } from '../../domain/data/Json.js'
import type { Answer } from '../../domain/plan/Plan.js'
import type { Program } from '../../executor/program/Program.js'
import { runOrResume } from '../../executor/run.js'
import type { RunError } from '../../executor/errors/RunError.js'
import { describe } from '../../executor/errors/describe.js'
import type { RunOutcome } from '../../executor/RunOutcome.js'
import { treeData } from '../memoryTree.js'
import type { CrashCase, CrashLaw } from './CrashReport.js'
import { isUndisturbed } from './CrashReport.js'
import type { CrashOptions, Observation } from './crashOptions.js'
import { requestsOn, RUN_ID } from './process/CrashStorage.js'
import type { CrashPoint } from './CrashPoint.js'
import type { Limits, ProcessEnd } from './process/drive.js'
import {
  drive,
  MAX_STORE_ERRORS,
  endOf,
  describeOutcome,
  STUCK,
  STORE_ERRORS,
  loadCheckpoint,
  withTimeout
} from './process/drive.js'
import {
  answerTo,
  concurrentRequestsIn,
  intervene,
  isConcurrentRequest,
  optionsOf,
  waitAnswersIn
} from './intervene.js'
import type { Override } from './Intervention.js'
import { makeDelayedCalls } from './process/DelayedCalls.js'
import type { Process, ProcessParts } from './process/Process.js'
import { startProcess } from './process/Process.js'
import { answerBefore, whilePending } from './whilePending.js'
import type { Trace, TraceEntry } from './Trace.js'
import { quiet } from './process/VirtualClock.js'
import type { Finding } from './oracle/Oracle.js'
import { makeOracle } from './oracle/Oracle.js'

export interface Setting<World, Data> extends Required<
  Pick<CrashOptions<World, Data, unknown>, 'input' | 'world' | 'storage' | 'mayFail' | 'reply'>
> {
  readonly programOf: ProcessParts<World>['programOf']
  readonly limits: Limits
  readonly judge: (between: Between<World>) => ReadonlyArray<Finding>
  /** The outputs of the undisturbed run. */
  readonly outputs: ReadonlyMap<string, Json | undefined>
}

/** The state between two processes and at the end. */
export interface Between<World> extends Omit<Observation<World>, 'undisturbed'> {
  readonly program: Program<unknown, unknown>
}

/** The run of a case. `points`: the points that each process reached. `asked`: whether a question was asked. */
export interface SimulatedCase {
  readonly findings: ReadonlyArray<Finding>
  readonly trace: Trace
  readonly points: ReadonlyArray<ReadonlyArray<CrashPoint>>
  readonly asked: boolean
  readonly checkpoint: Checkpoint | undefined
}

/** Runs a case. The n-th process dies at the n-th point of the schedule. */
export const simulateRun = async <World, Data>(
  setting: Setting<World, Data>,
  one: CrashCase
): Promise<SimulatedCase> => {
  const simulation = simulationOf(setting, one, await setting.storage.create())
  const { data, findings, trace } = simulation
  const checkpoint = await runProcesses(simulation)
  await cleanUpDead(simulation)
  await setting.storage.destroy?.(data)
  const { processes, asked } = simulation
  return { findings, trace, points: processes.map(({ points }) => points), asked, checkpoint }
}

type Simulation<World, Data> = ReturnType<typeof simulationOf<World, Data>>

const simulationOf = <World, Data>(setting: Setting<World, Data>, one: CrashCase, data: Data) => {
  const tree = treeData()
  const findings: Array<Finding> = []
  const trace: Array<TraceEntry> = []
  const note = (entry: TraceEntry): void => void trace.push(entry)
  const misfits = waitAnswersIn(one).flatMap(({ value }) => (value === undefined ? [] : [value]))
  const oracle = makeOracle(tree, findings, note, { storeMayFail: setting.storage.start !== undefined, misfits })
  return {
    ...{ setting, one, tree, data, trace, findings, note, oracle },
    world: setting.world(),
    programOf: setting.programOf,
    requests: requestsOn(setting.storage, data),
    requested: concurrentRequestsIn(one),
    delayed: makeDelayedCalls(oracle, findings, setting.limits),
    /** All processes so far, in order. */
    processes: Array<Process<World>>(),
    asked: false,
    /** How many processes in a row ended with a storage error. */
    storeErrors: 0,
    failures: 0
  }
}

const runProcesses = async <World, Data>(simulation: Simulation<World, Data>): Promise<Checkpoint | undefined> => {
  const { setting, trace, findings, oracle } = simulation
  const { schedule, interventions = [] } = simulation.one
  const lastIntervened = Math.max(0, ...interventions.map((by) => (isConcurrentRequest(by) ? 0 : by.life)))
  let before: Checkpoint | undefined
  let startsAt: number | undefined
  const { reopen, start } = setting.storage
  let storage = await (start?.(simulation.data, 1) ?? reopen(simulation.data))
  for (let life = 1; ; life++) {
    const override = intervene(simulation.one, life, before, simulation.tree, simulation.note)
    const process = startProcess({ ...simulation, life, storage, startsAt, point: schedule[life - 1] })
    const over = await runProcess({ simulation, process, override, before })
    simulation.processes.push(process)
    storage = await reopen(simulation.data)
    const found = await loadCheckpoint(storage, setting.limits)
    if (E.isLeft(found)) {
      findings.push({ law: 'NothingLost', what: `the stored run cannot be read: ${describe(found.left)}` })
      return undefined
    }
    const { world } = simulation
    const { program } = process
    const checkpoint = found.right
    if (start !== undefined) storage = await start(simulation.data, life + 1)
    const completed = over === 'completed'
    oracle.looked(checkpoint)
    findings.push(...setting.judge({ program, world, trace, checkpoint, completed }))
    if (checkpoint !== undefined && over !== 'cut short' && over !== 'wrong')
      await oracle.pauses.left(simulation.requests(), checkpoint, over)
    const goesOn =
      over === 'cut short' || over === 'paused' || over === 'cancelled' || (completed && life < lastIntervened)
    if (!goesOn || findings.length > 0) return checkpoint
    before = checkpoint
    startsAt = checkpoint === undefined ? undefined : process.clock.now()
  }
}

/** Waits for calls of dead processes, then releases their claims. */
const cleanUpDead = async <World, Data>({ processes, setting }: Simulation<World, Data>): Promise<void> => {
  const { limits } = setting
  const until = performance.now() + limits.patienceMillis
  while (processes.some(({ state }) => state.calls > 0) && performance.now() < until) await quiet()
  for (const process of processes) {
    process.kill()
    for (const claim of process.claims) await withTimeout(process.storage.release(claim), limits)
  }
}

type Ended = E.Either<RunError, RunOutcome>

/** `before`: the checkpoint that the last process left. */
interface OneProcess<World, Data> {
  readonly simulation: Simulation<World, Data>
  readonly process: Process<World>
  readonly override: Override | undefined
  readonly before: Checkpoint | undefined
}

const runProcess = async <World, Data>(one: OneProcess<World, Data>): Promise<ProcessEnd> => {
  const { simulation, process, override } = one
  const { setting, trace, findings, storeErrors } = simulation
  const { life } = process.context
  simulation.storeErrors = 0
  const wrong = (law: CrashLaw, what: string): 'wrong' => {
    findings.push({ law, what })
    return 'wrong'
  }
  const running = TE.tryCatch(() => runWithAnswers(one), E.toError)()
  const how = await drive(process, running, setting.limits)
  if (how === 'stuck' || how === 'endless') {
    const what = STUCK[how](process.state, setting.limits)
    process.kill()
    return wrong('Ends', what)
  }
  if (how === 'killed') {
    await quiet()
    return 'cut short'
  }
  const result = await running
  if (!process.alive()) return 'cut short'
  if (E.isLeft(result)) return wrong('Ends', `the process threw: ${result.left.message}`)
  const ended = result.right
  const said = E.isLeft(ended) ? describe(ended.left) : describeOutcome(ended.right)
  const over = E.isRight(ended) ? endOf(ended.right) : ended.left._tag === 'RunCancelled' ? 'cancelled' : undefined
  if (over === undefined && process.state.failed) return 'cut short'
  trace.push({ _tag: 'Ended', life, how: said })
  if (over !== undefined) return over
  if (tolerates(simulation, ended, override)) return 'cut short'
  if (E.isLeft(ended) && setting.storage.start !== undefined && STORE_ERRORS.has(ended.left._tag)) {
    simulation.storeErrors = storeErrors + 1
    if (simulation.storeErrors <= MAX_STORE_ERRORS) return 'cut short'
    const what = `${simulation.storeErrors} processes ended with an error of the store, the last one with: ${said}`
    return wrong('Ends', what)
  }
  const what = isUndisturbed(simulation.one)
    ? `without any crash the run does not complete: ${said}; ${remedyOf(ended)}`
    : `the outcome differs from that of the undisturbed run: ${said}`
  return wrong('SameEnd', what)
}

const remedyOf = (ended: Ended): string =>
  E.isRight(ended) && ended.right._tag === 'Pending' && ended.right.units.some(({ _tag }) => _tag === 'Answer')
    ? 'answer it with the option `reply`'
    : 'fix that first'

/** A step may fail `mayFail` times, which this counts, and an override may be refused if the oracle says so. */
const tolerates = <World, Data>(
  simulation: Simulation<World, Data>,
  ended: Ended,
  override: Override | undefined
): boolean => {
  if (E.isLeft(ended))
    return override !== undefined && ended.left._tag === 'PlanError' && simulation.oracle.mustRefuse()
  if (ended.right._tag !== 'Failed') return false
  simulation.failures += 1
  return simulation.failures <= simulation.setting.mayFail
}

/** Runs the program again with answers while it has questions, and whenever it has become pending. */
const runWithAnswers = async <World, Data>({
  simulation,
  process,
  override,
  before
}: OneProcess<World, Data>): Promise<Ended> => {
  const { setting, trace } = simulation
  const { program, oracle } = process
  const { life } = process.context
  const ofCase = { one: simulation.one, life, program, before, outputs: setting.outputs }
  const confirm = new Map<string, Answer>()
  let due = override
  let reopen = false
  const replies = waitAnswersIn(simulation.one).filter((by) => by.life === life)
  const actions = { process, replyTo: setting.reply, replies }
  const onPending = whilePending(actions)
  for (let n = 1; ; n++) {
    const given = await answerBefore(actions, n)
    if (E.isLeft(given)) return given
    oracle.begins({ life, how: 'run', program, override: due, answers: confirm })
    const options = { confirm, reopen, ...optionsOf(ofCase, due) }
    const ended = await runOrResume(program, RUN_ID, setting.input, options)(process.environment)()
    const isReopened = reopen
    // A run that is cancelled again is refused again.
    reopen = false
    if (process.alive()) oracle.ended(ended)
    if (E.isRight(ended) && ended.right._tag === 'Pending') {
      // A request may address an execution whose release failed. The next execution need not obey it.
      if (process.state.failed && simulation.requested.length > 0) return ended
      const resumes = await onPending(ended.right)
      if (E.isLeft(resumes)) return resumes
      if (!resumes.right) return ended
      // The override and the answers are recorded.
      due = undefined
      confirm.clear()
      continue
    }
    if (E.isLeft(ended) && ended.left._tag === 'RunCancelled' && !isReopened) {
      oracle.pauses.reopens()
      reopen = true
      continue
    }
    if (E.isRight(ended) || ended.left._tag !== 'Unconfirmed') return ended
    simulation.asked = true
    for (const question of ended.left.questions) {
      // The executor must not ask an answered question again.
      if (confirm.has(question.unit)) return ended
      const { answers, entry } = answerTo(ofCase, question)
      for (const [unit, answer] of answers) confirm.set(unit, answer)
      trace.push(entry)
    }
  }
}

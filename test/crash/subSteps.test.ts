/** A task with 200 dynamic sub-steps may be killed anywhere, repeatedly. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { beforeAll, describe, test } from 'vitest'
import { jsonFileStorage } from '../../src/adapters/json-file/index.js'
import { CheckpointState } from '../../src/index.js'
import type { Chance, Ended, Kill, Report, World } from './world.js'
import { chanceOf, eachOf, inWorld, kept, launch, linesOf, reportOf, seed, sleep, sweep, workerFile } from './world.js'

const WORKER = workerFile('agent')
const SUB_STEPS = 200
const MOMENTS = sweep ? 20 : 4

/** A kill by another process some time after the n-th effect of a life, or one at a call to the file system. */
/** `hold`: from that effect on, the first non-idempotent sub-step does not return. */
type Moment = { readonly effects: number; readonly delay: number; readonly hold?: true } | Kill

const isCareful = (unit: string): boolean => /\/(pay-\d+|tool-\d+-3|send|left-\d+|right-\d+)$/.test(unit)
const isBroken = (unit: string): boolean => /\/broken-\d+$/.test(unit)

// ---------------------------------------------------------------------------------------------------------------------
// lives
// ---------------------------------------------------------------------------------------------------------------------

interface Note {
  readonly life: number
  readonly what: 'began' | 'effect' | 'returned'
  readonly unit: string
}

interface Save {
  readonly life: number
  readonly changes: ReadonlyArray<{
    readonly tag: string
    readonly units: ReadonlyArray<string>
  }>
}

const notesOf = ({ folder }: World): ReadonlyArray<Note> =>
  linesOf(join(folder, 'notes.log')) as unknown as ReadonlyArray<Note>

const savesOf = ({ folder }: World): ReadonlyArray<Save> =>
  linesOf(join(folder, 'saves.log')) as unknown as ReadonlyArray<Save>

type Answers = Readonly<
  Record<string, { readonly _tag: 'Again' } | { readonly _tag: 'Done'; readonly output: unknown }>
>

/** One process, until it ends or the moment arrives. */
const live = async (world: World, life: number, moment?: Moment, confirm?: Answers): Promise<Ended> => {
  const timed = moment !== undefined && 'effects' in moment ? moment : undefined
  const order = {
    world: world.folder,
    life,
    subSteps: SUB_STEPS,
    ...(timed === undefined ? { kill: moment } : { tellAt: timed.effects, hold: timed.hold }),
    confirm
  }
  const running = launch(process.execPath, [WORKER, JSON.stringify(order)])
  if (timed !== undefined) {
    await running.line('at', 'outcome')
    await sleep(timed.delay)
    running.signal('SIGKILL')
  }
  return await running.ended
}

/** The observation of one life. `recorded`: sub-steps recorded at its end; `open`: those in flight. */
interface Life {
  readonly life: number
  readonly killed: boolean
  readonly recorded: ReadonlySet<string>
  readonly open: ReadonlySet<string>
  readonly answers: Answers
}

/** Checks that every value that was returned to the code is recorded. */
const lookAfter = async (world: World, life: number, killed: boolean, answers: Answers): Promise<Life> => {
  const found = await kept(world)
  const state = found?.checkpoint.state
  const failures = state === undefined ? [] : CheckpointState.failures(state).records
  const recorded = new Set([...(found?.completed ?? []), ...failures.map(({ unit }) => unit)])
  const notes = notesOf(world)
  // The failures of sub-steps are not kept once their task has completed.
  const isOver = recorded.has('agent')
  const returned = new Set(notes.flatMap(({ what, unit }) => (what === 'returned' ? [unit] : [])))
  for (const unit of returned)
    assert.ok(recorded.has(unit) || (isOver && isBroken(unit)), `${unit} was returned, and is not recorded`)
  const began = notes.filter((note) => note.life === life && note.what === 'began')
  const open = new Set(began.flatMap(({ unit }) => (returned.has(unit) ? [] : [unit])))
  return { life, killed, recorded, open, answers }
}

/** Answers each question by whether the unit really took effect. */
const answersFor = (world: World, asked: ReadonlyArray<string>, outputs: ReadonlyMap<string, unknown>): Answers =>
  Object.fromEntries(
    asked.map((unit) => {
      assert.ok(isCareful(unit), `${unit} is idempotent, and was asked about`)
      const done = notesOf(world).some((note) => note.unit === unit && note.what === 'effect')
      return [unit, done ? { _tag: 'Done', output: outputs.get(unit) } : { _tag: 'Again' }]
    })
  )

interface Outlived {
  readonly report: Report
  readonly lives: ReadonlyArray<Life>
}

/** Runs lives until the run is completed; the n-th life that does anything dies at the n-th moment. */
const outlive = async (
  world: World,
  moments: ReadonlyArray<Moment>,
  outputs: ReadonlyMap<string, unknown>
): Promise<Outlived> => {
  const lives: Array<Life> = []
  let answers: Answers = {}
  for (let life = 1; life <= 3 * moments.length + 3; life++) {
    const moment = moments[lives.filter(({ killed }) => killed).length]
    const before = notesOf(world).length
    const ended = await live(world, life, moment, answers)
    const killed = ended.signal === 'SIGKILL'
    const seen = await lookAfter(world, life, killed, answers)
    lives.push(seen)
    answers = {}
    if (killed) continue
    const report = reportOf(ended)
    if (report.outcome === 'Completed') return { report, lives }
    assert.equal(report.error?._tag, 'Unconfirmed', JSON.stringify(report))
    assert.equal(notesOf(world).length, before, 'nothing runs while a question is open')
    answers = answersFor(world, report.asked ?? [], outputs)
    assert.ok(Object.keys(answers).length > 0)
  }
  return assert.fail('the run does not come to its end')
}

// ---------------------------------------------------------------------------------------------------------------------
// laws
// ---------------------------------------------------------------------------------------------------------------------

/** An undisturbed run. `calls`: the number of calls of each kind to the file system. */
interface Undisturbed {
  readonly report: Report
  readonly outputs: ReadonlyMap<string, unknown>
  readonly units: ReadonlyArray<string>
  readonly calls: ReadonlyMap<string, number>
}

const undisturbed = async (world: World): Promise<Undisturbed> => {
  const report = reportOf(await live(world, 1))
  assert.equal(report.outcome, 'Completed', JSON.stringify(report))
  const found = await kept(world)
  const outputs = new Map([...(found?.checkpoint.completedSteps ?? [])].map(({ unit, output }) => [unit, output]))
  const units = notesOf(world).flatMap(({ what, unit }) => (what === 'effect' ? [unit] : []))
  const calls = new Map<string, number>()
  for (const name of report.names ?? []) calls.set(name, (calls.get(name) ?? 0) + 1)
  return { report, outputs, units, calls }
}

const checkEffects = (world: World, lives: ReadonlyArray<Life>, units: ReadonlyArray<string>): void => {
  const notes = notesOf(world)
  const effects = notes.filter(({ what }) => what === 'effect')
  assert.deepEqual([...new Set(effects.map(({ unit }) => unit))].sort(), [...units].sort(), 'the same sub-steps')
  for (const unit of units) {
    const begun = notes.filter((note) => note.unit === unit && note.what === 'began').map(({ life }) => life)
    assert.equal(new Set(begun).size, begun.length, `${unit} ran twice in one process`)
    for (const { life, recorded } of lives)
      assert.ok(!recorded.has(unit) || Math.max(...begun) <= life, `${unit} ran again although it was recorded`)
    for (const one of begun.slice(0, -1)) {
      const first = lives.find(({ life }) => life === one)
      assert.ok(first?.killed, `${unit} ran again although no kill cut it short`)
      assert.ok(first.open.has(unit), `${unit} ran again and was not open at the kill`)
    }
    if (!isCareful(unit)) continue
    assert.equal(effects.filter((effect) => effect.unit === unit).length, 1, `${unit} is not idempotent and ran twice`)
    for (const again of begun.slice(1)) {
      const answer = lives.find(({ life }) => life === again)?.answers[unit]
      assert.equal(answer?._tag, 'Again', `${unit} is not idempotent and ran again by itself`)
    }
  }
}

const checkHistory = async (world: World): Promise<void> => {
  const revision = (await kept(world))?.stored.revision ?? -1
  const history = await jsonFileStorage(world.state).history('r')()
  const found = E.isRight(history) ? history.right.map((entry) => entry.revision) : assert.fail(JSON.stringify(history))
  const all = Array.from({ length: revision + 1 }, (_, index) => revision - index)
  assert.deepEqual(found, all.slice(0, found.length), 'every revision once, none missing')
}

interface Tally {
  kills: number
  repeated: number
  asked: number
}

const prove = async (usual: Undisturbed, moments: ReadonlyArray<Moment>, tally: Tally): Promise<void> => {
  await inWorld(`killed at ${JSON.stringify(moments)}`, async (world) => {
    const { report, lives } = await outlive(world, moments, usual.outputs)
    assert.deepEqual(report.outputs, usual.report.outputs, 'the output is that of an undisturbed run')
    checkEffects(world, lives, usual.units)
    await checkHistory(world)
    tally.kills += lives.filter(({ killed }) => killed).length
    tally.repeated += notesOf(world).filter(({ what }) => what === 'effect').length - SUB_STEPS
    tally.asked += lives.reduce((sum, { answers }) => sum + Object.keys(answers).length, 0)
  })
}

/** Calls of a save, for which a death before, during and after differ. */
const SAVING = ['writeSync', 'fdatasync'] as const

/** A moment to kill a life of this many sub-steps: at random, or at a call of a save. */
const momentIn = (chance: Chance, subSteps: number): Moment => {
  if (chance.below(2) === 0) return { effects: 1 + chance.below(subSteps), delay: chance.below(4) }
  const of = chance.oneOf(SAVING)
  const when = chance.oneOf(
    of === 'fdatasync' ? (['before', 'during', 'after'] as const) : (['before', 'torn', 'after'] as const)
  )
  return {
    at: 3 + chance.below(Math.ceil(subSteps * 1.25)),
    of,
    when,
    ...(when === 'during' ? { delay: 0 } : {})
  }
}

describe('a task with 200 dynamic sub-steps', () => {
  let usual: Undisturbed
  const tally: Tally = { kills: 0, repeated: 0, asked: 0 }

  beforeAll(async () => {
    console.log(`sub-steps: seed ${seed}`)
    usual = await inWorld('undisturbed', undisturbed)
    assert.equal(usual.units.length, SUB_STEPS)
    assert.equal(new Set(usual.units).size, SUB_STEPS)
    for (const kind of [isCareful, isBroken]) assert.ok(usual.units.some(kind), 'the model finds work of each kind')
  })

  test('an idempotent sub-step costs one revision, any other sub-step two revisions, and each save one fdatasync', async () => {
    await inWorld('undisturbed', async (world) => {
      const { units, calls } = await undisturbed(world)
      const saves = savesOf(world)
      const changes = saves.flatMap((save) => save.changes)
      for (const unit of units) {
        const tags = changes.flatMap((change) => (change.units.includes(unit) ? [change.tag] : []))
        const end = isBroken(unit) ? 'UnitFailed' : 'UnitCompleted'
        assert.deepEqual(tags, isCareful(unit) ? ['AttemptStarted', end] : [end], unit)
      }
      const revisions = units.length + units.filter(isCareful).length
      // The run, and the start and the end of the task and of the step after it.
      assert.equal(changes.length, revisions + 5)
      const fsyncs = (calls.get('fdatasync') ?? 0) - saves.length
      assert.ok(fsyncs >= 0 && fsyncs <= 3, `${fsyncs} fdatasyncs are not those of saves`)
    })
  })

  test('a run killed repeatedly repeats only sub-steps in flight, and asks first if such a sub-step is not idempotent', async () => {
    const chance = chanceOf(90)
    // Lives of about ten sub-steps in a sweep; each call is counted from the start of its life.
    const moments = Array.from({ length: MOMENTS }, () => momentIn(chance, (1.6 * SUB_STEPS) / MOMENTS))
    await prove(usual, moments, tally)
  })

  test('a run killed once anywhere repeats only sub-steps in flight, and asks first if such a sub-step is not idempotent', async () => {
    const chance = chanceOf(91)
    const cases = Array.from({ length: MOMENTS }, () => [momentIn(chance, SUB_STEPS)])
    await eachOf(cases, (moments) => prove(usual, moments, tally))
  })

  test('a run killed during parallel sub-steps never repeats a non-idempotent one without an answer', async () => {
    const chance = chanceOf(92)
    const careful = usual.units.flatMap((unit, index) => (isCareful(unit) ? [index] : []))
    const places = chance.sample(careful, MOMENTS)
    const askedBefore = tally.asked
    await eachOf(places, (index) => prove(usual, [{ effects: index + 1, delay: chance.below(2), hold: true }], tally))
    console.log(
      `sub-steps: ${tally.kills} kills; ${tally.repeated} effects repeated, ${tally.asked} questions asked, none else`
    )
    assert.ok(tally.kills >= 2 * MOMENTS && tally.asked >= askedBefore + places.length)
  })
})

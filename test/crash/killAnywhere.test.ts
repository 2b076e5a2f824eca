/** A run may be killed anywhere, repeatedly. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import * as E from 'fp-ts/lib/Either.js'
import { beforeAll, describe, test } from 'vitest'
import { jsonFileStorage } from '../../src/adapters/json-file/index.js'
import { CheckpointState } from '../../src/index.js'
import type { Kept, Kill, Order, Report, World } from './world.js'
import { chanceOf, eachOf, inWorld, kept, perform, reportOf, seed, sweep } from './world.js'

const CAREFUL = new Set(['publish', 'deploy', 'checks/notify'])

type Size = NonNullable<Order['size']>

const SMALL: Size = {}

/** Writes more than a mebibyte, most of it errors that a completed step drops, so that the journal is compacted. */
const LARGE: Size = { failures: 17, errorBytes: 19_000, bytes: 70_000 }

/** Calls that change something or make it durable, after which a death differs from one before the next call. */
const CHANGING =
  /^(mkdir|fsyncFolder|open|write|writeSync|ftruncateSync|fdatasync|link|renameSync|unlinkSync|removeTree|replace)$/

/** Every place where a process that makes these calls can die. */
const placesIn = (names: ReadonlyArray<string>): ReadonlyArray<Kill> =>
  names.flatMap((name, index) => {
    const at = index + 1
    const ways: Array<Kill> = [{ at, when: 'before' }]
    if (CHANGING.test(name)) ways.push({ at, when: 'after' })
    if (name === 'write' || name === 'writeSync' || name === 'removeTree') ways.push({ at, when: 'torn' })
    if (name === 'replace' || name === 'fdatasync' || name === 'removeTree') {
      ways.push({ at, when: 'during', delay: 0 }, { at, when: 'during', delay: 1 })
    }
    if (name === 'replace') ways.push({ at, when: 'during', delay: 3 }, { at, when: 'during', delay: 6 })
    return ways
  })

/** The observation of one life of a run. */
interface Life {
  readonly life: number
  readonly killed: boolean
  readonly inFlight: ReadonlySet<string>
}

/** Checks that everything acknowledged is stored. */
const lookAfter = async (world: World): Promise<Kept | undefined> => {
  const found = await kept(world)
  const acks = world.acks()
  for (const ack of acks) {
    assert.ok(found !== undefined, 'something was acknowledged, and nothing is stored')
    assert.ok(found.stored.revision >= ack.revision, `revision ${ack.revision} was acknowledged and is lost`)
    for (const unit of ack.completed) assert.ok(found.completed.has(unit), `${unit} was acknowledged and is lost`)
  }
  return found
}

/** Answers each question by whether the unit really took effect. */
const answersFor = (world: World, asked: ReadonlyArray<string>, outputs: ReadonlyMap<string, unknown>) =>
  Object.fromEntries(
    asked.map((unit) => {
      assert.ok(CAREFUL.has(unit), `${unit} is idempotent, and was asked about`)
      const done = world.effects().some((effect) => effect.unit === unit)
      return [unit, done ? { _tag: 'Done', output: outputs.get(unit) } : { _tag: 'Again' }]
    })
  )

/** Runs lives until the run is completed; the n-th life dies at the n-th kill. */
const outlive = async (
  world: World,
  kills: ReadonlyArray<Kill>,
  size: Size,
  outputs: ReadonlyMap<string, unknown>,
  store: Readonly<Record<string, unknown>>
): Promise<{ readonly report: Report; readonly lives: ReadonlyArray<Life> }> => {
  const lives: Array<Life> = []
  let confirm: Readonly<Record<string, unknown>> | undefined
  for (let life = 1; life <= 12; life++) {
    const kill = kills[lives.filter(({ killed }) => killed).length]
    const effectsBefore = world.effects().length
    const ended = await perform(world, {
      op: 'runOrResume',
      life,
      size,
      store,
      ...(kill === undefined ? {} : { kill }),
      ...(confirm === undefined ? {} : { confirm })
    })
    confirm = undefined
    const found = await lookAfter(world)
    const killed = ended.signal === 'SIGKILL'
    const inFlight = found === undefined ? [] : CheckpointState.inFlight(found.checkpoint.state).records
    lives.push({
      life,
      killed,
      inFlight: new Set(inFlight.map(({ unit }) => unit))
    })
    if (killed) continue
    const report = reportOf(ended)
    if (report.outcome === 'Completed') return { report, lives }
    assert.equal(report.error?._tag, 'Unconfirmed', JSON.stringify(report))
    assert.equal(world.effects().length, effectsBefore, 'nothing runs while a question is open')
    const asked = report.asked ?? []
    assert.ok(asked.length > 0)
    for (const unit of asked)
      assert.ok(lives.at(-1)?.inFlight.has(unit), `${unit} was asked about and is not in flight`)
    confirm = answersFor(world, asked, outputs)
  }
  return assert.fail('the run does not come to its end')
}

const checkEffects = (world: World, lives: ReadonlyArray<Life>, units: ReadonlyArray<string>): void => {
  const effects = world.effects()
  const acks = world.acks()
  for (const unit of units) {
    const of = effects.filter((effect) => effect.unit === unit)
    assert.ok(of.length > 0, `${unit} is recorded as done and never ran`)
    assert.equal(new Set(of.map(({ life }) => life)).size, of.length, `${unit} ran twice in one process`)
    for (const { life } of of) {
      const acked = acks.find((ack) => ack.completed.includes(unit))
      assert.ok(acked === undefined || acked.life >= life, `${unit} ran again after it was acknowledged`)
    }
    for (const { life } of of.slice(0, -1)) {
      const first = lives.find((one) => one.life === life)
      assert.ok(first?.killed, `${unit} ran again although no kill cut it short`)
      assert.ok(first.inFlight.has(unit), `${unit} ran again and was not recorded as in flight`)
    }
    if (CAREFUL.has(unit)) assert.equal(of.length, 1, `${unit} is not idempotent and had its effect ${of.length} times`)
  }
}

const checkHistory = async (world: World, revision: number): Promise<void> => {
  const history = await jsonFileStorage(world.state).history('r')()
  const found = E.isRight(history) ? history.right.map((entry) => entry.revision) : assert.fail(JSON.stringify(history))
  assert.deepEqual(
    found,
    Array.from({ length: revision + 1 }, (_, index) => revision - index),
    'every revision once, none missing'
  )
}

/** An undisturbed run: its end, the places for a kill, and the delicate ones. */
interface Undisturbed {
  readonly report: Report
  readonly outputs: ReadonlyMap<string, unknown>
  readonly places: ReadonlyArray<Kill>
  readonly delicate: ReadonlyArray<Kill>
}

const undisturbed = async (size: Size): Promise<Undisturbed> =>
  await inWorld('undisturbed', async (world) => {
    const report = reportOf(await perform(world, { op: 'run', names: true, size }))
    assert.equal(report.outcome, 'Completed', JSON.stringify(report.failures))
    const places = placesIn(report.names ?? [])
    const careful = world.effects().filter(({ unit }) => CAREFUL.has(unit))
    const delicate = places.filter(
      ({ at, when }) => when !== 'during' && careful.some(({ calls }) => at > calls - 5 && at <= calls + 3)
    )
    const found = await kept(world)
    const outputs = new Map<string, unknown>()
    for (const { unit, output } of found?.checkpoint.completedSteps ?? []) outputs.set(unit, output)
    const effects = world.effects().length
    assert.equal(reportOf(await perform(world, { op: 'resume', size })).outcome, 'Completed')
    assert.equal(world.effects().length, effects, 'a completed run runs nothing')
    return { report, outputs, places, delicate }
  })

const prove = async (usual: Undisturbed, size: Size, kills: ReadonlyArray<Kill>, keep = 10): Promise<void> => {
  const what = `${size === LARGE ? 'large' : 'small'}, killed at ${JSON.stringify(kills)}, ${keep} journals kept`
  await inWorld(what, async (world) => {
    const { report, lives } = await outlive(world, kills, size, usual.outputs, { keep })
    assert.deepEqual(report.outputs, usual.report.outputs, 'the outputs are those of an undisturbed run')
    assert.deepEqual(report.variables, usual.report.variables, 'the variables are those of an undisturbed run')
    const units = Object.keys(report.outputs ?? {}).filter((unit) => unit !== 'checks')
    checkEffects(world, lives, units)
    if (keep === 10) await checkHistory(world, report.revision ?? -1)
  })
}

describe('a run that is killed anywhere', () => {
  let small: Undisturbed
  let large: Undisturbed

  beforeAll(async () => {
    console.log(`kill anywhere: seed ${seed}`)
    small = await undisturbed(SMALL)
    large = await undisturbed(LARGE)
    assert.ok(large.report.names?.filter((name) => name === 'link').length === 2, 'the large one compacts its journal')
  })

  test('a run killed anywhere neither repeats nor loses an acknowledged step, and ends like an undisturbed one', async () => {
    const chance = chanceOf(1)
    const cases = sweep ? small.places : [...chance.sample(small.places, 4), ...chance.sample(small.delicate, 3)]
    await eachOf(cases, (kill) => prove(small, SMALL, [kill]))
  })

  test('a run with compactions killed anywhere neither repeats nor loses an acknowledged step', async () => {
    const { names = [] } = large.report
    const near = large.places.filter(
      ({ at }) => at > names.lastIndexOf('link') - 12 && at < names.lastIndexOf('link') + 18
    )
    await eachOf(sweep ? [...near, ...near] : chanceOf(4).sample(near, 3), (kill) => prove(large, LARGE, [kill]))
  })

  test('a run whose resumes are killed too neither repeats nor loses an acknowledged step', async () => {
    const chance = chanceOf(2)
    const cases = Array.from({ length: sweep ? 300 : 3 }, () =>
      Array.from({ length: 2 + chance.below(2) }, (_, nth) => {
        const kill = chance.oneOf(small.places)
        // A resume makes fewer calls, most of them at its beginning.
        return nth === 0 ? kill : { ...kill, at: 1 + chance.below(chance.oneOf([60, 120, small.places.length / 2])) }
      })
    )
    await eachOf(cases, (kills, index) => prove(small, SMALL, kills, index % 2 === 0 ? 10 : 1))
  })
})

describe('the removal of a run that is killed anywhere', () => {
  const small = { program: 'rerunnable' } as const

  test('a removal killed anywhere leaves the whole run or nothing of it, and a reused id starts empty', async () => {
    const names = await inWorld('undisturbed', async (world) => {
      await perform(world, { ...small, op: 'run' })
      return reportOf(await perform(world, { ...small, op: 'remove', names: true })).names ?? []
    })
    const places = placesIn(names)
    const removing = places.filter(
      ({ at, when }) => /^(renameSync|removeTree)$/.test(names[at - 1] ?? '') && when !== 'during'
    )
    const chance = chanceOf(3)
    await eachOf(sweep ? places : [...chance.sample(removing, 2), ...chance.sample(places, 1)], async (kill) => {
      await inWorld(`killed at ${JSON.stringify(kill)}`, async (world) => {
        const first = reportOf(await perform(world, { ...small, op: 'run', life: 1 }))
        await perform(world, { ...small, op: 'remove', kill })
        const found = await kept(world)
        assert.ok(found === undefined || found.stored.revision === first.revision, 'half a run is left')
        if (found !== undefined) {
          const resumed = reportOf(await perform(world, { ...small, op: 'resume', life: 2 }))
          assert.deepEqual(resumed.outputs, first.outputs)
          assert.equal(reportOf(await perform(world, { ...small, op: 'remove' })).outcome, 'Removed')
        }
        assert.equal(await kept(world), undefined)
        const again = reportOf(await perform(world, { ...small, op: 'run', life: 3 }))
        assert.equal(again.outcome, 'Completed', JSON.stringify(again))
        const effects = world.effects()
        assert.equal(effects.filter(({ life }) => life === 2).length, 0)
        assert.equal(effects.filter(({ life }) => life === 3).length, effects.filter(({ life }) => life === 1).length)
        assert.equal(reportOf(await perform(world, { ...small, op: 'remove' })).outcome, 'Removed')
        assert.deepEqual(readdirSync(world.state), ['runs'], 'nothing of a removed run is left')
      })
    })
  })
})

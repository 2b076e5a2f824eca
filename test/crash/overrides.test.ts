/** An override stays in force after the process that received it was killed. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Kill, Order, World } from './world.js'
import { chanceOf, eachOf, inWorld, kept, perform, reportOf, seed, sweep } from './world.js'

const UNITS = ['one', 'two', 'three', 'four/left', 'four/right', 'four/both', 'five', 'six', 'seven', 'eight', 'nine']

/** A run that the first version of the program completed. */
const completed = async (world: World): Promise<void> => {
  const done = reportOf(await perform(world, { op: 'run', life: 1, program: 'rerunnable', version: 1 }))
  assert.equal(done.outcome, 'Completed')
}

/** The version of the program that produced each record. */
const versionsOf = async (world: World): Promise<ReadonlyMap<string, number>> => {
  const found = await kept(world)
  const records = [...(found?.checkpoint.completedSteps ?? [])]
  return new Map(
    records
      .filter(({ unit }) => unit !== 'four')
      .map(({ unit, output }) => [unit, (output as { readonly version: number }).version])
  )
}

/** The calls of a resume with an override. */
const callsOf = async (order: Order): Promise<number> =>
  await inWorld('counting', async (world) => {
    await completed(world)
    const undisturbed = reportOf(await perform(world, { ...order, life: 2, version: 2 }))
    assert.equal(undisturbed.outcome, 'Completed', JSON.stringify(undisturbed))
    return undisturbed.calls
  })

const prove = async (order: Order, forced: ReadonlyArray<string>, kill: Kill): Promise<void> => {
  await inWorld(`${JSON.stringify(order.plan)}, killed at ${JSON.stringify(kill)}`, async (world) => {
    await completed(world)
    const killed = await perform(world, { ...order, life: 2, version: 2, kill })
    const found = await kept(world)
    const isDurable = (found?.checkpoint.generation ?? 0) > 0
    const began = world.effects().some(({ life }) => life === 2)
    assert.ok(isDurable || !began, 'an effect came before the override was durable')
    if (killed.signal !== 'SIGKILL') assert.equal(reportOf(killed).outcome, 'Completed')
    if (isDurable) {
      for (const unit of found?.completed ?? []) {
        const again = world.effects().some((effect) => effect.unit === unit && effect.life === 2)
        assert.ok(unit === 'four' || again || !forced.includes(unit), `${unit} still counts, as it was before`)
      }
    }
    const after = reportOf(await perform(world, { op: 'resume', program: 'rerunnable', life: 3, version: 2 }))
    assert.equal(after.outcome, 'Completed', JSON.stringify(after))
    const versions = await versionsOf(world)
    for (const unit of UNITS) {
      const version = isDurable && forced.includes(unit) ? 2 : 1
      assert.equal(versions.get(unit), version, `${unit} is of version ${versions.get(unit)}`)
      const ran = world.effects().filter((effect) => effect.unit === unit && effect.life > 1).length
      assert.ok(version === 1 ? ran === 0 : ran === 1 || ran === 2, `${unit} ran ${ran} times`)
    }
  })
}

const killsOf = (calls: number, salt: number): ReadonlyArray<Kill> => {
  const all = Array.from({ length: calls }, (_, index): ReadonlyArray<Kill> => [
    { at: index + 1, when: 'before' },
    { at: index + 1, when: 'after' },
    { at: index + 1, when: 'torn' }
  ]).flat()
  return sweep ? all : chanceOf(salt).sample(all, 2)
}

describe('killed resumes with overrides', () => {
  const laws: ReadonlyArray<readonly [string, Order['plan'] & object, string]> = [
    ['everything, from the first step on', { fromStep: 'one' }, 'one'],
    ['from a step in the middle on', { fromStep: 'six' }, 'six'],
    ['a wave, and what follows it', { restartWave: 'four' }, 'four/left']
  ]
  for (const [index, [what, plan, first]] of laws.entries()) {
    test(`a plain resume keeps the override of a killed resume: ${what}`, async () => {
      if (index === 0) console.log(`overrides: seed ${seed}`)
      const order: Order = { op: 'resume', program: 'rerunnable', plan }
      const calls = await callsOf(order)
      await eachOf(killsOf(calls, 10 + index), (kill) => prove(order, UNITS.slice(UNITS.indexOf(first)), kill))
    })
  }

  test('a step confirmed to run again raises a second question only if it may have taken effect again', async () => {
    const again = { confirm: { pay: { _tag: 'Again' } } }
    const inDoubt = async (world: World): Promise<void> => {
      // The step takes effect, then the process dies before it can record that.
      const order: Order = { op: 'run', program: 'careful', life: 1 }
      await perform(world, { ...order, kill: { at: 3, of: 'writeSync', when: 'before' } })
      assert.deepEqual(
        world.effects().map(({ unit }) => unit),
        ['before', 'pay']
      )
    }
    const calls = await inWorld('counting', async (world) => {
      await inDoubt(world)
      const ended = reportOf(await perform(world, { op: 'resume', program: 'careful', life: 2, ...again }))
      assert.equal(ended.outcome, 'Completed')
      return ended.calls
    })
    await eachOf(killsOf(calls, 13), async (kill) => {
      await inWorld(`again, killed at ${JSON.stringify(kill)}`, async (world) => {
        await inDoubt(world)
        await perform(world, { op: 'resume', program: 'careful', life: 2, ...again, kill })
        const paid = (): number => world.effects().filter(({ unit }) => unit === 'pay').length
        const before = paid()
        assert.ok(before <= 2)
        const found = await kept(world)
        const plain = reportOf(await perform(world, { op: 'resume', program: 'careful', life: 3 }))
        if (found?.completed.has('pay')) {
          assert.equal(plain.outcome, 'Completed')
          assert.equal(paid(), before)
        } else if (plain.outcome === 'Completed') {
          assert.equal(paid(), 2, 'it was said to be done again, and nothing of it had begun')
        } else {
          assert.deepEqual(plain.asked, ['pay'])
          assert.equal(paid(), before, 'nothing is done twice unasked')
          const last = reportOf(await perform(world, { op: 'resume', program: 'careful', life: 4, ...again }))
          assert.equal(last.outcome, 'Completed')
          assert.equal(paid(), before + 1)
        }
      })
    })
  })
})

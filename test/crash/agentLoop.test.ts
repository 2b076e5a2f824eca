/** An agent of 200 turns with parallel tool calls may be killed at 20 moments. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'vitest'
import type { World } from './world.js'
import { chanceOf, inWorld, kept, launch, linesOf, reportOf, seed, workerFile } from './world.js'

const WORKER = workerFile('turns')
const TURNS = 200
const KILLS = 20

interface Note {
  readonly life: number
  readonly what: 'began' | 'effect' | 'returned'
  readonly unit: string
}

/** The process dies `delay` ms after the n-th effect of its life. */
interface Death {
  readonly effects: number
  readonly delay: number
}

const notesOf = ({ folder }: World): ReadonlyArray<Note> =>
  linesOf(join(folder, 'notes.log')) as unknown as ReadonlyArray<Note>

const unitsOf = (notes: ReadonlyArray<Note>, what: Note['what']): ReadonlyArray<string> =>
  notes.flatMap((note) => (note.what === what ? [note.unit] : []))

const live = async (world: World, life: number, die?: Death) => {
  const order = JSON.stringify({ world: world.folder, life, turns: TURNS, die })
  const ended = await launch(process.execPath, [WORKER, order]).ended
  const recorded = (await kept(world))?.completed ?? new Set<string>()
  const returned = unitsOf(notesOf(world), 'returned')
  for (const unit of returned) assert.ok(recorded.has(unit), `${unit} was returned and is not recorded`)
  return { ended, recorded }
}

/** A life that a kill ended: what it recorded, and what it started without a record. */
interface Life {
  readonly recorded: ReadonlySet<string>
  readonly open: ReadonlySet<string>
}

const checkEffects = (notes: ReadonlyArray<Note>, lives: ReadonlyArray<Life>, units: ReadonlySet<string>): void => {
  const effects = unitsOf(notes, 'effect')
  assert.deepEqual(new Set(effects), units, 'the same sub-steps')
  const begun = unitsOf(notes, 'began')
  for (const unit of units) {
    const cut = lives.filter(({ open }) => open.has(unit)).length
    assert.equal(begun.filter((one) => one === unit).length, 1 + cut, `${unit} runs again only if a kill cut it short`)
  }
  for (const [index, { recorded }] of lives.entries())
    for (const { unit, life } of notes)
      assert.ok(
        life <= index + 1 || !recorded.has(unit),
        `${unit} was recorded in life ${index + 1} and ran in ${life}`
      )
}

test('an agent of 200 turns killed at 20 moments has each effect once, except those in flight at a kill', async () => {
  const usual = await inWorld('undisturbed', async (world) => {
    const { ended } = await live(world, 1)
    assert.equal(reportOf(ended).outcome, 'Completed', JSON.stringify(ended.lines))
    const effects = unitsOf(notesOf(world), 'effect')
    assert.equal(effects.filter((unit) => unit.startsWith('agent/turn')).length, TURNS)
    assert.ok(effects.length > 1.5 * TURNS && new Set(effects).size === effects.length)
    return { outputs: reportOf(ended).outputs, units: new Set(effects) }
  })
  const chance = chanceOf(120)
  await inWorld('killed', async (world) => {
    const lives: Array<Life> = []
    for (let kill = 0; kill < KILLS; kill++) {
      // One moment in each part of the run, the last one some turns before its end.
      const target = Math.floor(((kill + chance.below(100) / 100) * 0.97 * usual.units.size) / KILLS)
      const done = new Set(unitsOf(notesOf(world), 'effect')).size
      const die = { effects: Math.max(1, target - done), delay: kill % 4 }
      const { ended, recorded } = await live(world, kill + 1, die)
      assert.equal(ended.signal, 'SIGKILL', JSON.stringify(ended.lines))
      const begun = unitsOf(
        notesOf(world).filter(({ life }) => life === kill + 1),
        'began'
      )
      lives.push({ recorded, open: new Set(begun.filter((unit) => !recorded.has(unit))) })
    }
    const { ended } = await live(world, KILLS + 1)
    const report = reportOf(ended)
    assert.equal(report.outcome, 'Completed', JSON.stringify(ended.lines))
    assert.deepEqual(report.outputs, usual.outputs, 'the answer is that of an undisturbed run')
    const notes = notesOf(world)
    checkEffects(notes, lives, usual.units)
    const repeated = unitsOf(notes, 'effect').length - usual.units.size
    console.log(`agent: seed ${seed}, ${usual.units.size} effects, ${KILLS} kills, ${repeated} effects repeated`)
    assert.ok(repeated > 0, 'some kill came between an effect and its record')
  })
})

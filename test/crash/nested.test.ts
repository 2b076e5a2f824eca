/** The nightly import, a workflow file and a program with steps on three levels, may be killed at any write to its store. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, test } from 'vitest'
import { CheckpointState } from '../../src/index.js'
import { bundled } from '../bundled.js'
import { main } from '../cli/dogear.js'
import type { Ended, Kept, World } from './world.js'
import { chanceOf, eachOf, inWorld, kept, launch, linesOf, seed, sweep } from './world.js'

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url))
const HOOK = fileURLToPath(new URL('workers/killAtCall.cjs', import.meta.url))
const ID = 'nightly-2026-01-31'

/** The tasks of each item in order. */
const SHOPS = ['import/orders/shops/berlin', 'import/orders/shops/paris']
const PARTS = ['fetch', 'checks/rows', 'checks/sum', 'load']
const REST = ['folder', 'import/orders/list', 'import/prices/fetch', 'import/prices/load', 'report']
const TASKS = [...SHOPS.flatMap((shop) => PARTS.map((part) => `${shop}/${part}`)), ...REST]

/** At the n-th call that changes the store, or at the sync after a matching write. */
type Moment = ({ readonly at: number } | { readonly saving: string }) & {
  readonly when: 'before' | 'torn' | 'during' | 'after'
  readonly delay?: number
}

/** A form of the example: the words that start or resume it, and the files that it leaves. */
interface Form {
  readonly name: string
  readonly words: (found: Kept | undefined) => ReadonlyArray<string>
  readonly files: ReadonlyArray<string>
}

const FORMS: ReadonlyArray<Form> = [
  {
    name: 'nightly.yml',
    words: (found) => [
      main,
      ...(found === undefined ? ['run', join(EXAMPLES, 'nightly.yml'), '--id', ID] : ['resume', ID])
    ],
    files: ['report.txt', 'prices.loaded', 'berlin.loaded', 'paris.loaded']
  },
  {
    name: 'nightly.ts',
    words: () => [bundled(join(EXAMPLES, 'nightly.ts'))],
    files: ['report.txt', 'prices.json', 'berlin.json', 'paris.json']
  }
]

// ---------------------------------------------------------------------------------------------------------------------
// lives
// ---------------------------------------------------------------------------------------------------------------------

/** How often each task started. */
const startsIn = ({ folder }: World): ReadonlyMap<string, number> => {
  const log = join(folder, 'nightly/log.txt')
  const counts = new Map<string, number>()
  if (!existsSync(log)) return counts
  for (const unit of readFileSync(log, 'utf8').split('\n').slice(0, -1)) counts.set(unit, (counts.get(unit) ?? 0) + 1)
  return counts
}

/** What a kill left: recorded as completed, recorded as in flight, and started. */
interface Left {
  readonly completed: ReadonlySet<string>
  readonly inFlight: ReadonlySet<string>
  readonly starts: ReadonlyMap<string, number>
}

const live = async (world: World, form: Form, found: Kept | undefined, kill: Moment | undefined): Promise<Ended> => {
  const log = join(world.folder, kill === undefined ? 'calls.log' : 'kills.log')
  const environment = Object.entries(process.env).filter(([name]) => !/^(DOGEAR_|NODE_|VITEST)/.test(name))
  return await launch(process.execPath, ['--require', HOOK, ...form.words(found)], {
    cwd: world.folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...Object.fromEntries(environment),
      DOGEAR_HOME: world.state,
      TEST_KILL: JSON.stringify({ state: world.state, kill, log })
    }
  }).ended
}

const lookAfter = async (world: World): Promise<readonly [Kept | undefined, Left]> => {
  const found = await kept(world, ID)
  const inFlight = found === undefined ? [] : CheckpointState.inFlight(found.checkpoint.state).records
  return [
    found,
    {
      completed: found?.completed ?? new Set(),
      inFlight: new Set(inFlight.map(({ unit }) => unit)),
      starts: startsIn(world)
    }
  ]
}

/** The result of a completed run: its state, its records without times, and the files. */
const resultOf = ({ folder }: World, { files }: Form, { checkpoint }: Kept): unknown => ({
  state: checkpoint.state,
  variables: [...checkpoint.variables].sort(([one], [other]) => (one < other ? -1 : 1)),
  records: Object.fromEntries(
    [...checkpoint.completedSteps].map(({ unit, output, captured, fingerprint }) => [
      unit,
      { output, captured, fingerprint }
    ])
  ),
  files: files.map((file) => readFileSync(join(folder, 'nightly', file), 'utf8'))
})

/** Starts the example until it completes; the n-th life dies at the n-th moment. */
const outlive = async (world: World, form: Form, moments: ReadonlyArray<Moment>) => {
  const kills: Array<Left> = []
  let found: Kept | undefined
  for (let life = 0; life <= moments.length; life++) {
    const ended = await live(world, form, found, moments[life])
    const [stored, left] = await lookAfter(world)
    found = stored
    if (ended.signal === 'SIGKILL') {
      kills.push(left)
      continue
    }
    assert.equal(ended.code, 0, ended.stderr)
    assert.ok(stored?.checkpoint.state._tag === 'Completed')
    return { kills, result: resultOf(world, form, stored), starts: left.starts }
  }
  return assert.fail('the run does not complete')
}

// ---------------------------------------------------------------------------------------------------------------------
// laws
// ---------------------------------------------------------------------------------------------------------------------

const checkStarts = (kills: ReadonlyArray<Left>, starts: ReadonlyMap<string, number>): void => {
  assert.deepEqual([...starts.keys()].sort(), [...TASKS].sort(), 'each task had its effect')
  for (const [unit, count] of starts) {
    const cut = kills.filter(({ inFlight }) => inFlight.has(unit)).length
    assert.ok(count <= 1 + cut, `${unit} ran ${count} times and was in flight at ${cut} kills`)
    for (const { completed, starts } of kills)
      if (completed.has(unit)) assert.equal(count, starts.get(unit), `${unit} was recorded and ran again`)
  }
}

/** True if the first kill fell between two steps of an item: one is recorded, and no other had started. */
const isBetween = ([first, ...later]: ReadonlyArray<Left>, starts: ReadonlyMap<string, number>): boolean =>
  first !== undefined &&
  later.length === 0 &&
  SHOPS.some((shop) => {
    const open = PARTS.map((part) => `${shop}/${part}`).filter((unit) => !first.completed.has(unit))
    // A task that had started when the process died starts again, so the log has it twice.
    return open.length > 0 && open.length < PARTS.length && open.every((unit) => starts.get(unit) === 1)
  })

const tally = { kills: 0, between: 0, repeated: 0 }

const prove = async (form: Form, usual: unknown, moments: ReadonlyArray<Moment>): Promise<boolean> =>
  await inWorld(`${form.name}, killed at ${JSON.stringify(moments)}`, async (world) => {
    const { kills, result, starts } = await outlive(world, form, moments)
    checkStarts(kills, starts)
    assert.deepEqual(result, usual, 'the records and files are those of an undisturbed run')
    const between = isBetween(kills, starts)
    tally.kills += kills.length
    tally.between += between ? 1 : 0
    for (const count of starts.values()) tally.repeated += count - 1
    return between
  })

/** Every place where a process that makes these calls can die. */
const placesIn = (calls: ReadonlyArray<string>): ReadonlyArray<Moment> =>
  calls.flatMap((name, index) => {
    const at = index + 1
    const places: Array<Moment> = [
      { at, when: 'before' },
      { at, when: 'after' }
    ]
    if (name === 'write' || name === 'writeSync') places.push({ at, when: 'torn' })
    if (name === 'fdatasync' || name === 'rename')
      places.push({ at, when: 'during', delay: 0 }, { at, when: 'during', delay: 1 })
    return places
  })

describe.each(FORMS)('the example $name', (form) => {
  let usual: unknown
  let places: ReadonlyArray<Moment> = []
  const chance = chanceOf(FORMS.indexOf(form) + 110)

  beforeAll(async () => {
    console.log(`${form.name}: seed ${seed}`)
    await inWorld('undisturbed', async (world) => {
      const { result, starts } = await outlive(world, form, [])
      checkStarts([], starts)
      usual = result
      places = placesIn(linesOf(join(world.folder, 'calls.log')) as ReadonlyArray<string>)
    })
    assert.ok(places.length > 60, `${places.length} places`)
  })

  test('an example killed at any write to its store resumes, repeats no completed step and ends like an undisturbed run', async () => {
    const before = { ...tally }
    const cases = sweep ? places : chance.sample(places, 4)
    await eachOf(cases, async (moment) => void (await prove(form, usual, [moment])))
    const [kills, between, repeated] = (['kills', 'between', 'repeated'] as const).map(
      (key) => tally[key] - before[key]
    )
    console.log(
      `${form.name}: ${places.length} places, ${kills} kills, ${between} between two steps of an item, ${repeated} effects repeated`
    )
    assert.ok((kills ?? 0) > cases.length / 2, `${kills} kills`)
    if (sweep) assert.ok((between ?? 0) > 0)
  })

  test.each(sweep ? SHOPS : [chance.oneOf(SHOPS)])(
    'an example killed between two steps of %s resumes with the second one',
    async (shop) => {
      for (const part of ['fetch', 'checks'])
        for (const when of ['before', 'after'] as const) {
          const saving = `"UnitCompleted"[^{]*"unit":"${shop}/${part}"`
          assert.ok(await prove(form, usual, [{ saving, when }]), `${part}, ${when} the sync`)
        }
    }
  )

  test('an example killed repeatedly resumes and repeats no completed step', async () => {
    await eachOf(Array.from({ length: sweep ? 20 : 1 }), async () => {
      const when = (): 'before' | 'after' => chance.oneOf(['before', 'after'])
      const later = [0, 1].map((): Moment => ({ at: 1 + chance.below(60), when: when() }))
      await prove(form, usual, [chance.oneOf(places), ...later])
    })
  })
})

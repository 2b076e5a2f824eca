/** Moves between real stores: what each copy has, and what a kill leaves. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { describe, test } from 'vitest'
import { nodeEnvironment } from '../../src/adapters/node/index.js'
import { move } from '../../src/hosts/move.js'
import { resume, runOutcome, viewRun, workflow } from '../../src/promise/index.js'
import { newDatabase } from '../cli/database.js'
import type { Store } from './stores.js'
import { openStore } from './stores.js'
import { chanceOf, eachOf, inWorld, launch, sweep, untilTestEnds, workerFile } from './world.js'

const LARGE = randomBytes(300_000)

const ARTIFACTS: Readonly<Record<string, Uint8Array>> = {
  'reports/unit.txt': Buffer.from('12 passed'),
  empty: new Uint8Array(),
  large: LARGE
}

/** Puts artifacts, and then waits for an answer. */
const program = workflow('w')
  .step('make', async ({ artifacts }) => {
    for (const [id, bytes] of Object.entries(ARTIFACTS)) await artifacts.put(id, bytes)
    return 'made'
  })
  .waitFor('approve')
  .step('use', async ({ artifacts }) => Buffer.from((await artifacts.get('large')) ?? []).equals(LARGE))

const withStores = async <A>(
  locations: ReadonlyArray<string>,
  act: (...stores: ReadonlyArray<Store>) => Promise<A>
): Promise<A> => {
  const stores = await Promise.all(locations.map(openStore))
  try {
    return await act(...stores)
  } finally {
    for (const { close } of stores) await close()
  }
}

const environmentOf = ({ storage, ...ports }: Store) => nodeEnvironment(storage, ports)

const optionsOf = ({ storage, artifacts, requests }: Store) => ({
  id: 'r',
  storage,
  environment: { artifacts, requests }
})

/** The answer is only in the inbox. */
const begin = (where: string): Promise<void> =>
  withStores([where], async (store) => {
    assert.ok(store !== undefined)
    assert.equal((await runOutcome(program, optionsOf(store)))._tag, 'Pending')
    const answer = { _tag: 'Answer', runId: 'r', unit: 'approve', value: 'yes', by: 'ada' } as const
    assert.ok(E.isRight(await store.requests.leave({ ...answer, requestedAt: new Date().toISOString() })()))
  })

const moveTo = (from: string, to: string): Promise<E.Either<unknown, void>> =>
  withStores([from, to], (source, target) => {
    assert.ok(source !== undefined && target !== undefined)
    return move('r', { from, to, target: environmentOf(target) })(environmentOf(source))()
  })

/** The stores whose copy can be resumed. */
const resumable = async (...locations: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  for (const where of locations)
    await withStores([where], async (store) => {
      assert.ok(store !== undefined)
      const view = await viewRun(optionsOf(store))
      if (view !== undefined && view.checkpoint.moved === undefined) found.push(where)
    })
  return found
}

const finish = (where: string): Promise<void> =>
  withStores([where], async (store) => {
    assert.ok(store !== undefined)
    for (const [id, bytes] of Object.entries(ARTIFACTS)) {
      const found = await store.artifacts.get('r', id)()
      assert.ok(E.isRight(found) && found.right._tag === 'Some', id)
      assert.ok(Buffer.from(found.right.value).equals(bytes), id)
    }
    assert.deepEqual(await resume(program, optionsOf(store)), { make: 'made', approve: 'yes', use: true })
  })

interface Kill {
  readonly at: number
  readonly when: 'before' | 'during' | 'after'
  readonly millis?: number
}

const mover = (from: string, to: string, kill?: Kill) =>
  untilTestEnds(launch(process.execPath, [workerFile('mover'), JSON.stringify({ from, to, kill })])).ended

describe('a move between real stores', () => {
  test('artifacts, answers and state arrive whole from files in SQLite, in PostgreSQL and in files again', async () => {
    await inWorld('chain', async ({ folder }) => {
      const stores = [join(folder, 'a'), `sqlite:${join(folder, 'b.db')}`, await newDatabase(), join(folder, 'c')]
      await begin(stores[0] ?? '')
      for (const [n, to] of stores.entries()) {
        const from = stores[n - 1]
        if (from === undefined) continue
        assert.deepEqual(await moveTo(from, to), E.right(undefined))
        assert.deepEqual(await resumable(...stores), [to])
      }
      await finish(stores.at(-1) ?? '')
    })
  })

  test.each([
    ['files', 'SQLite'],
    ['SQLite', 'files']
  ] as const)(
    'a move from %s to %s that is killed with SIGKILL leaves at most one copy that can be resumed, and a repeated move finishes it',
    async (...kinds) => {
      const locations = (folder: string): readonly [string, string] => {
        const at = (kind: string): string => (kind === 'files' ? join(folder, 'files') : `sqlite:${folder}/state.db`)
        return [at(kinds[0]), at(kinds[1])]
      }
      const count = await inWorld('count', async ({ folder }) => {
        const [from, to] = locations(folder)
        await begin(from)
        const { lines } = await mover(from, to)
        await finish(to)
        return Number(lines.at(-1)?.['calls'])
      })
      assert.ok(count > 15, String(count))
      const chance = chanceOf(48)
      const kills = Array.from({ length: count }, (_, n) => n + 1).flatMap((at): Array<Kill> => [
        { at, when: 'before' },
        { at, when: 'during', millis: chance.below(4) },
        { at, when: 'after' }
      ])
      await eachOf(sweep ? kills : chance.sample(kills, 16), async (kill) => {
        await inWorld(`${kill.when} call ${kill.at}`, async ({ folder }) => {
          const [from, to] = locations(folder)
          await begin(from)
          const { signal } = await mover(from, to, kill)
          assert.ok(signal === 'SIGKILL' || kill.when === 'during', String(signal))
          const left = await resumable(from, to)
          assert.ok(left.length <= 1, left.join(' and '))
          const again = await moveTo(from, to)
          assert.ok(E.isRight(again) || (again.left as { _tag: string })._tag === 'RunMoved', JSON.stringify(again))
          assert.deepEqual(await resumable(from, to), [to])
          await finish(to)
        })
      })
    }
  )
})

/** A process whose saves and releases fail can claim its runs again; another process that holds a run keeps it. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import { nodeEnvironment } from '../../../src/adapters/node/index.js'
import type { CheckpointStorage, Event } from '../../../src/index.js'
import { Program, run, runOrResume } from '../../../src/index.js'
import { claimed, left, OTHER, right } from '../../../src/testing/conformance/fixtures.js'
import { planted } from '../../testing/files/planted.js'
import type { Call } from './kit.js'
import { folder, intercepted, systemError } from './kit.js'

describe('a run on a file system that starts to refuse writes', () => {
  const WRITING: ReadonlyArray<Call> = [
    'mkdir',
    'fsyncFolder',
    'write',
    'writeSync',
    'extendSync',
    'ftruncateSync',
    'fdatasync',
    'link',
    'renameSync',
    'unlinkSync',
    'removeTree',
    'replace',
    'heartbeat'
  ]

  const program = Program.fromSteps(
    'three',
    ['one', 'two', 'three'].map((name) => Program.task(name, { run: () => TE.right(name) }))
  )

  /** A run whose nth write and all later ones fail, and its store once the disk works again. */
  const broken = async (root: string, nth: number) => {
    let seen = 0
    let isHealed = false
    const fs = intercepted(({ call }) => {
      if (!isHealed && WRITING.includes(call) && seen++ >= nth) throw systemError('ENOSPC')
    })
    const storage = jsonFileStorage(root, { fs })
    const events: Array<Event> = []
    const observed = { ...nodeEnvironment(storage), events: { report: (event: Event) => void events.push(event) } }
    const outcome = await run(program, 'r', {})(observed)()
    isHealed = true
    return { storage, outcome, events }
  }

  const goesOn = async (storage: CheckpointStorage): Promise<void> => {
    const outcome = await runOrResume(program, 'r', {})(nodeEnvironment(storage))()
    assert.ok(E.isRight(outcome) && outcome.right._tag === 'Completed', JSON.stringify(outcome))
  }

  test('a run whose writes failed resumes in the same process: in the same store, another store, or another copy of the store module', async () => {
    const copy = await planted()
    let refused = 0
    for (let nth = 0; ; nth++) {
      const others = [
        (_: string, same: CheckpointStorage) => same,
        (root: string) => jsonFileStorage(root),
        (root: string) => copy(root)
      ]
      const outcomes = await Promise.all(
        others.map(async (open) => {
          const root = folder()
          const { storage, outcome, events } = await broken(root, nth)
          const failed = events.filter((event) => event._tag === 'ReleaseFailed')
          if (E.isLeft(outcome) && outcome.left._tag === 'WriteFailed' && events.some(isSaved)) {
            refused++
            assert.equal(failed.length, 1, `write ${nth}`)
          }
          await goesOn(open(root, storage))
          return outcome
        })
      )
      if (outcomes.every(E.isRight)) break
    }
    assert.ok(refused > 5, `${refused} runs failed at a save`)
  })

  const isSaved = ({ _tag }: Event): boolean => _tag === 'CheckpointSaved'

  test('the same process cannot claim an active run again, even after an earlier claim could not be released', async () => {
    const root = folder()
    await broken(root, 20)
    const storage = jsonFileStorage(root)
    const claim = await claimed(storage, 'r')
    for (const other of [storage, jsonFileStorage(root), (await planted())(root)])
      await left(other.claim('r', OTHER), 'HeldBy')
    await right(storage.release(claim))
  })
})

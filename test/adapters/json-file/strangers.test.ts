/** State that belongs to another user or that another user can write to; needs root. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, lchownSync, mkdirSync, readdirSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, test } from 'vitest'
import type { Exposure } from '../../../src/adapters/json-file/index.js'
import {
  describeExposure,
  fileArchive,
  fileArtifacts,
  fileRequests,
  jsonFileStorage
} from '../../../src/adapters/json-file/index.js'
import { RunError } from '../../../src/index.js'
import { assertLoads, left, OTHER, right, seed } from '../../../src/testing/conformance/fixtures.js'
import { digestOf, folder, journalOf, next, placesOf } from './kit.js'

const IS_ROOT = process.platform === 'linux' && process.getuid?.() === 0
const NOBODY = 65_534

/** Changes the owner of a path recursively. */
const give = (path: string, uid: number): void => void execFileSync('chown', ['-hR', String(uid), path])

const twoRuns = async (): Promise<string> => {
  const root = join(folder(), 'state')
  await seed(next(root), 'a', [1, 2])
  await seed(next(root), 'b', ['b'])
  return root
}

describe.runIf(IS_ROOT)('paths of another user', () => {
  const places: Record<string, (root: string) => string> = {
    'the newest journal': (root) => journalOf(root, 1),
    'checkpoint.json': (root) => placesOf(root).copy,
    'the history folder': (root) => placesOf(root).history,
    "the run's folder": (root) => placesOf(root).run
  }
  for (const [place, at] of Object.entries(places)) {
    test(`${place} of another user is Insecure and stays unchanged`, async () => {
      const root = await twoRuns()
      lchownSync(at(root), NOBODY, NOBODY)
      const before = digestOf(root)
      for (const refused of [next(root).load('a'), next(root).claim('a', OTHER)]) {
        const error = await left(refused, 'Insecure')
        assert.equal(error.where, at(root))
        assert.match(RunError.describe(error), /belongs to user 65534.*chown/)
      }
      assert.equal(digestOf(root), before)
      await assertLoads(next(root), 'b', ['b'])
    })
  }

  for (const place of ['the root', 'the runs folder'] as const) {
    test(`${place} of another user is Insecure and stays unchanged`, async () => {
      const root = await twoRuns()
      const where = place === 'the root' ? root : join(root, 'runs')
      lchownSync(where, NOBODY, NOBODY)
      const before = digestOf(root)
      for (const refused of [next(root).load('a'), next(root).claim('new', OTHER), next(root).list()])
        assert.equal((await left(refused, 'Insecure')).where.replace(/\/\.$/, ''), where)
      assert.equal(digestOf(root), before)
    })
  }

  test('an empty root of another user, and the artifacts, pauses and archive in it, are Insecure and stay unchanged', async () => {
    const root = join(folder(), 'state')
    mkdirSync(root)
    lchownSync(root, NOBODY, NOBODY)
    await left(next(root).claim('a', OTHER), 'Insecure')
    await left(fileArtifacts(root).put('a', 'x', 'x'), 'Insecure')
    await left(fileArchive(root).keep({ runId: 'a', createdAt: '2026-01-02T03:04:05.678Z', checkpoint: 1 }), 'Insecure')
    assert.deepEqual(readdirSync(root), [])
  })

  test('a root link of another user is Insecure and stays unchanged', async () => {
    const root = await twoRuns()
    const link = join(folder(), 'link')
    symlinkSync(root, link)
    await assertLoads(next(link), 'a', [1, 2])
    lchownSync(link, NOBODY, NOBODY)
    assert.equal((await left(next(link).load('a'), 'Insecure')).where, link)
  })

  test('a pause pointer of another user is Insecure and stays unchanged', async () => {
    const root = await twoRuns()
    const pointer = join(root, 'continue-here.json')
    execFileSync('cp', ['/dev/null', pointer])
    lchownSync(pointer, NOBODY, NOBODY)
    assert.match((await left(fileRequests(root).pointer, 'InvalidPointer')).why, /belongs to user 65534/)
  })
})

describe.runIf(IS_ROOT)('users of the state folder', () => {
  const script = fileURLToPath(new URL('children/claimer.js', import.meta.url))

  /** Claims run `a` as a user; returns the result and the warnings. */
  const claimAs = (uid: number, root: string, environment: Record<string, string> = {}) => {
    const { stdout, stderr, status } = spawnSync(process.execPath, [script, root], {
      uid,
      gid: uid,
      env: { ...process.env, ...environment },
      encoding: 'utf8'
    })
    assert.equal(status, 0, stderr)
    return { outcome: stdout, warnings: stderr }
  }

  test('a user who is not root may use a state folder of their own', async () => {
    const root = await twoRuns()
    chmodSync(join(root, '..'), 0o711)
    give(root, NOBODY)
    assert.deepEqual(claimAs(NOBODY, root), { outcome: 'Granted', warnings: '' })
  })

  test('root under sudo may use state that belongs to the invoking user', async () => {
    const root = await twoRuns()
    give(root, NOBODY)
    assert.equal(claimAs(0, root).outcome, 'Insecure')
    assert.equal(claimAs(0, root, { SUDO_UID: String(NOBODY) }).outcome, 'Granted')
    chmodSync(join(root, '..'), 0o711)
    give(root, 65_533)
    assert.notEqual(claimAs(NOBODY, root, { SUDO_UID: '65533' }).outcome, 'Granted')
  })

  test('anyone may use state below a folder like /tmp, without a warning', () => {
    const sticky = join(folder(), 'tmp')
    mkdirSync(sticky)
    chmodSync(join(sticky, '..'), 0o711)
    chmodSync(sticky, 0o1777)
    for (const uid of [0, NOBODY])
      assert.deepEqual(claimAs(uid, join(sticky, `state-${uid}`)), { outcome: 'Granted', warnings: '' })
  })

  test('everyone may claim a run in a world-writable root, with one process warning', async () => {
    const root = await twoRuns()
    chmodSync(root, 0o777)
    const { outcome, warnings } = claimAs(0, root)
    assert.equal(outcome, 'Granted')
    assert.equal(warnings.match(/DogearWarning/g)?.length, 1, warnings)
    assert.match(warnings, /every user can write to it.*; run: chmod go-w \S/)
    assert.ok(warnings.includes(`chmod go-w ${root}`), warnings)
  })
})

describe.runIf(process.platform !== 'win32')('warnings of a claim', () => {
  const exposures: Array<Exposure> = []
  afterEach(() => void exposures.splice(0))

  const claimIn = async (root: string): Promise<void> => {
    const storage = jsonFileStorage(root, { onExposed: (exposure) => void exposures.push(exposure) })
    for (const runId of ['a', 'b']) {
      const { claim } = await right(storage.claim(runId, OTHER))
      await right(storage.release(claim))
    }
  }

  test('onExposed reports a world-writable root once', async () => {
    const root = await twoRuns()
    await claimIn(root)
    assert.deepEqual(exposures, [])
    chmodSync(root, 0o777)
    await claimIn(root)
    assert.deepEqual(exposures, [{ where: root, by: 'everybody', how: 'write' }])
  })

  test('onExposed reports no root with a sticky bit, in which only owners can delete', async () => {
    const root = await twoRuns()
    chmodSync(root, 0o1777)
    await claimIn(root)
    assert.deepEqual(exposures, [])
  })

  test('an onExposed that returns a rejected promise causes no unhandled rejection', async () => {
    const unhandled: Array<unknown> = []
    const note = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    const root = await twoRuns()
    chmodSync(root, 0o777)
    let called = 0
    const onExposed = (): void => {
      called += 1
      return Promise.reject(new Error('the mail was refused')) as never
    }
    await right(jsonFileStorage(root, { onExposed }).claim('a', OTHER))
    await new Promise((resolve) => setTimeout(resolve, 10))
    process.off('unhandledRejection', note)
    assert.deepEqual([called, unhandled], [1, []])
  })

  test(
    'onExposed reports a group-writable root, unless the group is private to this user',
    { skip: !IS_ROOT },
    async () => {
      const root = await twoRuns()
      chmodSync(root, 0o770)
      await claimIn(root)
      assert.deepEqual(exposures, [])
      lchownSync(root, 0, NOBODY)
      await claimIn(root)
      assert.deepEqual(exposures, [{ where: root, by: 'group', how: 'write' }])
    }
  )

  test('onExposed reports a parent folder in which every user can replace the next one', async () => {
    const above = folder()
    const root = join(above, 'inner/state')
    mkdirSync(join(above, 'inner'))
    chmodSync(above, 0o777)
    await claimIn(root)
    assert.deepEqual(exposures, [{ where: above, by: 'everybody', how: 'replace' }])
    chmodSync(above, 0o1777)
    exposures.splice(0)
    await claimIn(root)
    assert.deepEqual(exposures, [])
  })

  test(
    'onExposed reports a parent folder in which its owner or group can replace the next one',
    { skip: !IS_ROOT },
    async () => {
      const above = folder()
      const root = join(above, 'state')
      lchownSync(above, NOBODY, 0)
      await claimIn(root)
      assert.deepEqual(exposures, [{ where: above, by: 'owner', how: 'replace' }])
      for (const [mode, expected] of [
        [0o775, [{ where: above, by: 'group', how: 'replace' }]],
        [0o1775, []]
      ] as const) {
        exposures.splice(0)
        lchownSync(above, 0, NOBODY)
        chmodSync(above, mode)
        await claimIn(root)
        assert.deepEqual(exposures, expected)
      }
    }
  )

  test('the command in a warning quotes a folder that a shell would split', () => {
    const by = { by: 'everybody', how: 'replace' } as const
    assert.match(
      describeExposure({ where: "/srv/it's mine", ...by }),
      /run: chmod go-w '\/srv\/it'\\''s mine' \(or chmod \+t\)$/
    )
    assert.match(describeExposure({ where: '/srv/mine', ...by }), /run: chmod go-w \/srv\/mine \(or chmod \+t\)$/)
    const folder = describeExposure({ where: '/srv/a\u001b[2J', by: 'everybody', how: 'write' })
    assert.equal(
      folder,
      '/srv/a\\u001b[2J: every user can write to it and delete or move the state of runs; ' +
        `run: chmod go-w "$(printf '/srv/a\\033\\1332J')"`
    )
  })

  test('onExposed checks the target of a link, not the link', async () => {
    const [real, link] = [await twoRuns(), join(folder(), 'link')]
    symlinkSync(real, link)
    await claimIn(link)
    assert.deepEqual(exposures, [])
    const moved = `${real}-moved`
    renameSync(real, moved)
    symlinkSync(moved, real)
    chmodSync(moved, 0o777)
    await claimIn(link)
    assert.deepEqual(exposures, [{ where: moved, by: 'everybody', how: 'write' }])
  })
})

/** A disk that is full, broken or read-only costs no acknowledged step. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  statfsSync,
  writeSync
} from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { jsonFileStorage } from '../../src/adapters/json-file/index.js'
import type { Order, Report, World } from './world.js'
import {
  chanceOf,
  eachOf,
  inWorld,
  kept,
  launch,
  perform,
  reportOf,
  seed,
  sweep,
  untilTestEnds,
  workerFile
} from './world.js'

// ---------------------------------------------------------------------------------------------------------------------
// small disks
// ---------------------------------------------------------------------------------------------------------------------

const command = (name: string, ...args: ReadonlyArray<string>): void => {
  const { status, stderr, error } = spawnSync(name, args, { encoding: 'utf8' })
  assert.equal(status, 0, `${name} ${args.join(' ')}: ${stderr || String(error)}`)
}

const whyNoMount = ((): string | undefined => {
  const probe = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { encoding: 'utf8' })
  return probe.status === 0 ? undefined : probe.stderr || String(probe.error)
})()
if (whyNoMount !== undefined) console.log(`no small disks here, for mounting is not permitted: ${whyNoMount}`)

type Disk = 'tmpfs' | 'ext4'

/** Mounts a small disk for the state of the world; the logs stay outside. */
const smallDisk = (world: World, disk: Disk, kibibytes: number): void => {
  mkdirSync(world.state)
  if (disk === 'tmpfs') {
    command('mount', '-t', 'tmpfs', '-o', `size=${kibibytes}k,mode=0700`, 'tmpfs', world.state)
  } else {
    const image = join(world.folder, 'disk.img')
    command('truncate', '-s', `${kibibytes}K`, image)
    command('mkfs.ext4', '-q', '-m', '0', '-O', '^has_journal', image)
    command('mount', '-o', 'loop', image, world.state)
  }
  onTestFinished(() => void spawnSync('umount', ['--lazy', world.state]))
}

const ballast = (world: World): string => join(world.state, 'ballast')

/** Fills the disk except for this many bytes. */
const fill = (world: World, spare: number): void => {
  const { bavail, bsize } = statfsSync(world.state)
  const bytes = Buffer.alloc(bsize)
  const fd = openSync(ballast(world), 'a')
  try {
    for (let free = bavail * bsize; free > spare; free -= bsize) writeSync(fd, bytes)
  } catch {
    // Full.
  }
  closeSync(fd)
}

const makeRoom = (world: World): void => rmSync(ballast(world), { force: true })

/** Every file with a final name is complete. */
const checkFiles = (world: World): void => {
  const folder = join(world.state, 'runs', 'r')
  for (const name of readdirSync(folder)) {
    if (name !== 'checkpoint.json') continue
    JSON.parse(readFileSync(join(folder, name), 'utf8'))
  }
  for (const name of readdirSync(join(folder, 'history'))) {
    if (!name.endsWith('.jsonl')) continue
    const [first = ''] = readFileSync(join(folder, 'history', name), 'utf8').split('\n')
    assert.equal((JSON.parse(first) as { readonly kind: string }).kind, 'claim', `${name} was published incomplete`)
  }
}

const HEAVY = { program: 'heavy', size: { steps: 12, bytes: 20_000 } } as const

const order = (op: Order['op'], life: number, more: Partial<Order> = {}): Order => ({ ...HEAVY, op, life, ...more })

const acknowledged = (world: World): ReadonlyArray<string> => world.acks().flatMap(({ completed }) => completed)

const checkKept = async (world: World): Promise<void> => {
  const found = await kept(world)
  for (const unit of acknowledged(world)) assert.ok(found?.completed.has(unit), `${unit} was acknowledged and is lost`)
}

const checkNothingTwice = (world: World): void => {
  for (const { life, unit } of world.effects()) {
    const before = world.acks().some((ack) => ack.life < life && ack.completed.includes(unit))
    assert.ok(!before, `${unit} ran again after it was acknowledged`)
  }
}

const failedWith = (report: Report, code: RegExp): void => {
  assert.equal(report.error?._tag, 'WriteFailed', JSON.stringify(report))
  assert.match(String(report.error?.['code']), code)
}

describe.skipIf(whyNoMount !== undefined)('a full disk', () => {
  const disks: ReadonlyArray<Disk> = ['tmpfs', 'ext4']
  for (const disk of disks) {
    test(`a full disk fails the run with the reason, keeps what was acknowledged, and allows a later resume (${disk})`, async () => {
      console.log(`full disk: seed ${seed}`)
      const chance = chanceOf(disk.length)
      const cases = Array.from({ length: sweep ? 60 : 2 }, (_, n) => {
        // Lines on both sides of the length up to which writes are synchronous.
        const bytes = n % 2 === 0 ? 20_000 : 90_000
        return { size: { steps: 12, bytes }, spare: 8_000 + chance.below(bytes * 18) }
      })
      await eachOf(cases, async ({ size, spare }) => {
        await inWorld(`${spare} bytes are free`, async (world) => {
          smallDisk(world, disk, 4096)
          fill(world, spare)
          const first = reportOf(await perform(world, order('runOrResume', 1, { size })))
          if (first.outcome !== 'Completed') {
            failedWith(first, /ENOSPC/)
            assert.match(first.told ?? '', /disk is full/)
          }
          if (acknowledged(world).length > 0) {
            checkFiles(world)
            await checkKept(world)
          }
          makeRoom(world)
          const second = reportOf(await perform(world, order('runOrResume', 2, { size })))
          assert.equal(second.outcome, 'Completed', JSON.stringify(second))
          checkFiles(world)
          checkNothingTwice(world)
          spawnSync('umount', [world.state])
        })
      })
    })
  }

  test('twenty claims on a full disk change nothing, and the newest checkpoint loads once there is space', async () => {
    await inWorld('twenty claims', async (world) => {
      smallDisk(world, 'tmpfs', 1024)
      const paced = order('run', 1, { faults: { call: 'fdatasync', code: 'EIO', from: 9 } })
      failedWith(reportOf(await perform(world, paced)), /EIO/)
      await checkKept(world)
      const before = (await kept(world))?.stored.revision
      fill(world, 0)
      const writer = untilTestEnds(
        launch(process.execPath, [workerFile('writer'), JSON.stringify({ world: world.folder, name: 'w' })])
      )
      await writer.line('ready')
      for (let n = 0; n < 20; n++) {
        writer.send({ do: 'write', runId: 'r', saves: 1 })
        const { end, error } = await writer.line('wrote')
        assert.equal(end, 'WriteFailed', JSON.stringify(error))
        assert.equal((error as { readonly code: string }).code, 'ENOSPC')
      }
      assert.equal((await kept(world))?.stored.revision, before, 'it loads while the disk is full, too')
      makeRoom(world)
      assert.equal((await kept(world))?.stored.revision, before)
      await checkKept(world)
      const leftovers = readdirSync(join(world.state, 'runs', 'r', 'history')).filter((name) => name.endsWith('.tmp'))
      const after = reportOf(await perform(world, order('resume', 2)))
      assert.equal(after.outcome, 'Completed', JSON.stringify(after))
      checkNothingTwice(world)
      checkFiles(world)
      expect(leftovers.length, 'claims that failed leave nothing behind').toBe(0)
      spawnSync('umount', [world.state])
    })
  })

  test('a read-only file system is reported, and the checkpoint still loads', async () => {
    await inWorld('read-only', async (world) => {
      smallDisk(world, 'tmpfs', 4096)
      const failing = order('run', 1, { faults: { call: 'fdatasync', code: 'EIO', from: 8 } })
      failedWith(reportOf(await perform(world, failing)), /EIO/)
      command('mount', '-o', 'remount,ro', world.state)
      failedWith(reportOf(await perform(world, order('resume', 2))), /EROFS/)
      await checkKept(world)
      command('mount', '-o', 'remount,rw', world.state)
      assert.equal(reportOf(await perform(world, order('resume', 3))).outcome, 'Completed')
      checkNothingTwice(world)
      spawnSync('umount', [world.state])
    })
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// faults
// ---------------------------------------------------------------------------------------------------------------------

describe('a device that reports errors', () => {
  const calls = [
    'fdatasync',
    'fsyncFolder',
    'write',
    'writeSync',
    'ftruncateSync',
    'link',
    'open',
    'fstat',
    'lstatSync',
    'readdir',
    'placeSync'
  ] as const

  test.each(calls)(
    'an error of %s at any time fails the run with the code of the error, or has no effect',
    async (call) => {
      const place = calls.indexOf(call)
      const chance = chanceOf(60 + place)
      // Half of the calls fail early, the others late.
      const usual = place % 2 === 0 ? 1 + chance.below(6) : 6 + chance.below(12)
      const cases = (sweep ? Array.from({ length: 20 }, (_, n) => n + 1) : [usual]).map((from) => ({
        from,
        times: chance.oneOf([1, Infinity])
      }))
      await eachOf(cases, async ({ from, times }) => {
        await inWorld(`${call} fails from the ${from}. time on, ${times} times`, async (world) => {
          const faults = { call, code: 'EIO', from, ...(times === 1 ? { times } : {}) }
          const { error, outcome } = reportOf(await perform(world, order('runOrResume', 1, { faults })))
          if (outcome !== 'Completed') {
            assert.ok(error?._tag === 'WriteFailed' || error?._tag === 'ReadFailed', JSON.stringify(error))
            assert.equal(error['code'], 'EIO')
          } else assert.ok(call !== 'fdatasync' || from > 12, 'what could not be made durable was acknowledged')
          await checkKept(world)
          const second = reportOf(await perform(world, order('runOrResume', 2)))
          assert.equal(second.outcome, 'Completed', JSON.stringify(second))
          checkNothingTwice(world)
          await checkKept(world)
        })
      })
    }
  )

  test('after a failed sync nothing more is written to that file, and the same process can claim again', async () => {
    await inWorld('a failed sync', async (world) => {
      let left = 6
      const { nodeFileSystem } = await import('../../src/adapters/json-file/files/nodeFileSystem.js')
      const written = new Map<string, number>()
      const failing = jsonFileStorage(world.state, {
        fs: {
          ...nodeFileSystem,
          fdatasync: (fd, done) => {
            left -= 1
            if (left !== 0) return nodeFileSystem.fdatasync(fd, done)
            written.set('failed', fd)
            setImmediate(() => done(Object.assign(new Error('EIO: injected'), { code: 'EIO' })))
          },
          writeSync: (fd, bytes, position) => {
            assert.notEqual(written.get('failed'), fd, 'a journal whose sync failed is never written again')
            return nodeFileSystem.writeSync(fd, bytes, position)
          }
        }
      })
      const { Program, run, resume } = await import('../../src/index.js')
      const { nodeEnvironment } = await import('../../src/adapters/node/index.js')
      const TE = await import('fp-ts/lib/TaskEither.js')
      const steps = Array.from({ length: 8 }, (_, n) => Program.task(`s${n}`, { run: () => TE.right(n) }))
      const program = Program.fromSteps('failing', steps)
      const first = await run(program, 'r', {})(nodeEnvironment(failing))()
      assert.ok(
        E.isLeft(first) && first.left._tag === 'WriteFailed' && first.left.code === 'EIO',
        JSON.stringify(first)
      )
      written.clear()
      const second = await resume(program, 'r')(nodeEnvironment(failing))()
      assert.ok(E.isRight(second) && second.right._tag === 'Completed', JSON.stringify(second))
    })
  })

  test('a lack of file descriptors is reported, and the run resumes once some are free', async () => {
    await inWorld('EMFILE', async (world) => {
      const codes: Array<string> = []
      const limited = ['prlimit', '--nofile=256']
      for (const spareFiles of sweep ? [0, 1, 2, 3, 4, 5, 6, 8, 10] : [0, 1, 2, 4]) {
        const ended = await perform(world, order('runOrResume', 1, { openFiles: 300, spareFiles }), limited)
        const report = reportOf(ended)
        if (report.outcome === 'Completed') continue
        assert.ok(report.error?._tag === 'ReadFailed' || report.error?._tag === 'WriteFailed', JSON.stringify(report))
        codes.push(String(report.error['code']))
        if (O.isSome(await foundIn(world))) await checkKept(world)
      }
      expect(codes).toContain('EMFILE')
      assert.equal(reportOf(await perform(world, order('runOrResume', 2))).outcome, 'Completed')
      checkNothingTwice(world)
    })
  })

  test('a folder without write permission is reported, and nothing changes', async () => {
    await inWorld('EACCES', async (world) => {
      const failing = order('run', 1, { faults: { call: 'fdatasync', code: 'EIO', from: 8 } })
      failedWith(reportOf(await perform(world, failing)), /EIO/)
      const before = await kept(world)
      const logs = join(world.folder, 'logs-of-nobody')
      mkdirSync(logs)
      chmodSync(logs, 0o777)
      chmodSync(world.folder, 0o755)
      const nobody = { uid: 65534, gid: 65534 }
      for (const mode of [0o755, 0o700]) {
        for (const folder of ['', 'runs', 'runs/r', 'runs/r/history']) chmodSync(join(world.state, folder), mode)
        for (const name of readdirSync(join(world.state, 'runs/r/history')))
          chmodSync(join(world.state, 'runs/r/history', name), mode & 0o644)
        const refused = reportOf(await perform(world, order('resume', 2, { logs }), [], nobody))
        assert.ok(
          refused.error?._tag === 'WriteFailed' || refused.error?._tag === 'ReadFailed',
          JSON.stringify(refused)
        )
        assert.equal(refused.error['code'], 'EACCES')
      }
      const after = await kept(world)
      assert.equal(after?.stored.revision, before?.stored.revision)
      assert.equal(statSync(join(world.state, 'runs/r')).uid, process.getuid?.())
      assert.equal(reportOf(await perform(world, order('resume', 3))).outcome, 'Completed')
      checkNothingTwice(world)
    })
  })
})

const foundIn = async (world: World) => {
  const loaded = await jsonFileStorage(world.state).load('r')()
  return E.isRight(loaded) ? loaded.right : O.none
}

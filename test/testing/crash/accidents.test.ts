/** Failures below a workflow on JSON files, at any call: power cuts, read errors, flipped bits and slow writers. */
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import { memoryData, memoryStorage } from '../../../src/adapters/memory.js'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import type { CheckpointStorage } from '../../../src/ports/CheckpointStorage.js'
import type { FileSystem } from '../../../src/adapters/json-file/files/FileSystem.js'
import { workflow } from '../../../src/promise/index.js'
import type { CrashStorage } from '../../../src/testing/crash/process/CrashStorage.js'
import { crashEverywhere } from '../../../src/testing/crash/crashEverywhere.js'
import { toText } from '../../../src/testing/crash/CrashReport.js'
import type { CrashReport } from '../../../src/testing/crash/CrashReport.js'
import type { ProcessContext } from '../../../src/testing/crash/process/Process.js'
import { withFaults } from '../../../src/testing/faults.js'
import type { CrashFiles } from '../files/CrashFiles.js'
import { crashFiles } from '../files/CrashFiles.js'
import { interceptedFiles, systemError } from '../files/Intercept.js'
import { processNumber } from '../../adapters/json-file/kit.js'
import { policy } from '../../executor/fixtures.js'
import { sweep } from '../../sweep.js'
import type { MakeStorage } from '../files/lives.js'
import { FAULTS, planted } from '../files/planted.js'

const release =
  ({ attempts = 1, notes = 'none' }) =>
  ({ world, effect }: ProcessContext<Array<string>>) =>
    workflow('release')
      .step('version', {
        retry: policy({ _tag: 'Constant', attempts, delayMillis: 1000 }),
        run: ({ attempt }) => (attempt < attempts ? Promise.reject(noNetwork()) : Promise.resolve('1.2.3'))
      })
      .step('notes', () => notes)
      .wave('checks', { unit: () => 42, lint: () => 'clean' })
      .step('publish', {
        idempotent: false,
        run: async ({ outputs }) => {
          await effect('publish', () => world.push(outputs.version))
          return 'published'
        }
      })

/** Without a stack: its length would depend on the folder of this test, and so would the save that compacts the run. */
const noNetwork = () => Object.assign(new Error('no network'), { status: 503, stack: undefined })

// ---------------------------------------------------------------------------------------------------------------------
// machines
// ---------------------------------------------------------------------------------------------------------------------

/** A failure and the number of its variants, and a workflow that it affects. */
interface Accident {
  readonly storage: (store: MakeStorage, choice: number) => CrashStorage<Machine>
  readonly program: ReturnType<typeof release>
}

interface Machine {
  files: CrashFiles
  /** The number of started processes. */
  starts: number
  /** The claim in flight. */
  claiming: { readonly by: number; readonly end: Promise<unknown> } | undefined
}

const create = () => Promise.resolve<Machine>({ files: crashFiles(), starts: 0, claiming: undefined })

/** Starts a process on its view of the files. */
const startOn = (store: MakeStorage, machine: Machine, change = (fs: FileSystem) => fs): CheckpointStorage =>
  store('/store', {
    fs: change(machine.files.fs),
    processes: processNumber((machine.starts += 1)),
    keep: 2,
    limits: { compactBytes: 0 }
  })

/** Cuts the power whenever a process dies, with one of the possible states afterwards. */
const powerCut: Accident = {
  program: release({}),
  storage: (store, choice) => ({
    create,
    reopen: (machine) => {
      const left = [...machine.files.powerCuts({ limit: 6, seed: choice })]
      const which = choice === 0 ? 0 : (machine.starts + choice) % left.length
      if (machine.starts > 0) machine.files = left[which]?.files ?? machine.files
      const start = machine.starts + 1
      const storage = startOn(store, machine)
      return Promise.resolve(untilPowerIsCut(storage, () => machine.starts === start))
    }
  })
}

/** Without power nothing is saved. */
const untilPowerIsCut = (storage: CheckpointStorage, isOn: () => boolean): CheckpointStorage => ({
  ...storage,
  save: (claim, revisions) => async () => {
    const saved = isOn() ? await storage.save(claim, revisions)() : undefined
    if (saved !== undefined && isOn()) return saved
    return E.left({ _tag: 'Fenced', runId: claim.runId, epoch: claim.epoch, by: O.none })
  }
})

/** One process reads wrongly. Those before it, and those that check afterwards, read correctly. */
const reading =
  (wrong: (choice: number) => (fs: FileSystem) => FileSystem): Accident['storage'] =>
  (store, choice) => ({
    create,
    reopen: (machine) => Promise.resolve(startOn(store, machine)),
    start: (machine, life) => {
      const isIt = life === (choice % 2 === 0 ? 2 : 3)
      return Promise.resolve(startOn(store, machine, isIt ? wrong(choice >> 1) : (fs) => fs))
    }
  })

/** The newest journal, the copy or both are unreadable. */
const unreadable = reading((choice) => (fs) => {
  const bad = new Set<number>()
  const isBad = async (path: string): Promise<boolean> => {
    if (path.endsWith('checkpoint.json')) return choice % 3 > 0
    const names = await fs.readdir('/store/runs/simulated/history')
    const newest = names
      .filter((name) => name.endsWith('.jsonl'))
      .toSorted()
      .at(-1)
    return choice % 3 < 2 && path.endsWith(newest ?? 'none')
  }
  return {
    ...interceptedFiles(({ call, target }) =>
      call === 'read' && bad.has(target as number) ? assert.fail(systemError('EIO')) : undefined
    )(fs),
    open: async (path, how) => {
      const fd = await fs.open(path, how)
      if (how === 'read' && (await isBad(path))) bad.add(fd)
      else bad.delete(fd)
      return fd
    }
  }
})

/** One bit of the first step's output is read wrongly. */
const flippedBit = reading((choice) => (fs) => ({
  ...fs,
  read: async (fd, into, position) => {
    const count = await fs.read(fd, into, position)
    const at = Buffer.from(into.buffer, into.byteOffset, count).indexOf('"1.2.3"')
    if (at >= 0) into[at + (choice % 7)] = (into[at + (choice % 7)] as number) ^ (1 << (choice / 7))
    return count
  }
}))

/** A slow write during another process's claim takes effect only after that claim is granted. */
const slowWrite: Accident['storage'] = (store) => {
  const start = (machine: Machine): Promise<CheckpointStorage> => {
    const self = machine.starts
    const storage = startOn(store, machine, (fs) => ({
      ...fs,
      write: async (fd, bytes, position) => {
        await setImmediate()
        if (machine.claiming?.by !== self) await machine.claiming?.end
        return await fs.write(fd, bytes, position)
      }
    }))
    return Promise.resolve({
      ...storage,
      claim: (runId, owner) => () => {
        const end = storage.claim(runId, owner)()
        machine.claiming = { by: self, end }
        return end
      }
    })
  }
  return { create, reopen: start }
}

/** With this number of attempts the run is compacted just before the process that reads wrongly, so the previous journal lacks a save. */
const readError: Accident = { storage: unreadable, program: release({ attempts: sweep ? 12 : 6 }) }
const wrongBit: Accident = { storage: flippedBit, program: release({}) }
/** A string too long for a synchronous write: a process can be stopped before the write. */
const slowOwner: Accident = { storage: slowWrite, program: release({ notes: 'notes '.repeat(12_000) }) }

const tryEverywhere = (
  store: MakeStorage,
  { storage, program }: Accident,
  choice: number,
  twice = 0
): Promise<CrashReport> =>
  crashEverywhere(program, { world: () => [], twice, storage: storage(store, choice), stopAfter: 1 })

// ---------------------------------------------------------------------------------------------------------------------
// tests
// ---------------------------------------------------------------------------------------------------------------------

const ACCIDENTS: ReadonlyArray<readonly [what: string, accident: Accident, choices: number, inSweep: number]> = [
  ['a power cut', powerCut, 2, 50],
  ['an unreadable file', readError, 2, 6],
  ['a flipped bit', wrongBit, 2, 200],
  ['a slow write', slowOwner, 1, 1]
]

describe('a workflow on JSON files', { timeout: sweep ? 3_600_000 : 120_000 }, () => {
  const cases = ACCIDENTS.flatMap(([what, accident, choices, inSweep]) =>
    Array.from({ length: sweep ? inSweep : choices }, (_, choice) => [what, choice, accident] as const)
  )
  test.each(cases)('a workflow on JSON files resumes after %s at any call (choice %i)', async (_, choice, accident) => {
    const report = await tryEverywhere(jsonFileStorage, accident, choice, sweep ? 100 : 2)
    assert.equal(report.violations.length, 0, toText(report))
    assert.ok(report.points.length > 50)
  })

  // The number is the first variant that shows the fault.
  const PLANTED = [
    ['does not sync the folder of its journals', powerCut, FAULTS.folderNotSynced, 1],
    ['acknowledges before it syncs', powerCut, FAULTS.acknowledgesBeforeSync, 1],
    ['treats an unreadable file as missing', readError, FAULTS.unreadableIsNothing, 0],
    ['does not verify checksums', wrongBit, FAULTS.sumsNotChecked, 2],
    ['checks ownership before the sync instead of after', slowOwner, FAULTS.checkedBeforeSync, 0]
  ] as const

  test.each(PLANTED)('the crash simulator finds a store that %s', async (_, accident, faults, first) => {
    const store = await planted(...faults)
    const laws = new Set<string>()
    for (let choice = first; choice < 6 && laws.size === 0; choice++)
      for (const { law } of (await tryEverywhere(store, accident, choice)).violations) laws.add(law)
    assert.ok(
      LOSSES.some((law) => laws.has(law)),
      [...laws].join()
    )
  })
})

test('the crash simulator tolerates many processes that end with a store error, but at most ten in a row', async () => {
  const failing = (isFailing: (life: number) => boolean): Promise<CrashReport> =>
    crashEverywhere(
      workflow('one').step('one', () => 1),
      {
        storage: {
          create: () => Promise.resolve(memoryData()),
          reopen: (data) => Promise.resolve(memoryStorage(data)),
          start: (data, life) =>
            Promise.resolve(
              withFaults(
                memoryStorage(data),
                isFailing(life) ? [{ call: 'save', fault: { _tag: 'Fail', when: 'before' } }] : []
              )
            )
        },
        only: {
          // Only the odd processes die: at their first call. None makes a 99th.
          schedule: Array.from({ length: 24 }, (_, index) => ({
            _tag: 'AtCall',
            n: index % 2 === 0 ? 1 : 99,
            how: 'before'
          })),
          answer: 'again'
        }
      }
    )
  const apart = await failing((life) => life % 2 === 0 && life <= 24)
  assert.equal(apart.violations.length, 0, toText(apart))
  const together = await failing((life) => life > 1)
  assert.match(together.violations[0]?.what ?? '', /^11 processes ended with an error of the store/)
})

const LOSSES = ['NothingLost', 'NothingTwice', 'NothingForgotten', 'SameEnd']

/** The power is cut wherever a workflow on JSON files is: what was not synced is gone, and the run goes on all the same. */
import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import type { CheckpointStorage } from '../../../src/ports/CheckpointStorage.js'
import { workflow } from '../../../src/promise.js'
import { crashEverywhere } from '../../../src/testing/crash/crashEverywhere.js'
import { toText } from '../../../src/testing/crash/CrashReport.js'
import type { CrashReport } from '../../../src/testing/crash/CrashReport.js'
import type { Scene } from '../../../src/testing/crash/Process.js'
import type { CrashFiles } from '../../../src/testing/files/CrashFiles.js'
import { crashFiles } from '../../../src/testing/files/CrashFiles.js'
import { processNumber } from '../../adapters/json-file/kit.js'
import type { MakeStorage } from '../files/lives.js'
import { planted } from '../files/planted.js'

const sweep = process.env['DOGEAR_SWEEP'] === '1'

const release = ({ world, effect }: Scene<Array<string>>) =>
  workflow('release')
    .step('version', () => '1.2.3')
    .wave('checks', { unit: () => 42, lint: () => 'clean' })
    .step('publish', {
      idempotent: false,
      run: async ({ outputs }) => {
        await effect('publish', () => world.push(outputs.version as string))
        return 'published'
      }
    })

interface Machine {
  files: CrashFiles
  starts: number
}

/** A machine that loses its power whenever a process on it dies. What it leaves is one of the things that it may leave. */
const machines = (store: MakeStorage, choice: number) => ({
  create: () => Promise.resolve<Machine>({ files: crashFiles(), starts: 0 }),
  reopen: (machine: Machine) => {
    const left = [...machine.files.powerCuts({ limit: 6, seed: choice })]
    if (machine.starts > 0) machine.files = left[(machine.starts + choice) % left.length]?.files ?? machine.files
    const start = (machine.starts += 1)
    const storage = store('/store', { fs: machine.files.fs, processes: processNumber(start) })
    return Promise.resolve(untilPowerIsCut(storage, () => machine.starts === start))
  }
})

/** Without power nothing is saved any more. */
const untilPowerIsCut = (storage: CheckpointStorage, isOn: () => boolean): CheckpointStorage => ({
  ...storage,
  save: (claim, revisions) => async () => {
    if (isOn()) return await storage.save(claim, revisions)()
    return E.left({ _tag: 'Fenced', runId: claim.runId, epoch: claim.epoch, by: O.none })
  }
})

const cutEverywhere = (store: MakeStorage, choice: number): Promise<CrashReport> =>
  crashEverywhere(release, { world: () => [], twice: sweep ? 500 : 10, storage: machines(store, choice), stopAfter: 1 })

const CHOICES = sweep ? 50 : 3

describe('a workflow on JSON files', () => {
  test('goes on after a power cut anywhere', { timeout: sweep ? 3_600_000 : 60_000 }, async () => {
    for (let choice = 0; choice < CHOICES; choice++) {
      const report = await cutEverywhere(jsonFileStorage, choice)
      assert.equal(report.violations.length, 0, `choice ${choice}: ${toText(report)}`)
      assert.ok(report.points.length > 40)
    }
  })

  test.each([
    [
      'does not sync the folder of its journals',
      'Publish.ts',
      'context.fs.fsyncFolder(layout.history)',
      'Promise.resolve()'
    ],
    [
      'acknowledges before it syncs',
      'Save.ts',
      'fs.fdatasync(journal.fd, check)',
      'fs.fdatasync(journal.fd, () => undefined)\n      check(null)'
    ]
  ])('is seen to lose steps on a store that %s', async (_, module, text, instead) => {
    const store = await planted({ module, text, instead })
    const found = []
    for (let choice = 0; choice < 6 && found.length === 0; choice++)
      found.push(...(await cutEverywhere(store, choice)).violations)
    assert.ok(
      found.some(({ law }) => ['NothingLost', 'NothingTwice', 'SameEnd'].includes(law)),
      `found: ${found.map(({ law, what }) => `${law}: ${what}`).join(', ')}`
    )
  })
})

/** The process cases also hold for a store behind a server, which learns late about deaths and saves. */
import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import type { CheckpointStorage } from '../../../src/ports/CheckpointStorage.js'
import type { StorageSpec } from '../../../src/testing/index.js'
import type { Disk } from '../mutants/index.js'
import { ConformanceReport, runConformance } from '../../../src/testing/index.js'
import { sampleSpec } from '../mutants/index.js'

const later = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

const beside = async (disk: Disk) => {
  const other = await sampleSpec.beside?.(disk)
  return other ?? assert.fail('the sample store has a `beside`')
}

const conforms = async (spec: StorageSpec<Disk>, only: string): Promise<void> => {
  const report = await runConformance(spec, { only: [only], levels: ['capability'] })
  assert.ok(ConformanceReport.isConformant(report), ConformanceReport.toText(report))
}

describe('a store behind a server', () => {
  test('a store behind a server may receive the save of a dead process at any time before the next claim', async () => {
    let arrive = (): Promise<unknown> => Promise.resolve()
    const arrivals: Array<string> = []
    const spec: StorageSpec<Disk> = {
      ...sampleSpec,
      beside: async (disk) => {
        // Between reading the run and the claim of the next process.
        await arrive()
        const { storage, kill } = await beside(disk)
        let saves = 0
        const save: CheckpointStorage['save'] = (claim, revisions) => () => {
          const task = storage.save(claim, revisions)
          if (saves++ === 0) return task()
          return new Promise((resolve) => {
            arrive = () => task().then((answer) => (arrivals.push(answer._tag), resolve(answer)))
          })
        }
        return { storage: { ...storage, save }, kill }
      }
    }
    await conforms(spec, 'CS-PROC-05')
    expect(arrivals).toEqual(['Right', 'Right', 'Right', 'Right'])
  })

  test('a store behind a server may notice a death late: `kill` waits until it does, and is called once per process', async () => {
    const kills: Array<number> = []
    const spec: StorageSpec<Disk> = {
      ...sampleSpec,
      beside: async (disk) => {
        const { storage, kill } = await beside(disk)
        const process = kills.push(0) - 1
        return {
          storage,
          kill: async () => {
            kills[process] = (kills[process] ?? 0) + 1
            await later(200)
            await kill()
          }
        }
      }
    }
    await conforms(spec, 'CS-PROC')
    expect(kills.filter((count) => count !== 1)).toEqual([])
    expect(kills.length).toBeGreaterThan(5)
  })
})

/** Stores with one flaw each, for authors of cases or kits: they show that a case finds something. */
import type { Disk } from './Disk.js'
import { behind, make } from './Disk.js'
import { overNetwork } from './Network.js'
import { stallGate } from '../../../src/testing/conformance/Gate.js'
import { capabilities } from '../../../src/testing/conformance/Spec.js'
import type { StorageSpec } from '../../../src/testing/conformance/Spec.js'
import type { Flaw } from './flaws.js'
import { KILLED_BY } from './flaws.js'
import { sampleStorage } from './sample.js'
import { newerText, swapTexts } from './sampleTexts.js'

export type { Disk, Processes } from './Disk.js'
export type { Flaw } from './flaws.js'
export { KILLED_BY } from './flaws.js'

/** A store with one flaw: the flaw, and the case that names it. */
export interface Mutant {
  readonly flaw: Flaw
  readonly killedBy: string
  readonly spec: StorageSpec<Disk>
}

const specOf = (name: string, flaw?: Flaw, inStatements?: boolean): StorageSpec<Disk> => {
  const reopen = (disk: Disk) => {
    disk.processes.killAll()
    return sampleStorage(disk, flaw, { inStatements }).storage
  }
  const networked = (disk: Disk) => {
    const network = overNetwork(disk, flaw === 'waits for a reply for ever')
    return { ...network, storage: reopen(network.disk) }
  }
  return {
    name,
    create: () => Promise.resolve(make()),
    reopen: (disk) => Promise.resolve(reopen(disk)),
    beside: (disk) => {
      const { storage, process } = sampleStorage(disk, flaw, { inStatements })
      return Promise.resolve({ storage, kill: () => Promise.resolve(disk.processes.kill(process)) })
    },
    damage: ({ texts }, runId) => {
      texts.set(runId, (texts.get(runId) ?? '').replace('"third"', '"thirt"'))
      return Promise.resolve()
    },
    swap: (disk, one, other) => Promise.resolve(swapTexts(disk, one, other)),
    newer: ({ texts }, runId) => {
      texts.set(runId, newerText(runId, texts.get(runId) ?? ''))
      return Promise.resolve()
    },
    digest: ({ texts }, runId) => Promise.resolve(texts.get(runId) ?? ''),
    faulty: (disk) => Promise.resolve({ storage: reopen(disk), fail: disk.fail, heal: disk.heal }),
    undecided: (disk) => Promise.resolve(sampleStorage(disk, flaw, { inStatements, isUnsure: true }).storage),
    stall: (disk) => {
      const gate = stallGate()
      return Promise.resolve({ ...gate, storage: reopen(behind(disk, gate)) })
    },
    lossy: (disk) => Promise.resolve(networked(disk)),
    cut: (disk) => Promise.resolve(networked(disk)),
    rollback: (disk) => {
      let marked = new Map<string, string>()
      return Promise.resolve({
        storage: reopen(disk),
        mark: () => Promise.resolve(void (marked = new Map(disk.texts))),
        rollBack: () => {
          disk.texts.clear()
          for (const [name, text] of marked) disk.texts.set(name, text)
          return Promise.resolve()
        }
      })
    },
    sleeper: (disk) => Promise.resolve(sleeperOn(disk, flaw, inStatements)),
    capabilities
  }
}

const sleeperOn = (disk: Disk, flaw: Flaw | undefined, inStatements: boolean | undefined) => {
  const gate = stallGate()
  const { storage, process, instance } = sampleStorage(behind(disk, gate), flaw, { inStatements })
  return {
    storage,
    sleep: () => {
      gate.hold()
      disk.processes.kill(process)
      instance.hasSlept = true
      return Promise.resolve()
    },
    wake: () => {
      gate.letGo()
      if (flaw !== 'never renews a lease that ran out') disk.processes.revive(process)
    }
  }
}

/** The store of the mutants without a flaw: it passes every case and claims every capability. */
export const sampleSpec: StorageSpec<Disk> = specOf('a sound store')

/**
 * A sound store with one atomic statement for each function, as in a database.
 *
 * @internal
 */
export const statementsSpec: StorageSpec<Disk> = specOf(
  'a sound store with one atomic statement for each function',
  undefined,
  true
)

/** Faulty stores, one for each flaw. The kit fails each of them in the case that names its flaw. */
export const mutants: ReadonlyArray<Mutant> = (Object.keys(KILLED_BY) as ReadonlyArray<Flaw>).map((flaw) => ({
  flaw,
  killedBy: KILLED_BY[flaw],
  spec: specOf(`a store that ${flaw}`, flaw)
}))

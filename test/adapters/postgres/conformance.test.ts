/** The PostgreSQL store passes the conformance kit, with locks and with leases. */
import { describe, test } from 'vitest'
import type { CheckpointStorage } from '../../../src/ports/CheckpointStorage.js'
import type { StorageSpec } from '../../../src/testing/index.js'
import { conformanceTests, stallGate } from '../../../src/testing/index.js'
import type { Opened, OpenOptions, Place } from './kit.js'
import { destroy, open, place } from './kit.js'
import { sweep } from '../../sweep.js'

/** A process that starts after all others were killed. */
const reopened = async (where: Place, options: OpenOptions = {}): Promise<Opened> => {
  for (const one of where.opened) await one.declareDead()
  return open(where, options)
}

const runQuery = async (where: Place, text: string, ...values: ReadonlyArray<unknown>) =>
  (await where.admin.query<Record<string, string | null>>(text.replaceAll('$schema', where.schema), [...values])).rows

const faulty = async (where: Place, options: OpenOptions) => {
  let failing: { readonly pattern: RegExp; readonly code: string; after: number } | undefined
  const around = (text: string): Promise<void> | undefined => {
    if (failing === undefined || !failing.pattern.test(text) || failing.after-- > 0) return undefined
    return Promise.reject(Object.assign(new Error(failing.code), { code: failing.code }))
  }
  const { storage } = await reopened(where, { ...options, around })
  return {
    storage,
    fail: (operation: 'read' | 'write', code: string, after = 0) => {
      failing = { pattern: operation === 'read' ? /SELECT|RETURNING/ : /INSERT|UPDATE|DELETE/, code, after }
    },
    heal: () => {
      failing = undefined
    }
  }
}

const CONTENT = ['epoch', 'kind', 'at', 'change', 'checkpoint', 'checksum']

const specOf = (name: string, options: OpenOptions): StorageSpec<Place> => ({
  name,
  create: () => place(),
  destroy,
  reopen: async (where): Promise<CheckpointStorage> => (await reopened(where, options)).storage,
  beside: (where) => {
    const { storage, declareDead } = open(where, options)
    return Promise.resolve({ storage, kill: declareDead })
  },
  damage: async (where, runId) => {
    await runQuery(
      where,
      `UPDATE $schema.revisions SET change = replace(change, 'third', 'thirt'), checkpoint = replace(checkpoint, 'third', 'thirt')
        WHERE run = $1 AND revision = (SELECT head FROM $schema.runs WHERE id = $1)`,
      runId
    )
  },
  swap: async (where, one, other) => {
    const columns = CONTENT.map((name) => `${name} = o.${name}`).join(', ')
    await runQuery(
      where,
      `UPDATE $schema.revisions v SET ${columns} FROM $schema.revisions o
        WHERE (v.run, v.revision, o.run, o.revision) IN (($1, $2::bigint, $3, $4::bigint), ($3, $4::bigint, $1, $2::bigint))`,
      one.runId,
      one.revision,
      other.runId,
      other.revision
    )
  },
  newer: async (where, runId) => {
    await runQuery(where, 'UPDATE $schema.runs SET format = 2 WHERE id = $1', runId)
  },
  digest: async (where, runId) =>
    JSON.stringify([
      await runQuery(where, 'SELECT * FROM $schema.runs WHERE id = $1', runId),
      await runQuery(where, 'SELECT * FROM $schema.revisions WHERE run = $1 ORDER BY revision', runId)
    ]),
  faulty: (where) => faulty(where, options),
  stall: async (where) => {
    const gate = stallGate()
    const { storage } = await reopened(where, { ...options, around: () => gate.pass() })
    return { ...gate, storage }
  },
  capabilities: ['history', 'large', 'watch', 'processes', 'damage', 'formats', 'faults', 'stalls']
})

conformanceTests({ describe, test }, specOf('the PostgreSQL store', {}))

/** The lease of a living process proves nothing until it runs out. */
const leaseSpec = specOf('the PostgreSQL store with leases', { liveness: 'lease' })

conformanceTests(
  { describe, test },
  {
    ...leaseSpec,
    undecided: (where) => Promise.resolve(open(where, { liveness: 'lease' }).storage),
    capabilities: [...leaseSpec.capabilities, 'takeOver']
  },
  sweep ? {} : { only: ['CS-CLAIM', 'CS-FENCE', 'CS-TAKE'], levels: ['core', 'capability'] }
)

// A process that runs ten steps in PostgreSQL, and says what it does. Step `hangAt` never ends.
import { hostname } from 'node:os'
import pg from 'pg'
import { postgresStorage } from '../../../../src/adapters/postgres/index.ts'
import { runOrResume, workflow } from '../../../../src/promise/index.ts'

const { host, port, schema, runIds, hangAt = -1, owner, liveness, clockAheadMillis = 0 } = JSON.parse(process.argv[2])

const Real = Date
globalThis.Date = class extends Real {
  constructor(...given) {
    super(...(given.length === 0 ? [Real.now() + clockAheadMillis] : given))
  }

  static now() {
    return Real.now() + clockAheadMillis
  }
}

const pool = new pg.Pool({ host, port, user: 'postgres', max: 2, allowExitOnIdle: true })
const leased = { liveness, leaseMillis: 1_000 }
const store = postgresStorage(pool, { schema, checkIntervalMillis: 100, ...(liveness === 'lease' ? leased : {}) })
/** As on a host of that name. */
const claim = (runId, { pid }, options) => store.claim(runId, { host: owner ?? hostname(), pid }, options)
const storage = { ...store, claim }
const say = (message) => process.send?.(message)

const step = (runId, n) => async () => {
  say({ step: n, runId })
  if (n === hangAt) await new Promise((resolve) => setTimeout(resolve, 600_000))
  await pool.query(`INSERT INTO ${schema}.done (run, step, by) VALUES ($1, $2, $3)`, [runId, n, owner ?? hostname()])
  return n
}

const tenSteps = (runId) => {
  let flow = workflow('ten')
  for (let n = 0; n < 10; n++) flow = flow.step(`step-${n}`, step(runId, n))
  return flow
}

for (const runId of runIds) {
  try {
    await runOrResume(tenSteps(runId), { id: runId, storage })
    say({ ended: runId })
  } catch (error) {
    say({ failed: runId, message: String(error.message) })
  }
}
say({ over: true })
process.disconnect?.()

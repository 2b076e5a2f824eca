/** The kit finds faulty stores: the case that names its flaw fails each mutant. */
import assert from 'node:assert/strict'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import type { Faulty } from '../../../src/testing/index.js'
import { checkpointStorageCases, conformanceTests, runConformance } from '../../../src/testing/index.js'
import { mutants, sampleSpec } from '../mutants/index.js'
import type { Disk } from '../mutants/index.js'
import { statementsSpec } from '../mutants/index.js'

const sweep = process.env['DOGEAR_SWEEP'] === '1'

conformanceTests({ describe, test }, sampleSpec, { levels: ['core', 'capability'] })
conformanceTests({ describe, test }, statementsSpec, { levels: ['core', 'capability'] })

/** Cases that alone detect some mutant. */
const FINDS_ALONE = [
  ...['CS-TRIP-21', 'CS-TRIP-22', 'CS-TRIP-23', 'CS-ID-09', 'CS-CLAIM-16', 'CS-CLAIM-18', 'CS-CLAIM-19', 'CS-CLAIM-20'],
  ...['CS-HIST-07', 'CS-HIST-08', 'CS-DAMAGE-05', 'CS-DAMAGE-06', 'CS-DAMAGE-07', 'CS-DAMAGE-08', 'CS-DAMAGE-09'],
  ...['CS-ERROR-07', 'CS-ERROR-08', 'CS-ERROR-09', 'CS-PROC-07'],
  ...['CS-STALL-01', 'CS-STALL-02', 'CS-STALL-03', 'CS-STALL-04', 'CS-STALL-05']
]

/** A fault tool for which the single statement of a claim is only a write, so that a failing read does not fail it. */
const claimingFaulty = async (disk: Disk): Promise<Faulty> => {
  const { storage, fail, heal } = (await statementsSpec.faulty?.(disk)) ?? assert.fail()
  let failing: Parameters<typeof fail> | undefined
  return {
    storage: {
      ...storage,
      claim: (runId, owner, options) => async () => {
        if (failing?.[0] === 'read') heal()
        const claimed = await storage.claim(runId, owner, options)()
        if (failing?.[0] === 'read') fail(...failing)
        return claimed
      }
    },
    fail: (...args) => {
      failing = args
      fail(...args)
    },
    heal: () => {
      failing = undefined
      heal()
    }
  }
}

describe('the kit', () => {
  test.each(mutants)('$killedBy fails a store that $flaw', async ({ killedBy, spec }) => {
    const { results } = await runConformance(spec, { only: [killedBy], limitMillis: 5_000 })
    assert.deepEqual(
      results.map(({ id, outcome }) => [id, outcome._tag]),
      [[killedBy, 'Failed']]
    )
  })

  test('CS-ERROR-01 fails if a claim is granted while reads fail, and says so', async () => {
    const { results } = await runConformance({ ...statementsSpec, faulty: claimingFaulty }, { only: ['CS-ERROR'] })
    assert.deepEqual(
      results.flatMap(({ id, outcome }) => (outcome._tag === 'Failed' ? [id, outcome.why.split(': ')[0]] : [])),
      ['CS-ERROR-01', 'a claim while reads fail']
    )
  })

  test('CS-TRIP-18 leaves the shared `none` of fp-ts unchanged, which a faulty store may return', async () => {
    const { spec } = mutants.find(({ flaw }) => flaw === 'lists every run as free') ?? assert.fail()
    await runConformance(spec, { only: ['CS-TRIP-18'] })
    assert.deepEqual({ ...O.none }, { _tag: 'None' })
  })

  test('each case has its own valid id', () => {
    const ids = checkpointStorageCases.map(({ id }) => id)
    assert.deepEqual(ids, [...new Set(ids)])
    for (const id of ids) assert.match(id, /^CS-[A-Z]+-\d\d$/)
  })

  test.runIf(sweep)('a complete run fails every mutant', async () => {
    const alone = new Set<string>()
    const levelOf = new Map(checkpointStorageCases.map(({ id, level }) => [id, level]))
    for (const { flaw, killedBy, spec } of mutants.filter((one) => levelOf.get(one.killedBy) !== 'stress')) {
      const { results } = await runConformance(spec, { levels: ['core', 'capability'], limitMillis: 10_000 })
      const failed = results.filter(({ outcome }) => outcome._tag === 'Failed').map(({ id }) => id)
      assert.ok(failed.includes(killedBy), `${flaw}: ${failed.join(', ')}`)
      if (failed.length === 1) alone.add(killedBy)
    }
    assert.deepEqual(
      FINDS_ALONE.filter((id) => !alone.has(id)),
      []
    )
  })
})

/** The kit finds what is wrong: each mutant dies, by the case that names its flaw. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  checkpointStorageCases,
  conformanceTests,
  mutants,
  runConformance,
  sampleSpec
} from '../../../src/testing/index.js'

const sweep = process.env['DOGEAR_SWEEP'] === '1'

conformanceTests({ describe, test }, sampleSpec, { levels: ['core', 'capability'] })

describe('the kit', () => {
  test.each(mutants)('kills the store that $flaw, by $killedBy', async ({ killedBy, spec }) => {
    const { results } = await runConformance(spec, { only: [killedBy], limitMillis: 5_000 })
    assert.deepEqual(
      results.map(({ id, outcome }) => [id, outcome._tag]),
      [[killedBy, 'Failed']]
    )
  })

  test('has no two cases of one id, and each id is of its form', () => {
    const ids = checkpointStorageCases.map(({ id }) => id)
    assert.deepEqual(ids, [...new Set(ids)])
    for (const id of ids) assert.match(id, /^CS-[A-Z]+-\d\d$/)
  })

  test.runIf(sweep)('kills every mutant in a whole run too', async () => {
    const levelOf = new Map(checkpointStorageCases.map(({ id, level }) => [id, level]))
    for (const { flaw, killedBy, spec } of mutants.filter((one) => levelOf.get(one.killedBy) !== 'stress')) {
      const { results } = await runConformance(spec, { levels: ['core', 'capability'], limitMillis: 10_000 })
      const failed = results.filter(({ outcome }) => outcome._tag === 'Failed').map(({ id }) => id)
      assert.ok(failed.includes(killedBy), `${flaw}: ${failed.join(', ')}`)
    }
  })
})

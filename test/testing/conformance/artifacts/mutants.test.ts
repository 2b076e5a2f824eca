/** The kit finds faulty artifact stores: the case that names its flaw fails each mutant. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  artifactConformanceTests,
  artifactStoreCases,
  ConformanceReport,
  runArtifactConformance
} from '../../../../src/testing/index.js'
import { artifactMutants, sampleArtifactSpec } from '../../mutants/artifacts.js'

artifactConformanceTests({ describe, test }, sampleArtifactSpec)

describe('the kit for artifact stores', () => {
  test.each(artifactMutants)('$killedBy fails a store that $flaw', async ({ killedBy, spec }) => {
    const { results } = await runArtifactConformance(spec, { only: [killedBy], limitMillis: 5_000 })
    assert.deepEqual(
      results.map(({ id, outcome }) => [id, outcome._tag]),
      [[killedBy, 'Failed']]
    )
  })

  test('each case of an artifact store has its own valid id', () => {
    const ids = artifactStoreCases.map(({ id }) => id)
    assert.deepEqual(ids, [...new Set(ids)])
    for (const id of ids) assert.match(id, /^AS-[A-Z]+-\d\d$/)
  })

  test('the kit tests capabilities that the spec does not declare, and suggests those that pass', async () => {
    const { damage: _, ...spec } = { ...sampleArtifactSpec, capabilities: [] }
    const report = await runArtifactConformance(spec)
    assert.deepEqual(report.hints, ['every case for `large` passes: the store could claim it'])
    assert.ok(ConformanceReport.isConformant(report))
    const [first] = (await runArtifactConformance({ ...spec, capabilities: ['damage'] }, { only: ['AS-DAMAGE-01'] }))
      .results
    assert.deepEqual(first?.outcome, { _tag: 'Failed', why: 'claimed, but the spec has no `damage`' })
  })

  test('a failure names the call of the store', async () => {
    const broken =
      artifactMutants.find(({ flaw }) => flaw === 'reports a missing artifact as an error') ?? assert.fail()
    const { results } = await runArtifactConformance(broken.spec, { only: ['AS-NONE-01'] })
    const [outcome] = results.map((one) => one.outcome)
    assert.ok(outcome?._tag === 'Failed')
    assert.match(outcome.why, /^get\("a", "x"\): expected success/)
  })
})

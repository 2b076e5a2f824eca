/** The stores and the model say the same; the mutants and the model do not. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { memoryData, memoryStorage } from '../../src/adapters/memory.js'
import { checkModel, ModelReport, mutants, sampleSpec } from '../../src/testing/index.js'
import { jsonFileSpec } from './conformance/jsonFile.js'

const sweep = process.env['DOGEAR_SWEEP'] === '1'
const seed = Number(process.env['DOGEAR_SEED'] ?? (sweep ? Date.now() & 0x3fffffff : 186))

const memorySpec = {
  name: 'the memory store',
  create: () => Promise.resolve(memoryData()),
  reopen: (data: ReturnType<typeof memoryData>) => Promise.resolve(memoryStorage(data)),
  capabilities: ['history', 'large', 'watch'] as const
}

const assertPasses = (report: ModelReport.ModelReport): void =>
  assert.equal(report._tag, 'Passed', ModelReport.toText(report))

describe('on random commands of several clients', () => {
  test('the memory store is as the model has it', async () => {
    assertPasses(await checkModel(memorySpec, { seed, numRuns: sweep ? 20_000 : 600 }))
  })

  test('the JSON file store is as the model has it', async () => {
    assertPasses(await checkModel(jsonFileSpec, { seed, numRuns: sweep ? 2_000 : 100 }))
  })

  test('the store that the mutants are made of is as the model has it', async () => {
    assertPasses(await checkModel(sampleSpec, { seed, numRuns: sweep ? 5_000 : 30 }))
  })
})

/** What shows only with content that the commands have not, or below the store, or in time. */
const UNSEEN = [
  'folds the case of ids',
  'loses keys that objects have',
  'mends lone surrogates',
  'makes dates of texts',
  'begins before it is asked to',
  'grants two claims at once',
  'looks at the first revision of a save only',
  'writes the revisions of a save one by one',
  'does not look whether content is damaged',
  'takes damaged content for none',
  'lists nothing if one run is damaged',
  'reads newer formats',
  'takes what it can not read for nothing',
  'falls back to something older when it can not read',
  'swallows errors',
  'gives away the history that it keeps',
  'calls what is too large a failed write',
  'takes ids for patterns',
  'keeps its locks among the runs',
  'cuts hosts at a colon',
  'takes silent owners for dead',
  'looks at its claim before its turn',
  'writes no more than a hundred revisions at once',
  'fails where two remove at once',
  'looks who holds a run before it is its turn to remove',
  'removes what it can not read'
]

describe('the model', () => {
  test.each(mutants.filter(({ flaw }) => !UNSEEN.includes(flaw)))('finds that a store $flaw', async ({ spec }) => {
    const report = await checkModel(spec, { seed: 186, numRuns: 2_000 })
    assert.ok(report._tag === 'Failed', 'it passed')
    assert.ok(report.commands.length <= 10, ModelReport.toText(report))
    const again = await checkModel(spec, { seed: report.seed, path: report.path })
    assert.deepEqual(again._tag === 'Failed' && again.commands, report.commands)
  })
})

describe('a store that does not answer', () => {
  const hanging = {
    ...memorySpec,
    reopen: (data: ReturnType<typeof memoryData>) => {
      const storage = memoryStorage(data)
      return Promise.resolve({ ...storage, release: () => () => new Promise<never>(() => undefined) })
    }
  }

  test('is told by the command that did not end, and the same one is seen again', async () => {
    const report = await checkModel(hanging, { seed: 186, limitMillis: 100 })
    assert.ok(report._tag === 'Failed', 'it passed')
    assert.equal(report.commands.at(-1)?._tag, 'Release')
    assert.match(report.why, /^Release claim=\d+ did not end within 100 ms$/)
    const again = await checkModel(hanging, { seed: report.seed, path: report.path, limitMillis: 100 })
    assert.deepEqual(again, report)
  })
})

test('a report of other lengths than usual says how long', async () => {
  const [mutant] = mutants.filter(({ flaw }) => flaw === 'takes every owner for dead')
  const report = await checkModel(mutant?.spec ?? assert.fail(), { seed: 186, maxCommands: 5 })
  assert.match(ModelReport.toText(report), /To see it again: \{ seed: 186, path: '[\d:]+', maxCommands: 5 \}$/)
})

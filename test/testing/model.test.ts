/** The stores and the model say the same; the mutants and the model do not. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { memoryData, memoryStorage } from '../../src/adapters/memory.js'
import { checkModel, ModelReport } from '../../src/testing/index.js'
import { mutants, sampleSpec } from './mutants/index.js'
import { seed, sweep } from '../sweep.js'
import { jsonFileSpec } from './conformance/jsonFile.js'

const memorySpec = {
  name: 'the memory store',
  create: () => Promise.resolve(memoryData()),
  reopen: (data: ReturnType<typeof memoryData>) => Promise.resolve(memoryStorage(data)),
  capabilities: ['history', 'large', 'watch'] as const
}

const assertPasses = (report: ModelReport): void => assert.equal(report._tag, 'Passed', ModelReport.toText(report))

describe('on random commands of several clients', () => {
  test('the memory store is as the model has it', async () => {
    assertPasses(await checkModel(memorySpec, { seed, numRuns: sweep ? 20_000 : 300 }))
  })

  test('the JSON file store is as the model has it', async () => {
    assertPasses(await checkModel(jsonFileSpec, { seed, numRuns: sweep ? 2_000 : 30 }))
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
  'removes what it can not read',
  'composes characters',
  'rewrites times',
  'drops trailing zeros of times',
  'cuts texts after twelve million characters',
  'takes what looks like an id for that id',
  'reports another since at each look',
  'moves since at each save',
  'renews no lease',
  'renews no lease that other processes look at',
  'believes its memory of a claim',
  'keeps the times of its history as dates',
  'drops trailing zeros of the times of its history',
  'prunes before it writes',
  'keeps damaged revisions behind new ones',
  'can not remove a damaged run',
  'removes a damaged run that is held',
  'signs revisions without their run',
  'signs the first revision without its run',
  'signs revisions without their number',
  'holds a run whose release failed',
  'shows a save that failed',
  'counts a save that failed',
  'keeps a part of a save that failed',
  'begins a page with the run that it follows',
  'lists nothing after a run that does not exist',
  'cuts a listing before it skips',
  'orders a page as people do',
  'lists more than was asked',
  'summarizes what is left of a damaged run',
  'does not say whether a failed save is stored',
  'says that nothing of a failed save is stored, and stores it',
  'takes over from owners that live',
  'takes over only what somebody holds',
  'takes undecided owners for dead',
  'says that undecided owners live',
  'does not take over',
  'shares a run with the owner that it takes it from',
  'takes over from itself',
  'checks its claim in a statement before the save',
  'loads in two statements',
  'draws an epoch in a statement before the claim',
  'reads what is stored in a statement before the claim',
  'looks who holds a run in a statement before the claim',
  'looks who holds a run in a statement before the removal',
  'checks its claim in a statement before the release'
]

/** Where to begin: each try of such a store waits, so `npm test` leaves out most of the shrinking. */
const BEGIN_AT = new Map(sweep ? [] : [['lets saves overtake one another', '36:1:1:0:0:2:12:14:19:20']])

describe('the model', () => {
  test.each(mutants.filter(({ flaw }) => !UNSEEN.includes(flaw)))(
    'finds that a store $flaw',
    async ({ flaw, spec }) => {
      const path = BEGIN_AT.get(flaw)
      const begin = path === undefined ? {} : { path }
      const report = await checkModel(spec, { seed: 186, numRuns: 2_000, ...begin })
      assert.ok(report._tag === 'Failed', 'it passed')
      assert.ok(report.commands.length <= 10, ModelReport.toText(report))
      const again = await checkModel(spec, { seed: report.seed, path: report.path })
      assert.deepEqual(again._tag === 'Failed' && again.commands, report.commands)
    }
  )
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
  assert.match(ModelReport.toText(report), /Repeat with: \{ seed: 186, path: '[\d:]+', maxCommands: 5 \}$/)
})

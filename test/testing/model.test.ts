/** The stores agree with the model; the mutants do not. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { memoryData, memoryStorage } from '../../src/adapters/memory.js'
import { checkModel, ModelReport } from '../../src/testing/index.js'
import { mutants, sampleSpec } from './mutants/index.js'
import { NETWORK_KILLED_BY } from './mutants/networkFlaws.js'
import { seed, sweep } from '../sweep.js'
import { jsonFileSpec } from './conformance/jsonFile.js'

const memorySpec = {
  name: 'the memory store',
  create: () => Promise.resolve(memoryData()),
  reopen: (data: ReturnType<typeof memoryData>) => Promise.resolve(memoryStorage(data)),
  capabilities: ['history', 'large', 'watch'] as const
}

const assertPasses = (report: ModelReport): void => assert.equal(report._tag, 'Passed', ModelReport.toText(report))

describe('random commands of several clients', () => {
  test('the memory store agrees with the model', async () => {
    assertPasses(await checkModel(memorySpec, { seed, numRuns: sweep ? 20_000 : 300 }))
  })

  test('the JSON file store agrees with the model', async () => {
    assertPasses(await checkModel(jsonFileSpec, { seed, numRuns: sweep ? 2_000 : 30 }))
  })

  test('the sample store of the mutants agrees with the model', async () => {
    assertPasses(await checkModel(sampleSpec, { seed, numRuns: sweep ? 5_000 : 30 }))
  })
})

/** Flaws that show only with content that the commands lack, or below the store, or over time, or behind a network. */
const UNSEEN: ReadonlyArray<string> = [
  ...Object.keys(NETWORK_KILLED_BY),
  'folds the case of ids',
  'loses keys such as __proto__',
  'replaces lone surrogates',
  'parses strings as dates',
  'starts before its TaskEither is executed',
  'grants two claims at once',
  'checks only the first revision of a save',
  'writes the revisions of a save one by one',
  'does not detect damaged content',
  'treats damaged content as missing',
  'lists nothing if one run is damaged',
  'reads newer formats',
  'treats unreadable content as missing',
  'returns an older revision if a read fails',
  'swallows errors',
  'returns its own history objects',
  'reports a too large checkpoint as WriteFailed',
  'treats ids as patterns',
  'keeps its locks among the runs',
  'cuts host names at a colon',
  'treats silent owners as dead',
  'checks its claim before it has the lock',
  'writes no more than a hundred revisions at once',
  'fails if two processes remove at once',
  'checks the holder before it has the lock to remove',
  'compares only the number of the revision that a removal names',
  'checks the revision before it has the lock to remove',
  'removes an unreadable run',
  'composes characters',
  'rewrites times',
  'drops trailing zeros of times',
  'truncates strings after twelve million characters',
  'checks its limit only at the first save of a claim',
  'counts characters against its limit after the first save of a claim',
  'treats similar ids as equal',
  'reports a new `since` at each load',
  'changes `since` at each save',
  'renews no lease',
  'renews no lease that other processes read',
  'trusts its cached claim',
  'keeps the times of its history as dates',
  'drops trailing zeros of the times of its history',
  'prunes before it writes',
  'keeps damaged revisions behind new ones',
  'cannot remove a damaged run',
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
  'applies `limit` before `after`',
  'sorts a page by locale',
  'lists more than was asked',
  'summarizes what is left of a damaged run',
  'does not say whether a failed save is stored',
  'says that nothing of a failed save is stored, and stores it',
  'takes over from owners that live',
  'takes over only held runs',
  'treats undecided owners as dead',
  'reports undecided owners as alive',
  'does not take over',
  'lets the superseded owner go on writing',
  'takes over from itself',
  'checks its claim in a statement before the save',
  'loads in two statements',
  'draws an epoch in a statement before the claim',
  'reads what is stored in a statement before the claim',
  'checks the holder in a statement before the claim',
  'checks the holder in a statement before a removal of any revision',
  'checks the revision in a statement before the removal',
  'checks whose revision it is in a statement before the removal',
  'relies on a dead owner to save no more',
  'checks its claim in a statement before the release'
]

/** Where to begin: each try of such a store waits, so `npm test` omits most of the shrinking. */
const BEGIN_AT = new Map(sweep ? [] : [['lets saves overtake one another', '272:4:0:1:7:9:13:17:17:20:17:21']])

describe('the model', () => {
  test.each(mutants.filter(({ flaw }) => !UNSEEN.includes(flaw)))(
    'the model finds a store that $flaw',
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

  test('a store that does not answer is reported with the command that hung, and the seed and path repeat the report', async () => {
    const report = await checkModel(hanging, { seed: 186, limitMillis: 100 })
    assert.ok(report._tag === 'Failed', 'it passed')
    assert.equal(report.commands.at(-1)?._tag, 'Release')
    assert.match(report.why, /^Release claim=\d+ \(in flight: release\(claim \d+ of .*\)\) did not end within 100 ms$/)
    const again = await checkModel(hanging, { seed: report.seed, path: report.path, limitMillis: 100 })
    assert.deepEqual(again, report)
  })
})

test('the options with which a report says to repeat a case include a maxCommands that is not the default', async () => {
  const [mutant] = mutants.filter(({ flaw }) => flaw === 'treats every owner as dead')
  const report = await checkModel(mutant?.spec ?? assert.fail(), { seed: 186, maxCommands: 5 })
  assert.match(ModelReport.toText(report), /Repeat with: \{ seed: 186, path: '[\d:]+', maxCommands: 5 \}$/)
})

/** Files of format 1 stay readable, and files written today have format 1. */
import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import { nodeProcesses } from '../../../src/adapters/json-file/claim/Processes.js'
import type { Json } from '../../../src/domain/data/Json.js'
import { claimed, OTHER, revisions, right, seed, some } from '../../../src/testing/conformance/fixtures.js'
import { digestOf, folder, next, placesOf, work } from './kit.js'

const golden = fileURLToPath(new URL('../../golden/json-file/format-1', import.meta.url))

const TAGS = ['Started', 'AttemptStarted', 'UnitCompleted', 'AttemptStarted', 'UnitFailed', 'Confirmed']

/** The revision of each run, and that of its newest whole checkpoint. */
const RUNS: Record<string, { readonly newest: number; readonly base: number }> = {
  'at-rest': { newest: 4, base: 4 },
  compacted: { newest: 5, base: 3 },
  killed: { newest: 4, base: 0 }
}

const copyOfGolden = (): string => {
  const root = folder()
  cpSync(golden, root, { recursive: true })
  return root
}

describe('the golden files of format 1', () => {
  for (const [runId, { newest, base }] of Object.entries(RUNS)) {
    test(`every revision of the run "${runId}" loads exactly, and nothing is written`, async () => {
      const before = digestOf(golden)
      const storage = next(golden)
      const stored = some(await right(storage.load(runId)))
      assert.deepEqual(stored.found, { _tag: 'Exact' })
      assert.deepEqual([stored.revision, stored.changes.length], [newest, newest - base])
      const { applied, ...checkpoint } = stored.checkpoint as { readonly applied: ReadonlyArray<string> }
      assert.deepEqual(applied, TAGS.slice(0, base + 1))
      assert.deepEqual(checkpoint, { format: 1, runId, revision: base, state: { _tag: 'BeforeStep', stepIndex: 1 } })
      const history = await right(storage.history(runId))
      assert.deepEqual(
        history.map(({ revision, change, at }) => [revision, change, at.slice(0, 10)]),
        TAGS.slice(0, newest + 1)
          .map((tag, revision) => [revision, tag, '2026-01-02'])
          .reverse()
      )
      for (const { revision } of history) {
        const one = some(await right(storage.loadRevision(runId, revision)))
        const tags = [
          ...(one.checkpoint as { readonly applied: ReadonlyArray<string> }).applied,
          ...one.changes.map((change) => (change as { readonly _tag: string })._tag)
        ]
        assert.deepEqual(tags, TAGS.slice(0, revision + 1))
      }
      assert.equal(digestOf(golden), before)
    })

    test(`the run ${runId} can be continued`, async () => {
      const root = copyOfGolden()
      // The process that wrote it is long dead.
      const storage = next(root, { processes: { self: nodeProcesses.self, isAlive: () => false } })
      const { claim, stored } = await right(storage.claim(runId, OTHER))
      assert.equal(some(stored).revision, newest)
      const payloads = Array.from({ length: newest + 2 }, (_, index) => index)
      await right(storage.save(claim, revisions(payloads)))
      assert.equal(some(await right(next(root).load(runId))).revision, newest + 1)
    })
  }

  test('a run that was only claimed has no checkpoint', async () => {
    assert.deepEqual(await right(next(golden).load('claimed-only')), O.none)
  })

  test('the golden files still load with the values that were saved', async () => {
    const { changes } = some(await right(next(golden).load('killed')))
    assert.deepEqual((changes[1] as { readonly output: Json }).output, {
      version: '1.2.3',
      nested: [null, true, -0.5, "\u2028 'quotes' \"\\"]
    })
  })

  test('a run loads from checkpoint.json alone', async () => {
    for (const runId of ['at-rest', 'compacted']) {
      const root = folder()
      cpSync(join(golden, 'runs', runId, 'checkpoint.json'), join(root, 'runs', runId, 'checkpoint.json'))
      const stored = some(await right(next(root).load(runId)))
      assert.deepEqual([stored.revision, stored.found._tag], [RUNS[runId]?.newest, 'Recovered'])
    }
  })
})

/** The keys of each line, in their order. */
const shapeOf = (text: string): ReadonlyArray<string> =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => {
      const fields = JSON.parse(line) as Record<string, unknown>
      return [fields['kind'], ...Object.keys(fields)].join(' ')
    })

const shapesIn = (root: string): ReadonlyArray<string> =>
  [
    ...new Set(
      readdirSync(join(root, 'runs'), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.jsonl'))
        .flatMap((name) => shapeOf(readFileSync(join(root, 'runs', name), 'utf8')))
    )
  ].sort()

test('written files have the fields of format 1 in their order', async () => {
  const root = folder()
  await seed(next(root), 'a', [1, 2])
  const storage = next(root, { limits: { compactBytes: 0 } })
  const claim = await work(storage, [3, 4, 5, 6, 7, 8], [1, 2])
  await right(storage.release(claim))
  await right(storage.release(await claimed(storage, 'b')))
  const known = shapesIn(golden)
  for (const shape of shapesIn(root)) assert.ok(known.includes(shape) || shape.startsWith('released'), shape)
  const kindsOf = (shapes: ReadonlyArray<string>) => [...new Set(shapes.map((shape) => shape.split(' ')[0]))].sort()
  assert.deepEqual(kindsOf(shapesIn(root)), kindsOf(known))
})

test('a run of a newer format is refused, and nothing older is used in its place', async () => {
  const root = copyOfGolden()
  const path = join(placesOf(root, 'at-rest').history, 'e000003.jsonl')
  const { hash } = await import('node:crypto')
  const body = '"kind":"claim","format":2,"anything":"else"}'
  writeFileSync(path, `{"sum":"${hash('sha256', body, 'hex').slice(0, 32)}",${body}\n`)
  const before = digestOf(root)
  for (const act of [next(root).load('at-rest'), next(root).claim('at-rest', OTHER), next(root).remove('at-rest')]) {
    const result = await act()
    assert.ok(E.isLeft(result) && result.left._tag === 'UnsupportedFormat', JSON.stringify(result))
    assert.deepEqual([result.left.found, result.left.supported, result.left.where], [2, 1, path])
  }
  assert.equal(digestOf(root), before)
})

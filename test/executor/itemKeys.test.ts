/** The key of an item may be any string: its unit has the escaped key in its path. */
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { nameOf } from '../../src/domain/workflow/Unit.js'
import { answer, planRun, resume, runOutcome, workflow } from '../../src/promise/index.js'

const KEYS = ['a b', 'a/b', '100 %', '#2', 'ж', '..', ' ', 'x'.repeat(512)]

const crawl = (seen: Array<string>, failing?: string) =>
  workflow('crawl').map('pages', { forEach: () => KEYS, key: (key) => key }, ({ item, itemKey, unit }) => {
    if (item === failing) return Promise.reject(new Error('no'))
    seen.push(nameOf(unit))
    return Promise.resolve(`${itemKey} is done`)
  })

test('the key of an item may be any string, and fromStep accepts its escaped path', async () => {
  const options = { id: 'r', storage: memoryStorage() }
  const seen: Array<string> = []
  assert.equal((await runOutcome(crawl(seen, 'a/b'), options))._tag, 'Failed')
  const outputs = await resume(crawl(seen), options)
  assert.deepEqual(
    outputs.pages,
    KEYS.map((key) => `${key} is done`)
  )
  assert.deepEqual([...seen].sort(), [...KEYS].sort())
  const { plan } = await planRun(crawl(seen), { ...options, fromStep: 'pages/a%20b' })
  const again = plan.decisions.filter(({ _tag }) => _tag === 'Run').map(({ unit }) => unit)
  assert.ok(again.includes('pages/a%20b') && !again.includes('pages/a%2Fb'), JSON.stringify(again))
})

test('a path with an unescaped item key is refused, and the error shows the escaped path', async () => {
  const options = { id: 'r', storage: memoryStorage() }
  const seen: Array<string> = []
  await runOutcome(crawl(seen), options)
  seen.splice(0)
  const outcome = await runOutcome(crawl(seen), { ...options, fromStep: 'pages/a b' })
  assert.match(outcome._tag === 'Refused' ? outcome.message : outcome._tag, /"pages\/a b" not found.*"pages\/a%20b"/)
  assert.deepEqual(seen, [])
})

test('an answer to a path with an unescaped item key is refused, and the error shows the escaped path', async () => {
  const options = { id: 'r', storage: memoryStorage() }
  const sign = workflow('sign').map('pages', { forEach: () => KEYS, key: (key) => key }, { waitFor: {} })
  await runOutcome(sign, options)
  await assert.rejects(answer({ ...options, unit: 'pages/a b', value: 1 }), /Cannot answer "pages\/a b" .*pages\/a%20b/)
  assert.ok(await answer({ ...options, unit: 'pages/a%20b', value: 1 }))
})

test.each([
  ['an empty key', ''],
  ['a key of 513 characters', 'x'.repeat(513)]
])('%s fails the map, and the error says which keys are valid', async (_, key) => {
  const program = workflow('crawl').map('pages', { forEach: () => [1], key: () => key }, () => 1)
  const outcome = await runOutcome(program, { id: 'r', storage: memoryStorage() })
  assert.match(outcome._tag === 'Failed' ? (outcome.failures[0]?.error.message ?? '') : '', /1 to 512 characters/)
})

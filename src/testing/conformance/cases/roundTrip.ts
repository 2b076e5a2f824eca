/** Cases about loading what was saved. */
import { strict as assert } from 'node:assert'
import * as O from 'fp-ts/lib/Option.js'
import type { Json } from '../../../domain/data/Json.js'
import type { Stored } from '../../../ports/CheckpointStorage.js'
import type { CaseContext, ConformanceCase } from '../Case.js'
import { conformanceCase } from '../Case.js'
import { assertSame, inWords } from '../difference.js'
import {
  answerOf,
  assertHolds,
  assertListing,
  assertLoads,
  begun,
  claimed,
  left,
  OTHER,
  OWNER,
  revisions,
  right,
  seed,
  some
} from '../fixtures.js'
import type { Capability } from '../Spec.js'

const nested = (levels: number): Json => Array.from({ length: levels }).reduce<Json>((inner) => [inner], 'x')

/** Each value is saved in a checkpoint and in a change, and loaded by the same instance and by the next. */
const PAYLOADS: ReadonlyArray<readonly [id: string, title: string, payload: Json, needs?: ReadonlyArray<Capability>]> =
  [
    ['CS-TRIP-02', 'characters of every length', 'é 漢 👩‍👩‍👧 \u{10FFFF} \uFEFF'],
    ['CS-TRIP-03', 'NUL and other control characters', '\0\u0001\b\t\n\r\u001b\u007f\u2028\u2029'],
    ['CS-TRIP-04', 'lone surrogates', ['\ud800', 'x\udfff', '\udc00\ud800']],
    [
      'CS-TRIP-05',
      'keys such as __proto__, and the empty key',
      JSON.parse(
        '{"__proto__":{"polluted":true},"constructor":1,"toString":null,"hasOwnProperty":[],"":"empty"}'
      ) as Json
    ],
    ['CS-TRIP-06', 'numbers at the edge', [0, 5e-324, -1.7976931348623157e308, 9007199254740991, 0.1]],
    ['CS-TRIP-07', 'null, empty and nested values', [null, {}, [], [[]], { a: { b: { c: [{}] } } }, true, false, '']],
    ['CS-TRIP-08', 'a value 400 levels deep', nested(400)],
    ['CS-TRIP-09', 'a string of a million characters', 'x'.repeat(1_000_000), ['large']],
    [
      'CS-TRIP-10',
      'strings that look like dates, numbers or other types',
      ['2026-01-02T03:04:05.678Z', '2026-01-02', '12', '1e3', 'true', 'null', '{"a":1}', '[]', '0x10', '']
    ],
    ['CS-TRIP-11', 'keys and strings that look like paths, quotes or lines', { 'a.b': "'", 'a/b\n': '";--', $: '\\' }],
    [
      'CS-TRIP-21',
      'decomposed and composed characters, in strings and in keys',
      [{ 'e\u0301': 'e\u0301', '\u00e9': '\u00e9' }, 'A\u030a \u00c5 \u212b', '\u1100\u1161 \uac00', '\ufb01 fi']
    ],
    [
      'CS-TRIP-22',
      'times without milliseconds, with trailing zeros, with more digits, and in another zone',
      [
        '2026-01-02T03:04:05Z',
        '2026-01-02T03:04:05.6Z',
        '2026-01-02T03:04:05.000Z',
        '2026-01-02T03:04:05.670Z',
        '2026-01-02T03:04:05.678901Z',
        '2026-01-02T03:04:05+01:00',
        '2026-01-02 03:04:05'
      ]
    ],
    ['CS-TRIP-23', 'a string of 13 million characters', 'x'.repeat(13_000_000), ['large']]
  ]

const MEGABYTE = 1_000_000

export const roundTripCases: ReadonlyArray<ConformanceCase> = [
  conformanceCase(
    'CS-TRIP-01',
    'an unknown run has no checkpoint, no history and no revisions',
    async ({ storage }) => {
      await assertLoads(storage, 'unknown', [])
      assertSame(await right(storage.history('unknown')), [], 'the history of an unknown run')
      assertSame(await right(storage.loadRevision('unknown', 0)), O.none, 'revision 0 of an unknown run')
      await assertListing(storage, [])
    }
  ),

  ...PAYLOADS.map(([id, title, payload, needs = []]) =>
    conformanceCase(
      id,
      `the store loads ${title} as saved`,
      async ({ storage, reopen }) => {
        await seed(storage, 'a', [payload, payload])
        await assertLoads(storage, 'a', [payload, payload], 'the run loaded by the instance that saved it')
        await assertLoads(await reopen(), 'a', [payload, payload], 'the run loaded by a new instance')
      },
      { needs }
    )
  ),

  conformanceCase('CS-TRIP-12', 'minus zero is loaded as a zero', async ({ storage, reopen }) => {
    const claim = await claimed(storage, 'a')
    await right(storage.save(claim, [{ ...revisions([0])[0], checkpoint: () => [-0] }]))
    const stored = some(await right((await reopen()).load('a')))
    assert.ok(
      Array.isArray(stored.checkpoint) && (stored.checkpoint[0] as number) + 1 === 1,
      `the checkpoint: expected [0], found ${inWords(stored.checkpoint)}`
    )
  }),

  conformanceCase('CS-TRIP-13', 'the store shares no object with what was saved or loaded', notShared),

  conformanceCase('CS-TRIP-14', "the store ignores a checkpoint's own format number", async ({ storage, reopen }) => {
    const claim = await claimed(storage, 'a')
    const [first] = revisions([1])
    await right(storage.save(claim, [{ ...first, checkpoint: () => ({ format: 99, runId: 7 }) }]))
    for (const one of [storage, await reopen()]) {
      assertSame(some(await right(one.load('a'))).checkpoint, { format: 99, runId: 7 }, 'the checkpoint')
    }
  }),

  conformanceCase(
    'CS-TRIP-15',
    'a value of 10 MB is loaded as saved',
    async ({ storage, reopen }) => {
      const payload = 'é'.repeat(5 * MEGABYTE)
      await seed(storage, 'a', [payload, 1])
      await assertLoads(await reopen(), 'a', [payload, 1])
    },
    { needs: ['large'] }
  ),

  conformanceCase(
    'CS-TRIP-16',
    'the run is loaded as saved after each of many large and small saves',
    async ({ storage, reopen }) => {
      const claim = await claimed(storage, 'a')
      const payloads: Array<Json> = []
      for (let n = 0; n < 120; n++) {
        payloads.push(n % 10 === 0 ? 'x'.repeat(100_000) : n)
        await right(storage.save(claim, revisions(payloads)))
        await assertLoads(storage, 'a', payloads)
      }
      await assertLoads(await reopen(), 'a', payloads)
    },
    { needs: ['large'], level: 'stress' }
  ),

  conformanceCase(
    'CS-TRIP-17',
    'a value of 80 MB is stored, or refused as TooLarge with nothing stored',
    (context) => assertStoredOrTooLarge(context, 80),
    { level: 'stress' }
  ),

  conformanceCase(
    'CS-TRIP-18',
    'changing a loaded value, a history or a listing does not affect the store',
    async ({ storage }) => {
      const payloads = [{ items: [{ name: 'kept' }] }, { items: [{ name: 'kept too' }] }]
      const claim = await claimed(storage, 'a')
      await right(storage.save(claim, revisions(payloads, 2)))
      const stored = async () => some(await right(storage.load('a')))
      const revision = async () => some(await right(storage.loadRevision('a', 1)))
      for (const taken of [await stored(), await revision()]) spoil(taken)
      spoil(await right(storage.history('a')))
      spoil(await right(storage.list()))
      assertHolds(await stored(), payloads)
      assertHolds(await revision(), payloads, 'revision 1')
      assertSame((await right(storage.history('a')))[0]?.change, 'UnitCompleted', 'the newest change of the history')
      await assertListing(storage, ['a'])
    }
  ),

  conformanceCase('CS-TRIP-19', 'a value of 10 MB is stored, or refused as TooLarge with nothing stored', (context) =>
    assertStoredOrTooLarge(context, 10)
  ),

  conformanceCase('CS-TRIP-20', 'a string of 100,000 characters is loaded as saved', async ({ storage, reopen }) => {
    const payload = 'x'.repeat(100_000)
    await seed(storage, 'a', [payload, 1])
    await assertLoads(storage, 'a', [payload, 1], 'the run loaded by the instance that saved it')
    await assertLoads(await reopen(), 'a', [payload, 1], 'the run loaded by a new instance')
  }),

  conformanceCase(
    'CS-TRIP-24',
    'a run that grew to 10 MB, or to the limit of the store, can be claimed and saved again',
    (context) => assertGoesOn(context, 10)
  ),

  conformanceCase(
    'CS-TRIP-25',
    'a run that grew to 80 MB, or to the limit of the store, can be claimed and saved again',
    (context) => assertGoesOn(context, 80),
    { level: 'stress' }
  )
]

const assertStoredOrTooLarge = async ({ storage, reopen }: CaseContext, megabytes: number): Promise<void> => {
  const claim = await begun(storage, 'a', [1], OWNER)
  const huge = Array.from({ length: megabytes }, () => 'x'.repeat(MEGABYTE))
  const result = await answerOf(storage.save(claim, revisions([1, huge])))
  if (result._tag === 'Right') return assertLoads(await reopen(), 'a', [1, huge])
  const { runId, bytes, limitBytes, biggest } = await left(() => Promise.resolve(result), 'TooLarge')
  assertSame(runId, 'a', 'the run id in TooLarge')
  assert.ok(bytes > limitBytes, `TooLarge: expected \`bytes\` above \`limitBytes\`, found ${bytes} and ${limitBytes}`)
  assert.ok(Array.isArray(biggest), `\`biggest\` of TooLarge: expected an array, found ${inWords(biggest)}`)
  await assertLoads(storage, 'a', [1])
  await assertLoads(await reopen(), 'a', [1])
}

/** A store that counts characters, or checks its limit late, acknowledges a save that makes the first save of the next claim too large. */
const assertGoesOn = async ({ storage, reopen }: CaseContext, megabytes: number): Promise<void> => {
  const claim = await claimed(storage, 'a')
  const payloads: Array<Json> = []
  for (let length = 1_000; length * BYTES_EACH < (megabytes * MEGABYTE) / 2; length *= 2) {
    const payload = 'あ'.repeat(length)
    const saved = await answerOf(storage.save(claim, revisions([...payloads, payload])))
    if (saved._tag === 'Left') {
      await left(() => Promise.resolve(saved), 'TooLarge')
      break
    }
    payloads.push(payload)
  }
  const later = await reopen()
  const next = await claimed(later, 'a', OTHER)
  payloads.push(1)
  await right(later.save(next, revisions(payloads)))
  await assertLoads(await reopen(), 'a', payloads, 'the run saved by the next claim')
}

/** The bytes of the character in UTF-8. */
const BYTES_EACH = 3

/** Mutates everything mutable. A store may also return frozen values. */
const spoil = (value: unknown): void => {
  if (typeof value !== 'object' || value === null) return
  Object.values(value).forEach(spoil)
  if (Array.isArray(value) && !Object.isFrozen(value)) value.push('added by the taker')
  for (const key of Object.keys(value)) Reflect.set(value, key, 'changed by the taker')
}

async function notShared({ storage }: CaseContext): Promise<void> {
  const payload = { items: ['kept'] }
  const claim = await begun(storage, 'a', [payload])
  await right(storage.save(claim, revisions([payload, payload])))
  payload.items.push('added by the giver')
  const loaded = some(await right(storage.load('a')))
  const taken = JSON.parse(JSON.stringify(loaded)) as Stored
  for (const value of [loaded.checkpoint, ...loaded.changes])
    Object.assign(value as object, { format: 'changed by the taker' })
  assertSame(
    JSON.parse(JSON.stringify(some(await right(storage.load('a'))))),
    taken,
    'the run after its returned value was changed'
  )
  await assertLoads(storage, 'a', [{ items: ['kept'] }, { items: ['kept'] }])
}

/** Cases about loading what was saved. */
import { strict as assert } from 'node:assert'
import type { Json } from '../../../domain/data/Json.js'
import type { Stored } from '../../../ports/CheckpointStorage.js'
import type { Capability } from '../Spec.js'
import type { CaseContext } from '../Case.js'
import { law, lawsOf, stressLaw } from '../Case.js'
import { assertSame, inWords } from '../difference.js'
import { assertHolds, left, OTHER, revisions, right, some } from '../fixtures.js'

const nested = (levels: number): Json => Array.from({ length: levels }).reduce<Json>((inner) => [inner], 'x')

/** Each value is saved in a checkpoint and in a change, and loaded by the same instance and by the next. */
const PAYLOADS: ReadonlyArray<readonly [id: string, title: string, payload: Json, needs?: ReadonlyArray<Capability>]> =
  [
    ['CS-TRIP-02', 'characters of every length', 'é 漢 👩‍👩‍👧 \u{10FFFF} \uFEFF'],
    ['CS-TRIP-03', 'NUL and other control characters', '\0\u0001\b\t\n\r\u001b\u007f\u2028\u2029'],
    ['CS-TRIP-04', 'lone surrogates', ['\ud800', 'x\udfff', '\udc00\ud800']],
    [
      'CS-TRIP-05',
      'keys such as __proto__ and the empty key',
      JSON.parse(
        '{"__proto__":{"polluted":true},"constructor":1,"toString":null,"hasOwnProperty":[],"":"empty"}'
      ) as Json
    ],
    [
      'CS-TRIP-06',
      'the smallest, largest and most precise numbers',
      [0, 5e-324, -1.7976931348623157e308, 9007199254740991, 0.1]
    ],
    ['CS-TRIP-07', 'null, empty and nested values', [null, {}, [], [[]], { a: { b: { c: [{}] } } }, true, false, '']],
    ['CS-TRIP-08', 'a value 400 levels deep', nested(400)],
    ['CS-TRIP-09', 'a string of a million characters', 'x'.repeat(1_000_000), ['large']],
    [
      'CS-TRIP-10',
      'strings that look like dates, numbers or other types',
      ['2026-01-02T03:04:05.678Z', '2026-01-02', '12', '1e3', 'true', 'null', '{"a":1}', '[]', '0x10', '']
    ],
    ['CS-TRIP-11', 'keys and strings that look like paths, quotes or lines', { 'a.b': "'", 'a/b\n': '";--', $: '\\' }],
    ['CS-TRIP-15', 'a value of 10 MB', 'é'.repeat(5_000_000), ['large']],
    ['CS-TRIP-20', 'a string of 100,000 characters', 'x'.repeat(100_000)],
    [
      'CS-TRIP-21',
      'composed and decomposed characters in strings and keys',
      [{ 'e\u0301': 'e\u0301', '\u00e9': '\u00e9' }, 'A\u030a \u00c5 \u212b', '\u1100\u1161 \uac00', '\ufb01 fi']
    ],
    [
      'CS-TRIP-22',
      'times without milliseconds, with trailing zeros, with more digits and in another zone',
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

export const roundTripCases = [
  law('CS-TRIP-01', 'an unknown run has no checkpoint, no history and no revisions', async ({ storage }) => {
    await storage.assertLoads('unknown', [])
    assertSame(await storage.history('unknown'), [], 'the history of an unknown run')
    await storage.assertLoadsRevision('unknown', 0, [], 'revision 0 of an unknown run')
    await storage.assertLists([])
  }),

  ...PAYLOADS.map(([id, title, payload, needs = []]) =>
    lawsOf({ needs })(id, `the store loads ${title} as saved`, async ({ storage, reopen }) => {
      await storage.seed('a', [payload, payload])
      await storage.assertLoads('a', [payload, payload], 'the run loaded by the instance that saved it')
      await (await reopen()).assertLoads('a', [payload, payload], 'the run loaded by a new instance')
    })
  ),

  law('CS-TRIP-12', 'a saved -0 is loaded as 0 or -0', async ({ storage, reopen }) => {
    const claim = await storage.claim('a')
    await right(claim.savingRevisions([{ ...revisions([0])[0], checkpoint: () => [-0] }]))
    const stored = await (await reopen()).stored('a')
    assert.ok(
      Array.isArray(stored.checkpoint) && (stored.checkpoint[0] as number) + 1 === 1,
      `the checkpoint: expected [0], found ${inWords(stored.checkpoint)}`
    )
  }),

  law('CS-TRIP-13', 'the store shares no object with what was saved or loaded', async ({ storage }) => {
    const payload = { items: ['kept'] }
    const claim = await storage.begin('a', [payload])
    await claim.save([payload, payload])
    payload.items.push('added by the giver')
    const loaded = await storage.stored('a')
    const taken = JSON.parse(JSON.stringify(loaded)) as Stored
    for (const value of [loaded.checkpoint, ...loaded.changes])
      Object.assign(value as object, { format: 'changed by the taker' })
    assertSame(
      JSON.parse(JSON.stringify(await storage.stored('a'))),
      taken,
      'the run after its returned value was changed'
    )
    await storage.assertLoads('a', [{ items: ['kept'] }, { items: ['kept'] }])
  }),

  law('CS-TRIP-14', "the store ignores a checkpoint's own format number", async ({ storage, reopen }) => {
    const claim = await storage.claim('a')
    const [first] = revisions([1])
    await right(claim.savingRevisions([{ ...first, checkpoint: () => ({ format: 99, runId: 7 }) }]))
    for (const one of [storage, await reopen()]) {
      assertSame((await one.stored('a')).checkpoint, { format: 99, runId: 7 }, 'the checkpoint')
    }
  }),

  lawsOf({ needs: ['large'], level: 'stress' })(
    'CS-TRIP-16',
    'the run is loaded as saved after each of many large and small saves',
    async ({ storage, reopen }) => {
      const claim = await storage.claim('a')
      const payloads: Array<Json> = []
      for (let n = 0; n < 120; n++) {
        payloads.push(n % 10 === 0 ? 'x'.repeat(100_000) : n)
        await claim.save(payloads)
        await storage.assertLoads('a', payloads)
      }
      await (await reopen()).assertLoads('a', payloads)
    }
  ),

  stressLaw('CS-TRIP-17', 'a value of 80 MB is stored, or refused as TooLarge with nothing stored', (context) =>
    assertStoredOrTooLarge(context, 80)
  ),

  law(
    'CS-TRIP-18',
    'changing a loaded value, a history or a listing does not affect the store',
    async ({ storage }) => {
      const payloads = [{ items: [{ name: 'kept' }] }, { items: [{ name: 'kept too' }] }]
      const claim = await storage.claim('a')
      await claim.save(payloads, 2)
      const holder = { ...(await storage.holder('a')) }
      const stored = async () => await storage.stored('a')
      const revision = async () => some(await storage.loadRevision('a', 1))
      for (const taken of [await stored(), await revision()]) spoil(taken)
      spoil(await storage.history('a'))
      spoil(await storage.list())
      assertSame(await storage.holder('a'), holder, 'the holder after a returned one was changed')
      assertHolds(await stored(), payloads)
      assertHolds(await revision(), payloads, 'revision 1')
      assertSame((await storage.history('a'))[0]?.change, 'UnitCompleted', 'the newest change of the history')
      await storage.assertLists(['a'])
    }
  ),

  law('CS-TRIP-19', 'a value of 10 MB is stored, or refused as TooLarge with nothing stored', (context) =>
    assertStoredOrTooLarge(context, 10)
  ),

  law(
    'CS-TRIP-24',
    'a run that grew to at most 10 MB, or to the limit of the store, can be claimed and saved again',
    (context) => assertCanContinue(context, 10)
  ),

  stressLaw(
    'CS-TRIP-25',
    'a run that grew to at most 80 MB, or to the limit of the store, can be claimed and saved again',
    (context) => assertCanContinue(context, 80)
  )
]

const assertStoredOrTooLarge = async ({ storage, reopen }: CaseContext, megabytes: number): Promise<void> => {
  const claim = await storage.begin('a', [1])
  const huge = Array.from({ length: megabytes }, () => 'x'.repeat(MEGABYTE))
  const result = await claim.saving([1, huge])()
  if (result._tag === 'Right') return (await reopen()).assertLoads('a', [1, huge])
  const { runId, bytes, limitBytes } = await left(() => Promise.resolve(result), 'TooLarge')
  assertSame(runId, 'a', 'the run id in TooLarge')
  assert.ok(bytes > limitBytes, `TooLarge: expected \`bytes\` above \`limitBytes\`, found ${bytes} and ${limitBytes}`)
  await storage.assertLoads('a', [1])
  await (await reopen()).assertLoads('a', [1])
}

/** Fails a store that counts characters, or checks its limit late: it acknowledges a save after which no later claim can save. */
const assertCanContinue = async ({ storage, reopen }: CaseContext, megabytes: number): Promise<void> => {
  const claim = await storage.claim('a')
  const payloads: Array<Json> = []
  for (let length = 1_000; length * BYTES_EACH < (megabytes * MEGABYTE) / 2; length *= 2) {
    const payload = 'あ'.repeat(length)
    const saved = await claim.saving([...payloads, payload])()
    if (saved._tag === 'Left') {
      assertSame(saved.left._tag, 'TooLarge', 'the error of a save of a growing run')
      break
    }
    payloads.push(payload)
  }
  await claim.release()
  const later = await reopen()
  const next = await later.claim('a', OTHER)
  payloads.push(1)
  await next.save(payloads)
  await (await reopen()).assertLoads('a', payloads, 'the run saved by the next claim')
}

/** The bytes of `あ` in UTF-8. */
const BYTES_EACH = 3

/** Mutates everything mutable except `none`, which fp-ts shares with all code. A store may also return frozen values. */
const spoil = (value: unknown): void => {
  if (typeof value !== 'object' || value === null || ('_tag' in value && value._tag === 'None')) return
  Object.values(value).forEach(spoil)
  if (Array.isArray(value) && !Object.isFrozen(value)) value.push('added by the taker')
  for (const key of Object.keys(value)) Reflect.set(value, key, 'changed by the taker')
}

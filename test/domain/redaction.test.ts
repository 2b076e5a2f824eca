/** Redaction leaves no secret in records and events, wherever it appears and however a stream is cut. */
import assert from 'node:assert/strict'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import type { Change } from '../../src/domain/change/Change.js'
import type { Json } from '../../src/domain/data/Json.js'
import { redactedChange } from '../../src/domain/change/redacted.js'
import * as Redaction from '../../src/domain/data/Redaction.js'
import * as StepError from '../../src/domain/data/StepError.js'
import { law } from './law.js'
import { quickestOfBoth } from '../quickest.js'

/** Few letters, so that values overlap, contain one another and occur; and the replacement. */
const letters = fc.constantFrom('a', 'b', 'a', 'b', 'é', '"', '*')

const secret = fc.string({ unit: letters, minLength: 4, maxLength: 9 })

const secrets = fc.array(secret, { minLength: 1, maxLength: 3 })

const around = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '"', '*', '\n', 'x'), maxLength: 12 })

/** A string that contains many of the values. */
const textWith = (values: ReadonlyArray<string>): fc.Arbitrary<string> =>
  fc.array(fc.oneof(around, fc.constantFrom(...values)), { maxLength: 8 }).map((parts) => parts.join(''))

const secretsAndText = secrets.chain((values) => fc.tuple(fc.constant(values), textWith(values)))

const jsonWith = (values: ReadonlyArray<string>): fc.Arbitrary<Json> =>
  fc.letrec<{ one: Json }>((tie) => ({
    one: fc.oneof(
      { depthSize: 'small' },
      textWith(values),
      fc.integer(),
      fc.constantFrom<Json>(null, true),
      fc.array(tie('one'), { maxLength: 3 }),
      fc.dictionary(textWith(values), tie('one'), { maxKeys: 3 })
    )
  })).one

const secretsAndJson = secrets.chain((values) => fc.tuple(fc.constant(values), jsonWith(values)))

/** All strings in a value, including field names. */
const textsIn = (value: Json): ReadonlyArray<string> => {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, field]: [string, Json]) => [name, ...textsIn(field)])
}

const streamed = (redaction: Redaction.Redaction, pieces: ReadonlyArray<Uint8Array>): Buffer => {
  let held = Redaction.nothingHeld
  const told: Array<Uint8Array> = []
  for (const piece of pieces) {
    const next = Redaction.next(redaction, held, piece)
    told.push(next.emitted)
    held = next.held
  }
  return Buffer.concat([...told, Redaction.rest(held)])
}

const cutAt = (bytes: Uint8Array, places: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const cuts = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...cuts].map((from, index) => bytes.subarray(from, cuts[index] ?? bytes.length))
}

describe('a string', () => {
  law('a redacted string contains no secret, and redaction is idempotent', secretsAndText, ([values, text]) => {
    const redaction = Redaction.make(values)
    const hidden = Redaction.text(redaction, text)
    for (const value of values) assert.ok(!hidden.includes(value), JSON.stringify({ value, text, hidden }))
    assert.equal(Redaction.text(redaction, hidden), hidden)
  })

  law(
    'redaction replaces each range that secrets cover with one mark and keeps everything else',
    secretsAndText,
    ([all, text]) => {
      const values = all.filter((value) => !value.includes('*'))
      const covered = Array.from(text, () => 0)
      const found = values
        .flatMap((value) =>
          Array.from(text, (_, from) => (text.startsWith(value, from) ? [from, from + value.length] : []))
        )
        .filter(({ length }) => length > 0)
      for (const [from = 0, to = 0] of found) for (let at = from; at < to; at++) covered[at] = 1
      const isJoint = (at: number): boolean => found.some(([from = 0, to = 0]) => from < at && at < to)
      const expected = Array.from(text, (character, at) => {
        if (covered[at] === 0) return character
        return at > 0 && covered[at - 1] === 1 && isJoint(at) ? '' : '***'
      })
      if (!text.includes('\n') && values.every((value) => !/["é]/.test(value)))
        assert.equal(Redaction.text(Redaction.make(values), text), expected.join(''))
    }
  )

  law(
    'a string without a secret stays unchanged',
    fc.tuple(secrets, fc.string({ unit: fc.constantFrom('x', 'y', '"', ' ') })),
    ([values, text]) => assert.equal(Redaction.text(Redaction.make(values), text), text)
  )

  test('a redacted string contains no part of secrets that overlap, contain one another or are adjacent', () => {
    const redaction = Redaction.make(['abcdef', 'defghi', 'abcdefgh', 'cdef'])
    assert.equal(Redaction.text(redaction, '<abcdefghi>'), '<***>')
    assert.equal(Redaction.text(redaction, 'abcdef|abcdefgh|cdefcdef'), '***|***|******')
  })

  test('a redacted string contains no line of a multi-line secret, and no JSON form of it', () => {
    const key = '-----BEGIN-----\nfirst"line\nsecond line\nab\n-----END-----\n'
    const redaction = Redaction.make([key])
    assert.equal(Redaction.text(redaction, `key: ${key}.`), 'key: ***\n.')
    assert.equal(Redaction.text(redaction, 'it has first"line and, later, second line'), 'it has *** and, later, ***')
    assert.equal(Redaction.text(redaction, JSON.stringify({ key })), '{"key":"***\\n"}')
    const umlaut = Redaction.make(['pässwört'])
    assert.equal(Redaction.text(umlaut, '"p\\u00e4ssw\\u00f6rt"'), '"***"')
  })

  test('values that are too short to be secrets are not redacted', () => {
    assert.ok(Redaction.isNone(Redaction.make(['', '   ', 'abc', ' ab\n'])))
    assert.equal(Redaction.text(Redaction.make(['abcd']), 'abc abcd'), 'abc ***')
  })
})

describe('a long repetitive value', () => {
  const ROUNDS = 8

  /** The growth of the time for a value and a string four times as long: four if linear, sixteen if quadratic. */
  const growth = (work: (length: number) => () => unknown): number => {
    const [small, large] = [work(20_000), work(80_000)]
    quickestOfBoth(1, small, large)
    const [short, long] = quickestOfBoth(ROUNDS, small, large)
    return long / short
  }

  test('a long repetitive secret is found in linear time where it overlaps itself', () => {
    const work = (length: number) => {
      const redaction = Redaction.make(['a'.repeat(length)])
      const text = `${'a'.repeat(4 * length)}b`
      assert.equal(Redaction.text(redaction, text), '***b')
      return () => Redaction.text(redaction, text)
    }
    assert.ok(growth(work) < 9)
  })

  test('a long repetitive secret is found in linear time where it nearly matches', () => {
    const work = (length: number) => {
      const redaction = Redaction.make([`${'a'.repeat(length)}b`])
      const text = `${'a'.repeat(length - 1)}c`.repeat(4)
      assert.equal(Redaction.text(redaction, text), text)
      return () => Redaction.text(redaction, text)
    }
    assert.ok(growth(work) < 9)
  })

  test('a long repetitive secret is found in linear time in a stream, however the stream is cut', () => {
    const work = (length: number) => {
      const redaction = Redaction.make(['a'.repeat(length)])
      const pieces = [...Array.from({ length: 64 }, () => Buffer.from('a'.repeat(length / 16))), Buffer.from('b')]
      assert.equal(streamed(redaction, pieces).toString(), '***b')
      return () => streamed(redaction, pieces)
    }
    assert.ok(growth(work) < 9)
  })

  test('redaction terminates even if each mark forms another secret with the next characters', () => {
    const hidden = Redaction.text(Redaction.make(['secret', '***x']), `secret${'x'.repeat(10_000)}`)
    assert.equal(hidden, '***')
  })
})

describe('a JSON value', () => {
  law('a redacted value contains no secret in any string or field name', secretsAndJson, ([values, value]) => {
    const redaction = Redaction.make(values)
    const hidden = Redaction.json(redaction, value)
    for (const text of textsIn(hidden)) for (const one of values) assert.ok(!text.includes(one), JSON.stringify(hidden))
    assert.deepEqual(Redaction.json(redaction, hidden), hidden)
  })

  test('redaction returns a value without a secret itself, not a copy', () => {
    const value = { a: [1, { b: 'text' }], c: null }
    assert.equal(Redaction.json(Redaction.make(['s3cr3t']), value), value)
  })

  test('fields whose redacted names are equal get different names', () => {
    const redaction = Redaction.make(['first', 'second'])
    assert.deepEqual(Redaction.json(redaction, { first: 1, second: 2, '***': 3 }), {
      '***': 1,
      '*** (2)': 2,
      '*** (3)': 3
    })
  })

  test('a number with a secret in its digits becomes a string', () =>
    assert.deepEqual(Redaction.json(Redaction.make(['4711']), [4711, 147110, 471]), ['***', '***', 471]))
})

describe('an error', () => {
  const token = 'tok-1234567890'
  const redaction = Redaction.make([token])

  test('a redacted error contains no secret in its name, message, code, stack and data', () => {
    const error = StepError.make(token, `no ${token}`, {
      code: token,
      stack: `at ${token}`,
      data: { [token]: [token] }
    })
    assert.ok(!JSON.stringify(Redaction.error(redaction, error)).includes(token))
  })

  test('a redacted error contains no part of a secret that a length limit cut in two', () => {
    for (let before = 19_900; before < 20_000; before++) {
      const { message } = StepError.make('Error', `${'x'.repeat(before)}${token}${'y'.repeat(200)}`)
      const hidden = Redaction.error(redaction, StepError.make('Error', message)).message
      assert.ok(!/xt/.test(hidden), hidden.slice(-60))
    }
  })
})

describe('a message', () => {
  const begun = textWith(['… (30 characters)', 'ab', '**', ...['a', 'b', '*']])

  test('redaction also replaces the beginning of a secret at the place where a message was cut off', () => {
    const redaction = Redaction.make(['tok-1234567890'])
    assert.equal(
      Redaction.text(redaction, 'a: tok-12… (99 characters), b: t… (99 characters) tok-'),
      'a: ***… (99 characters), b: ***… (99 characters) tok-'
    )
  })

  test.each([
    ['characters* ', 'characterscha… (37 characters)'],
    ['b***a', 'bb***… (30 characters)']
  ])(
    'a redacted message stays the same when it is redacted again, even if its `***` at a cut forms a secret: %s',
    (value, message) => {
      const redaction = Redaction.make([value])
      const once = Redaction.text(redaction, message)
      assert.equal(Redaction.text(redaction, once), once)
    }
  )

  law('a redacted message stays the same when it is redacted again', fc.tuple(secrets, begun), ([values, message]) => {
    const redaction = Redaction.make(values)
    const once = Redaction.text(redaction, message)
    assert.equal(Redaction.text(redaction, once), once)
  })
})

describe('a change', () => {
  const token = 'tok-1234567890'
  const place = { at: '2026-01-02T03:04:05.000Z', unit: 'a' }
  const error = StepError.make('Error', token)
  const completed = {
    ...place,
    output: { token },
    captured: [],
    attempts: 1,
    startedAt: place.at,
    durationMillis: 1,
    evidence: [
      { _tag: 'File', path: token },
      { _tag: 'Artifact', path: token, size: 1, sha256: 'x' },
      { _tag: 'Stored', id: token, size: 1, sha256: 'x' }
    ]
  } as const
  const failed = { attempt: 1, startedAt: place.at, error, outcome: 'unknown' } as const
  const workflow = { name: 'w', fingerprint: 'v1:x', steps: [] }
  const changes: ReadonlyArray<Change> = [
    { _tag: 'Started', at: place.at, runId: 'r', workflow, input: [token] },
    { _tag: 'InputReplaced', at: place.at, input: { token } },
    { _tag: 'Recovered', at: place.at, from: token, lost: token, agreedBy: token },
    { _tag: 'AttemptFailed', ...place, ...failed, delayBeforeNextMillis: 0 },
    { _tag: 'UnitCompleted', ...completed },
    { _tag: 'UnitFailed', ...place, retryable: false, last: failed },
    { _tag: 'JobSubmitted', ...place, attempt: 1, job: { id: token } },
    { _tag: 'JobEnded', ...place, error, outcome: 'unknown', retryable: false },
    { _tag: 'Rewound', at: place.at, units: ['a'], why: token },
    { _tag: 'Assumed', ...place, output: token, captured: [] },
    { _tag: 'Expanded', ...place, items: [{ key: 'one', value: { token } }] }
  ]

  for (const change of changes)
    test(`a redacted change contains no secret: ${change._tag}`, () => {
      assert.ok(JSON.stringify(change).includes(token))
      assert.ok(!JSON.stringify(redactedChange(Redaction.make([token]), change)).includes(token))
    })
})

describe('a stream', () => {
  law(
    'a redacted stream does not depend on its chunks, and contains no secret',
    secretsAndText.chain(([values, text]) =>
      fc.tuple(fc.constant(values), fc.constant(text), fc.array(fc.nat(), { maxLength: 6 }))
    ),
    ([values, text, places]) => {
      const redaction = Redaction.make(values)
      const bytes = Buffer.from(text)
      const whole = streamed(redaction, [bytes])
      assert.deepEqual(streamed(redaction, cutAt(bytes, places)), whole)
      assert.deepEqual(
        streamed(
          redaction,
          Array.from(bytes, (byte) => Uint8Array.of(byte))
        ),
        whole
      )
      for (const value of values)
        if (!value.includes('*'))
          assert.ok(!whole.includes(value), JSON.stringify({ value, text, whole: String(whole) }))
    }
  )

  law(
    'a stream passes on bytes that are not UTF-8 unchanged',
    fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 5 }),
    (pieces) => {
      const redaction = Redaction.make(['unlikely-to-be-there'])
      assert.deepEqual(streamed(redaction, pieces), Buffer.concat(pieces))
    }
  )

  law('a stream holds back only a prefix of a secret', secretsAndText, ([values, text]) => {
    const redaction = Redaction.make(values)
    const longest = Math.max(...redaction.bytes.map(({ length }) => length))
    const { held } = Redaction.next(redaction, Redaction.nothingHeld, Buffer.from(text))
    assert.ok(held.bytes.length < longest)
    const kept = Buffer.from(held.bytes).toString('latin1')
    assert.ok(kept === '' || redaction.bytes.some((one) => one.startsWith(kept)), kept)
  })

  test('a secret between bytes that are not UTF-8 is redacted', () => {
    const redaction = Redaction.make(['geheimnis-ü'])
    const bytes = Buffer.concat([Buffer.from([0xff, 0xc3]), Buffer.from('geheimnis-ü'), Buffer.from([0x80, 0x00])])
    assert.deepEqual(
      streamed(
        redaction,
        Array.from(bytes, (byte) => Uint8Array.of(byte))
      ),
      Buffer.from([0xff, 0xc3, 0x2a, 0x2a, 0x2a, 0x80, 0x00])
    )
  })
})

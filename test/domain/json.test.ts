import assert from 'node:assert/strict'
import { runInNewContext } from 'node:vm'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, test } from 'vitest'
import type { Json } from '../../src/domain/data/Json.js'
import { canonical, equals, fromUnknown, isObject, MAX_DEPTH } from '../../src/domain/data/Json.js'
import { law } from './law.js'

const refusal = (value: unknown): readonly [path: string, found: string] => {
  const copied = fromUnknown(value)
  return E.isLeft(copied) ? [copied.left.path, copied.left.found] : assert.fail('it was taken')
}

/** JSON, mixed with values that are almost JSON. */
const nearlyJson = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withNullPrototype: true,
  withObjectString: true,
  withSparseArray: true,
  withTypedArray: true,
  withBoxedValues: true,
  maxDepth: 4,
  key: fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString', 'toJSON'))
})

const PRIMITIVES = new Set(['string', 'boolean', 'undefined'])

/** Returns whether a value survives `JSON.parse(JSON.stringify(value))`, computed independently of the check. */
const survives = (value: unknown, inList = false): boolean => {
  if (value === null || (PRIMITIVES.has(typeof value) && (value !== undefined || !inList))) return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object') return false
  if (Array.isArray(value)) return Array.from(value).every((item) => survives(item, true))
  const prototype: unknown = Object.getPrototypeOf(value)
  return (
    (prototype === null || prototype === Object.prototype) && Object.values(value).every((field) => survives(field))
  )
}

describe('the JSON check', () => {
  law(
    'the check accepts exactly the values that survive JSON, and returns what JSON.parse would',
    nearlyJson,
    (value) => {
      const copied = fromUnknown(value)
      const expected = value !== undefined && survives(value)
      assert.equal(E.isRight(copied), expected)
      if (E.isRight(copied)) assert.deepEqual(copied.right, JSON.parse(JSON.stringify(value)))
    }
  )

  law('the check returns a copy, which later mutations of the argument do not change', fc.object(), (value) => {
    const plain = JSON.parse(JSON.stringify(value)) as Record<string, unknown>
    const copied = fromUnknown(plain)
    assert.ok(E.isRight(copied))
    const before = JSON.stringify(copied.right)
    for (const key of Object.keys(plain)) {
      const field = plain[key]
      if (typeof field === 'object' && field !== null) Object.assign(field, { changed: true })
      delete plain[key]
    }
    assert.equal(JSON.stringify(copied.right), before)
  })

  const inside = (leaf: unknown): unknown => ({ items: [1, { 'odd name': [leaf], when_: 1 }] })
  const cycle: Array<unknown> = []
  cycle.push({ again: cycle })
  class Point {}
  class Unnamed {}
  Object.defineProperty(Unnamed, 'name', { value: 7 })

  const refused: ReadonlyArray<readonly [leaf: unknown, found: string, title?: string]> = [
    [Number.NaN, 'NaN'],
    [Infinity, 'Infinity'],
    [-Infinity, '-Infinity'],
    [undefined, 'undefined'],
    [1n, 'a bigint'],
    [() => 1, 'a function'],
    [Symbol('x'), 'a symbol'],
    [new Date(0), 'a Date'],
    [new Map(), 'a Map'],
    [/b/.exec('abc'), 'an array with properties'],
    [new (class ArraySubclass extends Array<number> {})(), 'an ArraySubclass'],
    [new Set(), 'a Set'],
    [/x/, 'a RegExp'],
    [Buffer.from('x'), 'a Buffer'],
    [new Uint8Array(1), 'a Uint8Array'],
    [Promise.resolve(), 'a Promise'],
    [new Error('x'), 'an Error'],
    [new Point(), 'a Point'],
    [new Unnamed(), 'a class instance'],
    [Object.create({ inherited: 1 }), 'an Object'],
    [new String('x'), 'a String', 'a String object']
  ]

  test.each(refused.map(([leaf, found, title = found]) => [title, leaf, found] as const))(
    'the check refuses %s, with its path',
    (_, leaf, found) => {
      assert.deepEqual(refusal(inside(leaf)), ['$.items[1]["odd name"][0]', found])
      assert.deepEqual(refusal(leaf), ['$', found])
    }
  )

  test('the path of a refused value quotes unusual names', () => {
    for (const [key, segment] of [
      ['a.b', '["a.b"]'],
      ['', '[""]'],
      ['0', '["0"]'],
      ['__proto__', '.__proto__'],
      ['$x_1', '.$x_1'],
      ['a"b\n', '["a\\"b\\n"]']
    ] as const) {
      assert.deepEqual(refusal(Object.fromEntries([[key, Number.NaN]])), [`$${segment}`, 'NaN'])
    }
  })

  test('the check refuses cycles, but not repeated references', () => {
    assert.deepEqual(refusal(cycle), ['$[0].again', 'a cycle'])
    const shared = { a: 1 }
    assert.deepEqual(fromUnknown([shared, { shared }]), E.right([{ a: 1 }, { shared: { a: 1 } }]))
  })

  test(`the check accepts ${MAX_DEPTH} levels and refuses more`, () => {
    const nested = (levels: number): unknown =>
      Array.from({ length: levels }).reduce<unknown>((inner, _, at) => (at % 2 === 0 ? [inner] : { inner }), 1)
    assert.ok(E.isRight(fromUnknown(nested(MAX_DEPTH))))
    for (const levels of [MAX_DEPTH + 1, 100_000])
      assert.equal(refusal(nested(levels))[1], 'nesting deeper than 500 levels')
  })

  test('the check refuses values whose properties throw, and never throws itself', () => {
    const getter = { a: [{ get b() { throw new Error('no') } }] } // prettier-ignore
    assert.deepEqual(refusal(getter), ['$.a[0].b', 'a property that throws when read'])
    const hostile = { get: boom, has: boom, ownKeys: boom, getPrototypeOf: boom, getOwnPropertyDescriptor: boom }
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    for (const target of [{}, [1]]) {
      assert.deepEqual(refusal([new Proxy(target, hostile)]), ['$[0]', 'an object whose properties throw'])
    }
    assert.deepEqual(refusal({ proxy }), ['$.proxy', 'an object whose properties throw'])
  })

  test('the check accepts plain objects of another realm, and objects without prototype', () => {
    assert.deepEqual(fromUnknown(runInNewContext('({ a: [1, { b: null }] })')), E.right({ a: [1, { b: null }] }))
    assert.deepEqual(fromUnknown(Object.assign(Object.create(null) as object, { a: 1 })), E.right({ a: 1 }))
    assert.ok(E.isLeft(fromUnknown(runInNewContext('new Date()'))))
  })

  test('the check turns -0 into 0, drops undefined properties, and keeps a property called __proto__', () => {
    assert.deepEqual(fromUnknown({ a: -0, b: undefined }), E.right({ a: 0 }))
    const copied = fromUnknown(JSON.parse('{"__proto__":{"polluted":1}}'))
    assert.ok(E.isRight(copied))
    assert.deepEqual(Object.keys(copied.right as object), ['__proto__'])
    assert.equal(Object.getPrototypeOf(copied.right), Object.prototype)
    assert.equal(JSON.stringify(copied.right), '{"__proto__":{"polluted":1}}')
  })
})

const boom = (): never => {
  throw new Error('no')
}

const json = fc.jsonValue() as fc.Arbitrary<Json>

describe('canonical JSON', () => {
  law('canonical JSON keeps the value, and does not depend on the order of keys', json, (raw) => {
    const value = JSON.parse(JSON.stringify(raw)) as Json
    assert.deepEqual(JSON.parse(canonical(value)), value)
    assert.equal(canonical(shuffled(value)), canonical(value))
  })

  test('canonical JSON sorts keys by UTF-16 unit and has no blanks', () => {
    assert.equal(
      canonical({ b: 1, a: [1.5, -0, 1e21, 'é"\u2028\ud800'], '\u{1f600}': {}, '\ufb01': [], B: null, '': true }),
      '{"":true,"B":null,"a":[1.5,0,1e+21,"é\\"\u2028\\ud800"],"b":1,"\u{1f600}":{},"\ufb01":[]}'
    )
  })
})

describe('equality', () => {
  law('two values are equal if and only if their canonical JSON is', fc.tuple(json, json), ([a, b]) => {
    const [one, two] = [JSON.parse(JSON.stringify(a)) as Json, JSON.parse(JSON.stringify(b)) as Json]
    assert.equal(equals(one, two), canonical(one) === canonical(two))
    assert.ok(equals(one, shuffled(one)))
    assert.ok(!equals(one, [one]))
  })

  test('equality distinguishes values that differ only in a type, an order or a key', () => {
    const parse = (text: string): Json => JSON.parse(text) as Json
    for (const [a, b] of [
      ['[]', '{}'],
      ['[null]', '[]'],
      ['{"a":null}', '{}'],
      ['{"a":1}', '{"b":1}'],
      ['{"__proto__":{}}', '{"a":{}}'],
      ['{"a":{}}', '{"__proto__":{}}'],
      ['{"toString":1}', '{"x":1}'],
      ['"1"', '1'],
      ['0', 'false'],
      ['[1,2]', '[2,1]'],
      ['{"0":1}', '[1]']
    ] as const) {
      assert.equal(equals(parse(a), parse(b)), false, `${a} ${b}`)
      assert.equal(equals(parse(b), parse(a)), false)
    }
    assert.equal(equals(0, -0), true)
  })
})

describe('an object', () => {
  test('isObject rejects null and arrays', () => {
    assert.deepEqual(
      [{}, { a: 1 }, null, [], 1, 'x'].map((value) => isObject(value)),
      [true, true, false, false, false, false]
    )
  })
})

const shuffled = (value: Json): Json =>
  Array.isArray(value)
    ? (value as ReadonlyArray<Json>).map(shuffled)
    : isObject(value)
      ? Object.fromEntries(
          Object.entries(value)
            .reverse()
            .map(([key, field]) => [key, shuffled(field)])
        )
      : value

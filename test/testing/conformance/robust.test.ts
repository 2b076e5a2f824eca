/** Every case ends with a result and leaves nothing behind, whatever a spec or a store does. */
import assert from 'node:assert/strict'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { MemoryData } from '../../../src/adapters/memory.js'
import { memoryData, memoryStorage } from '../../../src/adapters/memory.js'
import type { CheckpointStorage } from '../../../src/ports/CheckpointStorage.js'
import type { StorageSpec } from '../../../src/testing/index.js'
import { make, resultOf } from '../../../src/testing/conformance/Report.js'
import { checkpointStorageCases, ConformanceReport, runConformance } from '../../../src/testing/index.js'
import type { Disk } from '../mutants/index.js'
import { sampleSpec } from '../mutants/index.js'

const unhandled: Array<unknown> = []
const keep = (error: unknown): void => void unhandled.push(error)
beforeAll(() => void process.on('unhandledRejection', keep))
afterAll(() => void process.off('unhandledRejection', keep))

const sound: StorageSpec<MemoryData> = {
  name: 'the memory store',
  create: () => Promise.resolve(memoryData()),
  reopen: (data) => Promise.resolve(memoryStorage(data)),
  capabilities: ['history', 'large', 'watch']
}

const never = (): Promise<never> => new Promise(() => undefined)
const rejects = (): Promise<never> => Promise.reject(new Error('rejected here'))
const throws = (): never => {
  throw new Error('thrown here')
}

/** Replaces each function of the store. */
const storing = (as: (name: keyof CheckpointStorage) => unknown): StorageSpec<MemoryData> => ({
  ...sound,
  reopen: (data) => {
    const names = Object.keys(memoryStorage(data)) as ReadonlyArray<keyof CheckpointStorage>
    return Promise.resolve(
      Object.fromEntries(names.map((name) => [name, () => as(name)])) as unknown as CheckpointStorage
    )
  }
})

const whysOf = async (spec: object, options = {}): Promise<ReadonlyArray<string>> => {
  const { results } = await runConformance(spec as StorageSpec<MemoryData>, {
    levels: ['core'],
    limitMillis: 100,
    ...options
  })
  assert.equal(results.length, checkpointStorageCases.filter(({ level }) => level === 'core').length)
  // Lets pending work run.
  await new Promise((resolve) => setTimeout(resolve, 50))
  return results.flatMap(({ outcome }) => (outcome._tag === 'Failed' ? [outcome.why] : []))
}

const count = checkpointStorageCases.filter(({ level }) => level === 'core').length

describe('broken specs and stores', () => {
  test.each([
    ['a `create` that rejects', { ...sound, create: rejects }, /rejected here/],
    ['a `create` that throws', { ...sound, create: throws }, /thrown here/],
    ['a `reopen` that rejects', { ...sound, reopen: rejects }, /rejected here/],
    ['a `reopen` that throws', { ...sound, reopen: throws }, /thrown here/],
    [
      'a `reopen` that returns nothing',
      { ...sound, reopen: () => undefined },
      /`reopen` must return a store; what it returned has no claim, no save/
    ],
    ['a `destroy` that rejects', { ...sound, destroy: rejects }, /the law holds, but .*`destroy`.*rejected here/s],
    ['a `destroy` that throws', { ...sound, destroy: throws }, /the law holds, but .*`destroy`.*thrown here/s],
    ['a store that throws', storing(() => throws()), /thrown here/],
    ['a store whose tasks throw', storing(() => throws), /thrown here/],
    ['a store whose tasks reject', storing(() => rejects), /rejected here/],
    ['a store of promises that reject', storing(rejects), /^\w+\(.*\): expected a TaskEither .*, found a promise/],
    ['a store that returns nothing', storing(() => undefined), /^\w+\(.*\): expected a TaskEither .*, found undefined/],
    [
      'a store whose tasks return nothing',
      storing(() => () => Promise.resolve()),
      /found a function that returns undefined/
    ],
    ['a store whose tasks return strings', storing(() => () => 'well'), /found a function that returns "well"/],
    [
      'a store whose tasks return an incomplete Left',
      storing(() => () => Promise.resolve({ _tag: 'Left' })),
      /found a function that returns \{"_tag":"Left"\}/
    ]
  ])('every case fails and shows the error of %s', async (_, spec, why) => {
    const whys = await whysOf(spec, { limitMillis: 2_000 })
    assert.equal(whys.length, count)
    for (const one of whys) expect(one).toMatch(why)
    expect(unhandled).toEqual([])
  })

  test('a store that rejects with a plain object fails every case with the object', async () => {
    const odd = { code: 7 } as unknown as Error
    const thrown = storing(() => () => Promise.reject(odd))
    for (const one of await whysOf(thrown)) expect(one).toBe('it rejected with {"code":7}')
  })
})

describe('results that the port does not declare', () => {
  /** A sound store, except that one function returns something else after `after` calls. */
  const odd = (method: keyof CheckpointStorage, result: unknown, after: number): StorageSpec<Disk> => {
    let calls = 0
    const oddly = (storage: CheckpointStorage): CheckpointStorage => ({
      ...storage,
      [method]: (...args: ReadonlyArray<never>) =>
        calls++ < after ? (Reflect.apply(storage[method], storage, args) as unknown) : () => Promise.resolve(result)
    })
    const { create, reopen, faulty } = sampleSpec
    return {
      ...sampleSpec,
      create: () => {
        calls = 0
        return create()
      },
      reopen: async (disk) => oddly(await reopen(disk)),
      faulty: async (disk) => {
        const opened = (await faulty?.(disk)) ?? assert.fail()
        return { ...opened, storage: oddly(opened.storage) }
      }
    }
  }
  const right = (value: unknown) => ({ _tag: 'Right', right: value })
  const left = (tag: string) => ({ _tag: 'Left', left: { _tag: tag } })
  const only = [
    ...['CS-TRIP-12', 'CS-TRIP-13', 'CS-TRIP-18', 'CS-CLAIM-02', 'CS-CLAIM-04', 'CS-CLAIM-09', 'CS-FENCE-01'],
    ...['CS-HIST-01', 'CS-LIST-05', 'CS-REMOVE-10', 'CS-DAMAGE', 'CS-ERROR-01', 'CS-ERROR-06', 'CS-ERROR-09']
  ]

  test.each([
    [
      'CS-DAMAGE-08',
      right({ _tag: 'Some', value: {} }),
      'load("one-0"): at .value.revision: expected a number, found undefined'
    ],
    [
      'CS-DAMAGE-09',
      right({ _tag: 'Some', value: { revision: 2, changes: [], checkpoint: 1, heldBy: O.none } }),
      'load("run-0-1"): at .value.found: expected an object with the _tag "Exact" or "Recovered", found undefined'
    ],
    ['CS-DAMAGE-01', right(undefined), 'load("a"): expected an Option, found undefined'],
    ['CS-DAMAGE-01', left('Corrupt'), 'load("a"): Corrupt at .runId: expected a string, found undefined']
  ])('the case %s fails, and its error names the call and what is wrong with the result', async (id, result, why) => {
    const { results } = await runConformance(odd('load', result, 0), { only: [id] })
    expect(results.map(({ outcome }) => outcome)).toEqual([{ _tag: 'Failed', why }])
  })

  test('a listed run whose summary lacks a field fails the case that lists it', async () => {
    const listed = right([{ runId: 'a', summary: { heldBy: O.none } }])
    const { results } = await runConformance(odd('list', listed, 0), { only: ['CS-LIST-02'] })
    const why = 'list(): at [0].summary.revision: expected a number, found undefined'
    expect(results.map(({ outcome }) => outcome)).toEqual([{ _tag: 'Failed', why }])
  })

  test.each(['claim', 'load', 'loadRevision', 'history', 'list', 'save', 'release', 'remove'] as const)(
    'no case ends with a TypeError, whatever `%s` returns',
    async (method) => {
      for (const after of [0, 2])
        for (const result of [
          right(undefined),
          right({ _tag: 'Some' }),
          right([{}]),
          left('HeldBy'),
          left('WriteFailed')
        ]) {
          const { results } = await runConformance(odd(method, result, after), {
            only,
            levels: ['core', 'capability'],
            limitMillis: 500
          })
          const whys = results.flatMap(({ outcome }) => (outcome._tag === 'Failed' ? [outcome.why] : []))
          expect(whys.filter((why) => /TypeError|ReferenceError/.test(why))).toEqual([])
        }
    },
    60_000
  )
})

describe('calls that never end', () => {
  test.each([
    ['create', { ...sound, create: never }, '`create` did not end within 20 ms'],
    ['reopen', { ...sound, reopen: never }, 'it did not end within 20 ms'],
    ['a store', storing(() => never), /^it did not end within 20 ms; in flight: \w+\(.*\)$/]
  ])('a call that never ends fails the case: %s', async (_, spec, why) => {
    const whys = await whysOf(spec, { limitMillis: 20 })
    expect(whys).toHaveLength(count)
    for (const one of whys) expect(one).toMatch(typeof why === 'string' ? new RegExp(`^${why}$`) : why)
  })

  test('a case that timed out is cleaned up, and its concurrent reads stop', async () => {
    let loads = 0
    let destroyed = 0
    const spec: StorageSpec<MemoryData> = {
      ...sound,
      reopen: (data) => {
        const storage = memoryStorage(data)
        const load: CheckpointStorage['load'] = (runId) => {
          loads += 1
          return storage.load(runId)
        }
        return Promise.resolve({ ...storage, load, save: () => never })
      },
      destroy: () => {
        destroyed += 1
        return Promise.resolve()
      }
    }
    await runConformance(spec, { only: ['CS-ATOM-02'], limitMillis: 50 })
    await new Promise((resolve) => setTimeout(resolve, 20))
    const before = loads
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect({ destroyed, loads }).toEqual({ destroyed: 1, loads: before })
  })
})

test('a failure is reported even if the cleanup fails too', async () => {
  const spec = { ...storing(() => throws), destroy: rejects }
  for (const one of await whysOf(spec)) expect(one).toMatch(/thrown here/)
})

test('a store with a limit of one megabyte passes if it reports TooLarge', async () => {
  const spec: StorageSpec<MemoryData> = {
    ...sound,
    capabilities: ['history'],
    reopen: (data) => {
      const storage = memoryStorage(data)
      const save: CheckpointStorage['save'] = (claim, revisions) => {
        const bytes = JSON.stringify(revisions.at(-1)?.checkpoint()).length
        const limitBytes = 1_000_000
        const error = { _tag: 'TooLarge', runId: claim.runId, where: 'a', bytes, limitBytes, biggest: [] } as const
        return bytes > limitBytes
          ? () => Promise.resolve({ _tag: 'Left', left: error })
          : storage.save(claim, revisions)
      }
      return Promise.resolve({ ...storage, save })
    }
  }
  const report = await runConformance(spec, { only: ['CS-TRIP', 'CS-HIST', 'CS-ATOM'] })
  assert.ok(ConformanceReport.isConformant(report), ConformanceReport.toText(report))
})

test('a failure states in one line where two values differ, however large they are', async () => {
  const spec: StorageSpec<MemoryData> = {
    ...sound,
    reopen: (data) => {
      const storage = memoryStorage(data)
      const cut = (text: string): unknown => JSON.parse(text.replaceAll(/x{99999}x/g, `${'x'.repeat(50_000)}y`))
      const load: CheckpointStorage['load'] = (runId) => async () =>
        cut(JSON.stringify(await storage.load(runId)())) as Awaited<ReturnType<ReturnType<CheckpointStorage['load']>>>
      return Promise.resolve({ ...storage, load })
    }
  }
  const { results } = await runConformance(spec, { only: ['CS-TRIP-20'] })
  const [outcome] = results.map((one) => one.outcome)
  assert.ok(outcome?._tag === 'Failed')
  expect(outcome.why).toBe(
    'the checkpoint of the run loaded by the instance that saved it: at .payloads[0]: expected a string of 100000 characters, ' +
      'found one of 50001; from character 50000: expected "xxxxxxxxxxxxxxxxxxxx", found "y"'
  )
})

test('a store that loses a value of 10 MB in the instance that saved it fails CS-TRIP-15', async () => {
  let instances = 0
  const spec: StorageSpec<MemoryData> = {
    ...sound,
    reopen: (data) => {
      const storage = memoryStorage(data)
      return Promise.resolve(instances++ > 0 ? storage : { ...storage, load: () => TE.right(O.none) })
    }
  }
  const { results } = await runConformance(spec, { only: ['CS-TRIP-15'] })
  expect(results.map(({ outcome }) => outcome)).toEqual([
    { _tag: 'Failed', why: 'the run loaded by the instance that saved it: expected a value, found none' }
  ])
})

test('if a load finds fewer revisions than were acknowledged, the failure names both numbers', async () => {
  const spec: StorageSpec<MemoryData> = {
    ...sound,
    reopen: (data) => {
      const storage = memoryStorage(data)
      let stored = 0
      const save: CheckpointStorage['save'] = (claim, all) =>
        TE.map(() => void (stored += all.length))(storage.save(claim, all))
      const load: CheckpointStorage['load'] = (runId) => () => (stored < 9 ? storage.load(runId) : TE.right(O.none))()
      return Promise.resolve({ ...storage, save, load })
    }
  }
  const { results } = await runConformance(spec, { only: ['CS-ATOM-02'] })
  const [outcome] = results.map((one) => one.outcome)
  assert.ok(outcome?._tag === 'Failed')
  expect(outcome.why).toBe('a load during saves: expected at least 9 acknowledged revisions, found 0')
})

test('if the tags of two results differ, a failed case shows both in full and calls a Right "success"', async () => {
  const spec: StorageSpec<MemoryData> = {
    ...sound,
    reopen: (data) => {
      const storage = memoryStorage(data)
      const save: CheckpointStorage['save'] = (claim, all) =>
        TE.orElse(() => TE.right<never, void>(undefined))(storage.save(claim, all))
      return Promise.resolve({ ...storage, save, remove: () => TE.right(undefined) })
    }
  }
  const { results } = await runConformance(spec, { only: ['CS-REMOVE-01', 'CS-REV-04', 'CS-REV-05', 'CS-FENCE-05'] })
  expect(results.map(({ outcome }) => (outcome._tag === 'Failed' ? outcome.why : ''))).toEqual([
    'save 1 of the superseded owner: expected "Fenced", found "success"',
    'save(claim 1 of "a", revisions 1, 3): expected RevisionConflict, found success',
    'the results of ten concurrent saves of one revision: at .success: expected 1, found 10',
    expect.stringMatching(/^a removed run, as loaded: expected {"_tag":"None"}, found {"_tag":"Some","value":{/)
  ])
})

test('JSON values count as equal whatever their prototype and the order of their keys', async () => {
  const bare = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(bare)
    const entries = Object.entries(value).map(([key, one]) => [key, bare(one)] as const)
    return Object.assign(Object.create(null) as object, Object.fromEntries(entries.reverse()))
  }
  const spec: StorageSpec<MemoryData> = {
    ...sound,
    reopen: (data) => {
      const storage = memoryStorage(data)
      const history: CheckpointStorage['history'] = (runId) => async () =>
        bare(await storage.history(runId)()) as Awaited<ReturnType<ReturnType<CheckpointStorage['history']>>>
      return Promise.resolve({ ...storage, history })
    }
  }
  const report = await runConformance(spec, { only: ['CS-HIST'], levels: ['core', 'capability'] })
  assert.ok(ConformanceReport.isConformant(report), ConformanceReport.toText(report))
})

test('a report does not list a capability as not tried if a case tried it', () => {
  const history = { id: 'CS-HIST-03', title: 'x', level: 'capability', needs: ['history'] } as const
  const faults = { ...history, id: 'CS-HIST-07', needs: ['faults', 'history'] } as const
  const results = [resultOf(history, [], 1, 'passed'), resultOf(faults, [], 1, 'not been tried')]
  expect(make('s', [], results, {}).untried.slice(1)).toEqual([
    '`faults`: not claimed, and the spec has no tool to try it'
  ])
})

test('a TAP report quotes any message as valid YAML', () => {
  const why = '  it begins with blanks\n# and a hash\r\n\u0000 \ud800 \u2028 ... \u001b[31mred\n---\nend: "x'
  const result = { id: 'CS-ID-04', title: 'a # b \\ c', level: 'core', needs: [], durationMillis: 1 } as const
  const report = {
    store: 's',
    capabilities: [],
    hints: [],
    untried: [],
    results: [{ ...result, outcome: { _tag: 'Failed', why } }]
  }
  const lines = ConformanceReport.toTap(report as ConformanceReport).split('\n')
  expect(lines.slice(0, 4)).toEqual(['TAP version 14', '1..1', 'not ok 1 - CS-ID-04 a \\# b \\\\ c', '  ---'])
  expect(lines.at(-1)).toBe('  ...')
  const { message } = parse(lines.slice(4, -1).join('\n')) as { readonly message: string }
  expect(message).toBe(
    '  it begins with blanks\n# and a hash\n\\u0000 \\ud800 \\u2028 ... \\u001b[31mred\n---\nend: "x'
  )
})

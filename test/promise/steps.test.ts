import assert from 'node:assert/strict'
import * as t from 'io-ts'
import { expectTypeOf, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { resume, runOrResume, runOutcome, workflow } from '../../src/promise/index.js'

test('a group of a wave runs its steps in order, and a resume continues between two of them', async () => {
  const did: Array<string> = []
  let isDown = true
  const release = workflow('release')
    .step('version', { output: t.string, run: () => '1.2.3' })
    .wave('checks', {
      unit: {
        output: t.number,
        run: ({ unit }) => {
          did.push(unit)
          return 7
        }
      },
      app: {
        needs: ['unit'],
        summary: 'the app',
        before: ({ unit, outputs }) => did.push(`before ${unit} ${outputs.version}`),
        after: ({ unit }) => did.push(`after ${unit}`),
        steps: (app) =>
          app
            .step('build', {
              output: t.string,
              run: ({ unit, outputs }) => {
                expectTypeOf(outputs.version).toEqualTypeOf<string>()
                did.push(unit)
                return `app-${outputs.version}`
              }
            })
            .step('smoke', {
              output: t.number,
              run: ({ unit, outputs }) => {
                did.push(unit)
                if (isDown) throw new Error('no answer')
                return outputs.build.length
              }
            })
      },
      docs: {
        steps: (docs) =>
          docs.step('write', ({ outputs }) => {
            // @ts-expect-error: a group that it does not need
            assert.equal(outputs.app, undefined)
            return null
          })
      },
      plain: () => 'fine'
    })
    .step('report', ({ outputs: { checks } }) => {
      expectTypeOf(checks.app).toEqualTypeOf<{ readonly build: string; readonly smoke: number }>()
      expectTypeOf(checks.docs).toEqualTypeOf<{ readonly write: null }>()
      expectTypeOf(checks.plain).toEqualTypeOf<string>()
      return `${checks.app.build} of ${checks.unit + checks.app.smoke}`
    })
  const options = { id: 'release-1', storage: memoryStorage() }
  const failed = await runOutcome(release, options)
  assert.ok(failed._tag === 'Failed')
  assert.deepEqual(
    failed.failures.map(({ unit }) => unit),
    ['checks/app/smoke']
  )
  assert.deepEqual(did.splice(0), ['checks/unit', 'before checks/app 1.2.3', 'checks/app/build', 'checks/app/smoke'])
  isDown = false
  const outputs = await runOrResume(release, options)
  assert.deepEqual(did.splice(0), ['before checks/app 1.2.3', 'checks/app/smoke', 'after checks/app'])
  assert.equal(outputs.report, 'app-1.2.3 of 16')
  assert.deepEqual(outputs.checks, {
    unit: 7,
    app: { build: 'app-1.2.3', smoke: 9 },
    docs: { write: null },
    plain: 'fine'
  })
  await resume(release, { ...options, fromStep: 'checks/app/smoke' })
  assert.deepEqual(did, ['before checks/app 1.2.3', 'checks/app/smoke', 'after checks/app'])
})

test('all steps of the body of a map see the item, even inside a wave or a sequence', async () => {
  const saw: Array<string> = []
  let broken: string | undefined = 'pages/b/looks/deep/read'
  const look = ({ unit, item }: { readonly unit: string; readonly item: string }): number => {
    if (unit === broken) throw new Error('no answer')
    saw.push(`${unit} ${item}`)
    return item.length
  }
  const crawl = workflow('crawl')
    .step('list', { output: t.array(t.string), run: () => ['b', 'aa'] })
    .map(
      'pages',
      { forEach: ({ outputs }) => outputs.list, item: t.string, key: (page) => page, concurrency: 1 },
      {
        before: ({ item }) => saw.push(`before ${item}`),
        steps: (page) =>
          page
            .step('fetch', { output: t.number, run: look })
            .wave('looks', {
              size: look,
              deep: { needs: ['size'], steps: (deep) => deep.step('read', { output: t.number, run: look }) }
            })
            .sequence('rest', (rest) => rest.step('index', ({ item, outputs }) => `${item} ${outputs.fetch}`), {
              after: ({ item }) => saw.push(`after ${item}`)
            })
            .map(
              'links',
              { forEach: ({ item, outputs }) => [outputs.fetch, item.length + 1], item: t.number },
              ({ item }) => item
            )
      }
    )
    .step('sum', ({ outputs: { pages } }) => {
      expectTypeOf(pages).toEqualTypeOf<
        ReadonlyArray<{
          readonly fetch: number
          readonly looks: { readonly size: number; readonly deep: { readonly read: number } }
          readonly rest: { readonly index: string }
          readonly links: ReadonlyArray<number>
        }>
      >()
      return pages.reduce((sum, { fetch }) => sum + fetch, 0)
    })
  const options = { id: 'crawl-1', storage: memoryStorage() }
  assert.equal((await runOutcome(crawl, options))._tag, 'Failed')
  broken = undefined
  const outputs = await runOrResume(crawl, options)
  const of = (page: string): ReadonlyArray<string> =>
    saw.filter((line) => line.startsWith(`pages/${page}/`) || line.endsWith(`r ${page}`))
  for (const page of ['b', 'aa'])
    assert.deepEqual(of(page), [
      ...['fetch', 'looks/size', 'looks/deep/read'].map((unit) => `pages/${page}/${unit} ${page}`),
      `after ${page}`
    ])
  assert.deepEqual(outputs.pages, [
    { fetch: 1, looks: { size: 1, deep: { read: 1 } }, rest: { index: 'b 1' }, links: [1, 2] },
    { fetch: 2, looks: { size: 2, deep: { read: 2 } }, rest: { index: 'aa 2' }, links: [2, 3] }
  ])
  assert.equal(outputs.sum, 3)
})

test('the body of a map cannot run as a workflow, because its steps need an item', () => {
  workflow('m').map(
    'each',
    { forEach: () => [1] },
    {
      steps: (body) => {
        // @ts-expect-error: there is no item
        void (() => runOrResume(body, { id: 'r', storage: memoryStorage() }))
        return body.step('one', ({ item }) => item)
      }
    }
  )
})

test('spreading a workflow copies its steps, name and identity', () => {
  const flow = workflow('w').step('one', () => 1)
  const { name, steps, identity } = { ...flow }
  assert.deepEqual([name, steps, identity], [flow.name, flow.steps, flow.identity])
  assert.deepEqual(
    steps.map((step) => step.name),
    ['one']
  )
})

test('the methods of a workflow may be destructured', async () => {
  const { step, wave } = workflow('w')
  assert.deepEqual(
    await runOrResume(
      step('one', () => 1),
      { id: 'r', storage: memoryStorage() }
    ),
    { one: 1 }
  )
  assert.deepEqual(
    wave('all', { a: () => 1 }).steps.map(({ name }) => name),
    ['all']
  )
})

test('a retry policy takes omitted fields from the standard policy, in steps and sub-steps', async () => {
  const slept: Array<number> = []
  const sleep = (millis: number) => () => {
    slept.push(millis)
    return Promise.resolve()
  }
  const busy = Object.assign(new Error('busy'), { status: 503 })
  const retry = { attempts: 3, delayMillis: 200, jitter: 0 }
  let calls = 0
  const flow = workflow('w')
    .step('one', {
      retry,
      run: ({ attempt }) => {
        if (attempt < 3) throw busy
      }
    })
    .step('two', ({ step }) =>
      step('inner', { retry: { ...retry, delayMillis: undefined } as never }, () => {
        calls += 1
        if (calls < 3) throw busy
      })
    )
  const environment = { clock: { now: () => 1e12, sleep } }
  await runOrResume(flow, { id: 'r', storage: memoryStorage(), environment })
  assert.deepEqual(slept, [200, 400, 5_000, 10_000])
})

test('a step object with an incomplete retry policy is refused', async () => {
  const flow = workflow('w').step('one', () => 1)
  const steps = flow.steps.map((step) => ({ ...step, retry: { attempts: 3 } }))
  const ran = await runOutcome({ ...flow, steps } as never, { id: 'r', storage: memoryStorage() })
  assert.match(JSON.stringify(ran), /retry\._tag/)
})

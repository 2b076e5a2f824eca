import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import * as t from 'io-ts'
import { describe, test } from 'vitest'
import { resume, run } from '../../src/index.js'
import * as Program from '../../src/executor/program/Program.js'
import type { World } from './fixtures.js'
import { ended, failingSave, newProcess, newWorld, outputsOf, stored } from './fixtures.js'

type Given = Pick<Program.StepContext<unknown>, 'unit'> & { readonly item?: string | number }

/** Logs its unit and the item that it sees, unless it is broken. */
const does =
  <A>({ log }: World, broken: string | undefined, value: A) =>
  ({ unit, item }: Given): TE.TaskEither<Error, A> =>
    TE.fromIOEither(() => {
      if (unit === broken) return E.left(new Error(`${unit} is broken`))
      log.push(item === undefined ? unit : `${unit} ${String(item)}`)
      return E.right(value)
    })

/** A wave with a group of steps, and a map whose body is steps with a wave and a map in it. */
const release = (world: World, broken?: string) =>
  pipe(
    Program.start('release'),
    Program.step('version', { output: t.string, run: does(world, broken, '1.2') }),
    Program.wave('checks', {
      unit: { output: t.number, run: does(world, broken, 7) },
      app: {
        needs: ['unit'],
        steps: (app) =>
          pipe(
            app,
            Program.step('build', { output: t.string, run: does(world, broken, 'app.tgz') }),
            Program.step('smoke', {
              output: t.string,
              run: (context) => does(world, broken, `${context.outputs.build} ${context.outputs.version}`)(context)
            })
          )
      },
      docs: { needs: ['app'], run: does(world, broken, 'docs') }
    }),
    Program.map(
      'regions',
      { forEach: () => ['europe', 'asia'], item: t.string, key: (region) => region },
      {
        steps: (region) =>
          pipe(
            region,
            Program.step('push', {
              output: t.string,
              run: (context) => does(world, broken, `${context.item} ${context.outputs.checks.app.smoke}`)(context)
            }),
            Program.wave('tests', {
              http: { output: t.number, run: (context) => does(world, broken, context.item.length)(context) },
              deep: {
                needs: ['http'],
                steps: (deep) =>
                  pipe(
                    deep,
                    Program.step('load', {
                      output: t.string,
                      run: (context) => does(world, broken, context.outputs.push)(context)
                    })
                  )
              }
            }),
            Program.map(
              'zones',
              { forEach: ({ item, outputs }) => [outputs.tests.http, item], item: t.union([t.string, t.number]) },
              { output: t.string, run: (context) => does(world, broken, `zone ${context.item}`)(context) }
            )
          )
      }
    ),
    Program.step('report', {
      run: (context) => does(world, broken, context.outputs.regions.map(({ push }) => push).join())(context)
    })
  )

const region = (name: string): ReadonlyArray<string> => [
  `regions/${name}/push ${name}`,
  `regions/${name}/tests/http ${name}`,
  `regions/${name}/tests/deep/load ${name}`,
  `regions/${name}/zones/1 ${name.length}`,
  `regions/${name}/zones/2 ${name}`
]

const DID = [
  'version',
  ...['unit', 'app/build', 'app/smoke', 'docs'].map((unit) => `checks/${unit}`),
  ...region('europe'),
  ...region('asia'),
  'report'
]

const outputsFor = (name: string): object => ({
  push: `${name} app.tgz 1.2`,
  tests: { http: name.length, deep: { load: `${name} app.tgz 1.2` } },
  zones: [`zone ${name.length}`, `zone ${name}`]
})

const OUTPUTS = {
  version: '1.2',
  checks: { unit: 7, app: { build: 'app.tgz', smoke: 'app.tgz 1.2' }, docs: 'docs' },
  regions: [outputsFor('europe'), outputsFor('asia')],
  report: 'europe app.tgz 1.2,asia app.tgz 1.2'
}

const unitOf = (line: string): string => line.split(' ')[0] ?? line

describe('the steps of a group and of the body of a map', () => {
  test('the steps of a group run in order, and later steps see their outputs by name', async () => {
    const world = newWorld()
    const { outputs } = ended(await newProcess(world).perform(run(release(world), 'r', {})), 'Completed')
    assert.deepEqual(outputs, OUTPUTS)
    assert.deepEqual([...world.log].sort(), [...DID].sort())
    const of = (top: string): ReadonlyArray<string> => world.log.filter((line) => line.startsWith(top))
    assert.deepEqual(of('checks'), DID.slice(1, 5))
    for (const name of ['europe', 'asia']) assert.deepEqual(of(`regions/${name}/`), region(name))
  })

  test.each(['checks/app/smoke', 'regions/asia/tests/deep/load', 'regions/asia/zones/2'])(
    'after the step %s failed, a resume continues at that step',
    async (broken) => {
      const world = newWorld()
      const outcome = ended(await newProcess(world).perform(run(release(world, broken), 'r', {})), 'Failed')
      assert.deepEqual(
        outcome.failures.map(({ unit }) => unit),
        [broken]
      )
      const done = new Set(world.log.splice(0))
      assert.ok(done.size > 2)
      const { outputs } = ended(await newProcess(world).perform(resume(release(world), 'r')), 'Completed')
      assert.deepEqual(outputs, OUTPUTS)
      assert.deepEqual([...world.log].sort(), DID.filter((line) => !done.has(line)).sort())
    }
  )

  test.each(['before', 'after'] as const)(
    'a resume runs exactly the steps without a record, whichever save the process died %s',
    async (when) => {
      const undisturbed = newProcess()
      const whole = ended(await undisturbed.perform(run(release(undisturbed.world), 'r', {})), 'Completed').checkpoint
      assert.ok(undisturbed.saves.length > 5)
      for (let n = when === 'before' ? 2 : 1; n <= undisturbed.saves.length; n++) {
        const world = newWorld()
        await newProcess(world, { around: failingSave(n, when) }).perform(run(release(world), 'r', {}))
        const recorded = new Set([...(await stored(newProcess(world).storage)).completedSteps].map(({ unit }) => unit))
        world.log.length = 0
        const { checkpoint, outputs } = ended(await newProcess(world).perform(resume(release(world), 'r')), 'Completed')
        const missing = DID.filter((line) => !recorded.has(unitOf(line)))
        assert.deepEqual([...world.log].sort(), [...missing].sort(), `save ${n}`)
        assert.deepEqual(outputs, OUTPUTS, `save ${n}`)
        assert.deepEqual(outputsOf(checkpoint), outputsOf(whole), `save ${n}`)
      }
    }
  )

  test('the steps of a group have their own checks, summary and evidence', async () => {
    const world = newWorld()
    const noting =
      (name: string) =>
      ({ unit, item }: Given): TE.TaskEither<never, void> =>
        TE.fromIO(() => void world.log.push(`${name} ${unit} ${String(item)}`))
    const program = pipe(
      Program.start('checked'),
      Program.wave('w', {
        a: {
          summary: 'all of a',
          before: noting('before'),
          after: noting('after'),
          evidence: [{ _tag: 'Artifact', path: 'missing' }],
          onCheckFailure: 'continue',
          steps: (a) => pipe(a, Program.step('one', { run: does(world, undefined, 1) }))
        }
      }),
      Program.map(
        'm',
        { forEach: () => ['x'], item: t.string },
        {
          before: noting('before'),
          after: noting('after'),
          steps: (m) => pipe(m, Program.step('one', { run: does(world, undefined, 1) }))
        }
      )
    )
    const group = program.steps[0]?._tag === 'Wave' ? program.steps[0].groups[0] : undefined
    assert.deepEqual([group?._tag, group?.summary], ['Sequence', 'all of a'])
    const process = newProcess(world)
    ended(await process.perform(run(program, 'r', {})), 'Completed')
    assert.deepEqual(world.log, [
      'before w/a undefined',
      'w/a/one',
      'after w/a undefined',
      'before m/1 x',
      'm/1/one x',
      'after m/1 x'
    ])
    assert.deepEqual(
      process.events.flatMap((event) => (event._tag === 'CheckFailed' ? [event.unit] : [])),
      ['w/a']
    )
  })

  test('the groups that need a group with a failed step do not start', async () => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(release(world, 'checks/app/build'), 'r', {})), 'Failed')
    assert.deepEqual(world.log, ['version', 'checks/unit'])
  })
})

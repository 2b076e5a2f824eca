import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Consumer, consume, killInSecondStep, manifest, root, start, tsc } from './consumer.js'

let consumer: Consumer
beforeAll(() => {
  consumer = consume(`@types/node@${manifest.devDependencies['@types/node']}`)
})
afterAll(() => {
  consumer?.remove()
})

describe('the package installed alone', () => {
  test('the package installs neither fp-ts nor io-ts', () => {
    const lock = readFileSync(join(consumer.folder, 'node_modules/.package-lock.json'), 'utf8')
    expect(lock).toContain('"node_modules/proper-lockfile"')
    expect(lock).not.toMatch(/"node_modules\/(fp-ts|io-ts|fast-check)"/)
  })

  test('the package alone resumes a workflow of dogear/promise after a kill', async () => {
    const script = consumer.write('host.mjs', readFileSync(join(import.meta.dirname, 'host.mjs'), 'utf8'))
    const [state, log] = [join(consumer.folder, 'state'), join(consumer.folder, 'log')]
    expect(await killInSecondStep(process.execPath, script, state, log, 'first')).toBe('first\nsecond\n')
    const resumed = await start(consumer.folder, process.execPath, script, state, log, 'second')
    expect(resumed).toEqual({ code: 0, stdout: 'second\nthird\nCompleted {}\n', stderr: '' })
  })

  test('Node.js prints the line that awaits a failed run above its error', async () => {
    const script = consumer.write(
      'failing.mjs',
      `import { memoryStorage } from 'dogear/memory'
import { run, workflow } from 'dogear/promise'
const flow = workflow('w').step('one', () => Promise.reject(new Error('no')))
await run(flow, { id: 'r', storage: memoryStorage() })
`
    )
    const { code, stderr } = await start(consumer.folder, process.execPath, script)
    expect([code, stderr.split('\n').slice(1, 5)]).toEqual([
      1,
      [
        "await run(flow, { id: 'r', storage: memoryStorage() })",
        '^',
        '',
        'RunFailure: Run r failed in step 1 (one): no'
      ]
    ])
  })

  test('recipes that use no other library run with the package alone', async () => {
    for (const name of ['agent', 'approval', 'child-run'])
      consumer.write(`${name}.mjs`, readFileSync(join(root, `examples/recipes/${name}.mjs`), 'utf8'))
    const run = (...words: readonly string[]) => start(consumer.folder, process.execPath, ...words)
    const agent = await run('agent.mjs', 'trip-1', 'Paris or Rome?')
    expect(agent).toEqual({ code: 0, stdout: 'Booked Rome: ticket to Rome\n', stderr: '' })
    expect((await run('approval.mjs', 'run', 'release-1')).code).toBe(75)
    expect((await run('child-run.mjs', 'march')).stdout).toBe('Completed 800\n')
  })

  test('with the package alone, a program type-checks against every entry point but dogear/testing', async () => {
    const entries = Object.keys(manifest.exports).filter((entry) => !/json$|^\.\/testing/.test(entry))
    const names = entries.map((entry) => entry.replace(/^\./, manifest.name))
    const imports = names.map((name, i) => `import * as _${i} from '${name}'\nvoid _${i}\n`)
    consumer.write('host.mts', imports.join(''))
    const options = { module: 'nodenext', target: 'es2023', types: ['node'], strict: true, noEmit: true }
    const tsconfig = consumer.write('tsconfig.json', JSON.stringify({ compilerOptions: options, files: ['host.mts'] }))
    const { code, stdout } = await start(consumer.folder, process.execPath, tsc.newest, '--project', tsconfig)
    expect(code, stdout).toBe(0)
  })
  test('declarations of exported workflows and runs name no file of the package', { timeout: 120_000 }, async () => {
    const compiled = async (compiler: string, ...files: ReadonlyArray<string>): Promise<string> => {
      const compilerOptions = { ...inferring, outDir: 'types' }
      const tsconfig = consumer.write('inferring.json', JSON.stringify({ compilerOptions, files }))
      return (await start(consumer.folder, process.execPath, compiler, '--project', tsconfig)).stdout
    }
    consumer.write('promise.mts', promiseForm)
    consumer.write('fp.cts', fpForm)
    for (const compiler of [tsc.inJavaScript, tsc.newest]) {
      expect(await compiled(compiler, 'promise.mts', 'fp.cts')).toBe('')
      expect(await compiled(tsc.newest, 'types/promise.d.mts', 'types/fp.d.cts')).toBe('')

      const declared = readFileSync(join(consumer.folder, 'types/promise.d.mts'), 'utf8')
      expect(declared).toMatch(/deploy: \{\s+readonly push: string;\s+\}/)
      expect(declared + readFileSync(join(consumer.folder, 'types/fp.d.cts'), 'utf8')).not.toContain('/dist/')
    }
  })
})

const inferring = {
  module: 'nodenext',
  target: 'es2023',
  types: ['node'],
  strict: true,
  declaration: true,
  emitDeclarationOnly: true
}

/** Exports of a program that imports only the promise form. */
const promiseForm = `
import { answer, cancel, isRunFailure, listRuns, type Options, planRun, poll, reuse, runOutcome, start, viewRun, workflow } from 'dogear/promise'

export const flow = workflow('flow')
  .step('build', () => ({ at: 'now', note: undefined as string | undefined, more: JSON.parse('1') as unknown }))
  .sequence('deploy', (deploy) => deploy.step('push', ({ outputs }) => outputs.build.at))
  .wave('checks', { unit: () => 1, app: { needs: ['unit'], steps: (app) => app.step('smoke', () => 'fine') } })
  .map('items', { forEach: () => [1] }, { steps: (item) => item.step('size', ({ item }) => item) })
  .waitFor('approve')
  .step('report', ({ outputs }) => [outputs.approve])
export const outcome = (options: Options) => runOutcome(flow, options)
export const planned = (options: Options) => planRun(flow, options)
export const polled = (options: Options) => poll(flow, options)
export const started = (options: Options) => start(flow, options)
export const listed = (options: Options) => listRuns(options)
export const viewed = (options: Options) => viewRun(options)
export const answered = (options: Options) => answer({ ...options, unit: 'approve', value: true })
export const cancelled = (options: Options) => cancel(options)
export const failure = (error: unknown) => (isRunFailure(error) ? error.outcome : undefined)
export const corpus = reuse({ fromRun: 'crawl-7', artifact: 'corpus' })
`

const fpForm = `
import { type Environment, listRuns, Program, RetryPolicy, run, RunId, RunOutcome, StepError, StepFailure, viewRun } from 'dogear'

const pipe = <A, B>(a: A, to: (a: A) => B): B => to(a)
export const program = pipe(Program.start('program'), Program.step('build', () => 1))
export const ran = run(program, 'program-1', {})
export const called = (environment: Environment) => ran(environment)
export const ended = (environment: Environment) => ran(environment)()
export const runs = (environment: Environment) => listRuns()(environment)
export const viewed = (environment: Environment) => viewRun('program-1')(environment)
export const match = RunOutcome.match
export const offline = StepFailure.transient(StepError.make('Offline', 'no network'))
export const unpaid = StepFailure.permanent(StepError.make('Unpaid', 'no money'))
export const policy = RetryPolicy.make({ attempts: 3 })
export const id = RunId.parse('program-1')
export const task = Program.task('build', { run: () => 1 })
export const steps = [Program.sequenceOf('deploy', [task]), Program.waveOf('checks', [])]
export const listed = Program.fromSteps('listed', [task])
`

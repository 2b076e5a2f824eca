import * as TE from 'fp-ts/lib/TaskEither.js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { memoryArtifacts, memoryRequests, memoryStorage } from '../../src/adapters/memory.js'
import type { Context } from '../../src/cli/commands/Context.js'
import { watchCommand } from '../../src/cli/commands/watch.js'
import { runOutcome, workflow as workflowOf } from '../../src/promise/index.js'
import type { StorageError } from '../../src/ports/CheckpointStorage.js'
import * as Style from '../../src/cli/terminal/Style.js'
import { unicode } from '../../src/cli/terminal/Symbols.js'
import { isAlive, linesOf, type Sandbox, sandbox, timeless } from './dogear.js'
import { hasTerminal, onTerminal } from './onTerminal.js'

const workflow = `
name: release
steps:
  - { name: build, shell: 'while ! test -e go; do sleep 0.05; done' }
  - wave: checks
    groups:
      unit: { shell: "sleep 0.4" }
      lint: { shell: 'test ! -e bad || { echo "no semicolons" >&2; exit 3; }' }
`

let place: Sandbox
beforeEach(() => {
  place = sandbox({ 'w.yml': workflow })
})
afterEach(() => place.remove())

/** A run that waits for the file go. */
const begin = async (): Promise<ReturnType<Sandbox['start']>> => {
  const run = place.start(['run', 'w.yml', '--id', 'first'])
  await run.said('Executing step 1/2')
  return run
}

test('watch follows a run of another process, reports each completed unit, and ends when the run completes', async () => {
  const run = await begin()
  const watch = place.start(['watch', 'first'])
  await watch.said('Run first: release, running')
  place.write('go', '')
  const { code, stdout, stderr } = await watch.ended
  expect([code, stdout]).toEqual([0, ''])
  expect(linesOf(stderr).map((line) => timeless(line))).toEqual([
    expect.stringMatching(/^Run first: release, running, 0\/2 steps completed/),
    '✓ build (T)',
    '✓ checks/lint (T)',
    '✓ checks/unit (T)',
    '✓ checks (T)',
    'Run first is completed: 2/2 steps done (100%), last change T after the run started'
  ])
  expect((await run.ended).code).toBe(0)
})

test('watch --json prints every change as a line of JSON, and the state of the run last', async () => {
  place.write('bad', '')
  const run = await begin()
  const watch = place.start(['watch', 'first', '--json'])
  await watch.said('AttemptStarted')
  place.write('go', '')
  const { code, stdout, stderr } = await watch.ended
  await run.ended
  expect([code, stderr]).toEqual([1, ''])
  const events = linesOf(stdout).map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
  expect(events[0]).toMatchObject({ event: 'Started', revision: 0, run_name: 'release' })
  expect(events[1]).toMatchObject({ event: 'AttemptStarted', revision: 1, attempts: [{ unit: 'build', attempt: 1 }] })
  expect(events.map(({ revision }) => revision)).toEqual(
    [...events.keys()].map((n) => (n === events.length - 1 ? undefined : n))
  )
  expect(events.find(({ event }) => event === 'UnitFailed')).toMatchObject({
    unit: 'checks/lint',
    attempt: 1,
    error: { name: 'ExitError', message: 'exit code 3: no semicolons' }
  })
  expect(events.at(-1)).toMatchObject({ event: 'RunRests', run_id: 'first', status: 'failed', steps_completed: 1 })
})

test('Ctrl+C ends the watch and leaves the run alone', async () => {
  const run = await begin()
  const watch = place.start(['watch', 'first'])
  await watch.said('Run first: release')
  watch.child.kill('SIGINT')
  expect((await watch.ended).signal).toBe('SIGINT')
  expect(isAlive(run.pid)).toBe(true)
  place.write('go', '')
  expect((await run.ended).code).toBe(0)
})

test('watch of a run at rest shows its state and ends', async () => {
  place.write('go', '')
  place.write('bad', '')
  await place.dogear(['run', 'w.yml', '--id', 'first'])
  const { code, stderr } = await place.dogear(['watch', 'first'])
  expect(code).toBe(1)
  expect(stderr).toContain('Run first is failed: 1/2 steps done (50%)')
  expect(stderr).toContain('Resume with:\n  dogear resume first\n')
  expect((await place.dogear(['watch', 'none'])).code).toBe(3)
})

test('watch --json of a waiting run ends with what it waits for, and until when', async () => {
  place.write('wait.yml', 'steps: [{ name: go, waitFor: { question: Go?, timeout: 3d } }]')
  await place.dogear(['run', 'wait.yml', '--id', 'first'])
  const { stdout } = await place.dogear(['watch', 'first', '--json'])
  const [listed] = JSON.parse((await place.dogear(['runs', '--json'])).stdout) as readonly object[]
  expect(listed).toMatchObject({ waits_for: ['answer'] })
  expect(JSON.parse(linesOf(stdout).at(-1) ?? '')).toEqual({ event: 'RunRests', ...listed })
})

test('watch of a run that has not begun exits as for an interrupted one', async () => {
  place.write('go', '')
  await place.dogear(['run', 'w.yml', '--id', 'first'])
  await place.dogear(['fork', 'first', '--from-step', 'build', '--id', 'second'])
  const { code, stderr } = await place.dogear(['watch', 'second'])
  expect(code).toBe(1)
  expect(stderr).toContain('Run second is queued: 0/2 steps done (0%)')
})

test('a line is cut by the display width of its characters, and never inside a character', () => {
  const cut = (text: string, width: number): string => Style.fitted(text, { symbols: unicode, width })
  expect(cut('日本語', 6)).toBe('日本語')
  expect(cut('日本語', 5)).toBe('日本…')
  expect(cut('日本語', 4)).toBe('日…')
  expect(cut('👩‍👩‍👧 x', 4)).toBe('👩‍👩‍👧 x')
  expect(cut('e\u0301e\u0301e\u0301', 3)).toBe('e\u0301e\u0301e\u0301')
  expect(cut('abcdef', 4)).toBe('abc…')
})

test('watch removes its live rows before it fails because the changes cannot be read', async () => {
  const storage = memoryStorage()
  let go = (): void => undefined
  let ending: Promise<unknown> = Promise.resolve()
  await new Promise<void>((begun) => {
    const one = workflowOf('w').step('one', () => new Promise<void>((resolve) => begun(void (go = resolve))))
    ending = runOutcome(one, { id: 'first', storage })
  })
  const failure: StorageError = { _tag: 'ReadFailed', where: 'first', operation: 'read', code: 'EIO', cause: undefined }
  const statuses: Array<boolean> = []
  const context: Partial<Context> = {
    json: false,
    home: place.folder,
    folder: place.folder,
    inherited: {},
    screen: {
      line: () => undefined,
      style: Style.none,
      status: (rows) => {
        statuses.push(rows !== undefined)
        go()
      }
    } as Partial<Context['screen']> as Context['screen'],
    store: {
      location: { _tag: 'Files', path: place.folder },
      words: [],
      database: {
        storage: { ...storage, history: () => TE.left(failure) },
        artifacts: memoryArtifacts(),
        requests: memoryRequests(),
        close: () => Promise.resolve()
      }
    }
  }
  expect(await watchCommand(context as Context, 'first')).toMatchObject({ left: { error: failure } })
  expect(statuses).toEqual([true, false])
  await ending
})

describe.skipIf(!hasTerminal)('on a terminal', () => {
  test('watch shows a live tree below the lines, and erases it at the end', async () => {
    await begin()
    const watch = onTerminal(place, ['watch', 'first'])
    await watch.said('in flight')
    place.write('go', '')
    const { code, stdout } = await watch.ended
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /0\/2 steps done \(0%\)\r\n⚡ {3}1 build +in flight\r\n○ {3}2 checks +not started, 0\/2 groups/
    )
    // Four lines above the last one are cleared before a line is printed.
    expect(stdout).toContain('\r\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K✓ build (')
    expect(stdout.slice(stdout.lastIndexOf('\x1b[2K') + 4)).toMatch(/^Run first is completed/)
  })

  test('several running groups have a live row each', async () => {
    place.write(
      'two.yml',
      'steps: [{ wave: both, groups: { one: { shell: "sleep 0.6" }, two: { shell: "sleep 0.6" } } }]'
    )
    const { stdout } = await onTerminal(place, ['run', 'two.yml']).ended
    expect(stdout).toContain('0/1 steps done (0%), both: 0/2 groups\r\n  ⚡ one 0 s\r\n  ⚡ two 0 s')
  })
})

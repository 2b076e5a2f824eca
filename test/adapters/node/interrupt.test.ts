import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import * as O from 'fp-ts/lib/Option.js'
import { describe, test } from 'vitest'
import { abortOnSignals, exitCode, interruptFrom, neverInterrupted } from '../../../src/adapters/node/index.js'
import { isRunning, program, until } from './processes.js'

/** The same signal within this time does not count as a second one. */
const REPEATED_MILLIS = 500

const wait = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const

/** Prints that it is ready, then each signal that it receives, and keeps running. */
const LIVES_ON = `
const handlers = node.abortOnSignals()
handlers.interrupt.signal.addEventListener('abort', () =>
  print([handlers.received().value, handlers.interrupt.reason(), handlers.interrupt.signal.reason.name].join(' ')))
setInterval(() => {}, 1000)
print('ready')`

describe('interrupt sources', () => {
  test('neverInterrupted has a signal that never fires and accumulates no listeners', () => {
    const listen = (): void => neverInterrupted.signal.addEventListener('abort', () => {})
    for (let n = 0; n < 20; n++) listen()
    assert.equal(getEventListeners(neverInterrupted.signal, 'abort').length, 0)
    assert.equal(neverInterrupted.signal.aborted, false)
  })

  test('interruptFrom returns an Interrupt with the given AbortSignal and the reason "aborted"', () => {
    const stop = new AbortController()
    const interrupt = interruptFrom(stop.signal)
    assert.equal(interrupt.signal, stop.signal)
    assert.equal(interrupt.reason(), 'aborted')
  })
})

describe('signal handlers', () => {
  test('importing the module installs no signal handlers', async () => {
    const { printed, ended } = program(`print(names.join()); print(process.eventNames().join())`)
    await ended
    const [before, after] = printed().split('\n')
    assert.ok(before !== undefined && before.length > 0)
    assert.equal(after, before)
  })

  test('dispose removes the signal handlers and leaves those of other code in place', () => {
    const own = (): void => {}
    process.on('SIGHUP', own)
    const names = process.eventNames()
    const counts = names.map((name) => process.listenerCount(name))
    const handlers = abortOnSignals()
    assert.equal(process.listenerCount('SIGHUP'), 2)
    assert.deepEqual(handlers.received(), O.none)
    handlers.dispose()
    handlers.dispose()
    assert.deepEqual(process.eventNames(), names)
    assert.deepEqual(
      names.map((name) => process.listenerCount(name)),
      counts
    )
    process.off('SIGHUP', own)
  })

  test('signal handlers are installed once for each requested signal and for no other', () => {
    const handlers = abortOnSignals({ signals: ['SIGHUP', 'SIGHUP'] })
    assert.equal(process.listenerCount('SIGHUP'), 1)
    assert.equal(process.listenerCount('SIGINT'), 0)
    handlers.dispose()
    assert.equal(process.listenerCount('SIGHUP'), 0)
  })

  test('after dispose a signal ends the process, as without handlers', async () => {
    const { child, printed, ended } = program(
      `node.abortOnSignals().dispose(); setInterval(() => {}, 1000); print('ready')`
    )
    await until('it is ready', () => printed() !== '')
    child.kill('SIGTERM')
    assert.deepEqual(await ended, { code: null, signal: 'SIGTERM' })
  })

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGQUIT'] as const) {
    test(`the first ${signal} requests a stop with its name as the reason; a second one ends the process at once`, async () => {
      const { child, printed, ended } = program(LIVES_ON)
      await until('it is ready', () => printed() === 'ready\n')
      child.kill(signal)
      await until('the process reports the signal', () => printed() === `ready\n${signal} signal AbortError\n`)
      assert.equal(child.exitCode ?? child.signalCode, null)
      await wait(REPEATED_MILLIS + 50)
      const before = Date.now()
      child.kill(signal)
      assert.deepEqual(await ended, { code: null, signal })
      assert.ok(Date.now() - before < 1_000)
    })
  }

  test('a signal repeated at once, as by Ctrl+C under npm, counts once; repeated later, it ends the process at once', async () => {
    const { child, printed, ended } = program(LIVES_ON)
    await until('it is ready', () => printed() === 'ready\n')
    child.kill('SIGINT')
    await wait(5)
    child.kill('SIGINT')
    await until('the process reports the signal', () => printed().includes('SIGINT'))
    await wait(100)
    assert.equal(child.exitCode ?? child.signalCode, null)
    await wait(REPEATED_MILLIS)
    child.kill('SIGINT')
    assert.deepEqual(await ended, { code: null, signal: 'SIGINT' })
  })

  test('the first SIGHUP requests a stop, and a later one changes nothing', async () => {
    const { child, printed, ended } = program(LIVES_ON)
    await until('it is ready', () => printed() === 'ready\n')
    child.kill('SIGHUP')
    await until('the process reports the signal', () => printed() === 'ready\nSIGHUP signal AbortError\n')
    await wait(REPEATED_MILLIS + 50)
    child.kill('SIGHUP')
    await wait(100)
    assert.equal(child.exitCode ?? child.signalCode, null)
    child.kill('SIGTERM')
    assert.deepEqual(await ended, { code: null, signal: 'SIGTERM' })
  })

  for (const [first, then] of [
    ['SIGQUIT', 'SIGHUP'],
    ['SIGHUP', 'SIGQUIT']
  ] as const) {
    test(`${first}, then ${then}, counts as one request, as when Ctrl+\\ ends the shell; a later SIGQUIT ends the process at once`, async () => {
      const { child, printed, ended } = program(LIVES_ON)
      await until('it is ready', () => printed() === 'ready\n')
      child.kill(first)
      await until('the process reports the signal', () => printed() === `ready\n${first} signal AbortError\n`)
      child.kill(then)
      await wait(REPEATED_MILLIS + 50)
      assert.equal(child.exitCode ?? child.signalCode, null)
      child.kill('SIGQUIT')
      assert.deepEqual(await ended, { code: null, signal: 'SIGQUIT' })
    })
  }

  test('a second signal of another kind ends the process at once', async () => {
    const { child, printed, ended } = program(LIVES_ON)
    await until('it is ready', () => printed() === 'ready\n')
    child.kill('SIGINT')
    await until('the process reports the signal', () => printed().includes('SIGINT'))
    child.kill('SIGTERM')
    assert.deepEqual(await ended, { code: null, signal: 'SIGTERM' })
  })

  test('the second signal ends the process even if another handler catches it', async () => {
    const { child, printed, ended } = program(`${LIVES_ON}\nprocess.on('SIGTERM', () => {})`)
    await until('it is ready', () => printed() === 'ready\n')
    child.kill('SIGTERM')
    await until('the process reports the signal', () => printed().includes('SIGTERM'))
    await wait(REPEATED_MILLIS + 50)
    child.kill('SIGTERM')
    assert.deepEqual(await ended, { code: 143, signal: null })
  })

  test('the exit code of a signal is 128 plus its number', () => {
    assert.deepEqual(SIGNALS.map(exitCode), [130, 143, 129, 131])
  })
})

/** A program that starts a command that ignores SIGTERM and SIGINT; prints the ids of its leader and a grandchild. */
const RUNS_A_COMMAND = `
const command = (signal) => node.subprocess.run({
  what: { _tag: 'Shell', script: "trap '' TERM INT; sleep 100 & echo $$ $!; wait" },
  env: process.env, cwd: process.cwd(), signal, graceMillis: 60_000, captureBytes: 0,
  onOutput: (_, chunk) => print(chunk.toString().trim())
})()`

describe('the end of the process', () => {
  const endsItsCommands = async (script: string, end: (child: ReturnType<typeof program>) => Promise<void>) => {
    const started = program(`${RUNS_A_COMMAND}\n${script}`)
    await until('the command runs', () => /^\d+ \d+\n/.test(started.printed()))
    const pids = started.printed().split(/\s/).slice(0, 2).map(Number)
    assert.deepEqual(pids.map(isRunning), [true, true])
    await end(started)
    const how = await started.ended
    await until('its processes are gone', () => !pids.some(isRunning))
    return how
  }

  test('a second signal kills the running commands, whatever their grace period', async () => {
    const how = await endsItsCommands(
      `const { interrupt } = node.abortOnSignals()
       interrupt.signal.addEventListener('abort', () => print('stopping'))
       await command(interrupt.signal)`,
      async ({ child, printed }) => {
        child.kill('SIGINT')
        await until('it stops', () => printed().includes('stopping'))
        await wait(REPEATED_MILLIS + 50)
        child.kill('SIGINT')
      }
    )
    assert.deepEqual(how, { code: null, signal: 'SIGINT' })
  })

  test('process.exit kills the running commands', async () => {
    const how = await endsItsCommands(
      `process.on('SIGUSR2', () => process.exit(7)); await command(new AbortController().signal)`,
      ({ child }) => Promise.resolve(void child.kill('SIGUSR2'))
    )
    assert.equal(how.code, 7)
  })
})

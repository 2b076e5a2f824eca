import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { answer, cancel, pause } from 'dogear'
import { memoryRequests, memoryStorage } from 'dogear/memory'
import { nodeEnvironment } from 'dogear/node'
import { runOutcome, workflow } from 'dogear/promise'
import { setTimeout } from 'node:timers/promises'
import { test } from 'vitest'

/** A clock that a test advances, and storage, requests and options for one run. */
const world = () => {
  let time = Date.parse('2026-01-02T03:04:05.000Z')
  const clock = {
    now: () => time,
    sleep: (_: number, signal: AbortSignal) => () =>
      new Promise<void>((resolve) =>
        signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true })
      )
  }
  const [storage, requests] = [memoryStorage(), memoryRequests()]
  const environment = { clock, requests }
  return {
    move: (millis: number) => void (time += millis),
    options: { id: 'r', storage, environment },
    give: (unit: string, value: unknown) => answer('r', unit, value)(nodeEnvironment(storage, environment))()
  }
}

const untilAborted = ({ signal }: { readonly signal: AbortSignal }): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }))

test('a task that waits is suspended even if one of its sub-step calls was refused', async () => {
  const stop = new AbortController()
  const w = workflow('w').step('do', async ({ step, waitFor }) => {
    const ok = waitFor('ok')
    await step('a', () => 1)
    await step('', () => 1).catch(() => undefined)
    return await ok
  })
  const running = runOutcome(w, { id: 'r', storage: memoryStorage(), signal: stop.signal })
  const ended = await Promise.race([running, setTimeout(1_000, { _tag: 'hangs' })])
  stop.abort()
  assert.equal(ended._tag, 'Pending')
})

test('a wait whose start is still being saved when the code returns leaves no timer', async () => {
  let timers = 0
  const clock = {
    now: () => Date.now(),
    sleep: (_: number, signal: AbortSignal) => () =>
      new Promise<void>((resolve) => {
        timers += 1
        const end = (): void => ((timers -= 1), resolve())
        if (signal.aborted) end()
        else signal.addEventListener('abort', end, { once: true })
      })
  }
  const w = workflow('w').step('a', ({ waitFor }) => {
    void waitFor('ok')
    return 'done'
  })
  const ended = await runOutcome(w, { id: 'r', storage: memoryStorage(), environment: { clock } })
  assert.equal(ended._tag, 'Completed')
  await setTimeout(20)
  assert.equal(timers, 0)
})

test('a sub-step may catch the error of a nested non-idempotent sub-step that was stopped', async () => {
  const w = workflow('w').step('a', ({ step }) =>
    Promise.all([
      step('outer', async ({ step: inner }) => {
        await inner('pay', { idempotent: false }, untilAborted).catch(() => undefined)
        return 'caught'
      }),
      step('bad', async () => {
        await setTimeout(10)
        throw new Error('bad')
      })
    ])
  )
  const ended = await runOutcome(w, { id: 'r', storage: memoryStorage() })
  assert.equal(ended._tag, 'Failed', JSON.stringify(ended._tag === 'Refused' && ended.error))
})

test('a task of a halted wave may catch the error of its sub-step that was stopped', async () => {
  const w = workflow('w').wave(
    'v',
    {
      a: async () => {
        await setTimeout(10)
        throw new Error('bad')
      },
      b: ({ step }) => step('pay', { idempotent: false }, untilAborted).catch(() => 'caught')
    },
    { onFailure: 'halt' }
  )
  const ended = await runOutcome(w, { id: 'r', storage: memoryStorage() })
  assert.equal(ended._tag, 'Failed', JSON.stringify(ended._tag === 'Refused' && ended.error))
})

test('a job drops the waits that its submit function left open', async () => {
  const { options, move } = world()
  const w = workflow('w').step('n', {
    job: {
      submit: async ({ sleep }) => {
        await Promise.race([sleep('short', { millis: 500 }), sleep('limit', { millis: 1_000 })])
        return 'j'
      },
      poll: () => ({ _tag: 'Unfinished' as const }),
      collect: () => 1
    }
  })
  assert.equal((await runOutcome(w, options))._tag, 'Pending')
  move(500)
  assert.equal((await runOutcome(w, options))._tag, 'Pending')
  move(1_000)
  const ended = await runOutcome(w, options)
  assert.equal(ended._tag, 'Pending', JSON.stringify(ended._tag === 'Refused' && ended.error))
})

const twoProcesses = (act: () => Promise<unknown>) => {
  const ran: Array<string> = []
  const environment = { requests: memoryRequests() }
  const options = { id: 'r', storage: memoryStorage(), environment }
  const w = (who: string) =>
    workflow('w')
      .waitFor('ok')
      .step('work', async () => {
        if (who === 'other') await act()
      })
      .step('after', () => void ran.push(`${who} after`))
  return { ran, options, w, port: nodeEnvironment(options.storage, environment) }
}

test('with wait: true a process does not resume a run that another process paused', async () => {
  const { ran, options, w, port } = twoProcesses(() => pause('r')(port)())
  const staying = runOutcome(w('stays'), { ...options, wait: true })
  await setTimeout(30)
  assert.ok(E.isRight(await answer('r', 'ok', 1)(port)()))
  const other = await runOutcome(w('other'), options)
  assert.ok(other._tag === 'Interrupted' && other.reason === 'paused')
  const ended = await staying
  assert.deepEqual(ran, [])
  assert.ok(ended._tag === 'Interrupted' && ended.reason === 'paused', ended._tag)
})

test('with wait: true a process ends as cancelled when the run is cancelled while another process owns it', async () => {
  const { options, w, port } = twoProcesses(async () => {
    await setTimeout(1_500)
    await cancel('r')(port)()
  })
  const staying = runOutcome(w('stays'), { ...options, wait: true })
  await setTimeout(30)
  assert.ok(E.isRight(await answer('r', 'ok', 1)(port)()))
  await runOutcome(w('other'), options)
  const ended = await staying
  assert.ok(ended._tag === 'Interrupted' && ended.reason === 'cancelled', ended._tag)
})

test('a sub-step is not recorded as completed if it catches the error of a refused nested call', async () => {
  const ran: Array<string> = []
  const stop = new AbortController()
  const w = (version: string, hangs: boolean) =>
    workflow('w').step('a', ({ step }) =>
      step('outer', async ({ step: inner }) => {
        try {
          await inner('pay', { idempotent: false, version }, () => void ran.push(`pay ${version}`))
        } catch {
          return 'no pay'
        }
        if (hangs) {
          stop.abort()
          await new Promise(() => undefined)
        }
        return 'paid'
      })
    )
  const options = { id: 'r', storage: memoryStorage(), environment: { graceMillis: 0 } }
  assert.equal((await runOutcome(w('1', true), { ...options, signal: stop.signal }))._tag, 'Interrupted')
  const failed = await runOutcome(w('2', false), options)
  assert.ok(failed._tag === 'Failed')
  assert.deepEqual(
    Array.from(failed.checkpoint.completedSteps, ({ unit }) => unit),
    []
  )
  const confirm = new Map([['a/outer/pay', { _tag: 'Again' } as const]])
  await runOutcome(w('2', false), { ...options, confirm })
  assert.deepEqual(ran, ['pay 1', 'pay 2'])
})

test('a sub-step in doubt keeps its question if the task catches the error of its refused call and is then stopped', async () => {
  const w = (version: string, stop?: AbortController) =>
    workflow('w').step('do', async ({ step }) => {
      await step('first', { version }, () => 1).catch(() => undefined)
      await step('pay', { idempotent: false }, () => undefined).catch(() => undefined)
      if (stop !== undefined) {
        stop.abort()
        await new Promise(() => undefined)
      }
      return 'end'
    })
  const options = { id: 'r', storage: memoryStorage(), environment: { graceMillis: 0 } }
  for (const version of ['1', '2']) {
    const stop = new AbortController()
    await runOutcome(w(version, stop), { ...options, signal: stop.signal })
  }
  const ended = await runOutcome(w('2'), options)
  assert.ok(ended._tag === 'Refused' && ended.error._tag === 'Unconfirmed', ended._tag)
})

test('a sub-step in doubt that is refused after a wait keeps its question if the task catches the error', async () => {
  const { options, move } = world()
  const w = (version: string) =>
    workflow('w').step('do', async ({ sleep, step }) => {
      const naps = [sleep('one', { millis: 1_000 }), sleep('two', { millis: 2_000 })]
      await step('first', { version }, () => 1).catch(() => undefined)
      if (version === '1') await step('pay', { idempotent: false }, () => undefined)
      await Promise.all(naps)
      if (version === '2') await step('pay', { idempotent: false }, () => undefined).catch(() => undefined)
      return 'end'
    })
  await runOutcome(w('1'), options)
  move(1_000)
  await runOutcome(w('2'), options)
  move(1_000)
  const ended = await runOutcome(w('2'), options)
  assert.ok(ended._tag === 'Refused' && ended.error._tag === 'Unconfirmed', ended._tag)
})

test('a suspended task that an edit turned into a sequence runs at once', async () => {
  const { options } = world()
  await runOutcome(
    workflow('w').step('n', ({ sleep }) => sleep('x', { millis: 1_000 })),
    options
  )
  const ended = await runOutcome(
    workflow('w').sequence('n', (start) => start.step('x', () => 1)),
    options
  )
  assert.equal(ended._tag, 'Completed', JSON.stringify(ended._tag === 'Pending' && ended.units))
})

test('a pause does not record the units that it leaves in flight as failed', async () => {
  const stop = new AbortController()
  const environment = { requests: memoryRequests(), graceMillis: 0 }
  const options = { id: 'r', storage: memoryStorage(), environment }
  let isFirst = true
  const w = (concurrency: number) =>
    workflow('w').wave('out', {
      g: {
        steps: (start) =>
          start.wave(
            'in',
            {
              p: async () => {
                if (!isFirst) return void (await pause('r')(nodeEnvironment(options.storage, environment))())
                await setTimeout(20)
                stop.abort()
                await new Promise(() => undefined)
              },
              q: () => new Promise(() => undefined)
            },
            { concurrency }
          )
      },
      h: () => 1
    })
  await runOutcome(w(2), { ...options, signal: stop.signal })
  isFirst = false
  const paused = await runOutcome(w(1), options)
  assert.ok(paused._tag === 'Interrupted' && paused.checkpoint.state._tag === 'Interrupted')
  assert.deepEqual([...paused.checkpoint.state.failures], [])
})

test('an answer reaches its wait while a sub-step runs beside it', async () => {
  const options = { id: 'r', storage: memoryStorage(), environment: { requests: memoryRequests() } }
  const w = workflow('w').step('do', ({ step, waitFor }) => {
    const stop = new AbortController()
    void waitFor('stop').then(() => stop.abort())
    return step('work', async () => {
      await Promise.race([setTimeout(3_000), untilAborted(stop).catch(() => undefined)])
      return stop.signal.aborted
    })
  })
  const running = runOutcome(w, options)
  await setTimeout(50)
  const given = await answer('r', 'do/stop', 1)(nodeEnvironment(options.storage, options.environment))()
  assert.ok(E.isRight(given))
  const ended = await running
  assert.ok(ended._tag === 'Completed')
  assert.equal(ended.outputs.do, true)
})

test('a task is not retried while code of its sub-step still runs', async () => {
  let [running, most] = [0, 0]
  const retry = { _tag: 'Constant', attempts: 2, delayMillis: 0, maxDelayMillis: 0, jitter: 0 } as const
  const w = workflow('w').step('do', {
    retry,
    timeoutMillis: 30,
    run: ({ attempt, step }) =>
      step('slow', async () => {
        most = Math.max(most, (running += 1))
        await setTimeout(attempt === 1 ? 200 : 5)
        running -= 1
      })
  })
  await runOutcome(w, { id: 'r', storage: memoryStorage(), environment: { graceMillis: 20 } })
  assert.equal(most, 1)
})

test('a wait keeps its wake time when its task wakes for another wait', async () => {
  const { options, move } = world()
  const w = workflow('w').step('do', async ({ sleep, step }) => {
    const a = sleep('a', { millis: 1_000 })
    const work = step('x', () => setTimeout(50))
    await setTimeout(10)
    await Promise.all([a, work, sleep('b', { millis: 2_000 }), sleep('c', { millis: 500 })])
  })
  const wakes = async () => {
    const ended = await runOutcome(w, options)
    assert.ok(ended._tag === 'Pending')
    return ended.units.flatMap((one) => (one._tag === 'Timer' && one.unit === 'do/b' ? [one.wakeAt] : []))
  }
  const [first] = await wakes()
  move(500)
  await wakes()
  move(500)
  assert.deepEqual(await wakes(), [first])
})

test('a recorded answer is kept when an earlier sub-step runs again in another version', async () => {
  const { options, give } = world()
  const w = (version: string) =>
    workflow('w').step('do', async ({ step, waitFor }) => {
      await step('work', { version }, () => version)
      return await waitFor('ok')
    })
  await runOutcome(w('1'), options)
  assert.ok(E.isRight(await give('do/ok', 'yes')))
  assert.equal((await runOutcome(w('2'), options))._tag, 'Completed')
})

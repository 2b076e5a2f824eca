/** Calls and requests of dead processes that arrive while a later process claims the run. */
import * as E from 'fp-ts/lib/Either.js'
import type { Claimed, StorageError } from '../../../ports/CheckpointStorage.js'
import type { StorageCall } from '../../faults.js'
import type { Finding, Oracle } from '../oracle/Oracle.js'
import type { Limits } from './drive.js'
import { withTimeout } from './drive.js'
import type { Delayed } from './Life.js'

type Made = Promise<E.Either<StorageError, unknown>>

interface DelayedCall {
  readonly call: StorageCall
  readonly how: Delayed
  readonly make: () => Made
}

export type DelayedCalls = ReturnType<typeof makeDelayedCalls>

export const makeDelayedCalls = (oracle: Oracle, findings: Array<Finding>, limits: Limits) => {
  let calls: ReadonlyArray<DelayedCall> = []
  let requests: ReadonlyArray<{ readonly life: number; readonly arrive: () => Promise<unknown> }> = []
  /** Calls that were made during the claim in flight, and have no reply yet. */
  const meanwhile: Array<Made> = []
  const due = (now: Delayed): ReadonlyArray<DelayedCall> => {
    const found = calls.filter(({ how }) => how === now)
    calls = calls.filter(({ how }) => how !== now)
    return found
  }
  return {
    add: (call: StorageCall, how: Delayed, make: () => Made): void => void (calls = [...calls, { call, how, make }]),
    /** Adds a request that arrives once a process after this one has claimed the run. */
    addRequest: (life: number, arrive: () => Promise<unknown>): void =>
      void (requests = [...requests, { life, arrive }]),
    /** Called before a process claims the run. */
    claiming: async (): Promise<void> => {
      for (const { make } of due('slow')) await make()
      meanwhile.push(...due('meanwhile').map(({ make }) => make()))
    },
    claimed: async (life: number, granted: Claimed): Promise<void> => {
      for (const reply of meanwhile.splice(0)) await withTimeout(() => reply, limits)
      oracle.claimed(granted)
      for (const { call, make } of due('late')) {
        const result = await make()
        if (call !== 'save' || E.isLeft(result)) continue
        const what = 'a save of a dead process took effect after another process had claimed the run'
        findings.push({ law: 'Fenced', what })
      }
      const arriving = requests.filter((one) => one.life < life)
      requests = requests.filter((one) => one.life >= life)
      for (const { arrive } of arriving) {
        await arrive()
        oracle.pauses.replaced()
      }
    }
  }
}

/** Another process that pauses or cancels the run of this one. */
import * as E from 'fp-ts/lib/Either.js'
import { cancel } from '../../../executor/requests/cancel.js'
import { pause } from '../../../executor/requests/pause.js'
import type { CheckpointStorage } from '../../../ports/CheckpointStorage.js'
import type { Environment } from '../../../ports/Environment.js'
import type { Requests } from '../../../ports/Requests.js'
import type { StorageCall } from '../../faults.js'
import { aroundEach } from '../../faults.js'
import type { ConcurrentRequest, Pause, PauseAtCall } from '../Intervention.js'
import { RUN_ID } from './CrashStorage.js'
import { never } from './Life.js'
import type { PauseOracle } from '../oracle/PauseOracle.js'
import { quiet } from './VirtualClock.js'

/** `late` delivers a request after another process has claimed the run. */
export interface Requester {
  readonly due: ReadonlyArray<ConcurrentRequest>
  readonly environment: Environment & { readonly requests: Requests }
  readonly alive: () => boolean
  readonly oracle: PauseOracle
  readonly note: (by: ConcurrentRequest) => void
  readonly late: (arrive: () => Promise<unknown>) => void
}

/** Sends the requests that are due while a unit runs. */
export const whileRunning = (requester: Requester): ((unit: string) => Promise<void> | undefined) => {
  let open = requester.due.filter((one) => one._tag !== 'PauseAtCall')
  return (unit) => {
    const now = open.filter((one) => one.unit === unit)
    if (now.length === 0) return undefined
    open = open.filter((one) => one.unit !== unit)
    return inTurn(now, (one) =>
      one._tag === 'Pause' && one.when === 'late' ? requestLate(requester, one) : requestNow(requester, one)
    )
  }
}

/** Wraps a store so that requests arrive during some of its calls. */
export const whileCalled = (requester: Requester, storage: CheckpointStorage): CheckpointStorage => {
  const due = requester.due.filter((one) => one._tag === 'PauseAtCall')
  if (due.length === 0) return storage
  let count = 0
  return aroundEach(storage, (call, task) => async () => {
    count += 1
    const n = count
    // A call of a dead process may reach the store late.
    const ask = async (how: PauseAtCall['how']): Promise<void> =>
      await inTurn(requester.alive() ? due.filter((one) => one.n === n && one.how === how) : [], (one) =>
        requestNow(requester, one, call)
      )
    await ask('before')
    const result = await task()
    if (call === 'claim' && E.isRight(result) && requester.alive()) requester.oracle.claimed()
    await ask('after')
    return result
  })
}

const inTurn = async <A>(all: ReadonlyArray<A>, act: (one: A) => Promise<void>): Promise<void> => {
  for (const one of all) await act(one)
}

const requestNow = async (
  { environment, alive, oracle, note }: Requester,
  by: ConcurrentRequest,
  call?: StorageCall
): Promise<void> => {
  note(by)
  const asked = oracle.asks(by, call)
  const requests: Requests = {
    ...environment.requests,
    leave: (request) => () => {
      asked.leaves()
      return environment.requests.leave(request)()
    }
  }
  const ask = by._tag === 'Cancel' ? cancel(RUN_ID) : pause(RUN_ID)
  const answer = await ask({ ...environment, requests })()
  // Work that was decided before the request arrived has started by now.
  await quiet()
  asked.answered(answer, alive())
}

/** Resolves when the request is in flight. */
const requestLate = ({ environment, note, late }: Requester, by: Pause): Promise<void> =>
  new Promise((resolve) => {
    note(by)
    const requests: Requests = {
      ...environment.requests,
      leave: (request) => () => {
        late(environment.requests.leave(request))
        resolve()
        return never()
      }
    }
    void pause(RUN_ID)({ ...environment, requests })().then(() => resolve())
  })

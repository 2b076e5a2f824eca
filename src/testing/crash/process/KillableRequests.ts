/** The requests port of a process that can be killed. */
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { INBOX, writeFailed } from '../../../executor/callPort.js'
import type { WriteFailed } from '../../../ports/CheckpointStorage.js'
import type { Requests } from '../../../ports/Requests.js'
import type { AtRequest, RequestCall } from '../CrashPoint.js'
import type { Life } from './Life.js'
import { callWhileAlive, whileAlive } from './Life.js'

/** Decides what goes wrong at the n-th changing call (from 1). */
export interface RequestCallWatch {
  readonly at: (call: RequestCall, n: number) => AtRequest['how'] | undefined
  readonly around: <A>(make: () => Promise<A>) => Promise<A>
}

/** After the death of the process no call takes effect or returns. */
export const killableRequests = (life: Life, requests: Requests, { at, around }: RequestCallWatch): Requests => {
  let count = 0
  const made =
    <Problem, A>(task: TaskEither<Problem, A>): TaskEither<Problem, A> =>
    () =>
      whileAlive(life, () => around(task))
  const changing =
    <Problem, A>(call: RequestCall, task: TaskEither<Problem, A>): TaskEither<Problem | WriteFailed, A> =>
    () =>
      callWhileAlive<E.Either<Problem | WriteFailed, A>>(
        life,
        () => at(call, (count += 1)),
        () => around(task),
        () => E.left(writeFailed(INBOX)(call, undefined, 'EIO'))
      )
  return {
    leave: (request) => made(requests.leave(request)),
    isAny: (runId) => life.alive() && requests.isAny(runId),
    list: (runId) => made(requests.list(runId)),
    withdraw: (request) => changing('withdraw', requests.withdraw(request)),
    clearPause: (runId) => changing('clearPause', requests.clearPause(runId)),
    point: (pointer) => changing('point', requests.point(pointer)),
    pointer: made(requests.pointer),
    unpoint: (runId) => changing('unpoint', requests.unpoint(runId))
  }
}

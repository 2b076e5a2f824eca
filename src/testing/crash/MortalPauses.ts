/**
 * Pauses as a process has them that can be killed.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { WriteFailed } from '../../ports/CheckpointStorage.js'
import type { Pauses } from '../../ports/Pauses.js'
import type { AtPause, PauseCall } from './CrashPoint.js'
import type { Life } from './Life.js'
import { never } from './Life.js'

/** What is told of the calls, and what is asked: the n-th one (from 1) that changes something is made; what goes wrong there? */
export interface PauseCallWatch {
  readonly at: (call: PauseCall, n: number) => AtPause['how'] | undefined
  readonly begun: () => void
  readonly ended: () => void
}

/** From its death on nothing that the process calls takes effect or comes back. */
export const mortalPauses = (life: Life, pauses: Pauses, { at, begun, ended }: PauseCallWatch): Pauses => {
  let count = 0
  const made =
    <Problem, A>(task: TaskEither<Problem, A>): TaskEither<Problem, A> =>
    async () => {
      if (!life.alive()) return await never()
      begun()
      const result = await task().finally(ended)
      return life.alive() ? result : await never()
    }
  const changing =
    <Problem, A>(call: PauseCall, task: TaskEither<Problem, A>): TaskEither<Problem | WriteFailed, A> =>
    async () => {
      if (!life.alive()) return await never()
      count += 1
      const how = at(call, count)
      if (how === 'fails') return E.left(failed(call))
      if (how === 'before') life.kill()
      return await made(async () => {
        const result = await task()
        if (how === 'after') life.kill()
        return result
      })()
    }
  return {
    request: (request) => made(pauses.request(request)),
    isRequested: (runId) => life.alive() && pauses.isRequested(runId),
    requested: (runId) => made(pauses.requested(runId)),
    withdraw: (...of) => changing('withdraw', pauses.withdraw(...of)),
    point: (pointer) => changing('point', pauses.point(pointer)),
    pointer: made(pauses.pointer),
    unpoint: (runId) => changing('unpoint', pauses.unpoint(runId))
  }
}

const failed = (operation: PauseCall): WriteFailed => ({
  _tag: 'WriteFailed',
  where: 'the pauses',
  operation,
  code: 'EIO',
  cause: undefined
})

/** Ends units as failed. */
import * as E from 'fp-ts/lib/Either.js'
import type { Change } from '../../domain/change/Change.js'
import { isTop } from '../../domain/workflow/Unit.js'
import type { Ending, RunScope } from '../RunScope.js'
import { timestamp } from '../RunScope.js'
import type { Place } from '../Values.js'

/** Ends a composite as failed because a part failed. Only a top-level step records that. `undone`: the failures of parts that were in flight. */
export const endFailedBy = async (
  scope: RunScope,
  { unit }: Place,
  undone: ReadonlyArray<Change>,
  retryable: boolean
): Promise<Ending> => {
  const at = timestamp(scope.environment.clock.now())
  return await endFailed(
    scope,
    isTop(unit) ? [...undone, { _tag: 'UnitFailed', at, unit, retryable }] : undone,
    retryable
  )
}

/** Saves the changes that fail a unit. */
export const endFailed = async (
  { recorder }: RunScope,
  changes: ReadonlyArray<Change>,
  retryable: boolean
): Promise<Ending> => {
  recorder.stage(changes)
  const saved = await recorder.commit()
  return E.isLeft(saved) ? saved : E.right({ _tag: 'Failed', retryable })
}

/** Calls the check of a task's output, which an untyped host may have written. */
import * as E from 'fp-ts/lib/Either.js'
import { cut } from '../data/Cut.js'
import type { Json } from '../data/Json.js'
import { fieldsOf, isText, kindOf } from '../data/Options.js'
import { fromUnknown as fromThrown } from '../data/StepError.js'
import type { Task } from './Workflow.js'

/** Returns whether a recorded output fits a task. A check that throws, or returns no `Either`, accepts nothing. */
export const fitsOf = ({ accepts }: Task, output: Json | undefined): ReturnType<Task['accepts']> => {
  try {
    const fits = accepts(output)
    const { _tag, left } = fieldsOf(fits)
    if (_tag === 'Right') return fits
    const { path, expected } = fieldsOf(left)
    const isMismatch = _tag === 'Left' && isText(path) && isText(expected)
    return isMismatch ? fits : failed(`returned ${kindOf(fits)}, not an Either that is right or has a mismatch`)
  } catch (error) {
    return failed(`threw: ${cut(fromThrown(error).message, 200)}`)
  }
}

const failed = (how: string): ReturnType<Task['accepts']> =>
  E.left({ path: '$', expected: `a value that its check accepts; the check ${how}` })

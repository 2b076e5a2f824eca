/** Resolves included files. */
import * as E from 'fp-ts/lib/Either.js'
import * as RNEA from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import { MAX_DEPTH } from '../../../domain/workflow/Workflow.js'
import type { Entry, Node } from '../Source.js'
import type { Reading, WorkflowText } from './Reading.js'

/** Reports the problems in it with its name. */
export const included = (
  { report, include, from }: Reading,
  name: string,
  { value: { at } }: Entry
): { readonly text: WorkflowText; readonly node: Node } | undefined => {
  if (from.length >= MAX_DEPTH) return void report(at, `files include one another more than ${MAX_DEPTH} levels deep`)
  const found = include(RNEA.last(from), name)
  if (E.isLeft(found)) return void report(at, found.left)
  const text = found.right
  if (from.some((one) => one.path === text.path)) {
    const circle = [...from, text].map(({ shown }) => shown)
    return void report(at, `files include one another in a cycle: ${circle.join(', ')}; remove one inclusion`)
  }
  const { source } = text
  const problems = E.isLeft(source) ? source.left : source.right.problems
  for (const problem of problems) report(problem.at, problem.message)
  return E.isLeft(source) ? undefined : { text, node: source.right.node }
}

/** Decodes a YAML tree as a workflow file, or lists all its problems. */
import * as E from 'fp-ts/lib/Either.js'
import type { Problem } from './Problem.js'
import { inFileOrder, placeOf } from './Problem.js'
import type { Include, Reading, WorkflowText } from './schema/Reading.js'
import { workflow } from './schema/workflow.js'
import type { WorkflowFile } from './WorkflowFile.js'

export const decode = (text: WorkflowText, include: Include): E.Either<ReadonlyArray<Problem>, WorkflowFile> => {
  if (E.isLeft(text.source)) return text.source
  const { node, problems: unread } = text.source.right
  const problems: Array<Problem> = [...unread]
  const warnings: Array<Problem> = []
  const standIns = new Set(unread.map(({ at }) => placeOf(at)))
  const reading: Reading = {
    report: (at, message) => {
      // An unreadable value has a stand-in, which is not reported again.
      if (!standIns.has(placeOf(at))) problems.push({ at, message })
    },
    warn: (at, message) => warnings.push({ at, message }),
    include,
    from: [text],
    seen: { steps: 0 },
    unit: { at: node.at, name: text.name }
  }
  const file = workflow.decode(reading, { at: node.at, key: '', value: node })
  return file === undefined || problems.length > 0
    ? E.left(inFileOrder(problems))
    : E.right({ ...file, warnings: inFileOrder(warnings) })
}

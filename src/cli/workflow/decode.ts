/** From a YAML tree to a workflow file, or to a list of all that is wrong with it. */
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Json, JsonObject } from '../../domain/data/Json.js'
import type { OnSuccess } from '../../domain/checkpoint/Retention.js'
import { NAME } from '../../domain/workflow/Workflow.js'
import type { Workspace } from '../../domain/workflow/Workspace.js'
import type { Reports } from './decodeTask.js'
import type { Include, Reading, WorkflowText } from './decodeStep.js'
import { decodeSteps } from './decodeStep.js'
import * as Field from './Field.js'
import type { Position, Problem, Report } from './Problem.js'
import { inFileOrder, placeOf } from './Problem.js'
import { definitionProblems } from './definitionProblems.js'
import type { Entry } from './Source.js'
import { objection } from './Variable.js'
import type { WorkflowFile } from './WorkflowFile.js'
import { MAX_TASKS } from './WorkflowFile.js'

const WORKFLOW_KEYS = ['name', 'input', 'secrets', 'onSuccess', 'workspace', 'steps', 'commands']
const WORKSPACES: ReadonlyArray<Workspace['kind']> = ['none', 'directory', 'worktree']
const ON_SUCCESS: ReadonlyArray<OnSuccess> = ['keep', 'archive', 'delete']

/** Reads a workflow. The name of its file is its own if it gives itself none, and if that can be one. */
export const decode = (text: WorkflowText, include: Include): E.Either<ReadonlyArray<Problem>, WorkflowFile> => {
  if (E.isLeft(text.source)) return text.source
  const { node, problems: unread } = text.source.right
  const problems: Array<Problem> = [...unread]
  const warnings: Array<Problem> = []
  const standIns = new Set(unread.map(({ at }) => placeOf(at)))
  const reports: Reports = {
    report: (at, message) => {
      // What stands in for something unread is not to blame.
      if (!standIns.has(placeOf(at))) problems.push({ at, message })
    },
    warn: (at, message) => warnings.push({ at, message })
  }
  const { report } = reports
  if (node._tag !== 'Mapping') {
    const isEmpty = node._tag === 'Scalar' && node.value === null
    report(
      node.at,
      isEmpty
        ? 'the file has no content; write a workflow with "steps", "dogear help" shows one'
        : `a workflow file has the keys "name" and "steps"; this is ${Field.kindOf(node)}`
    )
    return E.left(problems)
  }
  const fields = Field.fieldsOf(report, node, WORKFLOW_KEYS, 'a workflow')
  const name = nameOf(report, fields.get('name'), node.at, text.name)
  const input = inputOf(report, fields.get('input'))
  const secrets = secretsOf(report, fields.get('secrets'), input)
  const onSuccess = Field.word(report, fields.get('onSuccess'), ON_SUCCESS)
  const workspace = pipe(
    Field.word(report, fields.get('workspace'), WORKSPACES),
    O.getOrElse((): Workspace['kind'] => 'none')
  )
  const reading: Reading = { ...reports, include, from: [text], seen: { steps: 0 } }
  const steps = decodeSteps(reading, fields, node.at, 'a workflow')
  const named = { name, at: fields.get('name')?.value.at ?? node.at }
  if (steps !== undefined && reading.seen.steps <= MAX_TASKS)
    problems.push(...definitionProblems(named, steps.entries, steps.at, secrets))
  return problems.length > 0
    ? E.left(inFileOrder(problems))
    : E.right({
        name,
        input,
        secrets,
        onSuccess: O.getOrElse((): OnSuccess => 'keep')(onSuccess),
        workspace,
        steps: steps?.entries ?? [],
        warnings: inFileOrder(warnings)
      })
}

/** No name for all files whose own can't be one: runs are found by it, and those of other workflows would be too. */
const nameOf = (report: Report, entry: Entry | undefined, at: Position, fileName: string): string => {
  const isName = NAME.test(fileName)
  if (entry === undefined && !isName) report(at, `the file's name can't be the workflow's: give it a "name"`)
  return pipe(
    Field.text(report, entry),
    O.getOrElse(() => (isName ? fileName : 'workflow'))
  )
}

const inputOf = (report: Report, entry: Entry | undefined): JsonObject => {
  if (entry?.value._tag === 'Scalar' && entry.value.value === null) return {}
  const values = Field.mapping(report, entry)
  if (O.isNone(values)) return {}
  const input: Array<readonly [string, Json]> = values.value.entries.map(({ at, key, value }) => {
    const why = objection(key)
    if (O.isSome(why)) report(at, `"${key}" can't be a variable: ${why.value}`)
    return [key, Field.json(report, value)]
  })
  return Object.fromEntries(input)
}

/** The names of environment variables, each once. What is recorded under one of them would pass for the secret. */
const secretsOf = (report: Report, entry: Entry | undefined, input: JsonObject): ReadonlyArray<string> => {
  const names = Field.list(report, entry)
  if (O.isNone(names)) return []
  const known = new Set<string>()
  for (const item of names.value.items) {
    if (item._tag !== 'Scalar' || typeof item.value !== 'string') {
      report(item.at, `"secrets" lists names of environment variables, not ${Field.kindOf(item)}`)
      continue
    }
    const name = item.value
    const why = objection(name)
    if (O.isSome(why)) report(item.at, `"${name}" can't be a secret: ${why.value}`)
    if (known.has(name)) report(item.at, `"${name}" is listed twice`)
    if (Object.hasOwn(input, name))
      report(item.at, `"${name}" is a secret and a field of "input", which would be stored: take it out of one of them`)
    known.add(name)
  }
  return [...known]
}

/** The schema of a workflow file. */
import * as O from 'fp-ts/lib/Option.js'
import type { OnSuccess } from '../../../domain/checkpoint/Retention.js'
import type { Json, JsonObject } from '../../../domain/data/Json.js'
import { NAME } from '../../../domain/workflow/WorkflowProblem.js'
import type { Workspace } from '../../../domain/workflow/Workspace.js'
import * as Variable from '../Variable.js'
import { definitionProblems } from '../definitionProblems.js'
import type { WorkflowFile } from '../WorkflowFile.js'
import { MAX_STEPS } from '../WorkflowFile.js'
import { json, nameIn, variable, word } from './scalars.js'
import type { Schema } from './Schema.js'
import { field, limited, list, mapOf, mapped, object, or } from './Schema.js'
import { listing, listingRules, notAFile } from './step.js'

const namedValue: Schema<readonly [string, Json]> = {
  decode: (reading, entry) => {
    const { at, key } = entry
    const why = Variable.objection(key)
    if (O.isSome(why)) reading.report(at, `"${key}" cannot be a variable: ${why.value}`)
    return [key, json.decode(reading, entry) ?? null]
  },
  json: json.json
}

const input: Schema<JsonObject> = mapped(mapOf(Variable.JSON_SCHEMA, namedValue), (fields) =>
  Object.fromEntries(fields)
)

const secret = mapped(variable(nameIn('names of environment variables'), 'secret'), (name, _, { value: { at } }) => ({
  name,
  at
}))

const secrets = limited(
  mapped(list(secret), (all, { report }) => {
    const known = new Set<string>()
    for (const { name, at } of all)
      if (known.size === known.add(name).size) report(at, `"${name}" is listed twice; remove one`)
    return all
  }),
  { uniqueItems: true }
)

const WORKSPACES: ReadonlyArray<Workspace['kind']> = ['none', 'directory', 'worktree']
const ON_SUCCESS: ReadonlyArray<OnSuccess> = ['keep', 'archive', 'delete']

const LISTED =
  'list the steps under "steps", and what runs in parallel as groups of a "wave": "dogear help" shows a workflow'

/** Keys of GitHub Actions, GitLab and Taskfiles. */
const FOREIGN = {
  on: 'start it with "dogear run", for example from cron or CI',
  jobs: LISTED,
  stages: LISTED,
  tasks: LISTED
}

export const workflow: Schema<Omit<WorkflowFile, 'warnings'>> = mapped(
  object(
    'a workflow',
    {
      name: listing.name,
      input: field(or(null, input), 'Variables by name. --input replaces their values.'),
      secrets: field(secrets, 'Names of environment variables whose values are never stored.'),
      onSuccess: field(word(...ON_SUCCESS), 'What happens to the state of a completed run. Default: keep.'),
      workspace: field(
        word(...WORKSPACES),
        'directory or worktree: each run works in a new folder or git worktree. Default: none.'
      ),
      steps: listing.steps,
      commands: listing.commands
    },
    {
      rules: listingRules,
      instead: { env: 'input', variables: 'input', vars: 'input' },
      foreign: FOREIGN,
      otherwise: (kind) =>
        kind === 'nothing'
          ? 'the file is empty; write a workflow with "steps", "dogear help" shows one'
          : notAFile(kind)
    }
  ),
  (read, { report, unit, seen }, { value: { at } }) => {
    const isName = NAME.test(unit.name)
    // A shared default name would mix the runs of several workflows.
    if (read.name === undefined && !isName) report(at, 'the file name is no valid name for the workflow; set "name"')
    const input = read.input?.value ?? {}
    const secrets = read.secrets?.value ?? []
    for (const { name, at } of secrets)
      if (Object.hasOwn(input, name))
        report(at, `"${name}" is a secret and a field of "input", which is stored; remove it from one of them`)
    const steps = read.steps ?? read.commands
    const file = {
      name: read.name?.value ?? (isName ? unit.name : 'workflow'),
      input,
      secrets: [...new Set(secrets.map(({ name }) => name))],
      onSuccess: read.onSuccess?.value ?? 'keep',
      workspace: read.workspace?.value ?? 'none',
      steps: steps?.value ?? []
    }
    if (steps?.value !== undefined && seen.steps <= MAX_STEPS)
      for (const problem of definitionProblems(file, steps.entry.at)) report(problem.at, problem.message)
    return file
  }
)

export const jsonSchema = (): JsonObject => {
  const definitions = new Map<string, JsonObject>()
  const root = workflow.json(definitions)
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...root,
    title: 'Dogear workflow',
    description: 'A workflow file of the dogear command.',
    definitions: Object.fromEntries(definitions)
  }
}

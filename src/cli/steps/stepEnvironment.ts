/** Builds the environment of a step: inherited variables, variables of the run, secrets, and DOGEAR_*. */
import { delimiter, join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Json } from '../../domain/data/Json.js'
import { NO_OTHER_REPOSITORY } from '../../adapters/node/git/git.js'
import { isOwn } from '../../domain/workflow/Workspace.js'
import type { ForJob, StepContext } from '../../executor/program/Program.js'
import { ITEM } from '../workflow/items.js'
import { objection } from '../workflow/Variable.js'

export type TaskContext = StepContext<unknown, unknown>

export type Variables = ReadonlyMap<string, string>

/** Strings as they are, everything else as JSON; left if a variable cannot be passed. */
export const variablesAsText = (context: Pick<TaskContext, 'variables'>): E.Either<string, Variables> => {
  const texts = new Map<string, string>()
  const item = 'item' in context ? [[ITEM, context.item as Json] as const] : []
  for (const [name, value] of [...context.variables, ...item]) {
    const why = objection(name)
    if (O.isSome(why)) return E.left(`"${name}" cannot be a variable: ${why.value}`)
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    if (text.includes('\0')) {
      return E.left(`the value of "${name}" contains a NUL character, which no environment can hold`)
    }
    texts.set(name, text)
  }
  return E.right(texts)
}

export const environmentOf = (
  inherited: Readonly<Record<string, string | undefined>>,
  variables: Variables,
  context: TaskContext | (TaskContext & ForJob),
  home: string
): Readonly<Record<string, string>> => {
  const { runId, unit, attempt, idempotencyKey, secrets } = context
  const environment = new Map<string, string>()
  for (const [name, value] of Object.entries(inherited)) if (value !== undefined) environment.set(name, value)
  // A private workspace must use neither the repository of a hook nor one around the state folder.
  const { workspace, folder } = context
  if (isOwn(workspace) || folder !== workspace?.path) {
    for (const name of Object.keys(NO_OTHER_REPOSITORY)) environment.delete(name)
    const others = environment.get('GIT_CEILING_DIRECTORIES') ?? ''
    const ours = join(home, 'workspaces')
    environment.set('GIT_CEILING_DIRECTORIES', others === '' ? ours : `${ours}${delimiter}${others}`)
  }
  for (const [name, value] of variables) environment.set(name, value)
  for (const [name, value] of Object.entries(secrets)) environment.set(name, value)
  environment.set('DOGEAR_RUN_ID', runId)
  environment.set('DOGEAR_STEP', unit)
  environment.set('DOGEAR_ATTEMPT', String(attempt))
  environment.set('DOGEAR_IDEMPOTENCY_KEY', idempotencyKey)
  environment.set('DOGEAR_HOME', home)
  if ('itemKey' in context) environment.set('DOGEAR_KEY', String(context.itemKey))
  if (workspace !== undefined) environment.set('DOGEAR_WORKSPACE', workspace.path)
  if ('job' in context) environment.set('DOGEAR_JOB', jobText(context.job))
  return Object.fromEntries(environment)
}

/** Empty if the submission printed nothing. */
const jobText = (job: Json): string => (typeof job === 'string' ? job : job === null ? '' : JSON.stringify(job))

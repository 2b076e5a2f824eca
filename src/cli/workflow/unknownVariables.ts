/** Finds unset variables in `run:` commands, checks, evidence and `forEach`, before anything runs. The scripts of `shell:` are not searched. */
import * as O from 'fp-ts/lib/Option.js'
import { listed } from '../../domain/data/listed.js'
import { didYouMean } from '../../domain/data/Suggestion.js'
import { listedParts } from '../../domain/workflow/Node.js'
import { allNeeds } from '../../domain/workflow/needs.js'
import { ITEM } from './items.js'
import type { Position, Problem } from './Problem.js'
import { MAX_SHOWN } from './Problem.js'
import * as Template from './Template.js'
import * as Variable from './Variable.js'
import type { Action, Argument, ChecksEntry, GroupEntry, StepEntry, WorkflowFile } from './WorkflowFile.js'
import { captureOf, placed } from './WorkflowFile.js'

/** `elsewhere`: how to do without a variable, if its name cannot be one. */
interface Named {
  readonly at: Position
  readonly name: string
  readonly elsewhere?: string
}

/** Returns whether a variable is set at a place in the file. */
type Scope = (name: string) => boolean

/** A step knows the input and earlier captures; a group also those of the groups that it needs. */
export const unknownVariables = (file: WorkflowFile, input: Iterable<string>): ReadonlyArray<Problem> => {
  const problems: Array<Problem> = []
  const given = new Set(input)
  const captured = placed(file.steps).flatMap(({ step }) => captureOf(step) ?? [])
  const all = new Set([...given, ...captured, ITEM])
  const look = (names: ReadonlyArray<Named>, scope: Scope): void => {
    for (const one of names) {
      const { at, name } = one
      if (scope(name)) continue
      // Only listed problems need advice.
      const isListed = problems.length < MAX_SHOWN
      problems.push({ at, message: isListed ? messageFor(file, one, [...all].filter(scope)) : unknown(name) })
    }
  }
  const visit = (step: StepEntry, scope: Scope): void => {
    look(atStart(step), scope)
    if (step._tag === 'Sequence') inOrder(step.steps, scope)
    if (step._tag === 'Wave') inParallel(step.groups, scope)
    if (step._tag === 'Map') visit(step.each, (name) => name === ITEM || scope(name))
    // Only the evidence of a task may name its own capture: checks see what the step sees.
    look(evidenceOf(step), (name) => (step._tag === 'Task' && name === captureOf(step)) || scope(name))
    look(checksIn(step)?.after.flatMap(inAction) ?? [], scope)
  }
  const inOrder = (steps: ReadonlyArray<StepEntry>, scope: Scope): void => {
    const captured = new Set<string>()
    for (const step of steps) {
      visit(step, (name) => captured.has(name) || scope(name))
      for (const name of capturedIn(step)) captured.add(name)
    }
  }
  const inParallel = (groups: ReadonlyArray<GroupEntry>, scope: Scope): void => {
    const setter = new Map(groups.flatMap((group) => capturedIn(group).map((name) => [name, group.name] as const)))
    const needs = allNeeds(groups)
    for (const group of groups) visit(group, (name) => scope(name) || needs(group.name, setter.get(name) ?? ''))
  }
  inOrder(file.steps, (name) => given.has(name))
  return problems
}

/** Captures in the items of a map stay there. */
const capturedIn = (step: StepEntry): ReadonlyArray<string> => {
  const own = captureOf(step)
  return own === undefined ? listedParts<StepEntry>(step).flatMap(capturedIn) : [own]
}

const checksIn = (step: StepEntry): ChecksEntry | undefined => (step._tag === 'Wait' ? undefined : step.checks)

/** What a step uses before it ends: its items, its commands, and the checks `before`. */
const atStart = (step: StepEntry): ReadonlyArray<Named> => [
  ...(step._tag === 'Map' && step.forEach._tag === 'Variable'
    ? [{ ...step.forEach, elsewhere: 'name another, or write the list here' }]
    : []),
  ...(step._tag === 'Task' ? inAction(step.action) : []),
  ...(checksIn(step)?.before.flatMap(inAction) ?? [])
]

const evidenceOf = (step: StepEntry): ReadonlyArray<Named> => {
  const { artifacts = [], commits = [], files = [] } = checksIn(step) ?? {}
  return [...artifacts, ...commits, ...files].flatMap(inArgument)
}

const inAction = (action: Action): ReadonlyArray<Named> => {
  if (action._tag === 'Job')
    return [action.submit, action.poll, action.collect].flatMap((one) => (one === undefined ? [] : inAction(one)))
  return action._tag === 'Argv' ? action.argv.flatMap(inArgument) : []
}

const inArgument = ({ at, text }: Argument): ReadonlyArray<Named> =>
  Template.variablesIn(text).map((name) => ({ at, name }))

const unknown = (name: string): string => `unknown variable "${name}"`

const ELSEWHERE = 'read it from the environment, or use "shell"'

const messageFor = (
  { input, secrets }: WorkflowFile,
  { name, elsewhere = ELSEWHERE }: Named,
  known: ReadonlyArray<string>
): string => {
  if (secrets.includes(name))
    return `"${name}" is a secret, and other users can see the arguments of a command; ${ELSEWHERE}`
  const why = Variable.objection(name)
  if (O.isSome(why)) {
    const bare = name.replace(/^\$/, '')
    const remedy = bare !== name && O.isNone(Variable.objection(bare)) ? `write "${bare}"` : elsewhere
    return `"${name}" cannot be a variable: ${why.value}; ${remedy}`
  }
  if (Object.hasOwn(input, name)) return `${unknown(name)}. The run keeps its input, which does not set it`
  const near = didYouMean(name, known)
  if (near !== '') return `${unknown(name)}${near}`
  return known.length === 0
    ? `${unknown(name)}. No variable is set here; pass it with --input, or capture it in an earlier step`
    : `${unknown(name)}. Set here: ${listed(known)}`
}

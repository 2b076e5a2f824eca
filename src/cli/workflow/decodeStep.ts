/** Steps of a workflow file, on any level: tasks, sequences, waves, and maps, which are waves of items. */
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import * as RNEA from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import { describeProblem, MAX_DEPTH } from '../../domain/workflow/Workflow.js'
import type { OnFailure } from '../../executor/program/Program.js'
import { decodeChecks, COMPOSITE_CHECK_KEYS } from './decodeChecks.js'
import type { Reports } from './decodeTask.js'
import { decodeTask, standIn, TASK_KEYS } from './decodeTask.js'
import * as Field from './Field.js'
import type { Position, Problem, Report } from './Problem.js'
import type { Entry, Mapping, Node, Source } from './Source.js'
import type {
  CompositeEntry,
  ForEach,
  GroupEntry,
  MapEntry,
  ParallelEntry,
  SequenceEntry,
  StepEntry,
  WaveEntry
} from './WorkflowFile.js'
import { MAX_TASKS, numberedName } from './WorkflowFile.js'

/** A workflow file as text that was parsed. `name`: that of the workflow if it gives itself none; `shown`: that of the file in messages. */
export interface WorkflowText {
  readonly path: string
  readonly shown: string
  readonly name: string
  readonly source: E.Either<ReadonlyArray<Problem>, Source>
}

/** Reads the file that another one includes under this name, or says why it can't be read. */
export type Include = (from: WorkflowText, name: string) => E.Either<string, WorkflowText>

/** What the steps of a file are read with. `from`: the files around them, the innermost last; `seen` counts the steps of all of them. */
export interface Reading extends Reports {
  readonly include: Include
  readonly from: ReadonlyNonEmptyArray<WorkflowText>
  readonly seen: { steps: number }
}

/** Where a step stands: in a list, where it is named by a key of its own, or where its name is given. */
interface Place {
  readonly of: 'a step' | 'a group' | '"each"'
  /** In a list: its index. */
  readonly index: number
  readonly named: { readonly at: Position; readonly name: string } | undefined
  readonly keys: ReadonlyArray<string>
}

/** The keys of sequences, waves and maps. */
export const COMPOSITE_KEYS = ['summary', ...COMPOSITE_CHECK_KEYS]
const SEQUENCE_KEYS = ['steps', 'workflow', ...COMPOSITE_KEYS]
const WAVE_KEYS = ['groups', 'forEach', 'key', 'each', 'concurrency', 'onFailure', ...COMPOSITE_KEYS]
const INCLUDED_KEYS = ['name', 'steps', 'commands']
const NOT_INCLUDED = ['input', 'secrets', 'workspace', 'onSuccess']
const ON_FAILURE: ReadonlyArray<OnFailure> = ['finish', 'continue', 'halt']

/** The steps of a workflow or a sequence; undefined if it lists none that can be read. `of`: whose they are; `at`: where that stands. */
export const decodeSteps = (
  reading: Reading,
  fields: Field.Fields,
  at: Position,
  of: 'a workflow' | 'a sequence'
): { readonly at: Position; readonly entries: ReadonlyArray<StepEntry> } | undefined => {
  const { report } = reading
  const [first, second] = [fields.get('steps'), fields.get('commands')]
  if (first !== undefined && second !== undefined) report(second.at, 'use "steps" or "commands", not both')
  const given = first ?? second
  if (given === undefined) {
    report(at, `${of} needs "steps"`)
    return undefined
  }
  const items = Field.list(report, given)
  if (O.isNone(items)) return undefined
  if (items.value.items.length === 0) report(given.at, `${of} needs at least one step`)
  const entries = items.value.items.flatMap((item, index) => {
    const place: Place = { of: 'a step', index, named: undefined, keys: [] }
    return isTooMany(reading, item.at) ? [] : stepOf(reading, item, place)
  })
  return { at: given.at, entries }
}

/** Counts a step. The first of too many is reported. */
const isTooMany = ({ seen, report }: Reading, at: Position): boolean => {
  seen.steps += 1
  if (seen.steps === MAX_TASKS + 1)
    report(at, `a workflow file has at most ${MAX_TASKS} steps and groups, with those of the files that it includes`)
  return seen.steps > MAX_TASKS
}

/** A step; none if it can't be read. */
const stepOf = (reading: Reading, node: Node, place: Place): ReadonlyArray<StepEntry> => {
  const { of } = place
  if (node._tag !== 'Mapping') {
    const example = of === '"each"' ? 'shell: convert "$item"' : 'shell: npm test'
    reading.report(node.at, `${of} is a mapping like "${example}", not ${Field.kindOf(node)}`)
    return []
  }
  const has = (...keys: ReadonlyArray<string>): boolean => node.entries.some(({ key }) => keys.includes(key))
  if (has('steps', 'workflow')) return sequenceOf(reading, node, place)
  return [has('wave', 'groups', 'forEach', 'each') ? parallelOf(reading, node, place) : taskOf(reading, node, place)]
}

const taskOf = (reading: Reading, node: Mapping, { of, index, named, keys }: Place): StepEntry => {
  const own = named === undefined ? ['name', 'wave', 'steps', 'workflow'] : ['steps', 'groups', 'forEach']
  const fields = Field.fieldsOf(reading.report, node, [...own, ...TASK_KEYS, ...keys], of)
  if (named !== undefined)
    return { ...decodeTask(reading, fields, { ...named, telling: false }), ...needs(reading, fields) }
  const entry = fields.get('name')
  const name = Field.text(reading.report, entry)
  return decodeTask(reading, fields, {
    at: entry?.value.at ?? node.at,
    name: O.getOrElse(() => numberedName(index))(name),
    telling: O.isSome(name)
  })
}

/** What a composite says of itself. `key`: the one that names it in a list. */
const compositeOf = (
  { report }: Reading,
  node: Mapping,
  { named }: Place,
  fields: Field.Fields,
  key: 'name' | 'wave',
  otherwise: string | undefined
): CompositeEntry => {
  const entry = fields.get(key)
  const what = key === 'wave' ? 'wave' : 'sequence'
  if (named === undefined && entry === undefined && otherwise === undefined)
    report(node.at, `a ${what} needs a name: "${key}: ${key === 'wave' ? 'checks' : 'deploy'}"`)
  const own = pipe(
    Field.text(report, entry),
    O.getOrElse(() => otherwise ?? what)
  )
  const name = named?.name ?? own
  const checks = decodeChecks(report, fields, 'composite')
  return {
    at: named?.at ?? entry?.value.at ?? node.at,
    name,
    summary: O.getOrElse(() => name)(Field.text(report, fields.get('summary'))),
    ...(O.isSome(checks) ? { checks: checks.value } : {})
  }
}

const sequenceOf = (reading: Reading, node: Mapping, place: Place): ReadonlyArray<SequenceEntry> => {
  const { report } = reading
  const own = place.named === undefined ? ['name'] : []
  const known = [...own, ...SEQUENCE_KEYS, ...place.keys]
  const fields = Field.fieldsOf(report, node, known, place.named === undefined ? 'a sequence' : place.of)
  const workflow = fields.get('workflow')
  if (workflow !== undefined && fields.has('steps'))
    report(workflow.at, 'a sequence has "steps" of its own, or those of another file ("workflow"), not both')
  const included = workflow === undefined ? undefined : includedBy(reading, workflow)
  const composite = compositeOf(
    reading,
    node,
    place,
    fields,
    'name',
    workflow === undefined ? undefined : (included?.name ?? 'workflow')
  )
  const steps =
    workflow === undefined ? decodeSteps(reading, fields, composite.at, 'a sequence')?.entries : included?.steps
  return steps === undefined ? [] : [{ _tag: 'Sequence', ...composite, steps, ...needs(reading, fields) }]
}

/** The steps of another file, and what they are called there. What is wrong there is reported with the name of that file. */
const includedBy = (
  reading: Reading,
  entry: Entry
): { readonly name: string; readonly steps: ReadonlyArray<StepEntry> } | undefined => {
  const { report, include, from } = reading
  const path = Field.text(report, entry)
  if (O.isNone(path)) return undefined
  const { at } = entry.value
  if (from.length >= MAX_DEPTH) {
    report(at, `files include one another more than ${MAX_DEPTH} levels deep`)
    return undefined
  }
  const found = include(RNEA.last(from), path.value)
  if (E.isLeft(found)) {
    report(at, found.left)
    return undefined
  }
  const { source } = found.right
  if (from.some((one) => one.path === found.right.path)) {
    const circle = [...from, found.right].map(({ shown }) => shown)
    report(at, `files must not include one another in a circle: ${circle.join(', ')}`)
    return undefined
  }
  if (E.isLeft(source)) {
    for (const problem of source.left) report(problem.at, problem.message)
    return undefined
  }
  const { node, problems } = source.right
  for (const problem of problems) report(problem.at, problem.message)
  if (node._tag !== 'Mapping') {
    report(node.at, `a workflow file has the keys "name" and "steps"; this is ${Field.kindOf(node)}`)
    return undefined
  }
  const refused = node.entries.filter(({ key }) => NOT_INCLUDED.includes(key))
  for (const { at, key } of refused)
    report(
      at,
      `"${key}" is for a whole run: a file that is included has none. Move it to the file that includes this one`
    )
  const rest = { ...node, entries: node.entries.filter((one) => !refused.includes(one)) }
  const fields = Field.fieldsOf(report, rest, INCLUDED_KEYS, 'an included workflow')
  const name = O.getOrElse(() => found.right.name)(Field.text(report, fields.get('name')))
  const steps = decodeSteps(
    { ...reading, from: RNEA.concat([found.right] as const)(from) },
    fields,
    node.at,
    'a workflow'
  )
  return steps === undefined ? undefined : { name, steps: steps.entries }
}

const parallelOf = (reading: Reading, node: Mapping, place: Place): (WaveEntry | MapEntry) & Needs => {
  const { report } = reading
  const own = place.named === undefined ? ['wave'] : []
  const fields = Field.fieldsOf(
    report,
    node,
    [...own, ...WAVE_KEYS, ...place.keys],
    place.named === undefined ? 'a wave' : place.of
  )
  const composite = compositeOf(reading, node, place, fields, 'wave', undefined)
  const concurrency = Field.number(report, fields.get('concurrency'), { from: 1, to: MAX_TASKS, whole: true })
  const onFailure = Field.word(report, fields.get('onFailure'), ON_FAILURE)
  const entry: ParallelEntry & Needs = {
    ...composite,
    ...(O.isSome(concurrency) ? { concurrency: concurrency.value } : {}),
    ...(O.isSome(onFailure) ? { onFailure: onFailure.value } : {}),
    ...needs(reading, fields)
  }
  if (fields.has('forEach') || fields.has('each')) return { _tag: 'Map', ...entry, ...mapOf(reading, fields, entry) }
  const [key, groups] = [fields.get('key'), fields.get('groups')]
  if (key !== undefined) report(key.at, '"key" is for the items of "forEach"')
  if (groups === undefined) report(node.at, 'a wave needs "groups", or "forEach" and "each"')
  return { _tag: 'Wave', ...entry, groups: groupsOf(reading, groups, entry) }
}

const mapOf = (
  reading: Reading,
  fields: Field.Fields,
  { at, name }: CompositeEntry
): Pick<MapEntry, 'forEach' | 'key' | 'each'> => {
  const { report } = reading
  const [forEach, each, groups] = [fields.get('forEach'), fields.get('each'), fields.get('groups')]
  if (forEach === undefined) report(at, '"each" needs "forEach": the variable that has the items, or a list of them')
  if (each === undefined) report(at, '"forEach" needs "each": what is done for each item')
  if (groups !== undefined) report(groups.at, 'a wave has "groups", or "forEach" and "each", not both')
  const key = Field.text(report, fields.get('key'))
  return {
    forEach: forEach === undefined ? { _tag: 'List', values: [] } : itemsOf(report, forEach),
    ...(O.isSome(key) ? { key: key.value } : {}),
    each: each === undefined ? standIn(at, name) : partOf(reading, each, '"each"', name)
  }
}

const itemsOf = (report: Report, entry: Entry): ForEach => {
  if (entry.value._tag === 'List')
    return { _tag: 'List', values: entry.value.items.map((item) => Field.json(report, item)) }
  const name = Field.text(report, entry)
  return { _tag: 'Variable', at: entry.value.at, name: O.getOrElse(() => '')(name) }
}

const groupsOf = (reading: Reading, entry: Entry | undefined, wave: CompositeEntry): ReadonlyArray<GroupEntry> => {
  const groups = Field.mapping(reading.report, entry)
  if (O.isNone(groups)) return []
  const { entries } = groups.value
  if (entries.length === 0) reading.report(wave.at, describeProblem({ _tag: 'NoGroups', unit: wave.name }))
  return entries.flatMap((one) =>
    isTooMany(reading, one.at) ? [] : [{ needs: [], ...partOf(reading, one, 'a group', one.key) }]
  )
}

/** A group, or what is done for each item; a stand-in if it can't be read. */
const partOf = (reading: Reading, { at, value }: Entry, of: 'a group' | '"each"', name: string): StepEntry => {
  const place: Place = { of, index: 0, named: { at, name }, keys: of === 'a group' ? ['needs'] : [] }
  const [found = standIn(at, name)] = stepOf(reading, value, place)
  return found
}

type Needs = Partial<Pick<GroupEntry, 'needs'>>

const needs = ({ report }: Reading, fields: Field.Fields): Needs => {
  const entry = fields.get('needs')
  if (entry === undefined) return {}
  const names = Field.list(report, entry)
  if (O.isNone(names)) return { needs: [] }
  const known = names.value.items.flatMap((item) => {
    if (item._tag === 'Scalar' && typeof item.value === 'string') return [item.value]
    report(item.at, `"needs" lists names of groups, not ${Field.kindOf(item)}`)
    return []
  })
  return { needs: known }
}

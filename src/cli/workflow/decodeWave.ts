/**
 * Waves of a workflow file, and maps, which are waves of items.
 *
 * @since 0.1.0
 */
import { pipe } from 'fp-ts/lib/function.js'
import * as O from 'fp-ts/lib/Option.js'
import { describeProblem } from '../../domain/Workflow.js'
import type { OnFailure } from '../../executor/Program.js'
import { decodeChecks, WAVE_CHECK_KEYS } from './decodeChecks.js'
import type { Reports } from './decodeTask.js'
import { decodeTask, standIn, TASK_KEYS } from './decodeTask.js'
import * as Field from './Field.js'
import type { Position, Report } from './Problem.js'
import type { Entry, Mapping } from './Source.js'
import type { ForEach, GroupEntry, MapEntry, TaskEntry, WaveEntry } from './WorkflowFile.js'
import { MAX_TASKS } from './WorkflowFile.js'

const WAVE_KEYS = [
  'wave',
  'groups',
  'forEach',
  'key',
  'each',
  'summary',
  'concurrency',
  'onFailure',
  ...WAVE_CHECK_KEYS
]
const GROUP_KEYS = [...TASK_KEYS, 'needs']
const ON_FAILURE: ReadonlyArray<OnFailure> = ['finish', 'continue', 'halt']

/**
 * Whether a step is a wave, or is to be one.
 *
 * @category refinements
 * @since 0.1.0
 */
export const isWave = (node: Mapping): boolean =>
  node.entries.some(({ key }) => key === 'wave' || key === 'groups' || key === 'forEach' || key === 'each')

/**
 * A wave of these fields, or a map. What is wrong is reported.
 *
 * @category decoding
 * @since 0.1.0
 */
export const decodeWave = (reports: Reports, node: Mapping): WaveEntry | MapEntry => {
  const { report } = reports
  const fields = Field.fieldsOf(report, node, WAVE_KEYS, 'a wave')
  const [entry, groups] = [fields.get('wave'), fields.get('groups')]
  if (entry === undefined) report(node.at, 'a wave needs a name: "wave: checks"')
  const name = pipe(
    Field.text(report, entry),
    O.getOrElse(() => 'wave')
  )
  const concurrency = Field.number(report, fields.get('concurrency'), { from: 1, to: MAX_TASKS, whole: true })
  const onFailure = Field.word(report, fields.get('onFailure'), ON_FAILURE)
  const checks = decodeChecks(report, fields, 'wave')
  const at = entry?.value.at ?? node.at
  const wave = {
    at,
    name,
    summary: O.getOrElse(() => name)(Field.text(report, fields.get('summary'))),
    ...(O.isSome(concurrency) ? { concurrency: concurrency.value } : {}),
    ...(O.isSome(onFailure) ? { onFailure: onFailure.value } : {}),
    ...(O.isSome(checks) ? { checks: checks.value } : {})
  }
  if (fields.has('forEach') || fields.has('each')) return { _tag: 'Map', ...wave, ...mapOf(reports, fields, wave) }
  const key = fields.get('key')
  if (key !== undefined) report(key.at, '"key" is for the items of "forEach"')
  if (groups === undefined) report(node.at, 'a wave needs "groups", or "forEach" and "each"')
  return { _tag: 'Wave', ...wave, groups: groupsOf(reports, groups, { at, name }) }
}

// ---------------------------------------------------------------------------------------------------------------------
// maps
// ---------------------------------------------------------------------------------------------------------------------

const mapOf = (
  reports: Reports,
  fields: Field.Fields,
  { at, name }: { readonly at: Position; readonly name: string }
): Pick<MapEntry, 'forEach' | 'key' | 'each'> => {
  const { report } = reports
  const [forEach, each, groups] = [fields.get('forEach'), fields.get('each'), fields.get('groups')]
  if (forEach === undefined) report(at, '"each" needs "forEach": the variable that has the items, or a list of them')
  if (each === undefined) report(at, '"forEach" needs "each": what is done for each item')
  if (groups !== undefined) report(groups.at, 'a wave has "groups", or "forEach" and "each", not both')
  const key = Field.text(report, fields.get('key'))
  return {
    forEach: forEach === undefined ? { _tag: 'List', values: [] } : itemsOf(report, forEach),
    ...(O.isSome(key) ? { key: key.value } : {}),
    each: eachOf(reports, each, at, name)
  }
}

const itemsOf = (report: Report, entry: Entry): ForEach => {
  if (entry.value._tag === 'List')
    return { _tag: 'List', values: entry.value.items.map((item) => Field.json(report, item)) }
  const name = Field.text(report, entry)
  return { _tag: 'Variable', at: entry.value.at, name: O.getOrElse(() => '')(name) }
}

const eachOf = (reports: Reports, entry: Entry | undefined, at: Position, name: string): TaskEntry => {
  if (entry === undefined) return standIn(at, name)
  if (entry.value._tag !== 'Mapping') {
    reports.report(
      entry.value.at,
      `"each" is a mapping like "shell: convert \"$item\"", not ${Field.kindOf(entry.value)}`
    )
    return standIn(at, name)
  }
  const fields = Field.fieldsOf(reports.report, entry.value, TASK_KEYS, '"each"')
  return decodeTask(reports, fields, { at: entry.at, name, telling: false })
}

// ---------------------------------------------------------------------------------------------------------------------
// groups
// ---------------------------------------------------------------------------------------------------------------------

const groupsOf = (
  reports: Reports,
  entry: Entry | undefined,
  wave: { readonly at: Position; readonly name: string }
): ReadonlyArray<GroupEntry> => {
  const { report } = reports
  const groups = Field.mapping(report, entry)
  if (O.isNone(groups)) return []
  if (groups.value.entries.length === 0) report(wave.at, describeProblem({ _tag: 'NoGroups', unit: wave.name }))
  if (groups.value.entries.length > MAX_TASKS) {
    report(groups.value.at, `a wave has at most ${MAX_TASKS} groups`)
    return []
  }
  return groups.value.entries.map(({ at, key, value }) => {
    if (value._tag !== 'Mapping') {
      report(value.at, `a group is a mapping like "shell: npm test", not ${Field.kindOf(value)}`)
      return { ...standIn(at, key), needs: [] }
    }
    const fields = Field.fieldsOf(report, value, GROUP_KEYS, 'a group')
    const task = decodeTask(reports, fields, { at, name: key, telling: false })
    return { ...task, needs: needsOf(report, fields.get('needs')) }
  })
}

const needsOf = (report: Report, entry: Entry | undefined): ReadonlyArray<string> => {
  const names = Field.list(report, entry)
  if (O.isNone(names)) return []
  return names.value.items.flatMap((item) => {
    if (item._tag === 'Scalar' && typeof item.value === 'string') return [item.value]
    report(item.at, `"needs" lists names of groups, not ${Field.kindOf(item)}`)
    return []
  })
}

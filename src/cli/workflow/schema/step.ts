/** Schemas of steps: tasks, sequences, waves and maps. */
import { defined } from '../../../domain/data/defined.js'
import * as E from 'fp-ts/lib/Either.js'
import * as RNEA from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import { MAX_DEPTH } from '../../../domain/workflow/Workflow.js'
import { describeProblem, NAME } from '../../../domain/workflow/WorkflowProblem.js'
import type { Position } from '../Problem.js'
import type { Entry, Node } from '../Source.js'
import type { CompositeEntry, ForEach, GroupEntry, StepEntry } from '../WorkflowFile.js'
import { MAX_STEPS, numberedName } from '../WorkflowFile.js'
import { checksOf, compositeChecks } from './checks.js'
import type { Reading, WorkflowText } from './Reading.js'
import { json, nameIn, number, text, textOr, word } from './scalars.js'
import type { Read, Schema } from './Schema.js'
import {
  atLeastOne,
  byKey,
  either,
  field,
  isList,
  limited,
  list,
  mapOf,
  mapped,
  named,
  notWith,
  object,
  onlyWith,
  refined,
  wrong
} from './Schema.js'
import { waitFields, waitForeign, waitOf, waitRules } from './wait.js'
import { standIn, taskFields, taskOf, taskRules, WORK } from './task.js'

type Place = 'step' | 'group' | 'each'

/** Only a group has `needs`. */
type AnyStep = StepEntry & Partial<Pick<GroupEntry, 'needs'>>

const stepAt = (place: Place): Schema<AnyStep> => named(place, () => STEPS[place])

const invalidName = (name: string, of: { readonly isWorkflow?: true } = {}): string | undefined =>
  NAME.test(name) ? undefined : describeProblem({ _tag: 'InvalidName', name, ...of })

const pattern = NAME.source

const nameText = refined(text, { pattern }, (name) => invalidName(name))

const workflowName = refined(text, { pattern }, (name) => invalidName(name, { isWorkflow: true }))

/** Counts a step, and reports the first one beyond the limit. */
const isTooMany = ({ seen, report }: Reading, at: Position): boolean => {
  seen.steps += 1
  if (seen.steps === MAX_STEPS + 1)
    report(at, `a workflow file has at most ${MAX_STEPS} steps and groups, counting those of included files`)
  return seen.steps > MAX_STEPS
}

// ---------------------------------------------------------------------------------------------------------------------
// lists of steps
// ---------------------------------------------------------------------------------------------------------------------

const stepsOf = (of: 'a workflow' | 'a sequence'): Schema<ReadonlyArray<StepEntry>> => ({
  decode: (reading, entry) => {
    const { value } = entry
    if (value._tag !== 'List') return wrong(reading, entry, 'a list')
    if (value.items.length === 0) reading.report(entry.at, `${of} needs at least one step`)
    return value.items.flatMap((item, index) => {
      const { at } = item
      if (isTooMany(reading, at)) return []
      const unit = { at, name: numberedName(index) }
      const read = stepAt('step').decode({ ...reading, unit }, { ...entry, at, value: item })
      return read === undefined ? [] : [read]
    })
  },
  json: (definitions) => ({ type: 'array', minItems: 1, maxItems: MAX_STEPS, items: stepAt('step').json(definitions) })
})

/** The keys of a workflow file that an included one may have too. */
export const listing = {
  name: field(
    workflowName,
    'Runs belong to a workflow by this name. Default: the name of the file without its extension.'
  ),
  steps: field(stepsOf('a workflow'), 'The steps, in order.'),
  commands: field(stepsOf('a workflow'), 'Another word for "steps".')
}

export const listingRules = [
  notWith('commands', ['steps'], 'use "steps" or "commands", not both'),
  atLeastOne(['steps', 'commands'], 'a workflow needs "steps"')
]

export const notAFile = (kind: string): string => `a workflow file has the keys "name" and "steps"; this is ${kind}`

/** Reads an included file, and reports its problems under its name. */
const included = (
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

const FOR_A_RUN = 'it is for a whole run, so move it to the including file'

const includedFile = object('an included workflow', listing, {
  rules: listingRules,
  foreign: { input: FOR_A_RUN, secrets: FOR_A_RUN, workspace: FOR_A_RUN, onSuccess: FOR_A_RUN },
  otherwise: notAFile
})

const inclusion: Schema<{ readonly name: string; readonly steps: ReadonlyArray<StepEntry> | undefined }> = mapped(
  text,
  (path, reading, entry) => {
    const file = included(reading, path, entry)
    if (file === undefined) return undefined
    const { node, text } = file
    const from = RNEA.concat([text] as const)(reading.from)
    const read = includedFile.decode({ ...reading, from }, { ...entry, at: node.at, value: node })
    return { name: read?.name?.value ?? text.name, steps: (read?.steps ?? read?.commands)?.value }
  }
)

// ---------------------------------------------------------------------------------------------------------------------
// sequences, and what all composites have
// ---------------------------------------------------------------------------------------------------------------------

const groupFields = {
  needs: field(list(nameIn('names of groups')), 'The groups of its wave that must have completed.')
}

const compositeFields = {
  summary: field(text, 'A line for people. Default: the name.'),
  ...compositeChecks
}

const compositeOf = (
  read: Partial<Read<typeof compositeFields>>,
  { at }: Reading['unit'],
  name: string
): CompositeEntry => ({
  at,
  name,
  summary: read.summary?.value ?? name,
  ...defined({ checks: checksOf(read) })
})

const needsOf = ({ needs }: Partial<Read<typeof groupFields>>): Pick<AnyStep, 'needs'> =>
  needs === undefined ? {} : { needs: needs.value ?? [] }

const sequenceFields = {
  name: field(nameText, 'The name of the sequence. Default: that of the included workflow.'),
  steps: field(stepsOf('a sequence'), 'The steps of the sequence, in order.'),
  workflow: field(inclusion, 'The path of another workflow file, relative to this one, whose steps these are.'),
  ...compositeFields,
  ...groupFields
}

const A_MAP = { map: 'a map is a "wave" with "forEach" and "each"' }

/** The key of a group names it, and the body of a map has the name of its map. */
const NOT_AT: Readonly<Record<Place, ReadonlyArray<string>>> = {
  step: ['needs'],
  group: ['name', 'wave'],
  each: ['name', 'wave', 'needs']
}

const sequence = (place: Place): Schema<AnyStep> =>
  mapped(
    object(ofAt(place, 'a sequence'), sequenceFields, {
      except: NOT_AT[place],
      rules: [
        notWith('workflow', ['steps'], 'a sequence has either "steps" or "workflow", not both'),
        ...(place === 'step'
          ? [atLeastOne(['name', 'workflow'], 'a sequence needs a name, such as "name: deploy"')]
          : [])
      ],
      foreign: place === 'step' ? A_MAP : {}
    }),
    (read, { report, unit }) => {
      const { name, workflow } = read
      const other = place === 'step' && name === undefined ? workflow?.value?.name : undefined
      const wrongName = other === undefined ? undefined : invalidName(other)
      if (wrongName !== undefined) report(unit.at, wrongName)
      const steps = workflow === undefined ? read.steps?.value : workflow.value?.steps
      return steps === undefined
        ? undefined
        : { _tag: 'Sequence', ...compositeOf(read, unit, other ?? unit.name), steps, ...needsOf(read) }
    }
  )

const ofAt = (place: Place, of: string): string => (place === 'step' ? of : place === 'group' ? 'a group' : '"each"')

// ---------------------------------------------------------------------------------------------------------------------
// waves and maps
// ---------------------------------------------------------------------------------------------------------------------

const namedGroup: Schema<GroupEntry> = {
  decode: (reading, entry) => {
    const unit = { at: entry.at, name: entry.key }
    if (isTooMany(reading, unit.at)) return undefined
    const wrongName = invalidName(unit.name)
    if (wrongName !== undefined) reading.report(unit.at, wrongName)
    return { needs: [], ...(stepAt('group').decode({ ...reading, unit }, entry) ?? standIn(unit)) }
  },
  json: stepAt('group').json
}

const groups: Schema<ReadonlyArray<GroupEntry>> = limited(
  mapped(mapOf({ pattern: NAME.source }, namedGroup), (groups, { report, unit }, { value }) => {
    if (value._tag === 'Mapping' && value.entries.length === 0)
      report(unit.at, describeProblem({ _tag: 'NoGroups', unit: unit.name }))
    return groups
  }),
  { minProperties: 1, maxProperties: MAX_STEPS }
)

const items: Schema<ForEach> = either(
  isList,
  mapped(list(json), (values): ForEach => ({ _tag: 'List', values })),
  mapped(
    textOr('the name of a variable or a list, such as [1, 2]', { remedy: '' }),
    (name, _, { value: { at } }): ForEach => ({
      _tag: 'Variable',
      at,
      name
    })
  )
)

const waveFields = {
  wave: field(
    nameText,
    'The name of a wave, which runs its groups in parallel.',
    'a wave needs a name, such as "wave: checks"'
  ),
  groups: field(groups, 'The groups of the wave by name. They run in parallel.'),
  forEach: field(items, 'The variable that has the items of a map, or a list of them. There is a group for each.'),
  key: field(text, 'The name of an item: "item", or a field of items that are mappings. Default: its number.'),
  each: field(stepAt('each'), 'The work for each item, which is in $item.'),
  concurrency: field(number({ from: 1, to: MAX_STEPS, whole: true }), 'How many groups run at once. Default: all.'),
  onFailure: field(
    word('finish', 'continue', 'halt'),
    'What happens to the other groups when one failed. Default: continue if a group has "needs", else finish.'
  ),
  ...compositeFields,
  ...groupFields
}

const ITS_NAME = { name: 'its name is the value of "wave"' }

const wave = (place: Place): Schema<AnyStep> =>
  mapped(
    object(ofAt(place, 'a wave or map'), waveFields, {
      except: NOT_AT[place],
      rules: [
        notWith('groups', ['forEach', 'each'], 'a wave has either "groups", or "forEach" and "each", not both'),
        onlyWith('each', ['forEach'], '"each" needs "forEach": the variable that has the items, or a list of them'),
        onlyWith('forEach', ['each'], '"forEach" needs "each": the work for each item'),
        onlyWith('key', ['forEach', 'each'], '"key" is for the items of "forEach"'),
        atLeastOne(['groups', 'forEach', 'each'], 'a wave needs "groups", or "forEach" and "each"')
      ],
      ...(place === 'step'
        ? { instead: { name: 'wave', map: 'wave' } as const, foreign: { ...A_MAP, ...ITS_NAME } }
        : {})
    }),
    (read, { unit }) => {
      const { forEach, key, each, groups, concurrency, onFailure } = read
      const common = {
        ...compositeOf(read, unit, unit.name),
        ...defined({ concurrency: concurrency?.value, onFailure: onFailure?.value }),
        ...needsOf(read)
      }
      if (forEach === undefined && each === undefined) return { _tag: 'Wave', ...common, groups: groups?.value ?? [] }
      return {
        _tag: 'Map',
        ...common,
        forEach: forEach?.value ?? { _tag: 'List', values: [] },
        ...defined({ key: key?.value }),
        each: each?.value ?? standIn(unit)
      }
    }
  )

// ---------------------------------------------------------------------------------------------------------------------
// steps
// ---------------------------------------------------------------------------------------------------------------------

const stepName = { name: field(nameText, 'The name of the step. Default: step-1, step-2 and so on.') }

const wait = (place: Place): Schema<AnyStep> =>
  mapped(
    object(
      ofAt(place, 'a wait'),
      { ...stepName, ...waitFields, ...groupFields },
      { except: NOT_AT[place], rules: waitRules, foreign: waitForeign }
    ),
    (read, reading) => ({ ...waitOf(read, reading), ...needsOf(read) })
  )

/** Editors offer the keys of all kinds of steps. */
const stepFields = {
  ...stepName,
  wave: field(nameText, waveFields.wave.about),
  steps: sequenceFields.steps,
  workflow: sequenceFields.workflow,
  groups: waveFields.groups,
  forEach: waveFields.forEach,
  sleep: waitFields.sleep,
  waitFor: waitFields.waitFor,
  ...taskFields,
  ...groupFields
}

/** Keys of GitHub Actions. */
const FOREIGN = {
  uses: 'write a command under "shell"',
  with: 'pass values in the command',
  env: 'set it in the script, or name it in "input" of the workflow',
  if: 'write the condition into the script',
  'working-directory': 'begin the script with cd',
  'continue-on-error': 'end the script with || true',
  'runs-on': 'steps run on this machine'
}
const IN_ORDER = 'steps run in order, and groups of a "wave" in parallel, where they may have "needs"'

const task = (place: Place): Schema<AnyStep> =>
  mapped(
    object(ofAt(place, 'a step'), stepFields, {
      except: [...NOT_AT[place], ...(place === 'step' ? ['groups', 'forEach'] : ['workflow'])],
      rules: taskRules,
      instead: {
        script: 'shell',
        command: 'shell',
        cmd: 'shell',
        'timeout-minutes': 'timeout',
        ...(place === 'step' ? ({ map: 'wave' } as const) : {})
      },
      foreign: place === 'step' ? { ...FOREIGN, ...A_MAP, needs: IN_ORDER } : FOREIGN
    }),
    (read, reading) => ({
      ...taskOf(read, reading, place !== 'step' || read.name?.value !== undefined),
      ...needsOf(read)
    })
  )

const anyStep = (place: Place): Schema<AnyStep> => {
  const of = ofAt(place, 'a step')
  const example = place === 'each' ? 'shell: convert "$item"' : 'shell: npm test'
  const { decode, json } = byKey(
    (kind) => `${of} is a mapping like "${example}", not ${kind}`,
    [
      { keys: ['steps', 'workflow'], schema: named(`${place}:sequence`, () => sequence(place)) },
      { keys: ['wave', 'groups', 'forEach', 'each'], schema: named(`${place}:wave`, () => wave(place)) },
      { keys: ['sleep', 'waitFor'], schema: named(`${place}:wait`, () => wait(place)) }
    ],
    { keys: WORK, known: Object.keys(stepFields), schema: named(`${place}:task`, () => task(place)) }
  )
  return { decode: (reading, entry) => decode({ ...reading, unit: unitAt(place, reading, entry) }, entry), json }
}

/** The body of a map has the name of its map. */
const unitAt = (place: Place, { unit }: Reading, { at, value: node }: Entry): Reading['unit'] => {
  if (place !== 'step') return place === 'each' ? { at, name: unit.name } : unit
  const own = node._tag === 'Mapping' ? node.entries.find(({ key }) => key === 'wave' || key === 'name') : undefined
  if (own === undefined) return unit
  const name = own.value._tag === 'Scalar' ? own.value.value : null
  return { at: own.value.at, name: typeof name === 'string' && name.trim() !== '' ? name : unit.name }
}

const STEPS: Readonly<Record<Place, Schema<AnyStep>>> = {
  step: anyStep('step'),
  group: anyStep('group'),
  each: anyStep('each')
}

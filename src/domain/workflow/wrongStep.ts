/** Describes values that are not steps, because untyped callers may pass anything. */
import { listed } from '../data/listed.js'
import { fieldsOf, kindOf } from '../data/Options.js'
import type { Step } from './Workflow.js'

type IsField = (value: unknown) => boolean

type Shape = ReadonlyArray<readonly [field: string, isField: IsField]>

const isString: IsField = (value) => typeof value === 'string'
const areStrings: IsField = (value) => Array.isArray(value) && value.every(isString)
const isWait: IsField = (value) => value === undefined || value === 'Timer' || value === 'Answer'
const isObject: IsField = (value) => typeof value === 'object' && value !== null

const NAMED: Shape = [
  ['name', isString],
  ['fingerprint', isString]
]

const COMPOSITE: Shape = [...NAMED, ['ownFingerprint', isString]]

/** The fields that a plan reads from each kind of step. */
const SHAPES: Readonly<Record<Step['_tag'], Shape>> = {
  Task: [
    ...NAMED,
    ['idempotent', (value) => typeof value === 'boolean'],
    ['captures', areStrings],
    ['wait', isWait],
    ['accepts', (value) => typeof value === 'function']
  ],
  Sequence: [...COMPOSITE, ['steps', Array.isArray]],
  Wave: [...COMPOSITE, ['groups', Array.isArray]],
  Map: [...COMPOSITE, ['each', isObject]]
}

const NO_SHAPE: Shape = [['_tag', () => false]]

/** Describes a value that is not a step: `an object without captures`; undefined for a step. Does not look at its parts. */
export const wrongStep = (step: unknown): string | undefined => {
  const fields = fieldsOf(step)
  // Most steps are valid tasks: a loop over their shape would take milliseconds in a long workflow.
  const { _tag, name, fingerprint, idempotent, captures, wait, accepts } = fields
  const isTask = _tag === 'Task' && typeof fingerprint === 'string' && typeof idempotent === 'boolean'
  if (isTask && isString(name) && areStrings(captures) && isWait(wait) && typeof accepts === 'function')
    return undefined
  const tag = _tag as Step['_tag']
  const shape = Object.hasOwn(SHAPES, tag) ? SHAPES[tag] : NO_SHAPE
  if (shape.every(([field, isField]) => isField(fields[field]))) return undefined
  if (kindOf(step) !== 'an object') return kindOf(step)
  const wrong = shape.filter(([field, isField]) => !isField(fields[field])).map(([field]) => field)
  const missing = wrong.filter((field) => fields[field] === undefined)
  return missing.length > 0 ? `an object without ${listed(missing)}` : `an object with invalid ${listed(wrong)}`
}

/** Describes a value that is not a group of a wave. */
export const wrongGroup = (step: unknown): string | undefined =>
  wrongStep(step) ?? (Array.isArray(fieldsOf(step)['needs']) ? undefined : 'an object without needs')

/** Checks the options of a plan, because untyped hosts may pass anything. */
import * as E from 'fp-ts/lib/Either.js'
import { fromUnknown } from '../data/Json.js'
import type { Check } from '../data/Options.js'
import { anything, arrayOf, fieldsOf, flag, having, isText, kindOf, oneOf, text } from '../data/Options.js'
import { plainJson } from '../data/Malformed.js'
import { isEvidence } from '../checkpoint/CompletedStep.js'
import type { Answer, PlanOptions } from './Plan.js'

const mapCheck = (values: string, example: string): Check => {
  const expected = `a Map of ${values} by unit, such as ${example}`
  const withMethods = having(['get', 'has', 'keys', 'entries', Symbol.iterator], expected)
  return (value) => {
    const wrong = withMethods(value)
    if (wrong !== undefined) return wrong
    const map = value as ReadonlyMap<unknown, unknown>
    if (!isReadable(map)) return expected
    for (const unit of map.keys())
      if (typeof unit !== 'string') return `a Map of ${values} by unit; a unit must be a string, not ${kindOf(unit)}`
    return undefined
  }
}

/** The methods of a `Map` throw on a Proxy of it. */
const isReadable = (map: ReadonlyMap<unknown, unknown>): boolean => {
  try {
    map.has('')
    return true
  } catch {
    return false
  }
}

export const answerMap = mapCheck('answers', 'new Map([["build", { _tag: "Again" }]])')

const ANSWERS: ReadonlySet<unknown> = new Set<Answer['_tag']>(['Again', 'Keep', 'Done'])

/** Returns what an answer to a question should be instead, or undefined if it is valid. */
export const notAnswer = (given: unknown): string | undefined => {
  const { _tag, output } = fieldsOf(given)
  if (!ANSWERS.has(_tag)) {
    const found = typeof _tag === 'string' ? `{ _tag: '${_tag}' }` : kindOf(given)
    return `{ _tag: 'Again' }, { _tag: 'Keep' } or { _tag: 'Done' }, not ${found}`
  }
  if (_tag !== 'Done' || output === undefined) return undefined
  const json = fromUnknown(output)
  return E.isRight(json) ? undefined : plainJson(json.left)
}

const answers: Check = (value) => {
  const wrong = answerMap(value)
  if (wrong !== undefined) return wrong
  for (const [unit, answer] of (value as ReadonlyMap<string, unknown>).entries()) {
    const expected = notAnswer(answer)
    const what = ANSWERS.has(fieldsOf(answer)['_tag']) ? 'output for' : 'answer to'
    if (expected !== undefined) return `a Map of answers by unit; the ${what} "${unit}" must be ${expected}`
  }
  return undefined
}

const areEvidence = (all: unknown): boolean => Array.isArray(all) && all.every(isEvidence)

const isChanged = (value: unknown): boolean => {
  const { was, is } = fieldsOf(value)
  return areEvidence(is === undefined ? [was] : [was, is])
}

/** Detects a `FoundEvidence`. */
const isFound = (value: unknown): boolean => {
  const fields = fieldsOf(value)
  const { unit, missing, changed } = fields
  return (
    isText(unit) && ('missing' in fields ? areEvidence(missing) : Array.isArray(changed) && changed.every(isChanged))
  )
}

/** The check of each option. Every call that has some of these options uses it. */
export const PLAN_OPTIONS: Readonly<Record<keyof PlanOptions, Check>> = {
  fromStep: text,
  input: anything,
  restartWave: text,
  changes: oneOf('strict', 'completed', 'ignore'),
  confirm: answers,
  outputs: mapCheck('outputs', 'new Map([["build", "1.2.3"]])'),
  evidence: arrayOf(isFound, 'an array of what collectEvidence returns'),
  onChanged: oneOf('refuse', 'keep'),
  recovered: flag
}

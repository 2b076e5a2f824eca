/** Refuses invalid arguments of the kit: JavaScript callers may pass anything. */
import { strict as assert } from 'node:assert'
import type { Check, OptionTable } from '../domain/data/Options.js'
import { arrayOf, callback, describeOption, isText, optionProblems, text } from '../domain/data/Options.js'
import type { ArtifactSpec } from './conformance/artifacts/ArtifactCase.js'
import type { StorageSpec } from './conformance/Spec.js'

export const texts = arrayOf(isText, 'an array of strings')

export const amount: Check = (value) => (typeof value === 'number' && value >= 0 ? undefined : 'a number ≥ 0')

export const object: Check = (value) => (typeof value === 'object' && value !== null ? undefined : 'an object')

const PLACE = {
  name: text,
  create: callback,
  reopen: callback,
  destroy: callback,
  capabilities: texts,
  damage: callback
}

export const ARTIFACT_SPEC: Readonly<Record<keyof ArtifactSpec<unknown>, Check>> = PLACE

export const STORAGE_SPEC: Readonly<Record<keyof StorageSpec<unknown>, Check>> = {
  ...PLACE,
  beside: callback,
  swap: callback,
  newer: callback,
  digest: callback,
  faulty: callback,
  stall: callback,
  undecided: callback,
  lossy: callback,
  cut: callback,
  rollback: callback,
  sleeper: callback
}

/** Every spec has these. */
export const NEEDED = ['name', 'create', 'reopen', 'capabilities']

/** Fails with what the call expects. */
export const refuse = (
  call: string,
  given: unknown,
  table: OptionTable,
  required: ReadonlyArray<string> = []
): void => {
  const [first, ...more] = optionProblems(given, table, { required }).map((one) => describeOption(one))
  if (first !== undefined) assert.fail(`${call}: ${[first, ...more].join('; ')}`)
}

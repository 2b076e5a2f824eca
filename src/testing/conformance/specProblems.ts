/** Checks a value that should be the spec of a store. */
import type { ArtifactSpec } from './artifacts/ArtifactCase.js'
import type { StorageSpec } from './Spec.js'
import { capabilities } from './Spec.js'
import { didYouMean } from '../../domain/data/Suggestion.js'

interface Expected {
  readonly kind: string
  readonly needed: boolean
  readonly wrong: (value: unknown) => ReadonlyArray<string>
}

const isFunction = (value: unknown): ReadonlyArray<string> =>
  typeof value === 'function' ? [] : [`must be a function, not ${shown(value)}`]

const isName = (value: unknown): ReadonlyArray<string> =>
  typeof value === 'string' && value.trim() !== '' ? [] : [`must be a non-empty string, not ${shown(value)}`]

const areCapabilities =
  (known: ReadonlyArray<string>): Expected['wrong'] =>
  (value) =>
    Array.isArray(value)
      ? value.flatMap((one: unknown) => {
          if (known.some((each) => each === one)) return []
          const hint = typeof one === 'string' ? didYouMean(one, known) : ''
          return [`names the unknown capability ${shown(one)}; use ${known.join(', ')}${hint}`]
        })
      : [`must be an array, possibly empty, of ${known.join(', ')}; it is ${shown(value)}`]

const TOOL: Expected = { kind: 'a function', needed: false, wrong: isFunction }

const EXPECTED: Readonly<Record<keyof StorageSpec<unknown>, Expected>> = {
  name: { kind: 'a string: the name of the store', needed: true, wrong: isName },
  create: { kind: 'a function that creates an empty place for runs', needed: true, wrong: isFunction },
  reopen: { kind: 'a function that returns a new store on that place', needed: true, wrong: isFunction },
  capabilities: {
    kind: 'an array, possibly empty, of the capabilities that the store claims',
    needed: true,
    wrong: areCapabilities(capabilities)
  },
  destroy: TOOL,
  beside: TOOL,
  damage: TOOL,
  swap: TOOL,
  newer: TOOL,
  digest: TOOL,
  faulty: TOOL,
  undecided: TOOL,
  stall: TOOL,
  lossy: TOOL,
  cut: TOOL,
  rollback: TOOL,
  sleeper: TOOL
}

const { name, create, reopen, destroy, damage } = EXPECTED

const EXPECTED_OF_ARTIFACTS: Readonly<Record<keyof ArtifactSpec<unknown>, Expected>> = {
  ...{ name, create, reopen, destroy, damage },
  capabilities: { ...EXPECTED.capabilities, wrong: areCapabilities(['large', 'damage']) }
}

/** Detects a spec, even a wrong one. */
export const isLikeSpec = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'create' in value && 'reopen' in value

export const specProblems = (value: unknown): ReadonlyArray<string> => problemsOf(value, EXPECTED)

export const artifactSpecProblems = (value: unknown): ReadonlyArray<string> => problemsOf(value, EXPECTED_OF_ARTIFACTS)

const problemsOf = (value: unknown, table: Readonly<Record<string, Expected>>): ReadonlyArray<string> => {
  if (typeof value !== 'object' || value === null) return [`it must be an object, not ${shown(value)}`]
  const given = value as Readonly<Record<string, unknown>>
  return Object.entries(table).flatMap(([field, { kind, needed, wrong }]) => {
    const found = given[field]
    if (found === undefined) return needed ? [`\`${field}\` is missing: ${kind}`] : []
    return wrong(found).map((problem) => `\`${field}\` ${problem}`)
  })
}

export const unknownFields = (spec: object): ReadonlyArray<string> => {
  const known = Object.keys(EXPECTED)
  return Object.keys(spec).flatMap((field) => {
    const hint = known.includes(field) ? '' : didYouMean(field, known)
    return hint === '' ? [] : [`a spec has no \`${field}\`${hint}`]
  })
}

const shown = (value: unknown): string => {
  if (Array.isArray(value)) return 'an array'
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'object':
      return value === null ? 'null' : 'an object'
    case 'function':
      return 'a function'
    default:
      return String(value)
  }
}

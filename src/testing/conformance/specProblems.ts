/** Checks a value that should be the spec of a store. */
import type { ToolTable } from './Spec.js'
import { TOOLS } from './Spec.js'
import { didYouMean } from '../../domain/data/Suggestion.js'

/** What a field of a spec must be. `needed`: what is missing without the field; absent for one that a spec may omit. */
interface Expected {
  readonly needed?: string
  readonly wrong: (value: unknown) => ReadonlyArray<string>
}

const isFunction = (value: unknown): ReadonlyArray<string> =>
  typeof value === 'function' ? [] : [`must be a function, not ${shown(value)}`]

const isName = (value: unknown): ReadonlyArray<string> =>
  typeof value === 'string' && value.trim() !== '' ? [] : [`must be a non-empty string, not ${shown(value)}`]

const OPTIONAL: Expected = { wrong: isFunction }

const NEEDED = {
  name: { needed: 'a string: the name of the store', wrong: isName },
  create: { needed: 'a function that creates an empty place for runs', wrong: isFunction },
  reopen: { needed: 'a function that returns a new store on that place', wrong: isFunction }
}

const capabilitiesOf = (known: ReadonlyArray<string>): Expected => ({
  needed: 'an array, possibly empty, of the capabilities that the store claims',
  wrong: (value) =>
    Array.isArray(value)
      ? value
          .filter((one: unknown) => !known.some((each) => each === one))
          .map((one: unknown) => {
            const hint = typeof one === 'string' ? didYouMean(one, known) : ''
            return `names the unknown capability ${shown(one)}; use ${known.join(', ')}${hint}`
          })
      : [`must be an array, possibly empty, of ${known.join(', ')}; it is ${shown(value)}`]
})

const expectedOf = (tools: ToolTable): Readonly<Record<string, Expected>> => ({
  ...NEEDED,
  capabilities: capabilitiesOf(Object.keys(tools)),
  destroy: OPTIONAL,
  ...Object.fromEntries(
    Object.values(tools)
      .flat()
      .map((tool) => [tool, OPTIONAL])
  )
})

/** Detects a spec, even a wrong one. */
export const isLikeSpec = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'create' in value && 'reopen' in value

/** `tools`: those of the kind of store. */
export const specProblems = (value: unknown, tools: ToolTable = TOOLS): ReadonlyArray<string> => {
  if (typeof value !== 'object' || value === null) return [`it must be an object, not ${shown(value)}`]
  const given = value as Readonly<Record<string, unknown>>
  return Object.entries(expectedOf(tools)).flatMap(([field, { needed, wrong }]) => {
    const found = given[field]
    if (found === undefined) return needed === undefined ? [] : [`\`${field}\` is missing: ${needed}`]
    return wrong(found).map((problem) => `\`${field}\` ${problem}`)
  })
}

export const unknownFields = (spec: object): ReadonlyArray<string> => {
  const known = Object.keys(expectedOf(TOOLS))
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

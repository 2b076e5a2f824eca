/** Finds values by key, so that no loop searches an array again. */

/** Returns the elements of an array by key. Cached: arrays never change, and each has one kind of key. */
export const indexed = <A>(all: ReadonlyArray<A>, keyOf: (one: A) => string): ReadonlyMap<string, A> => {
  const known = BY_KEY.get(all) as ReadonlyMap<string, A> | undefined
  if (known !== undefined) return known
  const byKey = new Map<string, A>()
  for (const one of all) byKey.set(keyOf(one), one)
  BY_KEY.set(all, byKey)
  return byKey
}

const BY_KEY = new WeakMap<ReadonlyArray<unknown>, ReadonlyMap<string, unknown>>()

/** Appends a value to the array of a key. */
export const pushTo = <K, A>(arrays: Map<K, Array<A>>, key: K, value: A): void => {
  const known = arrays.get(key)
  if (known === undefined) arrays.set(key, [value])
  else known.push(value)
}

/** Returns the index of the step with a name. `expected`: the usual index, which is tried first. */
export const indexOfStep = (
  steps: ReadonlyArray<{ readonly name: string }>,
  name: string,
  expected = 0
): number | undefined => {
  if (steps[expected]?.name === name) return expected
  const known = POSITIONS.get(steps) ?? new Map(steps.map((step, index) => [step.name, index]))
  POSITIONS.set(steps, known)
  return known.get(name)
}

const POSITIONS = new WeakMap<ReadonlyArray<unknown>, ReadonlyMap<string, number>>()

/**
 * Which groups of a wave wait for which others.
 *
 * @since 0.1.0
 */
import type { GroupEntry } from './WorkflowFile.js'

type Needing = Pick<GroupEntry, 'name' | 'needs'>

/** A bit for each group of a wave. */
type Bits = Uint32Array

/**
 * Whether a group needs another, directly or through those that it needs. That is found out of all groups when it is first
 * asked of one: a bit for each pair, which are twelve megabytes of ten thousand groups.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ancestry = (groups: ReadonlyArray<Needing>): ((group: string, other: string) => boolean) => {
  const index = new Map(groups.map(({ name }, place) => [name, place]))
  let needed: ReadonlyArray<Bits> | undefined
  return (group, other) => {
    const [from, to] = [index.get(group), index.get(other)]
    if (from === undefined || to === undefined) return false
    needed ??= neededIn(groups, index)
    return (((needed[from]?.[to >>> 5] ?? 0) >>> (to & 31)) & 1) === 1
  }
}

/** Those that a group needs are known before it is looked at, as Kahn's algorithm has it. */
const neededIn = (groups: ReadonlyArray<Needing>, index: ReadonlyMap<string, number>): ReadonlyArray<Bits> => {
  const needed = groups.map(() => new Uint32Array(Math.ceil(groups.length / 32)))
  const waiting = groups.map((): Array<number> => [])
  const open = groups.map(({ needs }, group) => {
    const known = needs.flatMap((name) => index.get(name) ?? [])
    for (const need of known) waiting[need]?.push(group)
    return known.length
  })
  const ready = [...open.keys()].filter((group) => open[group] === 0)
  for (const need of ready) {
    for (const group of waiting[need] ?? []) {
      join(needed[group], needed[need], need)
      const left = (open[group] ?? 0) - 1
      open[group] = left
      if (left === 0) ready.push(group)
    }
  }
  return needed
}

/** Takes another group in, and all that it needs. */
const join = (into: Bits | undefined, from: Bits | undefined, other: number): void => {
  if (into === undefined || from === undefined) return
  for (let word = 0; word < into.length; word++) into[word] = (into[word] ?? 0) | (from[word] ?? 0)
  into[other >>> 5] = (into[other >>> 5] ?? 0) | (1 << (other & 31))
}

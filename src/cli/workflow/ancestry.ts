/** Computes which groups of a wave need which others. */
import type { GroupEntry } from './WorkflowFile.js'

type Needing = Pick<GroupEntry, 'name' | 'needs'>

type Bits = Uint32Array

/** The first call computes all pairs: 12 MB for 10,000 groups. */
export const ancestry = (groups: ReadonlyArray<Needing>): ((group: string, other: string | undefined) => boolean) => {
  const index = new Map(groups.map(({ name }, place) => [name, place]))
  let needed: ReadonlyArray<Bits> | undefined
  return (group, other) => {
    const [from, to] = [index.get(group), other === undefined ? other : index.get(other)]
    if (from === undefined || to === undefined) return false
    needed ??= neededIn(groups, index)
    return (((needed[from]?.[to >>> 5] ?? 0) >>> (to & 31)) & 1) === 1
  }
}

/** Kahn's algorithm: visits each group after all that it needs. */
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

/** Adds a group and everything that it needs. */
const join = (into: Bits | undefined, from: Bits | undefined, other: number): void => {
  if (into === undefined || from === undefined) return
  for (let word = 0; word < into.length; word++) into[word] = (into[word] ?? 0) | (from[word] ?? 0)
  into[other >>> 5] = (into[other >>> 5] ?? 0) | (1 << (other & 31))
}

/** The dependency graph of a wave's groups. */
import { indexed, pushTo } from '../data/indexed.js'

/** A group, and the names of the groups that it needs. */
interface GroupNeeds {
  readonly name: string
  readonly needs: ReadonlyArray<string>
}

/** Returns the groups on one dependency cycle, each followed by one that it needs; none without a cycle. Ignores unknown needs. Linear time. */
export const cycleIn = (groups: ReadonlyArray<GroupNeeds>): ReadonlyArray<string> => {
  const graph = graphOf(groups)
  const ordered = new Set(orderOf(graph))
  const stuck = new Map([...graph].filter(([name]) => !ordered.has(name)))
  const seen = new Set<string>()
  let [name] = stuck.keys()
  while (name !== undefined && !seen.has(name)) {
    seen.add(name)
    name = [...(stuck.get(name) ?? [])].find((need) => stuck.has(need))
  }
  const path = [...seen]
  return name === undefined ? [] : path.slice(path.indexOf(name))
}

type Graph = ReadonlyMap<string, ReadonlySet<string>>

const graphOf = (groups: ReadonlyArray<GroupNeeds>): Graph => {
  const known = new Set(groups.map(({ name }) => name))
  return new Map(groups.map(({ name, needs }) => [name, new Set(needs.filter((need) => known.has(need)))]))
}

/** Orders the nodes by Kahn's algorithm, each after its targets. Leaves out cycles, and what points to them. */
const orderOf = (graph: Graph): ReadonlyArray<string> => {
  const pointing = reversed(graph)
  const open = new Map([...graph].map(([name, targets]) => [name, targets.size]))
  const ready = [...open].filter(([, count]) => count === 0).map(([name]) => name)
  for (const name of ready) {
    for (const other of pointing.get(name) ?? []) {
      const left = (open.get(other) ?? 0) - 1
      open.set(other, left)
      if (left === 0) ready.push(other)
    }
  }
  return ready
}

const reversed = (graph: Graph): Graph => {
  const back = new Map([...graph.keys()].map((name) => [name, new Set<string>()]))
  for (const [name, targets] of graph) for (const target of targets) back.get(target)?.add(name)
  return back
}

/** Returns the groups that the named ones need, directly or through others. */
export const neededBy = (groups: ReadonlyArray<GroupNeeds>, names: ReadonlyArray<string>): ReadonlySet<string> => {
  if (names.length === 0) return new Set()
  const byName = indexed(groups, ({ name }) => name)
  return closure(names, (one) => byName.get(one)?.needs ?? [])
}

/** Computes for all groups at once which others each needs, directly or through others: 12 MB for 10,000 groups. */
export const allNeeds = (groups: ReadonlyArray<GroupNeeds>): ((group: string, other: string) => boolean) => {
  const graph = graphOf(groups)
  const bits = new Map([...graph.keys()].map((name, place) => [name, 1n << BigInt(place)]))
  const bitOf = (name: string): bigint => bits.get(name) ?? 0n
  const needed = new Map<string, bigint>()
  const needsOf = (name: string): bigint => needed.get(name) ?? 0n
  for (const name of orderOf(graph))
    needed.set(
      name,
      [...(graph.get(name) ?? [])].reduce((all, need) => all | needsOf(need) | bitOf(need), 0n)
    )
  return (group, other) => (needsOf(group) & bitOf(other)) !== 0n
}

/** Returns the groups that need a named one, directly or through others. */
export const needing = (groups: ReadonlyArray<GroupNeeds>, names: ReadonlyArray<string>): ReadonlySet<string> => {
  if (names.length === 0) return new Set()
  const above = new Map<string, Array<string>>()
  for (const { name, needs } of groups) for (const need of needs) pushTo(above, need, name)
  return closure(names, (one) => above.get(one) ?? [])
}

/** Returns the groups that a group waits for: its needs, and the needs of a need that is done, because the group sees the outputs of all these. */
export const waitsFor = (
  groups: ReadonlyArray<GroupNeeds>,
  done: ReadonlySet<string>
): ((group: GroupNeeds) => Iterable<string>) => {
  // Usually no done group needs one that runs again.
  const isPlain = groups.every(({ name, needs }) => !done.has(name) || needs.every((need) => done.has(need)))
  if (isPlain) return ({ needs }) => needs
  const byName = indexed(groups, ({ name }) => name)
  return ({ needs }) => {
    const found = new Set(needs)
    for (const name of found) if (done.has(name)) for (const need of byName.get(name)?.needs ?? []) found.add(need)
    return found
  }
}

const closure = (from: ReadonlyArray<string>, next: (name: string) => ReadonlyArray<string>): ReadonlySet<string> => {
  const found = new Set<string>()
  const open = [...from]
  for (let name = open.pop(); name !== undefined; name = open.pop())
    for (const one of next(name)) {
      if (found.has(one)) continue
      found.add(one)
      open.push(one)
    }
  return found
}

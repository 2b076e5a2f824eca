/**
 * What the groups of a wave need of one another, as a graph.
 *
 * @since 0.1.0
 */

/** A group, and the names of those that it needs. */
interface Needing {
  readonly name: string
  readonly needs: ReadonlyArray<string>
}

/**
 * The groups that need one another in a circle: what is left when those that can start are taken away, and then those that nobody
 * waits for. Needs that name no group count for nothing. Linear time.
 *
 * @category destructors
 * @since 0.1.0
 */
export const inCycle = (groups: ReadonlyArray<Needing>): ReadonlyArray<string> => {
  const known = new Set(groups.map(({ name }) => name))
  const needs = new Map(groups.map(({ name, needs }) => [name, new Set(needs.filter((need) => known.has(need)))]))
  return [...leftOver(reversed(leftOver(needs))).keys()]
}

type Graph = ReadonlyMap<string, ReadonlySet<string>>

/** What Kahn's algorithm leaves over: the nodes that can't be put behind all that they point to. */
const leftOver = (graph: Graph): Graph => {
  const pointing = reversed(graph)
  const open = new Map([...graph].map(([name, targets]) => [name, targets.size]))
  const ready = [...open].filter(([, count]) => count === 0).map(([name]) => name)
  for (let name = ready.pop(); name !== undefined; name = ready.pop()) {
    open.delete(name)
    for (const other of pointing.get(name) ?? []) {
      const left = (open.get(other) ?? 0) - 1
      open.set(other, left)
      if (left === 0) ready.push(other)
    }
  }
  return new Map([...graph].filter(([name]) => open.has(name)))
}

const reversed = (graph: Graph): Graph => {
  const back = new Map([...graph.keys()].map((name) => [name, new Set<string>()]))
  for (const [name, targets] of graph) for (const target of targets) back.get(target)?.add(name)
  return back
}

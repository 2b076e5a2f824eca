/** Searches for many strings at once (Aho-Corasick) in linear time, whatever the strings and the input. */

/** A range of the input; `to` is exclusive. */
export interface Range {
  readonly from: number
  readonly to: number
}

/**
 * An Aho-Corasick automaton as a trie. Nodes are numbers, the root is 0. `first`: children of the root by Latin character;
 * `heads`: prefixes of the strings, unless there are many. Per node: the character and node of the first child (others are in
 * `children`); `fallback`: the node of the longest proper suffix that is also a prefix; `ending`: the longest string that ends
 * here; `begun`: how many characters may start a longer string.
 */
export interface Search {
  readonly heads: ReadonlyArray<string>
  readonly first: Int32Array
  readonly character: Int32Array
  readonly child: Int32Array
  readonly children: ReadonlyMap<number, number>
  readonly fallback: Int32Array
  readonly ending: Int32Array
  readonly begun: Int32Array
}

/** The state before any input. */
export const START = 0

const NONE = -1

const UNITS = 65_536
const LATIN = 256

/** `indexOf` searches for up to `MAX_HEADS` prefixes of `HEAD` characters while no match is in progress. */
const HEAD = 16
const MAX_HEADS = 16

/** Builds the automaton; no string may be empty. */
export const make = (texts: ReadonlyArray<string>): Search => {
  const size = texts.reduce((sum, { length }) => sum + length, 1)
  const heads = [...new Set(texts.map((text) => text.slice(0, HEAD)))]
  const tree = {
    heads: heads.length > MAX_HEADS ? [] : heads,
    first: new Int32Array(LATIN).fill(NONE),
    character: new Int32Array(size).fill(NONE),
    child: new Int32Array(size),
    children: new Map<number, number>(),
    fallback: new Int32Array(size),
    ending: new Int32Array(size),
    begun: new Int32Array(size)
  }
  const parents = new Int32Array(size)
  const labels = new Int32Array(size)
  const depths: Array<Array<number>> = []
  let nodes = 1
  for (const text of texts) {
    let node = START
    for (let at = 0; at < text.length; at++) {
      const character = text.charCodeAt(at)
      const known = childOf(tree, node, character)
      if (known === NONE) {
        if (tree.character[node] === NONE) {
          tree.character[node] = character
          tree.child[node] = nodes
        } else tree.children.set(node * UNITS + character, nodes)
        if (node === START && character < LATIN) tree.first[character] = nodes
        parents[nodes] = node
        labels[nodes] = character
        ;(depths[at] ??= []).push(nodes)
      }
      node = known === NONE ? nodes++ : known
    }
    tree.ending[node] = text.length
  }
  for (const [at, level] of depths.entries()) {
    for (const node of level) {
      const fallback = at === 0 ? START : step(tree, tree.fallback[parents[node] ?? 0] ?? 0, labels[node] ?? 0)
      tree.fallback[node] = fallback
      if (tree.ending[node] === 0) tree.ending[node] = tree.ending[fallback] ?? 0
      tree.begun[node] = tree.character[node] === NONE ? (tree.begun[fallback] ?? 0) : at + 1
    }
  }
  return tree
}

const childOf = ({ first, character, child, children }: Search, node: number, wanted: number): number => {
  if (node === START && wanted < LATIN) return first[wanted] ?? NONE
  const one = character[node]
  if (one === wanted) return child[node] ?? NONE
  return one === NONE || children.size === 0 ? NONE : (children.get(node * UNITS + wanted) ?? NONE)
}

const step = (search: Search, from: number, character: number): number => {
  let node = from
  for (;;) {
    const next = childOf(search, node, character)
    if (next !== NONE) return next
    if (node === START) return START
    node = search.fallback[node] ?? START
  }
}

/** The matches, with overlaps merged, and the state after the input. */
export interface Matches {
  readonly ranges: ReadonlyArray<Range>
  readonly node: number
}

/**
 * Continues the search from `node`; the first character has index `at`. `before`: earlier ranges in order. Includes matches that
 * started before `at`.
 */
export const find = (
  search: Search,
  within: string,
  node: number = START,
  at = 0,
  before: ReadonlyArray<Range> = []
): Matches => {
  const ranges = [...before]
  const { ending } = search
  const nextBegin = beginsIn(search, within)
  let current = node
  for (let index = 0; index < within.length; index++) {
    if (current === START) index = nextBegin(index)
    current = step(search, current, within.charCodeAt(index))
    const length = ending[current] ?? 0
    if (length > 0) add(ranges, at + index + 1 - length, at + index + 1)
  }
  return { ranges, node: current }
}

/** Returns the next index where a match may start: at a head, or where less than a whole head is left. */
const beginsIn = ({ heads }: Search, within: string): ((from: number) => number) => {
  const last = Math.max(0, within.length - HEAD + 1)
  if (heads.length === 0) return (from) => from
  const next = heads.map(() => -1)
  return (from) => {
    let nearest = Math.max(from, last)
    for (const [number, head] of heads.entries()) {
      let place = next[number] ?? -1
      if (place < from) {
        place = within.indexOf(head, from)
        if (place === -1) place = Number.POSITIVE_INFINITY
        next[number] = place
      }
      if (place < nearest) nearest = place
    }
    return nearest
  }
}

/** Inserts a range and merges overlaps; ranges stay ordered by their end. */
const add = (ranges: Array<Range>, from: number, to: number): void => {
  let begin = from
  for (let last = ranges.at(-1); last !== undefined && last.to > begin; last = ranges.at(-1)) {
    begin = Math.min(begin, last.from)
    ranges.pop()
  }
  ranges.push({ from: begin, to })
}

export const isIn = (search: Search, within: string): boolean => {
  const nextBegin = beginsIn(search, within)
  let node = START
  for (let index = 0; index < within.length; index++) {
    if (node === START) index = nextBegin(index)
    node = step(search, node, within.charCodeAt(index))
    if ((search.ending[node] ?? 0) > 0) return true
  }
  return false
}

/** How many characters at the end may be the start of a match. */
export const begunAt = ({ begun }: Search, node: number): number => begun[node] ?? 0

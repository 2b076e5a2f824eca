/**
 * Finding many texts at once (Aho and Corasick): in time linear in what is searched, however long, many or repetitive the
 * texts are.
 *
 * @since 0.1.0
 */

/** A part of what is searched: from a character up to, and without, another. */
export interface Span {
  readonly from: number
  readonly to: number
}

/**
 * The texts as a tree of their beginnings. Nodes are numbers, the root is 0; `first`: its children by their characters, as far as
 * these are Latin; `heads`: what the texts begin with, unless there are many. Of each node: the character and the node of its
 * first child (others are in `children`); the node of the longest end of it that is a beginning, too (`fallback`); the
 * longest text that ends there (`ending`); how much of what was read may be the beginning of a longer one (`begun`).
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

/** Nothing was read yet. */
export const START = 0

const NONE = -1

/** Characters are UTF-16 units. */
const UNITS = 65_536
const LATIN = 256

/** So many characters are looked for in a quicker way where nothing has begun, and so many of such heads at most. */
const HEAD = 16
const MAX_HEADS = 16

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/** A search for these texts, none of which is empty. */
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
  const characters = new Int32Array(size)
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
        characters[nodes] = character
        ;(depths[at] ??= []).push(nodes)
      }
      node = known === NONE ? nodes++ : known
    }
    tree.ending[node] = text.length
  }
  for (const [at, level] of depths.entries()) {
    for (const node of level) {
      const fallback = at === 0 ? START : step(tree, tree.fallback[parents[node] ?? 0] ?? 0, characters[node] ?? 0)
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

/** The node after one more character. */
const step = (search: Search, from: number, character: number): number => {
  let node = from
  for (;;) {
    const next = childOf(search, node, character)
    if (next !== NONE) return next
    if (node === START) return START
    node = search.fallback[node] ?? START
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// destructors
// ---------------------------------------------------------------------------------------------------------------------

/** Where the texts are, those that overlap as one, and the node at the end. */
export interface Found {
  readonly spans: ReadonlyArray<Span>
  readonly node: number
}

/**
 * Searches what follows what led to `node`; its first character is number `at`. `before`: the spans that are known already, in
 * order. What begins before the first character is found, too.
 */
export const find = (
  search: Search,
  within: string,
  node: number = START,
  at = 0,
  before: ReadonlyArray<Span> = []
): Found => {
  const spans = [...before]
  const { ending } = search
  const nextBegin = beginsIn(search, within)
  let current = node
  for (let index = 0; index < within.length; index++) {
    if (current === START) index = nextBegin(index)
    current = step(search, current, within.charCodeAt(index))
    const length = ending[current] ?? 0
    if (length > 0) add(spans, at + index + 1 - length, at + index + 1)
  }
  return { spans, node: current }
}

/** The next place, from one on, where a text may begin: at one of the heads, or where no whole head is left. */
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

/** The last to end comes last, wherever it begins. */
const add = (spans: Array<Span>, from: number, to: number): void => {
  let begin = from
  for (let last = spans.at(-1); last !== undefined && last.to > begin; last = spans.at(-1)) {
    begin = Math.min(begin, last.from)
    spans.pop()
  }
  spans.push({ from: begin, to })
}

/** Whether one of the texts is there. */
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

/** How many characters at the end may be the begin of one of the texts. */
export const begunAt = ({ begun }: Search, node: number): number => begun[node] ?? 0

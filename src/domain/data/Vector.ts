/**
 * A persistent array with O(log32 n) append: a bit-partitioned trie with a tail, after Clojure's vector (P. Bagwell, "Ideal Hash Trees"; R.
 * Hickey).
 */

const BITS = 5
const WIDTH = 1 << BITS
const MASK = WIDTH - 1

type Node<A> = ReadonlyArray<A> | ReadonlyArray<Node<A>>

/** An immutable array with fast {@link append} and {@link at}. */
export interface Vector<A> extends Iterable<A> {
  readonly length: number
  /**
   * The bits of an index below those that choose a child of the root.
   *
   * @internal
   */
  readonly shift: number
  /** @internal */
  readonly root: Node<A>
  /**
   * The last elements. Later versions share the array, so it may have more of them.
   *
   * @internal
   */
  readonly tail: Array<A>
}

/** Iterates by hand: engines cannot elide the result objects of a generator. */
function walk<A>(this: Vector<A>): Iterator<A> {
  let [at, leaf]: [number, ReadonlyArray<A>] = [0, []]
  return {
    next: () => {
      if (at >= this.length) return END
      const slot = at & MASK
      if (slot === 0) leaf = leafFor(this, at)
      at += 1
      return { done: false, value: leaf[slot] as A }
    }
  }
}

const END = { done: true, value: undefined } as const

const make = <A>(length: number, shift: number, root: Node<A>, tail: Array<A>): Vector<A> => ({
  length,
  shift,
  root,
  tail,
  [Symbol.iterator]: walk
})

export const empty: Vector<never> = make<never>(0, BITS, [], [])

/** Builds a vector in linear time. */
export const from = <A>(items: Iterable<A>): Vector<A> => {
  const all = Array.isArray(items) ? (items as ReadonlyArray<A>) : [...items]
  if (all.length <= WIDTH) return make(all.length, BITS, [], all.slice())
  const inTail = ((all.length - 1) & MASK) + 1
  const tail = all.slice(all.length - inTail)
  let shift = BITS
  let nodes: ReadonlyArray<Node<A>> = chunks(all, all.length - inTail)
  for (; nodes.length > WIDTH; shift += BITS) nodes = chunks(nodes, nodes.length)
  return make(all.length, shift, nodes as Node<A>, tail)
}

const chunks = <A>(all: ReadonlyArray<A>, length: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(length / WIDTH) }, (_, n) => all.slice(n * WIDTH, Math.min(length, (n + 1) * WIDTH)))

/** Returns the vector with one more element. O(log32 n). */
export const append = <A>(self: Vector<A>, item: A): Vector<A> => {
  const { length, shift, root, tail } = self
  const inTail = tailLength(self)
  if (inTail === WIDTH) return withLeaf(make(length - WIDTH, shift, root, []), tail, [item])
  // Most vectors have one element, and pushing it would reserve space for 17.
  if (inTail === 0) return make(length + 1, shift, root, [item])
  // Another version may have appended there.
  const grown = tail.length === inTail ? tail : tail.slice(0, inTail)
  grown.push(item)
  return make(length + 1, shift, root, grown)
}

const tailLength = ({ length }: Vector<unknown>): number => (length === 0 ? 0 : ((length - 1) & MASK) + 1)

/** Adds a full leaf to a vector without tail, and sets a new tail. */
const withLeaf = <A>(trie: Vector<A>, leaf: ReadonlyArray<A>, tail: Array<A>): Vector<A> => {
  const { length, shift, root } = trie
  const grown = length + WIDTH + tail.length
  return length >>> BITS >= 1 << shift
    ? make(grown, shift + BITS, [root, branch(shift, leaf)] as Node<A>, tail)
    : make(grown, shift, pushLeaf(length, shift, root, leaf), tail)
}

/** Returns a branch with only this leaf. */
const branch = <A>(level: number, leaf: ReadonlyArray<A>): Node<A> =>
  level === 0 ? leaf : [branch(level - BITS, leaf)]

/** Returns a node with one more leaf, whose first element has this index. */
const pushLeaf = <A>(index: number, level: number, node: Node<A>, leaf: ReadonlyArray<A>): Node<A> => {
  const slot = (index >>> level) & MASK
  const copy = [...node] as Array<Node<A>>
  const child = copy[slot]
  if (level === BITS) copy[slot] = leaf
  else copy[slot] = child === undefined ? branch(level - BITS, leaf) : pushLeaf(index, level - BITS, child, leaf)
  return copy
}

/** Copies a vector in one pass. */
export const toArray = <A>(self: Vector<A>): Array<A> => {
  const { shift, root, tail } = self
  return ((root as ReadonlyArray<unknown>).flat(shift / BITS) as Array<A>).concat(tail.slice(0, tailLength(self)))
}

/** Returns the vector with one element replaced; the same vector if the index is out of range. O(log32 n). */
export const set = <A>(self: Vector<A>, index: number, item: A): Vector<A> => {
  const { length, shift, root, tail } = self
  if (!(index >= 0 && index < length)) return self
  const inTail = tailLength(self)
  return index >= length - inTail
    ? make(length, shift, root, tail.slice(0, inTail).with(index & MASK, item))
    : make(length, shift, replaced(index, shift, root, item), tail)
}

const replaced = <A>(index: number, level: number, node: Node<A>, item: A): Node<A> => {
  if (level === 0) return (node as ReadonlyArray<A>).with(index & MASK, item)
  const slot = (index >>> level) & MASK
  const child = (node as ReadonlyArray<Node<A>>)[slot] as Node<A>
  return (node as ReadonlyArray<Node<A>>).with(slot, replaced(index, level - BITS, child, item))
}

/** Returns the element at a 0-based index, or `undefined` if out of range. O(log32 n). */
export const at = <A>(self: Vector<A>, index: number): A | undefined =>
  index >= 0 && index < self.length ? leafFor(self, index)[index & MASK] : undefined

const leafFor = <A>(self: Vector<A>, index: number): ReadonlyArray<A> => {
  if (index >= self.length - tailLength(self)) return self.tail
  let node: Node<A> = self.root
  for (let level = self.shift; level > 0; level -= BITS) node = node[(index >>> level) & MASK] as Node<A>
  return node as ReadonlyArray<A>
}

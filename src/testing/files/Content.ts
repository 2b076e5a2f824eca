/**
 * What a file has in it, and what a power cut may leave of that.
 *
 * A disk writes a sector of 512 bytes whole or not at all, and nobody says in which order. So each sector by itself may be
 * as it is now, or as it was at any time since it was last made durable; and so may the length of the file. Bytes that
 * never got there are zeros. The system writes in pages of 4096 bytes: a sync writes those that were written to since the
 * last one, also if that one failed. That is why a sync that goes well says nothing of what an earlier one has lost.
 *
 * @since 0.1.0
 */

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * What a disk writes whole or not at all.
 *
 * @category model
 * @since 0.1.0
 */
export const SECTOR_BYTES = 512

/**
 * What the system writes at a time.
 *
 * @category model
 * @since 0.1.0
 */
export const PAGE_BYTES = 4096

/**
 * The content of a file.
 *
 * - `bytes`: what it has; all behind them, up to `size`, are zeros.
 * - `sectors`: for a sector that is not durable, what else a power cut may leave there, oldest first.
 * - `sizes`: the lengths that a power cut may leave, besides `size`.
 * - `dirty`: the pages that the next sync writes. `sizeIsDirty`: whether it writes the length.
 *
 * @category model
 * @since 0.1.0
 */
export interface Content {
  bytes: Uint8Array
  size: number
  sectors: Map<number, Array<Uint8Array>>
  sizes: Array<number>
  dirty: Set<number>
  sizeIsDirty: boolean
}

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A durable content.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (bytes: Uint8Array, size: number): Content => ({
  bytes,
  size,
  sectors: new Map(),
  sizes: [],
  dirty: new Set(),
  sizeIsDirty: false
})

/**
 * What a power cut leaves when it leaves these versions: for some sectors and for the length.
 *
 * @category constructors
 * @since 0.1.0
 */
export const left = (self: Content, sectors: ReadonlyMap<number, Uint8Array>, size: number): Content => {
  const bytes = self.bytes.slice()
  for (const [sector, version] of sectors)
    bytes.set(version.subarray(0, bytes.length - sector * SECTOR_BYTES), sector * SECTOR_BYTES)
  return make(size < bytes.length ? padded(bytes.subarray(0, size)) : bytes, size)
}

// ---------------------------------------------------------------------------------------------------------------------
// destructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Reads into a buffer; how many bytes it were.
 *
 * @category destructors
 * @since 0.1.0
 */
export const read = (self: Content, into: Uint8Array, position: number): number => {
  const count = Math.max(0, Math.min(into.length, self.size - position))
  const there = self.bytes.subarray(position, position + count)
  into.fill(0, 0, count)
  into.set(there)
  return count
}

/**
 * The bytes of a content without the zeros at their end.
 *
 * @category destructors
 * @since 0.1.0
 */
export const written = ({ bytes }: Content): Uint8Array => {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  return bytes.subarray(0, end)
}

// ---------------------------------------------------------------------------------------------------------------------
// combinators
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Writes bytes, which are not durable then.
 *
 * @category combinators
 * @since 0.1.0
 */
export const write = (self: Content, position: number, bytes: Uint8Array): void => {
  const end = position + bytes.length
  change(
    self,
    position,
    end,
    (all) => all.set(bytes, position),
    bytes.every((byte) => byte === 0)
  )
  if (end > self.size) resizeTo(self, end)
}

/**
 * Makes a content so long. What is cut off is gone; what is new are zeros.
 *
 * @category combinators
 * @since 0.1.0
 */
export const resize = (self: Content, length: number): void => {
  const end = self.bytes.length
  if (length < end) change(self, length, end, (all) => all.fill(0, length), true)
  if (length !== self.size) resizeTo(self, length)
}

/**
 * Makes durable what was written since the last sync, also if that failed.
 *
 * @category combinators
 * @since 0.1.0
 */
export const sync = (self: Content): void => {
  for (const sector of [...self.sectors.keys()]) {
    if (self.dirty.has(pageOf(sector))) self.sectors.delete(sector)
  }
  if (self.sizeIsDirty) self.sizes = []
  failSync(self)
}

/**
 * What a sync does that fails: nothing became durable for sure, and yet the next one finds nothing to write.
 *
 * @category combinators
 * @since 0.1.0
 */
export const failSync = (self: Content): void => {
  self.dirty.clear()
  self.sizeIsDirty = false
}

const pageOf = (sector: number): number => Math.floor((sector * SECTOR_BYTES) / PAGE_BYTES)

const resizeTo = (self: Content, size: number): void => {
  if (!self.sizes.includes(self.size)) self.sizes.push(self.size)
  self.size = size
  self.sizeIsDirty = true
}

/** Changes bytes between two positions. Zeros behind all others need no room. */
const change = (self: Content, from: number, to: number, make: (all: Uint8Array) => void, isZero: boolean): void => {
  if (from === to) return
  for (let page = Math.floor(from / PAGE_BYTES); page * PAGE_BYTES < to; page++) self.dirty.add(page)
  if (isZero && from >= self.bytes.length) return
  const before = self.bytes
  const needed = Math.max(before.length, sectorsEnd(to))
  const after = new Uint8Array(needed)
  after.set(before)
  make(after)
  self.bytes = after
  const none = new Uint8Array(SECTOR_BYTES)
  for (let sector = Math.floor(from / SECTOR_BYTES); sector * SECTOR_BYTES < to; sector++) {
    const begin = sector * SECTOR_BYTES
    const old = begin < before.length ? before.slice(begin, begin + SECTOR_BYTES) : none
    if (equal(old, after.subarray(begin, begin + SECTOR_BYTES))) continue
    const versions = self.sectors.get(sector) ?? []
    if (!versions.some((version) => equal(version, old))) versions.push(old)
    self.sectors.set(sector, versions)
  }
}

const sectorsEnd = (position: number): number => Math.ceil(position / SECTOR_BYTES) * SECTOR_BYTES

const padded = (bytes: Uint8Array): Uint8Array => {
  const whole = new Uint8Array(sectorsEnd(bytes.length))
  whole.set(bytes)
  return whole
}

const equal = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, at) => byte === b[at])

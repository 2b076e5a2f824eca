/**
 * The content of a file, and what a power cut may leave of it. A disk writes a sector of 512 bytes completely or not at all, in
 * any order. So each sector independently has its current content or any one since it was last durable; the same holds for the
 * length of the file. Bytes that were never written are zeros. The system writes pages of 4096 bytes: a sync writes the pages
 * changed since the last sync, even if that one failed, so a successful sync proves nothing about what an earlier one has lost.
 */

/** The unit that a disk writes completely or not at all. */
export const SECTOR_BYTES = 512

/** The unit that the system writes. */
export const PAGE_BYTES = 4096

/**
 * The content of a file. `bytes`: its bytes; all behind them, up to `size`, are zeros. `sectors`: for a sector that is not
 * durable, the other versions that a power cut may leave, oldest first. `sizes`: the lengths that a power cut may leave besides
 * `size`. `dirty`: the pages that the next sync writes; `dirtySize`: whether it writes the length. Times count the operations of
 * the volume. A sync covers what was written before it began.
 */
export interface Content {
  bytes: Uint8Array
  size: number
  sectors: Map<number, ReadonlyArray<Version<Uint8Array>>>
  sizes: ReadonlyArray<Version<number>>
  dirty: Map<number, Dirt>
  dirtySize: Dirt | undefined
}

/** An older version of a sector. */
export interface Version<A> {
  readonly value: A
  readonly until: number
}

/** The first and last write since the content was last durable. */
interface Dirt {
  readonly first: number
  readonly last: number
}

/** A durable content. */
export const make = (bytes: Uint8Array, size: number): Content => ({
  bytes,
  size,
  sectors: new Map(),
  sizes: [],
  dirty: new Map(),
  dirtySize: undefined
})

/** The content after a power cut that leaves these versions of sectors and length. */
export const left = (self: Content, sectors: ReadonlyMap<number, Uint8Array>, size: number): Content => {
  const bytes = self.bytes.slice()
  for (const [sector, version] of sectors)
    bytes.set(version.subarray(0, bytes.length - sector * SECTOR_BYTES), sector * SECTOR_BYTES)
  return make(size < bytes.length ? padded(bytes.subarray(0, size)) : bytes, size)
}

/** Reads into a buffer and returns the number of bytes. */
export const read = (self: Content, into: Uint8Array, position: number): number => {
  const count = Math.max(0, Math.min(into.length, self.size - position))
  const there = self.bytes.subarray(position, position + count)
  into.fill(0, 0, count)
  into.set(there)
  return count
}

/** The bytes of a content without the zeros at their end. */
export const written = ({ bytes }: Content): Uint8Array => {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  return bytes.subarray(0, end)
}

/** Writes bytes, which are not durable yet. */
export const write = (self: Content, position: number, bytes: Uint8Array, now: number): void => {
  const end = position + bytes.length
  const isZero = bytes.every((byte) => byte === 0)
  change(self, { from: position, to: end, isZero, now }, (all) => all.set(bytes, position))
  if (end > self.size) resizeTo(self, end, now)
}

/** Sets the length of a content. Drops the bytes behind it; new bytes are zeros. */
export const resize = (self: Content, length: number, now: number): void => {
  const end = self.bytes.length
  if (length < end) change(self, { from: length, to: end, isZero: true, now }, (all) => all.fill(0, length))
  if (length !== self.size) resizeTo(self, length, now)
}

/** Makes durable what was written until then and since the last sync, even if that failed. */
export const sync = (self: Content, until: number): void => {
  for (const [sector, versions] of [...self.sectors]) {
    if (!isCovered(self.dirty.get(pageOf(sector)), until)) continue
    const rest = versions.filter((version) => version.until > until)
    if (rest.length > 0) self.sectors.set(sector, rest)
    else self.sectors.delete(sector)
  }
  if (isCovered(self.dirtySize, until)) self.sizes = self.sizes.filter((version) => version.until > until)
  failSync(self, until)
}

/** The effect of a failed sync: nothing is certainly durable, and yet the next sync finds nothing to write. */
export const failSync = (self: Content, until: number): void => {
  for (const [page, dirt] of [...self.dirty]) {
    const rest = cleaned(dirt, until)
    if (rest === undefined) self.dirty.delete(page)
    else self.dirty.set(page, rest)
  }
  self.dirtySize = cleaned(self.dirtySize, until)
}

const isCovered = (dirt: Dirt | undefined, until: number): boolean => dirt !== undefined && dirt.first <= until

const cleaned = (dirt: Dirt | undefined, until: number): Dirt | undefined =>
  dirt === undefined || dirt.last <= until ? undefined : { first: Math.max(dirt.first, until + 1), last: dirt.last }

const dirtied = (dirt: Dirt | undefined, now: number): Dirt => ({ first: dirt?.first ?? now, last: now })

const pageOf = (sector: number): number => Math.floor((sector * SECTOR_BYTES) / PAGE_BYTES)

const resizeTo = (self: Content, size: number, now: number): void => {
  const others = self.sizes.filter(({ value }) => value !== self.size && value !== size)
  const same = self.sizes.filter(({ value }) => value === size)
  self.sizes = [...others, ...same, { value: self.size, until: now }]
  self.size = size
  self.dirtySize = dirtied(self.dirtySize, now)
}

interface Range {
  readonly from: number
  readonly to: number
  readonly isZero: boolean
  readonly now: number
}

/** Changes bytes between two positions. Trailing zeros need no memory. */
const change = (self: Content, { from, to, isZero, now }: Range, make: (all: Uint8Array) => void): void => {
  if (from === to) return
  for (let page = Math.floor(from / PAGE_BYTES); page * PAGE_BYTES < to; page++) {
    self.dirty.set(page, dirtied(self.dirty.get(page), now))
  }
  const before = self.bytes
  if (isZero && from >= before.length) return
  const after = new Uint8Array(Math.max(before.length, sectorsEnd(to)))
  after.set(before)
  make(after)
  self.bytes = after
  for (let sector = Math.floor(from / SECTOR_BYTES); sector * SECTOR_BYTES < to; sector++) {
    const begin = sector * SECTOR_BYTES
    const old = begin < before.length ? before.slice(begin, begin + SECTOR_BYTES) : new Uint8Array(SECTOR_BYTES)
    if (equal(old, after.subarray(begin, begin + SECTOR_BYTES))) continue
    const others = (self.sectors.get(sector) ?? []).filter(({ value }) => !equal(value, old))
    self.sectors.set(sector, [...others, { value: old, until: now }])
  }
}

const sectorsEnd = (position: number): number => Math.ceil(position / SECTOR_BYTES) * SECTOR_BYTES

const padded = (bytes: Uint8Array): Uint8Array => {
  const whole = new Uint8Array(sectorsEnd(bytes.length))
  whole.set(bytes)
  return whole
}

const equal = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, at) => byte === b[at])

/** Repeatable random numbers. */

/** A whole number from 0 to below a bound. */
export type Chance = (below: number) => number

/** The same numbers for the same seed, on every machine (mulberry32, by Tommy Ettinger). */
export const chance = (seed: number): Chance => {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below)
  }
}

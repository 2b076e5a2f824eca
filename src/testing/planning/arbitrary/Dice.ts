/** Chance as data, so that what it decides can be repeated and shrunk. */
import * as fc from 'fast-check'

/** Chance as data. Once the numbers are used up every roll is 0: the outcome without trouble. */
export interface Dice {
  /** A number from 0 to below `sides`. */
  readonly roll: (sides: number) => number
}

/** Dice that show these numbers, one after the other, and then 0. */
export const diceOf = (numbers: ReadonlyArray<number>): Dice => {
  let next = 0
  return { roll: (sides) => (numbers[next++] ?? 0) % sides }
}

/** The end that all goes well. */
export const noTrouble: Dice = diceOf([])

/** One of these. */
export const pick = <A>(dice: Dice, all: ReadonlyArray<A>): A => all[dice.roll(all.length)] as A

/** Numbers to roll with, often as many as it takes to the end. They shrink towards an execution without trouble. */
export const numbers: fc.Arbitrary<ReadonlyArray<number>> = fc.noBias(
  // Without a size and with a bias hardly any has more than ten, and most of those show nothing but small numbers.
  fc.array(fc.nat({ max: 0xffff }), { maxLength: 100, size: 'max' })
)

/** Chance as data, so that what it decides can be repeated and shrunk. */
import * as fc from 'fast-check'

/** Chance as data. Once the numbers are used up every below is 0: the outcome without trouble. */
export interface Choices {
  /** A number from 0 to below `bound`. */
  readonly below: (bound: number) => number
}

/** Choices that show these numbers, one after the other, and then 0. */
export const choicesOf = (numbers: ReadonlyArray<number>): Choices => {
  let next = 0
  return { below: (bound) => (numbers[next++] ?? 0) % bound }
}

/** The end that all goes well. */
export const noFaults: Choices = choicesOf([])

/** One of these. */
export const pick = <A>(choices: Choices, all: ReadonlyArray<A>): A => all[choices.below(all.length)] as A

/** Numbers to below with, often as many as it takes to the end. They shrink towards an execution without trouble. */
export const numbers: fc.Arbitrary<ReadonlyArray<number>> = fc.noBias(
  // Without a size and with a bias hardly any has more than ten, and most of those show nothing but small numbers.
  fc.array(fc.nat({ max: 0xffff }), { maxLength: 100, size: 'max' })
)

/** Makes random choices from an array of numbers, so that a run can be repeated and shrunk. */
import * as fc from 'fast-check'

/** Once the numbers are used up, every choice is 0: the outcome without faults. */
export interface Choices {
  /** An integer from 0 to below `bound`. */
  readonly below: (bound: number) => number
}

export const choicesOf = (numbers: ReadonlyArray<number>): Choices => {
  let next = 0
  return { below: (bound) => (numbers[next++] ?? 0) % bound }
}

export const noFaults: Choices = choicesOf([])

export const pick = <A>(choices: Choices, all: ReadonlyArray<A>): A => all[choices.below(all.length)] as A

/** Arbitrary numbers, enough for most runs. They shrink towards a run without faults. */
export const numbers: fc.Arbitrary<ReadonlyArray<number>> = fc.noBias(
  // With the default size and bias, most arrays would have fewer than ten numbers, nearly all of them small.
  fc.array(fc.nat({ max: 0xffff }), { maxLength: 150, size: 'max' })
)

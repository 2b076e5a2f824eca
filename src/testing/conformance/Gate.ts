/**
 * Holds calls until a test lets them go on.
 *
 * @since 0.1.0
 */
import type { Stalling } from './Spec.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * A gate: `pass` resolves at once while it is open, and else when the test lets that call go on. The other functions are
 * those of {@link Stalling}.
 *
 * @category model
 * @since 0.1.0
 */
export interface Gate extends Omit<Stalling, 'storage'> {
  /** Await it before each call to what is below the store. */
  readonly pass: () => Promise<void>
  readonly hold: () => void
  readonly held: () => number
  readonly step: () => void
  readonly letGo: () => void
}

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * An open gate. Await its `pass` before each call to what is below a store, and the store can be stalled.
 *
 * @example
 * import { stallGate } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const gate = stallGate()
 * const rows: Array<string> = []
 * const insert = async (row: string) => {
 *   await gate.pass()
 *   rows.push(row)
 * }
 *
 * gate.hold()
 * const inserted = insert('a')
 * assert.deepEqual([gate.held(), rows], [1, []])
 * gate.letGo()
 * await inserted
 * assert.deepEqual(rows, ['a'])
 *
 * @category constructors
 * @since 0.1.0
 */
export const stallGate = (): Gate => {
  const waiting: Array<() => void> = []
  let isOpen = true
  return {
    pass: () => (isOpen ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    hold: () => {
      isOpen = false
    },
    held: () => waiting.length,
    step: () => waiting.shift()?.(),
    letGo: () => {
      isOpen = true
      for (const go of waiting.splice(0)) go()
    }
  }
}

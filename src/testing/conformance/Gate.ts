/** Holds calls until a test releases them. */
import type { Stalling } from './Spec.js'

/**
 * A gate for store calls. `pass` resolves at once while the gate is open, else when the test releases the call. The
 * other functions are those of {@link Stalling}.
 *
 * @category model
 */
export interface Gate extends Omit<Stalling, 'storage'> {
  /** Await this before each call to the storage below the store. */
  readonly pass: () => Promise<void>
  readonly hold: () => void
  readonly held: () => number
  readonly step: () => void
  readonly letGo: () => void
}

/**
 * Creates an open gate. Await its `pass` before each call to the storage below a store, so that tests can stall the store.
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

/**
 * The limit: what the disk itself takes for one durable append of 200 bytes, written with nothing in between.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const LINE = Buffer.from(`${'x'.repeat(199)}\n`)

/** Durable appends to a file in a folder, timed: `append` does so many and adds to `millis` and `count`. */
export interface Limit {
  readonly append: (times: number) => void
  readonly millis: () => number
  readonly count: () => number
  readonly close: () => void
}

export const makeLimit = (folder: string): Limit => {
  const fd = openSync(join(folder, 'limit'), 'a', 0o600)
  let millis = 0
  let count = 0
  return {
    append: (times) => {
      const start = performance.now()
      for (let n = 0; n < times; n++) {
        writeSync(fd, LINE)
        fdatasyncSync(fd)
      }
      millis += performance.now() - start
      count += times
    },
    millis: () => millis,
    count: () => count,
    close: () => closeSync(fd)
  }
}

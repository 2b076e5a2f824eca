/** The limit: the disk's rate of durable appends of 200 bytes with no other writes. */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const LINE = Buffer.from(`${'x'.repeat(199)}\n`)

/** Times durable appends to a file in a folder; `append` does this many and adds to `millis` and `count`. */
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

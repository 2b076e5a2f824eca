/** Prefixes each line of a group's output with its name. */

/** Longer lines are split. */
const MAX_LINE_BYTES = 65_536

export interface Prefixed {
  readonly add: (chunk: Uint8Array) => void
  /** Passes on an unfinished line. */
  readonly flush: () => void
}

export const make = (prefix: string, pass: (line: Uint8Array) => void): Prefixed => {
  let rest: Uint8Array = new Uint8Array()
  const emit = (line: Uint8Array): void => pass(Buffer.concat([Buffer.from(prefix), line, Buffer.from('\n')]))
  const flush = (): void => {
    if (rest.length > 0) emit(rest)
    rest = new Uint8Array()
  }
  return {
    add: (chunk) => {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      let from = 0
      for (let end = bytes.indexOf(0x0a); end !== -1; end = bytes.indexOf(0x0a, from)) {
        emit(bytes.subarray(from, end))
        from = end + 1
      }
      rest = bytes.slice(from)
      if (rest.length > MAX_LINE_BYTES) flush()
    },
    flush
  }
}

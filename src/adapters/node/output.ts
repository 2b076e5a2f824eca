/** Keeps the first or last bytes of a command's output, without cutting a character. */

export interface OutputBuffer {
  readonly add: (chunk: Uint8Array) => void
  readonly text: () => string
  /** The number of bytes that were dropped. */
  readonly truncatedBytes: () => number
}

export const keepHead = (limitBytes: number): OutputBuffer => {
  const chunks: Array<Uint8Array> = []
  let kept = 0
  let total = 0
  const head = (): Buffer => {
    const bytes = Buffer.concat(chunks)
    return total > kept ? bytes.subarray(0, endOfWhole(bytes)) : bytes
  }
  return {
    add: (chunk) => {
      total += chunk.length
      const part = chunk.subarray(0, limitBytes - kept)
      if (part.length > 0) chunks.push(part)
      kept += part.length
    },
    text: () => head().toString('utf8'),
    truncatedBytes: () => total - head().length
  }
}

export const keepTail = (limitBytes: number): OutputBuffer => {
  let tail: Buffer = Buffer.alloc(0)
  let total = 0
  const whole = (): Buffer => (total > tail.length ? tail.subarray(startOfWhole(tail)) : tail)
  return {
    add: (chunk) => {
      total += chunk.length
      tail = Buffer.concat([tail, chunk.subarray(-limitBytes)]).subarray(-limitBytes)
    },
    text: () => whole().toString('utf8'),
    truncatedBytes: () => total - whole().length
  }
}

// A character in UTF-8 is one byte below 0x80, or a lead byte from 0xC0 and one to three bytes from 0x80 to 0xBF.

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x80 && byte < 0xc0

const lengthFrom = (lead: number): number => (lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1)

/** The end of the bytes without an unfinished last character. */
const endOfWhole = (bytes: Uint8Array): number => {
  let lead = bytes.length - 1
  while (lead > bytes.length - 4 && isContinuation(bytes[lead])) lead--
  const first = bytes[lead]
  return first !== undefined && lead + lengthFrom(first) > bytes.length ? lead : bytes.length
}

/** The start of the bytes without the rest of a cut first character. */
const startOfWhole = (bytes: Uint8Array): number => {
  let start = 0
  while (start < 3 && isContinuation(bytes[start])) start++
  return start
}

/** Checks that a stream of bytes is UTF-8. */

/** `end` returns whether all bytes together were UTF-8. */
export interface Utf8 {
  readonly add: (chunk: Uint8Array) => void
  readonly end: () => boolean
}

/** Keeps only the bytes of an unfinished character. */
export const make = (): Utf8 => {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let valid = true
  const look = (chunk: Uint8Array, stream: boolean): void => {
    try {
      if (valid) decoder.decode(chunk, { stream })
    } catch {
      valid = false
    }
  }
  return {
    add: (chunk) => look(chunk, true),
    end: () => {
      look(new Uint8Array(), false)
      return valid
    }
  }
}

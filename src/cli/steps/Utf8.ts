/** Whether bytes are text, as they come. */

/** Takes bytes piece by piece. `end` tells whether all of them together were UTF-8. */
export interface Utf8 {
  readonly add: (chunk: Uint8Array) => void
  readonly end: () => boolean
}

/** Looks at bytes, and keeps none but those of a character that is not finished. */
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

/** Quotes commands for a shell. */

import { printable } from './printable.js'

/** For a POSIX shell; escapes characters that could control a terminal. */
export const commandOf = (words: ReadonlyArray<string>): string => words.map(quoted).join(' ')

const quoted = (word: string): string => {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word)) return word
  return printable(word) === word ? `'${word.replaceAll("'", `'\\''`)}'` : encoded(word)
}

/** Writes unprintable characters in octal. A substitution drops trailing newlines; `$'…'` of newer shells does not. */
const encoded = (word: string): string => {
  const bytes = Array.from(Buffer.from(word), (byte, index) => {
    const character = String.fromCharCode(byte)
    const isPlain = /[A-Za-z0-9_@+=:,. /]/.test(character) || (character === '-' && index > 0)
    return isPlain ? character : `\\${byte.toString(8).padStart(3, '0')}`
  }).join('')
  return word.endsWith('\n') ? `$'${bytes}'` : `"$(printf '${bytes}')"`
}

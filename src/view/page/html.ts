/** Escapes text and data for HTML. */
import { printable } from '../../domain/explain/printable.js'

const SPECIAL = /[&<>"']/g

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;'
}

/** Escapes text for an element or a quoted attribute. Control characters and bidirectional marks become visible. */
export const escaped = (text: string): string =>
  printable(text).replace(SPECIAL, (character) => ENTITIES[character] ?? character)

/** Escapes a string and keeps its line breaks. */
export const escapedLines = (text: string): string => text.split('\n').map(escaped).join('\n')

/** Encodes a value as JSON for a script element. Escapes `<`, which could end the element. */
export const data = (value: unknown): string => JSON.stringify(value).replaceAll('<', '\\u003c')

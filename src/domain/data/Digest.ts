/** Hashes. The only file of the domain that touches `node:crypto`: a hash is a pure function. */
import { hash } from 'node:crypto'
import type { Json } from './Json.js'
import { canonical } from './Json.js'

/** SHA-256 of bytes, or of a text's UTF-8 bytes, 64 lower-case hex digits. */
export const sha256 = (content: string | Uint8Array): string => hash('sha256', content, 'hex')

/**
 * The fingerprint of a definition: `v1:` and the SHA-256 of its canonical JSON. Two definitions have the same fingerprint exactly if they
 * are the same data, whatever the order of their keys.
 */
export const fingerprint = (definition: Json): string => `v1:${sha256(canonical(definition))}`

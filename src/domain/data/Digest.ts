/** Hashes. Only this module of the domain imports `node:crypto`: a hash is a pure function. */
import { hash } from 'node:crypto'
import type { Json } from './Json.js'
import { canonical } from './Json.js'

/** Returns the SHA-256 of bytes, or of a string as UTF-8, as 64 lower-case hex digits. */
export const sha256 = (content: string | Uint8Array): string => hash('sha256', content, 'hex')

/** Returns the SHA-256 of a string in base64, as a Content-Security-Policy expects it. */
export const sha256Base64 = (content: string): string => hash('sha256', content, 'base64')

/** Returns the fingerprint of a definition: `v1:` and the SHA-256 of its canonical JSON. Key order does not matter. */
export const fingerprint = (definition: Json): string => `v1:${sha256(canonical(definition))}`

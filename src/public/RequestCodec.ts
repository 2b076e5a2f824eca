/**
 * Requests and the pointer of a paused run as JSON.
 *
 * @module
 */
export { describe } from '../domain/data/Malformed.js'
export { decodePointer, decodeRequest, encode } from '../domain/request/RequestCodec.js'

/**
 * Requests and the pointer of a paused run as JSON.
 *
 * @module
 */
export { decodePointer, decodeRequest, describe, encode } from '../domain/request/RequestCodec.js'

/**
 * Checkpoints as JSON.
 *
 * @module
 */
export { describe, restore } from '../domain/change/restore.js'
export { decode, encode } from '../domain/checkpoint/CheckpointCodec.js'

/**
 * Checkpoints as JSON.
 *
 * @module
 */
export { decode, describe, encode, restore } from '../domain/checkpoint/CheckpointCodec.js'

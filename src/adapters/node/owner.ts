/** Identifies this process as the owner of claims. */
import { hostname } from 'node:os'
import type { Owner } from '../../ports/CheckpointStorage.js'

/**
 * The host name and process id of this process. Another process sees them if its claim is refused.
 *
 * @example
 * import { processOwner } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * assert.equal(processOwner().pid, process.pid)
 *
 * @category constructors
 */
export const processOwner = (): Owner => ({ host: hostname(), pid: process.pid })

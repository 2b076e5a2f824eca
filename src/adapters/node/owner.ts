/** This process, as the owner of claims. */
import { hostname } from 'node:os'
import type { Owner } from '../../ports/CheckpointStorage.js'

/**
 * The host's name and this process's id: what another claimant is told of who holds the run.
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

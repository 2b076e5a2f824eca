/** Helpers for tests of claim sockets. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as O from 'fp-ts/lib/Option.js'
import { jsonFileStorage } from '../../../src/adapters/json-file/index.js'
import { nodeProcesses } from '../../../src/adapters/json-file/claim/Processes.js'
import { right, some } from '../../../src/testing/conformance/fixtures.js'
import { placesOf } from './kit.js'

export const LINUX = { skip: process.platform !== 'linux' }

/** A process that sees no other process and no heartbeat, like one in another container; it only knows the socket. */
export const blind = (root: string) =>
  jsonFileStorage(root, {
    processes: { self: () => ({ ...nodeProcesses.self(), start: 'another' }), isAlive: () => undefined },
    heartbeat: { staleMillis: 600_000 }
  })

/** The liveness of a run's owner as such a process sees it. */
export const seen = async (root: string, runId = 'a'): Promise<string> => {
  const { heldBy } = some(await right(blind(root).load(runId)))
  return O.isSome(heldBy) ? heldBy.value.liveness : 'dead'
}

/** The names of the sockets in a run's folder, finished or not. */
export const socketsIn = (root: string, runId = 'a'): ReadonlyArray<string> =>
  readdirSync(placesOf(root, runId).run).filter((name) => name.includes('alive-'))

/** The path of a run's only socket. */
export const socketOf = (root: string, runId = 'a'): string =>
  join(placesOf(root, runId).run, socketsIn(root, runId)[0] ?? assert.fail('no socket'))

/** The record of a run's newest claim. */
export const recordOf = (root: string, runId = 'a') => {
  const { history } = placesOf(root, runId)
  const [line = ''] = readFileSync(join(history, readdirSync(history).sort().at(-1) ?? ''), 'utf8').split('\n')
  return JSON.parse(line) as { readonly token: string; readonly socket?: Record<string, string> }
}

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jsonFileStorage, nodeProcesses } from '../../../src/adapters/json-file/index.js'
import type { Processes } from '../../../src/adapters/json-file/index.js'
import { storageContract } from '../storageContract.js'

/** A process of its own, made up: all those with lower numbers are dead. */
const processNumber = (number: number): Processes => ({
  self: () => ({ ...nodeProcesses.self(), start: String(number) }),
  isAlive: ({ start }) => Number(start) > number
})

storageContract('the JSON file store', async () => {
  const root = await mkdtemp(join(tmpdir(), 'dogear-'))
  let number = 0
  const reopen = () => jsonFileStorage(root, { processes: processNumber(++number) })
  return { storage: reopen(), reopen, dispose: () => rm(root, { recursive: true, maxRetries: 10 }) }
})

// spec.mjs
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileStorage } from './store.mjs'

/** @type {import('dogear/testing').StorageSpec<string>} */
export const spec = {
  name: 'one JSON file',
  create: () => mkdtemp(join(tmpdir(), 'one-file-')),
  reopen: async (folder) => fileStorage(join(folder, 'runs.json')),
  destroy: (folder) => rm(folder, { recursive: true }),
  capabilities: ['history', 'large']
}

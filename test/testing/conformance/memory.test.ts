import { describe, test } from 'vitest'
import type { MemoryData } from '../../../src/adapters/memory.js'
import { memoryData, memoryStorage } from '../../../src/adapters/memory.js'
import type { StorageSpec } from '../../../src/testing/index.js'
import { conformanceTests } from '../../../src/testing/index.js'

const memorySpec: StorageSpec<MemoryData> = {
  name: 'the memory store',
  create: () => Promise.resolve(memoryData()),
  reopen: (data) => Promise.resolve(memoryStorage(data)),
  capabilities: ['history', 'large', 'watch']
}

conformanceTests({ describe, test }, memorySpec)

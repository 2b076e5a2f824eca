/** Both shipped stores of artifacts keep the laws. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as Layout from '../../../../src/adapters/json-file/files/Layout.js'
import { fileArtifacts } from '../../../../src/adapters/json-file/index.js'
import type { MemoryData } from '../../../../src/adapters/memory.js'
import { memoryArtifacts, memoryData } from '../../../../src/adapters/memory.js'
import type { ArtifactSpec } from '../../../../src/testing/index.js'
import { artifactConformanceTests } from '../../../../src/testing/index.js'
import { describe, test } from 'vitest'

const memorySpec: ArtifactSpec<MemoryData> = {
  name: 'the artifact store in memory',
  create: () => Promise.resolve(memoryData()),
  reopen: (data) => Promise.resolve(memoryArtifacts(data)),
  capabilities: ['large']
}

/** Changes the last byte of the file. */
const damage = (root: string, runId: string, id: string): Promise<void> => {
  const path = Layout.artifact(Layout.of(root, runId), id)
  const bytes = readFileSync(path)
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
  writeFileSync(path, bytes)
  return Promise.resolve()
}

const fileSpec: ArtifactSpec<string> = {
  name: 'the artifact store in files',
  create: () => mkdtemp(join(tmpdir(), 'dogear-')),
  reopen: (root) => Promise.resolve(fileArtifacts(root)),
  destroy: (root) => Promise.resolve(rmSync(root, { recursive: true, force: true })),
  damage,
  capabilities: ['large', 'damage']
}

artifactConformanceTests({ describe, test }, memorySpec)
artifactConformanceTests({ describe, test }, fileSpec)

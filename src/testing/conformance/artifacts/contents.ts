/** The contents that artifact cases store, and the checks of what a store returns. */
import { strict as assert } from 'node:assert'
import * as O from 'fp-ts/lib/Option.js'
import { sha256 } from '../../../domain/data/Digest.js'
import type { ArtifactInfo, ArtifactStore } from '../../../ports/ArtifactStore.js'
import { assertSame } from '../difference.js'
import { right } from '../fixtures.js'

export type Content = Uint8Array | string

export const bytesOf = (content: Content): Uint8Array =>
  typeof content === 'string' ? new TextEncoder().encode(content) : content

/** All byte values, in an order that is not valid UTF-8. */
export const BINARY = Uint8Array.from({ length: 1_024 }, (_, n) => (n * 167 + (n >> 8)) % 256)

export const infoOf = (id: string, content: Content): ArtifactInfo => {
  const bytes = bytesOf(content)
  return { id, size: bytes.length, sha256: sha256(bytes) }
}

/** Shows long content by its digest, so that messages stay short. */
const shown = (bytes: Uint8Array): string =>
  bytes.length > 40 ? `${bytes.length} bytes, SHA-256 ${sha256(bytes)}` : `bytes ${[...bytes].join(' ')}`

export const assertGets = async (store: ArtifactStore, runId: string, id: string, content: Content): Promise<void> => {
  const found = await right(store.get(runId, id))
  if (found._tag === 'None') assert.fail(`artifact "${id}" of ${runId}: expected content, found none`)
  const wanted = bytesOf(content)
  if (Buffer.compare(found.value, wanted) !== 0)
    assert.fail(`artifact "${id}" of ${runId}: expected ${shown(wanted)}, found ${shown(found.value)}`)
}

export const assertNone = async (store: ArtifactStore, runId: string, id: string): Promise<void> => {
  assertSame(await right(store.get(runId, id)), O.none, `artifact "${id}" of ${runId}`)
  assertSame(await right(store.has(runId, id)), false, `has of artifact "${id}" of ${runId}`)
}

export type Contents = Readonly<Record<string, Content>>

/** Contents that equal their ids. */
export const named = (ids: ReadonlyArray<string>): Contents => Object.fromEntries(ids.map((id) => [id, id]))

/** Asserts that a run has these artifacts and no others, in the order of their ids. */
export const assertLists = async (store: ArtifactStore, runId: string, contents: Contents): Promise<void> => {
  const expected = Object.keys(contents).sort()
  assertSame(
    await right(store.list(runId)),
    expected.map((id) => infoOf(id, contents[id] ?? '')),
    `the artifacts of ${runId}`
  )
}

export const putAll = async (store: ArtifactStore, runId: string, contents: Contents): Promise<void> => {
  for (const [id, content] of Object.entries(contents)) await right(store.put(runId, id, content))
}

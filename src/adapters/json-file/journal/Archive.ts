/** Keeps the last checkpoint of each archived run in a file (`docs/file-format.md` §14). */
import { resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { Archive } from '../../../ports/Archive.js'
import type { FileSystemOption } from '../files/FileSystem.js'
import { replaceWhole, tidy } from '../files/Files.js'
import { nodeFileSystem } from '../files/nodeFileSystem.js'
import { refusalOf } from '../files/Refusal.js'
import { ensureBelow } from '../files/Folders.js'
import * as Layout from '../files/Layout.js'

/**
 * An archive below the root of a {@link jsonFileStorage}: `archive/<runId>-<created>.json` holds the last checkpoint
 * of a run, indented.
 *
 * @example
 * import { fileArchive, jsonFileStorage } from 'dogear/json-file'
 * import { run, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 * import { mkdtemp, readdir, rm } from 'node:fs/promises'
 * import { tmpdir } from 'node:os'
 * import { join } from 'node:path'
 *
 * const root = await mkdtemp(join(tmpdir(), 'dogear-'))
 * const greet = workflow('greet', { onSuccess: 'archive' }).step('hello', () => 'hello')
 * const environment = { archive: fileArchive(root) }
 * await run(greet, { id: 'greet-1', storage: jsonFileStorage(root), environment })
 * assert.deepEqual(await readdir(join(root, 'runs')), [])
 * assert.match(String(await readdir(join(root, 'archive'))), /^greet-1-\d{8}T\d{9}Z\.json$/)
 * await rm(root, { recursive: true })
 *
 * @category constructors
 */
export const fileArchive = (root: string, options: FileSystemOption = {}): Archive =>
  refusalOf('fileArchive', root, options)?.calls('keep') ?? archiveIn(root, options)

const archiveIn = (root: string, options: FileSystemOption): Archive => ({
  keep: ({ runId, createdAt, checkpoint }) =>
    Layout.call(root, runId, async () => {
      const { fs = nodeFileSystem } = options
      const made = await ensureBelow(fs, resolve(root), [Layout.archiveOf(root)])
      if (E.isLeft(made)) return made
      const path = Layout.archived(root, runId, createdAt)
      const unfinished = Layout.unfinishedArchived(root, Layout.newToken())
      const text = Buffer.from(`${JSON.stringify(checkpoint, null, 2)}\n`)
      const kept = await replaceWhole(fs, path, unfinished, text)
      await tidy(fs, Layout.archiveOf(root), Layout.isUnfinishedArchived)
      return E.map(() => path)(kept)
    })
})

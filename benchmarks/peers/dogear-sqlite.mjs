// Dogear on the SQLite of Node, in one process.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { connect } from '../../dist/adapters/sqlite/index.js'
import { openOn } from './dogear.mjs'

export const open = async (given) => {
  const file = join(given.folder, 'dogear.db')
  const { storage, close } = connect(file, DatabaseSync)
  const journal = () => new DatabaseSync(file).prepare('PRAGMA journal_mode').get().journal_mode
  return openOn(given, {
    storage,
    close,
    settings: () => `journal_mode ${journal()}, synchronous FULL (it refuses less)`
  })
}

/** Real stores by their locations: a folder, `sqlite:FILE` or the URL of a PostgreSQL database. */
import { fileArtifacts, fileRequests, jsonFileStorage } from '../../src/adapters/json-file/index.js'
import { connect as connectPostgres } from '../../src/adapters/postgres/index.js'
import { connect } from '../../src/adapters/sqlite/index.js'
import type { SqliteDriver } from '../../src/adapters/sqlite/index.js'
import type { Environment } from '../../src/index.js'

export type Ports = Required<Pick<Environment, 'storage' | 'artifacts' | 'requests'>>

export interface Store extends Ports {
  readonly close: () => Promise<void>
}

/** Not bundled: it has a native part. */
const DRIVER = 'better-sqlite3'

export const openStore = async (where: string): Promise<Store> => {
  if (where.startsWith('postgres:')) return await connectPostgres(where)
  if (where.startsWith('sqlite:')) {
    const { default: driver } = (await import(DRIVER)) as { readonly default: SqliteDriver }
    const stores = connect(where.slice('sqlite:'.length), driver)
    return { ...stores, close: () => Promise.resolve(stores.close()) }
  }
  const ports = { storage: jsonFileStorage(where), artifacts: fileArtifacts(where), requests: fileRequests(where) }
  return { ...ports, close: () => Promise.resolve() }
}

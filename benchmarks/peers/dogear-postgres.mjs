// Dogear on PostgreSQL: the workflow runs in this process, its records go to the server over loopback.
import { connect } from '../../dist/adapters/postgres/index.js'
import { openOn } from './dogear.mjs'

export const open = async (given) => {
  const { storage, close } = await connect(given.url)
  return openOn(given, { storage, close, settings: () => 'PostgreSQL as it comes: fsync on, synchronous_commit on' })
}

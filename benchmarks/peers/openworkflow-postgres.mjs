// openworkflow on PostgreSQL: a worker in this process polls the database for runs.
import { BackendPostgres } from 'openworkflow/postgres'
import { openOn } from './openworkflow.mjs'

export const open = async (given) =>
  openOn(
    given,
    await BackendPostgres.connect(given.url),
    () => 'PostgreSQL as it comes: fsync on, synchronous_commit on'
  )

import { randomBytes } from 'node:crypto'
import { place } from '../adapters/postgres/kit.js'

/** The URL of a new database on the server of the tests. */
export const newDatabase = async (): Promise<string> => {
  const { admin, server } = await place()
  const name = `cli_${randomBytes(6).toString('hex')}`
  await admin.query(`CREATE DATABASE ${name}`)
  await admin.end()
  const host = server.host.startsWith('/') ? encodeURIComponent(server.host) : server.host
  return `postgres://postgres@${host}:${server.port}/${name}`
}

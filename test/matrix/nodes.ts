import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

const folder = import.meta.dirname
const installed = join(folder, 'node_modules')

/**
 * The Node executables to test on besides the one that runs the tests, by the output of `node --version`. Installs them when they
 * are missing or older than the lock file. Only on Linux.
 */
export function nodes(): ReadonlyMap<string, string> {
  if (process.platform !== 'linux') return new Map()
  if (!isCurrent()) execFileSync('npm', ['ci', '--prefix', folder], { cwd: folder, stdio: 'pipe' })
  const { optionalDependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly optionalDependencies: Readonly<Record<string, string>>
  }
  const paths = Object.keys(optionalDependencies)
    .filter((name) => name.endsWith(`-${process.arch}`))
    .map((name) => join(installed, name, 'bin/node'))
  return new Map(paths.map((path) => [execFileSync(path, ['--version'], { encoding: 'utf8' }).trim(), path]))
}

function isCurrent(): boolean {
  const record = join(installed, '.package-lock.json')
  return existsSync(record) && statSync(record).mtimeMs >= statSync(join(folder, 'package-lock.json')).mtimeMs
}

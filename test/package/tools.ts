import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './consumer.js'

/** The versions that the guide names. They take 250 MB, so only a sweep installs them, once, beside its results. */
export const versions = { Jest: '30.5.2', Bun: '1.4.5', Deno: '2.9.6' }

const folder = join(root, 'test/.tmp/tools')

const bun = `@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64'}`
const deno = `@deno/linux-${process.arch}-glibc`

const packages: ReadonlyArray<readonly [name: string, version: string]> = [
  ['jest', versions.Jest],
  ...(process.platform === 'linux'
    ? ([
        [bun, versions.Bun],
        [deno, versions.Deno]
      ] as const)
    : [])
]

/** The file of Jest's command, and the commands of the other runtimes. There are none for systems other than Linux. */
export const tools = {
  jest: join(folder, 'node_modules/jest/bin/jest.js'),
  runtimes:
    process.platform === 'linux'
      ? ([
          ['Bun', [join(folder, 'node_modules', bun, 'bin/bun')]],
          ['Deno', [join(folder, 'node_modules', deno, 'deno'), 'run', '--allow-all']]
        ] as ReadonlyArray<readonly [string, readonly [string, ...string[]]]>)
      : []
}

export function installTools(): void {
  if (packages.every(([name, version]) => versionOf(name) === version)) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true }))
  const words = packages.map(([name, version]) => `${name}@${version}`)
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...words], {
    cwd: folder,
    stdio: 'pipe'
  })
}

const versionOf = (name: string): string | undefined => {
  const path = join(folder, 'node_modules', name, 'package.json')
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as { readonly version: string }).version : undefined
}

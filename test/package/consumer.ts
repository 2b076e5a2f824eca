import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

export interface Manifest {
  readonly name: string
  readonly version: string
  readonly exports: Readonly<Record<string, string | { readonly require?: string; readonly default?: string }>>
  readonly bin: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
  readonly devDependencies: Readonly<Record<string, string>>
}

export const root = resolve(import.meta.dirname, '../..')

export const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest

/** The compilers that users have: the newest one, and the last one in JavaScript. */
export const tsc = {
  newest: join(root, 'node_modules/typescript-native/bin/tsc'),
  inJavaScript: join(root, 'node_modules/typescript/bin/tsc')
}

/** `dogear`, `dogear/promise` …: everything that a program can import but the types of declarations, in the order of package.json. */
export const entryPoints: readonly string[] = Object.entries(manifest.exports)
  .filter(([, target]) => typeof target === 'object' && target.default !== undefined)
  .map(([path]) => path.replace(/^\./, manifest.name))

/** A separate project outside the repository, with the packed package installed. */
export interface Consumer {
  readonly folder: string
  readonly tarball: string
  /** Where the package was installed. */
  readonly installed: string
  readonly write: (name: string, text: string) => string
  readonly remove: () => void
}

/** Packs dist/ as last built and installs it with the other named packages (`yaml@2.9.1`). */
export function consume(...others: readonly string[]): Consumer {
  const folder = mkdtempSync(join(tmpdir(), 'dogear-consumer-'))
  const packed = npm(root, 'pack', '--ignore-scripts', '--json', '--pack-destination', folder)
  const tarball = join(folder, (JSON.parse(packed) as readonly [{ readonly filename: string }])[0].filename)
  const write = (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }
  write('package.json', JSON.stringify({ private: true, type: 'module' }))
  npm(folder, 'install', '--prefer-offline', '--no-audit', '--no-fund', tarball, ...others)
  return {
    folder,
    tarball,
    installed: join(folder, 'node_modules', manifest.name),
    write,
    remove: () => rmSync(folder, { recursive: true, force: true })
  }
}

function npm(cwd: string, ...args: readonly string[]): string {
  return execFileSync('npm', args, {
    cwd,
    env: cleanEnvironment(),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe']
  })
}

/** The environment without what npm and the test runner add for their own children. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const added =
    /^(npm_(command|config_local_prefix|execpath|lifecycle|node_execpath|package)|VITEST|NODE_ENV$|NODE_OPTIONS$|DOGEAR_)/
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !added.test(name)))
}

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export function start(cwd: string, file: string, ...args: readonly string[]): Promise<Ended> {
  return new Promise((ended) => {
    const options = { cwd, env: cleanEnvironment(), timeout: 60_000 }
    execFile(file, args, options, (error, stdout, stderr) => {
      ended({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1, stdout, stderr })
    })
  })
}

/** Starts a program, kills it in its second step, and returns what it printed. */
export async function killInSecondStep(node: string, ...args: readonly string[]): Promise<string> {
  const child = spawn(node, args, { env: cleanEnvironment(), stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  const note = (chunk: Buffer): void => {
    printed += chunk.toString()
    if (printed.includes('second\n')) child.kill('SIGKILL')
  }
  child.stdout.on('data', note)
  child.stderr.on('data', note)
  await once(child, 'close')
  return printed
}

import { type ChildProcess, spawn } from 'node:child_process'
import { Readable, Writable } from 'node:stream'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync
} from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import manifest from '../../package.json' with { type: 'json' }
import type { main as commandLine } from '../../src/cli/commandLine.js'

export const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** The module behind the first file of the built command. */
const built = new URL('../../dist/cli/commandLine.js', import.meta.url).href

/** The end and the output of a process. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface Options {
  readonly environment?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly input?: string
  /** The user and group to run as; needs root. */
  readonly uid?: number
}

/** A running process. */
export interface Running {
  readonly child: ChildProcess
  readonly pid: number
  readonly ended: Promise<Ended>
  /** Resolves when it has printed this, on either stream. */
  readonly said: (text: string | RegExp) => Promise<void>
}

/** A private folder to run dogear in, with private state. */
export interface Sandbox {
  readonly folder: string
  /** Calls the built command in this process, which takes a tenth of the time; in its own process while another call is in flight. */
  readonly dogear: (words: readonly string[], options?: Omit<Options, 'uid'>) => Promise<Ended>
  /** Starts a process and waits for its end. */
  readonly process: (words: readonly string[], options?: Options) => Promise<Ended>
  readonly start: (words: readonly string[], options?: Options) => Running
  readonly shell: (script: string, options?: Options) => Promise<Ended>
  readonly write: (name: string, text: string) => string
  readonly read: (name: string) => string
  readonly exists: (name: string) => boolean
  readonly remove: () => void
}

/** The environment without what changes how dogear behaves; `dogear` in the PATH is the one under test. */
const environment = (folder: string): NodeJS.ProcessEnv => {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(DOGEAR_|NO_COLOR$|FORCE_COLOR$|NODE_|VITEST|TERM$)/.test(name)
  )
  return {
    ...Object.fromEntries(inherited),
    PATH: `${join(folder, '.bin')}:${process.env['PATH'] ?? ''}`,
    TERM: 'xterm'
  }
}

export function sandbox(files: Readonly<Record<string, string>> = {}): Sandbox {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'dogear-cli-')))
  const write = (name: string, text: string): string => {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  write('.bin/dogear', `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`)
  const launch = (command: string, words: readonly string[], options: Options = {}): Running => {
    const child = spawn(command, words, {
      cwd: options.cwd ?? folder,
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
      env: { ...environment(folder), ...options.environment },
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe']
    })
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(options.input)
    return watch(child)
  }
  chmodSync(join(folder, '.bin/dogear'), 0o755)
  for (const [name, text] of Object.entries(files)) write(name, text)
  const start: Sandbox['start'] = (words, options) => launch(process.execPath, [main, ...words], options)
  return {
    folder,
    start,
    dogear: (words, options = {}) =>
      isBusy
        ? start(words, options).ended
        : call(words, options.cwd ?? folder, { ...environment(folder), ...options.environment }, options.input),
    process: (words, options) => start(words, options).ended,
    shell: (script, options) => launch('/bin/sh', ['-c', script], options).ended,
    write,
    read: (name) => readFileSync(join(folder, name), 'utf8'),
    exists: (name) => existsSync(join(folder, name)),
    remove: () => rmSync(folder, { recursive: true, force: true })
  }
}

const call = async (
  words: readonly string[],
  folder: string,
  env: NodeJS.ProcessEnv,
  input?: string
): Promise<Ended> => {
  isBusy = true
  const { main } = (await import(/* @vite-ignore */ built)) as { readonly main: typeof commandLine }
  const output = { stdout: '', stderr: '' }
  const sink = (stream: 'stdout' | 'stderr'): NodeJS.WriteStream & { readonly fd: 1 & 2 } =>
    new Writable({
      decodeStrings: false,
      write: (chunk: Buffer | string, _, done) => {
        output[stream] += chunk.toString()
        done()
      }
    }) as NodeJS.WriteStream & { readonly fd: 1 & 2 }
  const inherited = process.env
  const before = new Map(HANDLED.map((signal) => [signal, process.listeners(signal)]))
  process.env = env
  try {
    const code = await main(words, manifest.version, {
      stdin: Readable.from(input === undefined ? [] : [Buffer.from(input)]) as NodeJS.ReadStream & { readonly fd: 0 },
      stdout: sink('stdout'),
      stderr: sink('stderr'),
      env,
      cwd: () => folder,
      exit: (code) => {
        throw new Error(`ended with ${code}`)
      }
    })
    return { code, signal: null, ...output }
  } finally {
    isBusy = false
    process.env = inherited
    // The command ends its process, so it leaves handlers behind.
    for (const [signal, listeners] of before)
      for (const listener of process.listeners(signal)) if (!listeners.includes(listener)) process.off(signal, listener)
  }
}

let isBusy = false

const HANDLED = Object.keys(constants.signals) as readonly NodeJS.Signals[]

export function watch(child: ChildProcess): Running {
  const output = { stdout: '', stderr: '' }
  const listeners = new Set<() => void>()
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.on('data', (chunk: Buffer) => {
      output[stream] += chunk.toString('utf8')
      for (const listener of listeners) listener()
    })
  }
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code, signal) => {
      resolve({ code, signal, ...output })
      for (const listener of listeners) listener()
    })
  })
  const hasSaid = (text: string | RegExp): boolean =>
    [output.stdout, output.stderr].some((all) => (typeof text === 'string' ? all.includes(text) : text.test(all)))
  return {
    child,
    pid: child.pid ?? 0,
    ended,
    said: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (hasSaid(text)) resolve()
          else if (child.exitCode !== null || child.signalCode !== null)
            reject(new Error(`it ended without saying ${text}:\n${output.stdout}${output.stderr}`))
        }
        listeners.add(look)
        look()
      })
  }
}

/** The run id in the output of a first run. */
export const runIdOf = ({ stderr }: Ended): string => /^Run (\S+) started$/m.exec(stderr)?.[1] ?? 'no id was printed'

/** Replaces each duration by T. */
export const timeless = (text: string): string => text.replace(/\b\d[\d.]* (?:ms|s|min|h)\b(?: \d+ (?:s|min)\b)?/g, 'T')

/** The progress lines. */
export const linesOf = (text: string): readonly string[] => text.split('\n').slice(0, -1)

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

export const hasProgram = (name: string): boolean =>
  (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(join(folder, name)))

/** Runs the programs in examples/recipes as real processes. */
import { type ChildProcess, spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from '../docs/markdown.js'

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly output: string
}

export interface Process {
  readonly pid: number
  readonly ended: Promise<Ended>
  readonly output: () => string
}

/** A folder with one recipe. `killBefore`: the line of its log before which the process dies. */
export interface Recipe {
  readonly start: (words: readonly string[], killBefore?: string, environment?: NodeJS.ProcessEnv) => Process
  readonly run: (words: readonly string[], killBefore?: string, environment?: NodeJS.ProcessEnv) => Promise<Ended>
  /** The lines that the recipe has logged. */
  readonly log: () => readonly string[]
  readonly file: (name: string) => string
  /** Kills what still runs, and removes the folder. */
  readonly remove: () => Promise<void>
}

const preload = join(import.meta.dirname, 'killBefore.cjs')

/** Inside the repository, so that `dogear` is this package as it was last built. */
const folderOf = (name: string, test: string): string => join(root, `test/.tmp/recipes-${process.pid}`, name, test)

let count = 0

export const recipe = (name: string): Recipe => {
  const folder = folderOf(name, String((count += 1)))
  const running = new Map<ChildProcess, Promise<Ended>>()
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(root, `examples/recipes/${name}.mjs`), join(folder, `${name}.mjs`))
  const start: Recipe['start'] = (words, killBefore, environment = {}) => {
    const inherited = Object.entries(process.env).filter(([key]) => !/^(NODE_|VITEST|FORCE_COLOR|DOGEAR_)/.test(key))
    const child = spawn(process.execPath, ['--require', preload, `${name}.mjs`, ...words], {
      cwd: folder,
      env: {
        ...Object.fromEntries(inherited),
        ...environment,
        ...(killBefore === undefined ? {} : { DOGEAR_TEST_KILL: killBefore })
      },
      stdio: ['ignore', 'pipe', 'pipe']
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
    const ended = new Promise<Ended>((resolve) => {
      child.on('close', (code, signal) => {
        running.delete(child)
        resolve({ code, signal, output })
      })
    })
    running.set(child, ended)
    return { pid: child.pid ?? 0, ended, output: () => output }
  }
  const file = (of: string): string => join(folder, of)
  return {
    start,
    run: (...given) => start(...given).ended,
    log: () => {
      const path = file(`${name}.log`)
      return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []
    },
    file,
    remove: async () => {
      for (const child of running.keys()) child.kill('SIGKILL')
      await Promise.all(running.values())
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

const LIMIT_MILLIS = 60_000

/** Waits until something holds; the message names what did not. */
export const until = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
  for (const end = Date.now() + LIMIT_MILLIS; Date.now() < end; await delay(25)) if (await holds()) return
  throw new Error(`not within ${LIMIT_MILLIS} ms: ${what}`)
}

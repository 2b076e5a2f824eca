/** Helpers for crash tests: real processes that work on one run and are killed, and what they leave. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { ChildProcess, SpawnOptions } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { onTestFinished, vi } from 'vitest'
import { jsonFileStorage } from '../../src/adapters/json-file/index.js'
import type { Stored } from '../../src/index.js'
import type * as Checkpoint from '../../src/domain/checkpoint/Checkpoint.js'
import { restoreStored } from '../../src/executor/storage/stored.js'
import { bundled } from '../bundled.js'
import { seed, sweep } from '../sweep.js'

// ---------------------------------------------------------------------------------------------------------------------
// chance
// ---------------------------------------------------------------------------------------------------------------------

export { seed, sweep }

// Each case starts processes, which takes time on a busy machine.
if (!sweep) vi.setConfig({ testTimeout: 300_000 })

export interface Chance {
  /** A whole number from 0 to below `limit`. */
  readonly below: (limit: number) => number
  readonly oneOf: <A>(all: ReadonlyArray<A>) => A
  readonly sample: <A>(all: ReadonlyArray<A>, count: number) => ReadonlyArray<A>
}

/** mulberry32. `salt` keeps tests with the same seed apart. */
export const chanceOf = (salt: number): Chance => {
  let state = (seed * 2654435761 + salt * 40503) >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    below,
    oneOf: (all) => all[below(all.length)] as (typeof all)[number],
    sample: (all, count) => {
      const rest = [...all]
      return Array.from({ length: Math.min(count, rest.length) }, () => rest.splice(below(rest.length), 1)[0] as never)
    }
  }
}

/** Runs all tasks with limited concurrency. */
export const eachOf = async <A>(
  all: ReadonlyArray<A>,
  act: (one: A, index: number) => Promise<void>,
  atOnce = 2
): Promise<void> => {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < all.length) {
      const index = next++
      await act(all[index] as A, index)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

export const sleep = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

/** Waits until a condition holds. */
export const until = async (is: () => boolean, what: string, millis = 15_000): Promise<void> => {
  const deadline = performance.now() + millis
  while (!is()) {
    if (performance.now() > deadline) assert.fail(`waited ${millis} ms in vain: ${what}`)
    await sleep(5)
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// worlds
// ---------------------------------------------------------------------------------------------------------------------

/** An effect of a unit, with the life of the run and the attempt. */
export interface Effect {
  readonly life: number
  readonly unit: string
  readonly attempt: number
  readonly version: number
  /** The number of earlier calls to the file system. */
  readonly calls: number
}

/** An acknowledged save. */
export interface Ack {
  readonly life: number
  readonly epoch: number
  readonly revision: number
  readonly completed: ReadonlyArray<string>
  readonly rewound: boolean
}

/** A folder with the state of a store and the logs of its processes. */
export interface World {
  readonly folder: string
  readonly state: string
  readonly effects: () => ReadonlyArray<Effect>
  readonly acks: () => ReadonlyArray<Ack>
  /** The calls at which processes died, for people. */
  readonly kills: () => string
}

const BUILT = fileURLToPath(new URL('../../dist/index.js', import.meta.url))

export const newWorld = (folder = mkdtempSync(join(tmpdir(), 'dogear-crash-'))): World => {
  assert.ok(existsSync(BUILT), 'these tests run what is built: `npm run build` first')
  return {
    folder,
    state: join(folder, 'state'),
    effects: () => linesOf(join(folder, 'effects.log')) as ReadonlyArray<Effect>,
    acks: () => linesOf(join(folder, 'acks.log')) as ReadonlyArray<Ack>,
    kills: () => (existsSync(join(folder, 'kills.log')) ? readFileSync(join(folder, 'kills.log'), 'utf8') : '')
  }
}

/** A separate world for one case. If the case fails, the folder is kept and the failure names it. */
export const inWorld = async <A>(
  what: string,
  act: (world: World) => Promise<A>,
  world: World = newWorld()
): Promise<A> => {
  try {
    const result = await act(world)
    rmSync(world.folder, { recursive: true, force: true })
    return result
  } catch (error) {
    if (error instanceof Error)
      error.message = `${what} (seed ${seed}, ${world.folder})\n${world.kills()}${error.message}`
    throw error
  }
}

/** Complete lines; a killed process may leave half a line at the end. */
export const linesOf = (file: string): ReadonlyArray<unknown> => {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown)
}

// ---------------------------------------------------------------------------------------------------------------------
// processes
// ---------------------------------------------------------------------------------------------------------------------

export interface Kill {
  readonly at: number
  /** The calls that `at` counts. Calls on a timer come in between, so a count of all of them differs from run to run. */
  readonly of?: string
  readonly when: 'before' | 'torn' | 'during' | 'after'
  readonly delay?: number
}

/** The order for a worker process; see workers/worker.mjs. */
export interface Order {
  readonly op: 'run' | 'resume' | 'runOrResume' | 'remove'
  readonly life?: number
  readonly program?: 'release' | 'rerunnable' | 'careful' | 'heavy'
  readonly size?: {
    readonly steps?: number
    readonly bytes?: number
    readonly failures?: number
    readonly errorBytes?: number
  }
  readonly version?: number
  readonly kill?: Kill
  readonly faults?: { readonly call: string; readonly code: string; readonly from?: number; readonly times?: number }
  readonly confirm?: Readonly<Record<string, unknown>>
  readonly plan?: Readonly<Record<string, unknown>>
  readonly store?: Readonly<Record<string, unknown>>
  readonly elsewhere?: string
  readonly pace?: number
  readonly tell?: boolean
  readonly wait?: boolean
  readonly patient?: boolean
  readonly stoppable?: boolean
  readonly openFiles?: number
  readonly spareFiles?: number
  readonly logs?: string
  readonly names?: boolean
}

/** The last line of a worker process. */
export interface Report {
  readonly outcome: string
  readonly revision?: number
  readonly generation?: number
  readonly outputs?: Readonly<Record<string, string>>
  readonly variables?: Readonly<Record<string, string>>
  readonly error?: { readonly _tag: string; readonly [field: string]: unknown }
  readonly told?: string
  readonly failures?: ReadonlyArray<string>
  readonly asked?: ReadonlyArray<string>
  readonly calls: number
  readonly names?: ReadonlyArray<string>
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** All lines that it printed, and the last one if that is a report. */
  readonly lines: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly report: Report | undefined
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcess
  readonly pid: number
  /** The next printed line that has one of these fields; earlier lines are skipped. */
  readonly line: (...fields: ReadonlyArray<string>) => Promise<Readonly<Record<string, unknown>>>
  readonly send: (command: unknown) => void
  readonly signal: (signal: NodeJS.Signals) => void
  readonly ended: Promise<Ended>
}

export const workerFile = (name: string): string =>
  bundled(fileURLToPath(new URL(`workers/${name}.mjs`, import.meta.url)))

type Line = Readonly<Record<string, unknown>>

/** Starts a process that prints JSON lines. */
export const launch = (command: string, args: ReadonlyArray<string>, options: SpawnOptions = {}): Running => {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options })
  const lines: Array<Line> = []
  const output = new EventEmitter().setMaxListeners(0)
  let rest = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts.filter((part) => part.startsWith('{')).map((part) => JSON.parse(part) as Line))
    output.emit('line')
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  child.stdin?.on('error', () => undefined)
  let isOver = false
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      isOver = true
      output.emit('line')
      const last = lines.at(-1)
      const report = last !== undefined && 'outcome' in last ? (last as unknown as Report) : undefined
      resolve({ code, signal, lines, report, stderr })
    })
  })
  let taken = 0
  return {
    child,
    pid: child.pid as number,
    line: async (...fields) => {
      for (;;) {
        while (taken < lines.length) {
          const line = lines[taken++] as Line
          if (fields.some((field) => field in line)) return line
        }
        assert.ok(!isOver, `ended without a line with ${fields.join(' or ')}: ${JSON.stringify(lines)} ${stderr}`)
        await once(output, 'line', { signal: AbortSignal.timeout(60_000) })
      }
    },
    send: (command) => void child.stdin?.write(`${JSON.stringify(command)}\n`),
    signal: (signal) => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    },
    ended
  }
}

export const start = (
  world: World,
  order: Order,
  around: ReadonlyArray<string> = [],
  options?: SpawnOptions
): Running => {
  const json = JSON.stringify({ world: world.folder, life: 0, ...order })
  const [command = '', ...args] = [...around, process.execPath, workerFile('worker'), json]
  return launch(command, args, options)
}

/** A worker, from its start to its end. */
export const perform = async (
  world: World,
  order: Order,
  around: ReadonlyArray<string> = [],
  options?: SpawnOptions
): Promise<Ended> => await start(world, order, around, options).ended

/** The report of a process that was not killed. */
export const reportOf = ({ report, code, signal, stderr }: Ended): Report =>
  report ?? assert.fail(`no report: code ${code}, signal ${signal}, ${stderr}`)

/** Ends a process when the test ends. */
export const untilTestEnds = (running: Running): Running => {
  onTestFinished(async () => {
    running.signal('SIGCONT')
    running.signal('SIGKILL')
    await running.ended
  })
  return running
}

// ---------------------------------------------------------------------------------------------------------------------
// what is stored
// ---------------------------------------------------------------------------------------------------------------------

export const load = async (world: World, runId = 'r'): Promise<O.Option<Stored>> => {
  const loaded = await jsonFileStorage(world.state).load(runId)()
  return E.isRight(loaded) ? loaded.right : assert.fail(`does not load: ${JSON.stringify(loaded.left)}`)
}

export interface Kept {
  readonly stored: Stored
  readonly checkpoint: Checkpoint.Checkpoint
  readonly completed: ReadonlySet<string>
}

/** The run as stored: found exactly, and decoded. */
export const kept = async (world: World, runId = 'r'): Promise<Kept | undefined> => {
  const loaded = await load(world, runId)
  if (O.isNone(loaded)) return undefined
  const stored = loaded.value
  assert.deepEqual(stored.found, { _tag: 'Exact' }, 'a kill damages nothing')
  const restored = restoreStored(stored)
  if (E.isLeft(restored)) return assert.fail(`does not decode: ${JSON.stringify(restored.left)}`)
  const checkpoint = restored.right
  const completed = new Set([...checkpoint.completedSteps].map(({ unit }) => unit))
  return { stored, checkpoint, completed }
}

/** The cost of a resume before it runs anything: loading and planning against parsing the same bytes, and planning alone. */
import { readFileSync, readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Checkpoint } from 'dogear'
import { CheckpointCodec, planResume, Program, run } from 'dogear'
import { jsonFileStorage } from 'dogear/json-file'
import { memoryStorage } from 'dogear/memory'
import { nodeEnvironment } from 'dogear/node'
import { heapBytes } from './durable.js'

type AnyProgram = Program<Readonly<Record<string, unknown>>>

/** This many steps in sequence. */
export const linear = (steps: number): AnyProgram =>
  Program.fromSteps(
    'loading',
    Array.from({ length: steps }, (_, index) => Program.task(`step-${index}`, { run: () => TE.right(index) }))
  )

/** One map with this many items. */
export const mapped = (items: number): AnyProgram =>
  pipe(
    Program.start('loading'),
    Program.map(
      'each',
      { forEach: () => Array.from({ length: items }, (_, index) => `item-${index}`), key: String, concurrency: 10 },
      { run: () => TE.right(0) }
    )
  )

export const median = (values: ReadonlyArray<number>): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

const time = async (what: () => unknown): Promise<number> => {
  const start = performance.now()
  await what()
  return performance.now() - start
}

/** The lines of the newest journal of a run. */
const linesOf = (folder: string, runId: string): ReadonlyArray<string> => {
  const history = join(folder, 'runs', runId, 'history')
  const newest = readdirSync(history).sort().at(-1) ?? ''
  const text = readFileSync(join(history, newest), 'utf8').replaceAll('\0', '')
  return text.split('\n').filter((line) => line !== '')
}

/** `JSON.parse` of every line of the newest journal of a run. */
export const parseMillis = (folder: string, runId: string): number => {
  const lines = linesOf(folder, runId)
  const start = performance.now()
  for (const line of lines) JSON.parse(line)
  return performance.now() - start
}

/** Loads and plans a run, against `JSON.parse` of its newest journal: median milliseconds. `heapBytes`: of checkpoint and plan in memory. */
export interface Loading {
  readonly loadAndPlanMillis: number
  readonly parseMillis: number
  readonly ratio: number
  readonly heapBytes: number
}

export const loading = async (root: string, program: AnyProgram, rounds: number): Promise<Loading> => {
  const folder = await mkdtemp(join(root, 'loading-'))
  await run(program, 'loading', {})(nodeEnvironment(jsonFileStorage(folder)))()
  const lines = linesOf(folder, 'loading')
  const ours: Array<number> = []
  const theirs: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    ours.push(await time(() => loadAndPlan(folder, program)))
    theirs.push(await time(() => lines.map((line) => JSON.parse(line) as unknown)))
  }
  const before = heapBytes()
  const held = await loadAndPlan(folder, program)
  const heap = heapBytes() - before
  await rm(folder, { recursive: true })
  const loadAndPlanMillis = median(ours)
  const parsed = median(theirs)
  if (held.length === 0) return Promise.reject(new Error('nothing was planned'))
  return { loadAndPlanMillis, parseMillis: parsed, ratio: loadAndPlanMillis / parsed, heapBytes: heap }
}

const loadAndPlan = async (folder: string, program: AnyProgram): Promise<ReadonlyArray<unknown>> => {
  const stored = await jsonFileStorage(folder).load('loading')()
  if (E.isLeft(stored) || O.isNone(stored.right)) return Promise.reject(new Error('nothing was loaded'))
  const checkpoint = CheckpointCodec.restore(stored.right.value)
  if (E.isLeft(checkpoint)) return Promise.reject(new Error('damaged'))
  const plan = planResume(checkpoint.right, program)
  return E.isLeft(plan) ? Promise.reject(new Error('no plan')) : [checkpoint.right, plan.right]
}

/** Plans a run in which all steps completed. Milliseconds, median. */
export interface Planning {
  readonly steps: number
  readonly millis: number
}

export const planning = async (steps: number, rounds: number): Promise<Planning> => {
  const program = linear(steps)
  const outcome = await run(program, 'planning', {})(nodeEnvironment(memoryStorage()))()
  if (E.isLeft(outcome) || outcome.right._tag !== 'Completed') return Promise.reject(new Error('no checkpoint'))
  const checkpoint: Checkpoint = outcome.right.checkpoint
  const millis: Array<number> = []
  for (let round = 0; round < rounds; round++) millis.push(await time(() => planResume(checkpoint, program)))
  return { steps, millis: median(millis) }
}

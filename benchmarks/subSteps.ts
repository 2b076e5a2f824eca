/** The cost of a durable sub-step against the limit of the disk, and of a resume of its task before anything new runs. */
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { jsonFileStorage } from 'dogear/json-file'
import { runOrResume, workflow } from 'dogear/promise'
import { counting } from './durable.js'
import { makeLimit } from './limit.js'
import { median, parseMillis } from './loading.js'

/** One task with this many trivial sub-steps. */
export interface SubSteps {
  readonly count: number
  readonly microsPerSubStep: number
  readonly limitMicros: number
  readonly ratio: number
  readonly savesPerSubStep: number
}

/** The interval of sub-steps and the number of appends at each: a fifth as many appends as sub-steps. */
const EVERY = 100
const APPENDS = 20

/** A task that calls this many sub-steps in sequence. */
const task = (count: number, act: (index: number) => void) =>
  workflow('sub-steps').step('agent', async ({ step }) => {
    for (let index = 0; index < count; index++) {
      await step(`turn-${index}`, () => {
        act(index)
        return index
      })
    }
    return count
  })

export const subSteps = async (root: string, count: number): Promise<SubSteps> => {
  const folder = await mkdtemp(join(root, 'sub-steps-'))
  const limit = makeLimit(folder)
  const { storage, saves } = counting(jsonFileStorage(join(folder, 'state')))
  const program = task(count, (index) => {
    if (index % EVERY === 0) limit.append(APPENDS)
  })
  const start = performance.now()
  await runOrResume(program, { id: 'sub-steps', storage })
  const millis = performance.now() - start - limit.millis()
  const limitMicros = (limit.millis() * 1000) / limit.count()
  const microsPerSubStep = (millis * 1000) / count
  limit.close()
  await rm(folder, { recursive: true })
  return {
    count,
    microsPerSubStep,
    limitMicros,
    ratio: microsPerSubStep / limitMicros,
    savesPerSubStep: saves() / count
  }
}

/** `firstMillis`: from the call of a resume to the first new sub-step, half of them recorded, against `JSON.parse` of each line. */
export interface Resuming {
  readonly recorded: number
  readonly firstMillis: number
  readonly parseMillis: number
  readonly ratio: number
}

/** The same task in a process that kills itself at half. */
const killed = (count: number, state: string): string => `
  import { jsonFileStorage } from 'dogear/json-file'
  import { runOrResume, workflow } from 'dogear/promise'
  await runOrResume(
    workflow('sub-steps').step('agent', async ({ step }) => {
      for (let index = 0; index < ${count}; index++) {
        await step('turn-' + index, () => {
          if (index === ${count >> 1}) process.kill(process.pid, 'SIGKILL')
          return index
        })
      }
      return ${count}
    }),
    { id: 'sub-steps', storage: jsonFileStorage(${JSON.stringify(state)}) }
  )`

export const resuming = async (root: string, count: number, rounds: number): Promise<Resuming> => {
  const first: Array<number> = []
  const parsed: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    const folder = await mkdtemp(join(root, 'resuming-'))
    const { signal, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', killed(count, folder)])
    if (signal !== 'SIGKILL') return Promise.reject(new Error(`it was not killed: ${String(stderr)}`))
    parsed.push(parseMillis(folder, 'sub-steps'))
    const start = performance.now()
    let at: number | undefined
    await runOrResume(
      task((count >> 1) + 1, (index) => {
        if (index === count >> 1) at ??= performance.now()
      }),
      { id: 'sub-steps', storage: jsonFileStorage(folder) }
    )
    if (at === undefined) return Promise.reject(new Error('nothing new ran'))
    first.push(at - start)
    await rm(folder, { recursive: true })
  }
  const firstMillis = median(first)
  return {
    recorded: count >> 1,
    firstMillis,
    parseMillis: median(parsed),
    ratio: firstMillis / median(parsed)
  }
}

/**
 * The cost of a durable step, executor included, against the limit of the disk. Both run in one process, with the limit's appends
 * spread over the run, so that other load affects both.
 */
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { CheckpointStorage } from 'dogear'
import { Program, run } from 'dogear'
import { jsonFileStorage } from 'dogear/json-file'
import { nodeEnvironment } from 'dogear/node'
import { makeLimit } from './limit.js'

/** One run with this many trivial steps. */
export interface Durable {
  readonly steps: number
  readonly microsPerStep: number
  readonly limitMicros: number
  readonly ratio: number
  readonly savesPerStep: number
  readonly recordBytes: number
  readonly writtenBytes: number
  readonly heapBytesPerStep: number
}

/** Bytes that this process has asked the system to write (Linux). */
const writtenBytes = (): number => Number(/^wchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1] ?? 0)

/** The memory in use without garbage, given `--expose-gc`. */
export const heapBytes = (): number => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

/** The interval of steps and the number of appends at each: a fifth as many appends as steps. */
const EVERY = 100
const APPENDS = 20

export const durable = async (root: string, steps: number): Promise<Durable> => {
  const folder = await mkdtemp(join(root, 'durable-'))
  const limit = makeLimit(folder)
  const counted = counting(jsonFileStorage(join(folder, 'state')))
  const tasks = Array.from({ length: steps }, (_, index) =>
    Program.task(`step-${index}`, {
      run: () => {
        if (index % EVERY === 0) limit.append(APPENDS)
        return TE.right(index)
      }
    })
  )
  const program = Program.fromSteps('durable', tasks)
  const heapBefore = heapBytes()
  const writtenBefore = writtenBytes()
  const start = performance.now()
  const outcome = await run(program, 'durable', {})(nodeEnvironment(counted.storage))()
  const millis = performance.now() - start - limit.millis()
  const written = writtenBytes() - writtenBefore - limit.count() * 200
  const heap = heapBytes() - heapBefore
  if (E.isLeft(outcome) || outcome.right._tag !== 'Completed') {
    return Promise.reject(new Error(`the run did not complete: ${JSON.stringify(outcome)}`))
  }
  const limitMicros = (limit.millis() * 1000) / limit.count()
  const microsPerStep = (millis * 1000) / steps
  limit.close()
  await rm(folder, { recursive: true })
  return {
    steps,
    microsPerStep,
    limitMicros,
    ratio: microsPerStep / limitMicros,
    savesPerStep: counted.saves() / steps,
    recordBytes: counted.bytes(),
    writtenBytes: written,
    heapBytesPerStep: heap / outcome.right.checkpoint.completedSteps.size
  }
}

/** Counts the saves, and the bytes of the changes in them: the records themselves. */
export const counting = (
  storage: CheckpointStorage
): { readonly storage: CheckpointStorage; readonly saves: () => number; readonly bytes: () => number } => {
  let saves = 0
  let bytes = 0
  return {
    storage: {
      ...storage,
      save: (claim, revisions) => {
        saves++
        for (const { change } of revisions) bytes += JSON.stringify(change).length
        return storage.save(claim, revisions)
      }
    },
    saves: () => saves,
    bytes: () => bytes
  }
}

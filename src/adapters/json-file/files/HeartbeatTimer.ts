/** Keeps a heartbeat (`docs/file-format.md` §11): its own timer until the first touch is due, then that of proper-lockfile. */
import type { NoParamCallback, Stats } from 'node:fs'
import * as fs from 'node:fs'
import { mkdir, rmdir, stat, utimes } from 'node:fs/promises'
import { codeOf, quietly } from './Fault.js'
import type { HeartbeatTiming } from './FileSystem.js'
import { lockFunction } from './Packages.js'

/** As proper-lockfile does. */
const RETRY_MILLIS = 1_000

/** Continues by itself if proper-lockfile cannot be loaded or refuses. */
export const keep = async (
  path: string,
  { updateMillis, staleMillis }: HeartbeatTiming,
  onDisturbed: () => void,
  load = lockFunction
): Promise<() => Promise<void>> => {
  let seen: Stats
  let touchedAt: number
  let beating: Promise<void> | undefined
  let hasEnded = false
  /** A function, because the linter takes the value to be the same after an `await`. */
  const isOver = (): boolean => hasEnded
  let release = (): Promise<void> => rmdir(path)

  const touch = async (): Promise<void> => {
    const now = new Date()
    await utimes(path, now, now)
    touchedAt = now.getTime()
    seen = await stat(path)
  }

  /** Compares the times too, because the stat after the last touch may have failed. */
  const isOurs = ({ mtime, mtimeMs }: Stats): boolean => mtimeMs === seen.mtimeMs || mtime.getTime() === touchedAt

  /** Touches the folder unless another process changed it. A touch that fails may be retried until the heartbeat is stale. */
  const touchOurs = async (): Promise<'touched' | 'failed' | 'disturbed'> => {
    try {
      if (!isOurs(await stat(path))) return 'disturbed'
      await touch()
      return 'touched'
    } catch (error) {
      return codeOf(error) === 'ENOENT' || touchedAt + staleMillis < Date.now() ? 'disturbed' : 'failed'
    }
  }

  const beat = async (): Promise<void> => {
    const outcome = await touchOurs()
    if (isOver()) return
    if (outcome === 'disturbed') {
      release = () => Promise.resolve()
      return onDisturbed()
    }
    if (outcome === 'failed') return beatIn(RETRY_MILLIS)
    const lock = await load()
    if (isOver()) return
    try {
      if (lock !== undefined) release = await lock(path, optionsFor(seen))
      else beatIn(updateMillis)
    } catch {
      beatIn(updateMillis)
    }
  }

  const optionsFor = (made: Stats) => ({
    lockfilePath: path,
    realpath: false,
    stale: staleMillis,
    update: updateMillis,
    retries: 0,
    fs: fileSystemFor(made),
    onCompromised: onDisturbed
  })

  let timer: NodeJS.Timeout
  const beatIn = (millis: number): void => {
    timer = setTimeout(() => void (beating = beat()), millis).unref()
  }

  await mkdir(path, { mode: 0o700 })
  await touch().catch((error: unknown) => quietly(release).then(() => Promise.reject(error as Error)))
  beatIn(updateMillis)

  return async () => {
    hasEnded = true
    await beating
    clearTimeout(timer)
    await release()
  }
}

/** Answers the calls by which proper-lockfile makes a lock: the folder exists already. A new object each time, because it caches the precision of timestamps per object. */
const fileSystemFor = (made: Stats) => {
  let isMade = false
  return {
    mkdir: (_: string, done: NoParamCallback) => done(null),
    utimes: (path: string, accessed: Date, modified: Date, done: NoParamCallback) =>
      isMade ? fs.utimes(path, accessed, modified, done) : done(null),
    stat: (path: string, done: (error: Error | null, stats: Stats) => void) => {
      if (isMade) return fs.stat(path, done)
      isMade = true
      done(null, made)
    },
    rmdir: fs.rmdir,
    rmdirSync: fs.rmdirSync
  }
}

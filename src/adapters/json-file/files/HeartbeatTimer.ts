/** Touches a heartbeat folder (`docs/file-format.md` §11): this module until the first touch is due, then proper-lockfile. */
import type { NoParamCallback, Stats } from 'node:fs'
import * as fs from 'node:fs'
import { mkdir, rmdir, stat, utimes } from 'node:fs/promises'
import { codeOf, quietly } from './Fault.js'
import type { HeartbeatTiming } from './FileSystem.js'
import { lockFunction } from './lazyPackages.js'

/** As proper-lockfile does. */
const RETRY_MILLIS = 1_000

/** Creates the folder and keeps touching it, by itself if proper-lockfile fails. The returned function stops this and deletes the folder. */
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
  /** A function, because the linter assumes that an `await` leaves the variable unchanged. */
  const isOver = (): boolean => hasEnded
  let release = (): Promise<void> => rmdir(path)

  const touch = async (): Promise<void> => {
    const now = new Date()
    await utimes(path, now, now)
    touchedAt = now.getTime()
    seen = await stat(path)
  }

  /** The second comparison is for a touch after which the stat failed. */
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

  const optionsFor = (stats: Stats) => ({
    lockfilePath: path,
    realpath: false,
    stale: staleMillis,
    update: updateMillis,
    retries: 0,
    fs: fileSystemFor(stats),
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

/**
 * Simulates the calls by which proper-lockfile creates a lock, because the folder already exists; later calls are real. A new object each time,
 * because proper-lockfile caches the precision of timestamps per object.
 */
const fileSystemFor = (existing: Stats) => {
  let isCreated = false
  return {
    mkdir: (_: string, done: NoParamCallback) => done(null),
    utimes: (path: string, accessed: Date, modified: Date, done: NoParamCallback) =>
      isCreated ? fs.utimes(path, accessed, modified, done) : done(null),
    stat: (path: string, done: (error: Error | null, stats: Stats) => void) => {
      if (isCreated) return fs.stat(path, done)
      isCreated = true
      done(null, existing)
    },
    rmdir: fs.rmdir,
    rmdirSync: fs.rmdirSync
  }
}

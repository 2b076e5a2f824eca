/** Which process this is, and whether another one still lives. `docs/file-format.md` §5 is the norm. */
import { existsSync, readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { threadId } from 'node:worker_threads'
import { codeOf } from '../files/Fault.js'

/**
 * One thread of one process, for ever: pids are used again, but not by something that started at the same time.
 *
 * With `/proc`: `pid` and `thread` are the ids that it has for them, and `start` is the thread's in clock ticks since the
 * boot, as its time namespace counts them. Without: `thread` is Node's, `start` is the thread's start by the wall clock, and
 * `bootId`, `pidNamespace` and `timeNamespace` are null; `timeNamespace` also on kernels without one.
 *
 * @category model
 */
export interface ProcessIdentity {
  readonly host: string
  readonly pid: number
  readonly thread: number
  readonly start: string
  readonly bootId: string | null
  readonly pidNamespace: string | null
  readonly timeNamespace: string | null
}

/**
 * What the system knows of processes. `isAlive` is asked about another thread than this one; `undefined`: it can't tell.
 *
 * @category model
 */
export interface Processes {
  /** This process, as a claim record names it. Throws what the system says when it is short of something (`EMFILE`). */
  readonly self: () => ProcessIdentity
  /** Whether a process of a claim record lives, as far as this one can tell. */
  readonly isAlive: (other: ProcessIdentity) => boolean | undefined
}

/**
 * The processes of this machine.
 *
 * @category constructors
 */
export const nodeProcesses: Processes = {
  self: () => identify(),
  isAlive: (other) => {
    try {
      const self = identify()
      if (self.bootId !== null || other.bootId !== null)
        return isSameSystem(self, other) ? runs(self, other) : undefined
      // Containers can share a host name but not pids.
      if (process.platform === 'linux') return undefined
      return self.host === other.host && other.pid !== self.pid && isGone(other.pid) ? false : undefined
    } catch {
      return undefined
    }
  }
}

let known: ProcessIdentity | undefined

const identify = (): ProcessIdentity => (known ??= hasProc() ? fromProc() : fromNode())

/** Whether /proc tells who we are. What the system says when it is short of something is no answer to that. */
const hasProc = (): boolean => {
  try {
    fromProc()
    return true
  } catch (cause) {
    return ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EINTR'].includes(codeOf(cause))
  }
}

const fromNode = (): ProcessIdentity => ({
  host: hostname(),
  pid: process.pid,
  thread: threadId,
  start: String(performance.timeOrigin),
  bootId: null,
  pidNamespace: null,
  timeNamespace: null
})

/**
 * `/proc` may be one of another namespace, with other ids in it than `process.pid`: then only those are of use that it has
 * itself, and only to those who look at it from where we do.
 */
const fromProc = (): ProcessIdentity => {
  const [pid, , thread] = readlinkSync('/proc/thread-self').split('/').map(Number) as [number, number, number]
  const start = startOf(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1')) ?? ''
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
  const namespace = readlinkSync('/proc/self/ns/pid')
  const pidNamespace = pid === process.pid ? namespace : `${namespace}, seen from outside`
  // Kernels before 5.6 have no time namespaces.
  const timeNamespace = existsSync('/proc/self/ns/time') ? readlinkSync('/proc/self/ns/time') : null
  return { host: hostname(), pid, thread, start, bootId, pidNamespace, timeNamespace }
}

/** Whether pids and start times mean the same to both: same boot, pid namespace and time namespace, which shifts start times. */
const isSameSystem = (a: ProcessIdentity, b: ProcessIdentity): boolean =>
  a.bootId === b.bootId && a.pidNamespace === b.pidNamespace && a.timeNamespace === b.timeNamespace

const runs = (self: ProcessIdentity, { pid, thread, start }: ProcessIdentity): boolean | undefined => {
  try {
    return startOf(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1')) === start
  } catch (cause) {
    if (!['ENOENT', 'ESRCH'].includes(codeOf(cause))) return undefined
    // No such thread, if its process is to be seen or gone. Else /proc hides it from us (hidepid).
    return existsSync(`/proc/${pid}/stat`) || isGoneFrom(self, pid) ? false : undefined
  }
}

/** A /proc of another namespace has pids to which we can't send anything; but if it shows the first one, it shows all. */
const isGoneFrom = (self: ProcessIdentity, pid: number): boolean =>
  self.pid === process.pid ? isGone(pid) : existsSync('/proc/1/stat')

/** Sending signal 0 only asks. EPERM: it is there, and somebody else's. */
const isGone = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

/**
 * When the thread of a `stat` line started, unless it has ended and only waits to be reaped. The fields are counted from
 * the last parenthesis, since the second one is a name that may hold anything; they are 3 (state) and 22 (start).
 */
const startOf = (stat: string): string | undefined => {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' || fields[0] === 'x' ? undefined : fields[19]
}

/** Whether both are the same thread. */
export const equals = (a: ProcessIdentity, b: ProcessIdentity): boolean =>
  a.pid === b.pid &&
  a.thread === b.thread &&
  a.start === b.start &&
  a.bootId === b.bootId &&
  a.pidNamespace === b.pidNamespace &&
  a.timeNamespace === b.timeNamespace &&
  a.host === b.host

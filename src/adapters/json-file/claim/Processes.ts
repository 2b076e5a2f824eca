/** Identifies this process and checks whether another one lives (`docs/file-format.md` §5.1). */
import { existsSync, readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { threadId } from 'node:worker_threads'
import { codeOf } from '../files/Fault.js'

/**
 * Identifies one thread of one process. With `/proc`: its ids there, and `start` in clock ticks since the boot.
 * Without: Node's thread id, the wall-clock start, and null for the rest.
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
 * Identifies processes and checks whether they live.
 *
 * @category model
 */
export interface Processes {
  /** This process, as a claim record names it. Throws the system's error if resources are short (`EMFILE`). */
  readonly self: () => ProcessIdentity
  /** Returns whether another thread than the current one lives; `undefined` if that is uncertain. */
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
        return isSameSystem(self, other) ? isRunning(self, other) : undefined
      // Containers can share a host name but not pids.
      if (process.platform === 'linux') return undefined
      return self.host === other.host && other.pid !== self.pid && hasEnded(other.pid) ? false : undefined
    } catch {
      return undefined
    }
  }
}

let known: ProcessIdentity | undefined

const identify = (): ProcessIdentity => (known ??= identity())

const identity = (): ProcessIdentity => {
  try {
    return fromProc()
  } catch (cause) {
    // A shortage of resources does not mean that `/proc` is missing: if the shortage persists, the second call throws.
    return ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EINTR'].includes(codeOf(cause)) ? fromProc() : fromNode()
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

/** A `/proc` of another pid namespace has other ids than `process.pid`; they are valid only for processes that see the same `/proc`. */
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

/** True if pids and start times are comparable: same boot, pid namespace and time namespace, which shifts start times. */
const isSameSystem = (a: ProcessIdentity, b: ProcessIdentity): boolean =>
  a.bootId === b.bootId && a.pidNamespace === b.pidNamespace && a.timeNamespace === b.timeNamespace

const isRunning = (self: ProcessIdentity, { pid, thread, start }: ProcessIdentity): boolean | undefined => {
  try {
    return startOf(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1')) === start
  } catch (cause) {
    if (!['ENOENT', 'ESRCH'].includes(codeOf(cause))) return undefined
    // No such thread if its process is visible or has ended. Otherwise /proc hides it (hidepid).
    return existsSync(`/proc/${pid}/stat`) || hasEndedFor(self, pid) ? false : undefined
  }
}

/** The pids in a `/proc` of another pid namespace cannot be signalled; but a `/proc` that shows process 1 hides none. */
const hasEndedFor = (self: ProcessIdentity, pid: number): boolean =>
  self.pid === process.pid ? hasEnded(pid) : existsSync('/proc/1/stat')

/** Signal 0 only checks. EPERM: the process exists and belongs to another user. */
const hasEnded = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

/** The start time in a thread's `stat` line; undefined for a zombie. Counts from the last parenthesis: the name may contain any character. */
const startOf = (stat: string): string | undefined => {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'Z' || fields[0] === 'X' || fields[0] === 'x' ? undefined : fields[19]
}

export const equals = (a: ProcessIdentity, b: ProcessIdentity): boolean =>
  isSameSystem(a, b) && a.host === b.host && a.pid === b.pid && a.thread === b.thread && a.start === b.start

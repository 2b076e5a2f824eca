/**
 * Which process this is, and whether another one still lives. `docs/file-format.md` §5 is the norm.
 *
 * @since 0.1.0
 */
import { existsSync, readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { threadId } from 'node:worker_threads'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

/**
 * One thread of one process, for ever: pids are used again, but not by something that started at the same time.
 *
 * With `/proc`: `thread` is the system's id of the thread and `start` its start in clock ticks since the boot. Without:
 * `thread` is Node's, `start` when the thread began by the wall clock, and `bootId` and `pidNamespace` are null.
 *
 * @category model
 * @since 0.1.0
 */
export interface ProcessIdentity {
  readonly host: string
  readonly pid: number
  readonly thread: number
  readonly start: string
  readonly bootId: string | null
  readonly pidNamespace: string | null
}

/**
 * What the system knows of processes. `isAlive` is asked about another thread than this one; `undefined`: it can't tell.
 *
 * @category model
 * @since 0.1.0
 */
export interface Processes {
  /** This process, as a claim record names it. */
  readonly self: () => ProcessIdentity
  /** Whether a process of a claim record lives, as far as this one can tell. */
  readonly isAlive: (other: ProcessIdentity) => boolean | undefined
}

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/**
 * The processes of this machine.
 *
 * @category constructors
 * @since 0.1.0
 */
export const nodeProcesses: Processes = {
  self: () => identify(),
  isAlive: (other) => {
    const self = identify()
    if (self.bootId !== null || other.bootId !== null) return isSameSystem(self, other) ? runs(other) : undefined
    return self.host === other.host && other.pid !== self.pid && isGone(other.pid) ? false : undefined
  }
}

let known: ProcessIdentity | undefined

const identify = (): ProcessIdentity => (known ??= fromProc() ?? fromNode())

const fromNode = (): ProcessIdentity => ({
  host: hostname(),
  pid: process.pid,
  thread: threadId,
  start: String(performance.timeOrigin),
  bootId: null,
  pidNamespace: null
})

const fromProc = (): ProcessIdentity | undefined => {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    const start = startOf(readFileSync(`/proc/self/task/${thread}/stat`, 'latin1'))
    if (start === undefined) return undefined
    return {
      host: hostname(),
      pid: process.pid,
      thread,
      start,
      bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim(),
      pidNamespace: readlinkSync('/proc/self/ns/pid')
    }
  } catch {
    return undefined
  }
}

/** Pids mean the same to both: one boot of one kernel, one pid namespace. */
const isSameSystem = (a: ProcessIdentity, b: ProcessIdentity): boolean =>
  a.bootId === b.bootId && a.pidNamespace === b.pidNamespace

const runs = ({ pid, thread, start }: ProcessIdentity): boolean | undefined => {
  try {
    return startOf(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1')) === start
  } catch {
    // No such thread, if its process is gone or to be seen. Else /proc hides it from us (hidepid).
    return isGone(pid) || existsSync(`/proc/${pid}/stat`) ? false : undefined
  }
}

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

// ---------------------------------------------------------------------------------------------------------------------
// instances
// ---------------------------------------------------------------------------------------------------------------------

/**
 * Whether both are the same thread.
 *
 * @category instances
 * @since 0.1.0
 */
export const equals = (a: ProcessIdentity, b: ProcessIdentity): boolean =>
  a.pid === b.pid &&
  a.thread === b.thread &&
  a.start === b.start &&
  a.bootId === b.bootId &&
  a.pidNamespace === b.pidNamespace &&
  a.host === b.host

/**
 * Process groups: a command and all that it started, to be ended together.
 *
 * A group is known by its leader's process id, which the system gives to nobody else while a member lives. A process
 * that makes a session of its own (a daemon) has left the group and is not reached.
 *
 * Windows knows no such groups: there the tree of processes is ended, by force and at once.
 */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

export const isWindows = process.platform === 'win32'

const POLL_MILLIS = 20

/** How long the system may take to end a group that was killed. More only if it hangs in the kernel. */
const KILLED_MILLIS = 2_000

/** The groups whose commands run. */
const running = new Set<number>()

/** Ends every group whose command still runs, by force. */
export const killAll = (): void => running.forEach((leader) => signalGroup(leader, 'SIGKILL'))

/**
 * Has a group end together with this process, however that comes to exit by itself; the result calls it off. (Of a
 * SIGKILL a process learns nothing: then the group goes on.)
 */
export const guard = (leader: number): (() => void) => {
  if (running.size === 0) process.on('exit', killAll)
  running.add(leader)
  return () => {
    running.delete(leader)
    if (running.size === 0) process.off('exit', killAll)
  }
}

/** Ends a group: SIGTERM, and SIGKILL for what still lives after the grace. Resolves when nothing of it lives. */
export const stopGroup = async (leader: number, graceMillis: number): Promise<void> => {
  if (!signalGroup(leader, 'SIGTERM') || (await isGone(leader, graceMillis))) return
  signalGroup(leader, 'SIGKILL')
  await isGone(leader, KILLED_MILLIS)
}

/** Whether there was anybody to get the signal. */
const signalGroup = (leader: number, signal: 'SIGTERM' | 'SIGKILL' | 0): boolean => {
  if (isWindows) return killTree(leader)
  try {
    return process.kill(-leader, signal)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

const killTree = (root: number): boolean => {
  spawn('taskkill', ['/pid', String(root), '/t', '/f'], { stdio: 'ignore', windowsHide: true }).on('error', () => {})
  return false
}

/** Waits until a group is gone, so long at most. */
const isGone = async (leader: number, millis: number): Promise<boolean> => {
  const deadline = performance.now() + millis
  while (isAlive(leader)) {
    const left = deadline - performance.now()
    if (left <= 0) return false
    await new Promise((resolve) => setTimeout(resolve, Math.min(left, POLL_MILLIS)))
  }
  return true
}

const isAlive = (leader: number): boolean =>
  signalGroup(leader, 0) && (process.platform !== 'linux' || hasLivingMember(leader))

/**
 * Dead processes count as members until their parent asks for them, and in many a container nobody does. So look
 * closer: `/proc/<pid>/stat` is `pid (any text) state parent group …`, and state Z is dead.
 */
const hasLivingMember = (leader: number): boolean => {
  try {
    return readdirSync('/proc')
      .filter((entry) => /^\d+$/.test(entry))
      .some((pid) => {
        const [state, , group] = stat(pid)
        return group === String(leader) && state !== 'Z' && state !== 'X'
      })
  } catch {
    return true
  }
}

const stat = (pid: string): ReadonlyArray<string> => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

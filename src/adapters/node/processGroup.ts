/** Ends process groups: a command and everything that it started, except daemons. On Windows, it kills the process tree. */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

export const isWindows = process.platform === 'win32'

const POLL_MILLIS = 20

/** How long to wait for a killed group to end. Only a process that hangs in the kernel takes longer. */
const KILLED_MILLIS = 2_000

/** The groups of running commands. */
const running = new Set<number>()

export const killAll = (): void => running.forEach((leader) => signalGroup(leader, 'SIGKILL'))

/** Kills a group when this process exits, unless the returned function is called first. After a SIGKILL of this process the group keeps running. */
export const guard = (leader: number): (() => void) => {
  if (running.size === 0) process.on('exit', killAll)
  running.add(leader)
  return () => {
    running.delete(leader)
    if (running.size === 0) process.off('exit', killAll)
  }
}

/** Ends a group: SIGTERM, then SIGKILL after the grace period. Resolves when no member lives. */
export const stopGroup = async (leader: number, graceMillis: number): Promise<void> => {
  if (!signalGroup(leader, 'SIGTERM') || (await endsWithin(leader, graceMillis))) return
  signalGroup(leader, 'SIGKILL')
  await endsWithin(leader, KILLED_MILLIS)
}

/** Returns false if no member received the signal, and always on Windows, where no second signal is needed. */
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

/** Waits until no member lives; returns false if one still lives after `millis`. */
const endsWithin = async (leader: number, millis: number): Promise<boolean> => {
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

/** Reads `/proc/<pid>/stat` (`pid (name) state parent group …`): dead processes (state Z) are members until their parent reaps them. */
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

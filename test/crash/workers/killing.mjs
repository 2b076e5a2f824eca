// A file system on which this process dies before, during or after the k-th call.
import { appendFileSync, readdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.ts'

const die = () => {
  process.kill(process.pid, 'SIGKILL')
  // The signal is pending until the kernel returns to us, which it never does.
  for (;;);
}

const isPromise = (value) => typeof value?.then === 'function'

/**
 * `kill: {at, of, when, delay}`; `at` counts the calls named `of`, or all calls without it; `when`: `before`, `torn` (half of the bytes are written,
 * or all files but one deleted), `during` (after `delay` ms), `after`.
 * `calls` counts. `log`: where the fatal call is noted, for people.
 */
export const killingFileSystem = ({ kill, log }) => {
  const counter = { calls: 0, names: [] }
  let counted = 0
  const note = (name, args) => {
    if (log !== undefined) appendFileSync(log, `${kill.when} call ${kill.at}: ${name} ${String(args[0])}\n`)
  }

  const tearing = {
    write: async (fd, bytes, position) => {
      await nodeFileSystem.write(fd, bytes.subarray(0, bytes.length >> 1), position)
      die()
    },
    writeSync: (fd, bytes, position) => {
      nodeFileSystem.writeSync(fd, bytes.subarray(0, bytes.length >> 1), position)
      die()
    },
    removeTree: (path) => {
      const entries = readdirSync(path, { recursive: true, withFileTypes: true })
      const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
      for (const file of files.sort().slice(1)) unlinkSync(file)
      die()
    }
  }

  const fatal = (name, call, args) => {
    note(name, args)
    if (kill.when === 'before') die()
    if (kill.when === 'torn') return (tearing[name] ?? die)(...args)
    if (kill.when === 'during') {
      setTimeout(die, kill.delay ?? 0)
      return call(...args)
    }
    if (name === 'fdatasync') return call(args[0], die)
    const result = call(...args)
    return isPromise(result) ? result.then(die, die) : die()
  }

  const fs = Object.fromEntries(
    Object.entries(nodeFileSystem).map(([name, call]) => [
      name,
      (...args) => {
        counter.calls += 1
        counter.names.push(name)
        const counts = (kill?.of ?? name) === name
        if (counts) counted += 1
        return counts && counted === kill?.at ? fatal(name, call, args) : call(...args)
      }
    ])
  )
  return { fs, counter }
}

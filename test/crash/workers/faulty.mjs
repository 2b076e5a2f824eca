// A file system with faults: the calls of one name fail with an error code, a number of times from the n-th one on.
import { nodeFileSystem } from '../../../src/adapters/json-file/files/nodeFileSystem.ts'

const fault = (code, name) => Object.assign(new Error(`${code}: injected, ${name}`), { code, syscall: name })

const rejecting = {
  lstatSync: 'throw',
  placeSync: 'throw',
  writeSync: 'throw',
  ftruncateSync: 'throw',
  unlinkSync: 'throw',
  fdatasync: 'callback'
}

/** `{call, code, from, times}`; `also`: the call still does its work before it fails. */
export const faultyFileSystem = ({ call, code, from = 1, times = Infinity }) => {
  let count = 0
  const broken = (...args) => {
    count += 1
    if (count < from || count >= from + times) return nodeFileSystem[call](...args)
    const error = fault(code, call)
    if (rejecting[call] === 'throw') throw error
    if (rejecting[call] !== 'callback') return Promise.reject(error)
    setImmediate(() => args[1](error))
    return undefined
  }
  return { ...nodeFileSystem, [call]: broken }
}

// Loaded before a process: it dies at a call to the file system that changes its store, or lists these calls in a file.
//
// TEST_KILL: {state, kill, log}. `kill`: {at, when} for the n-th call, or {saving, when} for the sync that follows the write of this text (a
// regular expression); `when`: `before`, `torn` (half of the bytes are written), `during` (after `delay` ms), `after`.
const fs = require('node:fs')
const { syncBuiltinESMExports } = require('node:module')

const order = process.env.TEST_KILL
if (order !== undefined) {
  // The commands of steps are processes too; they die only with their own.
  delete process.env.TEST_KILL
  const { state, kill, log } = JSON.parse(order)
  const { writeSync, readlinkSync } = fs
  const listing = fs.openSync(log, 'a')
  const saving = kill?.saving === undefined ? undefined : new RegExp(kill.saving)
  let count = 0
  let saved = false

  const die = () => {
    process.kill(process.pid, 'SIGKILL')
    // The signal is pending until the kernel returns to us, which it never does.
    for (;;);
  }

  const placeOf = (fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  }
  const isState = (target) => String(typeof target === 'number' ? placeOf(target) : target).startsWith(state)

  const isFatal = (name, args) => {
    count += 1
    if (kill === undefined) writeSync(listing, `${JSON.stringify(name)}\n`)
    if (saving === undefined) return count === kill?.at
    if (name === 'writeSync' && saving.test(Buffer.from(args[1]).toString('utf8'))) saved = true
    return saved && name === 'fdatasync'
  }

  const fatal = (name, kind, args, call) => {
    writeSync(listing, `${kill.when} call ${count}: ${name} ${isState(args[0]) ? String(args[0]) : ''}\n`)
    if (kill.when === 'before') die()
    if (kill.when === 'torn') {
      const bytes = name.startsWith('write') ? Buffer.from(args[1]) : undefined
      if (bytes !== undefined)
        writeSync(args[0], bytes, 0, bytes.length >> 1, typeof args[4] === 'number' ? args[4] : null)
      die()
    }
    if (kill.when === 'during') {
      setTimeout(die, kill.delay)
      return call(args)
    }
    if (kind === 'callback') return call([...args.slice(0, -1), die])
    const result = call(args)
    return kind === 'promise' ? result.then(die, die) : die()
  }

  const patch = (owner, name, kind) => {
    const real = owner[name]
    const call = (args) => real.apply(owner, args)
    owner[name] = (...args) => {
      if (!isState(args[0]) || !isFatal(name, args)) return call(args)
      return fatal(name, kind, args, call)
    }
  }

  for (const name of ['mkdir', 'open', 'write', 'fdatasync', 'fsync', 'rename']) patch(fs, name, 'callback')
  for (const name of ['writeSync', 'ftruncateSync', 'renameSync', 'unlinkSync', 'rmdirSync']) patch(fs, name, 'sync')
  for (const name of ['mkdir', 'link', 'rm']) patch(fs.promises, name, 'promise')
  const { open } = fs.promises
  fs.promises.open = async (path, ...rest) => {
    const handle = await open(path, ...rest)
    if (!isState(path)) return handle
    const sync = handle.sync.bind(handle)
    handle.sync = () => (isFatal('fsyncFolder', []) ? fatal('fsyncFolder', 'promise', [path], sync) : sync())
    return handle
  }
  syncBuiltinESMExports()
}

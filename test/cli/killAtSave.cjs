/** Loaded before the command: the process kills itself before or after a certain fdatasync, or counts them in a file. */
const fs = require('node:fs')
const { syncBuiltinESMExports } = require('node:module')

const [at, when] = (process.env.TEST_KILL_AT ?? '').split(' ')
const { fdatasync } = fs
let count = 0

const die = () => process.kill(process.pid, 'SIGKILL')

fs.fdatasync = (fd, done) => {
  count += 1
  if (at === '') fs.writeFileSync(process.env.TEST_COUNT, String(count))
  if (count !== Number(at)) return fdatasync(fd, done)
  if (when === 'before') return die()
  fdatasync(fd, (error) => (error === null ? die() : done(error)))
}
syncBuiltinESMExports()

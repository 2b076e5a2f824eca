// Kills the process before it appends the line DOGEAR_TEST_KILL to a file.
const fs = require('node:fs')
const { syncBuiltinESMExports } = require('node:module')

const { appendFileSync } = fs
fs.appendFileSync = (file, text, ...options) => {
  if (text === `${process.env.DOGEAR_TEST_KILL}\n`) process.kill(process.pid, 'SIGKILL')
  return appendFileSync(file, text, ...options)
}
syncBuiltinESMExports()

// Kills the process before it appends the line DOGEAR_TEST_KILL to a file; fails the append of DOGEAR_TEST_FAIL.
// While the file DOGEAR_TEST_HOLD exists, pauses do not end.
const fs = require('node:fs')
const { syncBuiltinESMExports } = require('node:module')
const timers = require('node:timers/promises')

const { appendFileSync } = fs
fs.appendFileSync = (file, text, ...options) => {
  if (text === `${process.env.DOGEAR_TEST_KILL}\n`) process.kill(process.pid, 'SIGKILL')
  if (text === `${process.env.DOGEAR_TEST_FAIL}\n`) throw new Error('no network')
  return appendFileSync(file, text, ...options)
}

const { setTimeout: pause } = timers
timers.setTimeout = async (...options) => {
  await pause(...options)
  while (fs.existsSync(process.env.DOGEAR_TEST_HOLD ?? '')) await pause(20, undefined, options[2])
}
syncBuiltinESMExports()

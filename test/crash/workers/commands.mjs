// A process that does what it is told on stdin, one JSON object a line, and answers on stdout the same way.
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

export const tell = (value) => writeSync(1, `${JSON.stringify(value)}\n`)

export const obey = (commands) => {
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { do: name, ...given } = JSON.parse(line)
    void commands[name](given)
  })
  tell({ ready: process.pid })
}

/** All who are told the same moment start at it, give or take what the scheduler does. */
export const startAt = (moment = 0) => {
  while (Date.now() < moment);
}

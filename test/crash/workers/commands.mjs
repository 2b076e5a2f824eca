// A process that executes commands from stdin, one JSON object per line, and answers on stdout in the same way.
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

/** All processes with the same moment start at it, apart from scheduling delays. */
export const startAt = (moment = 0) => {
  while (Date.now() < moment);
}

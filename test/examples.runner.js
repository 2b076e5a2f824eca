// Imports the modules that it is given, one after another, and sends what each threw: '' for nothing.
import { mkdtempSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { inspect } from 'node:util'
import { pathToFileURL } from 'node:url'

const limitMillis = 20_000

async function outcome(path) {
  process.chdir(mkdtempSync(`${scratch}/`))
  const strays = []
  const note = (error) => strays.push(inspect(error))
  process.on('unhandledRejection', note).on('uncaughtException', note)
  const ended = import(pathToFileURL(path).href).then(() => wait(0)).then(() => '', inspect)
  const late = wait(limitMillis, `still running after ${limitMillis} ms`)
  const thrown = await Promise.race([ended, late])
  process.off('unhandledRejection', note).off('uncaughtException', note)
  const code = process.exitCode === undefined ? [] : [`exit code ${process.exitCode}`]
  process.exitCode = undefined
  return [thrown, ...strays, ...code].filter((text) => text !== '').join('\n')
}

const scratch = process.cwd()
for (const path of process.argv.slice(2)) process.send(await outcome(path))
process.exit()

#!/usr/bin/env node
/** The `dogear` command. `--version` loads nothing else. */
import manifest from '../../package.json' with { type: 'json' }
import type { ExitCode } from './ExitCode.js'
import * as Output from './terminal/Output.js'

/** Copied, because the table of exit codes would load too much. */
const STORAGE: (typeof ExitCode)['storage'] = 5

Output.watch(process, STORAGE)

const [only, ...more] = process.argv.slice(2)

if ((only === '--version' || only === '-V') && more.length === 0) {
  process.stdout.write(`${manifest.version}\n`)
} else {
  const loaded = await import('./commandLine.js').catch((error: Error) => Output.reportShortage(process, error))
  process.exitCode = loaded === undefined ? STORAGE : await loaded.main(process.argv.slice(2), manifest.version)
}

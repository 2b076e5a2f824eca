#!/usr/bin/env node
/**
 * The `dogear` command. It loads nothing to tell its version, and everything else only when it is needed.
 *
 * @since 0.1.0
 */
import manifest from '../../package.json' with { type: 'json' }

const [only, ...more] = process.argv.slice(2)

if ((only === '--version' || only === '-V') && more.length === 0) {
  process.stdout.write(`${manifest.version}\n`)
} else {
  const { main } = await import('./commandLine.js')
  process.exitCode = await main(process.argv.slice(2), manifest.version)
}

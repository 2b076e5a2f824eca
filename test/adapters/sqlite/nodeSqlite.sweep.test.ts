/** The tests of the SQLite store on the versions of Node that bring `node:sqlite`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { nodes } from '../../matrix/nodes.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))

const withSqlite = [...nodes()].filter(([version]) => Number(/^v(\d+)/.exec(version)?.[1]) >= 22)

test.each(withSqlite)('the store keeps its laws with node:sqlite on Node %s', async (_, node) => {
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', '--reporter', 'verbose']
  // Node 22.12 has it behind a flag, which later versions accept.
  const env = { ...process.env, DOGEAR_SWEEP: '0', NO_COLOR: '1', NODE_OPTIONS: '--experimental-sqlite' }
  const tests = ['test/adapters/sqlite', 'test/adapters/requests']
  const child = spawn(node, [...args, ...tests], { cwd: root, env })
  let output = ''
  child.stdout.on('data', (chunk) => (output += String(chunk)))
  const [code] = (await once(child, 'close')) as [number]
  expect(code, output.slice(-3_000)).toBe(0)
  expect(output).toContain('the SQLite store with node:sqlite keeps the laws of a checkpoint store')
})

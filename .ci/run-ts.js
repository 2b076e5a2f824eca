// Runs a TypeScript file of this project with Node: bundled into test/.tmp, packages left as they are. Without the paths
// of tsconfig.json, 'dogear' is the built package in dist/.
import { spawnSync } from 'node:child_process'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const [file, ...rest] = process.argv.slice(2)
const outfile = join(fileURLToPath(new URL('../test/.tmp', import.meta.url)), basename(file).replace(/ts$/, 'mjs'))
await build({
  entryPoints: [file],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  tsconfigRaw: {}
})
const flags = rest.filter((flag) => flag.startsWith('--expose') || flag.startsWith('--cpu-prof'))
const { status } = spawnSync(process.execPath, [...flags, outfile, ...rest.filter((flag) => !flags.includes(flag))], {
  stdio: 'inherit'
})
process.exitCode = status ?? 1

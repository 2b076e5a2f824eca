import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'

const sweep = process.env['DOGEAR_SWEEP'] === '1'
const minutes = 60_000

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.test.ts'],
    // Sweeps take long: they are files of their own, or tests that do more when DOGEAR_SWEEP is set.
    exclude: [...configDefaults.exclude, 'test/.tmp/**', ...(sweep ? [] : ['test/**/*.sweep.test.ts'])],
    pool: 'forks',
    // Many tests mostly wait for other processes.
    maxWorkers: availableParallelism() * 2,
    testTimeout: sweep ? 60 * minutes : minutes / 2,
    hookTimeout: 5 * minutes,
    reporters: ['default', 'json'],
    outputFile: { json: 'test/.tmp/results.json' }
  }
})

import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import type { TestSpecification } from 'vitest/node'
import { BaseSequencer } from 'vitest/node'

const sweep = process.env['DOGEAR_SWEEP'] === '1'
const minutes = 60_000

/** Ratios of speed are measured on a quiet machine: alone, before all others. */
const SPEED = ['test/domain/speed.test.ts']

/** A round allocates less than this, so that the fastest ones are those that no collection of garbage stopped. */
const ROOMY = ['--min-semi-space-size=64', '--max-semi-space-size=128']

const PURE = ['test/{domain,executor,hosts,promise,view}/**/*.test.ts']

/** Sweeps take long: they are files of their own, or tests that do more when DOGEAR_SWEEP is set. */
const LEFT_OUT = [...configDefaults.exclude, 'test/.tmp/**', ...(sweep ? [] : ['test/**/*.sweep.test.ts'])]

/** A long file that starts last would run alone. */
class LongFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const all = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification): boolean => /postgres\/conformance\.test\.ts$/.test(moduleId)
    return [...all.filter(isLong), ...all.filter((one) => !isLong(one))]
  }
}

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    projects: [
      { extends: true, test: { name: 'speed', include: SPEED, execArgv: ROOMY, sequence: { groupOrder: 0 } } },
      // These tests leave nothing behind in their process, so a worker loads the modules once for all of its files.
      {
        extends: true,
        test: {
          name: 'pure',
          include: PURE,
          exclude: [...LEFT_OUT, ...SPEED],
          isolate: false,
          sequence: { groupOrder: 1 }
        }
      },
      {
        extends: true,
        test: {
          name: 'process',
          include: ['test/**/*.test.ts'],
          exclude: [...LEFT_OUT, ...PURE],
          sequence: { groupOrder: 1 }
        }
      }
    ],
    // Otherwise a title cuts `$value` after 40 characters.
    chaiConfig: { truncateThreshold: 0 },
    pool: 'forks',
    sequence: { sequencer: LongFirst },
    // Many tests mostly wait for other processes.
    maxWorkers: availableParallelism() * 2,
    testTimeout: sweep ? 60 * minutes : minutes / 2,
    hookTimeout: 5 * minutes,
    reporters: ['default', 'json'],
    outputFile: { json: 'test/.tmp/results.json' }
  }
})

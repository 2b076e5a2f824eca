/** `npm run bench`: the tables of benchmarks/README.md. Compare ratios; `--quick` omits the long runs. */
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { postgres, sqlite } from './databases.js'
import { durable } from './durable.js'
import { listing } from './listing.js'
import { PAGE, postgresPages, sqlitePages } from './paging.js'
import { linear, loading, mapped, planning } from './loading.js'
import { restarting } from './restarting.js'
import { ALL, scaling } from './scaling.js'
import { compare } from './starting.js'
import { resuming, subSteps } from './subSteps.js'

const quick = process.argv.includes('--quick')
const write = (line: string): void => void process.stdout.write(`${line}\n`)
const fixed = (value: number, digits = 2): string => value.toFixed(digits)

const durableTable = async (root: string): Promise<void> => {
  write('| steps | µs a step | limit, µs | ratio | saves a step | written ÷ records | heap bytes a step |')
  write('|---|---|---|---|---|---|---|')
  await durable(root, 100)
  for (const steps of quick ? [100, 1_000] : [100, 1_000, 10_000, 100_000]) {
    const one = await durable(root, steps)
    const share = one.writtenBytes / one.recordBytes
    write(
      `| ${steps} | ${fixed(one.microsPerStep, 0)} | ${fixed(one.limitMicros, 0)} | ${fixed(one.ratio)} | ` +
        `${fixed(one.savesPerStep, 3)} | ${fixed(share)} | ${fixed(one.heapBytesPerStep, 0)} |`
    )
  }
}

const databasesTable = async (root: string): Promise<void> => {
  write('| store | steps | µs a step | the driver, µs | ratio |')
  write('|---|---|---|---|---|')
  for (const steps of quick ? [1_000] : [1_000, 10_000])
    for (const [what, one] of [
      ['PostgreSQL', await postgres(steps)],
      ['SQLite', await sqlite(root, steps)]
    ] as const)
      write(
        `| ${what} | ${steps} | ${fixed(one.microsPerStep, 0)} | ${fixed(one.driverMicros, 0)} | ${fixed(one.ratio)} |`
      )
}

const subStepsTable = async (root: string): Promise<void> => {
  write('| sub-steps of one task | µs a sub-step | limit, µs | ratio | saves a sub-step |')
  write('|---|---|---|---|---|')
  await subSteps(root, 100)
  for (const count of quick ? [1_000] : [1_000, 10_000]) {
    const one = await subSteps(root, count)
    write(
      `| ${count} | ${fixed(one.microsPerSubStep, 0)} | ${fixed(one.limitMicros, 0)} | ${fixed(one.ratio)} | ` +
        `${fixed(one.savesPerSubStep, 3)} |`
    )
  }
  write('')
  write('| recorded at the kill | first new sub-step, ms | JSON.parse, ms | ratio |')
  write('|---|---|---|---|')
  for (const count of quick ? [1_000] : [1_000, 10_000]) {
    const one = await resuming(root, count, quick ? 3 : 11)
    write(`| ${one.recorded} | ${fixed(one.firstMillis, 1)} | ${fixed(one.parseMillis, 1)} | ${fixed(one.ratio)} |`)
  }
}

const loadingTable = async (root: string): Promise<void> => {
  write('| completed | load and plan, ms | JSON.parse, ms | ratio | heap bytes for each |')
  write('|---|---|---|---|---|')
  for (const count of quick ? [1_000] : [1_000, 10_000]) {
    for (const [what, program] of [
      ['steps', linear(count)],
      ['items of a map', mapped(count)]
    ] as const) {
      const one = await loading(root, program, 21)
      write(
        `| ${count} ${what} | ${fixed(one.loadAndPlanMillis, 1)} | ${fixed(one.parseMillis, 1)} | ${fixed(one.ratio)} | ` +
          `${fixed(one.heapBytes / count, 0)} |`
      )
    }
  }
}

const planningTable = async (): Promise<void> => {
  write('| steps | planResume, ms |')
  write('|---|---|')
  for (const steps of quick ? [10_000] : [10_000, 100_000])
    write(`| ${steps} | ${fixed((await planning(steps, 11)).millis, 1)} |`)
}

const startingTable = (): void => {
  const dist = join(process.cwd(), 'dist')
  const rounds = quick ? 5 : 21
  const importing = (name: string): ReadonlyArray<string> => ['--input-type=module', '--eval', `import '${name}'`]
  const empty = ['--input-type=module', '--eval', '0']
  write('| what | ms | an empty process, ms | ratio | over it, ms |')
  write('|---|---|---|---|---|')
  for (const [what, ours, theirs] of [
    ['dogear --version', [join(dist, 'cli/main.js'), '--version'], ['--eval', '0']],
    ["import 'dogear/promise'", importing('dogear/promise'), empty],
    ["import 'dogear'", importing('dogear'), empty]
  ] as const) {
    const { millis, againstMillis, ratio } = compare(ours, theirs, rounds)
    write(
      `| ${what} | ${fixed(millis, 0)} | ${fixed(againstMillis, 0)} | ${fixed(ratio)} | ${fixed(millis - againstMillis, 0)} |`
    )
  }
}

const restartingTable = async (root: string): Promise<void> => {
  write('| steps, killed at half | import, ms | build, ms | call to the first step, ms |')
  write('|---|---|---|---|')
  for (const steps of quick ? [100, 1_000] : [100, 1_000, 10_000]) {
    const one = await restarting(root, steps, quick ? 3 : 11)
    write(`| ${steps} | ${fixed(one.imports, 0)} | ${fixed(one.build, 0)} | ${fixed(one.first, 0)} |`)
  }
}

const scalingTable = (): void => {
  write('| what | count | ms | µs each | heap bytes each, all in flight |')
  write('|---|---|---|---|---|')
  for (const what of ALL)
    for (const count of quick ? [1_000, 2_000] : [10_000, 20_000]) {
      const { millis, heapBytes } = scaling(what, count, quick ? 3 : 5)
      const held = heapBytes === undefined ? '' : fixed(heapBytes, 0)
      write(`| ${what} | ${count} | ${fixed(millis, 0)} | ${fixed((millis * 1_000) / count, 0)} | ${held} |`)
    }
}

const listingTable = async (root: string): Promise<void> => {
  write('| completed runs | list, ms | prune, ms |')
  write('|---|---|---|')
  for (const count of quick ? [1_000] : [1_000, 10_000]) {
    const { listMillis, pruneMillis } = await listing(root, count)
    write(`| ${count} | ${fixed(listMillis, 0)} | ${fixed(pruneMillis, 0)} |`)
  }
}

const pagingTable = async (root: string): Promise<void> => {
  write(`| store | completed runs | a page of ${PAGE}, ms | all pages, ms |`)
  write('|---|---|---|---|')
  for (const count of quick ? [1_000] : [1_000, 10_000])
    for (const [what, { page, all }] of [
      ['PostgreSQL', await postgresPages(count)],
      ['SQLite', await sqlitePages(root, count)]
    ] as const)
      write(`| ${what} | ${count} | ${fixed(page, 1)} | ${fixed(all, 0)} |`)
}

const root = await mkdtemp(join(process.cwd(), 'test/.tmp/bench-'))
await durableTable(root)
write('')
await databasesTable(root)
write('')
await subStepsTable(root)
write('')
await loadingTable(root)
write('')
await planningTable()
write('')
startingTable()
write('')
await restartingTable(root)
write('')
scalingTable()
write('')
await listingTable(root)
write('')
await pagingTable(root)
await rm(root, { recursive: true })

/**
 * `npm run bench:against -- <folder>`: a linear run of this build against one of another, which was built in that folder. Runs
 * alternate in one process; what counts is the ratio of their medians, and whether they write the same.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as JsonFile from 'dogear/json-file'
import type * as Promised from 'dogear/promise'

const STEPS = 2_000
const ROUNDS = 41

interface Build {
  readonly name: string
  readonly promise: typeof Promised
  readonly files: typeof JsonFile
}

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly default: string }>>
}

const buildIn = async (name: string, folder: string): Promise<Build> => {
  const { exports } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest
  const load = (entry: string): Promise<unknown> =>
    import(pathToFileURL(join(folder, exports[entry]?.default ?? entry)).href)
  return {
    name,
    promise: (await load('./promise')) as typeof Promised,
    files: (await load('./json-file')) as typeof JsonFile
  }
}

/** The clock advances by one millisecond per reading, so that two runs can write the same bytes. */
const steady = () => {
  let now = Date.UTC(2026, 0, 2)
  return { now: () => (now += 1), sleep: () => () => Promise.resolve() }
}

/** One run: its milliseconds, and the bytes that it wrote without random parts. */
const once = async ({ promise, files }: Build, root: string): Promise<{ millis: number; written: string }> => {
  const home = await mkdtemp(join(root, 'home-'))
  let flow = promise.workflow('linear')
  for (let step = 0; step < STEPS; step++) flow = flow.step(`step-${step}`, () => step)
  const begun = performance.now()
  const environment = { clock: steady(), owner: { host: 'h', pid: 1 } }
  await promise.run(flow, { id: 'r', storage: files.jsonFileStorage(home), environment })
  const millis = performance.now() - begun
  const history = join(home, 'runs/r/history')
  const names = (await readdir(history)).toSorted()
  const texts = await Promise.all(names.map((name) => readFile(join(history, name), 'utf8')))
  await rm(home, { recursive: true })
  return { millis, written: texts.map(plain).join('') }
}

/** Checksums, tokens, owners, times and paths. */
const plain = (text: string): string =>
  text
    .replaceAll(/"sum":"[^"]*"/g, '"sum"')
    .replaceAll(/^.*"kind":"claim".*$/gm, 'claim')
    .replaceAll(/^.*"kind":"released".*$/gm, 'released')
    .replaceAll('\0', '')

const median = (all: ReadonlyArray<number>): number => all.toSorted((a, b) => a - b)[all.length >> 1] as number

const [folder] = process.argv.slice(2)
assert.ok(folder !== undefined, 'which folder has the other build?')
const root = await mkdtemp(join(process.cwd(), 'test/.tmp/against-'))
const [ours, theirs] = [await buildIn('this build', process.cwd()), await buildIn(folder, resolve(folder))]
const taken = new Map<Build, Array<number>>([
  [ours, []],
  [theirs, []]
])
const written = [await once(ours, root), await once(theirs, root)].map((one) => one.written)
for (let round = 0; round < ROUNDS; round++)
  for (const build of round % 2 === 0 ? [ours, theirs] : [theirs, ours])
    taken.get(build)?.push((await once(build, root)).millis)
const [mine, other] = [median(taken.get(ours) ?? []), median(taken.get(theirs) ?? [])]
process.stdout.write(
  `${STEPS} steps, median of ${ROUNDS}: ${mine.toFixed(0)} ms here, ${other.toFixed(0)} ms there: ${(mine / other).toFixed(3)}\n` +
    `what is written is ${written[0] === written[1] ? 'the same' : 'NOT the same'}\n`
)
await rm(root, { recursive: true })
process.exitCode = written[0] === written[1] ? 0 : 1

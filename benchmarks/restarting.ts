/** Kills a run at half of its steps and resumes it in a fresh process: the time of each part until the first step that runs. */
import { spawnSync } from 'node:child_process'
import { cp, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'

/** Milliseconds in the fresh process. `start`: until its first line, as an empty process; `first`: from the call to the step. */
export interface Restart {
  readonly start: number
  readonly imports: number
  readonly build: number
  readonly first: number
}

const PROGRAM = `
const started = performance.now()
const { runOutcome, workflow } = await import('dogear/promise')
const { jsonFileStorage } = await import('dogear/json-file')
const imported = performance.now()
const [folder, count, life] = process.argv.slice(1)
const half = Number(count) / 2
const step = (index) => {
  if (index === half && life === 'killed') process.kill(process.pid, 'SIGKILL')
  if (index < half || life === 'killed') return index
  const [start, imports, build] = [started, imported - started, built - imported]
  console.log(JSON.stringify({ start, imports, build, first: performance.now() - built }))
  process.exit()
}
let flow = workflow('restarted')
for (let index = 0; index < Number(count); index++) flow = flow.step('step-' + index, () => step(index))
const built = performance.now()
await runOutcome(flow, { id: 'r', storage: jsonFileStorage(folder) })
`

const spawned = (folder: string, steps: number, life: string): string =>
  spawnSync(process.execPath, ['--input-type=module', '--eval', PROGRAM, folder, String(steps), life], {
    encoding: 'utf8'
  }).stdout

const median = (values: ReadonlyArray<number>): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

/** The medians of several resumes of one killed run, each of a copy. */
export const restarting = async (root: string, steps: number, rounds: number): Promise<Restart> => {
  const killed = join(root, `restarted-${steps}`)
  spawned(killed, steps, 'killed')
  const all: Array<Restart> = []
  for (let round = 0; round < rounds; round++) {
    const copy = `${killed}-${round}`
    // Sockets cannot be copied; without its socket an owner is looked for by its process id.
    await cp(killed, copy, { recursive: true, filter: (path) => !basename(path).startsWith('alive-') })
    // The saves of the killed run were synced, so its copy is, too.
    spawnSync('sync')
    all.push(JSON.parse(spawned(copy, steps, 'resumed')) as Restart)
    await rm(copy, { recursive: true })
  }
  const of = (part: keyof Restart): number => median(all.map((one) => one[part]))
  return { start: of('start'), imports: of('imports'), build: of('build'), first: of('first') }
}

/** Builds long chains, and runs wide waves and maps in memory, each in a fresh process: what each unit costs at two sizes. */
import { spawnSync } from 'node:child_process'

/** `heapBytes`: what each unit holds while all are in flight. */
export interface Scaled {
  readonly millis: number
  readonly heapBytes?: number
}

const PROGRAMS = {
  'chain of `.step`': `
const { workflow } = await import('dogear/promise')
begin()
let flow = workflow('long')
for (let n = 0; n < count; n++) flow = flow.step('step-' + n, () => n)
end(flow.identity)`,
  'chain of `Program.step`': `
const { Program } = await import('dogear')
begin()
let program = Program.start('long')
for (let n = 0; n < count; n++) program = Program.step('step-' + n, { run: () => async () => n })(program)
end(program.identity)`,
  'wave of groups': `${together('wave', `Object.fromEntries(names.map((name) => [name, hold]))`)}`,
  'map of items': `${together('map', `{ forEach: () => names }, hold`)}`
}

export type What = keyof typeof PROGRAMS

export const ALL = Object.keys(PROGRAMS) as ReadonlyArray<What>

/** A run whose parts all wait for the last one. */
function together(kind: string, parts: string): string {
  return `
const { run, workflow } = await import('dogear/promise')
const { memoryStorage } = await import('dogear/memory')
const names = Array.from({ length: count }, (_, n) => 'n' + n)
let started = 0, release
const gate = new Promise((resolve) => (release = resolve))
const hold = () => {
  if (++started === count) measure(), release()
  return gate
}
const flow = workflow('wide').${kind}('all', ${parts})
void flow.identity
begin()
end(await run(flow, { id: 'r', storage: memoryStorage() }))`
}

const CHILD = (program: string): string => `
const count = Number(process.argv[1])
const heap = () => (gc(), process.memoryUsage().heapUsed)
let [from, before, apart] = [0, 0, 0], heapBytes
const begin = () => { before = heap(); from = performance.now() }
const measure = () => {
  const at = performance.now()
  heapBytes = (heap() - before) / count
  apart = performance.now() - at
}
const end = () => console.log(JSON.stringify({ millis: performance.now() - from - apart, heapBytes }))
${program}`

/** The median of some processes by their time. */
export const scaling = (what: What, count: number, rounds: number): Scaled => {
  const args = ['--expose-gc', '--input-type=module', '--eval', CHILD(PROGRAMS[what]), String(count)]
  const all = Array.from({ length: rounds }, () => {
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    if (stdout === '') throw new Error(stderr)
    return JSON.parse(stdout) as Scaled
  })
  return all.sort((a, b) => a.millis - b.millis)[rounds >> 1] as Scaled
}

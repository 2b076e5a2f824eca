// One run of one peer in a process of its own: `child.mjs PEER VARIANT FOLDER STEPS MODE [URL]`. Prints one line of JSON.
//
// run: from submission to result, with the disk's limit measured in between; count: the same without the limit, for strace;
// half: prints a line for each step that starts, until it is killed; resume: continues what `half` left.
import { appendFileSync, closeSync, existsSync, fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** Measures the disk's limit in the same process: a number of appends every few steps. */
const EVERY = 100
const APPENDS = 20

const LINE = Buffer.from(`${'x'.repeat(199)}\n`)

const [peer, variant, folder, stepsText, mode, url] = process.argv.slice(2)
const steps = Number(stepsText)

const limit = openSync(join(folder, 'limit'), 'a')
let limitMillis = 0
let limitAppends = 0
const append = () => {
  const start = performance.now()
  for (let n = 0; n < APPENDS; n++) {
    writeSync(limit, LINE)
    fdatasyncSync(limit)
  }
  limitMillis += performance.now() - start
  limitAppends += APPENDS
}

/** The steps that started, in order, over all processes of this folder. */
const log = join(folder, 'started')
const before = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').map(Number) : []
const last = before.at(-1) ?? -1

let started = 0
let firstNew
let ranAgain = 0
const step = (index) => {
  started++
  if (mode === 'run' && index % EVERY === 0) append()
  if (mode === 'half' || mode === 'resume') appendFileSync(log, `${index}\n`)
  if (mode === 'half' && index === steps / 2) writeSync(1, 'half\n')
  if (mode === 'resume') {
    if (index < last) ranAgain++
    if (index > last) firstNew ??= Date.now()
  }
  return index
}

const { open } = await import(`./${peer}.mjs`)
const opened = await open({ folder, steps, step, variant, url })
const start = performance.now()
let failed
try {
  await (mode === 'resume' ? opened.resume() : opened.run())
} catch (error) {
  // The time to resume is known even if the rest of the run fails.
  if (firstNew === undefined) throw error
  failed = error.message
}
const millis = performance.now() - start - limitMillis
if (mode !== 'resume' && started !== steps) throw new Error(`${started} of ${steps} steps ran`)
if (mode === 'resume' && firstNew === undefined) throw new Error('no further step ran')
writeSync(
  1,
  `${JSON.stringify({
    settings: await opened.settings(),
    microsPerStep: (millis * 1000) / steps,
    limitMicros: (limitMillis * 1000) / limitAppends,
    firstNew,
    ranAgain,
    failed
  })}\n`
)
await opened.close()
closeSync(limit)
process.exit(0)

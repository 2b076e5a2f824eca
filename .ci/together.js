// Runs scripts of package.json, two at a time, the first ones first. Each is told of when it has ended, with all that it said.
// Fails if one of them has failed; those that have begun are waited for.
import { spawn } from 'node:child_process'

const LANES = 2
const due = process.argv.slice(2)
let failed = false

const run = (script) =>
  new Promise((resolve) => {
    const child = spawn('npm', ['run', script], {
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32'
    })
    const said = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => said.push(chunk))
    child.once('error', (error) => resolve({ code: 1, said: `${error.message}\n` }))
    child.once('close', (code) => resolve({ code, said: Buffer.concat(said).toString() }))
  })

const lane = async () => {
  for (let script = due.shift(); script !== undefined && !failed; script = due.shift()) {
    const { code, said } = await run(script)
    process.stdout.write(`${said}${code === 0 ? '' : `\n${script} has failed\n`}`)
    failed ||= code !== 0
  }
}

await Promise.all(Array.from({ length: LANES }, lane))
process.exitCode = failed ? 1 : 0

/** Helpers for tests that start real processes. */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const inFolder = async (test: (folder: string) => Promise<void>): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'dogear-node-'))
  try {
    await test(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** False for a dead process that its parent has not reaped. */
export const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

export const until = async (what: string, holds: () => boolean): Promise<void> => {
  for (const deadline = Date.now() + 10_000; !holds(); await new Promise((resolve) => setTimeout(resolve, 10))) {
    if (Date.now() > deadline) assert.fail(`in vain waited until ${what}`)
  }
}

/** A Node process that runs a script with `dogear/node` as `node`, and its output. */
export interface Program {
  readonly child: ChildProcess
  readonly printed: () => string
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
}

const NODE_ADAPTER = new URL('../../../dist/adapters/node/index.js', import.meta.url).href

export const program = (script: string): Program => {
  const source = `
    const print = (text) => process.stdout.write(text + '\\n')
    const names = process.eventNames()
    setTimeout(() => process.exit(99), 20_000).unref()
    const node = await import(${JSON.stringify(NODE_ADAPTER)})
    ${script}`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  return {
    child,
    printed: () => text,
    ended: new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal })))
  }
}

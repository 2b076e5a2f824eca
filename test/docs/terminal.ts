import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { cleanEnvironment, manifest, root } from '../package/consumer.js'

export interface Seen {
  readonly code: number | null
  readonly stdout: string
  /** Both outputs, as a terminal shows them. */
  readonly all: string
}

/** A terminal in an empty folder, with the built command on the PATH. */
export interface Terminal {
  readonly folder: string
  /** Types a line. `killAfter`: kills the command with SIGKILL when this output appears. */
  readonly type: (line: string, killAfter?: string) => Promise<Seen>
  readonly close: () => void
}

export function open(): Terminal {
  const home = mkdtempSync(join(tmpdir(), 'dogear-docs-'))
  const [folder, bin] = [join(home, 'work'), join(home, 'bin')]
  mkdirSync(folder)
  mkdirSync(bin)
  symlinkSync(join(root, manifest.bin['dogear'] ?? ''), join(bin, 'dogear'))
  const env: NodeJS.ProcessEnv = { ...cleanEnvironment(), PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}` }
  delete env['FORCE_COLOR']

  const type: Terminal['type'] = (line, killAfter) =>
    new Promise((resolve) => {
      const script = killAfter === undefined ? line : `exec ${line}`
      const shell = spawn('/bin/sh', ['-c', script], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
      let stdout = ''
      let all = ''
      const take = (chunk: unknown, own: boolean): void => {
        all += String(chunk)
        if (own) stdout += String(chunk)
        if (killAfter !== undefined && all.includes(killAfter)) shell.kill('SIGKILL')
      }
      shell.stdout.on('data', (chunk) => take(chunk, true))
      shell.stderr.on('data', (chunk) => take(chunk, false))
      // Not "close", because processes that a killed command started keep the pipes open.
      shell.on('exit', (code) => setTimeout(() => resolve({ code, stdout, all }), killAfter === undefined ? 50 : 200))
    })
  return { folder, type, close: () => rmSync(home, { recursive: true, force: true }) }
}

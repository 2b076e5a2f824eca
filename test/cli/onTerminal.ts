import { spawn } from 'node:child_process'
import { type Ended, hasProgram, main, type Running, type Sandbox, watch } from './dogear.js'

export const hasTerminal = process.platform === 'linux' && hasProgram('script')

/** Starts dogear on its own terminal (`script` of util-linux). `exec` avoids a shell, which Ctrl+C would end. */
export const onTerminal = (
  { folder }: Sandbox,
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  columns?: number
): Running => {
  const quoted = [process.execPath, main, ...words].map((word) => `'${word}'`).join(' ')
  const size = columns === undefined ? '' : `stty cols ${columns}; `
  const child = spawn('script', ['-qefc', `${size}exec ${quoted}`, '/dev/null'], {
    cwd: folder,
    env: { ...process.env, TERM: 'xterm', NO_COLOR: '1', FORCE_COLOR: '', DOGEAR_HOME: '', CI: '', ...environment },
    stdio: ['pipe', 'pipe', 'pipe']
  })
  return watch(child)
}

/** Answers prompts in order. */
export const answering = async (
  running: Running,
  ...dialogue: ReadonlyArray<readonly [string | RegExp, string]>
): Promise<Ended> => {
  for (const [question, answer] of dialogue) {
    await running.said(question)
    running.child.stdin?.write(answer)
  }
  const ended = await running.ended
  return { ...ended, stdout: ended.stdout.replaceAll('\r\n', '\n') }
}

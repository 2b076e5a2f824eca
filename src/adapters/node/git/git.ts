/** Calls the `git` command. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as E from 'fp-ts/lib/Either.js'

/** How a git process exited. `cause`: Node's error, if the exit code is not 0. */
export interface GitEnd {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  readonly cause?: unknown
}

/** git could not be started, a signal ended it, or its output was too long. `code`: of the system, the signal, Node's, or NO_FOLDER. */
export interface NoGitEnd {
  readonly code: string
  readonly message: string
  readonly cause: unknown
}

/** The maximum output of git; beyond it, the call fails. */
const OUTPUT_BYTES = 67_108_864

/** A git hook sets these variables; they would select its repository instead of ours. */
export const NO_OTHER_REPOSITORY = {
  GIT_DIR: undefined,
  GIT_COMMON_DIR: undefined,
  GIT_WORK_TREE: undefined,
  GIT_INDEX_FILE: undefined,
  GIT_OBJECT_DIRECTORY: undefined,
  GIT_ALTERNATE_OBJECT_DIRECTORIES: undefined,
  GIT_NAMESPACE: undefined
}

const UNATTENDED = { LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0', GIT_EDITOR: 'true', ...NO_OTHER_REPOSITORY }

/** Calls git in a folder, in the C locale and without prompts. A non-zero exit is a normal result. */
export const git = (
  folder: string,
  args: ReadonlyArray<string>,
  variables: Readonly<Record<string, string>> = {},
  input = ''
): Promise<E.Either<NoGitEnd, GitEnd>> =>
  new Promise((done) => {
    const env = { ...process.env, ...UNATTENDED, ...variables }
    const options = { cwd: folder, env, maxBuffer: OUTPUT_BYTES, windowsHide: true }
    const child = execFile('git', [...args], options, (error, stdout, stderr) => {
      if (error === null) return done(E.right({ code: 0, stdout, stderr }))
      if (typeof error.code === 'number') return done(E.right({ code: error.code, stdout, stderr, cause: error }))
      // Node reports a missing folder as it does a missing git.
      if (error.code === 'ENOENT' && !existsSync(folder))
        return done(E.left({ code: 'NO_FOLDER', message: `no such folder: ${folder}`, cause: error }))
      const code = typeof error.code === 'string' ? error.code : (error.signal ?? 'UNKNOWN')
      const message = typeof error.signal === 'string' ? `it was ended by ${error.signal}` : error.message
      done(E.left({ code, message, cause: error }))
    })
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(input)
  })

import { chmodSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { type Ended, type Sandbox, sandbox } from '../cli/dogear.js'

let place: Sandbox
afterEach(() => place.remove())

const flow = `
name: w
workspace: worktree
steps:
  - { name: one, shell: 'echo one >> "$DOGEAR_HOME/../log"; cat a.txt; echo one > one.txt' }
  - { name: two, shell: 'cat one.txt; test "$DOGEAR_RUN_ID" != dies || kill -9 $PPID' }
`

/** Kills the process that calls git: `before`, `during` or `after` the nth call, or `half`: when a part of a worktree is deleted. */
const killer = `#!/bin/sh
n=$(($(cat "$CALLS.n" 2>/dev/null || echo 0) + 1)); echo $n > "$CALLS.n"; echo "$@" >> "$CALLS"
PATH=\${PATH#*:}
case "$KILL" in
  "before $n") kill -9 $PPID; exit 1 ;;
  "during $n") kill -9 $PPID ;;
  half) for at; do :; done; test "$1 $2" != 'worktree remove' || { rm -f "$at/a.txt"; kill -9 $PPID; exit 1; } ;;
esac
git "$@"; code=$?
test "$KILL" != "after $n" || kill -9 $PPID
exit $code
`

const setting = (kill: string): Readonly<Record<string, string>> => ({
  GIT_CONFIG_GLOBAL: '/dev/null',
  CALLS: `${place.folder}/calls`,
  KILL: kill
})

const dogear = (words: readonly string[], kill = ''): Promise<Ended> =>
  place.process(words, { environment: setting(kill) })

const sh = async (script: string): Promise<string> => (await place.shell(`PATH=\${PATH#*:}; ${script}`)).stdout.trim()

const repository = async (): Promise<void> => {
  place = sandbox({ 'w.yml': flow, 'a.txt': 'a\n', '.bin/git': killer })
  chmodSync(`${place.folder}/.bin/git`, 0o755)
  place.write('.gitignore', '.bin\nlog\ncalls*\n')
  await sh(
    'git init -q -b main . && git config user.email a@example.org && git config user.name A && git add . && git commit -qm begin'
  )
}

/** The numbers of the git calls that change something while a worktree is made. */
const MAKING = ['worktree unlock', 'worktree add', 'symbolic-ref HEAD refs', 'reset --hard']

describe('a process killed while it makes a worktree', () => {
  test.each(MAKING.flatMap((call) => ['before', 'during', 'after'].map((when) => [when, call] as const)))(
    'after a kill %s "git %s" the next process completes the one worktree, and each step runs once',
    async (when, call) => {
      await repository()
      await dogear(['run', 'w.yml', '--id', 'count'])
      const at =
        place
          .read('calls')
          .split('\n')
          .findIndex((line) => line.startsWith(call)) + 1
      expect(at).toBeGreaterThan(0)
      await sh('rm log calls*')
      expect((await dogear(['run', 'w.yml', '--id', 'r'], `${when} ${at}`)).signal).toBe('SIGKILL')
      expect(place.exists('log')).toBe(false)
      const { code, stdout } = await dogear(['resume', 'r'])
      expect({ code, stdout }).toEqual({ code: 0, stdout: 'a\none\n' })
      expect(place.read('log')).toBe('one\n')
      expect(await sh('git -C .dogear/workspaces/r status --porcelain --branch')).toBe('## dogear/r\n?? one.txt')
      expect(await sh('git branch --format="%(refname:short)"')).toBe('dogear/count\ndogear/r\nmain')
      expect(await sh('git worktree list --porcelain | grep -c ^worktree')).toBe('3')
    }
  )

  test('a process killed before its first record leaves nothing, and the id is free', async () => {
    await repository()
    expect((await dogear(['run', 'w.yml', '--id', 'r'], 'before 3')).signal).toBe('SIGKILL')
    expect(await dogear(['resume', 'r'])).toMatchObject({ code: 3 })
    expect(await dogear(['run', 'w.yml', '--id', 'r'])).toMatchObject({ code: 0 })
  })

  test('a missing worktree is not created again once an attempt is recorded', async () => {
    await repository()
    expect((await dogear(['run', 'w.yml', '--id', 'dies'])).signal).toBe('SIGKILL')
    await sh('rm -r .dogear/workspaces/dies log')
    const { code, stderr } = await dogear(['resume', 'dies'])
    expect(code).toBe(4)
    expect(stderr).toContain('Workspace not found for run dies. It may have been cleaned up.\n')
    expect(place.exists('log')).toBe(false)
    expect(place.exists('.dogear/workspaces/dies')).toBe(false)
  })
})

test('a process killed while it removes a worktree leaves nothing half deleted that breaks a resume, a merge or a new start', async () => {
  await repository()
  expect((await dogear(['run', 'w.yml', '--id', 'r', '--merge'], 'half')).signal).toBe('SIGKILL')
  expect(place.read('one.txt')).toBe('one\n')
  expect((await dogear(['resume', 'r', '--merge'])).code).toBe(0)
  expect(await sh('git ls-files')).toContain('a.txt')
  expect((await dogear(['run', 'w.yml', '--id', 'dies'])).signal).toBe('SIGKILL')
  expect((await dogear(['clean', 'dies', '--yes'], 'half')).signal).toBe('SIGKILL')
  expect((await dogear(['resume', 'dies'])).stderr).toContain('Workspace not found for run dies')
  for (const id of ['r', 'dies']) expect((await dogear(['clean', id, '--yes'])).code).toBe(0)
  expect(await sh('find .dogear/workspaces -name "*.txt"; git branch --format="%(refname:short)"')).toBe('main')
  expect(await sh('git worktree list --porcelain | grep -c ^worktree')).toBe('1')
})

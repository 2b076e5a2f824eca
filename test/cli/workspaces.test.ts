import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { type Ended, type Options, type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
afterEach(() => place.remove())

/** Ignores the git settings of this machine. */
const git = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' }

const dogear = (words: readonly string[], options: Options = {}): Promise<Ended> =>
  place.dogear(words, { ...options, environment: { ...git, ...options.environment } })

/** Runs a script, which must succeed, and returns its output. */
const sh = async (script: string, cwd = place.folder): Promise<string> => {
  const { code, stdout, stderr } = await place.shell(`set -e\n${script}`, { cwd, environment: git })
  if (code !== 0) throw new Error(`${script}\n${stderr}`)
  return stdout.trim()
}

const begin = `git init -q -b main . && git config user.email a@example.org && git config user.name A
  echo a > a.txt && git add . && git commit -qm begin`

/** Two steps: the first leaves files in the worktree, and the second fails until a user fixes it. */
const flow = `
name: w
workspace: worktree
steps:
  - { name: one, shell: echo one > one.txt, artifacts: [one.txt] }
  - { name: two, shell: 'echo partial > partial.txt; test -e fixed; rm fixed partial.txt; git add .; git commit -qm two' }
`

/** A repository with a workflow, in a folder of this name. */
const repository = async (text: string, name = '.'): Promise<string> => {
  place = sandbox()
  const folder = join(place.folder, name)
  mkdirSync(folder, { recursive: true })
  place.write(join(name, 'w.yml'), text)
  place.write(join(name, '.gitignore'), '.bin\n')
  await sh(begin, folder)
  return folder
}

const worktree = '.dogear/workspaces/r'

describe('a worktree', () => {
  test('a worktree keeps its partial work after a failure, is reused by a resume, and is deleted by the merge', async () => {
    const folder = await repository(flow)
    const failed = await dogear(['run', 'w.yml', '--id', 'r'])
    expect(failed.code).toBe(1)
    expect(failed.stderr).toContain(`Working in worktree ${join(folder, worktree)}, branch dogear/r`)
    expect(failed.stderr).toContain(`  worktree: ${join(folder, worktree)} (branch dogear/r)\n`)
    expect(place.read(`${worktree}/one.txt`)).toBe('one\n')
    expect(place.read(`${worktree}/partial.txt`)).toBe('partial\n')
    expect(place.exists('one.txt')).toBe(false)
    expect(await sh('git status --porcelain')).toBe('')
    const inode = statSync(join(folder, worktree)).ino
    const list = await sh('git worktree list')
    place.write(`${worktree}/fixed`, '')
    const kept = await dogear(['resume', 'r'], { cwd: folder })
    expect(kept.code).toBe(0)
    expect(kept.stderr).toContain(`Kept: worktree ${join(folder, worktree)}, branch dogear/r (1 commit)`)
    expect(kept.stderr).toContain('To merge it into main:\n  dogear resume r --merge\n')
    expect(statSync(join(folder, worktree)).ino).toBe(inode)
    expect((await sh('git worktree list')).split('\n')).toHaveLength(list.split('\n').length)
    const pruned = await dogear(['prune', '--keep', '0', '-y'])
    expect(pruned.stderr).toContain(
      '\nTo merge it into main:\n  dogear resume r --merge\nTo delete its workspace:\n  dogear clean r\n'
    )
    const merged = await dogear(['resume', 'r', '--merge', '--json'])
    expect(merged.code).toBe(0)
    expect(JSON.parse(merged.stdout)).toMatchObject({
      status: 'completed',
      workspace: { branch: 'dogear/r', end: 'merged' }
    })
    expect(place.read('one.txt')).toBe('one\n')
    expect(place.exists(worktree)).toBe(false)
    expect(await sh('git branch --format="%(refname:short)"; git worktree list | wc -l')).toBe('main\n1')
    expect(await dogear(['resume', 'r'])).toMatchObject({ code: 0, stderr: 'Run r: nothing left to do\n' })
  })

  test('steps run in the worktree at the relative path where the run was started, and so do evidence checks', async () => {
    const folder = await repository('name: none\nsteps: [{ shell: "true" }]', 'a repository')
    mkdirSync(join(folder, 'deep'))
    place.write('a repository/deep/w.yml', `${flow.replace('one.txt,', 'one.txt; pwd,')}`)
    await dogear(['run', 'w.yml', '--id', 'r'], { cwd: join(folder, 'deep') })
    const root = join(folder, 'deep', worktree)
    expect(readFileSync(join(root, 'deep', 'one.txt'), 'utf8')).toBe('one\n')
    await sh(`rm one.txt; touch fixed`, join(root, 'deep'))
    const again = await dogear(['resume', 'r', '--no-merge'], { cwd: join(folder, 'deep') })
    expect(again).toMatchObject({ code: 0, stdout: `${join(root, 'deep')}\n` })
  })

  test('a worktree is found by the id of its run from any folder and repository', async () => {
    place = sandbox()
    const home = join(place.folder, 'state')
    for (const name of ['first', 'second']) {
      place.write(`${name}/w.yml`, flow.replace('name: w', `name: ${name}`))
      await sh(begin, join(place.folder, name))
      await dogear(['run', 'w.yml', '--id', name, '--home', home], { cwd: join(place.folder, name) })
    }
    const mine = join(home, 'workspaces', 'second')
    expect(await sh('git rev-parse --git-common-dir', mine)).toBe(join(place.folder, 'second', '.git'))
    await sh('touch fixed', mine)
    const { code, stderr } = await dogear(['resume', 'second', '--home', home], { cwd: '/' })
    expect(code).toBe(0)
    expect(stderr).toContain(`Kept: worktree ${mine},`)
    expect(await sh('git log --format=%s dogear/second', join(place.folder, 'second'))).toBe('two\nbegin')
  })

  test('a signal keeps the worktree of the run, and its path is printed', async () => {
    await repository(flow.replace('test -e fixed;', 'test -e fixed || sleep 60;'))
    const running = place.start(['run', 'w.yml', '--id', 'r'], { environment: git })
    await sh(`until test -e ${worktree}/partial.txt; do sleep 0.1; done`)
    running.child.kill('SIGTERM')
    const { code, stderr } = await running.ended
    expect(code).toBe(143)
    expect(stderr).toContain(
      `  worktree: ${join(place.folder, worktree)} (branch dogear/r)\nResume with:\n  dogear resume r\n`
    )
    place.write(`${worktree}/fixed`, '')
    expect((await dogear(['resume', 'r'])).code).toBe(0)
  })

  test('git works on the worktree even if a hook of another repository started the run', async () => {
    await repository('name: w\nworkspace: worktree\nsteps: [{ shell: git rev-parse --show-toplevel }]')
    const environment = { GIT_DIR: '/nowhere', GIT_INDEX_FILE: '/nowhere/index' }
    const { code, stdout } = await dogear(['run', 'w.yml', '--id', 'r'], { environment })
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${join(place.folder, worktree)}\n` })
  })

  test('a run that began without a worktree gets none when an edit of the file asks for one', async () => {
    await repository('name: w\nsteps: [{ shell: test -e fixed }]')
    await dogear(['run', 'w.yml', '--id', 'r'])
    place.write('w.yml', 'name: w\nworkspace: worktree\nsteps: [{ shell: test -e fixed }]')
    place.write('fixed', '')
    const { code, stderr } = await dogear(['resume', 'r'])
    expect(code).toBe(0)
    expect(stderr).toContain('warning: w.yml has "workspace: worktree", but the run keeps its first setting: none')
  })
})

describe('the merge', () => {
  test('a secret that a git hook prints is redacted', async () => {
    await repository('name: w\nworkspace: worktree\nsecrets: [TOKEN]\nsteps:\n  - shell: echo made > made\n')
    place.write('.git/hooks/pre-merge-commit', '#!/bin/sh\necho "no: $TOKEN" >&2; exit 1\n')
    await sh('chmod +x .git/hooks/pre-merge-commit')
    const environment = { TOKEN: 'canary-77' }
    expect((await dogear(['run', 'w.yml', '--id', 'r'], { environment })).code).toBe(0)
    await sh('echo more >> a.txt; git commit -qam more')
    const { stdout, stderr } = await dogear(['resume', 'r', '--merge', '--json'], { environment })
    expect(stderr).toContain('Not merged: git says: no: ***\n')
    expect(stdout + stderr).not.toContain('canary')
  })

  test('a merge deletes the state of a completed run with `onSuccess: delete`', async () => {
    const step = `{ name: one, shell: 'echo made > "$DOGEAR_RUN_ID"' }`
    await repository(`name: w\nworkspace: worktree\nonSuccess: delete\nsteps:\n  - ${step}\n`)
    const kept = await dogear(['run', 'w.yml', '--id', 'r', '--no-merge'])
    expect([kept.code, kept.stderr]).toEqual([0, expect.stringContaining('its workspace is still there')])
    for (const words of [
      ['resume', 'r', '--merge'],
      ['run', 'w.yml', '--id', 's', '--merge']
    ]) {
      const { code, stderr } = await dogear(words)
      expect([code, stderr]).toEqual([
        0,
        expect.stringMatching(/deleted the worktree and its branch\nThe state of run [rs] was deleted\n$/)
      ])
      expect(stderr).not.toContain('warning')
    }
    expect(readdirSync(join(place.folder, '.dogear/runs'))).toEqual([])
  })

  const committing = `
name: w
workspace: worktree
steps: [{ shell: 'echo theirs > a.txt; git commit -qam work; echo rest > rest.txt' }]
`

  test('a merge needs --merge in a pipe, and includes uncommitted changes', async () => {
    await repository(committing)
    const { code, stderr } = await dogear(['run', 'w.yml', '--id', 'r'])
    expect(code).toBe(0)
    expect(stderr).toContain(', branch dogear/r (1 commit, 1 path not committed)\n')
    expect(place.read('a.txt')).toBe('a\n')
    const merged = await dogear(['run', 'w.yml', '--id', 's', '--merge'])
    expect(merged.code).toBe(0)
    expect(merged.stderr).toContain('Committed the uncommitted changes of the worktree on branch dogear/s')
    expect(place.read('rest.txt')).toBe('rest\n')
    expect(await sh('git log --format=%s')).toBe('dogear: what run s left uncommitted\nwork\nbegin')
  })

  test('a merge does not need the workflow file', async () => {
    await repository(committing)
    await dogear(['run', 'w.yml', '--id', 'r'])
    await sh('git rm -q w.yml; git commit -qm gone')
    const which = await dogear(['resume', '--merge'])
    expect(which).toMatchObject({ code: 2 })
    expect(which.stderr).toContain('name one by its id')
    const { code, stderr } = await dogear(['resume', 'r', '--merge'])
    expect(code).toBe(0)
    expect(stderr).toContain('Merged dogear/r into main')
    expect(place.read('rest.txt')).toBe('rest\n')
  })

  test('a merge with conflicts is undone: the run is completed, the target unchanged, the worktree kept', async () => {
    await repository(committing)
    await dogear(['run', 'w.yml', '--id', 'r'])
    await sh('echo ours > a.txt; git commit -qam ours')
    const { code, stdout, stderr } = await dogear(['resume', 'r', '--merge', '--json'])
    expect(code).toBe(0)
    expect(stderr).toContain('Not merged: a.txt conflicts. The merge was undone, and main is unchanged')
    expect(JSON.parse(stdout)).toMatchObject({ status: 'completed', workspace: { end: 'kept', why: 'Conflict' } })
    expect(await sh('git status --porcelain; git log --format=%s -1; test ! -e .git/MERGE_HEAD')).toBe('ours')
    expect(place.read(`${worktree}/a.txt`)).toBe('theirs\n')
  })

  test.each([
    ['echo changed > a.txt', 'Dirty', 'has uncommitted changes: a.txt; commit or stash them'],
    ['git checkout -qb other', 'OtherBranch', 'is at branch other, not at main'],
    ['git checkout -q --detach', 'OtherBranch', 'is at no branch, not at main'],
    ['git -C .dogear/workspaces/r checkout -q --detach', 'Moved', 'is no longer at branch dogear/r']
  ])('a merge after the command %j is refused as %s', async (script, why, said) => {
    await repository(committing)
    await dogear(['run', 'w.yml', '--id', 'r'])
    await sh(script)
    const before = await sh('git status --porcelain; git log --all --format=%s')
    const { code, stdout, stderr } = await dogear(['resume', 'r', '--merge', '--json'])
    expect(code).toBe(0)
    expect(stderr).toContain(said)
    expect(JSON.parse(stdout)).toMatchObject({ workspace: { end: 'kept', why } })
    expect(await sh('git status --porcelain; git log --all --format=%s')).toBe(before)
    expect(place.exists(`${worktree}/rest.txt`)).toBe(true)
  })
})

describe('a missing workspace', () => {
  test('a resume whose workspace is missing is refused with what is missing, and --force starts over with a new workspace', async () => {
    await repository(flow.replace('echo one >', 'echo one >> "$DOGEAR_HOME/../.bin/log"; echo one >'))
    await dogear(['run', 'w.yml', '--id', 'r'])
    await sh(`git -C ${worktree} commit -qam kept --allow-empty; rm -r ${worktree}`)
    const refused = await dogear(['resume', 'r'])
    expect(refused.code).toBe(4)
    expect(refused.stderr).toBe(
      'dogear: Workspace not found for run r. It may have been cleaned up.\n' +
        `The run works in ${join(place.folder, worktree)}\n` +
        'Missing with it: one.txt of "one"\n' +
        'Nothing ran. To start over with a new workspace:\n  dogear resume r --force\n'
    )
    expect(await dogear(['plan', 'r'])).toMatchObject({ code: 4, stderr: refused.stderr })
    expect((await dogear(['verify', 'r'])).stdout).toContain('Workspace not found for run r')
    expect((await dogear(['resume', 'r', '--from-step', 'two'])).code).toBe(4)
    expect(place.read('.bin/log')).toBe('one\n')
    expect(place.exists(worktree)).toBe(false)
    const forced = await dogear(['resume', 'r', '--force', '--yes'])
    expect(forced.code).toBe(1)
    expect(forced.stderr).toContain('Branch dogear/r had other work, which is now on branch dogear/r.attempt-1')
    expect(place.read(`${worktree}/one.txt`)).toBe('one\n')
    expect(await sh('git log --format=%s dogear/r.attempt-1; git log --format=%s dogear/r')).toBe('kept\nbegin\nbegin')
    place.write(`${worktree}/fixed`, '')
    expect((await dogear(['resume', 'r'])).code).toBe(0)
  })
})

describe('the place of a worktree', () => {
  const refused = async (setUp: string, environment: Readonly<Record<string, string>> = {}): Promise<Ended> => {
    place = sandbox({ 'in/w.yml': flow })
    await sh(setUp, join(place.folder, 'in'))
    const ended = await dogear(['run', 'w.yml', '--id', 'r'], { cwd: join(place.folder, 'in'), environment })
    expect(ended.code).toBe(4)
    expect(place.exists('in/.dogear')).toBe(false)
    return ended
  }

  test.each([
    ['where there is no repository', 'true', 'it is not in a git repository. Create one ("git init") and commit'],
    [
      'before the first commit',
      'git init -q -b main .',
      'its git repository has no commit yet. Commit something first'
    ],
    ['in a repository without a working tree', 'git init -q --bare .', 'its git repository has no working tree'],
    ['where its branch exists', `${begin}\ngit branch dogear/r`, 'Branch dogear/r of'],
    ['where a branch stands in the way of its name', `${begin}\ngit branch dogear`, 'Branch dogear of']
  ])('a run with a worktree is refused %s, and writes nothing', async (_, setUp, said) => {
    const { stderr } = await refused(setUp)
    expect(stderr).toContain(said)
    expect(stderr).not.toContain('the worktree starts from the last commit')
  })

  test('a run warns of uncommitted work once its worktree is made, and not if it is refused', async () => {
    const warning = '1 path here is not committed; the worktree starts from the last commit, without it'
    await repository(flow.replace('workspace: worktree', 'workspace: worktree\nsecrets: [TOKEN]'))
    place.write('b.txt', 'b')
    const { code, stderr } = await dogear(['run', 'w.yml', '--id', 'r'])
    expect(code).toBe(4)
    expect(stderr).toContain('TOKEN is not set')
    expect(stderr).not.toContain(warning)
    const started = await dogear(['run', 'w.yml', '--id', 'r'], { environment: { TOKEN: 'a secret of mine' } })
    expect(started.stderr).toMatch(new RegExp(`Working in worktree [^\\n]*\\n[^\\n]*${warning}\\n`))
    await sh('git commit -qam more --allow-empty; git branch dogear/s')
    expect((await dogear(['run', 'w.yml', '--id', 's'])).stderr).not.toContain(warning)
  })

  test('a run with a worktree is refused without git, and writes nothing', async () => {
    const { stderr } = await refused(begin, { PATH: '/nowhere' })
    expect(stderr).toContain('git could not be started. Install it')
  })

  test('a worktree that git cannot read is not said to have nothing to merge', async () => {
    await repository(flow.replace('test -e fixed; rm fixed partial.txt;', ''))
    expect((await dogear(['run', 'w.yml', '--id', 'r'])).stderr).toContain('(1 commit)')
    const { code, stderr } = await dogear(['resume', 'r'], { environment: { PATH: '/nowhere' } })
    expect(code).toBe(0)
    expect(stderr).toContain('branch dogear/r (git cannot read its work)\nTo merge it into main:\n')
    const merge = await dogear(['resume', 'r', '--merge'], { environment: { PATH: '/nowhere' } })
    expect(merge.stderr).toContain(`Not merged: git branch --show-current failed in ${join(place.folder, worktree)}: `)
  })

  test('a worktree of a detached HEAD works, but has no merge target', async () => {
    await repository(flow)
    await sh('git checkout -q --detach')
    await dogear(['run', 'w.yml', '--id', 'r'])
    place.write(`${worktree}/fixed`, '')
    const { code, stderr } = await dogear(['resume', 'r', '--merge'])
    expect(code).toBe(0)
    expect(stderr).toContain('Not merged: HEAD was detached when the run began')
    expect(place.exists(worktree)).toBe(true)
  })
})

describe('clean', () => {
  test('a clean that is stopped between two workspaces says that not all of them were deleted', async () => {
    await repository(flow)
    for (const id of ['a', 'b']) await dogear(['run', 'w.yml', '--id', id])
    const holding = `touch ${place.folder}/removing; until test -e ${place.folder}/go; do sleep 0.05; done`
    const shim = `#!/bin/sh\ncase "$*" in *'worktree remove'*) ${holding};; esac\nPATH=\${PATH#*:} exec git "$@"\n`
    chmodSync(place.write('.bin/git', shim), 0o755)
    const cleaning = place.start(['clean', '--all', '--yes'], { environment: git })
    while (!place.exists('removing')) await setTimeout(20)
    cleaning.child.kill('SIGINT')
    place.write('go', '')
    const { code, stderr } = await cleaning.ended
    expect(code).toBe(130)
    expect(stderr).toMatch(/\nStopped: not all workspaces were deleted\n$/)
    expect(['a', 'b'].filter((id) => place.exists(`.dogear/workspaces/${id}`))).toHaveLength(1)
  })

  test('clean deletes the workspaces of completed runs, with --all those of all inactive runs, but never state', async () => {
    await repository(flow)
    await dogear(['run', 'w.yml', '--id', 'failed'])
    place.write('w.yml', flow.replace('test -e fixed; rm fixed', 'rm'))
    await dogear(['run', 'w.yml', '--id', 'done'])
    const asked = await dogear(['clean'])
    expect(asked).toMatchObject({ code: 4 })
    expect(asked.stderr).toContain('The listed workspaces would be deleted\nTo agree:\n  dogear clean --yes\n')
    const cleaned = await dogear(['clean', '-y'])
    expect(cleaned).toMatchObject({ code: 0 })
    expect(cleaned.stdout).toBe(
      `Deleted ${place.folder}/.dogear/workspaces/done\nKept branch dogear/done: it is checked out, or has commits that exist nowhere else\n`
    )
    expect(place.exists('.dogear/workspaces/failed/partial.txt')).toBe(true)
    const all = await dogear(['clean', '--all', '--yes', '--json'])
    expect(JSON.parse(all.stdout)).toEqual([
      { run_id: 'failed', folders: [`${place.folder}/.dogear/workspaces/failed`], kept_branch: null }
    ])
    expect(all.stderr).toContain('a resume needs one.txt of "one"; resume it first')
    expect(all.stderr).toContain('2 paths are not committed there, and will be lost')
    const nothing = await dogear(['clean'])
    expect(nothing.code).toBe(0)
    expect(nothing.stdout).toContain('Nothing to clean: no completed run has a workspace in')
    const runs = JSON.parse((await dogear(['runs', '--json'])).stdout) as { run_id: string; status: string }[]
    expect(runs.map(({ run_id, status }) => `${run_id} ${status}`).sort()).toEqual(['done completed', 'failed failed'])
    const { code, stderr } = await dogear(['resume', 'failed'])
    expect(code).toBe(4)
    expect(stderr).toContain('Workspace not found for run failed. It may have been cleaned up.\n')
    expect(stderr).toContain('Missing with it: one.txt of "one"\n')
    expect(await sh('git worktree list | wc -l')).toBe('1')
  })

  test('clean skips a run that a live process holds, and refuses an unknown run', async () => {
    await repository(
      'name: w\nworkspace: directory\nsteps: [{ shell: "echo > ready; until test -e go; do sleep 0.1; done" }]'
    )
    const running = place.start(['run', 'w.yml', '--id', 'live'])
    await sh('until test -e .dogear/workspaces/live/ready; do sleep 0.1; done')
    const refused = await dogear(['clean', 'live', '-y'])
    expect(refused.code).toBe(4)
    expect(refused.stderr).toContain('Run live is already in progress')
    expect((await dogear(['clean', '--all'])).stdout).toContain(
      'Nothing to clean: no run without an owner has a workspace in'
    )
    place.write('.dogear/workspaces/live/go', '')
    expect((await running.ended).code).toBe(0)
    expect((await dogear(['clean', 'nobody', '-y'])).code).toBe(3)
  })
})

describe('a run in a private folder', () => {
  test('the folder of a run starts empty, is where steps run, and belongs to no outer repository', async () => {
    await repository(`
name: w
workspace: directory
steps:
  - { name: look, shell: 'ls -A; pwd; echo "$DOGEAR_WORKSPACE"; ! git rev-parse 2>&- || echo in git' }
  - { name: make, shell: echo made > made.txt, artifacts: [made.txt] }
  - { name: last, shell: test -e fixed }
`)
    const own = `${place.folder}/.dogear/workspaces/r`
    const { code, stdout, stderr } = await dogear(['run', 'w.yml', '--id', 'r'])
    expect(code).toBe(1)
    expect(stdout).toBe(`${own}\n${own}\n`)
    expect(stderr).toContain(`  folder: ${own}\n`)
    await sh(`rm ${own}/made.txt; touch ${own}/fixed`)
    expect((await dogear(['resume', 'r'])).stderr).toContain(
      `Its files are in ${own}\nTo delete this folder:\n  dogear clean r\n`
    )
    expect(place.read('.dogear/workspaces/r/made.txt')).toBe('made\n')
  })
})

describe('a fresh folder of a step', () => {
  test('a fresh folder is empty for each attempt, and the previous one is kept beside it', async () => {
    await repository(`
name: w
steps:
  - name: build
    workspace: fresh
    shell: 'ls; echo junk > junk; cp junk "app-$DOGEAR_ATTEMPT"; test -e "$DOGEAR_WORKSPACE/fixed"; echo app > app'
    artifacts: [app]
    retry: { attempts: 2, delay: 1ms }
  - wave: checks
    groups:
      Unit: { workspace: fresh, shell: 'pwd; cat "$DOGEAR_WORKSPACE/a.txt" > copy' }
      unit: { workspace: fresh, shell: 'ls; test -e "$DOGEAR_WORKSPACE/again"' }
`)
    const own = `${place.folder}/.dogear/workspaces/_steps/r/build/work`
    const failed = await dogear(['run', 'w.yml', '--id', 'r'])
    expect(failed).toMatchObject({ code: 1, stdout: '' })
    expect(failed.stderr).toContain(`  its own folder: ${own}\n`)
    expect(failed.stderr).toContain(
      'The error may be temporary. Wait or fix it, then resume with:\n  dogear resume r\n'
    )
    expect(await sh(`ls ${own}.attempt-1; ls ${own}`)).toBe('app-1\njunk\napp-2\njunk')
    place.write('fixed', '')
    const built = await dogear(['resume', 'r'])
    expect(built.code).toBe(1)
    expect(await sh(`ls ${own}.attempt-2; ls ${own}`)).toBe('app-2\njunk\napp\napp-1\njunk')
    place.write('again', '')
    const ended = await dogear(['resume', 'r'])
    expect(ended).toMatchObject({ code: 0, stdout: '' })
    expect(await sh('cat .dogear/workspaces/_steps/r/checks/@+unit/work/copy')).toBe('a')
    await sh(`rm ${own}/app`)
    expect((await dogear(['plan', 'r'])).stdout).toContain(`${own}/app`)
    expect((await dogear(['clean', 'r', '-y'])).code).toBe(0)
    expect(place.exists('.dogear/workspaces/_steps/r')).toBe(false)
  })

  test('a step with a fresh folder and commit checks is refused', async () => {
    place = sandbox({ 'w.yml': 'name: w\nsteps: [{ shell: "true", workspace: fresh, expect: { commits: 1 } }]' })
    const { code, stderr } = await dogear(['run', 'w.yml'])
    expect(code).toBe(2)
    expect(stderr).toContain('"commits" and "cleanTree" need a repository, which "workspace: fresh" is not')
    place.write('w.yml', 'name: w\nworkspace: wortree\nsteps: [{ shell: "true", workspace: own }]')
    const wrong = await dogear(['run', 'w.yml'])
    expect(wrong.stderr).toContain(
      '"workspace" must be none, directory or worktree, not "wortree". Did you mean "worktree"?'
    )
    expect(wrong.stderr).toContain('"workspace" must be fresh, not "own"')
  })
})

describe('the command that a failure prints', () => {
  test('the printed command works whatever the paths contain', async () => {
    const name = `it's a "strange" $HOME`
    const folder = await repository(flow, name)
    const home = join(place.folder, `st'ate of $(touch evil)`)
    const { stderr } = await dogear(['run', 'w.yml', '--id', 'r', '--home', home], { cwd: folder })
    const [, resume = ''] = /^After fixing this, resume with:\n {2}(dogear .*)$/m.exec(stderr) ?? []
    const [, root = ''] = /^ {2}worktree: (.*) \(branch dogear\/r\)$/m.exec(stderr) ?? []
    expect(root).toBe(join(home, 'workspaces', 'r'))
    await sh('touch fixed', root)
    const resumed = await place.shell(resume, { cwd: folder, environment: git })
    expect(resumed.code).toBe(0)
    const [, merge = ''] = /^To merge it into main:\n {2}(dogear .*)$/m.exec(resumed.stderr) ?? []
    const [, byHand = ''] = /^Or by hand, once main is checked out:\n {2}(git .*)$/m.exec(resumed.stderr) ?? []
    expect((await place.shell(byHand, { cwd: '/', environment: git })).code).toBe(0)
    expect((await place.shell(merge, { cwd: folder, environment: git })).code).toBe(0)
    expect(readFileSync(join(folder, 'one.txt'), 'utf8')).toBe('one\n')
    expect(await sh('git worktree list | wc -l; find . -name evil', folder)).toBe('1')
  })
})

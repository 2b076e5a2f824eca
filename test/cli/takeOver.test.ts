/** `dogear resume` and `--take-over` for a run whose owner may be dead. */
import { spawn, spawnSync } from 'node:child_process'
import { readdirSync, unlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test, type TestContext, vi } from 'vitest'
import { hasProgram, linesOf, main, type Sandbox, sandbox, watch } from './dogear.js'

type Tools = Pick<TestContext, 'skip' | 'onTestFinished'>

/** A container, whose processes are invisible from here. */
const CONTAINER = ['unshare', '--fork', '--kill-child', '--pid', '--mount-proc']

const needsContainer = (skip: TestContext['skip']): void => {
  const { status, stderr, error } = spawnSync('unshare', [...CONTAINER.slice(1), 'true'], { encoding: 'utf8' })
  if (status !== 0) skip(`skipped: this system does not permit "${CONTAINER.join(' ')}": ${error?.message ?? stderr}`)
}

const workflow = (idempotent: boolean): string => `
name: release
steps:
  - { name: pack, shell: echo packed >> log }
  - { name: deploy, shell: 'echo deploying >> log; test -e fixed || { touch begun; sleep 60; }', idempotent: ${idempotent} }
`

const library = new URL('../../dist/', import.meta.url).href

/** A program whose run is in its only step. */
const program = `
import { writeFileSync } from 'node:fs'
import { jsonFileStorage } from '${library}adapters/json-file/index.js'
import { run, workflow } from '${library}promise/index.js'
const wait = workflow('release').step('deploy', () => (writeFileSync('begun', ''), new Promise((end) => setTimeout(end, 60_000))))
await run(wait, { id: 'r', storage: jsonFileStorage('.dogear') })
`

const runIn = ({ folder }: Sandbox): string => join(folder, '.dogear/runs/r')

/** A run in a container, in its second step. */
const begun = async (
  { skip, onTestFinished }: Tools,
  idempotent = true,
  words: readonly string[] = [main, 'run', 'w.yml', '--id', 'r']
) => {
  needsContainer(skip)
  const place = sandbox({ 'w.yml': workflow(idempotent), 'host.mjs': program })
  const env = { ...process.env, DOGEAR_HOME: '', CI: '' }
  const owner = watch(
    spawn('unshare', [...CONTAINER.slice(1), process.execPath, ...words], {
      cwd: place.folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe']
    })
  )
  onTestFinished(async () => {
    owner.child.kill('SIGKILL')
    await owner.ended
    place.remove()
  })
  await vi.waitUntil(() => place.exists('begun'), { timeout: 20_000 })
  place.write('fixed', '')
  return { place, owner }
}

/** The same without a socket, so that others see at most its heartbeat. */
const hidden = async (tools: Tools, idempotent = true, words?: readonly string[]) => {
  const begins = await begun(tools, idempotent, words)
  const run = runIn(begins.place)
  for (const name of readdirSync(run)) if (name.startsWith('alive-')) unlinkSync(join(run, name))
  return begins
}

const killed = async (tools: Tools, idempotent = true, words?: readonly string[]): Promise<Sandbox> => {
  const { place, owner } = await hidden(tools, idempotent, words)
  owner.child.kill('SIGKILL')
  await owner.ended
  return place
}

describe('an owner that may be dead', { concurrent: true }, () => {
  test('resume names and watches an undecided owner, offers --take-over, and is refused once the owner proves alive', async ({
    expect,
    ...tools
  }) => {
    const { place } = await hidden(tools)
    const resuming = place.start(['resume', 'r'])
    const { code, stderr } = await resuming.ended
    expect(code).toBe(4)
    expect(linesOf(stderr)).toEqual([
      expect.stringMatching(/^Run r is held by process \d+ on \S+ since \S+Z, which may be dead$/),
      'Waiting for a sign of life for up to 30 s (65 s on NFS) …',
      'If you know that it is dead, take the run over:',
      '  dogear resume r --take-over',
      expect.stringMatching(/^dogear: Run r is already in progress: held by process \d+ on /),
      'Show the run with:',
      '  dogear show r',
      'To pause it at the next safe point:',
      '  dogear pause r'
    ])
    expect(place.read('log')).toBe('packed\ndeploying\n')
  })

  test('--take-over does not supersede a living owner: its heartbeat moves before the prompt', async ({
    expect,
    ...tools
  }) => {
    const { place } = await hidden(tools)
    const { code, stderr } = await place.process(['resume', 'r', '--take-over', '--yes'])
    expect(code).toBe(4)
    expect(stderr).toContain('dogear: Run r is already in progress: held by process ')
    expect(stderr).toContain('\n--take-over was refused: the owner is proven alive\n')
    expect(place.read('log')).toBe('packed\ndeploying\n')
  })

  test('--take-over --yes supersedes an undecided owner, and the idempotent step in flight runs again', async ({
    expect,
    ...tools
  }) => {
    const place = await killed(tools)
    const asked = await place.process(['resume', 'r', '--take-over'])
    expect(asked.code).toBe(4)
    expect(asked.stderr).toMatch(
      /^dogear: Run r is held by process \d+ on \S+ since \S+, which may be dead\. If it is still alive, deploy continues there until it learns that it was superseded\. To agree, add --yes\nTo take it over:\n {2}dogear resume r --take-over --yes\n$/
    )
    const taken = await place.process(['resume', 'r', '--take-over', '--yes'])
    expect([taken.code, place.read('log')]).toEqual([0, 'packed\ndeploying\ndeploying\n'])
    expect(taken.stderr).toContain('No sign of life from process ')
  })

  test('the commands that take a run over keep the hash of the reviewed plan', async ({ expect, ...tools }) => {
    const place = await killed(tools)
    const { plan_hash: hash } = JSON.parse((await place.process(['plan', 'r', '--json'])).stdout) as {
      plan_hash: string
    }
    const asked = await place.process(['resume', 'r', '--take-over', '--plan', hash])
    expect(asked.code).toBe(4)
    expect(linesOf(asked.stderr).at(-1)).toBe(`  dogear resume r --plan ${hash} --take-over --yes`)
    expect((await place.shell(linesOf(asked.stderr).at(-1) ?? '')).code).toBe(0)
  })

  test('--take-over supersedes an undecided owner, and the step in flight that is not idempotent raises a question', async ({
    expect,
    ...tools
  }) => {
    const place = await killed(tools, false)
    const asked = await place.process(['resume', 'r', '--take-over', '--yes'])
    expect(asked.code).toBe(4)
    expect(asked.stderr).toContain('To count as done:\n  dogear resume r --confirm deploy=done --take-over --yes\n')
    const done = await place.shell(/dogear resume r --confirm deploy=done .*/.exec(asked.stderr)?.[0] ?? 'false')
    expect([done.code, place.read('log')]).toEqual([0, 'packed\ndeploying\n'])
  })

  test('a run with an undecided owner is the default run if no other is unfinished', async ({ expect, ...tools }) => {
    const place = await killed(tools)
    const { code, stderr } = await place.process(['resume', '--take-over', '--yes'])
    expect(stderr).toContain('Resuming run r')
    expect(code).toBe(0)
  })

  test('verify of a run with an undecided owner names the owner, the question and the step in flight, and exits with 4', async ({
    expect,
    ...tools
  }) => {
    const place = await killed(tools, false)
    for (const words of [['verify', 'r'], ['verify']]) {
      const { code, stdout } = await place.process(words)
      expect(code).toBe(4)
      expect(stdout).toMatch(
        /^! r {2}newest state intact, revision \d+, held by process \d+ on .*, which may be dead$/m
      )
      expect(stdout).toContain(
        '    If you know that it is dead, take the run over:\n      dogear resume r --take-over\n'
      )
      expect(stdout).toContain('    "deploy" may already have taken effect, and is not idempotent: ')
      expect(stdout).toContain('    deploy (attempt 1): a resume asks whether it is done\n')
    }
  })

  test('verify of a run with an undecided owner exits with 4 even if nothing else prevents a resume', async ({
    expect,
    ...tools
  }) => {
    const place = await killed(tools)
    const { code, stdout } = await place.process(['verify', 'r'])
    expect([code, stdout.includes('dogear resume r --take-over')]).toEqual([4, true])
  })

  test('poll of a run with an undecided owner prints the command that takes the run over', async ({
    expect,
    ...tools
  }) => {
    const place = await killed(tools)
    const { stderr } = await place.process(['poll', 'r'])
    expect(stderr).toContain('which may be dead. If you know that it is dead, take the run over:\n')
    expect(stderr).toContain('  dogear resume r --take-over\n')
  })

  test('a program’s run with an undecided owner is refused with the command that shows it, and none that takes it over', async ({
    expect,
    ...tools
  }) => {
    const place = await killed(tools, true, ['host.mjs'])
    for (const words of [
      ['verify', 'r'],
      ['run', 'w.yml', '--id', 'r'],
      ['clean', 'r']
    ]) {
      const { code, stdout, stderr } = await place.process(words)
      expect(code).toBe(4)
      expect(stdout + stderr).not.toContain('dogear resume')
      expect(stdout + stderr).toContain('  dogear show r\n')
    }
  })

  test('show and plan report an undecided owner', async ({ expect, ...tools }) => {
    const place = await killed(tools)
    expect((await place.process(['show', 'r'])).stdout).toMatch(/^held by +process \d+ on .*, which may be dead$/m)
    const shown = JSON.parse((await place.process(['show', 'r', '--json'])).stdout) as { readonly held_by: object }
    expect(shown.held_by).toMatchObject({ liveness: 'undecided' })
    const plan = await place.process(['plan', 'r'])
    expect(plan.stdout).toContain('In progress, or abandoned by a dead process: process ')
    expect(plan.stdout).toContain('\n  dogear resume r --take-over\n')
  })

  test.skipIf(!hasProgram('script'))(
    '--take-over prompts on a terminal, and "no" changes nothing',
    async ({ expect, ...tools }) => {
      const place = await killed(tools)
      const line = [process.execPath, main, 'resume', 'r', '--take-over'].map((word) => `'${word}'`).join(' ')
      for (const [answer, code] of [
        ['n\n', 4],
        ['y\n', 0]
      ] as const) {
        const env = { ...process.env, TERM: 'xterm', NO_COLOR: '', DOGEAR_HOME: '', CI: '' }
        const terminal = watch(
          spawn('script', ['-qefc', `exec ${line}`, '/dev/null'], { cwd: place.folder, env, stdio: 'pipe' })
        )
        await terminal.said('Take run r over? [y/N] ')
        terminal.child.stdin?.write(answer)
        expect((await terminal.ended).code).toBe(code)
      }
      expect(place.read('log')).toBe('packed\ndeploying\ndeploying\n')
    }
  )
})

test('Ctrl+C ends the wait for an owner and changes nothing', async ({ expect, ...tools }) => {
  const place = await killed(tools)
  const resuming = place.start(['resume', 'r'])
  await resuming.said('Waiting for a sign of life')
  process.kill(resuming.pid, 'SIGINT')
  const { code, stderr } = await resuming.ended
  expect([code, stderr.includes('Nothing was changed')]).toEqual([130, true])
})

test('the run of a killed container resumes at once, whatever its clock was', async ({ expect, ...tools }) => {
  const { place, owner } = await begun(tools)
  expect((await place.process(['resume', 'r'])).stderr).toContain('Run r is already in progress: held by process ')
  owner.child.kill('SIGKILL')
  await owner.ended
  const tomorrow = Date.now() / 1000 + 86_400
  for (const name of readdirSync(runIn(place)))
    if (name.startsWith('heartbeat-')) utimesSync(join(runIn(place), name), tomorrow, tomorrow)
  const { code, stderr } = await place.process(['resume', 'r'])
  expect([code, stderr.includes('sign of life')]).toEqual([0, false])
})

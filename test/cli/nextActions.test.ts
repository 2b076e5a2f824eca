import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as O from 'fp-ts/lib/Option.js'
import { afterEach, describe, expect, test } from 'vitest'
import type { Checkpoint } from '../../src/domain/checkpoint/Checkpoint.js'
import { describe as describeCli, notDone, usage, type CliError } from '../../src/cli/CliError.js'
import { nextActions, withoutValues } from '../../src/cli/commands/hints/ofError.js'
import { continuing } from '../../src/cli/commands/hints/ofRun.js'
import { literals } from '../docs/source.js'
import { type Ended, linesOf, type Running, type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
const within = (files: Readonly<Record<string, string>>): Sandbox => (place = sandbox(files))
afterEach(() => place.remove())

const two = `
name: two
steps:
  - { name: one, shell: echo one >> log }
  - { name: two, shell: test -e fixed && echo two >> log }
`

const slow = 'name: slow\nsteps: [{ name: wait, shell: "echo ready; sleep 60" }]'

/** The commands at the end of a message, verbatim. */
const commandsIn = (text: string): readonly string[] =>
  linesOf(text).flatMap((line) => /^ {2}(dogear .*)$/.exec(line)?.[1] ?? [])

/** Runs the last command of a message. */
const follow = ({ stderr }: Ended): Promise<Ended> => {
  const last = commandsIn(stderr).at(-1)
  expect(linesOf(stderr).at(-1), stderr).toBe(`  ${last}`)
  return place.shell(last ?? 'exit 99')
}

const running = async (): Promise<Running> => {
  within({ 'slow.yml': slow, 'two.yml': two })
  const started = place.start(['run', 'slow.yml', '--id', 'busy'])
  await started.said('ready')
  return started
}

const damage = (runId: string): void => {
  const history = join(place.folder, '.dogear/runs', runId, 'history')
  for (const name of readdirSync(history)) writeFileSync(join(history, name), '\0\0garbage\n'.repeat(3))
  writeFileSync(join(place.folder, '.dogear/runs', runId, 'checkpoint.json'), 'null')
}

test('the error for a checkpoint that is too large has a remedy for the command line, and names no option of the library', () => {
  within({})
  const error = { _tag: 'TooLarge', runId: 'r', where: 'a', bytes: 7, limitBytes: 6, biggest: [] } as const
  expect(describeCli(notDone(error))).toEqual([
    'The checkpoint of run r is too large (a): 7 bytes, the limit is 6. Keep large values in files or artifacts'
  ])
})

describe('a run that another process holds', () => {
  test('poll of a held run prints the command that shows the run, and none that resumes it', async () => {
    const busy = await running()
    const polled = await place.dogear(['poll', 'busy'])
    expect(polled.stdout).toBe('Run busy has no pending job\n')
    expect(polled.stderr).not.toContain('dogear resume')
    expect(polled.stderr).toContain(`It is in progress: process ${busy.pid} on `)
    expect(await follow(polled)).toMatchObject({ code: 0 })
    const json = JSON.parse((await place.dogear(['poll', 'busy', '--json'])).stdout) as { next: string }
    expect(json.next).toBe('dogear show busy')
    busy.child.kill('SIGINT')
    await busy.ended
    expect((await place.dogear(['poll', 'busy'])).stderr).toContain('  dogear resume busy\n')
  })

  test('a held run with a pending job is polled again, and an answer to another unit is refused with the unit that waits', async () => {
    within({
      'waits.yml': `name: waits
steps:
  - wave: v
    groups:
      ask: { waitFor: { question: q } }
      job: { job: { submit: echo 7, poll: exit 75 } }
      slow: { shell: echo ready; sleep 60 }
  - { name: last, shell: 'true' }
`
    })
    const busy = place.start(['run', 'waits.yml', '--id', 'busy', '--verbose'])
    await busy.said('ready')
    await expect.poll(async () => (await place.dogear(['poll', 'busy'])).code).toBe(75)
    expect(commandsIn((await place.dogear(['poll', 'busy'])).stderr)).toEqual(['dogear poll busy'])
    const json = JSON.parse((await place.dogear(['poll', 'busy', '--json'])).stdout) as { next: string }
    expect(json.next).toBe('dogear poll busy')
    const refused = await place.dogear(['answer', 'busy', 'last', '--value', '5'])
    expect(refused.code).toBe(4)
    expect(commandsIn(refused.stderr)).toEqual(['dogear answer busy v/ask --value JSON'])
    busy.child.kill('SIGKILL')
    await busy.ended
  })

  test.each([
    ['resume', ['resume', 'busy']],
    ['clean', ['clean', 'busy', '--yes']],
    ['run with its id', ['run', 'slow.yml', '--id', 'busy']]
  ])('a command on a held run is refused with the possible actions: %s', async (_, words) => {
    const busy = await running()
    const refused = await place.dogear(words)
    expect(refused.code).toBe(4)
    expect(commandsIn(refused.stderr)).toEqual(['dogear show busy', 'dogear pause busy'])
    expect(await follow(refused)).toMatchObject({ code: 0 })
    busy.child.kill('SIGINT')
    await busy.ended
  })
})

test('starting a second run of a workflow reports the active one', async () => {
  const busy = await running()
  place.write('slow.yml', slow.replace('sleep 60', 'true'))
  for (const words of [
    ['run', 'slow.yml'],
    ['run', 'slow.yml', '--resume'],
    ['run', 'slow.yml', '--id', 'other']
  ]) {
    const { code, stderr } = await place.dogear(words)
    expect(code).toBe(0)
    expect(stderr).toContain(`Run busy of this workflow is in progress (process ${busy.pid} on `)
    expect(stderr).toContain('. To show it:\n  dogear show busy\n')
  }
  busy.child.kill('SIGINT')
  await busy.ended
})

describe('a run that does not exist', () => {
  test.each(['resume', 'show', 'plan', 'poll', 'pause', 'verify', 'clean'])(
    '%s refuses an unknown run with the folder searched and the command that lists runs',
    async (command) => {
      within({ 'two.yml': two })
      await place.dogear(['run', 'two.yml', '--id', 'known'])
      const refused = await place.dogear([command, 'nobody'])
      expect(refused.code).toBe(3)
      expect(linesOf(refused.stderr)).toEqual([
        'dogear: No checkpoint found for run nobody',
        'Check the id and the store; the run may have been deleted, archived or moved, or its process died before the first save',
        `Looked in ${place.folder}/.dogear`,
        'List the runs with:',
        '  dogear runs'
      ])
      expect((await follow(refused)).stdout).toContain('known')
      const json = JSON.parse((await place.dogear([command, 'nobody', '--json'])).stdout) as {
        error: { message: string }
      }
      expect(json.error.message).toContain('\n  dogear runs')
    }
  )

  test('resume is refused if no run is unfinished', async () => {
    within({ 'two.yml': two })
    expect(await follow(await place.dogear(['resume']))).toMatchObject({ code: 0 })
  })
})

test('the printed command with the answer "again" for a step that is not idempotent works as printed', async () => {
  within({
    'w.yml': `name: w
steps:
  - { name: art, shell: 'echo art >> log; echo x > art', artifacts: [art], idempotent: false }
  - { name: last, shell: test -e fixed }
`
  })
  await place.dogear(['run', 'w.yml', '--id', 'r'])
  place.write('fixed', '')
  await place.shell('rm art')
  const refused = await place.dogear(['resume', 'r'])
  expect(refused.code).toBe(4)
  const [again = ''] = commandsIn(refused.stderr)
  expect(again).toBe('dogear resume r --confirm art=again')
  expect((await place.shell(again)).code).toBe(0)
  expect(place.read('log')).toBe('art\nart\n')
})

test('an id whose run belongs to another workflow file is refused with the command that resumes the run with its own file', async () => {
  within({ 'two.yml': two, 'other.yml': 'name: other\nsteps: [{ shell: "true" }]\n' })
  await place.dogear(['run', 'two.yml', '--id', 'r'])
  place.write('fixed', '')
  const refused = await place.dogear(['run', 'other.yml', '--id', 'r', '--resume'])
  expect(refused.code).toBe(4)
  expect(refused.stderr).toContain(`Resume it with its own file, ${place.folder}/two.yml:\n  dogear resume r\n`)
})

test('the suggested path of a workflow file is valid in the folder where the command was typed', async () => {
  within({ 'two.yml': two })
  await place.dogear(['run', 'two.yml', '--id', 'r'])
  await place.shell('mv two.yml twoo.yml; mkdir below')
  const { stderr } = await place.shell(`cd below && "$OLDPWD/.bin/dogear" resume r --home ../.dogear`)
  expect(stderr).toContain(`Did you mean "${place.folder}/twoo.yml"?`)
})

describe('an ambiguous run', () => {
  test('a resume that fits several runs is refused with a command that names one of them', async () => {
    within({ 'two.yml': two })
    for (const id of ['aaaa-1', 'aaaa-2']) await place.dogear(['run', 'two.yml', '--id', id])
    place.write('fixed', '')
    const ambiguous = await place.dogear(['resume', 'aaaa', '--verbose'])
    expect(commandsIn(ambiguous.stderr)).toEqual(['dogear resume aaaa-2 --verbose'])
    expect((await follow(await place.dogear(['resume']))).stderr).toContain('Resuming run aaaa-2')
    expect(await follow(ambiguous)).toMatchObject({ code: 0 })
  })
})

describe('an id in use', () => {
  const known = async (): Promise<void> => {
    within({ 'two.yml': two })
    await place.dogear(['run', 'two.yml', '--id', 'known'])
  }

  test('an id in use is refused in a pipe with the run’s progress and the command that resumes it', async () => {
    await known()
    place.write('fixed', '')
    const refused = await place.dogear(['run', 'two.yml', '--id', 'known'])
    expect(refused.code).toBe(4)
    expect(refused.stderr).toContain('Run known already exists')
    expect(refused.stderr).toMatch(
      /^It is a run of two: failed, 1\/2 steps completed, started \d{4}-\d\d-\d\d \d\d:\d\d UTC$/m
    )
    expect(await follow(refused)).toMatchObject({ code: 0 })
    expect(place.read('log')).toBe('one\ntwo\n')
  })

  test('the id of a cancelled run is refused with the command that reopens it', async () => {
    await known()
    place.write('fixed', '')
    await place.dogear(['cancel', 'known'])
    const refused = await place.dogear(['run', 'two.yml', '--id', 'known'])
    expect(refused.code).toBe(4)
    expect(refused.stderr).toContain('To resume it anyway:\n  dogear resume known --reopen\n')
    expect(await place.dogear(['resume', 'known', '--reopen'])).toMatchObject({ code: 0 })
  })

  test('a refused resume of a cancelled run prints a plan command that also reopens the run', async () => {
    await known()
    await place.dogear(['cancel', 'known'])
    const refused = await place.dogear(['resume', 'known', '--reopen', '--from-step', 'nope'])
    expect(refused.stderr).toContain('dogear plan known --reopen\n')
    expect(await follow(refused)).toMatchObject({ code: 0 })
  })

  test('the id of a completed run is refused with the command that runs it again', async () => {
    await known()
    place.write('fixed', '')
    await place.dogear(['resume', 'known'])
    const refused = await place.dogear(['run', 'two.yml', '--id', 'known'])
    expect(refused.stderr).toContain('It is a run of two: completed, 2/2 steps completed, started ')
    expect(commandsIn(refused.stderr)).toEqual(['dogear resume known --force', 'dogear run two.yml'])
    expect(await follow(refused)).toMatchObject({ code: 0 })
    expect(place.read('log')).toBe('one\ntwo\none\ntwo\n')
  })

  test('a run with a new id does not resume an earlier run, and in a pipe the earlier run is reported', async () => {
    await known()
    place.write('fixed', '')
    const started = await place.dogear(['run', 'two.yml', '--id', 'other'])
    expect(started.code).toBe(0)
    expect(started.stderr).toMatch(
      /^An earlier run of two is unfinished \(failed, 1\/2 steps completed, .*\)\. To resume it instead:\n {2}dogear resume known$/m
    )
  })
})

describe('an unreadable run', () => {
  test('a single unreadable run is listed, prevents no new run, and exits with 5', async () => {
    within({ 'two.yml': two })
    await place.dogear(['run', 'two.yml', '--id', 'broken'])
    damage('broken')
    const listed = await place.dogear(['runs'])
    expect(listed.code).toBe(5)
    expect(listed.stdout).toMatch(/^broken +\? +unreadable/m)
    expect(listed.stdout).not.toContain('No runs')
    expect((await follow(listed)).stdout).toMatch(/broken {2}damaged/)
    const verified = await place.dogear(['verify'])
    expect(verified.code).toBe(5)
    expect(verified.stdout).toMatch(
      /broken {2}damaged: .*\n {4}After restoring .*broken from a backup:\n {6}dogear verify broken\n$/
    )
    const json = await place.dogear(['runs', '--json'])
    expect(json.code).toBe(5)
    expect(JSON.parse(json.stdout)).toMatchObject([
      { run_id: 'broken', run_name: null, status: 'unreadable', error: { code: 'Corrupt' } }
    ])
    expect((await place.dogear(['resume'])).code).toBe(5)
  })

  test('verify calls a run of a newer format unreadable, and not damaged', async () => {
    within({ 'two.yml': two })
    await place.dogear(['run', 'two.yml', '--id', 'newer'])
    await place.shell(
      `sed -i 's/"format": *1/"format": 9/' .dogear/runs/newer/checkpoint.json .dogear/runs/newer/history/*`
    )
    const { code, stdout } = await place.dogear(['verify'])
    expect([code, stdout]).toEqual([
      5,
      expect.stringMatching(/newer {2}unreadable: .* has format 9, .*; upgrade Dogear\n/)
    ])
  })

  test('an unreadable run is listed last, and in no list that is filtered by status', async () => {
    within({ 'two.yml': two })
    for (const id of ['broken', 'whole']) await place.dogear(['run', 'two.yml', '--id', id])
    damage('broken')
    const listed = await place.dogear(['runs'])
    expect(listed.code).toBe(0)
    expect(linesOf(listed.stdout).map((line) => line.split(/ {2,}/)[0])).toEqual(['RUN-ID', 'whole', 'broken'])
    const failed = await place.dogear(['runs', '--status', 'failed'])
    expect(failed.stdout).not.toContain('broken')
    expect(failed.stderr).toContain('warning: Run broken cannot be read')
  })

  test.each(['resume', 'show', 'plan', 'verify'])(
    '%s refuses an unreadable run with its place and the command that checks it',
    async (command) => {
      within({ 'two.yml': two })
      await place.dogear(['run', 'two.yml', '--id', 'broken'])
      damage('broken')
      const refused = await place.dogear([command, 'broken'])
      expect(refused.code).toBe(5)
      expect(refused.stderr).toContain(`${place.folder}/.dogear/runs/broken`)
      expect(commandsIn(refused.stderr)).toEqual(['dogear verify broken'])
    }
  )
})

describe('a plan that differs from the reviewed one', () => {
  test('a changed plan is refused with the command that shows it, with the same flags', async () => {
    within({ 'two.yml': two })
    await place.dogear(['run', 'two.yml', '--id', 'r'])
    const refused = await place.dogear(['resume', 'r', '--from-step', 'two', '--plan', '0123456789abcdef'])
    expect(refused.code).toBe(4)
    expect(commandsIn(refused.stderr)).toEqual(['dogear plan r --from-step two'])
    expect(await follow(refused)).toMatchObject({ code: 0 })
  })
})

describe('a command to repeat', () => {
  const environment = { TOKEN: 'hunter2-hunter2' }

  test.each([
    ['run', ['run', 'secret.yml', '--id', 'r', '--input', 'note=hunter2-hunter2']],
    ['resume', ['resume', 'r', '--from-step', 'nosuch', '--confirm', 'a=done:hunter2-hunter2']]
  ])('a command to repeat contains no secret: %s', async (which, words) => {
    const steps =
      'name: secret\nsecrets: [TOKEN]\ninput: { note: x }\nsteps: [{ name: a, capture: c, shell: "exit 1" }]'
    within({ 'secret.yml': steps })
    if (which === 'resume') await place.dogear(['run', 'secret.yml', '--id', 'r'], { environment })
    place.write('secret.yml', which === 'run' ? `workspace: worktree\n${steps}` : steps.replace('name: a', 'name: b'))
    const refused = await place.dogear(words, { environment })
    expect(refused.code, refused.stderr).toBe(4)
    expect(refused.stderr).toMatch(/^ {2}dogear /m)
    expect(refused.stderr).not.toContain('hunter2')
  })
})

test('a command to repeat contains no value while its workflow is unknown', async () => {
  within({ 'two.yml': two })
  const unfit = await place.dogear(['run', 'two.yml', '--id', 'No Id', '--input', 'a=hunter2', '--input=b=hunter2'])
  expect(unfit.code).toBe(2)
  expect(commandsIn(unfit.stderr)).toEqual(['dogear run two.yml --input a=VALUE --input=b=VALUE'])
  for (const id of ['aaaa-1', 'aaaa-2']) await place.dogear(['run', 'two.yml', '--id', id])
  const ambiguous = await place.dogear(['resume', 'aaaa', '--confirm', 'one=done:hunter2'])
  expect(commandsIn(ambiguous.stderr)).toEqual(['dogear resume aaaa-2 --confirm one=done:OUTPUT'])
  const answered = await place.dogear(['answer', 'aaaa', 'one', 'done', '--output', '"hunter2"'])
  expect(commandsIn(answered.stderr)).toEqual(['dogear answer aaaa-2 one done --output JSON'])
})

test.each([
  [
    ['answer', 'r', 'a', 'done', '--output=1'],
    ['answer', 'r', 'a', 'done', '--output=JSON']
  ],
  [
    ['runs', '--output', 'json'],
    ['runs', '--output', 'json']
  ]
])('the words %j without values are %j', (words, without) => {
  expect(withoutValues(words)).toEqual(without)
})

describe('consent in a pipe', () => {
  test.each([
    ['resume', ['resume', 'r', '--force']],
    ['prune', ['prune', '--keep', '0', '--status', 'failed']]
  ])('a pipe refuses without consent and prints the command that consents: %s', async (_, words) => {
    within({ 'two.yml': two })
    await place.dogear(['run', 'two.yml', '--id', 'r'])
    place.write('fixed', '')
    const refused = await place.dogear(words)
    expect(refused.code).toBe(4)
    expect(await follow(refused)).toMatchObject({ code: 0 })
  })
})

test('pausing an inactive run is refused with the possible actions', async () => {
  within({ 'two.yml': two })
  await place.dogear(['run', 'two.yml', '--id', 'r'])
  place.write('fixed', '')
  const paused = await place.dogear(['pause', 'r'])
  expect(paused).toMatchObject({ code: 4, stdout: '' })
  expect(paused.stderr).toMatch(/^dogear: Run r has failed: there is nothing to pause\n/)
  expect(await follow(paused)).toMatchObject({ code: 0 })
  expect(await follow(await place.dogear(['pause', 'r']))).toMatchObject({ code: 0 })
})

test('the output of a superseded run ends with the command that shows the run', async () => {
  const taken =
    'steps: [{ shell: until rm -rf .dogear/runs/r; do sleep 0.1; done; dogear run two.yml --id r || true }, { shell: touch never }]'
  within({ 'w.yml': taken, 'two.yml': two })
  const ended = await place.dogear(['run', 'w.yml', '--id', 'r'])
  expect(ended.code).toBe(6)
  expect((await follow(ended)).stdout).toContain('two')
})

test('the output of a run that is deleted while it runs ends with the command that lists the remaining runs', async () => {
  within({ 'w.yml': 'steps: [{ shell: until rm -rf .dogear/runs/r; do sleep 0.1; done }, { shell: touch never }]' })
  const ended = await place.dogear(['run', 'w.yml', '--id', 'r'])
  expect(ended.code).toBe(6)
  expect(commandsIn(ended.stderr)).toEqual(['dogear runs'])
  expect(await follow(ended)).toMatchObject({ code: 0 })
})

const HOLDER = { host: 'h', pid: 7, since: '2026-01-01T00:00:00Z', liveness: 'undecided' } as const

describe('next actions', () => {
  const store = {
    location: { _tag: 'Files', path: '/h/.dogear' } as const,
    words: []
  }
  const where = { store, folder: '/h', words: ['resume', 'r', '--home', 'x'] }
  const fake = (_tag: string): CliError =>
    ({
      _tag: 'NotDone',
      error: {
        _tag,
        runId: 'r',
        problems: [],
        questions: [],
        secrets: [],
        gone: [],
        holder: {},
        waiting: [],
        where: '/h',
        why: 'w'
      },
      hints: [],
      runId: 'r'
    }) as unknown as CliError

  test.each([
    { _tag: 'HeldBy', runId: 'r', holder: HOLDER },
    { _tag: 'RunCancelled', runId: 'r' },
    { _tag: 'WorkspaceMissing', runId: 'r', path: '/w', missing: [], kind: 'directory' },
    { _tag: 'RecoveryRefused', runId: 'r', from: 'Previous', lost: 'one change', cause: undefined }
  ] as const)(
    'the next command is show for a program’s run, and resume or plan for a run of a workflow file: $_tag',
    (error) => {
      const next = (workflow: { readonly path?: string }) =>
        nextActions(where, notDone(error, [], { runId: 'r', workflow })).map(({ command }) => command)
      expect(next({ path: '/h/w.yml' })[0]).toMatch(/^dogear (resume|plan) r/)
      expect(next({})).toEqual(['dogear show r'])
    }
  )

  test('the next command for a program’s run with an undecided owner is show, not a takeover', () => {
    const checkpoint = { runId: 'r', workflow: { name: 'w', steps: [] } } as unknown as Checkpoint
    const hints = continuing(where, { checkpoint, heldBy: O.some(HOLDER) })
    expect(hints.map(({ command }) => command)).toEqual(['dogear show r'])
  })

  // The command adds these with its knowledge of the plan.
  const tags = [...new Set(literals('executor/errors/RunError.ts', 'RunError'))].filter(
    (tag) => tag !== 'Unconfirmed' && tag !== 'RecoveryRefused'
  )

  test.each(tags)('the error %s has a next command', (tag) => {
    expect(nextActions(where, fake(tag)).some(({ command }) => command?.startsWith('dogear ') === true)).toBe(true)
  })

  test('an error whose message has a next command gets no second command', () => {
    const given: CliError = { ...fake('NoSuchRun'), hints: [{ text: 'Do:', command: 'dogear this' }] }
    expect(nextActions(where, given)).toEqual([])
    expect(nextActions(where, usage('wrong'))).toEqual([])
  })
})

describe('a run started by a program', () => {
  const library = new URL('../../dist/', import.meta.url).href
  const program = (options = ''): string => `
import { jsonFileStorage } from '${library}adapters/json-file/index.js'
import { resume, run, workflow } from '${library}promise/index.js'
const charge = workflow('charge').step('charge', { idempotent: false, run: () => {
  if (process.argv[2] === 'crash') process.kill(process.pid, 'SIGKILL')
  return 'receipt'
} })
const options = { id: 'r', storage: jsonFileStorage('.dogear') }
try {
  const outputs = await (process.argv[2] === 'crash' ? run(charge, options) : resume(charge, { ...options, ${options} }))
  console.log(JSON.stringify(outputs))
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}`

  const crashed = async (): Promise<Ended> => {
    within({ 'program.mjs': program() })
    await place.shell(`'${process.execPath}' program.mjs crash`)
    return place.shell(`'${process.execPath}' program.mjs`)
  }

  test.each([
    ['to run it again', '{"charge":"receipt"}\n'],
    ['if it is done', '{"charge":null}\n']
  ])(
    'the `confirm` option that a failed program prints for its question works as printed: %s',
    async (which, output) => {
      const asked = await crashed()
      expect(asked.code).toBe(1)
      expect(asked.stderr).toContain('"charge" may already have taken effect, and is not idempotent')
      expect(asked.stderr).not.toMatch(/charge=again|--confirm|dogear /)
      const [, answer = ''] = new RegExp(`^ {4}${which}: (confirm: .*)$`, 'm').exec(asked.stderr) ?? []
      place.write('answered.mjs', program(answer))
      expect(await place.shell(`'${process.execPath}' answered.mjs`)).toMatchObject({ code: 0, stdout: output })
    }
  )

  test.each(['resume', 'plan', 'poll'])(
    '%s refuses a program’s run, and says how the program or dogear answer continues it',
    async (command) => {
      await crashed()
      const refused = await place.dogear([command, 'r'])
      expect(refused.code).toBe(2)
      expect(refused.stderr).toContain(
        'Run r was started by a program; resume it there; "dogear answer" answers its questions\n'
      )
      expect(await follow(refused)).toMatchObject({ code: 0 })
    }
  )

  test('pause of a program’s run, and run with its id, are refused with the command that shows the run, and none that resumes it', async () => {
    await crashed()
    place.write('two.yml', two)
    const paused = await place.dogear(['pause', 'r'])
    expect(paused.code).toBe(4)
    expect(commandsIn(paused.stderr)).toEqual(['dogear show r'])
    expect((await follow(paused)).stdout).toContain('charge')
    place.write('fixed', '')
    const taken = await place.dogear(['run', 'two.yml', '--id', 'r'])
    expect(taken.code).toBe(4)
    expect(commandsIn(taken.stderr)).toEqual(['dogear show r', 'dogear run two.yml'])
    expect(await follow(taken)).toMatchObject({ code: 0 })
  })

  test('a program’s run is not offered for a workflow file of the same name', async () => {
    await crashed()
    place.write('charge.yml', 'name: charge\nsteps: [{ name: charge, shell: echo hello }]')
    const started = await place.dogear(['run', 'charge.yml', '--resume'])
    expect(started).toMatchObject({ code: 0, stdout: 'hello\n' })
    expect(started.stderr).not.toContain('dogear resume')
  })
})

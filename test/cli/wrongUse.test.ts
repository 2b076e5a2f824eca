/** Common mistakes on the command line, and the command's answers. */
import { afterEach, describe, expect, test } from 'vitest'
import { type Ended, linesOf, type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
const within = (files: Readonly<Record<string, string>> = {}): Sandbox => (place = sandbox(files))
afterEach(() => place.remove())

const one = 'name: one\nsteps: [{ shell: "echo one >> log; test -e fixed" }]'

/** Runs the command in the last line of a message. */
const follow = ({ stderr }: Ended): Promise<Ended> => place.shell(linesOf(stderr).at(-1) ?? 'exit 99')

describe('a flag without its value', () => {
  test.each([[['--home']], [['runs', '--home']], [['run', 'w.yml', '--id']]])(
    'a flag without its value is a usage error, not a crash: %j',
    async (words) => {
      within()
      const { code, stderr } = await place.dogear(words)
      expect(code).toBe(2)
      expect(stderr).not.toMatch(/bug|^ +at |CommanderError/m)
      expect(stderr).toMatch(/^dogear: option "--(home <folder>|id <id>)" argument missing/)
    }
  )

  test('a flag without its value names the help of its command', async () => {
    within()
    const { stderr } = await place.dogear(['runs', '--store'])
    expect(linesOf(stderr)).toEqual([
      'dogear: option "--store <store>" argument missing',
      'Print help with:',
      '  dogear help runs'
    ])
  })

  test.each([
    ['--home', '--home: the value is missing; pass a folder'],
    ['--store', '--store: the value is missing; pass a folder, sqlite:FILE or postgres://HOST/DATABASE']
  ])('a flag in place of the value of %s is refused, not used as a folder', async (flag, message) => {
    within()
    const { code, stderr } = await place.dogear(['runs', flag, '--json'])
    expect([code, stderr]).toEqual([2, `dogear: ${message}\n`])
  })
})

describe('the version', () => {
  test.each([[['-V', 'runs']], [['--version', '--foo']], [['--version']]])(
    'the version is printed once: %j',
    async (words) => {
      within()
      const { stdout } = await place.dogear(words)
      expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
    }
  )
})

describe('a failed run', () => {
  const flow = `name: w\nsteps:\n  - wave: g\n    groups:\n      a: { shell: 'true' }\n      b: { shell: 'true' }\n  - { name: end, shell: 'false' }\n`
  const failed = async (): Promise<void> => {
    within({ 'w.yml': flow })
    expect((await place.dogear(['run', 'w.yml', '--id', 'r'])).code).toBe(1)
  }

  test('an answer for a wave is refused; its groups need the answers', async () => {
    await failed()
    const { code, stderr } = await place.dogear(['resume', 'r', '--confirm', 'g=keep'])
    expect(code).toBe(4)
    expect(stderr).toContain('"g" takes no answer of its own; answer its parts: "g/a", "g/b"')
  })

  test('another input without --from-step is refused, and the printed command applies it', async () => {
    await failed()
    const refused = await place.dogear(['resume', 'r', '--input', 'who=bob'])
    expect(refused.code).toBe(2)
    expect(linesOf(refused.stderr).at(-1)).toBe('  dogear resume r --force --input who=bob')
  })
})

test('a workflow file without a name is not mistaken for a folder', async () => {
  within()
  const { code, stderr } = await place.dogear(['run', ''])
  expect(code).toBe(2)
  expect(stderr).toContain('The name of the workflow file is empty; name a file')
})

describe('an unknown command', () => {
  test.each([
    ['help rn', 'unknown command "rn". Did you mean "run"?'],
    ['help nope', 'unknown command "nope"'],
    ['help nonsense', 'unknown command "nonsense"'],
    ['version', 'unknown command "version". Did you mean "--version"?'],
    ['ls', 'unknown command "ls". Did you mean "runs"?'],
    ['logs x', 'unknown command "logs". Did you mean "show"?'],
    ['status x', 'unknown command "status". Did you mean "show"?'],
    ['status', 'unknown command "status". Did you mean "runs"?'],
    ['help stop', 'unknown command "stop". Did you mean "pause"?'],
    ['--home elsewhere rn', 'unknown command "rn". Did you mean "run"?'],
    ['status --all x', 'unknown command "status". Did you mean "show"?']
  ])('an unknown command is refused with the command that was probably meant: dogear %s', async (words, message) => {
    within()
    const refused = await place.dogear(words.split(' '))
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(linesOf(refused.stderr)[0]).toBe(`dogear: ${message}`)
    expect(await follow(refused)).toMatchObject({ code: 0 })
  })

  test('an unknown command is reported as a document with --json', async () => {
    within()
    const { stdout } = await place.dogear(['ls', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'Usage' } })
  })

  test('a workflow file in place of a command is refused, and the last line is the command that runs the file', async () => {
    within({ 'w.yml': one, fixed: '' })
    const refused = await place.dogear(['w.yml', '--id', 'r'])
    expect(refused.code).toBe(2)
    expect(linesOf(refused.stderr)).toContain('  dogear run w.yml --id r')
    expect(await place.shell('dogear run w.yml --id r')).toMatchObject({ code: 0 })
  })

  test('`dogear help` prints the help of dogear, of a command, and of a command named by its alias', async () => {
    within()
    expect((await place.dogear(['help'])).stdout).toMatch(/^Usage: dogear/)
    expect((await place.dogear(['help', 'run'])).stdout).toMatch(/^Usage: dogear run/)
    expect((await place.dogear(['help', 'list'])).stdout).toMatch(/^Usage: dogear runs\|list/)
  })

  test.each([[['list']], [['list', 'runs']], [['list', '--status', 'failed', 'runs', '--status', 'pending']]])(
    'the words %j list runs as `runs` does, and the help shows the alias',
    async (words) => {
      within({ 'w.yml': one })
      await place.dogear(['run', 'w.yml', '--id', 'r'])
      expect(await place.dogear(words)).toEqual(
        await place.dogear(['runs', ...words.filter((word) => !/^(list|runs)$/.test(word))])
      )
      expect((await place.dogear(['help'])).stdout).toMatch(/^ {2}runs\|list /m)
    }
  )
})

describe('a word too many', () => {
  test.each([
    ['runs r', 'runs', '"r"'],
    ['list --json r s', 'runs', '"r", "s"'],
    ['list --json runs r', 'runs', '"r"'],
    ['run --id r w.yml s', 'run', '"s"'],
    ['show -- r --json', 'show', '"--json"'],
    ['show -1 -2', 'show', '"-2"']
  ])('the error for an extra argument names it, wherever the options are: dogear %s', async (words, command, extra) => {
    within()
    const refused = await place.dogear(words.split(' '))
    expect(linesOf(refused.stderr)).toEqual([
      `dogear: too many arguments for "${command}"; remove ${extra}`,
      'Print help with:',
      `  dogear help ${command}`
    ])
    expect(refused.code).toBe(2)
  })
})

describe('an option of a command before the command', () => {
  test.each([
    [
      ['--json', 'runs'],
      ['runs', '--json']
    ],
    [
      ['--status', 'failed', 'list'],
      ['runs', '--status', 'failed']
    ],
    [
      ['--status=failed', 'list'],
      ['runs', '--status', 'failed']
    ],
    [
      ['--home', 'a b', '--events', 'resume', 'r'],
      ['resume', 'r', '--events', '--home', 'a b']
    ]
  ])('an option means the same before its command as after it: %j', async (words, usual) => {
    within()
    const { code, stdout } = await place.dogear(words)
    expect([code, stdout]).toEqual([(await place.dogear(usual)).code, (await place.dogear(usual)).stdout])
  })
})

describe('a missing id', () => {
  test.each(['show', 'pause'])(
    'a command without a run id is refused, and the last line is the command that lists runs: dogear %s',
    async (command) => {
      within({ 'w.yml': one })
      await place.dogear(['run', 'w.yml', '--id', 'r', '--home', 'else where'])
      const refused = await place.dogear(['--home', 'else where', command])
      expect(refused.code).toBe(2)
      const [, listing = ''] = /^List the runs with:\n {2}(.*)$/m.exec(refused.stderr) ?? []
      expect((await place.shell(listing)).stdout).toContain('one')
      expect(await follow(refused)).toMatchObject({ code: 0 })
    }
  )
})

describe('a file', () => {
  test('a missing file is refused with a similar name', async () => {
    within({ 'release.yml': one, 'notes.txt': '' })
    expect((await place.dogear(['run', 'relase.yml'])).stderr).toBe(
      'dogear: Cannot read workflow relase.yml: the file does not exist. Did you mean "release.yml"?\n'
    )
    expect((await place.dogear(['run', 'notes.text'])).stderr).toBe(
      'dogear: Cannot read workflow notes.text: the file does not exist\n'
    )
  })

  test('for a missing file, one is suggested by its name without folder and extension', async () => {
    within({ 'release.yml': one, 'q.yml': one, 'flows/build.yml': one })
    const meant = async (name: string): Promise<string | undefined> =>
      /Did you mean "(.*)"/.exec((await place.dogear(['run', name])).stderr)?.[1]
    expect(await meant('release.yaml')).toBe('release.yml')
    expect(await meant('flows/biuld.yml')).toBe('flows/build.yml')
    expect(await meant('flows/ship.yml')).toBeUndefined()
    expect(await meant('ch.yml')).toBeUndefined()
  })

  test('run refuses the id of a run in place of a file, and prints the command that resumes the run', async () => {
    within({ 'w.yml': one })
    await place.dogear(['run', 'w.yml', '--id', 'r-1'])
    const refused = await place.dogear(['run', 'r-1'])
    expect(refused.code).toBe(2)
    expect(refused.stderr).toBe(
      'dogear: r-1 is the id of a run: this command takes a workflow file\nTo resume it:\n  dogear resume r-1\n'
    )
  })

  test.each(['resume', 'show', 'plan', 'verify', 'pause'])('%s refuses a file in place of an id', async (command) => {
    within({ 'w.yml': one, 'flows/x.yml': one })
    const refused = await place.dogear([command, 'w.yml'])
    expect(refused.code).toBe(3)
    expect(refused.stderr).toContain('w.yml is a file: this command takes the id of a run; "dogear run" takes a file\n')
    expect(await follow(refused)).toMatchObject({ code: 0 })
    const below = await place.dogear([command, 'flows/x.yml'])
    expect(below.code).toBe(2)
    expect(below.stderr).toContain('flows/x.yml is a file: this command takes the id of a run')
  })

  test.each(['', '\n# only a comment\n'])(
    'an empty workflow file is refused, and the error says that it is empty: %j',
    async (text) => {
      within({ 'w.yml': text })
      const { code, stderr } = await place.dogear(['run', 'w.yml'])
      expect(code).toBe(2)
      expect(stderr).toMatch(
        /^w\.yml:\d:1: the file is empty; write a workflow with "steps", "dogear help" shows one$/m
      )
    }
  )
})

describe('contradictory flags', () => {
  test('contradictory flags are refused with the remedy', async () => {
    within({ 'w.yml': one })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    const { code, stderr } = await place.dogear(['resume', 'r', '--force', '--from-step', '1'])
    expect(code).toBe(2)
    expect(stderr).toBe('dogear: --force and --from-step cannot be combined; use one of them\n')
  })

  test.each([
    [['run', '--merge', '--no-merge', 'w.yml']],
    [['run', 'w.yml', '--no-merge', '--merge']],
    [['resume', '--merge', '--no-merge']]
  ])('contradictory flags are refused before anything runs: %j', async (words) => {
    within({ 'w.yml': one, fixed: '' })
    const { code, stderr } = await place.dogear(words)
    expect(code).toBe(2)
    expect(stderr).toBe(
      `dogear: --merge and --no-merge cannot be combined; use one of them\nPrint help with:\n  dogear help ${words[0]}\n`
    )
    expect(place.exists('log')).toBe(false)
  })
})

describe('a flag about the worktree of a run that has none', () => {
  test.each(['--merge', '--no-merge'])('a flag about a missing worktree raises a warning: %s', async (flag) => {
    within({ 'w.yml': one, fixed: '' })
    const warning = `warning: ${flag} has no effect: run r has no worktree`
    for (const words of [
      ['run', 'w.yml', '--id', 'r', flag],
      ['resume', 'r', flag]
    ]) {
      const { code, stderr } = await place.dogear(words)
      expect(code).toBe(0)
      expect(linesOf(stderr)).toContain(warning)
    }
  })

  test('a flag about a missing worktree also raises a warning if every run is completed', async () => {
    within({ 'w.yml': one, fixed: '' })
    await place.dogear(['run', 'w.yml', '--id', 'r'])
    const { code, stderr } = await place.dogear(['resume', '--no-merge'])
    expect(code).toBe(0)
    expect(linesOf(stderr)).toContain('warning: --no-merge has no effect: run r has no worktree')
  })
})

describe('commands to copy keep the state folder', () => {
  const other = { environment: { DOGEAR_HOME: 'other' } }

  test('the printed command that starts a first run includes the state folder', async () => {
    within({ 'w.yml': one, fixed: '' })
    const { stdout } = await place.dogear(['runs'], other)
    const [, command = ''] = /Start one with: (.*) <file>\n$/.exec(stdout) ?? []
    expect(await place.shell(`${command} w.yml`)).toMatchObject({ code: 0 })
    expect((await place.dogear(['runs'], other)).stdout).toContain('completed')
  })

  test('a printed command that repeats the typed command includes the state folder', async () => {
    within({ 'w.yml': one })
    for (const id of ['r-1', 'r-2']) await place.dogear(['run', 'w.yml', '--id', id], other)
    place.write('fixed', '')
    expect(await follow(await place.dogear(['resume'], other))).toMatchObject({ code: 0 })
    const agreed = await follow(await place.dogear(['prune', '--keep', '0'], other))
    expect(agreed).toMatchObject({ code: 0, stdout: 'Deleted 1 run\n' })
  })
})

test.each([
  ['resume --done', 'unknown option "--done"'],
  ['resume --from', 'unknown option "--from". Did you mean "--from-step"?'],
  ['resume --forse', 'unknown option "--forse". Did you mean "--force"?'],
  ['runs --hlep', 'unknown option "--hlep". Did you mean "--help"?'],
  ['--hom else runs', 'unknown option "--hom". Did you mean "--home"?'],
  ['-v=1 run f.yaml', 'unknown option "-v=1". Did you mean "-v"?'],
  ['run f.yaml -v=1', 'unknown option "-v=1". Did you mean "-v"?'],
  ['prune -y=true', 'unknown option "-y=true". Did you mean "-y"?'],
  ['run f.yaml -q', 'unknown option "-q"'],
  ['runs -h=1', 'unknown option "-h=1". Did you mean "-h"?']
])('an unknown option is refused, with a similar one if there is one: dogear %s', async (words, message) => {
  within()
  const { code, stderr } = await place.dogear(words.split(' '))
  expect([code, linesOf(stderr)[0]]).toEqual([2, `dogear: ${message}`])
})

test('flags of one letter may share a word, and a value may follow an equals sign', async () => {
  within({ 'w.yml': one, fixed: '' })
  const { code, stderr } = await place.dogear(['run', '--id=r', 'w.yml', '-yv', '--home=a=b'])
  expect([code, linesOf(stderr)[0]]).toEqual([0, 'Run r started'])
  expect(stderr).toContain('saved revision')
  expect(place.exists('a=b')).toBe(true)
})

test('a command in a deleted folder reports that the folder is missing', async () => {
  within()
  const refused = await place.shell('mkdir deleted && cd deleted && rmdir ../deleted && dogear runs')
  expect([refused.code, linesOf(refused.stderr).at(-1)]).toEqual([
    2,
    'dogear: the current folder was deleted; change to one that exists'
  ])
})

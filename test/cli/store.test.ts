import { chmodSync, statSync } from 'node:fs'
import * as E from 'fp-ts/lib/Either.js'
import { afterEach, describe, expect, test } from 'vitest'
import { describe as described } from '../../src/cli/CliError.js'
import { parse, show, withoutPassword } from '../../src/cli/store/Location.js'
import { open } from '../../src/cli/store/open.js'
import { newDatabase } from './database.js'
import { type Ended, linesOf, type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
afterEach(() => place?.remove())

const STORES: ReadonlyArray<readonly [string, () => Promise<string>]> = [
  ['a SQLite file', () => Promise.resolve('state.db')],
  ['a PostgreSQL database', newDatabase]
]

const WORKFLOW = `
name: release
steps:
  - { name: version, shell: 'echo 1.2.3', capture: version }
  - { name: pack, shell: 'echo "$version" > pack.txt' }
  - { name: send, shell: 'test ! -e broken' }
`

describe('--store', () => {
  test.each(STORES)(
    'a failed run in %s can be shown, planned, verified, listed, resumed and pruned',
    async (_, store) => {
      place = sandbox({ 'w.yml': WORKFLOW, broken: '' })
      const where = await store()
      const dogear = (...words: ReadonlyArray<string>): Promise<Ended> => place.dogear([...words, '--store', where])
      expect((await dogear('run', 'w.yml', '--id', 'r-one')).code).toBe(1)
      expect(place.exists('.dogear/runs')).toBe(false)
      expect(JSON.parse((await dogear('show', 'r-one', '--json')).stdout)).toMatchObject({ status: 'failed' })
      expect((await dogear('plan', 'r-one')).code).toBe(0)
      expect((await dogear('verify')).stdout).toContain('r-one')
      expect((await dogear('runs')).stdout).toContain('r-one')
      expect((await place.dogear(['runs'])).stdout).toContain('No runs in')
      await place.shell('rm broken')
      expect((await dogear('resume')).code).toBe(0)
      expect(place.read('pack.txt')).toBe('1.2.3\n')
      expect((await dogear('prune', '--keep', '0', '--yes')).code).toBe(0)
      expect((await dogear('runs', '--json')).stdout.trim()).toBe('[]')
    }
  )

  test('printed commands repeat the store of the flag, and each of them works', async () => {
    place = sandbox({ 'w.yml': WORKFLOW, broken: '' })
    const failed = await place.dogear(['run', 'w.yml', '--id', 'r-one', '--store', 'state.db'])
    const command = linesOf(failed.stderr).findLast((line) => line.trim().startsWith('dogear resume')) ?? ''
    expect(command).toContain(`--store sqlite:${place.folder}/state.db`)
    await place.shell('rm broken')
    expect((await place.shell(command)).code).toBe(0)
  })

  test('DOGEAR_STORE names the store, printed commands omit it, and both --store and --home override it', async () => {
    place = sandbox({ 'w.yml': WORKFLOW, broken: '' })
    const environment = { DOGEAR_STORE: 'sqlite:state.db' }
    const failed = await place.dogear(['run', 'w.yml', '--id', 'r-one'], { environment })
    expect(failed.stderr).toMatch(/dogear resume r-one$/m)
    expect((await place.dogear(['runs'], { environment })).stdout).toContain('r-one')
    for (const flag of [
      ['--store', 'other'],
      ['--home', 'other']
    ]) {
      const other = await place.dogear(['runs', ...flag], { environment })
      expect(other.stdout).toContain(`No runs in ${place.folder}/other. Start one with: dogear run ${flag[0]} `)
    }
  })

  test.each([
    [['runs', '--store', 'sqlite:none.db'], 'none.db failed: open: ENOENT: the file does not exist; check the path'],
    [
      ['runs', '--store', 'sqlite:folder'],
      'folder failed: open: SQLITE_CANTOPEN: unable to open database file (it is a folder, or its folder is missing or not writable: pass another file)'
    ],
    [
      ['run', 'w.yml', '--store', 'sqlite:none/state.db'],
      'none/state.db failed: open: ENOENT: its folder does not exist; create it, or check the path'
    ]
  ])('a SQLite file that cannot be opened is refused with what is missing: %j', async (words, why) => {
    place = sandbox({ 'w.yml': WORKFLOW, broken: '', 'folder/x': '' })
    const { code, stderr } = await place.dogear(words)
    expect(code).toBe(5)
    expect(linesOf(stderr)[0]).toBe(`dogear: Reading ${place.folder}/${why}`)
  })

  test('a step that calls dogear finds its own run', async () => {
    place = sandbox({
      'w.yml': 'steps: [{ name: ask, shell: \'cd / && dogear pause "$DOGEAR_RUN_ID"\' }, { shell: "true" }]'
    })
    const paused = await place.process(['run', 'w.yml', '--id', 'r-one', '--store', 'state.db'])
    expect(paused.code).toBe(75)
    const resumed = await place.dogear(['resume', '--store', 'state.db'])
    expect(resumed.code).toBe(0)
  })

  test('a killed run in a SQLite file resumes at its step', async () => {
    place = sandbox({
      'w.yml': 'steps: [{ shell: "echo one >> log" }, { shell: "echo two >> log; test -e go || kill -9 $PPID" }]'
    })
    await place.process(['run', 'w.yml', '--id', 'r-one', '--store', 'state.db'])
    place.write('go', '')
    expect((await place.dogear(['resume', 'r-one', '--store', 'state.db'])).code).toBe(0)
    expect(place.read('log')).toBe('one\ntwo\ntwo\n')
  })

  test('a SQLite file that the command creates is private, and an existing file keeps its mode', async () => {
    place = sandbox({ 'w.yml': 'steps: [{ shell: "true" }]', 'empty.db': '' })
    chmodSync(`${place.folder}/empty.db`, 0o640)
    for (const [store, mode] of [
      ['new.db', 0o600],
      ['empty.db', 0o640]
    ] as const) {
      expect((await place.dogear(['run', 'w.yml', '--store', store])).code).toBe(0)
      expect(statSync(`${place.folder}/${store}`).mode & 0o777).toBe(mode)
    }
  })

  test.each([['run', 'w.yml', '--id', 'r-one'], ['runs'], ['show', 'r-one']])(
    'dogear %s on a file that is no database names the file',
    async (...words) => {
      place = sandbox({ 'w.yml': WORKFLOW, 'junk.db': 'not a database, but a string'.repeat(100) })
      const { code, stderr } = await place.dogear([...words, '--store', 'junk.db'])
      expect(code).toBe(5)
      expect(stderr.split('\n')[0]).toContain(`${place.folder}/junk.db`)
    }
  )

  test('a command that only reads creates no SQLite file', async () => {
    place = sandbox()
    const { code, stderr } = await place.dogear(['runs', '--store', 'none.db'])
    expect(code).toBe(5)
    expect(stderr).toContain(`${place.folder}/none.db`)
    expect(place.exists('none.db')).toBe(false)
  })

  test('a command on PostgreSQL ends with its usual exit code, also in a separate process', async () => {
    place = sandbox({ 'w.yml': WORKFLOW, broken: '' })
    const where = await newDatabase()
    const dogear = (...words: ReadonlyArray<string>): Promise<Ended> => place.process([...words, '--store', where])
    expect((await dogear('run', 'w.yml', '--id', 'r-one')).code).toBe(1)
    await place.shell('rm broken')
    expect((await dogear('resume', 'r-one')).code).toBe(0)
    expect((await dogear('move', 'r-one', '--to', 'state.db')).code).toBe(0)
  })

  test('no error of PostgreSQL offers an option of the library, which the command does not have', async () => {
    place = sandbox({ 'w.yml': WORKFLOW, broken: '' })
    const where = await newDatabase()
    await place.dogear(['run', 'w.yml', '--id', 'r-one', '--store', where])
    for (const words of [
      ['run', 'w.yml'],
      ['resume', 'r-one'],
      ['prune', '--status', 'failed', '--keep', '0', '--yes'],
      ['cancel', 'r-one'],
      ['fork', 'r-one', '--from-step', 'send']
    ]) {
      const weak = `${where}?options=-c%20synchronous_commit%3Doff`
      const { code, stdout, stderr } = await place.dogear([...words, '--store', weak])
      expect(code, words.join(' ')).not.toBe(0)
      expect(stdout + stderr, words.join(' ')).toMatch(
        /may be lost with synchronous_commit=off; change the setting(\W|$)/m
      )
      expect(stdout + stderr, words.join(' ')).not.toContain('allow:')
    }
  })

  test.each([
    'postgres://ada:s3cret@127.0.0.1:99999/app',
    'postgres://ada:s3/cret@127.0.0.1:99999/app',
    'postgres://ada@db:s3 cret@127.0.0.1:99999/app',
    'postgres://127.0.0.1:99999/app?user=ada&password=s3 cret'
  ])('no output has the password of %s, whether the flag, the variable or a wrong command line has it', async (url) => {
    place = sandbox({ 'w.yml': WORKFLOW })
    const ended = [
      await place.dogear(['runs', url]),
      await place.dogear([url]),
      await place.dogear(['w.yml', '--store', url]),
      await place.dogear(['runs', '--store', url, '--json']),
      await place.dogear(['run', 'w.yml'], { environment: { DOGEAR_STORE: `${url}\r\n` } })
    ]
    for (const { code, stdout, stderr } of ended) {
      expect(code).not.toBe(0)
      expect(stdout + stderr).not.toContain('cret')
    }
  })

  test('a blank DOGEAR_STORE or DOGEAR_HOME counts as not set', async () => {
    place = sandbox()
    const { stdout } = await place.dogear(['runs'], { environment: { DOGEAR_STORE: ' \n', DOGEAR_HOME: ' ' } })
    expect(stdout).toContain(`No runs in ${place.folder}/.dogear. Start one with: dogear run <file>`)
  })

  test.each([
    [['--store', ''], '--store: the value is empty'],
    [['--store', ' '], '--store: the value is empty'],
    [['--store', 'mysql://h/d'], '--store: "mysql:" is no kind of store'],
    [['--store', 'sqlite:'], '--store: "sqlite:" needs a file, as in sqlite:state.db'],
    [['--store', 'sqlite://'], '--store: "sqlite:" needs a file, as in sqlite:state.db'],
    [['--store', 'sqlite'], '--store: "sqlite" alone names no store; pass sqlite:FILE, or ./sqlite for a folder'],
    [
      ['--store', 'Postgres'],
      '--store: "Postgres" alone names no store; pass postgres://HOST/DATABASE, or ./Postgres for a folder'
    ],
    [['--store', 'postgres:x'], '"postgres:" needs a host and a database, as in postgres://HOST/DATABASE'],
    [['--store', 'a', '--home', 'b'], '--home and --store name different folders']
  ])('dogear runs %j is refused: %s', async (flags, message) => {
    place = sandbox()
    const { code, stderr } = await place.dogear(['runs', ...flags])
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })

  const missing = (name: string): Error =>
    Object.assign(new Error(`Cannot find package '${name}' imported from /dogear/bin.js`), {
      code: 'ERR_MODULE_NOT_FOUND'
    })

  test.each([
    ['throws', new Error('needs node 99\nat once'), 'needs node 99'],
    ['lacks a dependency', missing('pg-protocol'), "Cannot find package 'pg-protocol' imported from /dogear/bin.js"]
  ])('a driver that %s while it loads is an error that says why', async (_, cause, why) => {
    const location = { _tag: 'Postgres', url: 'postgres://ada:secret@db/app' } as const
    const opened = await open(location, { folder: '/', mayCreate: true, load: () => Promise.reject(cause) })
    if (E.isRight(opened)) throw new Error('it was opened')
    expect(described(opened.left)).toEqual([
      `Cannot open postgres://ada:PASSWORD@db/app: the package pg cannot be loaded: ${why}`,
      'Install a version that can, then repeat:',
      '  npm install pg'
    ])
  })

  test('a missing driver is an error that names the package and the command that installs it', async () => {
    const load = (name: string): Promise<unknown> => Promise.reject(missing(name))
    for (const [location, driver] of [
      [{ _tag: 'Postgres', url: 'postgres://ada:secret@db/app' }, 'pg'],
      [{ _tag: 'Sqlite', path: '/tmp/s.db' }, 'better-sqlite3']
    ] as const) {
      const opened = await open(location, { folder: '/', mayCreate: true, load })
      if (E.isRight(opened)) throw new Error('it was opened')
      const text = described(opened.left).join('\n')
      expect(text).toContain(`the package ${driver} is not installed`)
      expect(text).toContain(`npm install ${driver}`)
      expect(text).not.toContain('secret')
    }
  })

  test.each([
    ['is missing', undefined],
    [
      'is built for another version of Node.js',
      class {
        constructor() {
          throw Object.assign(new Error('built for another version'), { code: 'ERR_DLOPEN_FAILED' })
        }
      }
    ],
    [
      'is not built',
      class {
        constructor() {
          throw new Error('Could not locate the bindings file. Tried:')
        }
      }
    ]
  ])('a store in a SQLite file uses node:sqlite if better-sqlite3 %s', async (_, better) => {
    const asked: Array<string> = []
    class DatabaseSync {
      exec = (): void => undefined
      prepare = (): never => {
        throw new Error('not used')
      }
      close = (): void => undefined
    }
    const load = (name: string): Promise<unknown> => {
      asked.push(name)
      if (name === 'node:sqlite') return Promise.resolve({ DatabaseSync })
      return better === undefined ? Promise.reject(new Error('none')) : Promise.resolve({ default: better })
    }
    const opened = await open({ _tag: 'Sqlite', path: '/tmp/s.db' }, { folder: '/', mayCreate: true, load })
    expect(E.isRight(opened)).toBe(true)
    expect(asked).toEqual(['better-sqlite3', 'node:sqlite'])
  })
})

describe('the location of a store', () => {
  test.each([
    ['state', '/w/state'],
    ['sqlite:a b.data', 'sqlite:/w/a b.data'],
    ['sqlite:///v/state', 'sqlite:/v/state'],
    ['state.db', 'sqlite:/w/state.db'],
    ['state.SQLITE', 'sqlite:/w/state.SQLITE'],
    ['postgresql://db/app', 'postgresql://db/app'],
    ['postgres://ada:s3cret@db/app?sslmode=require', 'postgres://ada:PASSWORD@db/app?sslmode=require'],
    ['postgres://db/app?user=ada&password=s3cret', 'postgres://db/app?user=ada&password=PASSWORD'],
    [' postgres://db/app\r\n', 'postgres://db/app'],
    ['postgres://ada:s3@c/r?e#t @db/app', 'postgres://ada:PASSWORD@db/app'],
    ['postgres://ada@db:s3cret@db:5432/app', 'postgres://ada@db:PASSWORD@db:5432/app'],
    ['postgres://ada@db:5432/app?application_name=a@b', 'postgres://ada@db:5432/app?application_name=a@b'],
    ['postgres://ada:s3cret@db/app?options=a@b', 'postgres://ada:PASSWORD@db/app?options=a@b']
  ])('the store %j is shown as %s', (text, shown) => {
    const parsed = parse(text, '/w')
    expect(E.isRight(parsed) && show(parsed.right)).toBe(shown)
  })

  test('a password is masked also within a flag, and all other words are printed unchanged', () => {
    expect(withoutPassword('--store=postgres://ada:s3cret@db/app')).toBe('--store=postgres://ada:PASSWORD@db/app')
    expect(withoutPassword('a:b@c')).toBe('a:b@c')
  })

  test.each([
    ['{"url":"postgres://u:p@h/db","mail":"x@y"}', '{"url":"postgres://u:PASSWORD@h/db","mail":"x@y"}'],
    ['a postgres://h:5432/db, then me@example.com', 'a postgres://h:5432/db, then me@example.com'],
    ['"postgres://u:p w@h/db"', '"postgres://u:PASSWORD@h/db"'],
    ['postgres://u:pa?x=s3cr3t@h/db', 'postgres://u:PASSWORD@h/db'],
    ['see postgres://u:pa?x=s3cr3t@h/db', 'see postgres://u:PASSWORD@h/db'],
    ['postgres://h/db?sslpassword=p w&x=1', 'postgres://h/db?sslpassword=PASSWORD&x=1'],
    ["to 'postgres://h/db?password=p' now", "to 'postgres://h/db?password=PASSWORD' now"]
  ])('only the password is masked in the text %j', (text, shown) => {
    expect(withoutPassword(text)).toBe(shown)
  })

  const ADDRESS =
    'the value looks like an address with a password; pass --store postgres://HOST/DATABASE, or a folder as ./FOLDER'
  const QUOTED = '"postgres://u:s3cr3t@h/db"'
  const URL = 'postgres://u:s3cr3t@h/db'

  test.each<readonly [ReadonlyArray<string>, Readonly<Record<string, string>>, string]>([
    [[], { DOGEAR_STORE: QUOTED }, 'DOGEAR_STORE: the value is in quotes; pass it without them'],
    [
      ['--store', 'u:s3cr3t@h/db'],
      {},
      '--store: "u:" is no kind of store; pass a folder, sqlite:FILE or postgres://HOST/DATABASE'
    ],
    [[], { DOGEAR_STORE: `"${URL}` }, 'DOGEAR_STORE: text precedes the URL of a database; pass the URL alone'],
    [['--store', QUOTED], {}, '--store: the value is in quotes; pass it without them'],
    [['--home', URL], {}, '--home: the value is a database; pass it as --store'],
    [['--store', 'postgres//u:s3cr3t@h/db'], {}, `--store: ${ADDRESS}`],
    [['--home', 'postgresql//u:s3cr3t@h/db'], {}, `--home: ${ADDRESS}`],
    [[`--home=./${URL}`], {}, '--home: text precedes the URL of a database; pass the URL alone'],
    [[], { DOGEAR_HOME: URL }, 'DOGEAR_HOME: the value is a database; pass it as --store'],
    [['--home', 'u:s3cr3t@h/db'], {}, `--home: ${ADDRESS}`],
    [['--home', 'mysql://u:s3cr3t@h/db'], {}, `--home: ${ADDRESS}`],
    [['--store', '//u:s3cr3t@h/db'], {}, `--store: ${ADDRESS}`],
    [['--store', 'a_b:s3cr3t@h/db'], {}, `--store: ${ADDRESS}`],
    [[], { DOGEAR_HOME: 'u:s3cr3t@h/db' }, `DOGEAR_HOME: ${ADDRESS}`],
    [[], { DOGEAR_HOME: QUOTED }, 'DOGEAR_HOME: the value is in quotes; pass it without them']
  ])(
    'a database address in a wrong place is refused without showing its password: %j %j',
    async (words, environment, why) => {
      place = sandbox()
      const { code, stdout, stderr } = await place.dogear(['runs', ...words, '--json'], { environment })
      expect(code).toBe(2)
      expect(stderr).toContain(`dogear: ${why}\n`)
      expect(stdout + stderr).not.toContain('s3cr3t')
    }
  )

  test('a database file in place of a folder is refused with the flag that takes it', async () => {
    place = sandbox({ 'state.db': '' })
    for (const [words, environment, where] of [
      [['--home', 'state.db'], {}, '--home'],
      [[], { DOGEAR_HOME: 'state.db' }, 'DOGEAR_HOME']
    ] as const) {
      const { code, stderr } = await place.dogear(['runs', ...words], { environment })
      expect([code, stderr.split('\n')[0]]).toEqual([
        2,
        `dogear: ${where}: the value is a database; pass it as --store`
      ])
    }
  })

  test('a folder with a colon and an @ in its path is not mistaken for a database address', () => {
    for (const path of ['./a:b@c', '/a:b@c', 'a/b:c@d', 'C:\\ada@home'])
      expect(parse(path, '/f')).toMatchObject({ right: { _tag: 'Files' } })
  })

  test.each([
    [['show', URL]],
    [['run', URL]],
    [['run', 'w.yml', '--id', URL]],
    [['move', URL, '--to', 'state.db']],
    [['answer', URL, 'unit', 'again']]
  ])('a URL in a wrong place is printed without its password: %j', async (words) => {
    place = sandbox({ 'w.yml': WORKFLOW })
    const { code, stdout, stderr } = await place.dogear([...words, '--json'])
    expect(code).not.toBe(0)
    expect(stderr).toContain('PASSWORD')
    expect(stdout + stderr).not.toContain('s3cr3t')
  })
})

import { linkSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type Ended, type Sandbox, sandbox } from './dogear.js'
import { newDatabase } from './database.js'

let place: Sandbox
afterEach(() => place.remove())

const WORKFLOW = `
name: release
steps:
  - { name: version, shell: 'echo 1.2.3', capture: version }
  - { name: send, shell: 'test -e go && echo "$version" > sent' }
`

const preload = `--require=${join(import.meta.dirname, 'killAtSave.cjs')}`

interface Shown {
  readonly revision: number
  readonly updated_at: string
}

const shown = async (...store: ReadonlyArray<string>): Promise<Omit<Shown, keyof Shown>> => {
  const { stdout } = await place.dogear(['show', 'r-one', '--json', ...store])
  const { revision: _, updated_at: __, ...content } = JSON.parse(stdout) as Shown
  return content
}

const started = async (): Promise<void> => {
  place = sandbox({ 'w.yml': WORKFLOW })
  expect((await place.dogear(['run', 'w.yml', '--id', 'r-one'])).code).toBe(1)
}

const commandIn = ({ stderr }: Ended): string => stderr.trim().split('\n').at(-1)?.trim() ?? ''

test('a run moves from files to SQLite, to PostgreSQL and back with equal content, and the printed command resumes it', async () => {
  await started()
  const before = await shown()
  const stores = ['state.db', await newDatabase(), '.dogear']
  let from = '.dogear'
  let moved: Ended | undefined
  for (const to of stores) {
    moved = await place.dogear(['move', 'r-one', '--to', to, '--store', from])
    expect(moved.stderr).not.toContain('dogear:')
    expect(moved.code).toBe(0)
    expect(await shown('--store', to)).toEqual(before)
    expect((await place.dogear(['runs', '--json', '--store', from])).stdout.trim()).toBe('[]')
    from = to
  }
  place.write('go', '')
  expect((await place.shell(commandIn(moved ?? expect.fail()))).code).toBe(0)
  expect(place.read('sent')).toBe('1.2.3\n')
})

test('show --history of a moved run says where the run came from', async () => {
  await started()
  await place.dogear(['move', 'r-one', '--to', 'other'])
  const { stdout } = await place.dogear(['show', 'r-one', '--home', 'other', '--history'])
  expect(stdout.slice(stdout.indexOf('\nhistory\n'))).toMatch(
    new RegExp(
      `^ +1 +\\S+ +Moved +from ${place.folder}/.dogear, arrived\n +0 +\\S+ +Moved +from ${place.folder}/.dogear\n$`,
      'm'
    )
  )
})

test('watch --json of a moved run prints the move as its first changes', async () => {
  await started()
  await place.dogear(['move', 'r-one', '--to', 'other'])
  const { stdout } = await place.dogear(['watch', 'r-one', '--home', 'other', '--json'])
  const [first, second] = stdout.split('\n').map((line) => line.replace(/"at":"[^"]*",/, ''))
  expect(first).toBe(`{"event":"Moved","revision":0,"way":"from","store":"${place.folder}/.dogear"}`)
  expect(second).toBe(`{"event":"Moved","revision":1,"way":"here","store":"${place.folder}/.dogear"}`)
})

test('a move that is killed with SIGKILL at any sync leaves at most one copy that resumes, and repeating the move finishes it', async () => {
  await started()
  const words = ['move', 'r-one', '--to', 'state.db']
  const process = (at: string) =>
    place.process(words, {
      environment: { NODE_OPTIONS: preload, TEST_KILL_AT: at, TEST_COUNT: `${place.folder}/count` }
    })
  expect((await process('')).code).toBe(0)
  const count = Number(place.read('count'))
  expect(count).toBeGreaterThan(0)
  place.remove()
  let between = 0
  for (let at = 1; at <= count; at++)
    for (const when of ['before', 'after']) {
      await started()
      expect((await process(`${at} ${when}`)).signal).toBe('SIGKILL')
      const source = await place.dogear(['plan', 'r-one'])
      const target = await place.dogear(['plan', 'r-one', '--store', 'state.db'])
      const resumable = [source, target].filter(({ code }) => code === 0).length
      expect(resumable).toBeLessThanOrEqual(1)
      if (resumable === 0) between += 1
      const refused = [source, target].filter(({ code }) => code === 4)
      for (const command of refused.length > 0 ? refused.map(commandIn) : [`dogear ${words.join(' ')}`]) {
        expect(command).toMatch(/^dogear move r-one --to /)
        expect([0, 3]).toContain((await place.shell(command)).code)
      }
      expect((await place.dogear(['runs', '--json'])).stdout.trim()).toBe('[]')
      expect((await place.dogear(['plan', 'r-one', '--store', 'state.db'])).code).toBe(0)
      place.remove()
    }
  expect(between).toBeGreaterThan(0)
  await started()
}, 180_000)

test('show of a run whose move was killed prints how to finish the move, and no answer that would be refused', async () => {
  place = sandbox({ 'w.yml': 'name: release\nsteps:\n  - { name: approve, waitFor: { question: Go? } }\n' })
  expect((await place.dogear(['run', 'w.yml', '--id', 'r-one'])).code).toBe(75)
  const words = ['move', 'r-one', '--to', 'other']
  const count = (at: string) => ({ NODE_OPTIONS: preload, TEST_KILL_AT: at, TEST_COUNT: `${place.folder}/count` })
  expect((await place.process(words, { environment: count('') })).code).toBe(0)
  const last = place.read('count')
  expect((await place.dogear(['move', 'r-one', '--store', 'other', '--to', '.dogear'])).code).toBe(0)
  expect((await place.process(words, { environment: count(`${last} before`) })).signal).toBe('SIGKILL')
  const show = await place.dogear(['show', 'r-one'])
  expect(show.stderr).not.toContain('dogear answer')
  expect((await place.shell(commandIn(show))).code).toBe(0)
  expect((await place.dogear(['runs', '--json'])).stdout.trim()).toBe('[]')
  expect(commandIn(await place.dogear(['show', 'r-one', '--store', 'other']))).toContain('dogear answer r-one approve')
})

test('a move back to the copy that a killed move left is refused with the command that deletes it', async () => {
  await started()
  const words = ['move', 'r-one', '--to', 'other']
  const back = ['move', 'r-one', '--store', 'other', '--to', '.dogear']
  const count = (at: string) => ({ NODE_OPTIONS: preload, TEST_KILL_AT: at, TEST_COUNT: `${place.folder}/count` })
  expect((await place.process(words, { environment: count('') })).code).toBe(0)
  const last = place.read('count')
  expect((await place.dogear(back)).code).toBe(0)
  expect((await place.process(words, { environment: count(`${last} before`) })).signal).toBe('SIGKILL')
  expect((await place.dogear(['plan', 'r-one', '--store', 'other'])).code).toBe(0)
  const refused = await place.dogear(back)
  expect([refused.code, refused.stderr.trim().split('\n')]).toEqual([
    4,
    [
      'dogear: Cannot move r-one: the other store has a run with this id',
      'That is the copy of a move that did not end. Finish it with:',
      `  dogear move r-one --to ${place.folder}/other --store ${place.folder}/.dogear`
    ]
  ])
  expect((await place.shell(commandIn(refused))).code).toBe(0)
  expect((await place.dogear(back)).code).toBe(0)
  expect((await place.dogear(['plan', 'r-one'])).code).toBe(0)
})

test('a move of a cancelled run prints the command that reopens the run in the other store', async () => {
  await started()
  await place.dogear(['cancel', 'r-one'])
  const moved = await place.dogear(['move', 'r-one', '--to', 'state.db'])
  expect(moved.stderr).toBe(
    `It is cancelled. To resume it anyway:\n  dogear resume r-one --reopen --store sqlite:${place.folder}/state.db\n`
  )
})

test('a move is refused without a store, to the same store, and to a store that already has the id', async () => {
  await started()
  const refused = async (...words: ReadonlyArray<string>) => {
    const { code, stderr } = await place.dogear(['move', 'r-one', ...words])
    return [code, stderr.split('\n')[0]]
  }
  expect(await refused()).toEqual([2, 'dogear: move: --to is missing; pass the store to move to'])
  expect(await refused('--to', '.dogear')).toEqual([
    2,
    `dogear: --to: ${place.folder}/.dogear is the store to move from; pass another`
  ])
  symlinkSync('.dogear', join(place.folder, 'link'))
  expect((await refused('--to', 'link'))[0]).toBe(2)
  await place.dogear(['run', 'w.yml', '--id', 'r-one', '--store', 'state.db'])
  symlinkSync('state.db', join(place.folder, 'link.db'))
  const linked = await place.dogear(['move', 'r-one', '--store', 'state.db', '--to', 'link.db'])
  expect(linked.stderr).toContain(`sqlite:${place.folder}/link.db is the store to move from`)
  expect((await place.dogear(['move', 'r-one', '--to', 'state.db'])).stderr).toContain(
    `Show the run in sqlite:${place.folder}/state.db with:\n  dogear show r-one --store sqlite:${place.folder}/state.db\n`
  )
  expect(await refused('--to', 'state.db')).toEqual([
    4,
    'dogear: Cannot move r-one: the other store has a run with this id'
  ])
})

test.each(['state.db', 'other'])(
  'a repeated move to %s succeeds after the run has moved, and prints the same command',
  async (to) => {
    await started()
    const words = ['move', 'r-one', '--to', to]
    const first = await place.dogear(words)
    const again = await place.dogear(words)
    expect([again.code, commandIn(again)]).toEqual([0, commandIn(first)])
    expect(again.stdout).toMatch(/^Run r-one is in .* already$/m)
    const shown = async () => (await place.dogear([...words, '--json'])).stdout
    expect(JSON.parse(await shown())).toMatchObject({
      run_id: 'r-one',
      moved_to: expect.stringContaining(to) as string
    })
  }
)

test('a move of a run that neither store has is refused, and creates no store', async () => {
  await started()
  const { code, stderr } = await place.dogear(['move', 'r-two', '--to', 'state.db'])
  expect([code, stderr.split('\n')[0]]).toEqual([3, 'dogear: No checkpoint found for run r-two'])
  expect(place.exists('state.db')).toBe(false)
})

test('a move to another name of the same database is refused', async () => {
  place = sandbox({ 'w.yml': WORKFLOW })
  await place.dogear(['run', 'w.yml', '--id', 'r-one', '--store', 'state.db'])
  linkSync(join(place.folder, 'state.db'), join(place.folder, 'hard.db'))
  const { code, stderr } = await place.dogear(['move', 'r-one', '--store', 'state.db', '--to', 'hard.db'])
  expect(code).toBe(2)
  expect(stderr).toBe(`dogear: --to: sqlite:${place.folder}/hard.db is the store to move from; pass another\n`)
})

test('a move to a file, or to a link whose folder does not exist, is refused and changes nothing', async () => {
  await started()
  symlinkSync('nowhere', join(place.folder, 'link'))
  for (const [to, why] of [
    ['link', 'it is a symbolic link to a folder that does not exist'],
    ['w.yml', 'it is not a folder']
  ] as const) {
    const { code, stderr } = await place.dogear(['move', 'r-one', '--to', to])
    expect(code).toBe(5)
    expect(stderr.split('\n')[0]).toBe(
      `dogear: Cannot use ${place.folder}/${to}: ${why}; move it away, or pass another one`
    )
  }
  expect((await place.dogear(['resume', 'r-one'])).code).toBe(1)
})

test('the command printed after a move of a completed run shows the run', async () => {
  place = sandbox({ 'w.yml': 'steps: [{ shell: "true" }]' })
  await place.dogear(['run', 'w.yml', '--id', 'r-one'])
  const moved = await place.dogear(['move', 'r-one', '--to', 'state.db'])
  expect(commandIn(moved)).toMatch(/^dogear show r-one /)
})

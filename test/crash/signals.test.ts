/** The command under signals at any time, and its exit codes when it loses its run or its disk. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Kept, Running, World } from './world.js'
import { chanceOf, eachOf, inWorld, kept, launch, seed, sleep, sweep, until, untilTestEnds } from './world.js'

const COMMAND = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** Each step logs that it ran and leaves two busy processes, one of which ignores SIGTERM. */
const WORKFLOW = `name: chain
steps:
${Array.from(
  { length: 6 },
  (_, n) => `  - name: step-${n}
    shell: |
      echo step-${n} >> effects
      sleep 0.21 &
      sh -c 'sleep 0.12; true' &
      sh -c 'trap "" TERM; sleep 0.15' &
      wait
`
).join('')}`

const effectsOf = (world: World): ReadonlyArray<string> =>
  existsSync(join(world.folder, 'effects'))
    ? readFileSync(join(world.folder, 'effects'), 'utf8').trim().split('\n')
    : []

const dogear = (world: World, args: ReadonlyArray<string>, around: ReadonlyArray<string> = []): Running => {
  const [command = '', ...rest] = [...around, process.execPath, COMMAND, ...args]
  const env = { ...process.env, DOGEAR_HOME: world.state, DOGEAR_CRASH_WORLD: world.folder }
  return untilTestEnds(launch(command, rest, { cwd: world.folder, env, stdio: ['ignore', 'pipe', 'pipe'] }))
}

/** The processes started in a world, found by its folder in their environment. */
const survivors = (world: World): ReadonlyArray<string> =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((pid) => {
      try {
        const marked = readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`DOGEAR_CRASH_WORLD=${world.folder}\0`)
        const state = readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\) /, '')[0]
        return marked && state !== 'Z' ? [readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')] : []
      } catch {
        return []
      }
    })

const stateOf = async (world: World): Promise<Kept | undefined> => await kept(world, 'chain-1')

/** Runs to the end with one signal in between, and resumes. */
const prove = async (signal: 'SIGINT' | 'SIGTERM', afterEffects: number, millis: number): Promise<string> =>
  await inWorld(`${signal}, ${millis} ms after effect ${afterEffects}`, async (world) => {
    writeFileSync(join(world.folder, 'chain.yaml'), WORKFLOW)
    const running = dogear(world, ['run', 'chain.yaml', '--id', 'chain-1'])
    await until(() => effectsOf(world).length >= afterEffects, 'it runs', 60_000)
    await sleep(millis)
    running.signal(signal)
    const { code, signal: diedOf, stderr } = await running.ended
    assert.deepEqual(survivors(world), [], 'no process of a step survives')
    const found = await stateOf(world)
    const before = effectsOf(world)
    if (afterEffects > 0) {
      // While Node shuts down no handler is left: the work is done, and the signal finds nothing to stop.
      const isOver = found?.completed.size === 6 && stderr.includes('Run completed')
      assert.equal(isOver ? null : diedOf, null, stderr)
      if (code === 0 || isOver) assert.equal(found?.completed.size, 6)
      else {
        assert.equal(code, signal === 'SIGINT' ? 130 : 143, stderr)
        assert.equal(found?.checkpoint.state._tag, 'Interrupted')
        assert.match(stderr, /dogear resume chain-1/)
      }
    }
    if (found === undefined) return 'before anything was stored'
    const resumed = await dogear(world, ['resume', 'chain-1']).ended
    assert.equal(resumed.code, 0, resumed.stderr)
    const after = effectsOf(world)
    for (let n = 0; n < 6; n++) {
      const name = `step-${n}`
      const again = after.slice(before.length).filter((one) => one === name).length
      const done = found.completed.has(name)
      assert.equal(again, done ? 0 : 1, `${name} ${done ? 'was recorded' : 'was not recorded'} and ran ${again} times`)
      assert.ok(before.filter((one) => one === name).length <= 1)
    }
    return code === 0 ? 'completed' : `interrupted in ${found.checkpoint.state.step}`
  })

describe('dogear under signals', () => {
  test('dogear stopped by a signal leaves no process, exits with 130 or 143, and resumes where it was', async () => {
    console.log(`signals: seed ${seed}`)
    const chance = chanceOf(20)
    const cases = Array.from({ length: sweep ? 100 : 4 }, (_, n) => ({
      signal: n % 2 === 0 ? ('SIGINT' as const) : ('SIGTERM' as const),
      after: 1 + chance.below(6),
      millis: chance.below(260)
    }))
    const ends: Array<string> = []
    await eachOf(cases, async ({ signal, after, millis }) => void ends.push(await prove(signal, after, millis)))
    expect(ends.filter((end) => end.startsWith('interrupted')).length, ends.join(', ')).toBeGreaterThan(
      cases.length / 3
    )
  })

  test('a run that a signal stops before its first step can be resumed', async () => {
    const chance = chanceOf(21)
    const cases = Array.from({ length: sweep ? 60 : 3 }, () => chance.below(1_200))
    await eachOf(cases, async (millis) => void (await prove('SIGTERM', 0, millis)))
  })

  test('a step that ignores SIGTERM is killed, and a second signal ends everything at once', async () => {
    await inWorld('deaf', async (world) => {
      const deaf = `name: chain\nsteps:\n  - name: deaf\n    shell: |\n      trap '' TERM INT\n      echo deaf >> effects\n      sh -c 'trap "" TERM INT; sleep 600' &\n      while true; do sleep 600; done\n`
      writeFileSync(join(world.folder, 'chain.yaml'), deaf)
      const running = dogear(world, ['run', 'chain.yaml', '--id', 'chain-1'])
      await until(() => effectsOf(world).length === 1, 'it runs', 60_000)
      running.signal('SIGTERM')
      await sleep(700)
      assert.equal(running.child.exitCode, null, 'it waits for the step')
      const pressed = performance.now()
      running.signal('SIGTERM')
      const { code, signal } = await running.ended
      assert.ok(code === 143 || signal === 'SIGTERM', `${code} ${signal}`)
      assert.ok(performance.now() - pressed < 3_000, 'at once')
      assert.deepEqual(survivors(world), [])
      const resumed = dogear(world, ['resume', 'chain-1'])
      await until(() => effectsOf(world).length === 2, 'it runs again', 60_000)
      resumed.signal('SIGINT')
      // The grace is five seconds.
      assert.equal((await resumed.ended).code, 130)
      assert.deepEqual(survivors(world), [])
      assert.equal((await stateOf(world))?.checkpoint.state._tag, 'Interrupted')
    })
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// exit codes
// ---------------------------------------------------------------------------------------------------------------------

const CONTAINER = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
const hasNamespaces = spawnSync('unshare', ['--pid', '--fork', '--mount-proc', 'true']).status === 0
const mayMount = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0

const childrenOf = (pid: number): ReadonlyArray<number> =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number)

const HELD = `name: chain
steps:
  - name: first
    shell: echo first >> effects
  - name: held
    shell: echo held >> effects; test -e go || sleep 600
  - name: last
    shell: echo last >> effects
`

describe('exit codes of dogear', () => {
  test.skipIf(!hasNamespaces)(
    'dogear exits with 4 if a live process holds the run, and with 6 if another process has taken it over',
    async () => {
      await inWorld('exit codes 4 and 6', async (world) => {
        writeFileSync(join(world.folder, 'chain.yaml'), HELD)
        const owner = dogear(world, ['run', 'chain.yaml', '--id', 'chain-1'], CONTAINER)
        await until(() => effectsOf(world).includes('held'), 'it runs', 60_000)
        const refused = await dogear(world, ['resume', 'chain-1']).ended
        assert.equal(refused.code, 4, refused.stderr)
        const [node] = childrenOf(owner.pid)
        assert.ok(node !== undefined)
        process.kill(node, 'SIGSTOP')
        const stopped = await dogear(world, ['resume', 'chain-1', '--take-over', '--yes']).ended
        assert.equal(stopped.code, 4, 'who is stopped lives')
        const folder = join(world.state, 'runs', 'chain-1')
        for (const name of readdirSync(folder).filter((one) => one.startsWith('alive-'))) rmSync(join(folder, name))
        writeFileSync(join(world.folder, 'go'), '')
        const other = await dogear(world, ['resume', 'chain-1', '--take-over', '--yes']).ended
        assert.equal(other.code, 0, other.stderr)
        process.kill(node, 'SIGCONT')
        const { code, stderr } = await owner.ended
        assert.equal(code, 6, stderr)
        assert.match(stderr, /taken over|another process/i)
        assert.deepEqual(effectsOf(world), ['first', 'held', 'held', 'last'])
        assert.deepEqual(survivors(world), [])
        assert.equal((await stateOf(world))?.completed.size, 3)
      })
    }
  )

  test.skipIf(!mayMount)('dogear exits with 5 if the disk is full, and resumes when there is space', async () => {
    await inWorld('exit code 5', async (world) => {
      const large = `name: chain\nsteps:\n${Array.from(
        { length: 8 },
        (_, n) =>
          `  - name: step-${n}\n    shell: echo step-${n} >> effects; head -c 90000 /dev/zero | tr '\\0' x\n    capture: v${n}\n`
      ).join('')}`
      writeFileSync(join(world.folder, 'chain.yaml'), large)
      mkdirSync(world.state)
      assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=600k', 'tmpfs', world.state]).status, 0)
      onTestFinished(() => void spawnSync('umount', ['--lazy', world.state]))
      const { code, stderr } = await dogear(world, ['run', 'chain.yaml', '--id', 'chain-1']).ended
      assert.equal(code, 5, stderr)
      assert.match(stderr, /disk is full/)
      const found = await stateOf(world)
      assert.ok((found?.completed.size ?? 0) > 0)
      spawnSync('mount', ['-o', 'remount,size=20m', world.state])
      const resumed = await dogear(world, ['resume', 'chain-1']).ended
      assert.equal(resumed.code, 0, resumed.stderr)
      const after = effectsOf(world)
      for (const unit of found?.completed ?? []) assert.equal(after.filter((one) => one === unit).length, 1)
      spawnSync('umount', [world.state])
    })
  })
})

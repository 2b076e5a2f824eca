import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { getEventListeners } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { describe, test } from 'vitest'
import { subprocess } from '../../../src/adapters/node/index.js'
import type { Command, Ended, NotStarted } from '../../../src/adapters/node/index.js'
import { inFolder, isRunning, until } from './processes.js'

/** Before any command ran. */
const EXIT_LISTENERS = process.listenerCount('exit')

const PATH = process.env['PATH'] ?? ''

const shell = (script: string): Command['what'] => ({ _tag: 'Shell', script })
const argv = (first: string, ...rest: ReadonlyArray<string>): Command['what'] => ({
  _tag: 'Argv',
  argv: [first, ...rest]
})

const run = (what: Command['what'], changes: Partial<Command> = {}): Promise<E.Either<NotStarted, Ended>> =>
  subprocess.run({
    what,
    env: { PATH },
    cwd: process.cwd(),
    signal: new AbortController().signal,
    graceMillis: 10_000,
    captureBytes: 1_000_000,
    onOutput: () => {},
    ...changes
  })()

const ended = async (what: Command['what'], changes: Partial<Command> = {}): Promise<Ended> => {
  const result = await run(what, changes)
  return E.isRight(result) ? result.right : assert.fail(`${result.left.code}: ${result.left.message}`)
}

const refused = async (what: Command['what'], changes: Partial<Command> = {}): Promise<NotStarted> => {
  const result = await run(what, changes)
  return E.isLeft(result) ? result.left : assert.fail('it was started')
}

describe('commands', () => {
  test('a command returns its exit code', async () => {
    for (const code of [0, 1, 42, 255])
      assert.deepEqual((await ended(shell(`exit ${code}`))).exit, { _tag: 'Code', code })
  })

  test('a command that dies of a signal returns the signal', async () => {
    assert.deepEqual((await ended(shell('kill -KILL $$'))).exit, { _tag: 'Signal', signal: 'SIGKILL' })
    assert.deepEqual((await ended(shell('kill -SEGV $$'))).exit, { _tag: 'Signal', signal: 'SIGSEGV' })
  })

  test('a shell runs a script, and no shell runs an argument list', () =>
    inFolder(async (cwd) => {
      assert.equal((await ended(shell('echo one; echo "$((1 + 1))"'), { cwd })).stdout, 'one\n2\n')
      const words = [
        '$(touch pwned)',
        '`touch pwned`',
        '; touch pwned',
        '*',
        '',
        'two words',
        "it's",
        '"',
        '\\',
        '\n',
        '-n'
      ]
      const { stdout } = await ended(argv('printf', '<%s>', ...words), { cwd })
      assert.equal(stdout, words.map((word) => `<${word}>`).join(''))
      assert.deepEqual(await readdir(cwd), [])
    }))

  test('a command receives the values of its environment as data', () =>
    inFolder(async (cwd) => {
      const value = '$(touch pwned)`touch pwned`"; touch pwned; \'\n*'
      const { stdout } = await ended(shell('printf %s "$value"'), {
        cwd,
        env: { PATH, value }
      })
      assert.equal(stdout, value)
      assert.deepEqual(await readdir(cwd), [])
    }))

  test('a command has exactly the given environment', async () => {
    const env = { ONE: '1', EMPTY: '', UNICODE: 'é漢👩', __proto__: 'own' }
    Object.defineProperty(env, '__proto__', { value: 'own', enumerable: true })
    const { stdout } = await ended(argv('/usr/bin/env'), { env })
    assert.deepEqual(stdout.trim().split('\n').sort(), ['EMPTY=', 'ONE=1', 'UNICODE=é漢👩', '__proto__=own'])
    assert.equal((await ended(argv('/usr/bin/env'), { env: {} })).stdout, '')
  })

  test('a command runs in the given folder', () =>
    inFolder(async (cwd) => {
      assert.ok((await ended(argv('pwd'), { cwd, env: { PATH } })).stdout.trim().endsWith(cwd))
    }))

  test('a command has an empty standard input', async () => {
    assert.deepEqual((await ended(argv('cat'))).exit, { _tag: 'Code', code: 0 })
  })

  test('a command leads its own process group', async () => {
    const [pid, group] = (await ended(shell('echo $$; ps -o pgid= -p $$'))).stdout.split('\n').map(Number)
    assert.ok(pid !== undefined && pid > 0)
    assert.equal(group, pid)
  })

  test('a command starts each time its fp-ts TaskEither is executed', () =>
    inFolder(async (cwd) => {
      const task = subprocess.run({
        what: shell('echo x >> log; cat log'),
        env: { PATH },
        cwd,
        signal: new AbortController().signal,
        graceMillis: 1_000,
        captureBytes: 100,
        onOutput: () => {}
      })
      await new Promise((resolve) => setTimeout(resolve, 50))
      assert.deepEqual(await readdir(cwd), [])
      await task()
      assert.deepEqual(await task().then(E.map(({ stdout }) => stdout)), E.right('x\nx\n'))
    }))

  test('a finished command leaves no listener', async () => {
    const { signal } = new AbortController()
    await Promise.all(Array.from({ length: 10 }, () => ended(shell('exit 0'), { signal })))
    await refused(argv('dogear-no-such-command'), { signal })
    assert.equal(getEventListeners(signal, 'abort').length, 0)
    assert.equal(process.listenerCount('exit'), EXIT_LISTENERS)
  })
})

describe('commands that cannot be started', () => {
  test.skipIf(process.platform === 'win32')('the message for a script without its interpreter names that', () =>
    inFolder(async (cwd) => {
      await writeFile(join(cwd, 'deploy'), '#!/no/such/interpreter\n', { mode: 0o755 })
      const { code, message } = await refused(argv('./deploy'), { cwd })
      assert.deepEqual([code, message], ['ENOENT', 'not found: the interpreter of ./deploy'])
      assert.equal((await refused(argv('./deplo'), { cwd })).message, 'not found: ./deplo')
    })
  )

  test('a command that does not exist fails to start', async () => {
    const { code, message } = await refused(argv('dogear-no-such-command'))
    assert.equal(code, 'ENOENT')
    assert.match(message, /not found: dogear-no-such-command/)
  })

  test('a command with a missing folder fails to start, and the message names the folder', async () => {
    const { code, message } = await refused(shell('exit 0'), { cwd: '/no/such/folder' })
    assert.equal(code, 'ENOENT')
    assert.match(message, /no such folder: \/no\/such\/folder/)
  })

  test('a command whose file is not executable fails to start', () =>
    inFolder(async (cwd) => {
      await writeFile(join(cwd, 'tool'), '#!/bin/sh\n', { mode: 0o644 })
      assert.equal((await refused(argv('./tool'), { cwd })).code, 'EACCES')
    }))

  test('a command whose folder is a file fails to start', () =>
    inFolder(async (cwd) => {
      await writeFile(join(cwd, 'file'), '')
      assert.equal((await refused(shell('exit 0'), { cwd: join(cwd, 'file') })).code, 'ENOTDIR')
    }))

  test('a command with too long arguments or environment fails to start', async () => {
    assert.equal((await refused(argv('true', 'x'.repeat(3_000_000)))).code, 'E2BIG')
    assert.equal((await refused(shell('exit 0'), { env: { PATH, big: 'x'.repeat(3_000_000) } })).code, 'E2BIG')
  })

  test('a NUL character in an argument, a script, a variable or the folder keeps a command from starting', async () => {
    assert.equal((await refused(argv('true', 'a\0b'))).code, 'ERR_INVALID_ARG_VALUE')
    assert.equal((await refused(shell('true \0'))).code, 'ERR_INVALID_ARG_VALUE')
    assert.equal((await refused(shell('true'), { env: { PATH, value: 'a\0b' } })).code, 'ERR_INVALID_ARG_VALUE')
    assert.equal((await refused(shell('true'), { cwd: '/tmp\0' })).code, 'ERR_INVALID_ARG_VALUE')
  })

  test('a command with an empty name fails to start', async () => {
    assert.equal((await refused(argv(''))).code, 'ERR_INVALID_ARG_VALUE')
  })

  test('a command that was aborted before its start never runs', () =>
    inFolder(async (cwd) => {
      assert.equal((await refused(shell('touch ran'), { cwd, signal: AbortSignal.abort() })).code, 'ABORT_ERR')
      assert.equal(existsSync(join(cwd, 'ran')), false)
    }))
})

const block = (millis: number): void => {
  for (const free = Date.now() + millis; Date.now() < free;);
}

describe('output of commands', () => {
  test('output is reported piece by piece, by stream, while the command runs', async () => {
    const pieces: Array<string> = []
    const running = ended(shell('echo out; sleep 0.3; echo err >&2; sleep 0.3; echo end'), {
      onOutput: (stream, chunk) => pieces.push(`${stream} ${Buffer.from(chunk).toString()}`)
    })
    await until('the first piece came', () => pieces.length === 1)
    const { stdout, stderrTail } = await running
    assert.deepEqual(pieces, ['stdout out\n', 'stderr err\n', 'stdout end\n'])
    assert.deepEqual([stdout, stderrTail], ['out\nend\n', 'err\n'])
  })

  test('large and binary output is reported to the last byte', () =>
    inFolder(async (cwd) => {
      const hash = createHash('sha256')
      const script = 'head -c 8000000 /dev/urandom > data; cat data; sha256sum < data >&2'
      const { stderrTail, truncatedBytes } = await ended(shell(script), {
        cwd,
        captureBytes: 0,
        onOutput: (stream, chunk) => void (stream === 'stdout' && hash.update(chunk))
      })
      assert.equal(hash.digest('hex'), stderrTail.slice(0, 64))
      assert.equal(truncatedBytes, 8_000_000)
    }))

  test('output is kept up to the limit, in whole characters, and the dropped bytes are counted', async () => {
    const long = argv('printf', 'aé漢👩')
    const { stdout: all, truncatedBytes: none } = await ended(long, { captureBytes: 10 })
    assert.deepEqual([all, none], ['aé漢👩', 0])
    const { stdout: cut, truncatedBytes: some } = await ended(long, { captureBytes: 9 })
    assert.deepEqual([cut, some], ['aé漢', 4])
  })

  test('output that is not UTF-8 is returned as a string', async () => {
    assert.equal((await ended(argv('printf', '\\377\\000x\\355\\240\\200'))).stdout, '\ufffd\0x\ufffd\ufffd\ufffd')
  })

  test('the end of standard error is kept', async () => {
    const { stderrTail, stdout } = await ended(shell('seq 1 100000 >&2; echo the reason >&2'))
    assert.ok(stderrTail.endsWith('\n99999\n100000\nthe reason\n'))
    assert.ok(stderrTail.length <= 4_096 && stderrTail.length > 4_000)
    assert.equal(stdout, '')
  })

  test('kept and reported output contains no secret, even if it arrives byte by byte', async () => {
    const secrets = ['geheimnis-ü', 'imnis-ü-zwei']
    const told: Array<string> = []
    const byByte = `for at in $(seq 1 39); do printf %s "$text" | head -c $at | tail -c 1; done`
    for (const stream of ['1', '2']) {
      const { stdout, stderrTail } = await ended(shell(`{ ${byByte}; } >&${stream}`), {
        env: { PATH, text: '<geheimnis-ü-zwei|geheimnis-ü|geheim>' },
        secrets,
        onOutput: (from, chunk) => told.push(from, Buffer.from(chunk).toString())
      })
      const whole = '<***|***|geheim>'
      assert.deepEqual([stdout, stderrTail], stream === '1' ? [whole, ''] : ['', whole])
    }
    assert.ok(
      told.every((one) => !/[üwz]/.test(one)),
      told.join()
    )
  })

  test('output that is cut for its length contains no part of a secret', async () => {
    const secrets = ['s3cr3t-token']
    for (const at of [5, 10, 15]) {
      const { stdout } = await ended(shell(`printf 'xxxx%s' "$t"`), {
        env: { PATH, t: secrets[0] ?? '' },
        secrets,
        captureBytes: at
      })
      assert.equal(stdout, 'xxxx***'.slice(0, at))
    }
    const script = `printf %s "$t" >&2; head -c 4090 /dev/zero | tr '\\0' x >&2`
    const { stderrTail } = await ended(shell(script), { env: { PATH, t: secrets[0] ?? '' }, secrets })
    assert.match(stderrTail, /^\*{0,3}x{4090}$/)
  })

  test('output is complete if the command ends before it was read', async () => {
    let blocked = false
    const onOutput = (): void => {
      if (!blocked) block(500)
      blocked = true
    }
    const { stdout } = await ended(shell('echo first; seq 1 20000'), { onOutput })
    assert.ok(stdout.endsWith('\n20000\n'))
  })

  test('output includes what a background process writes just after the end, even if the event loop was blocked', async () => {
    assert.equal((await ended(shell('(sleep 0.01; echo late) & echo now'))).stdout, 'now\nlate\n')
    const onOutput = (): void => void setTimeout(() => setImmediate(() => block(500)), 20)
    const script = '(sleep 0.1; echo late) & echo now'
    assert.equal((await ended(shell(script), { onOutput })).stdout, 'now\nlate\n')
  })

  test('output is complete while a background process holds it open, and that process is neither awaited nor ended', async () => {
    const before = Date.now()
    const { exit, stdout } = await ended(shell('sleep 60 & echo $!; seq 1 30000'))
    const [pid] = stdout.split('\n').map(Number)
    try {
      assert.ok(Date.now() - before < 5_000)
      assert.deepEqual(exit, { _tag: 'Code', code: 0 })
      assert.ok(stdout.endsWith('\n30000\n'))
      assert.equal(isRunning(pid ?? 0), true)
    } finally {
      process.kill(pid ?? 0, 'SIGKILL')
    }
  })
})

describe('aborted commands', () => {
  /** Runs a script until it prints `ready`, aborts it, and returns its exit, the duration and the process ids that it printed. */
  const aborted = async (script: string, graceMillis: number) => {
    const stop = new AbortController()
    let text = ''
    let at = 0
    const result = await ended(shell(script), {
      signal: stop.signal,
      graceMillis,
      onOutput: (_, chunk) => {
        text += Buffer.from(chunk).toString()
        if (at === 0 && text.includes('ready\n')) {
          at = Date.now()
          stop.abort()
        }
      }
    })
    const pids = (text.match(/^\d+$/gm) ?? []).map(Number)
    return { ...result, millis: Date.now() - at, alive: pids.filter(isRunning), pids }
  }

  test('an aborted command ends at once by SIGTERM, with every process that it started', async () => {
    const { exit, millis, pids, alive } = await aborted(
      'sleep 100 & echo $!; (sleep 100; :) & echo $!; echo $$; echo ready; wait',
      20_000
    )
    assert.deepEqual(exit, { _tag: 'Signal', signal: 'SIGTERM' })
    assert.equal(pids.length, 3)
    assert.deepEqual(alive, [])
    assert.ok(millis < 5_000, `${millis} ms`)
  })

  test('an aborted command has time to clean up, and its last output is kept', async () => {
    const script = "trap 'sleep 0.3; echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    const { exit, stdout } = await aborted(script, 20_000)
    assert.deepEqual(exit, { _tag: 'Code', code: 7 })
    assert.match(stdout, /bye\n$/)
  })

  test('an aborted command that ignores SIGTERM is killed after the grace period', async () => {
    const { exit, millis, alive } = await aborted("trap '' TERM; sleep 100 & echo $!; echo $$; echo ready; wait", 500)
    assert.deepEqual(exit, { _tag: 'Signal', signal: 'SIGKILL' })
    assert.deepEqual(alive, [])
    assert.ok(millis >= 490 && millis < 5_000, `${millis} ms`)
  })

  test('processes that outlive an aborted command are killed after the grace period', async () => {
    const script = "(trap '' TERM; echo ready; while :; do sleep 0.05; done) & echo $!; wait"
    const { exit, millis, alive, pids } = await aborted(script, 500)
    assert.deepEqual(exit, { _tag: 'Signal', signal: 'SIGTERM' })
    assert.equal(pids.length, 1)
    assert.deepEqual(alive, [])
    assert.ok(millis >= 490 && millis < 5_000, `${millis} ms`)
  })

  test('processes that an aborted command started get the grace period too', async () => {
    const script = "(trap 'sleep 0.3; echo saved; exit' TERM; echo ready; while :; do sleep 0.05; done) & wait"
    const { stdout } = await aborted(script, 20_000)
    assert.match(stdout, /saved\n$/)
  })

  test('an aborted command without a grace period is killed at once', async () => {
    const { alive, millis } = await aborted("trap '' TERM; sleep 100 & echo $!; echo $$; echo ready; wait", 0)
    assert.deepEqual(alive, [])
    assert.ok(millis < 2_000, `${millis} ms`)
  })

  test('aborting a command ends a background process that still holds its output', async () => {
    const stop = new AbortController()
    const { stdout } = await ended(shell("(trap '' TERM; while :; do sleep 0.05; done) & echo $!"), {
      signal: stop.signal,
      graceMillis: 500,
      onOutput: () => void setTimeout(() => stop.abort(), 50)
    })
    assert.equal(isRunning(Number(stdout)), false)
  })

  test('an aborted command does not wait for dead processes that are not reaped', async () => {
    // A parent that left the group, so the abort does not reach it, and that does not reap its dead child in the group.
    const perl = `perl -MPOSIX -e 'if (!fork) { sleep 100; exit } setsid; $| = 1; print "$$\\nready\\n"; sleep 100'`
    const { millis, pids, alive } = await aborted(`${perl} & wait`, 20_000)
    process.kill(pids[0] ?? 0, 'SIGKILL')
    assert.ok(millis < 5_000, `${millis} ms`)
    assert.deepEqual(alive, pids)
  })

  test('aborting a command after its end changes nothing', async () => {
    const stop = new AbortController()
    const result = await ended(shell('echo done'), { signal: stop.signal })
    stop.abort()
    assert.deepEqual(result.exit, { _tag: 'Code', code: 0 })
  })
})

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

describe('a command', () => {
  test('ends with its exit code', async () => {
    for (const code of [0, 1, 42, 255])
      assert.deepEqual((await ended(shell(`exit ${code}`))).exit, { _tag: 'Code', code })
  })

  test('that dies of a signal says of which', async () => {
    assert.deepEqual((await ended(shell('kill -KILL $$'))).exit, { _tag: 'Signal', signal: 'SIGKILL' })
    assert.deepEqual((await ended(shell('kill -SEGV $$'))).exit, { _tag: 'Signal', signal: 'SIGSEGV' })
  })

  test('given as a script is run by a shell, given as arguments by none', () =>
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

  test('gets the values of its environment as data', () =>
    inFolder(async (cwd) => {
      const value = '$(touch pwned)`touch pwned`"; touch pwned; \'\n*'
      const { stdout } = await ended(shell('printf %s "$value"'), {
        cwd,
        env: { PATH, value }
      })
      assert.equal(stdout, value)
      assert.deepEqual(await readdir(cwd), [])
    }))

  test('has exactly the environment that it was given', async () => {
    const env = { ONE: '1', EMPTY: '', UNICODE: 'é漢👩', __proto__: 'own' }
    Object.defineProperty(env, '__proto__', { value: 'own', enumerable: true })
    const { stdout } = await ended(argv('/usr/bin/env'), { env })
    assert.deepEqual(stdout.trim().split('\n').sort(), ['EMPTY=', 'ONE=1', 'UNICODE=é漢👩', '__proto__=own'])
    assert.equal((await ended(argv('/usr/bin/env'), { env: {} })).stdout, '')
  })

  test('runs in the folder that it was given', () =>
    inFolder(async (cwd) => {
      assert.ok((await ended(argv('pwd'), { cwd, env: { PATH } })).stdout.trim().endsWith(cwd))
    }))

  test('finds its standard input empty', async () => {
    assert.deepEqual((await ended(argv('cat'))).exit, { _tag: 'Code', code: 0 })
  })

  test('leads a process group of its own', async () => {
    const [pid, group] = (await ended(shell('echo $$; ps -o pgid= -p $$'))).stdout.split('\n').map(Number)
    assert.ok(pid !== undefined && pid > 0)
    assert.equal(group, pid)
  })

  test('is started when its task is run, and again when it is run again', () =>
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

  test('leaves no listener behind', async () => {
    const { signal } = new AbortController()
    await Promise.all(Array.from({ length: 10 }, () => ended(shell('exit 0'), { signal })))
    await refused(argv('dogear-no-such-command'), { signal })
    assert.equal(getEventListeners(signal, 'abort').length, 0)
    assert.equal(process.listenerCount('exit'), EXIT_LISTENERS)
  })
})

describe('a command that can not be started', () => {
  test('because there is none of its name', async () => {
    const { code, message } = await refused(argv('dogear-no-such-command'))
    assert.equal(code, 'ENOENT')
    assert.match(message, /not found: dogear-no-such-command/)
  })

  test('because its folder is missing, which is what the message says', async () => {
    const { code, message } = await refused(shell('exit 0'), { cwd: '/no/such/folder' })
    assert.equal(code, 'ENOENT')
    assert.match(message, /no such folder: \/no\/such\/folder/)
  })

  test('because its file is not executable', () =>
    inFolder(async (cwd) => {
      await writeFile(join(cwd, 'tool'), '#!/bin/sh\n', { mode: 0o644 })
      assert.equal((await refused(argv('./tool'), { cwd })).code, 'EACCES')
    }))

  test('because its folder is a file', () =>
    inFolder(async (cwd) => {
      await writeFile(join(cwd, 'file'), '')
      assert.equal((await refused(shell('exit 0'), { cwd: join(cwd, 'file') })).code, 'ENOTDIR')
    }))

  test('because its arguments or its environment are too long', async () => {
    assert.equal((await refused(argv('true', 'x'.repeat(3_000_000)))).code, 'E2BIG')
    assert.equal((await refused(shell('exit 0'), { env: { PATH, big: 'x'.repeat(3_000_000) } })).code, 'E2BIG')
  })

  test('because a NUL character is in an argument, a script, a variable or the folder', async () => {
    assert.equal((await refused(argv('true', 'a\0b'))).code, 'ERR_INVALID_ARG_VALUE')
    assert.equal((await refused(shell('true \0'))).code, 'ERR_INVALID_ARG_VALUE')
    assert.equal((await refused(shell('true'), { env: { PATH, value: 'a\0b' } })).code, 'ERR_INVALID_ARG_VALUE')
    assert.equal((await refused(shell('true'), { cwd: '/tmp\0' })).code, 'ERR_INVALID_ARG_VALUE')
  })

  test('because its name is empty', async () => {
    assert.equal((await refused(argv(''))).code, 'ERR_INVALID_ARG_VALUE')
  })

  test('because it was aborted before: nothing of it runs', () =>
    inFolder(async (cwd) => {
      assert.equal((await refused(shell('touch ran'), { cwd, signal: AbortSignal.abort() })).code, 'ABORT_ERR')
      assert.equal(existsSync(join(cwd, 'ran')), false)
    }))
})

const block = (millis: number): void => {
  for (const free = Date.now() + millis; Date.now() < free;);
}

describe('the output of a command', () => {
  test('is told piece by piece, by stream, while it runs', async () => {
    const pieces: Array<string> = []
    const running = ended(shell('echo out; sleep 0.3; echo err >&2; sleep 0.3; echo end'), {
      onOutput: (stream, chunk) => pieces.push(`${stream} ${Buffer.from(chunk).toString()}`)
    })
    await until('the first piece came', () => pieces.length === 1)
    const { stdout, stderrTail } = await running
    assert.deepEqual(pieces, ['stdout out\n', 'stderr err\n', 'stdout end\n'])
    assert.deepEqual([stdout, stderrTail], ['out\nend\n', 'err\n'])
  })

  test('is told to the last byte, also when it is large and binary', () =>
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

  test('is kept up to the limit, in whole characters, and what is missing is counted', async () => {
    const long = argv('printf', 'aé漢👩')
    const { stdout: all, truncatedBytes: none } = await ended(long, { captureBytes: 10 })
    assert.deepEqual([all, none], ['aé漢👩', 0])
    const { stdout: cut, truncatedBytes: some } = await ended(long, { captureBytes: 9 })
    assert.deepEqual([cut, some], ['aé漢', 4])
  })

  test('is text even if it is not UTF-8', async () => {
    assert.equal((await ended(argv('printf', '\\377\\000x\\355\\240\\200'))).stdout, '\ufffd\0x\ufffd\ufffd\ufffd')
  })

  test('on standard error is kept from its end', async () => {
    const { stderrTail, stdout } = await ended(shell('seq 1 100000 >&2; echo the reason >&2'))
    assert.ok(stderrTail.endsWith('\n99999\n100000\nthe reason\n'))
    assert.ok(stderrTail.length <= 4_096 && stderrTail.length > 4_000)
    assert.equal(stdout, '')
  })

  test('has no value of a secret, however it comes, where it is kept and where it is told', async () => {
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

  test('has no part of a secret where it is cut because it is too long', async () => {
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

  test('is complete when the command ends before it was read', async () => {
    let blocked = false
    const onOutput = (): void => {
      if (!blocked) block(500)
      blocked = true
    }
    const { stdout } = await ended(shell('echo first; seq 1 20000'), { onOutput })
    assert.ok(stdout.endsWith('\n20000\n'))
  })

  test('has what the background writes a moment after the end, also if the event loop was blocked then', async () => {
    const script = '(sleep 0.1; echo late) & echo now'
    assert.equal((await ended(shell(script))).stdout, 'now\nlate\n')
    const onOutput = (): void => void setTimeout(() => setImmediate(() => block(500)), 20)
    assert.equal((await ended(shell(script), { onOutput })).stdout, 'now\nlate\n')
  })

  test('is complete when something in the background holds it open, which is not waited for nor ended', async () => {
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

describe('a command that is aborted', () => {
  /** Runs a script until it has printed `ready`, aborts it, and tells how it ended, how long that took and its numbers. */
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

  test('ends by SIGTERM, at once, with all that it started', async () => {
    const { exit, millis, pids, alive } = await aborted(
      'sleep 100 & echo $!; (sleep 100; :) & echo $!; echo $$; echo ready; wait',
      20_000
    )
    assert.deepEqual(exit, { _tag: 'Signal', signal: 'SIGTERM' })
    assert.equal(pids.length, 3)
    assert.deepEqual(alive, [])
    assert.ok(millis < 5_000, `${millis} ms`)
  })

  test('has time to end in its own way, and its last words are kept', async () => {
    const script = "trap 'sleep 0.3; echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    const { exit, stdout } = await aborted(script, 20_000)
    assert.deepEqual(exit, { _tag: 'Code', code: 7 })
    assert.match(stdout, /bye\n$/)
  })

  test('and ignores SIGTERM is killed after the grace', async () => {
    const { exit, millis, alive } = await aborted("trap '' TERM; sleep 100 & echo $!; echo $$; echo ready; wait", 500)
    assert.deepEqual(exit, { _tag: 'Signal', signal: 'SIGKILL' })
    assert.deepEqual(alive, [])
    assert.ok(millis >= 490 && millis < 5_000, `${millis} ms`)
  })

  test('and ends, but not what it started, has the rest killed after the grace', async () => {
    const script = "(trap '' TERM; echo ready; while :; do sleep 0.05; done) & echo $!; wait"
    const { exit, millis, alive, pids } = await aborted(script, 500)
    assert.deepEqual(exit, { _tag: 'Signal', signal: 'SIGTERM' })
    assert.equal(pids.length, 1)
    assert.deepEqual(alive, [])
    assert.ok(millis >= 490 && millis < 5_000, `${millis} ms`)
  })

  test('leaves what it started its grace', async () => {
    const script = "(trap 'sleep 0.3; echo saved; exit' TERM; echo ready; while :; do sleep 0.05; done) & wait"
    const { stdout } = await aborted(script, 20_000)
    assert.match(stdout, /saved\n$/)
  })

  test('with no grace is killed at once', async () => {
    const { alive, millis } = await aborted("trap '' TERM; sleep 100 & echo $!; echo $$; echo ready; wait", 0)
    assert.deepEqual(alive, [])
    assert.ok(millis < 2_000, `${millis} ms`)
  })

  test('when only the background still holds its output has that ended too', async () => {
    const stop = new AbortController()
    const { stdout } = await ended(shell("(trap '' TERM; while :; do sleep 0.05; done) & echo $!"), {
      signal: stop.signal,
      graceMillis: 500,
      onOutput: () => void setTimeout(() => stop.abort(), 50)
    })
    assert.equal(isRunning(Number(stdout)), false)
  })

  test('is not waited for when its dead are left unburied', async () => {
    // A parent that left the group (so it is not reached) and does not ask for its dead child (which did not).
    const perl = `perl -MPOSIX -e 'if (!fork) { sleep 100; exit } setsid; $| = 1; print "$$\\nready\\n"; sleep 100'`
    const { millis, pids, alive } = await aborted(`${perl} & wait`, 20_000)
    process.kill(pids[0] ?? 0, 'SIGKILL')
    assert.ok(millis < 5_000, `${millis} ms`)
    assert.deepEqual(alive, pids)
  })

  test('after it has ended is as it was', async () => {
    const stop = new AbortController()
    const result = await ended(shell('echo done'), { signal: stop.signal })
    stop.abort()
    assert.deepEqual(result.exit, { _tag: 'Code', code: 0 })
  })
})

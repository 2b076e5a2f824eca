/** Owners in processes of their own, optionally in other namespaces, controlled by messages. */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll } from 'vitest'
import type { Holder, StorageError } from '../../../src/ports/CheckpointStorage.js'
import { bundled } from '../../bundled.js'

export type Message =
  | { readonly _tag: 'Ready'; readonly pid: number }
  | { readonly _tag: 'Done' | 'Released' | 'Blocking' | 'Told' }
  | { readonly _tag: 'Granted'; readonly epoch: number; readonly revision: number }
  | { readonly _tag: 'Acknowledged'; readonly revision: number; readonly payload: string }
  | { readonly _tag: 'Refused'; readonly error: StorageError; readonly revision?: number }
  | { readonly _tag: 'Lost'; readonly reason: StorageError }
  | { readonly _tag: 'Seen'; readonly heldBy: Holder | null }
  | { readonly _tag: 'Opened'; readonly fd: number }

const pathOf = (name: string): string => fileURLToPath(new URL(`children/${name}`, import.meta.url))

/** The owner, and scripts that start the bundle of the owner, which lies beside theirs. */
const OWNERS = ['owner.js', 'cluster.js', 'pair.js']

/** A script for another process. */
export const script = (name: string): string => {
  if (!OWNERS.includes(name)) return pathOf(name)
  bundled(pathOf('owner.js'))
  return bundled(pathOf(name))
}

/** How to start an owner. `around`: words before its command line; `node`: the Node binary; `options`: of its store. */
export interface Start {
  readonly around?: ReadonlyArray<string>
  readonly node?: string
  readonly script?: string
  readonly options?: object
}

/** A process with a store, and all messages from it. */
export class Owner {
  readonly messages: Array<Message> = []
  readonly child: ChildProcess
  readonly #waiting = new Set<() => void>()

  constructor(root: string, start: Start = {}) {
    const { around = [], node = process.execPath, options = {} } = start
    const words = [...around, node, script(start.script ?? 'owner.js'), root, JSON.stringify(options)]
    this.child = spawn(words[0] ?? node, words.slice(1), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.child.on('message', (message: Message) => {
      this.messages.push(message)
      this.#wake()
    })
    this.child.on('exit', () => this.#wake())
    children.push(this.child)
  }

  get pid(): number {
    return this.child.pid as number
  }

  tell(message: object): void {
    this.child.send(message)
  }

  /** The next message of one of these kinds, from index `from` on. */
  async said<Tag extends Message['_tag']>(
    from: number,
    ...tags: ReadonlyArray<Tag>
  ): Promise<Extract<Message, { readonly _tag: Tag }>> {
    for (;;) {
      const found = this.messages.slice(from).find(({ _tag }) => (tags as ReadonlyArray<string>).includes(_tag))
      if (found !== undefined) return found as Extract<Message, { readonly _tag: Tag }>
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        assert.fail(`the child ended with ${this.child.exitCode ?? this.child.signalCode}`)
      }
      await this.#next()
    }
  }

  /** Waits for a message or the end. */
  #next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve))
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }

  async does<Tag extends Message['_tag']>(
    message: object,
    ...tags: ReadonlyArray<Tag>
  ): Promise<Extract<Message, { readonly _tag: Tag }>> {
    const from = this.messages.length
    this.tell(message)
    return this.said(from, ...tags)
  }

  /** Kills the process and waits for its end, including its wrapper processes. */
  async kill(): Promise<void> {
    const { child } = this
    const disconnected = child.connected ? once(child, 'disconnect') : Promise.resolve()
    child.kill('SIGKILL')
    await Promise.all([ended(child), disconnected])
  }
}

export const children: Array<ChildProcess> = []

afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
})

export const started = async (root: string, start?: Start): Promise<Owner> => {
  const owner = new Owner(root, start)
  await owner.said(0, 'Ready')
  return owner
}

/** An owner of run `a` with this many saves. */
export const holding = async (root: string, start?: Start, saves = 1): Promise<Owner> => {
  const owner = await started(root, start)
  const answer = await owner.does({ op: 'claim', runId: 'a' }, 'Granted', 'Refused')
  assert.equal(answer._tag, 'Granted', JSON.stringify(answer))
  await owner.does({ op: 'save', count: saves }, 'Done')
  return owner
}

export const wait = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

export const ended = (child: ChildProcess): Promise<unknown> =>
  child.exitCode !== null || child.signalCode !== null ? Promise.resolve() : once(child, 'exit')

// ---------------------------------------------------------------------------------------------------------------------
// namespaces
// ---------------------------------------------------------------------------------------------------------------------

const UNSHARE = ['unshare', '--fork', '--kill-child']

/** Starts a command in its own pid namespace, like a container. */
export const CONTAINER: ReadonlyArray<string> = [...UNSHARE, '--pid', '--mount-proc']

/** Also in a time namespace whose boot was 1,000 s earlier, with this pid namespace. */
export const OTHER_TIME: ReadonlyArray<string> = [...UNSHARE, '--time', '--boottime', '1000']

/** Also in a mount namespace, after these shell commands. */
export const mounted = (commands: string, around: ReadonlyArray<string> = CONTAINER): ReadonlyArray<string> => [
  ...around,
  ...(around.includes('--mount-proc') ? [] : ['--mount']),
  'sh',
  '-ec',
  `${commands}\nexec "$@"`,
  'sh'
]

/** Skips the test, with a note, if the system does not permit what it needs. */
export const needs = (skip: (note: string) => never, around: ReadonlyArray<string>): void => {
  const [command = '', ...words] = [...around, 'true']
  const { status, stderr, error } = spawnSync(command, words, { encoding: 'utf8' })
  if (status !== 0)
    skip(`skipped: this system does not permit "${around.join(' ')}": ${error?.message ?? stderr.trim()}`)
}

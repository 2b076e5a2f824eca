/** Runs a store in a child process that a test can kill. */
import type { ChildProcess, Control } from 'node:child_process'
import { fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve as resolvePath } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Json } from '../../domain/data/Json.js'
import { kindOf } from '../../domain/data/Options.js'
import type { CheckpointStorage, Claimed, StorageError } from '../../ports/CheckpointStorage.js'
import type { Method, Reply, Request, SentClaim, SentRevision, Start } from './storageProcessMessages.js'
import { exitOf, keyOf, receivedCause, receivedError } from './storageProcessMessages.js'

/**
 * A store in a child process.
 *
 * @category model
 */
export interface StorageProcess {
  readonly storage: CheckpointStorage
  /** Ends the process with SIGKILL and resolves when it has ended. Calls in flight reject, and so do later ones. */
  readonly kill: () => Promise<void>
}

interface Waiting {
  readonly method: Request['method']
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

interface Link {
  readonly child: ChildProcess
  readonly waiting: Map<number, Waiting>
  readonly lost: Map<string, AbortController>
  readonly exited: Promise<string>
  hasEnded: boolean
  calls: number
}

/**
 * Starts a Node process that imports a module, creates a store with one of its functions, and forwards the calls of
 * `storage` to it. Tests use it to check what happens when a process dies.
 *
 * `module` is a URL or a path (relative to the current folder). `exportName` is the function (default `storage`); it
 * is called with `argument` and returns a store or a promise of one. The result rejects if the module or the function
 * does not exist, or if the function returns no store.
 *
 * The process ends with this one. After its death every call rejects; only the next load shows which of them took
 * effect. Its standard output goes to the error output of this process.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import { jsonFileStorage } from 'dogear/json-file'
 * import { storageProcess } from 'dogear/node'
 * import assert from 'node:assert/strict'
 *
 * const module = new URL(import.meta.resolve('dogear/json-file'))
 * const other = await storageProcess(module, 'jsonFileStorage', 'state')
 * assert.ok(E.isRight(await other.storage.claim('release-42', { host: 'build-1', pid: 100 })()))
 *
 * const owner = { host: 'build-1', pid: process.pid }
 * const refused = await jsonFileStorage('state').claim('release-42', owner)()
 * assert.equal(E.isLeft(refused) && refused.left._tag, 'HeldBy')
 *
 * await other.kill()
 * assert.ok(E.isRight(await jsonFileStorage('state').claim('release-42', owner)()))
 *
 * @category constructors
 */
export const storageProcess = async (
  module: URL | string,
  exportName = 'storage',
  argument?: Json
): Promise<StorageProcess> => {
  if (typeof module !== 'string' && typeof (Object(module) as Partial<URL>).href !== 'string')
    return Promise.reject(
      new Error(
        `storageProcess needs the URL or path of a module, not ${kindOf(module)}; pass one, such as './store.mjs'`
      )
    )
  const file = childFile()
  if (file === undefined)
    return Promise.reject(
      new Error('storageProcess: a bundle lacks the file of the child process; leave dogear out of the bundle')
    )
  const link = open(file)
  const kill = async (): Promise<void> => {
    link.child.ref()
    link.child.kill('SIGKILL')
    await link.exited
  }
  link.child.on('message', (reply: Reply) => settle(link, reply))
  const store: Start = { module: urlOf(module), exportName, ...(argument === undefined ? {} : { argument }) }
  await call(link, 'start', [store]).catch(async (error: Error) => {
    await kill()
    return Promise.reject(error)
  })
  return { storage: storageOver(link), kill }
}

const urlOf = (module: URL | string): string => {
  if (typeof module !== 'string') return module.href
  return module.startsWith('file:') ? module : pathToFileURL(resolvePath(module)).href
}

/** `undefined` in a bundle of a program, which has no such file beside it; in CommonJS form it does not know its own URL either. */
const childFile = (): string | undefined => {
  const url = import.meta.url as string | undefined
  const path = url === undefined ? '' : fileURLToPath(new URL('./storageProcessChild.js', url))
  return existsSync(path) ? path : undefined
}

const open = (file: string): Link => {
  const child = fork(file, {
    serialization: 'advanced',
    stdio: ['ignore', 2, 2, 'ipc']
  })
  const exited = exitOf(child)
  const link: Link = { child, waiting: new Map(), lost: new Map(), exited, hasEnded: false, calls: 0 }
  void exited.then((how) => {
    link.hasEnded = true
    for (const { reject } of link.waiting.values()) reject(new Error(`The process of the store has ended: ${how}`))
    link.waiting.clear()
  })
  return link
}

/** The channel keeps this process alive only while a call waits for a reply. In Bun it has no `ref` and `unref`. */
const unrefIfIdle = ({ child, waiting }: Link): void => {
  if (waiting.size > 0) return
  child.unref()
  channelOf(child)?.unref?.()
}

const channelOf = ({ channel }: ChildProcess): Partial<Control> | null | undefined => channel

const settle = (link: Link, reply: Reply): void => {
  switch (reply._tag) {
    case 'Lost':
      link.lost.get(keyOf(reply.claim))?.abort(receivedError(reply.reason))
      return
    case 'Returned':
      // At once: a `Lost` that arrived together with this reply is settled before the promise continues.
      if (link.waiting.get(reply.id)?.method === 'claim')
        watchClaim(link, reply.result as E.Either<StorageError, Granted>)
      link.waiting.get(reply.id)?.resolve(reply.result)
      break
    case 'Rejected':
      link.waiting.get(reply.id)?.reject(receivedCause(reply.cause))
      break
  }
  link.waiting.delete(reply.id)
  unrefIfIdle(link)
}

interface Granted {
  readonly claim: SentClaim
  readonly stored: Claimed['stored']
}

const watchClaim = ({ lost }: Link, result: E.Either<StorageError, Granted>): void => {
  if (E.isRight(result)) lost.set(keyOf(result.right.claim), new AbortController())
}

const call = (link: Link, method: Request['method'], args: ReadonlyArray<unknown>): Promise<unknown> => {
  if (link.hasEnded) return Promise.reject(new Error('The process of the store has ended'))
  return new Promise((resolve, reject) => {
    link.calls += 1
    link.waiting.set(link.calls, { method, resolve, reject })
    link.child.ref()
    channelOf(link.child)?.ref?.()
    // If the process dies before it receives the message, its death rejects the call.
    link.child.send({ id: link.calls, method, args } satisfies Request, () => undefined)
  })
}

const remote =
  <A>(link: Link, method: Method, ...args: ReadonlyArray<unknown>): TaskEither<StorageError, A> =>
  async () => {
    const returned = (await call(link, method, args)) as E.Either<StorageError, A>
    return E.isLeft(returned) ? E.left(receivedError(returned.left) as StorageError) : returned
  }

const sentClaim = ({ runId, epoch }: SentClaim): SentClaim => ({ runId, epoch })

const storageOver = (link: Link): CheckpointStorage => ({
  claim: (runId, owner, options) => async () => {
    const returned = await remote<Granted>(link, 'claim', runId, owner, options)()
    if (E.isLeft(returned)) return returned
    const { claim, stored } = returned.right
    const { signal } = link.lost.get(keyOf(claim)) as AbortController
    return E.right({ claim: { ...claim, lost: signal }, stored })
  },
  save: (claim, revisions) => async () => {
    const sent = revisions.map(({ revision, change, checkpoint, summary }): SentRevision => ({
      revision,
      change,
      encoded: checkpoint(),
      summary: summary()
    }))
    return remote<void>(link, 'save', sentClaim(claim), sent)()
  },
  release: (claim) => remote(link, 'release', sentClaim(claim)),
  load: (runId) => remote(link, 'load', runId),
  history: (runId) => remote(link, 'history', runId),
  loadRevision: (runId, revision) => remote(link, 'loadRevision', runId, revision),
  list: (options) => remote(link, 'list', options),
  remove: (runId, options) => remote(link, 'remove', runId, options)
})

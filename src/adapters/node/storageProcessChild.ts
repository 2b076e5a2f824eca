/** The child process of `storageProcess`: it creates a store and serves calls over its IPC channel. */
import * as E from 'fp-ts/lib/Either.js'
import { notStore, STORE_METHODS } from '../../domain/data/storeMethods.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { CheckpointStorage, Claim, Claimed, Revision, StorageError } from '../../ports/CheckpointStorage.js'
import type { Method, Reply, Request, SentClaim, SentRevision } from './storageProcessMessages.js'
import { keyOf, sentCause, sentError } from './storageProcessMessages.js'

/** Granted claims as the store returned them, because a store may recognise a claim by identity. */
const claims = new Map<string, Claim>()

const tell = (reply: Reply): void => {
  process.send?.(reply)
}

const start = async ({ module, exportName, argument }: Extract<Request, { _tag: 'Start' }>): Promise<void> => {
  const exported = (await import(module)) as Readonly<Record<string, unknown>>
  const make = exported[exportName]
  if (typeof make !== 'function') {
    const names = Object.keys(exported).join(', ') || 'nothing'
    return tell({ _tag: 'NotStarted', why: `${module} exports no function \`${exportName}\`. It exports ${names}` })
  }
  const made = await (make as (given: unknown) => unknown)(argument)
  const wrong = notStore(made)
  if (wrong !== undefined) {
    const why = `\`${exportName}\` of ${module} must return a CheckpointStorage, ${wrong}; it needs the functions ${STORE_METHODS.join(', ')}`
    return tell({ _tag: 'NotStarted', why })
  }
  const storage = made as CheckpointStorage
  process.on('message', (request: Request) => {
    if (request._tag === 'Call') void answer(storage, request)
  })
  tell({ _tag: 'Started' })
}

const answer = async (storage: CheckpointStorage, call: Extract<Request, { _tag: 'Call' }>): Promise<void> => {
  const { id } = call
  try {
    const result = await perform(storage, call)()
    const granted = call.method === 'claim' && E.isRight(result) ? (result.right as Claimed) : undefined
    if (granted !== undefined) claims.set(keyOf(granted.claim), granted.claim)
    tell({ _tag: 'Answer', id, answer: granted === undefined ? sentAnswer(result) : sentGranted(granted) })
    if (granted !== undefined) reportLoss(granted.claim)
  } catch (error) {
    tell({ _tag: 'Rejected', id, cause: sentCause(error) })
  }
}

const perform = (
  storage: CheckpointStorage,
  { method, args }: Extract<Request, { _tag: 'Call' }>
): TaskEither<StorageError, unknown> => {
  if (method === 'save')
    return storage.save(claimOf(args[0] as SentClaim), revisionsOf(args[1] as ReadonlyArray<SentRevision>))
  if (method === 'release') return storage.release(claimOf(args[0] as SentClaim))
  const calls = storage as unknown as Record<
    Method,
    (...args: ReadonlyArray<unknown>) => TaskEither<StorageError, unknown>
  >
  return calls[method](...args)
}

const claimOf = (claim: SentClaim): Claim =>
  claims.get(keyOf(claim)) ?? { ...claim, lost: new AbortController().signal }

const revisionsOf = (sent: ReadonlyArray<SentRevision>): ReadonlyNonEmptyArray<Revision> =>
  sent.map(({ revision, change, encoded, summary }) => ({
    revision,
    change,
    checkpoint: () => structuredClone(encoded),
    summary: () => structuredClone(summary)
  })) as unknown as ReadonlyNonEmptyArray<Revision>

const sentGranted = ({ claim: { runId, epoch }, stored }: Claimed): unknown =>
  E.right({ claim: { runId, epoch }, stored })

const sentAnswer = (result: E.Either<StorageError, unknown>): unknown =>
  E.isLeft(result) ? E.left(sentError(result.left)) : result

const reportLoss = ({ runId, epoch, lost }: Claim): void => {
  const told = (): void => tell({ _tag: 'Lost', claim: { runId, epoch }, reason: sentError(lost.reason) })
  if (lost.aborted) told()
  else lost.addEventListener('abort', told, { once: true })
}

process.on('disconnect', () => process.exit())
process.once('message', (request: Request) => {
  if (request._tag !== 'Start') return
  start(request).catch((error: unknown) => {
    tell({ _tag: 'NotStarted', why: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  })
})

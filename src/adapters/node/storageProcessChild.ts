/** The child process of `storageProcess`: it creates a store and serves calls over its IPC channel. */
import * as E from 'fp-ts/lib/Either.js'
import { notPort, STORE_METHODS } from '../../domain/data/portMethods.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { CheckpointStorage, Claim, Claimed, Revision, StorageError } from '../../ports/CheckpointStorage.js'
import type { Method, Reply, Request, SentClaim, SentRevision, Start } from './storageProcessMessages.js'
import { keyOf, sentCause, sentError } from './storageProcessMessages.js'

let storage: CheckpointStorage | undefined

/** Granted claims as the store returned them, because a store may recognise a claim by identity. */
const claims = new Map<string, Claim>()

const send = (reply: Reply): void => {
  process.send?.(reply)
}

const start = async ({ module, exportName, argument }: Start): Promise<E.Either<never, void>> => {
  const exported = (await import(module)) as Readonly<Record<string, unknown>>
  const make = exported[exportName]
  if (typeof make !== 'function') {
    const names = Object.keys(exported).join(', ') || 'nothing'
    return Promise.reject(new Error(`${module} exports no function \`${exportName}\`. It exports ${names}`))
  }
  const made = await (make as (given: unknown) => unknown)(argument)
  const wrong = notPort(STORE_METHODS, made)
  if (wrong !== undefined) {
    const needed = STORE_METHODS.join(', ')
    return Promise.reject(
      new Error(
        `\`${exportName}\` of ${module} must return a CheckpointStorage, ${wrong}; it needs the functions ${needed}`
      )
    )
  }
  storage = made as CheckpointStorage
  return E.right(undefined)
}

const serve = async (call: Request): Promise<void> => {
  const { id } = call
  try {
    const result = await perform(call)
    const granted = call.method === 'claim' && E.isRight(result) ? (result.right as Claimed) : undefined
    if (granted !== undefined) claims.set(keyOf(granted.claim), granted.claim)
    send({ _tag: 'Returned', id, result: granted === undefined ? sentResult(result) : sentGranted(granted) })
    if (granted !== undefined) reportLoss(granted.claim)
  } catch (error) {
    send({ _tag: 'Rejected', id, cause: sentCause(error) })
  }
}

const perform = ({ method, args }: Request): Promise<E.Either<StorageError, unknown>> => {
  if (method === 'start' || storage === undefined) return start(args[0] as Start)
  if (method === 'save')
    return storage.save(claimOf(args[0] as SentClaim), revisionsOf(args[1] as ReadonlyArray<SentRevision>))()
  if (method === 'release') return storage.release(claimOf(args[0] as SentClaim))()
  const calls = storage as unknown as Record<
    Method,
    (...args: ReadonlyArray<unknown>) => TaskEither<StorageError, unknown>
  >
  return calls[method](...args)()
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

const sentResult = (result: E.Either<StorageError, unknown>): unknown =>
  E.isLeft(result) ? E.left(sentError(result.left)) : result

const reportLoss = ({ runId, epoch, lost }: Claim): void => {
  const sendLost = (): void => send({ _tag: 'Lost', claim: { runId, epoch }, reason: sentError(lost.reason) })
  if (lost.aborted) sendLost()
  else lost.addEventListener('abort', sendLost, { once: true })
}

process.on('disconnect', () => process.exit())
process.on('message', (request: Request) => void serve(request))

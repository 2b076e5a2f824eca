/** A network between a process and the disk of the sample store: replies are lost, and connections break or freeze. */
import * as E from 'fp-ts/lib/Either.js'
import type { Cutting, Lossy } from '../../../src/testing/conformance/Spec.js'
import type { Disk } from './Disk.js'

/** The codes after which a call may have taken effect. */
export const LOST: ReadonlyArray<string> = ['ECONNRESET', 'ETIMEDOUT', '08006', '57P01']

/** The longest wait for a reply. */
const REPLY_MILLIS = 20

export interface Network extends Omit<Lossy & Cutting, 'storage'> {
  readonly disk: Disk
}

/** Each call is one request and one reply. `waits`: for ever, for a reply that does not come. */
export const overNetwork = (disk: Disk, waits: boolean): Network => {
  let loss: { readonly operation: 'read' | 'write'; readonly code: string; readonly isTaken: boolean } | undefined
  let cutting: { readonly direction: string; after: number; readonly how: 'break' | 'freeze' } | undefined
  let cuts = 0

  const isCut = (direction: 'request' | 'reply'): boolean => cutting?.direction === direction && --cutting.after === 0

  const broken = async (): Promise<E.Either<string, never>> => {
    const isFrozen = cutting?.how === 'freeze'
    cuts += 1
    cutting = undefined
    if (isFrozen) await new Promise<void>((resolve) => waits || setTimeout(resolve, REPLY_MILLIS))
    return E.left(isFrozen ? 'ETIMEDOUT' : 'ECONNRESET')
  }

  const send = async <A>(
    operations: ReadonlyArray<'read' | 'write'>,
    call: () => Promise<E.Either<string, A>>
  ): Promise<E.Either<string, A>> => {
    if (isCut('request')) return broken()
    const lost = loss !== undefined && operations.includes(loss.operation) ? loss : undefined
    if (lost !== undefined) loss = undefined
    if (lost?.isTaken === false) return E.left(lost.code)
    const result = await call()
    if (lost !== undefined) return E.left(lost.code)
    return isCut('reply') ? broken() : result
  }

  return {
    disk: {
      ...disk,
      read: (name) => send(['read'], () => disk.read(name)),
      write: (name, text) => send(['write'], () => disk.write(name, text)),
      names: () => send(['read'], disk.names),
      statement: (operation, act) =>
        send(operation === 'write' ? ['read', 'write'] : ['read'], () => disk.statement(operation, act))
    },
    lose: (operation, code, effect) => {
      loss = { operation, code, isTaken: effect === 'taken' }
    },
    cut: (direction, after, how) => {
      cutting = { direction, after, how }
    },
    cuts: () => cuts,
    heal: () => {
      loss = undefined
      cutting = undefined
    }
  }
}

/** A TCP proxy in front of PostgreSQL that counts messages of the protocol, and cuts a connection after one of them. */
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import type { Server } from './server.js'

type Direction = 'client' | 'server'

export interface Proxy {
  readonly host: string
  readonly port: number
  /** How many messages went each way. */
  readonly counts: Readonly<Record<Direction, number>>
  /** Cuts once, at the message number `after` from now on. A frozen connection stays open, and passes nothing more. */
  readonly cut: (direction: Direction, after: number, how: 'break' | 'freeze') => void
  /** How often a connection was cut. */
  readonly cuts: () => number
  /** Cuts nothing from now on. */
  readonly heal: () => void
  readonly close: () => Promise<void>
}

/** The lengths of the messages that a chunk ends. A message may be in several chunks. */
const framing = (isStartup: boolean): ((chunk: Buffer) => ReadonlyArray<number>) => {
  let rest = Buffer.alloc(0)
  let isFirst = isStartup
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    const lengths: Array<number> = []
    for (;;) {
      const head = isFirst ? 0 : 1
      if (rest.length < head + 4) return lengths
      const length = head + rest.readUInt32BE(head)
      if (rest.length < length) return lengths
      lengths.push(length)
      rest = rest.subarray(length)
      isFirst = false
    }
  }
}

/** Cuts both sides of the connection with the message number `after` in that direction, once that message was passed on. */
export const proxyTo = async (
  to: Pick<Server, 'host' | 'port'>,
  direction: Direction = 'client',
  after = Infinity
): Promise<Proxy> => {
  const counts = { client: 0, server: 0 }
  const sockets = new Set<Socket>()
  let next: { readonly direction: Direction; readonly at: number; readonly how: 'break' | 'freeze' } | undefined
  next = { direction, at: after, how: 'break' }
  let cuts = 0
  const frozen = new WeakSet<Socket>()
  const pass = (from: Socket, to: Socket, way: Direction): void => {
    const frames = framing(way === 'client')
    let queued = Buffer.alloc(0)
    from.on('data', (chunk) => {
      if (frozen.has(from)) return
      queued = Buffer.concat([queued, chunk])
      for (const length of frames(chunk)) {
        const message = queued.subarray(0, length)
        queued = queued.subarray(length)
        counts[way] += 1
        if (way === next?.direction && counts[way] === next.at) {
          cuts += 1
          const isFrozen = next.how === 'freeze'
          next = undefined
          if (isFrozen) return void frozen.add(from).add(to)
          to.end(message, () => to.resetAndDestroy())
          from.destroy()
          return
        }
        to.write(message)
      }
    })
    from.on('error', () => to.destroy())
    from.on('close', () => to.destroy())
  }
  const server = createServer((client) => {
    const upstream = connect({ host: to.host, port: to.port })
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    }
    pass(client, upstream, 'client')
    pass(upstream, client, 'server')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    counts,
    cut: (direction, after, how) => {
      next = { direction, at: counts[direction] + after, how }
    },
    cuts: () => cuts,
    heal: () => {
      next = undefined
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    }
  }
}

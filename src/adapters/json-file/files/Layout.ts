/** Where things are, below the root of a store. `docs/file-format.md` §1 is the norm. */
import { dirname, join, resolve } from 'node:path'
import { isSystem } from '../../../domain/data/ArtifactId.js'
import { sha256 } from '../../../domain/data/Digest.js'
import type { Request } from '../../../domain/request/Request.js'
import * as RunId from '../../../domain/checkpoint/RunId.js'

/** The places of one run. */
export interface Layout {
  readonly runId: string
  readonly root: string
  readonly runs: string
  readonly run: string
  readonly history: string
  readonly copy: string
}

/** The greatest number that a journal can have: 12 digits. */
export const MAX_NUMBER = 999_999_999_999

/** The folder that holds all runs. */
export const runsOf = (root: string): string => join(resolve(root), 'runs')

/** The places of a run. */
export const of = (root: string, runId: string): Layout => {
  const runs = runsOf(root)
  const run = join(runs, runId)
  return {
    runId,
    root: dirname(runs),
    runs,
    run,
    history: join(run, 'history'),
    copy: join(run, 'checkpoint.json')
  }
}

/** A journal's file name: `e000012.jsonl`. */
export const journalName = (number: number): string => `e${String(number).padStart(6, '0')}.jsonl`

/** A journal's place. */
export const journal = (self: Layout, number: number): string => join(self.history, journalName(number))

/** Where a journal is written before it has a number: the `nth` of the claim with this token. */
export const unpublished = (self: Layout, token: string, nth: number): string =>
  join(self.history, `next-${token}-${nth}.tmp`)

/** Where the claim with this token keeps a damaged journal that it takes the number from. */
export const evidence = (self: Layout, number: number, token: string): string =>
  join(self.history, `damaged-${token}-${journalName(number)}`)

/** Where the claim with this token makes its copy, before that gets its name. */
export const copyInTheMaking = (self: Layout, token: string): string => `${self.copy}.${token}`

/** Where the claim with this token has its heartbeat. */
export const heartbeat = (self: Layout, token: string): string => join(self.run, `heartbeat-${token}.lock`)

/** The path of this claim's socket. */
export const socket = (self: Layout, token: string): string => join(self.run, `alive-${token}`)

/** The path where that socket is bound before it listens. */
export const socketInTheMaking = (self: Layout, token: string): string => join(self.run, `.alive-${token}`)

/** The inbox of a run: a folder that exists only while something is in it. */
export const requests = (self: Layout): string => join(self.run, 'requests')

/** The file name of a request. Another request of the same name takes its place, or is refused. */
export const requestName = (request: Request): string => {
  switch (request._tag) {
    case 'Pause':
      return PAUSE
    case 'Cancel':
      return 'cancel.json'
    case 'Answer':
      return `answer-${sha256(request.unit).slice(0, 32)}.json`
  }
}

const PAUSE = 'pause.json'

/** The path of the request with this name. */
export const request = (self: Layout, name: string): string => join(requests(self), name)

/** The path of the pause request. */
export const pauseRequest = (self: Layout): string => request(self, PAUSE)

/** Where a request is written before it gets its name, and where one is moved that is to be removed. */
export const requestInTheMaking = (self: Layout, token: string): string => join(self.run, `request-${token}.tmp`)

/** Where the pointer is to the run that paused last. */
export const pointer = (root: string): string => join(dirname(runsOf(root)), 'continue-here.json')

/** Where the pointer is written before it gets its name. */
export const pointerInTheMaking = (root: string, token: string): string => `${pointer(root)}.${token}`

/** The folder that holds a run's artifacts. */
export const artifacts = (self: Layout): string => join(self.run, 'artifacts')

/**
 * An artifact's place. Its name is its id, escaped like a host's: different ids have different names, also where case, or
 * how a letter is composed, makes no difference to names. `_` stands before those of Dogear.
 */
export const artifact = (self: Layout, id: string): string =>
  join(artifacts(self), `${isSystem(id) ? '_' : ''}${RunId.fromHostId(id)}`)

/** Where an artifact is written before it has its name. */
export const artifactInTheMaking = (self: Layout, token: string): string => join(artifacts(self), `put-${token}.tmp`)

/** The folder of the archive. */
export const archiveOf = (root: string): string => join(resolve(root), 'archive')

/** Where a run is in the archive. `createdAt`: when it was made, which tells runs apart that had one id after the other. */
export const archived = (root: string, runId: string, createdAt: string): string =>
  join(archiveOf(root), `${runId}-${createdAt.replace(/[^0-9TZ]/g, '')}.json`)

/** Where a run is written before it has its name in the archive. */
export const archivedInTheMaking = (root: string, token: string): string => join(archiveOf(root), `keep-${token}.tmp`)

/** Where a removed run goes before it is deleted. */
export const tombstone = (self: Layout, token: string): string => join(self.root, `removed-${token}-${self.runId}`)

/** The numbers of the journals among some file names, highest first. Other names are none of ours. */
export const numbers = (names: ReadonlyArray<string>): ReadonlyArray<number> =>
  names
    .flatMap((name) => {
      const digits = /^e(\d{6,12})\.jsonl$/.exec(name)?.[1]
      const number = Number(digits)
      return digits !== undefined && number > 0 && journalName(number) === name ? [number] : []
    })
    .sort((a, b) => b - a)

/** The token in the name of an unpublished journal, a heartbeat, a socket or an unfinished copy. */
export const tokenIn = (name: string): string | undefined =>
  /^(?:next-([0-9a-f]{32})-\d+\.tmp|heartbeat-([0-9a-f]{32})\.lock|\.?alive-([0-9a-f]{32})|checkpoint\.json\.([0-9a-f]{32}))$/
    .exec(name)
    ?.slice(1)
    .find(Boolean)

/** Whether a name is that of a temporary file that write-file-atomic made for `checkpoint.json`. */
export const isCopyInTheMaking = (name: string): boolean => /^checkpoint\.json\.(?:[0-9a-f]{32}\.)?\d+$/.test(name)

/** Whether a name in the inbox is that of a request. */
export const isRequest = (name: string): boolean => /^(?:pause|cancel|answer-[0-9a-f]{32})\.json$/.test(name)

/** Whether a name is that of an unfinished request or pointer. */
export const isRequestInTheMaking = (name: string): boolean =>
  /^(?:request-[0-9a-f]{32}\.tmp|continue-here\.json\.[0-9a-f]{32})$/.test(name)

/** Whether a name in the archive is that of a run in the making. */
export const isArchivedInTheMaking = (name: string): boolean => /^keep-[0-9a-f]{32}\.tmp$/.test(name)

/** Whether a name in the root is that of a removed run. */
export const isTombstone = (name: string): boolean => /^removed-[0-9a-f]{32}-[a-z0-9]/.test(name)

/** Whether a path is inside the folder of a removed run, which was moved. */
export const isInTombstone = (path: string, { runId }: Layout): boolean => {
  const [above = ''] = path.split(`-${runId}/history/`)
  return above !== path && /\/removed-[0-9a-f]{32}$/.test(above)
}

/** What a name in the folder of artifacts is: an artifact, one of Dogear's own, one in the making, or nothing of ours. */
export const kindOfArtifact = (name: string): 'artifact' | 'system' | 'unfinished' | 'other' => {
  if (/^put-[0-9a-f]{32}\.tmp$/.test(name)) return 'unfinished'
  if (!/^_?(?:h-[a-z0-9_-]{1,126}|hash-[0-9a-f]{64})$/.test(name)) return 'other'
  return name.startsWith('_') ? 'system' : 'artifact'
}

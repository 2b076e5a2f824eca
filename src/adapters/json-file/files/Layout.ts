/** The paths below the root of a store (`docs/file-format.md` §1). */
import { randomBytes } from 'node:crypto'
import { dirname, join, resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { isReserved } from '../../../domain/data/ArtifactId.js'
import { sha256 } from '../../../domain/data/Digest.js'
import type { Request } from '../../../domain/request/Request.js'
import * as RunId from '../../../domain/checkpoint/RunId.js'

export interface Layout {
  readonly runId: string
  readonly root: string
  readonly runs: string
  readonly run: string
  readonly history: string
  readonly copy: string
}

/** The highest number of a journal: 12 digits. */
export const MAX_NUMBER = 999_999_999_999

export const runsOf = (root: string): string => join(resolve(root), 'runs')

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

/** Checks the run id before the action, so that no file of an invalid id is touched. */
export const call =
  <Left, A>(
    root: string,
    runId: string,
    act: (layout: Layout) => Promise<E.Either<Left, A>>
  ): TaskEither<Left | RunId.InvalidRunId, A> =>
  () => {
    const valid = RunId.parse(runId)
    return E.isLeft(valid) ? Promise.resolve(valid) : act(of(root, runId))
  }

/** A random part for names that no other process uses. */
export const newToken = (): string => randomBytes(16).toString('hex')

export const journalName = (number: number): string => `e${String(number).padStart(6, '0')}.jsonl`

export const journal = (self: Layout, number: number): string => join(self.history, journalName(number))

/** The path of a journal before it has a number: the `nth` of the claim with this token. */
export const unpublished = (self: Layout, token: string, nth: number): string =>
  join(self.history, `next-${token}-${nth}.tmp`)

/** The path where the claim with this token keeps a damaged journal that it pruned. */
export const prunedDamaged = (self: Layout, number: number, token: string): string =>
  join(self.history, `damaged-${token}-${journalName(number)}`)

/** The path where the claim with this token writes its copy before the rename. */
export const unfinishedCopy = (self: Layout, token: string): string => `${self.copy}.${token}`

export const heartbeat = (self: Layout, token: string): string => join(self.run, `heartbeat-${token}.lock`)

export const socket = (self: Layout, token: string): string => join(self.run, `alive-${token}`)

/** The path where the socket is bound before it listens. */
export const unfinishedSocket = (self: Layout, token: string): string => join(self.run, `.alive-${token}`)

/** The inbox of a run, which exists only while it holds a request. */
export const requests = (self: Layout): string => join(self.run, 'requests')

/** A request replaces an earlier one of the same name, or is refused. */
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

export const PAUSE = 'pause.json'

export const request = (self: Layout, name: string): string => join(requests(self), name)

/** The name of a request that is being withdrawn. Readers count it as a request: its process may be killed before it knows which one it took. */
export const takenName = (name: string, token: string): string => `${name}.${token}`

/** The name of a request, also while it is being withdrawn; undefined for any other file. */
export const nameOfRequest = (name: string): string | undefined =>
  /^((?:pause|cancel|answer-[0-9a-f]{32})\.json)(?:\.[0-9a-f]{32})?$/.exec(name)?.[1]

/** The path of a request before it gets its name. */
export const unfinishedRequest = (self: Layout, token: string): string => join(self.run, `request-${token}.tmp`)

/** The pointer to the run that paused last. */
export const pointer = (root: string): string => join(dirname(runsOf(root)), 'continue-here.json')

export const unfinishedPointer = (root: string, token: string): string => `${pointer(root)}.${token}`

export const artifacts = (self: Layout): string => join(self.run, 'artifacts')

/** The name is the escaped id: it stays unique where names fold case or compose letters. A leading `_` marks Dogear's own artifacts. */
export const artifact = (self: Layout, id: string): string =>
  join(artifacts(self), `${isReserved(id) ? '_' : ''}${RunId.fromHostId(id)}`)

/** The path of an artifact before the rename. */
export const unfinishedArtifact = (self: Layout, token: string): string => join(artifacts(self), `put-${token}.tmp`)

export const archiveOf = (root: string): string => join(resolve(root), 'archive')

/** The path of an archived run. `createdAt` distinguishes runs that used the same id. */
export const archived = (root: string, runId: string, createdAt: string): string =>
  join(archiveOf(root), `${runId}-${createdAt.replace(/[^0-9TZ]/g, '')}.json`)

/** The path of an archived run before the rename. */
export const unfinishedArchived = (root: string, token: string): string => join(archiveOf(root), `keep-${token}.tmp`)

/** The path that a removed run has until it is deleted. */
export const removedFolder = (self: Layout, token: string): string => join(self.root, `removed-${token}-${self.runId}`)

/** The numbers of the journals among file names, highest first. Other names are ignored. */
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

/** True for a file that a claim makes before its first save. */
export const isOfClaim = (name: string): boolean => tokenIn(name) !== undefined || numbers([name]).length > 0

/** Matches write-file-atomic's temporary files for `checkpoint.json`. */
export const isUnfinishedCopy = (name: string): boolean => /^checkpoint\.json\.(?:[0-9a-f]{32}\.)?\d+$/.test(name)

export const isUnfinishedRequest = (name: string): boolean =>
  /^(?:request-[0-9a-f]{32}\.tmp|continue-here\.json\.[0-9a-f]{32})$/.test(name)

export const isUnfinishedArchived = (name: string): boolean => /^keep-[0-9a-f]{32}\.tmp$/.test(name)

export const isRemovedFolder = (name: string): boolean => /^removed-[0-9a-f]{32}-[a-z0-9]/.test(name)

/** True for a path inside the folder to which a removal moved this run. */
export const isInRemovedFolder = (path: string, { runId }: Layout): boolean => {
  const [above = ''] = path.split(`-${runId}/history/`)
  return above !== path && /\/removed-[0-9a-f]{32}$/.test(above)
}

/** Classifies a name in the artifacts folder: an artifact, one of Dogear's own, an unfinished one, or unknown. */
export const kindOfArtifact = (name: string): 'artifact' | 'system' | 'unfinished' | 'other' => {
  if (/^put-[0-9a-f]{32}\.tmp$/.test(name)) return 'unfinished'
  if (!/^_?(?:h-[a-z0-9_-]{1,126}|hash-[0-9a-f]{64})$/.test(name)) return 'other'
  return name.startsWith('_') ? 'system' : 'artifact'
}

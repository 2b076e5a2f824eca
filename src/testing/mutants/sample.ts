/**
 * A small sound store, and in it the places where a mutant goes wrong: one flaw each, and nothing else.
 *
 * Each run is one text on a {@link Disk}: a digest, and behind it a record of its claims and revisions. It is read and
 * written as a whole, by one at a time.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import { sha256 } from '../../domain/Digest.js'
import type { Json } from '../../domain/Json.js'
import * as RunId from '../../domain/RunId.js'
import type {
  CheckpointStorage,
  Claim,
  Claimed,
  Holder,
  Owner,
  Revision,
  StorageError,
  Stored
} from '../../ports/CheckpointStorage.js'
import type { Disk } from './Disk.js'
import type { Flaw } from './flaws.js'
import { mangleDates, wellFormed, withoutProto } from './flaws.js'

// ---------------------------------------------------------------------------------------------------------------------
// model
// ---------------------------------------------------------------------------------------------------------------------

interface Kept {
  readonly revision: number
  readonly change: string
  readonly at: string
  readonly checkpoint: Json
}

/** `epoch` outlives release and removal, so that an old claim stays an old one. */
interface Run {
  readonly format: number
  readonly epoch: number
  readonly held: (Holder & { readonly process: number }) | null
  readonly revisions: ReadonlyArray<Kept>
}

const EMPTY: Run = { format: 1, epoch: 0, held: null, revisions: [] }

type Answer<A> = Promise<E.Either<StorageError, A>>

/** One process's view of the store. */
interface Instance {
  readonly disk: Disk
  readonly process: number
  readonly has: (flaw: Flaw) => boolean
  readonly held: Map<string, { readonly epoch: number; readonly lost: AbortController }>
  /** What a mutant goes by instead of the disk. */
  readonly remembered: Map<string, Run>
  busy: boolean
}

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/** The store as a new process on a disk sees it; with a flaw, if one is given. */
export const sampleStorage = (
  disk: Disk,
  flaw?: Flaw
): { readonly storage: CheckpointStorage; readonly process: number } => {
  const has = (one: Flaw): boolean => one === flaw
  const held: Instance['held'] = new Map()
  const process = disk.processes.start((runId, epoch) => {
    const mine = held.get(runId)
    if (mine === undefined || mine.epoch >= epoch || has('never tells an owner that it was superseded')) return
    mine.lost.abort(fenced(runId, mine.epoch, O.some(epoch)))
  })
  const instance: Instance = { disk, process, has, held, remembered: new Map(), busy: false }

  /** The id is checked first; then one at a time changes a run. Who only looks need not wait: a text is written at once. */
  const on =
    <A>(given: string, act: (runId: string) => Answer<A>, alone = true): (() => Answer<A>) =>
    () => {
      const runId = has('folds the case of ids') ? given.toLowerCase() : given
      const valid = RunId.parse(runId)
      if (E.isLeft(valid)) return Promise.resolve(valid)
      return alone ? disk.exclusively(runId, () => act(runId)) : act(runId)
    }
  const when = <A>(task: () => Answer<A>): (() => Answer<A>) => {
    if (!has('begins before it is asked to')) return task
    const begun = task()
    return () => begun
  }

  return {
    process,
    storage: {
      claim: (runId, owner) => when(on(runId, (id) => claim(instance, id, owner), !has('grants two claims at once'))),
      save: (given, revisions) =>
        when(
          on(
            given.runId,
            (runId) => save(instance, { ...given, runId }, revisions),
            !has('stores two saves of one revision')
          )
        ),
      release: (given) => when(on(given.runId, (runId) => release(instance, { ...given, runId }))),
      load: (runId) => on(runId, (id) => look(instance, id, (run) => storedAt(instance, run)), false),
      history: (runId) => on(runId, (id) => look(instance, id, (run) => history(instance, run)), false),
      loadRevision: (runId, revision) => {
        const wanted = revision - (has('is off by one in its history') ? 1 : 0)
        return on(runId, (id) => look(instance, id, (run) => storedAt(instance, run, wanted)), false)
      },
      list: () => () => list(instance),
      remove: (runId) => when(on(runId, (id) => remove(instance, id)))
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// texts
// ---------------------------------------------------------------------------------------------------------------------

const textOf = (run: Run): string => {
  const body = JSON.stringify(run)
  return `${sha256(body)} ${body}`
}

/** The same text in a format of the future. */
export const newerText = (text: string): string =>
  textOf({ ...(JSON.parse(text.slice(text.indexOf(' ') + 1)) as Run), format: EMPTY.format + 1 })

const backupOf = (runId: string): string => `~${runId}`

const read = async (instance: Instance, runId: string): Answer<Run> => {
  const { disk, has, remembered } = instance
  const known = remembered.get(runId)
  if (known !== undefined) return E.right(known)
  const text = await disk.read(runId)
  if (E.isLeft(text)) return unreadable(instance, runId, text.left)
  const run = text.right === undefined ? E.right(EMPTY) : parse(runId, text.right, has)
  if (E.isRight(run) && isForgetful(instance)) remembered.set(runId, run.right)
  return run
}

const isForgetful = ({ has }: Instance): boolean => has('remembers what it has read') || has('gives away what it keeps')

const unreadable = ({ disk, has }: Instance, runId: string, code: string): E.Either<StorageError, Run> => {
  if (has('takes what it can not read for nothing')) return E.right(EMPTY)
  const backup = disk.texts.get(backupOf(runId))
  return has('falls back to something older when it can not read') && backup !== undefined
    ? parse(runId, backup, has)
    : E.left({ _tag: 'ReadFailed', where: runId, operation: 'read', code, cause: code })
}

const parse = (runId: string, text: string, has: Instance['has']): E.Either<StorageError, Run> => {
  const [digest, body] = [text.slice(0, text.indexOf(' ')), text.slice(text.indexOf(' ') + 1)]
  if (sha256(body) !== digest && !has('does not look whether content is damaged')) {
    return has('takes damaged content for none')
      ? E.right(EMPTY)
      : E.left({ _tag: 'Corrupt', runId, where: runId, why: 'its digest is wrong' })
  }
  const run = JSON.parse(body, has('makes dates of texts') ? mangleDates : undefined) as Run
  return run.format > EMPTY.format && !has('reads newer formats')
    ? E.left({ _tag: 'UnsupportedFormat', runId, where: runId, found: run.format, supported: EMPTY.format })
    : E.right(run)
}

const write = async (instance: Instance, runId: string, run: Run): Answer<void> => {
  const { disk, has, remembered, process } = instance
  const text = textOf(run)
  if (has('acknowledges before it writes')) {
    remembered.set(runId, run)
    setTimeout(() => {
      if (disk.processes.isAlive(process)) disk.texts.set(runId, text)
    }, 50)
    return E.right(undefined)
  }
  if (has('falls back to something older when it can not read'))
    disk.texts.set(backupOf(runId), disk.texts.get(runId) ?? text)
  const written = await disk.write(runId, text)
  if (E.isLeft(written) && !has('swallows errors'))
    return E.left({ _tag: 'WriteFailed', where: runId, operation: 'write', code: written.left, cause: written.left })
  if (isForgetful(instance)) remembered.set(runId, run)
  return E.right(undefined)
}

const look = async <A>(instance: Instance, runId: string, view: (run: Run) => A): Answer<A> =>
  E.map(view)(await read(instance, runId))

// ---------------------------------------------------------------------------------------------------------------------
// who writes
// ---------------------------------------------------------------------------------------------------------------------

const fenced = (runId: string, epoch: number, by: O.Option<number>): StorageError => ({
  _tag: 'Fenced',
  runId,
  epoch,
  by
})

/** Who holds the run and lives. */
const holderOf = ({ disk, has }: Instance, { held }: Run): Holder | undefined => {
  if (held === null || has('takes every owner for dead')) return undefined
  const { process, ...holder } = held
  return disk.processes.isAlive(process) || has('takes every owner for alive') ? holder : undefined
}

const claim = async (instance: Instance, runId: string, owner: Owner): Answer<Claimed> => {
  const { disk, has, process, held } = instance
  const found = await read(instance, runId)
  if (E.isLeft(found)) return found
  const run = found.right
  const holder = holderOf(instance, run)
  if (holder !== undefined) return E.left({ _tag: 'HeldBy', runId, holder })
  const isUsedAgain = has('uses an epoch again after a release') && run.held === null && run.epoch > 0
  const epoch = isUsedAgain ? run.epoch : run.epoch + 1
  const since = new Date().toISOString()
  const written = await write(instance, runId, { ...run, epoch, held: { ...owner, since, process } })
  if (E.isLeft(written)) return written
  const lost = new AbortController()
  held.set(runId, { epoch, lost })
  disk.processes.tell(runId, epoch)
  const stored = storedAt(instance, { ...run, held: null })
  return E.right({ claim: { runId, epoch, lost: lost.signal }, stored })
}

/** Only the newest claim writes, and only as long as it is held. */
const isFenced = ({ has }: Instance, { epoch, held }: Run, claimed: Claim): boolean => {
  if (has('does not fence')) return held === null
  if (has('forgets whom it fenced')) return held !== null && epoch !== claimed.epoch
  return held === null || epoch !== claimed.epoch
}

const refuse = ({ held, has }: Instance, run: Run, { runId, epoch }: Claim): E.Either<StorageError, never> => {
  const error = fenced(runId, epoch, run.epoch > epoch ? O.some(run.epoch) : O.none)
  const mine = held.get(runId)
  if (mine?.epoch === epoch && !has('never tells an owner that it was superseded')) mine.lost.abort(error)
  return E.left(error)
}

const release = async (instance: Instance, claimed: Claim): Answer<void> => {
  const found = await read(instance, claimed.runId)
  if (E.isLeft(found)) return found
  const run = found.right
  if (run.epoch !== claimed.epoch && !instance.has('lets anybody give a claim back')) return E.right(undefined)
  return write(instance, claimed.runId, { ...run, held: null })
}

// ---------------------------------------------------------------------------------------------------------------------
// saving
// ---------------------------------------------------------------------------------------------------------------------

const save = async (instance: Instance, claimed: Claim, revisions: ReadonlyNonEmptyArray<Revision>): Answer<void> => {
  const { runId } = claimed
  const found = await read(instance, runId)
  if (E.isLeft(found)) return found
  const run = found.right
  if (isFenced(instance, run, claimed)) return refuse(instance, run, claimed)
  const conflict = conflictOf(instance, run, revisions)
  if (conflict !== undefined) return E.left({ _tag: 'RevisionConflict', runId, ...conflict })
  if (instance.has('drops saves that come at the same time')) return saveUnlessBusy(instance, runId, run, revisions)
  if (instance.has('writes the revisions of a save one by one')) return saveOneByOne(instance, runId, run, revisions)
  const kept =
    instance.has('loses the last of several revisions') && revisions.length > 1 ? revisions.slice(0, -1) : revisions
  return write(instance, runId, withRevisions(instance, run, kept))
}

const conflictOf = (
  { has }: Instance,
  { revisions: stored }: Run,
  revisions: ReadonlyArray<Revision>
): { readonly expected: number; readonly found: number } | undefined => {
  if (has('lets the last save win')) return undefined
  let expected = stored.at(-1)?.revision ?? -1
  for (const { revision: found } of has('looks at the first revision of a save only')
    ? revisions.slice(0, 1)
    : revisions) {
    expected += 1
    if (found !== expected) return { expected, found }
  }
  return undefined
}

const withRevisions = ({ has }: Instance, run: Run, revisions: ReadonlyArray<Revision>): Run => {
  const first = revisions[0]?.revision ?? 0
  const added = revisions.map(({ revision, change, checkpoint }): Kept => {
    const whole = has('loses keys that objects have') ? withoutProto(checkpoint()) : checkpoint()
    return {
      revision,
      change: change._tag,
      at: change.at,
      checkpoint: has('mends lone surrogates') ? wellFormed(whole) : whole
    }
  })
  const before = run.revisions.filter(({ revision }) => revision < first)
  return { ...run, revisions: [...before, ...added] }
}

const saveUnlessBusy = async (
  instance: Instance,
  runId: string,
  run: Run,
  revisions: ReadonlyArray<Revision>
): Answer<void> => {
  if (instance.busy) return E.right(undefined)
  instance.busy = true
  const written = await write(instance, runId, withRevisions(instance, run, revisions))
  instance.busy = false
  return written
}

const saveOneByOne = async (
  instance: Instance,
  runId: string,
  run: Run,
  revisions: ReadonlyArray<Revision>
): Answer<void> => {
  let reached = run
  for (const one of revisions) {
    reached = withRevisions(instance, reached, [one])
    const written = await write(instance, runId, reached)
    if (E.isLeft(written)) return written
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return E.right(undefined)
}

// ---------------------------------------------------------------------------------------------------------------------
// what is stored
// ---------------------------------------------------------------------------------------------------------------------

const storedAt = (instance: Instance, run: Run, revision = run.revisions.at(-1)?.revision): O.Option<Stored> => {
  const kept = run.revisions.find((one) => one.revision === revision)
  if (kept === undefined) return O.none
  const heldBy = O.fromNullable(holderOf(instance, run))
  return O.some({
    revision: kept.revision,
    checkpoint: kept.checkpoint,
    changes: [],
    found: { _tag: 'Exact' },
    heldBy
  })
}

const history = ({ has }: Instance, { revisions }: Run) => {
  const oldestFirst = revisions.map(({ revision, change, at }) => ({ revision, change, at }))
  return has('tells its history oldest first') ? oldestFirst : oldestFirst.reverse()
}

const list = async (instance: Instance): Answer<ReadonlyArray<string>> => {
  const names = await instance.disk.names()
  if (E.isLeft(names))
    return E.left({ _tag: 'ReadFailed', where: 'the disk', operation: 'list', code: names.left, cause: names.left })
  const found: Array<string> = []
  for (const runId of names.right.filter((name) => E.isRight(RunId.parse(name)))) {
    const run = await read(instance, runId)
    if (E.isLeft(run) && (run.left._tag === 'ReadFailed' || instance.has('lists nothing if one run is damaged')))
      return run
    if (E.isLeft(run) || run.right.revisions.length > 0) found.push(runId)
  }
  return E.right(instance.has('lists runs in no order') ? found : found.sort())
}

const remove = async (instance: Instance, runId: string): Answer<void> => {
  const { disk, has, remembered } = instance
  const found = await read(instance, runId)
  if (E.isLeft(found)) return found
  const run = found.right
  const holder = holderOf(instance, run)
  if (holder !== undefined && !has('removes runs that are held')) return E.left({ _tag: 'HeldBy', runId, holder })
  const emptied: Run = { ...run, held: null, revisions: [] }
  if (has('removes every run that begins alike')) {
    for (const name of disk.texts.keys()) if (name.startsWith(runId)) disk.texts.set(name, textOf(emptied))
  }
  if (has('brings removed runs back')) {
    remembered.set(runId, emptied)
    return E.right(undefined)
  }
  return write(instance, runId, has('forgets the epochs of a removed run') ? EMPTY : emptied)
}

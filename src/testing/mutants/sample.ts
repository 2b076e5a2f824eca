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
import type { Json } from '../../domain/Json.js'
import * as RunId from '../../domain/RunId.js'
import type {
  CheckpointStorage,
  Claim,
  Claimed,
  HistoryEntry,
  Holder,
  Owner,
  Revision,
  StorageError,
  Stored
} from '../../ports/CheckpointStorage.js'
import type { Disk } from './Disk.js'
import type { Flaw } from './flaws.js'
import { wellFormed, withoutProto } from './flaws.js'
import type { Answer, Instance, Kept, Run } from './sampleTexts.js'
import { EMPTY, read, textOf, write } from './sampleTexts.js'

// ---------------------------------------------------------------------------------------------------------------------
// constructors
// ---------------------------------------------------------------------------------------------------------------------

/** Saves, and removals, that do not wait until they are alone; or not from the beginning on. */
const WITHOUT_TURN: ReadonlyArray<Flaw> = [
  'stores two saves of one revision',
  'lets saves overtake one another',
  'looks at its claim before its turn'
]
const REMOVING_WITHOUT_TURN: ReadonlyArray<Flaw> = [
  'looks who holds a run before it is its turn to remove',
  'fails where two remove at once'
]

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
  const instance: Instance = {
    disk,
    process,
    has,
    held,
    remembered: new Map(),
    histories: new Map(),
    counted: new Map(),
    busy: false
  }

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
        when(on(given.runId, (runId) => save(instance, { ...given, runId }, revisions), !WITHOUT_TURN.some(has))),
      release: (given) => when(on(given.runId, (runId) => release(instance, { ...given, runId }))),
      load: (runId) => on(runId, (id) => look(instance, id, (run) => storedAt(instance, run)), false),
      history: (runId) => on(runId, (id) => look(instance, id, (run) => history(instance, id, run)), false),
      loadRevision: (runId, revision) => {
        const wanted = revision - (has('is off by one in its history') ? 1 : 0)
        return on(runId, (id) => look(instance, id, (run) => storedAt(instance, run, wanted)), false)
      },
      list: () => () => list(instance),
      remove: (runId) => when(on(runId, (id) => remove(instance, id), !REMOVING_WITHOUT_TURN.some(has)))
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// looking
// ---------------------------------------------------------------------------------------------------------------------

const look = async <A>(instance: Instance, runId: string, view: (run: Run) => A): Answer<A> =>
  E.chain((run: Run) =>
    run === EMPTY && instance.has('takes a run that is not there for an error')
      ? E.left<StorageError>({ _tag: 'ReadFailed', where: runId, operation: 'open', code: 'ENOENT', cause: runId })
      : E.right(view(run))
  )(await read(instance, runId))

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
  if (!disk.processes.isAlive(process) && !has('takes every owner for alive')) return undefined
  const isSilent = has('takes silent owners for dead') && Date.now() - Date.parse(held.since) > 1_000
  if (isSilent) return undefined
  return has('cuts hosts at a colon') ? { ...holder, host: holder.host.split(':')[0] ?? '' } : holder
}

const BEGUN: Kept = { revision: 0, change: 'Claimed', at: '2026-01-02T03:04:05.678Z', checkpoint: { format: 1 } }

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
  const now: Run = { ...run, epoch, held: { ...owner, since, process } }
  const began =
    has('writes a checkpoint at a claim') && run.revisions.length === 0 ? { ...now, revisions: [BEGUN] } : now
  const written = await write(instance, runId, began)
  if (E.isLeft(written)) return written
  if (has('keeps its locks among the runs')) disk.texts.set(`${runId}.lock`, textOf(EMPTY))
  if (has('holds one run at a time')) held.clear()
  const lost = new AbortController()
  held.set(runId, { epoch, lost })
  disk.processes.tell(runId, epoch)
  const stored = storedAt(instance, has('tells who claims that it holds the run') ? now : { ...run, held: null })
  return E.right({ claim: { runId, epoch, lost: lost.signal }, stored })
}

/** Only the newest claim writes, and only as long as it is held. */
const isFenced = ({ has, held: mine }: Instance, { epoch, held }: Run, claimed: Claim): boolean => {
  if (has('holds one run at a time') && !mine.has(claimed.runId)) return true
  if (has('does not fence')) return held === null
  if (has('forgets whom it fenced')) return held !== null && epoch !== claimed.epoch
  return held === null || epoch !== claimed.epoch
}

const refuse = ({ held, has }: Instance, run: Run, { runId, epoch }: Claim): E.Either<StorageError, never> => {
  const error = fenced(runId, epoch, run.epoch > epoch ? O.some(run.epoch) : O.none)
  const mine = held.get(runId)
  const isMine = mine?.epoch === epoch || has('tells whoever holds the run that another claim is lost')
  if (isMine && !has('never tells an owner that it was superseded')) mine?.lost.abort(error)
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
  if (isFenced(instance, found.right, claimed)) return refuse(instance, found.right, claimed)
  if (!instance.has('looks at its claim before its turn')) return keep(instance, runId, found.right, revisions)
  return instance.disk.exclusively(runId, async () => {
    const later = await read(instance, runId)
    return E.isLeft(later) ? later : keep(instance, runId, later.right, revisions)
  })
}

const keep = async (
  instance: Instance,
  runId: string,
  run: Run,
  revisions: ReadonlyNonEmptyArray<Revision>
): Answer<void> => {
  const { has } = instance
  if (has('lets saves overtake one another')) return overtake(instance, runId, run, revisions)
  const conflict = conflictOf(instance, run, revisions)
  if (conflict !== undefined) return E.left({ _tag: 'RevisionConflict', runId, ...conflict })
  if (has('writes no more than a hundred revisions at once') && revisions.length > 100)
    return E.left({ _tag: 'WriteFailed', where: runId, operation: 'write', code: 'E2BIG', cause: revisions.length })
  if (has('drops saves that come at the same time')) return saveUnlessBusy(instance, runId, run, revisions)
  if (has('writes the revisions of a save one by one')) return saveOneByOne(instance, runId, run, revisions)
  const kept = has('loses the last of several revisions') && revisions.length > 1 ? revisions.slice(0, -1) : revisions
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
  const last = (): Json => revisions.at(-1)?.checkpoint() ?? null
  const added = revisions.map(({ revision, change, checkpoint }): Kept => {
    const made = has('keeps the last checkpoint of a save for all its revisions') ? last() : checkpoint()
    const whole = has('loses keys that objects have') ? withoutProto(made) : made
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

/** The revisions are counted here, at once; the longer the run, the sooner they are written. */
const overtake = async (
  instance: Instance,
  runId: string,
  run: Run,
  revisions: ReadonlyArray<Revision>
): Answer<void> => {
  const { counted } = instance
  const conflict = conflictOf(instance, { ...run, revisions: counted.get(runId) ?? run.revisions }, revisions)
  if (conflict !== undefined) return E.left({ _tag: 'RevisionConflict', runId, ...conflict })
  const next = withRevisions(instance, { ...run, revisions: counted.get(runId) ?? run.revisions }, revisions)
  counted.set(runId, next.revisions)
  await new Promise((resolve) => setTimeout(resolve, 40 / next.revisions.length))
  return write(instance, runId, next)
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

const history = ({ has, histories }: Instance, runId: string, { revisions }: Run): ReadonlyArray<HistoryEntry> => {
  const known = histories.get(runId)
  if (known?.length === revisions.length) return known.entries
  const oldestFirst = revisions.map(({ revision, change, at }) => ({ revision, change, at }))
  const entries = has('tells its history oldest first') ? oldestFirst : oldestFirst.reverse()
  if (has('gives away the history that it keeps')) histories.set(runId, { length: revisions.length, entries })
  return entries
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
  const { disk, has } = instance
  const found = await read(instance, runId)
  if (E.isLeft(found)) {
    if (!has('removes what it can not read')) return found
    disk.texts.set(runId, textOf(EMPTY))
    return E.right(undefined)
  }
  const run = found.right
  const holder = holderOf(instance, run)
  const isAsked = !has('sees who holds a run only if something is stored') || run.revisions.length > 0
  if (holder !== undefined && isAsked && !has('removes runs that are held'))
    return E.left({ _tag: 'HeldBy', runId, holder })
  if (has('looks who holds a run before it is its turn to remove'))
    return disk.exclusively(runId, () => empty(instance, runId, run))
  return empty(instance, runId, run)
}

const empty = async (instance: Instance, runId: string, run: Run): Answer<void> => {
  const { disk, has, remembered } = instance
  const emptied: Run = { ...run, held: null, revisions: [] }
  const alike = (name: string): boolean =>
    (has('removes every run that begins alike') && name.startsWith(runId)) ||
    (has('takes ids for patterns') && new RegExp(`^${runId}$`).test(name))
  for (const name of disk.texts.keys()) if (alike(name)) disk.texts.set(name, textOf(emptied))
  if (has('brings removed runs back')) {
    remembered.set(runId, emptied)
    return E.right(undefined)
  }
  if (has('fails where two remove at once') && instance.busy)
    return E.left({ _tag: 'WriteFailed', where: runId, operation: 'unlink', code: 'ENOENT', cause: runId })
  instance.busy = true
  const written = await write(instance, runId, has('forgets the epochs of a removed run') ? EMPTY : emptied)
  instance.busy = false
  return written
}

/** Plays commands on a store and on the model, and compares the results. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Json } from '../../domain/data/Json.js'
import type { CheckpointStorage, Claim, Holder, Owner, StorageError } from '../../ports/CheckpointStorage.js'
import { assertSame, inWords } from '../conformance/difference.js'
import { asOwner, assertStored, AT, left, revisions, right, summary } from '../conformance/fixtures.js'
import type { InFlight } from '../conformance/calls.js'
import { otherProcess, storageFrom } from '../conformance/calls.js'
import { within } from '../conformance/Limit.js'
import type { StorageSpec } from '../conformance/Spec.js'
import type { Command } from './Command.js'
import { describe } from './Command.js'
import type { Granted, Model } from './Model.js'
import * as M from './Model.js'

/** A store under test, and the model that it is compared with. The model knows `instances` by their indices. */
interface Comparison<Data> {
  readonly spec: StorageSpec<Data>
  readonly data: Data
  readonly model: Model
  readonly instances: Array<{ readonly storage: CheckpointStorage; readonly kill?: () => Promise<void> }>
  readonly inFlight: InFlight
  /** Makes each revision carry a distinct payload. */
  serial: number
}

/** Rejects at the first difference between store and model, or at a timeout. `onCommand` gets the index of each command. */
export const play = async <Data>(
  spec: StorageSpec<Data>,
  commands: ReadonlyArray<Command>,
  limitMillis: number,
  onCommand: (index: number) => void
): Promise<void> => {
  const inFlight: InFlight = new Set()
  const inTime = <A>(what: string, work: () => Promise<A>): Promise<A> =>
    within(work, limitMillis, () => `${what}${described(inFlight)} ${lateness(limitMillis)}`)
  const data = await inTime('`create`', async () => spec.create())
  const comparison: Comparison<Data> = { spec, data, model: M.make(), instances: [], inFlight, serial: 0 }
  const cleanUp = async (): Promise<void> => {
    try {
      for (const { kill } of comparison.instances) await kill?.()
    } finally {
      await spec.destroy?.(data)
    }
  }
  const playAll = async (): Promise<void> => {
    await inTime('`reopen`', () => reopen(comparison))
    for (const [index, command] of commands.entries()) {
      onCommand(index)
      await inTime(describe(command), () => perform(comparison, command))
      assertOwnersAreLeftAlone(comparison.model)
    }
    await inTime('`reopen`', () => reopen(comparison))
    for (const runId of comparison.model.runs.keys())
      await inTime(`the load of ${runId} at the end`, () => load(comparison, runId, comparison.instances.length - 1))
  }
  const played = playAll()
  const isAlike = await played.then(
    () => true,
    () => false
  )
  const cleaned = inTime('`kill` or `destroy`', cleanUp)
  // Report the first failure.
  await (isAlike ? cleaned : cleaned.catch(() => undefined))
  return played
}

const described = (inFlight: InFlight): string =>
  inFlight.size === 0 ? '' : ` (in flight: ${Array.from(inFlight, ({ call }) => call).join(', ')})`

const lateness = (limitMillis: number): string => `did not end within ${limitMillis} ms`

/** Whether a timeout failed: shrinking such commands would take too long. */
export const isLate = (why: string, limitMillis: number): boolean => why.endsWith(lateness(limitMillis))

/** The lost signal of a current claim must not fire. */
const assertOwnersAreLeftAlone = (model: Model): void => {
  for (const granted of model.claims)
    if (M.standing(model, granted) === 'owner') assertNotLost(granted.claim, 'fired, although the claim is in force')
}

const assertNotLost = ({ runId, epoch, lost }: Claim, problem: string): void =>
  assert.equal(lost.aborted, false, `the lost signal of claim ${epoch} of ${runId} ${problem}`)

/** The n-th from the newest, modulo the number; undefined if there is none. */
const pick = (count: number, which: number): number => count - 1 - (which % count)

const liveOne = <Data>({ model }: Comparison<Data>, which: number): number => {
  const live = [...model.live]
  return live[pick(live.length, which)] as number
}

const perform = async <Data>(comparison: Comparison<Data>, command: Command): Promise<void> => {
  const any = (which: number): number => pick(comparison.instances.length, which)
  switch (command._tag) {
    case 'Claim':
      return claim(comparison, command.runId, liveOne(comparison, command.instance))
    case 'Save':
    case 'Release': {
      const { claims } = comparison.model
      if (claims.length === 0) return
      const granted = claims[pick(claims.length, command.claim)] as Granted
      return command._tag === 'Save'
        ? save(comparison, granted, command.count, command.skew)
        : release(comparison, granted)
    }
    case 'Race':
      return race(comparison)
    case 'Load':
      return load(comparison, command.runId, any(command.instance))
    case 'History':
      return history(comparison, command.runId, any(command.instance))
    case 'List':
      return list(comparison, any(command.instance))
    case 'Remove':
      return remove(comparison, command.runId, liveOne(comparison, command.instance), command.behind)
    case 'Reopen':
      return reopen(comparison)
    case 'Beside':
      return beside(comparison)
    case 'Kill':
      return kill(comparison, command.instance)
  }
}

const storageOf = <Data>({ instances }: Comparison<Data>, instance: number): CheckpointStorage =>
  (instances[instance] ?? assert.fail(`no instance ${instance}`)).storage

const reopen = async <Data>({ spec, data, model, instances, inFlight }: Comparison<Data>): Promise<void> => {
  for (const instance of model.live) await instances[instance]?.kill?.()
  model.live.clear()
  model.live.add(instances.push({ storage: storageFrom('reopen', await spec.reopen(data), inFlight) }) - 1)
}

/** At most three live processes at a time. */
const beside = async <Data>({ spec, data, model, instances, inFlight }: Comparison<Data>): Promise<void> => {
  if (model.live.size >= 3) return
  const other = await (spec.beside?.(data) ?? assert.fail('the spec has no `beside`'))
  model.live.add(instances.push(otherProcess(other, inFlight)) - 1)
}

const kill = async <Data>(comparison: Comparison<Data>, which: number): Promise<void> => {
  const instance = liveOne(comparison, which)
  const process = comparison.instances[instance]
  if (process?.kill === undefined) return
  await process.kill()
  comparison.model.live.delete(instance)
}

/** Returns whether calls of this instance return: those of a killed process do not. */
const answers = <Data>({ instances, model }: Comparison<Data>, instance: number): boolean =>
  instances[instance]?.kill === undefined || model.live.has(instance)

const ownerOf = (instance: number): Owner => ({ host: 'build-1', pid: instance + 1 })

const claim = async <Data>(comparison: Comparison<Data>, runId: string, instance: number): Promise<void> => {
  const { model } = comparison
  const task = storageOf(comparison, instance).claim(runId, ownerOf(instance))
  const held = M.heldBy(model, runId)
  if (held !== undefined) {
    const { holder } = await left(task, 'HeldBy')
    return assertSame(asOwner(holder), ownerOf(held.instance), `the holder of ${runId}`)
  }
  const { claim: granted, stored } = await right(task)
  const { payloads, highestEpoch } = M.runOf(model, runId)
  assert.ok(granted.epoch > highestEpoch, `a claim of ${runId} has epoch ${granted.epoch} after ${highestEpoch}`)
  assertStored(stored, payloads, `the stored state of ${runId}`)
  if (O.isSome(stored)) assertSame(stored.value.heldBy, O.none, `the holder of ${runId} that its new owner gets`)
  M.grant(model, granted, instance)
}

const release = async <Data>(comparison: Comparison<Data>, granted: Granted): Promise<void> => {
  if (!answers(comparison, granted.instance)) return
  const task = storageOf(comparison, granted.instance).release(granted.claim)
  // A superseded owner may get its lost signal here.
  if (M.standing(comparison.model, granted) === 'owner') {
    await right(task)
    assertNotLost(granted.claim, 'fired at its release')
  } else await task()
  M.release(comparison.model, granted)
}

const save = async <Data>(
  comparison: Comparison<Data>,
  granted: Granted,
  count: number,
  skew: number
): Promise<void> => {
  if (!answers(comparison, granted.instance)) return
  const { payloads } = M.runOf(comparison.model, granted.claim.runId)
  const first = Math.max(0, payloads.length + skew)
  const before = Array.from({ length: first }, (_, n) => payloads[n] ?? 'never saved')
  const all: ReadonlyArray<Json> = [...before, ...Array.from({ length: count }, () => `value ${comparison.serial++}`)]
  const result = await storageOf(comparison, granted.instance).save(granted.claim, revisions(all, count))()
  judge(comparison, granted, result, all, first)
}

/** Checks that a result is allowed, and updates the model. */
const judge = <Data>(
  { model }: Comparison<Data>,
  granted: Granted,
  result: E.Either<StorageError, void>,
  all: ReadonlyArray<Json>,
  first: number
): void => {
  const { runId, epoch, lost } = granted.claim
  const standing = M.standing(model, granted)
  const run = M.runOf(model, runId)
  const expected = run.payloads.length
  if (E.isRight(result)) {
    assert.notEqual(standing, 'over', `a save of claim ${epoch} was accepted, although that claim is over`)
    assert.equal(first, expected, `a save was accepted that begins at revision ${first}`)
    run.payloads = all
    return
  }
  if (result.left._tag === 'Fenced') {
    assert.notEqual(standing, 'owner', `a save was refused as Fenced, although its claim ${epoch} is in force`)
    // The lost signal of a released claim need not fire.
    assert.ok(
      lost.aborted || granted.isReleased,
      `the owner of claim ${epoch} was refused, and its lost signal did not fire`
    )
    return M.end(model, granted)
  }
  if (result.left._tag !== 'RevisionConflict') assert.fail(`a save failed: ${inWords(result.left)}`)
  assert.notEqual(
    standing,
    'over',
    `a save was refused with RevisionConflict instead of Fenced, although its claim ${epoch} is over`
  )
  assert.notEqual(first, expected, `a save was refused with RevisionConflict, although revision ${first} is due`)
  assert.deepEqual({ expected: result.left.expected, found: result.left.found }, { expected, found: first })
}

/** The newest claims of each run save its next revision concurrently, each twice; at most one may succeed. */
const race = async <Data>(comparison: Comparison<Data>): Promise<void> => {
  const rivals = [...comparison.model.runs.keys()].flatMap((runId) =>
    comparison.model.claims.filter((one) => one.claim.runId === runId && answers(comparison, one.instance)).slice(-2)
  )
  const saves = [...rivals, ...rivals].map((granted) => {
    const { payloads } = M.runOf(comparison.model, granted.claim.runId)
    const all: ReadonlyArray<Json> = [...payloads, `value ${comparison.serial++}`]
    const task = storageOf(comparison, granted.instance).save(granted.claim, revisions(all))
    return { granted, all, first: payloads.length, task }
  })
  const ended = await Promise.all(saves.map(async ({ task, ...save }) => ({ ...save, result: await task() })))
  const inOrder = [
    ...ended.filter(({ result }) => E.isRight(result)),
    ...ended.filter(({ result }) => E.isLeft(result))
  ]
  for (const { granted, result, all, first } of inOrder) judge(comparison, granted, result, all, first)
}

const load = async <Data>(comparison: Comparison<Data>, runId: string, instance: number): Promise<void> => {
  if (!answers(comparison, instance)) return
  const stored = await right(storageOf(comparison, instance).load(runId))
  const { payloads } = M.runOf(comparison.model, runId)
  assertStored(stored, payloads, `the stored state of ${runId}`)
  if (O.isSome(stored)) assertHeld(comparison, runId, instance, stored.value.heldBy)
}

/** Only a live process can detect dead owners. */
const assertHeld = <Data>(
  comparison: Comparison<Data>,
  runId: string,
  instance: number,
  heldBy: O.Option<Holder>
): void => {
  if (!comparison.model.live.has(instance)) return
  const held = M.heldBy(comparison.model, runId)
  assertSame(O.isSome(heldBy), held !== undefined, `whether ${runId} has a holder`)
  if (O.isSome(heldBy) && held !== undefined)
    assertSame(heldBy.value.pid, ownerOf(held.instance).pid, `the pid of the holder of ${runId}`)
}

const history = async <Data>(comparison: Comparison<Data>, runId: string, instance: number): Promise<void> => {
  if (!answers(comparison, instance)) return
  const storage = storageOf(comparison, instance)
  const { payloads } = M.runOf(comparison.model, runId)
  const entries = await right(storage.history(runId))
  const newest = payloads.length - 1
  assertSame(entries.length > 0, payloads.length > 0, `whether ${runId} has a history`)
  if (payloads.length > 0) assertSame(entries[0]?.revision, newest, `the newest revision of the history of ${runId}`)
  // A store with one checkpoint for each save lacks the revisions in between.
  const kept = [...new Set(entries.map(({ revision }) => revision))].sort((a, b) => b - a)
  const expected = kept.map((revision) => ({ revision, change: 'UnitCompleted', at: AT }))
  assertSame(entries, expected, `the history of ${runId}`)
  const assertRevision = async (revision: number, held: ReadonlyArray<Json>): Promise<void> =>
    assertStored(await right(storage.loadRevision(runId, revision)), held, `revision ${revision} of ${runId}`)
  const oldest = entries.at(-1)?.revision
  if (oldest !== undefined) await assertRevision(oldest, payloads.slice(0, oldest + 1))
  await assertRevision(newest + 1, [])
}

const list = async <Data>(comparison: Comparison<Data>, instance: number): Promise<void> => {
  if (!answers(comparison, instance)) return
  const runs = new Map((await right(storageOf(comparison, instance).list())).map((one) => [one.runId, one.summary]))
  assert.deepEqual([...runs.keys()], [...runs.keys()].sort(), 'the listing, in order')
  for (const [runId, { payloads, known }] of comparison.model.runs) {
    if (payloads.length > 0) assert.ok(runs.has(runId), `${runId} is not listed`)
    else if (!known) assert.ok(!runs.has(runId), `${runId} is listed, but the store has nothing of it`)
    const found = runs.get(runId)
    if (found === undefined) continue
    const { heldBy, ...facts } = found
    assertSame(facts, summary(payloads), `the summary of ${runId}`)
    assertHeld(comparison, runId, instance, heldBy)
  }
}

const remove = async <Data>(
  comparison: Comparison<Data>,
  runId: string,
  instance: number,
  behind: number | undefined
): Promise<void> => {
  const { length } = M.runOf(comparison.model, runId).payloads
  const newest = behind === undefined ? {} : { newest: { revision: length - 1 - behind, at: AT } }
  const task = storageOf(comparison, instance).remove(runId, newest)
  if (M.heldBy(comparison.model, runId) !== undefined) return void (await left(task, 'HeldBy'))
  if (behind !== undefined && behind > 0 && length > 0) return void (await left(task, 'RunChanged'))
  await right(task)
  M.remove(comparison.model, runId)
}

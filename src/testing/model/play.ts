/** Plays commands on a store and on the model, and compares the results. */
import { strict as assert } from 'node:assert'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Json } from '../../domain/data/Json.js'
import type { Claim, Holder, StorageError } from '../../ports/CheckpointStorage.js'
import { toolOf } from '../conformance/Case.js'
import { otherProcess, storageFrom } from '../conformance/checkedStore.js'
import { assertSame, inWords } from '../conformance/difference.js'
import { asOwner, assertStored, AT, left, revisions, right, summary } from '../conformance/fixtures.js'
import type { Trial } from '../conformance/Trial.js'
import { callsIn, inPlace, within } from '../conformance/Trial.js'
import type { StorageSpec } from '../conformance/Spec.js'
import { byTag } from '../byTag.js'
import type { Command } from './Command.js'
import { describe } from './Command.js'
import type { Granted, Instance, Model } from './Model.js'
import * as M from './Model.js'

/** Rejects at the first difference between store and model, or at a timeout. `onCommand` gets the index of each command. */
export const play = <Data>(
  spec: StorageSpec<Data>,
  commands: ReadonlyArray<Command>,
  limitMillis: number,
  onCommand: (index: number) => void
): Promise<void> => {
  const inTime = <A>(what: string, { inFlight }: Trial, work: () => Promise<A>): Promise<A> =>
    within(work, limitMillis, (late) => `${what}${callsIn(inFlight, (calls) => ` (in flight: ${calls})`)} ${late}`)
  const playAll = async (data: Data, trial: Trial): Promise<void> => {
    const comparison = comparisonOf(spec, data, trial)
    const { model } = comparison
    await inTime('`reopen`', trial, () => reopen(comparison))
    for (const [index, command] of commands.entries()) {
      onCommand(index)
      await inTime(describe(command), trial, () => perform(comparison, command))
      assertCurrentClaimsNotLost(model)
    }
    await inTime('`reopen`', trial, () => reopen(comparison))
    for (const runId of model.runs.keys())
      await inTime(`the load of ${runId} at the end`, trial, () => load(model, runId, pick(model.instances, 0)))
  }
  return inPlace(spec, limitMillis, playAll, (cleanUp, trial) => inTime('`kill` or `destroy`', trial, cleanUp))
}

type Comparison = ReturnType<typeof comparisonOf>

/** A store under test, and the model that it is compared with. Each function opens an instance in a new process. */
const comparisonOf = <Data>(spec: StorageSpec<Data>, data: Data, { ends, inFlight }: Trial) => {
  const model = M.make()
  return {
    model,
    open: async (): Promise<void> =>
      M.open(model, { storage: storageFrom('reopen', await spec.reopen(data), inFlight) }),
    openBeside: async (): Promise<void> => {
      const other = otherProcess(await toolOf(spec, 'beside')(data), inFlight)
      ends.push(other.kill)
      M.open(model, other)
    }
  }
}

const assertCurrentClaimsNotLost = (model: Model): void => {
  for (const granted of model.claims)
    if (M.standing(model, granted) === 'owner') assertNotLost(granted.claim, 'fired, although the claim is in force')
}

const assertNotLost = ({ runId, epoch, lost }: Claim, problem: string): void =>
  assert.equal(lost.aborted, false, `the \`lost\` signal of the claim with epoch ${epoch} of ${runId} ${problem}`)

/** The n-th from the newest, modulo the number. */
const pick = <A>(all: ReadonlyArray<A>, which: number): A => all[all.length - 1 - (which % all.length)] as A

const perform = async (comparison: Comparison, command: Command): Promise<void> => {
  const { model } = comparison
  const { claims, instances, live } = model
  const alive = (which: number): Instance => pick([...live], which)
  /** Acts with a claim, or through an instance, unless its process was killed. */
  const withClaim = async (which: number, act: (granted: Granted) => Promise<void>): Promise<void> => {
    if (claims.length > 0 && M.isAnswering(model, pick(claims, which).instance)) await act(pick(claims, which))
  }
  const through = async (which: number, act: (instance: Instance) => Promise<void>): Promise<void> => {
    if (M.isAnswering(model, pick(instances, which))) await act(pick(instances, which))
  }
  await byTag<Command, Promise<void> | undefined>(command, {
    Claim: ({ runId, instance }) => claim(model, runId, alive(instance)),
    Save: ({ claim: which, count, skew }) => withClaim(which, (granted) => save(model, granted, count, skew)),
    Release: ({ claim: which }) => withClaim(which, (granted) => release(model, granted)),
    Race: () => race(model),
    Load: ({ runId, instance }) => through(instance, (one) => load(model, runId, one)),
    History: ({ runId, instance }) => through(instance, (one) => history(model, runId, one)),
    List: ({ instance }) => through(instance, (one) => list(model, one)),
    Remove: ({ runId, instance, behind }) => remove(model, runId, alive(instance), behind),
    Reopen: () => reopen(comparison),
    // At most three live processes at a time.
    Beside: () => (live.size < 3 ? comparison.openBeside() : undefined),
    Kill: ({ instance }) => kill(model, alive(instance))
  })
}

const reopen = async ({ model, open }: Comparison): Promise<void> => {
  for (const instance of model.live) await kill(model, instance)
  model.live.clear()
  await open()
}

const kill = async ({ live }: Model, instance: Instance): Promise<void> => {
  if (instance.kill === undefined) return
  await instance.kill()
  live.delete(instance)
}

const claim = async (model: Model, runId: string, instance: Instance): Promise<void> => {
  const task = instance.storage.claim(runId, instance.owner)
  const held = M.heldBy(model, runId)
  if (held !== undefined) {
    const { holder } = await left(task, 'HeldBy')
    return assertSame(asOwner(holder), held, `the holder of ${runId}`)
  }
  const { claim: granted, stored } = await right(task)
  const { payloads, highestEpoch } = M.runOf(model, runId)
  assert.ok(granted.epoch > highestEpoch, `a claim of ${runId} has epoch ${granted.epoch} after ${highestEpoch}`)
  assertStored(stored, payloads, `the stored state of ${runId}`)
  if (O.isSome(stored)) assertSame(stored.value.heldBy, O.none, `the holder of ${runId} that its new owner gets`)
  M.grant(model, granted, instance)
}

const release = async (model: Model, granted: Granted): Promise<void> => {
  const task = granted.instance.storage.release(granted.claim)
  // A superseded owner may get its `lost` signal here.
  if (M.standing(model, granted) === 'owner') {
    await right(task)
    assertNotLost(granted.claim, 'fired at its release')
  } else await task()
  granted.isReleased = true
  M.end(model, granted)
}

const save = async (model: Model, granted: Granted, count: number, skew: number): Promise<void> => {
  const { payloads } = M.runOf(model, granted.claim.runId)
  const first = Math.max(0, payloads.length + skew)
  const before = Array.from({ length: first }, (_, n) => payloads[n] ?? 'never saved')
  const all: ReadonlyArray<Json> = [...before, ...Array.from({ length: count }, () => M.nextPayload(model))]
  const result = await granted.instance.storage.save(granted.claim, revisions(all, count))()
  judge(model, { granted, result, all, first })
}

/** A save that has ended. `first`: its first revision; `all`: the payloads of the run if it was accepted. */
interface EndedSave {
  readonly granted: Granted
  readonly result: E.Either<StorageError, void>
  readonly all: ReadonlyArray<Json>
  readonly first: number
}

/** Checks that the result of a save is allowed, and updates the model. */
const judge = (model: Model, { granted, result, all, first }: EndedSave): void => {
  const { runId, epoch, lost } = granted.claim
  const standing = M.standing(model, granted)
  const run = M.runOf(model, runId)
  const expected = run.payloads.length
  if (E.isRight(result)) {
    assert.notEqual(
      standing,
      'over',
      `a save of the claim with epoch ${epoch} was accepted, although that claim is over`
    )
    assert.equal(
      first,
      expected,
      `a save was accepted that begins at revision ${first}, although revision ${expected} is due`
    )
    run.payloads = all
    return
  }
  if (result.left._tag === 'Fenced') {
    assert.notEqual(standing, 'owner', `a save was refused as Fenced, although its claim (epoch ${epoch}) is in force`)
    // The `lost` signal of a released claim need not fire.
    assert.ok(
      lost.aborted || granted.isReleased,
      `the owner with epoch ${epoch} was refused, and its \`lost\` signal did not fire`
    )
    return M.end(model, granted)
  }
  if (result.left._tag !== 'RevisionConflict') assert.fail(`a save failed: ${inWords(result.left)}`)
  assert.notEqual(
    standing,
    'over',
    `a save was refused with RevisionConflict instead of Fenced, although its claim (epoch ${epoch}) is over`
  )
  assert.notEqual(first, expected, `a save was refused with RevisionConflict, although revision ${first} is due`)
  assert.deepEqual({ expected: result.left.expected, found: result.left.found }, { expected, found: first })
}

/** The two newest claims of each run save its next revision concurrently, each twice; at most one save may succeed. */
const race = async (model: Model): Promise<void> => {
  const rivals = [...model.runs.keys()].flatMap((runId) =>
    model.claims.filter((one) => one.claim.runId === runId && M.isAnswering(model, one.instance)).slice(-2)
  )
  const saves = [...rivals, ...rivals].map((granted) => {
    const { payloads } = M.runOf(model, granted.claim.runId)
    const all: ReadonlyArray<Json> = [...payloads, M.nextPayload(model)]
    const task = granted.instance.storage.save(granted.claim, revisions(all))
    return { granted, all, first: payloads.length, task }
  })
  const ended = await Promise.all(saves.map(async ({ task, ...save }) => ({ ...save, result: await task() })))
  const inOrder = [
    ...ended.filter(({ result }) => E.isRight(result)),
    ...ended.filter(({ result }) => E.isLeft(result))
  ]
  for (const save of inOrder) judge(model, save)
}

const load = async (model: Model, runId: string, instance: Instance): Promise<void> => {
  const stored = await right(instance.storage.load(runId))
  const { payloads } = M.runOf(model, runId)
  assertStored(stored, payloads, `the stored state of ${runId}`)
  if (O.isSome(stored)) assertHeld(model, runId, instance, stored.value.heldBy)
}

/** Only a live process can detect dead owners. */
const assertHeld = (model: Model, runId: string, instance: Instance, heldBy: O.Option<Holder>): void => {
  if (!model.live.has(instance)) return
  const held = M.heldBy(model, runId)
  assertSame(O.isSome(heldBy), held !== undefined, `whether ${runId} has a holder`)
  if (O.isSome(heldBy) && held !== undefined)
    assertSame(heldBy.value.pid, held.pid, `the pid of the holder of ${runId}`)
}

const history = async (model: Model, runId: string, instance: Instance): Promise<void> => {
  const { storage } = instance
  const { payloads } = M.runOf(model, runId)
  const entries = await right(storage.history(runId))
  const newest = payloads.length - 1
  assertSame(entries.length > 0, payloads.length > 0, `whether ${runId} has a history`)
  if (payloads.length > 0) assertSame(entries[0]?.revision, newest, `the newest revision of the history of ${runId}`)
  // A store with one checkpoint for each save lacks the revisions in between.
  const kept = [...new Set(entries.map(({ revision }) => revision))].sort((a, b) => b - a)
  const expected = kept.map((revision) => ({ revision, change: 'UnitCompleted', at: AT }))
  assertSame(entries, expected, `the history of ${runId}`)
  const assertRevision = async (revision: number, expected: ReadonlyArray<Json>): Promise<void> =>
    assertStored(await right(storage.loadRevision(runId, revision)), expected, `revision ${revision} of ${runId}`)
  const oldest = entries.at(-1)?.revision
  if (oldest !== undefined) await assertRevision(oldest, payloads.slice(0, oldest + 1))
  await assertRevision(newest + 1, [])
}

const list = async (model: Model, instance: Instance): Promise<void> => {
  const runs = new Map((await right(instance.storage.list())).map((one) => [one.runId, one.summary]))
  assertSame([...runs.keys()], [...runs.keys()].sort(), 'the listing')
  for (const [runId, { payloads, mayBeListed }] of model.runs) {
    if (payloads.length > 0) assert.ok(runs.has(runId), `${runId} is not listed`)
    else if (!mayBeListed) assert.ok(!runs.has(runId), `${runId} is listed, but the store has nothing of it`)
    const found = runs.get(runId)
    if (found === undefined) continue
    const { heldBy, ...facts } = found
    assertSame(facts, summary(payloads), `the summary of ${runId}`)
    assertHeld(model, runId, instance, heldBy)
  }
}

const remove = async (model: Model, runId: string, instance: Instance, behind: number | undefined): Promise<void> => {
  const { length } = M.runOf(model, runId).payloads
  const newest = behind === undefined ? {} : { newest: { revision: length - 1 - behind, at: AT } }
  const task = instance.storage.remove(runId, newest)
  if (M.heldBy(model, runId) !== undefined) return void (await left(task, 'HeldBy'))
  if (behind !== undefined && behind > 0 && length > 0) return void (await left(task, 'RunChanged'))
  await right(task)
  M.remove(model, runId)
}

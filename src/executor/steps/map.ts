/** Runs a map: a wave with one group for each item. */
import * as E from 'fp-ts/lib/Either.js'
import { decideItems } from '../../domain/plan/decide.js'
import type { Item } from '../../domain/checkpoint/Items.js'
import { check, describeProblem } from '../../domain/checkpoint/Items.js'
import * as Redaction from '../../domain/data/Redaction.js'
import * as StepError from '../../domain/data/StepError.js'
import type { StepFailure } from '../../domain/data/StepFailure.js'
import * as Failure from '../../domain/data/StepFailure.js'
import { atPath } from '../../domain/data/Malformed.js'
import { noAttempt } from './Attempt.js'
import { failComposite } from './compositeChecks.js'
import type { ProgramGroup, ProgramMap, ProgramStep, ProgramWave } from '../program/Program.js'
import type { Ending, StepToRun, RunScope, RunStep } from '../RunScope.js'
import { timestamp } from '../RunScope.js'
import { contextFor } from './context.js'
import type { Place } from '../Values.js'
import { runWave } from './wave.js'

/** Runs a map over its recorded items, or computes and records them first: they are durable before the first group starts. */
export const runMap = async (
  scope: RunScope,
  { place, step: map, node, stopping }: StepToRun<ProgramMap>,
  run: RunStep
): Promise<Ending> => {
  const startedAt = scope.environment.clock.now()
  const recorded = scope.recorder.checkpoint().items.get(place.unit)
  const items = recorded === undefined ? itemsOf(scope, place, map) : accepted(map, recorded)
  if (E.isLeft(items)) return await failComposite(scope, place, items.left, startedAt)
  const step = asWave(map, items.right)
  if (recorded !== undefined) return await runWave(scope, { place, step, node, stopping }, run)
  const at = timestamp(scope.environment.clock.now())
  scope.recorder.stage([{ _tag: 'Expanded', at, unit: place.unit, items: items.right }])
  const parts = decideItems(node.decision, map, items.right)
  return await runWave(scope, { place, step, node: { decision: node.decision, parts }, stopping }, run)
}

const asWave = (
  { each, name, summary, fingerprint, ownFingerprint, concurrency, onFailure, problems, checks }: ProgramMap,
  items: ReadonlyArray<Item>
): ProgramWave => ({
  _tag: 'Wave',
  name,
  summary,
  fingerprint,
  ownFingerprint,
  groups: items.map(({ key }) => named(each, key)),
  concurrency,
  onFailure,
  problems,
  checks
})

/** Returns the body of a map under the key of an item. It inherits all other fields to save memory, so it must not be spread. */
const named = (each: ProgramStep, key: string): ProgramGroup =>
  Object.create(each, { name: { value: key, enumerable: true }, needs: NO_NEEDS }) as ProgramGroup

const NO_NEEDS: PropertyDescriptor = { value: [], enumerable: true }

/** Computes the items. If they are invalid, the map fails permanently, with nothing applied. */
const itemsOf = (scope: RunScope, place: Place, map: ProgramMap): E.Either<StepFailure, ReadonlyArray<Item>> => {
  const context = contextFor(scope, place, noAttempt(scope.stopping))
  const { runId, unit, input, outputs, variables } = context
  const source = { runId, unit, input, outputs, variables, ...('item' in context ? { item: context.item } : {}) }
  const values = map.forEach(source)
  if (E.isLeft(values)) return E.left(notApplied(Failure.fromUnknown(values.left)))
  if (isPromise(values.right))
    return notItems('`forEach` must return an array, not a promise; await it in an earlier step')
  if (!Array.isArray(values.right))
    return notItems(`\`forEach\` must return an array; it returned a value of type ${typeof values.right}`)
  const items: Array<Item> = []
  for (const [index, value] of values.right.entries()) {
    const item = itemFrom(scope, map, value, index)
    if (E.isLeft(item)) return item
    items.push(item.right)
  }
  const fits = check(items)
  return E.isLeft(fits) ? notItems(describeProblem(fits.left)) : E.right(items)
}

/** Detects a promise and swallows its rejection, so that it cannot crash the process. */
const isPromise = (given: unknown): boolean => {
  const isThenable = typeof given === 'object' && given !== null && 'then' in given && typeof given.then === 'function'
  if (isThenable) void Promise.resolve(given).catch(() => undefined)
  return isThenable
}

const notApplied = (failure: StepFailure): StepFailure => ({ ...failure, outcome: 'notApplied' })

/** Items are redacted before `key` is called, so `key` sees them as later steps do. */
const itemFrom = (
  { environment: { vault } }: RunScope,
  map: ProgramMap,
  value: unknown,
  index: number
): E.Either<StepFailure, Item> => {
  const { redaction } = vault
  const encoded = map.items.encode(value)
  if (E.isLeft(encoded))
    return notItems(`item ${index + 1}${atPath(encoded.left.path)} must be ${encoded.left.expected}`)
  const stored = Redaction.json(redaction, encoded.right ?? null)
  const item = map.items.decode(stored)
  if (E.isLeft(item)) return misfit(String(index + 1), item.left)
  const key = map.key(item.right, index)
  if (E.isLeft(key)) return E.left(notApplied(Failure.fromUnknown(key.left)))
  if (typeof key.right === 'string' && Redaction.isIn(redaction, key.right)) return notItems(keyHasSecret(index))
  const kind = isPromise(key.right) ? 'promise' : typeof key.right
  return kind === 'string'
    ? E.right({ key: key.right, value: stored })
    : notItems(`\`key\` must return a string; it returned a ${kind} for item ${index + 1}`)
}

const keyHasSecret = (index: number): string =>
  `the key of item ${index + 1} contains the value of a secret, but keys are recorded and reported`

/** Returns the recorded items, if an edited map still accepts them. */
const accepted = (map: ProgramMap, items: ReadonlyArray<Item>): E.Either<StepFailure, ReadonlyArray<Item>> => {
  for (const { key, value } of items) {
    const item = map.items.decode(value)
    if (E.isLeft(item)) return misfit(`"${key}"`, item.left, '; restart the map to compute its items again')
  }
  return E.right(items)
}

const misfit = (
  item: string,
  { path, expected }: { readonly path: string; readonly expected: string },
  more = ''
): E.Either<StepFailure, never> => notItems(`item ${item}${atPath(path)} must be ${expected}${more}`)

const notItems = (message: string): E.Either<StepFailure, never> =>
  E.left(Failure.permanent(StepError.make('NotItems', message, { code: 'NOT_ITEMS' }), 'notApplied'))

/** The context of an attempt: what the code of a step sees. */
import * as E from 'fp-ts/lib/Either.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import * as IdempotencyKey from '../../domain/checkpoint/IdempotencyKey.js'
import * as Items from '../../domain/checkpoint/Items.js'
import { find } from '../../domain/checkpoint/Tree.js'
import { get } from '../../domain/checkpoint/Units.js'
import type { Json } from '../../domain/data/Json.js'
import * as StepError from '../../domain/data/StepError.js'
import type { ProgramStep, StepContext } from '../program/Program.js'
import type { RunScope } from '../RunScope.js'
import { rejected } from '../subSteps/subStepFailures.js'
import type { Place } from '../Values.js'
import { outputsFor, variablesFor } from '../Values.js'
import { artifactsFor } from '../workspace/artifacts.js'
import type { Attempt } from './Attempt.js'
import { signalOf } from './Attempt.js'

/** Makes the context of an attempt. `own`: its own folder; `lazy`: makes `step`, `sleep` and `waitFor`. */
export const contextFor = <Lazy extends LazyCalls<Lazy> = never>(
  scope: RunScope,
  place: Place,
  attempt: Attempt,
  { own, lazy }: { readonly own?: string | undefined; readonly lazy?: Lazy } = {}
): StepContext<unknown, unknown> => {
  const checkpoint = scope.recorder.checkpoint()
  const { runId, items, workspace } = checkpoint
  const folder = own ?? workspace?.path
  const { unit } = place
  const secrets = scope.environment.vault.values
  // Assigned one by one: spreads of optional fields would take most of the time.
  const context: { [key: string]: unknown } = { runId, unit, attempt: attempt.number, secrets }
  if (workspace !== undefined) context['workspace'] = workspace
  if (folder !== undefined) context['folder'] = folder
  const around = Items.itemAround(items, unit)
  const source: Source = { scope, place, attempt, checkpoint, around, lazy: lazy as Source['lazy'], cached: undefined }
  Object.defineProperty(context, SOURCE, { value: source })
  Object.defineProperties(context, DERIVED)
  if (around !== undefined) Object.defineProperties(context, ITEM)
  return context as unknown as StepContext<unknown, unknown>
}

/** `around`: the item of a map that the unit belongs to. */
interface Source {
  readonly scope: RunScope
  readonly place: Place
  readonly attempt: Attempt
  readonly checkpoint: Checkpoint
  readonly around: ReturnType<typeof Items.itemAround>
  readonly lazy: LazyCalls<unknown> | undefined
  cached: Record<string, unknown> | undefined
}

const SOURCE = Symbol('source')

const cached = <A>(source: Source, name: string, make: (source: Source) => A): A => {
  const all = (source.cached ??= {})
  if (!(name in all)) all[name] = make(source)
  return all[name] as A
}

/**
 * Getters of fields that are computed on first read, as copies of stored values, so that a resumed run reads the same. All contexts share
 * them, because closures for each attempt would take more time than the rest of the attempt.
 */
const derived = (fields: Readonly<Record<string, (source: Source) => unknown>>): PropertyDescriptorMap =>
  Object.fromEntries(
    Object.entries(fields).map(([name, make]) => {
      const get = function (this: { readonly [SOURCE]: Source }): unknown {
        return cached(this[SOURCE], name, make)
      }
      return [name, { enumerable: true, configurable: true, get }]
    })
  )

const callsOf = (source: Source): Calls => cached(source, 'calls', ({ lazy }) => lazy?.callsOf(lazy) ?? NO_CALLS)

const DERIVED = derived({
  step: (source) => callsOf(source).step,
  sleep: (source) => callsOf(source).sleep,
  waitFor: (source) => callsOf(source).waitFor,
  idempotencyKey: ({ checkpoint, place: { unit } }) => {
    const submitted = get(checkpoint.submissions, unit) ?? get(checkpoint.pending, unit)
    const key = submitted !== undefined && 'key' in submitted ? submitted.key : undefined
    return key ?? IdempotencyKey.of(checkpoint, unit)
  },
  input: ({ scope, checkpoint: { input } }) => orStored(scope.program.decodeInput(structuredClone(input)), input),
  outputs: ({ scope: { program, values }, checkpoint: { items }, place }) =>
    outputsFor(program, { values, items }, place),
  variables: ({ scope: { program, values }, checkpoint: { items, input }, place }) =>
    variablesFor(program, { values, items }, place, input),
  signal: ({ attempt }) => signalOf(attempt),
  artifacts: ({ scope, place, attempt }) => artifactsFor({ scope, place, attempt })
})

/** The map has checked that its items decode. */
const ITEM = derived({
  item: ({ scope: { program }, checkpoint: { items }, place: { stepIndex }, around }) => {
    if (around === undefined) return undefined
    const { value } = around.item
    const map = find<ProgramStep>(program, items, around.map, stepIndex)?.definition
    return map?._tag === 'Map' ? orStored(map.items.decode(value), value) : value
  },
  itemKey: ({ around }) => around?.item.key
})

export type Calls = Pick<StepContext<unknown>, 'step' | 'sleep' | 'waitFor'>

/** Makes the calls of an attempt when its code first reads one. */
export interface LazyCalls<Self> {
  readonly callsOf: (self: Self) => Calls
}

const onlyInRun = (): Promise<never> => rejected(Object.assign(new Error(ONLY_IN_RUN.message), ONLY_IN_RUN))

/** Only attempts of tasks have sub-steps: checks of composites, `poll` and `collect` do not. */
export const NO_CALLS: Calls = { step: onlyInRun, sleep: onlyInRun, waitFor: onlyInRun }

const ONLY_IN_RUN = StepError.make(
  'SubStepNotAllowed',
  'sub-steps run only in an attempt of a task: not in the checks of a sequence, wave or map, and not in poll and collect',
  {
    code: 'SUB_STEP_NOT_ALLOWED'
  }
)

/** The planner has checked that recorded values decode. */
const orStored = (decoded: E.Either<unknown, unknown>, stored: Json): unknown =>
  E.isRight(decoded) ? decoded.right : stored

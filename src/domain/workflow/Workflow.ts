/**
 * A workflow as data that the planner reads. A Program adds the code to run.
 *
 * @module
 */
import * as E from 'fp-ts/lib/Either.js'
import { fingerprint } from '../data/Digest.js'
import type { Json, JsonObject } from '../data/Json.js'
import { fromUnknown } from '../data/Json.js'
import { atPath } from '../data/Malformed.js'
import { listedParts } from './Node.js'
import { join } from './Unit.js'

// --- model

/** What a wait waits for: a time, or an answer. */
export type WaitKind = 'Timer' | 'Answer'

/** Why a recorded output no longer fits its step: `path` into the output (`$.files[0]`), and what was expected there. */
export interface OutputMismatch {
  readonly path: string
  readonly expected: string
}

/**
 * A step that does work.
 *
 * - `fingerprint` identifies the definition that ran; `name` and `summary` are not covered by it.
 * - `idempotent: false`: running it twice may do harm. If it may have taken effect, a plan asks before it runs again.
 * - `captures`: the variables that its output is stored in.
 * - `numbered`: its name is its position, so an edit may give that name to another task.
 * - `wait`: it runs no code, and waits for a timer or an answer.
 */
export interface Task {
  readonly _tag: 'Task'
  readonly name: string
  readonly summary: string
  readonly fingerprint: string
  readonly idempotent: boolean
  readonly captures: ReadonlyArray<string>
  readonly numbered: boolean
  readonly wait?: WaitKind | undefined
  /** Checks whether a recorded output (`undefined`: none) still fits. */
  readonly accepts: (output: Json | undefined) => E.Either<OutputMismatch, void>
  /**
   * Returns the paths of its artifacts that are known before it runs. While it is in flight or failed, changes at these paths are attributed
   * to it.
   */
  readonly artifactPaths?: ((known: KnownValues) => ReadonlyArray<string>) | undefined
}

/** The values known before a task runs: the run's variables, and inside a map the item. */
export interface KnownValues {
  readonly variables: ReadonlyMap<string, Json>
  readonly item?: Json
}

/** A step with parts. `fingerprint` covers them and their names; `ownFingerprint` covers only its own settings. */
interface Composite {
  readonly name: string
  readonly summary: string
  readonly fingerprint: string
  readonly ownFingerprint: string
}

/** Steps that run in order: a workflow inside a workflow. */
export interface Sequence extends Composite {
  readonly _tag: 'Sequence'
  readonly steps: ReadonlyArray<Step>
}

/** A step of a wave. It starts when the groups it needs have completed. */
export type Group = Step & Needing

/** The names of the groups of the same wave that a group needs. */
export interface Needing {
  readonly needs: ReadonlyArray<string>
}

/** A step whose groups run in parallel. */
export interface Wave extends Composite {
  readonly _tag: 'Wave'
  readonly groups: ReadonlyArray<Group>
}

/** A step that runs `each` for each item of data, in parallel. The items are computed when it is due, and recorded. */
export interface MapStep extends Composite {
  readonly _tag: 'Map'
  readonly each: Step
}

/**
 * A task, or a composite of steps.
 *
 * @category model
 */
export type Step = Task | Sequence | Wave | MapStep

/**
 * A named list of steps that run in order. `path`: the file that it was read from, if any. `secrets`: the names of the secrets that the
 * steps receive; a checkpoint records the names, never the values.
 */
export interface Workflow {
  readonly name: string
  readonly path?: string | undefined
  readonly steps: ReadonlyArray<Step>
  readonly secrets?: ReadonlyArray<string>
}

// --- constructors

/** The fields of a {@link Task}. `definition`: what its fingerprint covers beside `idempotent` and `captures`; default: `wait`. */
export interface TaskOptions {
  readonly summary?: string
  readonly definition?: Json
  readonly idempotent?: boolean
  readonly captures?: ReadonlyArray<string>
  readonly numbered?: boolean
  readonly wait?: WaitKind
  /** Checks whether a recorded output (`undefined`: none) still fits. */
  readonly accepts?: Task['accepts']
  /** Returns the paths of its artifacts that are known before it runs. */
  readonly artifactPaths?: (known: KnownValues) => ReadonlyArray<string>
}

const ACCEPTED = E.right(undefined)

const NO_CAPTURES: ReadonlyArray<string> = []

/** The check of a task without a codec. */
export const acceptsAnything: Task['accepts'] = () => ACCEPTED

/**
 * Declares a task.
 *
 * @example
 * import { Workflow } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const build = Workflow.task('build', { definition: { shell: 'npm run build' } })
 * assert.equal(build.idempotent, true)
 * assert.notEqual(build.fingerprint, Workflow.task('build', { definition: { shell: 'make' } }).fingerprint)
 *
 * @category constructors
 */
export const task = (name: string, options: TaskOptions = {}): Task => {
  const idempotent = options.idempotent ?? true
  const captures = options.captures ?? NO_CAPTURES
  return {
    _tag: 'Task',
    name,
    summary: options.summary ?? name,
    fingerprint: taskFingerprint(options.definition ?? waitDefinition(options.wait), idempotent, captures),
    idempotent,
    captures,
    numbered: options.numbered ?? false,
    wait: options.wait,
    accepts: options.accepts ?? acceptsAnything,
    artifactPaths: options.artifactPaths
  }
}

/** The definition of a wait, the same as in a program. */
const waitDefinition = (wait: WaitKind | undefined): Json => (wait === undefined ? null : { wait })

/** A definition that is not JSON has no fingerprint: this prefix and the reason stand in its place. */
const INVALID = 'invalid: '

const jsonOf = (definition: Json): E.Either<string, Json> => {
  const json = fromUnknown(definition)
  return E.isRight(json) ? json : E.left(`${INVALID}plain JSON, not ${json.left.found}${atPath(json.left.path)}`)
}

const taskFingerprint = (definition: Json, idempotent: boolean, captures: ReadonlyArray<string>): string => {
  if (definition === null && idempotent && captures.length === 0) return DEFAULT_FINGERPRINT
  const json = jsonOf(definition)
  return E.isLeft(json) ? json.left : fingerprintOfTask(json.right, idempotent, captures)
}

const fingerprintOfTask = (definition: Json, idempotent: boolean, captures: ReadonlyArray<string>): string =>
  fingerprint({ kind: 'task', definition, idempotent, captures })

/** The fingerprint of an idempotent task that has no definition and captures nothing, like most tasks with code. */
export const DEFAULT_FINGERPRINT = fingerprintOfTask(null, true, [])

/**
 * Declares a sequence. `definition`: the sequence's own settings, which must not change after it completed.
 *
 * @example
 * import { Workflow } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const deploy = Workflow.sequence('deploy', [Workflow.task('push'), Workflow.task('smoke')])
 * assert.deepEqual(deploy.steps.map((step) => step.name), ['push', 'smoke'])
 *
 * @category constructors
 */
export const sequence = (
  name: string,
  steps: ReadonlyArray<Step>,
  summary: string = name,
  definition?: Json
): Sequence => ({
  _tag: 'Sequence',
  name,
  summary,
  ...fingerprintsOf('sequence', { steps: steps.map(named) }, definition),
  steps
})

const named = ({ name, fingerprint }: Step): JsonObject => ({ name, fingerprint })

/** Returns the fingerprints of a composite with and without its parts. */
const fingerprintsOf = (
  kind: string,
  parts: JsonObject,
  definition: Json | undefined
): Pick<Sequence, 'fingerprint' | 'ownFingerprint'> => {
  const json = definition === undefined ? undefined : jsonOf(definition)
  if (json !== undefined && E.isLeft(json)) return { fingerprint: json.left, ownFingerprint: json.left }
  const own = { kind, ...(json === undefined ? {} : { definition: json.right }) }
  return { fingerprint: fingerprint({ ...own, ...parts }), ownFingerprint: fingerprint(own) }
}

/**
 * Declares a group of a wave: a step, and the names of the groups it needs.
 *
 * @category constructors
 */
export const group = <S extends Step>(of: S, needs: ReadonlyArray<string> = []): S & Needing => ({ ...of, needs })

/**
 * Declares a wave. `definition`: the wave's own settings, which must not change after it completed.
 *
 * @example
 * import { Workflow } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const checks = Workflow.wave('checks', [Workflow.group(Workflow.task('unit')), Workflow.group(Workflow.task('lint'))])
 * assert.deepEqual(checks.groups.map((group) => group.name), ['unit', 'lint'])
 *
 * @category constructors
 */
export const wave = (name: string, groups: ReadonlyArray<Group>, summary: string = name, definition?: Json): Wave => ({
  _tag: 'Wave',
  name,
  summary,
  ...fingerprintsOf('wave', { groups: groups.map((group) => ({ ...named(group), needs: group.needs })) }, definition),
  groups
})

/**
 * Declares a map. `definition`: the map's own settings, which must not change after it completed.
 *
 * @example
 * import { Workflow } from 'dogear'
 * import assert from 'node:assert/strict'
 *
 * const convert = Workflow.mapOf('convert', Workflow.task('convert', { definition: { shell: 'convert "$item"' } }))
 * assert.deepEqual(Workflow.problems({ name: 'pictures', steps: [convert] }), [])
 *
 * @category constructors
 */
export const mapOf = (name: string, each: Step, summary: string = name, definition?: Json): MapStep => ({
  _tag: 'Map',
  name,
  summary,
  ...fingerprintsOf('map', { each: named(each) }, definition),
  each: bodyOf(name, each)
})

/** An item is found by its key, not by the name of the body, so the fingerprint must cover a name other than that of the map. */
const bodyOf = (map: string, each: Step): Step =>
  each._tag !== 'Task' || each.name === map || definitionExpected(each) !== undefined
    ? each
    : { ...each, fingerprint: fingerprint(named(each)) }

// --- destructors

/** Returns what the definition of a step must be instead; undefined if it is valid. */
export const definitionExpected = ({ fingerprint }: Step): string | undefined =>
  fingerprint.startsWith(INVALID) ? fingerprint.slice(INVALID.length) : undefined

/** The maximum number of levels of steps in a workflow. */
export const MAX_DEPTH = 16

/** A task in a workflow. `place`: its path, where `*` stands for the key of an item; for the body of a map, the path of the map. */
export interface PlacedTask {
  readonly task: Task
  readonly place: string
}

/** Returns all tasks of steps, including bodies of maps, in document order. */
export const tasks = (steps: ReadonlyArray<Step>): ReadonlyArray<PlacedTask> => {
  const found: Array<PlacedTask> = []
  const visit = (step: Step, place: string, depth: number): void => {
    if (step._tag === 'Task') found.push({ task: step, place })
    else if (depth >= MAX_DEPTH) return
    else if (step._tag === 'Map') visit(step.each, step.each._tag === 'Task' ? place : `${place}/*`, depth + 1)
    else for (const part of listedParts<Step>(step)) visit(part, join(place, part.name), depth + 1)
  }
  for (const step of steps) visit(step, step.name, 1)
  return found
}

/** Checks what each function of a store returns, because stores may be written in plain JavaScript. */
import type { ArtifactError, ArtifactInfo, ArtifactStore } from '../../ports/ArtifactStore.js'
import type {
  CheckpointStorage,
  Claim,
  Claimed,
  HistoryEntry,
  Holder,
  KeptSummary,
  Listed,
  StorageError,
  Stored
} from '../../ports/CheckpointStorage.js'
import { inWords } from './difference.js'

/** Returns what a value should be instead, and where; undefined if it has the shape. */
export type Shape = (value: unknown, path?: string) => string | undefined

/** The result of each function of a store. */
export type ShapesOf<Store> = Readonly<Record<keyof Store & string, Shape>>

const is =
  (expected: string, isIt: (value: unknown) => boolean): Shape =>
  (value, path = '') =>
    isIt(value) ? undefined : `${path === '' ? '' : `at ${path}: `}expected ${expected}, found ${inWords(value)}`

const anything = is('anything', () => true)
const string = is('a string', (value) => typeof value === 'string')
const number = is('a number', (value) => typeof value === 'number')
const boolean = is('a boolean', (value) => typeof value === 'boolean')
const object = is('an object', (value) => typeof value === 'object' && value !== null)
const list = is('an array', Array.isArray)
const bytes = is('a Uint8Array', (value) => value instanceof Uint8Array)

const oneOf = (...words: ReadonlyArray<string>): Shape =>
  is(words.map((word) => `"${word}"`).join(' or '), (value) => words.some((word) => word === value))

/** `what`: what the string must say. */
const text = (what: string): Shape =>
  is(`a non-empty string that names ${what}`, (value) => typeof value === 'string' && value !== '')

const firstOf = (problems: ReadonlyArray<string | undefined>): string | undefined =>
  problems.find((problem) => problem !== undefined)

type FieldsOf<A> = { readonly [K in keyof A]?: Shape }

const fields =
  <A>(shapes: FieldsOf<A>): Shape =>
  (value, path = '') =>
    object(value, path) ??
    firstOf(
      Object.entries(shapes as Readonly<Record<string, Shape>>).map(([name, shape]) =>
        shape((value as Readonly<Record<string, unknown>>)[name], `${path}.${name}`)
      )
    )

const arrayOf =
  (shape: Shape): Shape =>
  (value, path = '') =>
    list(value, path) ?? firstOf((value as ReadonlyArray<unknown>).map((one, n) => shape(one, `${path}[${n}]`)))

const tagged =
  (expected: string, shapes: Readonly<Record<string, Shape>>): Shape =>
  (value, path) => {
    const { _tag } = Object(value) as { readonly _tag?: unknown }
    const isIt = is(expected, () => typeof _tag === 'string' && Object.hasOwn(shapes, _tag))
    return isIt(value, path) ?? shapes[_tag as string]?.(value, path)
  }

const optionOf = (shape: Shape): Shape =>
  tagged('an Option', { None: anything, Some: fields<{ value: unknown }>({ value: shape }) })

const maybe =
  (shape: Shape): Shape =>
  (value, path) =>
    value === undefined ? undefined : shape(value, path)

const HOLDER = fields<Holder>({ host: string, pid: number, since: string, liveness: oneOf('alive', 'undecided') })

const STORED = fields<Stored>({
  revision: number,
  changes: list,
  found: tagged('an object with the _tag "Exact" or "Recovered"', {
    Exact: anything,
    Recovered: fields({ from: text('the source of the state'), lost: text('what is missing') })
  }),
  heldBy: optionOf(HOLDER)
})

const SUMMARY = fields<KeptSummary>({
  revision: number,
  workflow: fields<KeptSummary['workflow']>({ name: string }),
  status: string,
  heldStatus: string,
  steps: fields<KeptSummary['steps']>({ completed: number, total: number }),
  createdAt: string,
  updatedAt: string,
  heldBy: optionOf(HOLDER)
})

export const STORAGE: ShapesOf<CheckpointStorage> = {
  claim: fields<Claimed>({
    claim: fields<Claim>({ runId: string, epoch: number, lost: fields<AbortSignal>({ aborted: boolean }) }),
    stored: optionOf(STORED)
  }),
  save: anything,
  release: anything,
  load: optionOf(STORED),
  history: arrayOf(fields<HistoryEntry>({ revision: number, change: string, at: string })),
  loadRevision: optionOf(STORED),
  list: arrayOf(fields<Listed>({ runId: string, summary: maybe(SUMMARY) })),
  remove: anything
}

const INFO = fields<ArtifactInfo>({ id: string, size: number, sha256: string })

export const ARTIFACTS: ShapesOf<ArtifactStore> = {
  put: INFO,
  get: optionOf(bytes),
  has: boolean,
  remove: anything,
  list: arrayOf(INFO),
  clear: anything
}

const where = text('the file, table or address')
const why = text('the reason')
const failed = { where, operation: text('the failed operation'), code: string }
const conflict = { runId: string, expected: number, found: number }

type Failure = StorageError | ArtifactError

const ERRORS: { readonly [Error in Failure as Error['_tag']]: FieldsOf<Error> } = {
  HeldBy: { runId: string, holder: HOLDER },
  Fenced: { runId: string, epoch: number, by: optionOf(number) },
  RevisionConflict: conflict,
  RunChanged: conflict,
  Corrupt: { runId: string, where, why },
  UnsupportedFormat: { runId: string, where, found: number, supported: number },
  TooLarge: { runId: string, where, bytes: number, limitBytes: number, biggest: list },
  InvalidRunId: { runId: string },
  InvalidArtifactId: { id: string },
  Insecure: { where, why },
  ReadFailed: failed,
  WriteFailed: { ...failed, committed: oneOf('no', 'unknown') }
}

/** Returns what is wrong with an error of a store. An error that the ports do not declare passes: the law of the case judges it. */
export const errorProblem = (error: unknown): string | undefined => {
  const { _tag } = Object(error) as { readonly _tag?: unknown }
  if (typeof _tag !== 'string') return `the left must be an error with a "_tag", found ${inWords(error)}`
  const problem = Object.hasOwn(ERRORS, _tag) ? fields(ERRORS[_tag as Failure['_tag']])(error) : undefined
  return problem === undefined ? undefined : `${_tag} ${problem}`
}

/** Finds runs by id, by prefix, or as the only unfinished one. */
import { statSync } from 'node:fs'
import { describeStorage } from '../../../executor/errors/portErrors.js'
import { resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { defined } from '../../../domain/data/defined.js'
import { didYouMean } from '../../../domain/data/Suggestion.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import { isFinal } from '../../../domain/checkpoint/Checkpoint.js'
import * as RunId from '../../../domain/checkpoint/RunId.js'
import type { RunError } from '../../../executor/errors/RunError.js'
import type { ListedRun, RunSummary, RunView } from '../../../executor/storage/runs.js'
import { listRuns, newestFirst, viewRun } from '../../../executor/storage/runs.js'
import type { CheckpointStorage, Listed, StorageError } from '../../../ports/CheckpointStorage.js'
import type { CliError } from '../../CliError.js'
import { indented, notDone, refused } from '../../CliError.js'
import type { Hint } from '../../report/Hint.js'
import type { Context, Result } from '../Context.js'
import { environmentFor, hintTo, listHint, sameCommand, showHint } from '../Context.js'
import { withoutValues } from '../hints/ofError.js'
import { ofNoRun } from '../hints/ofRun.js'
import { minute } from '../../report/text.js'
import { firstOf } from '../../workflow/Problem.js'

/** The minimum length of an id prefix. */
export const MIN_PREFIX = 4

/** `runs` are newest first. */
export interface Runs {
  readonly runs: ReadonlyArray<RunSummary>
  readonly damaged: ReadonlyArray<{ readonly runId: string; readonly error: StorageError }>
}

export const allRuns = async (context: Context, environment = environmentFor(context)): Promise<Result<Runs>> =>
  E.bimap((error: RunError) => notDone(error), sorted)(await listRuns()(environment)())

/** Reads the content of all runs, because a listing of summaries does not find damage. */
export const readRuns = (context: Context): Promise<Result<Runs>> => {
  const environment = environmentFor(context)
  const { storage } = environment
  const list: CheckpointStorage['list'] = (page) =>
    TE.map((listed: ReadonlyArray<Listed>) => listed.map(({ runId }) => ({ runId })))(storage.list(page))
  return allRuns(context, { ...environment, storage: { ...storage, list } })
}

const sorted = (listed: ReadonlyArray<ListedRun>): Runs => {
  const newest = newestFirst(listed)
  return {
    runs: newest.flatMap(({ summary }) => (E.isRight(summary) ? [summary.right] : [])),
    damaged: newest.flatMap(({ runId, summary }) => (E.isLeft(summary) ? [{ runId, error: summary.left }] : []))
  }
}

export const warnOfDamaged = ({ screen }: Context, { damaged }: Runs): void => {
  for (const { error } of damaged) screen.warn(describeStorage(error))
}

/** Accepts an unambiguous prefix. */
export const findRun = async (context: Context, id: string): Promise<Result<RunView>> => {
  const tooShort = id.length < MIN_PREFIX && id !== ''
  const file = isFile(context, id)
    ? [{ text: `${id} is a file: this command takes the id of a run; "dogear run" takes a file` }]
    : []
  const invalid = RunId.parse(id)
  const none = (meant: ReadonlyArray<Hint>): Result<never> =>
    E.left(
      E.isLeft(invalid)
        ? notDone(invalid.left, file)
        : notDone({ _tag: 'NoSuchRun', runId: id }, [
            ...meant,
            ...ofNoRun(context, tooShort ? MIN_PREFIX : undefined),
            ...file
          ])
    )
  const environment = environmentFor(context)
  if (E.isRight(invalid)) {
    const found = await viewRun(id)(environment)()
    if (E.isLeft(found)) return E.left(notDone(found.left))
    if (O.isSome(found.right)) return E.right(found.right.value)
  }
  if (id.length < MIN_PREFIX) return none([])
  const listed = await listRuns()(environment)()
  if (E.isLeft(listed)) return E.left(notDone(listed.left))
  const all = newestFirst(listed.right)
  const [first, ...others] = all.filter(({ runId }) => runId.startsWith(id))
  if (first === undefined) return none(idMeant(all, id))
  return others.length === 0
    ? viewOf(context, first.runId)
    : E.left(
        refused(
          'AmbiguousRun',
          [`"${id}" matches more than one run id:`, ...indented(firstOf([first, ...others].map(candidateLine)))],
          example(context, id, first.runId)
        )
      )
}

/** The typed command with the whole id. None if another word, such as a step, is equal to the prefix. */
const example = (context: Context, prefix: string, id: string): ReadonlyArray<Hint> => {
  const isPrefix = (word: string): boolean => word === prefix || word === `--run=${prefix}`
  if (context.words.filter(isPrefix).length > 1) return []
  const inFull = (word: string): string =>
    isPrefix(word) ? `${word.slice(0, word.length - prefix.length)}${id}` : word
  return [forExample(context, (words) => words.map(inFull))]
}

/** The typed command with other words. Its values may be secrets. */
const forExample = (context: Context, change: (words: Context['words']) => Context['words']): Hint => ({
  text: 'For example:',
  command: sameCommand({ ...context, words: change(withoutValues(context.words)) })
})

/** A UUID may be abbreviated to its first part. */
const idMeant = (listed: ReadonlyArray<ListedRun>, id: string): ReadonlyArray<Hint> => {
  const ids = listed.map(({ runId }) => runId)
  const meant = didYouMean(id, id.length > 8 ? ids : ids.flatMap((one) => [one, one.slice(0, 8)]))
  return meant === '' ? [] : [{ text: meant.slice(2) }]
}

const isFile = ({ folder }: Context, name: string): boolean => {
  try {
    return /\.ya?ml$/i.test(name) && statSync(resolve(folder, name)).isFile()
  } catch {
    return false
  }
}

/** For a run that another process took over or deleted. */
export const afterLoss = async (context: Context, runId: string): Promise<Hint> => {
  const found = await viewRun(runId)(environmentFor(context))()
  return E.isRight(found) && O.isNone(found.right)
    ? hintTo(context, `Run ${runId} is no longer in the store. List the others with:`, ['runs'])
    : showHint(context, runId)
}

export const viewOf = async (context: Context, runId: string): Promise<Result<RunView>> => {
  const found = await viewRun(runId)(environmentFor(context))()
  if (E.isLeft(found)) return E.left(notDone(found.left))
  return O.isSome(found.right)
    ? E.right(found.right.value)
    : E.left(notDone({ _tag: 'NoSuchRun', runId }, ofNoRun(context)))
}

/** `purpose`: for which of several unfinished runs the command is meant. */
export const findOrOnly = async (
  context: Context,
  id: string | undefined,
  purpose?: Purpose
): Promise<Result<RunView>> => {
  if (id !== undefined) return findRun(context, id)
  const runs = await allRuns(context)
  if (E.isLeft(runs)) return runs
  const { runs: all, damaged } = runs.right
  const [unreadable] = damaged
  if (unreadable !== undefined && all.length === 0) return E.left(notDone(unreadable.error))
  warnOfDamaged(context, runs.right)
  const resumable = all.filter(isResumable)
  const unfinished = resumable.length > 0 ? resumable : all.filter(isUndecided)
  if (unfinished.length === 0) return E.left(nothingToResume(context, runs.right))
  const meant =
    purpose === undefined || unfinished.length === 1 ? unfinished : await meantBy(context, unfinished, purpose)
  const [first, ...more] = meant
  const among = damaged.length === 0 ? '' : ' among the readable ones'
  if (first === undefined)
    return E.left(
      refused('NothingToResume', [`There is no run with ${purpose?.what ?? ''}${among}`], [listHint(context)])
    )
  if (more.length === 0) return viewOf(context, first.runId)
  const are = purpose === undefined ? 'are unfinished' : `have ${purpose.what}`
  const lines = [`Several runs ${are}; name one:`, ...indented(firstOf(meant.map(summaryLine)))]
  return E.left(refused('SeveralUnfinished', lines, [forExample(context, (words) => [...words, first.runId])]))
}

/** No run can be resumed: each is final, or a live process has it. */
const nothingToResume = (context: Context, { runs, damaged }: Runs): CliError => {
  const active = runs.filter(({ status }) => !isFinal(status))
  const newest = runs.find(({ status }) => status === 'completed')
  const isAll = damaged.length === 0
  const line =
    active.length > 0
      ? `Every ${isAll ? 'unfinished run' : 'readable unfinished run'} is in progress:`
      : `There is no unfinished run${isAll ? '' : ' among the readable ones'}`
  const looked = runs.length === 0 ? ofNoRun(context) : active.map((run) => ({ text: `  ${summaryLine(run)}` }))
  return {
    ...refused('NothingToResume', [line], [...looked, listHint(context)]),
    ...(active.length === 0 && isAll ? defined({ completed: newest?.runId }) : {})
  }
}

/** `what`: what such a run has, in words. */
export interface Purpose {
  readonly what: string
  readonly fits: (checkpoint: Checkpoint) => boolean
}

/** A summary does not know all that a run waits for, so the runs are read. */
const meantBy = async (
  context: Context,
  runs: ReadonlyArray<RunSummary>,
  { fits }: Purpose
): Promise<ReadonlyArray<RunSummary>> => {
  const meant: Array<RunSummary> = []
  for (const run of runs) {
    const view = await viewOf(context, run.runId)
    if (E.isRight(view) && fits(view.right.checkpoint)) meant.push(run)
  }
  return meant
}

export const isResumable = ({ status, heldBy }: RunSummary): boolean => !isFinal(status) && O.isNone(heldBy)

export const isUndecided = ({ status, heldBy }: RunSummary): boolean =>
  !isFinal(status) && O.isSome(heldBy) && heldBy.value.liveness === 'undecided'

const candidateLine = ({ runId, summary }: ListedRun): string =>
  E.isLeft(summary) ? `${runId}  (unreadable)` : summaryLine(summary.right)

const summaryLine = ({ runId, workflow, status, steps, createdAt }: RunSummary): string =>
  `${runId}  ${workflow.name}  ${status}  ${steps.completed}/${steps.total} steps  ${minute(createdAt)}`

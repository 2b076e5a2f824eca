/** `dogear move`: moves a run to another store. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { RunError } from '../../executor/errors/RunError.js'
import { move } from '../../hosts/move.js'
import type { CliError } from '../CliError.js'
import { notDone, wrongUse } from '../CliError.js'
import type { Hint } from '../report/Hint.js'
import type { Location } from '../store/Location.js'
import { isSameLocation, parse, show } from '../store/Location.js'
import { withDatabase } from '../store/open.js'
import type { Context, Flags, Result } from './Context.js'
import { checkFolder, databaseAt, environmentFor, hintTo, showHint, printDone } from './Context.js'
import { findRun, viewOf } from './find/find.js'
import { heldError } from './execution/owner.js'
import { continuing, ofMove } from './hints/ofRun.js'

export const moveCommand = async (context: Context, id: string, flags: Flags): Promise<Result> => {
  const { folder, store } = context
  if (flags.to === undefined)
    return wrongUse('move: --to is missing; pass the store to move to', [
      hintTo(context, 'For example:', ['move', id, '--to', 'sqlite:state.db'])
    ])
  const location = parse(flags.to, folder)
  if (E.isLeft(location)) return wrongUse(`--to: ${location.left}`)
  const to = show(location.right)
  if (isSameLocation(location.right, store.location))
    return wrongUse(`--to: ${to} is the store to move from; pass another`)
  const view = await findRun(context, id)
  if (E.isLeft(view)) return arrived(context, location.right, id, view.left)
  const { runId, checkpoint } = view.right
  const moved = await withTarget(context, location.right, true, async (target) => {
    const moving = { from: show(store.location), to, target: environmentFor(target) }
    const ended = await move(runId, moving)(environmentFor(context))()
    const { moved: _, ...there } = checkpoint
    if (E.isRight(ended)) return E.right(continuing(target, { checkpoint: there, heldBy: O.none }))
    return ended.left._tag === 'HeldBy' && ended.left.runId === runId
      ? E.left(await heldError(context, view.right, ended.left.holder))
      : E.left(notDone(ended.left, await ofTarget(target, ended.left), view.right, 'move'))
  })
  return E.isLeft(moved)
    ? moved
    : printDone(context, { run_id: runId, moved_to: to }, `Run ${runId} moved to ${to}`, moved.right)
}

/** A killed move leaves its source, which only a repetition of that move deletes. A source that is another run by now stays. */
const ofTarget = async (target: Context, error: RunError): Promise<ReadonlyArray<Hint>> => {
  const shown = show(target.store.location)
  if (error._tag === 'RunChanged')
    return [showHint(target, error.runId, `It has moved to ${shown}. Show it there with:`)]
  if (error._tag !== 'RunExists') return []
  const { runId } = error
  const there = await viewOf(target, runId)
  const moved = E.isRight(there) ? there.right.checkpoint.moved : undefined
  return moved === undefined
    ? [showHint(target, runId, `Show the run in ${shown} with:`)]
    : [{ ...ofMove(target, runId, moved), text: 'That is the copy of a move that did not end. Finish it with:' }]
}

/** A move that broke off after all of its work, or that is repeated, finds the run in the target only. Creates no store. */
const arrived = async (context: Context, location: Location, id: string, error: CliError): Promise<Result> => {
  if (error._tag !== 'NotDone' || error.error._tag !== 'NoSuchRun') return E.left(error)
  const found = await withTarget(context, location, false, async (target) => {
    const there = await findRun(target, id)
    if (E.isLeft(there) || there.right.checkpoint.moved !== undefined) return E.left(error)
    const { runId } = there.right
    const to = show(location)
    const next = continuing(target, there.right)
    return printDone(context, { run_id: runId, moved_to: to }, `Run ${runId} is in ${to} already`, next)
  })
  return E.isLeft(found) ? E.left(error) : found
}

const withTarget = async <A>(
  context: Context,
  location: Location,
  mayCreate: boolean,
  use: (target: Context) => Promise<Result<A>>
): Promise<Result<A>> => {
  if (location._tag !== 'Files')
    return withDatabase(location, { folder: context.folder, mayCreate }, (database) =>
      use({ ...context, store: { ...databaseAt(location, context), database } })
    )
  const home = checkFolder(location.path)
  return E.isLeft(home)
    ? home
    : use({ ...context, home: home.right, store: { location, words: ['--store', home.right] } })
}

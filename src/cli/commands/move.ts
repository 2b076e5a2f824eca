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
import type { Database } from '../store/open.js'
import { open } from '../store/open.js'
import type { Context, Flags, Result } from './Context.js'
import { checkFolder, databaseAt, environmentFor, hintTo, showHint, storeAt, printDone } from './Context.js'
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
  if (E.isLeft(view)) return (await arrived(context, location.right, id, view.left)) ?? view
  const target = await openTarget(context, location.right, true)
  if (E.isLeft(target)) return target
  const { runId, checkpoint } = view.right
  const environment = environmentFor(context)
  try {
    const moving = { from: store.shown, to, target: environmentFor(target.right) }
    const moved = await move(runId, moving)(environment)()
    if (E.isLeft(moved) && moved.left._tag === 'HeldBy' && moved.left.runId === runId)
      return E.left(await heldError(context, view.right, moved.left.holder))
    if (E.isLeft(moved))
      return E.left(notDone(moved.left, await ofTarget(target.right, moved.left), view.right, 'move'))
  } finally {
    await target.right.store.database?.close()
  }
  const { moved: _, ...there } = checkpoint
  const next = continuing(target.right, { checkpoint: there, heldBy: O.none })
  return printDone(context, { run_id: runId, moved_to: to }, `Run ${runId} moved to ${to}`, next)
}

/** A killed move leaves its source, which only a repetition of that move deletes. A source that is another run by now stays. */
const ofTarget = async (target: Context, error: RunError): Promise<ReadonlyArray<Hint>> => {
  const { shown } = target.store
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
const arrived = async (
  context: Context,
  location: Location,
  id: string,
  error: CliError
): Promise<Result | undefined> => {
  if (error._tag !== 'NotDone' || error.error._tag !== 'NoSuchRun') return undefined
  const target = await openTarget(context, location, false)
  if (E.isLeft(target)) return undefined
  try {
    const there = await findRun(target.right, id)
    if (E.isLeft(there) || there.right.checkpoint.moved !== undefined) return undefined
    const { runId } = there.right
    const to = show(location)
    const next = continuing(target.right, there.right)
    return printDone(context, { run_id: runId, moved_to: to }, `Run ${runId} is in ${to} already`, next)
  } finally {
    await target.right.store.database?.close()
  }
}

const openTarget = async (context: Context, location: Location, mayCreate: boolean): Promise<Result<Context>> => {
  if (location._tag === 'Files')
    return E.map((home: string) => ({ ...context, home, store: storeAt(location, ['--home', home]) }))(
      checkFolder(location.path)
    )
  const opened = await open(location, { folder: context.folder, mayCreate })
  return E.map((database: Database) => ({ ...context, store: { ...databaseAt(location, context), database } }))(opened)
}

/** `dogear move`: moves a run to another store. */
import * as E from 'fp-ts/lib/Either.js'
import type { RunError } from '../../executor/RunError.js'
import { move } from '../../hosts/move.js'
import type { CliError } from '../CliError.js'
import { notDone, usage } from '../CliError.js'
import { ExitCode } from '../ExitCode.js'
import type { Hint } from '../report/Hint.js'
import { linesOf } from '../report/Hint.js'
import { printed } from '../report/runJson.js'
import type { Location } from '../store/Location.js'
import { isSame, parse, show } from '../store/Location.js'
import { open } from '../store/open.js'
import type { Context, Result } from './Context.js'
import { checkFolder, dogearCommand, environmentFor, showHint, storeAt } from './Context.js'
import { findRun } from './find/find.js'
import { ofResume } from './find/findHints.js'

export const moveCommand = async (context: Context, id: string, flags: { readonly to?: string }): Promise<Result> => {
  const { folder, store } = context
  if (flags.to === undefined)
    return E.left(
      usage('move: --to is missing; pass the store to move to', [
        { text: 'For example:', command: dogearCommand(context, ['move', id, '--to', 'sqlite:state.db']) }
      ])
    )
  const location = parse(flags.to, folder)
  if (E.isLeft(location)) return E.left(usage(`--to: ${location.left}`))
  const to = show(location.right)
  if (isSame(location.right, store.location))
    return E.left(usage(`--to: the run is in ${to} already; pass another store`))
  const view = await findRun(context, id)
  if (E.isLeft(view)) return view
  const target = await openTarget(context, location.right)
  if (E.isLeft(target)) return target
  const { runId, workflow, status } = view.right
  const environment = environmentFor(context)
  try {
    const moving = { from: store.shown, to, target: environmentFor(target.right) }
    const moved = await move(runId, moving)(environment)()
    if (E.isLeft(moved)) return E.left(notDone(moved.left, ofTarget(target.right, moved.left), runId))
  } finally {
    await target.right.store.database?.close()
  }
  const { screen, json } = context
  if (json) screen.out(printed({ run_id: runId, moved_to: to }))
  else {
    screen.print(`Run ${runId} moved to ${to}`)
    for (const line of linesOf([ofResume(target.right, runId, workflow, status)], screen.style)) screen.line(line)
  }
  return E.right(ExitCode.done)
}

/** A source that is another run by now stays, and the run has moved. */
const ofTarget = (target: Context, error: RunError): ReadonlyArray<Hint> => {
  if (error._tag !== 'RunExists' && error._tag !== 'RunChanged') return []
  const { shown } = target.store
  const text =
    error._tag === 'RunExists' ? `Show the run in ${shown} with:` : `It has moved to ${shown}. Show it there with:`
  return [{ ...showHint(target, error.runId), text }]
}

const openTarget = async (context: Context, location: Location): Promise<E.Either<CliError, Context>> => {
  const { folder } = context
  const home = location._tag === 'Files' ? location.path : context.home
  const at = storeAt(location, { home, folder }, '')
  if (location._tag === 'Files')
    return E.map(() => ({ ...context, home, store: { ...at, words: ['--home', home] } }))(checkFolder(home))
  const opened = await open(location, { folder, mayCreate: true })
  return E.isLeft(opened) ? opened : E.right({ ...context, store: { ...at, database: opened.right } })
}

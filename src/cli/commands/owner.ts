/**
 * Who holds a run that is to be resumed: waited for until it is known whether it lives, refused, or superseded.
 *
 * @since 0.1.0
 */
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { inFlight } from '../../domain/CheckpointState.js'
import { unitName } from '../../domain/Plan.js'
import type { RunView } from '../../executor/runs.js'
import type { Holder } from '../../ports/CheckpointStorage.js'
import type { CliError } from '../CliError.js'
import { notDone, usage } from '../CliError.js'
import { linesOf } from '../report/Hint.js'
import { holderText } from '../report/holder.js'
import { confirm, isYes } from '../terminal/Prompt.js'
import type { Context } from './Context.js'
import type { Attended } from './execution.js'
import { viewOf } from './find.js'
import type { TakeOverFlags } from './hints.js'
import { ofHeld, resumeLine } from './hints.js'

/**
 * A run that may be claimed, as it is now. `takeOver`: with its owner to be superseded, which may be dead and need not be.
 *
 * @category model
 * @since 0.1.0
 */
export interface Claimable {
  readonly view: RunView
  readonly takeOver: boolean
}

/** The stale time on NFS, and something for the looks. */
const LONGEST_MILLIS = 70_000

/** An owner that lives touches its heartbeat every 5 s. */
const TAKE_OVER_MILLIS = 8_000

const BETWEEN_LOOKS_MILLIS = 1_000

/**
 * The run as it is when it may be claimed. An owner that lives is refused. One of which that is undecided is watched, until it
 * proves alive or dead; with `--take-over` for a moment only, and then it may be superseded, if somebody agrees.
 *
 * @category effects
 * @since 0.1.0
 */
export const claimable = async (
  context: Attended,
  view: RunView,
  flags: TakeOverFlags
): Promise<E.Either<CliError, Claimable>> => {
  const { runId, heldBy } = view
  if (O.isNone(heldBy)) return E.right({ view, takeOver: false })
  if (heldBy.value.liveness === 'alive') return E.left(heldError(context, runId, heldBy.value, flags))
  if (flags.takeOver === true && flags.yes !== true && !context.interactive)
    return E.left(withoutConsent(context, view, heldBy.value, flags))
  tellOfWait(context, runId, heldBy.value, flags)
  const seen = await watch(context, view, flags.takeOver === true ? TAKE_OVER_MILLIS : LONGEST_MILLIS)
  if (E.isLeft(seen)) return seen
  const { heldBy: holder } = seen.right
  if (O.isNone(holder)) return E.right({ view: seen.right, takeOver: false })
  if (holder.value.liveness === 'alive' || flags.takeOver !== true)
    return E.left(heldError(context, runId, holder.value, flags))
  const agreed = await agreeToTakeOver(context, seen.right, holder.value, flags)
  return E.isLeft(agreed) ? agreed : E.right({ view: seen.right, takeOver: true })
}

/**
 * That somebody holds a run, with what can be done about it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const heldError = (context: Context, runId: string, holder: Holder, flags: TakeOverFlags = {}): CliError =>
  notDone({ _tag: 'HeldBy', runId, holder }, ofHeld(context, runId, holder, flags))

const tellOfWait = (context: Attended, runId: string, holder: Holder, flags: TakeOverFlags): void => {
  const { screen } = context
  const howLong = flags.takeOver === true ? `${TAKE_OVER_MILLIS / 1_000} s` : 'up to 30 s, on NFS 65 s'
  screen.line(`Run ${runId} is held by ${holderText(holder)}`)
  screen.line(`Looking for a sign of life, for ${howLong} …`)
  if (flags.takeOver !== true) for (const line of linesOf(ofHeld(context, runId, holder, flags))) screen.line(line)
}

/** The run as soon as it is known whether its owner lives, at the latest after so long. */
const watch = async (context: Attended, found: RunView, limitMillis: number): Promise<E.Either<CliError, RunView>> => {
  const { signal } = context.signals.interrupt
  const end = performance.now() + limitMillis
  let view = found
  while (O.isSome(view.heldBy) && view.heldBy.value.liveness === 'undecided' && performance.now() < end) {
    await sleep(BETWEEN_LOOKS_MILLIS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return E.left({ _tag: 'Declined' })
    const now = await viewOf(context, found.runId)
    if (E.isLeft(now)) return now
    view = now.right
  }
  return E.right(view)
}

/** What superseding the owner may come to. */
const riskOf = ({ checkpoint: { state } }: RunView): string => {
  const units = inFlight(state).map((one) => unitName({ ...one, step: state.step }))
  const work = units.length === 0 ? 'what it does' : units.join(', ')
  return `If it lives all the same, ${work} goes on there until it learns that it was superseded.`
}

/** In a pipe nobody can be asked. */
const withoutConsent = (context: Attended, view: RunView, holder: Holder, flags: TakeOverFlags): CliError =>
  usage(`Run ${view.runId} is held by ${holderText(holder)}. ${riskOf(view)} To agree, add --yes`, [
    { text: 'To take it over:', command: resumeLine(context, view.runId, { ...flags, yes: true }) }
  ])

const agreeToTakeOver = async (
  { screen, prompt }: Attended,
  view: RunView,
  holder: Holder,
  { yes }: TakeOverFlags
): Promise<E.Either<CliError, void>> => {
  const who = holderText({ ...holder, liveness: 'alive' })
  screen.line(screen.style.yellow(`No sign of life of ${who}. ${riskOf(view)}`))
  if (yes === true) return E.right(undefined)
  const answer = await confirm(prompt, `Take run ${view.runId} over?`, false)
  return isYes(answer) ? E.right(undefined) : E.left({ _tag: 'Declined' })
}

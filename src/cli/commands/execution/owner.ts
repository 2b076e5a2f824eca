/** Decides about the owner of a run before a resume: wait until its liveness is known, refuse, or supersede it. */
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { inFlight } from '../../../domain/checkpoint/CheckpointState.js'
import { within } from '../../../domain/checkpoint/Units.js'
import type { Request } from '../../../domain/request/Request.js'
import { isFor } from '../../../domain/request/Request.js'
import { requestsFor } from '../../../executor/requests/inbox.js'
import type { RunView } from '../../../executor/storage/runs.js'
import type { Holder } from '../../../ports/CheckpointStorage.js'
import type { CliError, Stop, StoredRun } from '../../CliError.js'
import { consentMissing, DECLINED, notDone } from '../../CliError.js'
import { linesOf } from '../../report/Hint.js'
import type { Context, Flags, Result } from '../Context.js'
import { environmentFor, showHint } from '../Context.js'
import type { PromptContext } from './withPrompt.js'
import { agree } from './withPrompt.js'
import { viewOf } from '../find/find.js'
import { ofHeld, ofTakeOver } from '../hints/ofRun.js'
import { resumeLine } from './planFlags.js'
import { holderText } from '../../report/text.js'

/** `takeOver`: the owner may still live. */
export interface Claimable {
  readonly view: RunView
  readonly takeOver: boolean
}

/** The time after which a heartbeat on NFS is stale, plus time to notice it. */
const LONGEST_MILLIS = 70_000

/** A living owner touches its heartbeat every 5 s. */
const TAKE_OVER_MILLIS = 8_000

const BETWEEN_LOOKS_MILLIS = 1_000

/** Watches an owner of undecided liveness; with `--take-over` only briefly, then supersedes it with consent. */
export const claimable = async (context: PromptContext, view: RunView, flags: Flags): Promise<Result<Claimable>> => {
  const { heldBy } = view
  if (O.isNone(heldBy)) return E.right({ view, takeOver: false })
  if (heldBy.value.liveness === 'alive') return E.left(await heldError(context, view, heldBy.value, flags))
  if (flags.takeOver === true && flags.yes !== true && !context.interactive)
    return E.left(withoutConsent(context, view, heldBy.value, flags))
  announceWait(context, view, heldBy.value, flags)
  const seen = await watch(context, view, flags.takeOver === true ? TAKE_OVER_MILLIS : LONGEST_MILLIS)
  if (E.isLeft(seen)) return seen
  const { heldBy: holder } = seen.right
  if (O.isNone(holder)) return E.right({ view: seen.right, takeOver: false })
  if (holder.value.liveness === 'alive' || flags.takeOver !== true)
    return E.left(await heldError(context, seen.right, holder.value, flags))
  const agreed = await agreeToTakeOver(context, seen.right, holder.value, flags)
  return E.isLeft(agreed) ? agreed : E.right({ view: seen.right, takeOver: true })
}

/** The error for a held run; its text says if the owner was already asked to stop. */
export const heldError = async (
  context: Context,
  run: StoredRun,
  holder: Holder,
  flags: Flags = {}
): Promise<CliError> => {
  const { runId } = run
  const error = notDone({ _tag: 'HeldBy', runId, holder }, ofHeld(context, run, holder, flags), run)
  if (holder.liveness !== 'alive') return error
  const asked = await requestsTo(context, runId, holder)
  const requested = STOPS.find((one) => asked.has(one))
  return requested === undefined
    ? error
    : { ...error, hints: [...ofTakeOver(flags), showHint(context, runId)], requested }
}

const STOPS: ReadonlyArray<Stop> = ['Cancel', 'Pause']

/** Returns what other processes have asked the owner of a run to do. */
export const requestsTo = async (
  context: Context,
  runId: string,
  holder: Holder
): Promise<ReadonlySet<Request['_tag']>> => {
  const requests = await requestsFor(environmentFor(context), runId)
  return new Set(E.isLeft(requests) ? [] : requests.right.filter((one) => isFor(one, holder)).map(({ _tag }) => _tag))
}

const announceWait = (context: PromptContext, run: StoredRun, holder: Holder, flags: Flags): void => {
  const { screen } = context
  const howLong = flags.takeOver === true ? `${TAKE_OVER_MILLIS / 1_000} s` : 'up to 30 s (65 s on NFS)'
  screen.line(`Run ${run.runId} is held by ${holderText(holder)}`)
  screen.line(`Waiting for a sign of life for ${howLong} …`)
  if (flags.takeOver !== true) for (const line of linesOf(ofHeld(context, run, holder, flags))) screen.line(line)
}

const watch = async (context: PromptContext, found: RunView, limitMillis: number): Promise<Result<RunView>> => {
  const { signal } = context.signals.interrupt
  const end = performance.now() + limitMillis
  let view = found
  while (O.isSome(view.heldBy) && view.heldBy.value.liveness === 'undecided' && performance.now() < end) {
    await sleep(BETWEEN_LOOKS_MILLIS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return E.left(DECLINED)
    const now = await viewOf(context, found.runId)
    if (E.isLeft(now)) return now
    view = now.right
  }
  return E.right(view)
}

const riskOf = ({ checkpoint: { state } }: RunView): string => {
  const units = within(inFlight(state), state.step).map(({ unit }) => unit)
  const work = units.length === 0 ? 'its work' : units.join(', ')
  return `If it is still alive, ${work} continues there until it learns that it was superseded.`
}

const withoutConsent = (context: PromptContext, view: RunView, holder: Holder, flags: Flags): CliError =>
  consentMissing(`Run ${view.runId} is held by ${holderText(holder)}. ${riskOf(view)} To agree, add --yes`, [
    { text: 'To take it over:', command: resumeLine(context, view.runId, { ...flags, yes: true }) }
  ])

const agreeToTakeOver = async (
  context: PromptContext,
  view: RunView,
  holder: Holder,
  flags: Flags
): Promise<Result<void>> => {
  const { screen } = context
  const who = holderText({ ...holder, liveness: 'alive' })
  screen.line(screen.style.yellow(`No sign of life from ${who}. ${riskOf(view)}`))
  if (flags.yes === true) return E.right(undefined)
  return agree(context, `Take run ${view.runId} over?`, () => withoutConsent(context, view, holder, flags))
}

/**
 * Decides whether a journal's owner lives (`docs/file-format.md` §5). `dead` only permits a claim; the number of the journal decides who writes. A
 * wrong `dead` may run a step twice, so an uncertain source returns `undefined`.
 */
import type { Holder } from '../../../ports/CheckpointStorage.js'
import type { Verdict, Context } from '../Context.js'
import * as Heartbeat from './Heartbeat.js'
import type { ClaimRecord, Journal } from '../journal/Journal.js'
import * as Layout from '../files/Layout.js'
import type { ProcessIdentity } from './Processes.js'
import { equals } from './Processes.js'
import * as Socket from './Socket.js'

/** The owner of the journal with the highest number, unless it is dead, has released the journal, or has no claim record there. */
export const holderOf = async (
  context: Context,
  layout: Layout.Layout,
  highest: Journal | undefined
): Promise<Holder | undefined> => {
  if (highest?.claim === undefined || highest.released) return undefined
  const { claim, damage } = highest
  if (damage.length > 0 && isReleased(context, layout, claim)) return undefined
  const verdict = await livenessOf(context, layout, claim, damage.length > 0)
  const { host, pid } = claim.owner
  return verdict === 'dead' ? undefined : { host, pid, since: claim.since, liveness: verdict ?? 'undecided' }
}

/** `maybeReleased`: damage may hide a released line, so a living process proves nothing. */
const livenessOf = async (
  context: Context,
  layout: Layout.Layout,
  claim: ClaimRecord,
  maybeReleased: boolean
): Promise<Verdict> => {
  const self = selfOf(context)
  const process = checkProcess(context, claim, self)
  return (
    (maybeReleased && process === 'alive' ? undefined : process) ??
    (await Socket.check(context, layout, claim, self?.bootId ?? null)) ??
    (await Heartbeat.check(context, layout, claim.token))
  )
}

/** Detects a release that damage hides: only an owner that releases deletes both its heartbeat and its socket. */
const isReleased = ({ fs }: Context, layout: Layout.Layout, { token, socket }: ClaimRecord): boolean => {
  try {
    const paths = [Layout.heartbeat(layout, token), Layout.socket(layout, token)]
    return socket !== undefined && paths.every((path) => fs.lstatSync(path) === undefined)
  } catch {
    return false
  }
}

/** This process; `undefined` if the system lacks the resources to identify it. */
const selfOf = ({ processes }: Context): ProcessIdentity | undefined => {
  try {
    return processes.self()
  } catch {
    return undefined
  }
}

const checkProcess = (
  { processes, givenUp }: Context,
  { token, process }: ClaimRecord,
  self: ProcessIdentity | undefined
): Verdict => {
  if (self !== undefined && equals(process, self)) return givenUp.has(token) ? 'dead' : 'alive'
  switch (processes.isAlive(process)) {
    case true:
      return 'alive'
    case false:
      return 'dead'
    case undefined:
      return undefined
  }
}

/**
 * Whether a journal's owner lives. It only says whether a claim may be tried; who writes is decided by the numbers.
 * `docs/file-format.md` §5 is the norm.
 *
 * @since 0.1.0
 */
import * as O from 'fp-ts/lib/Option.js'
import type { Holder } from '../../ports/CheckpointStorage.js'
import type { Context } from './Context.js'
import type { ClaimRecord, Journal } from './Journal.js'
import type { Layout } from './Layout.js'
import { heartbeat } from './Layout.js'
import * as Processes from './Processes.js'

/**
 * The live owner of the journal with the highest number, if there is one. A journal that doesn't say whose it is has
 * none.
 *
 * @category destructors
 * @since 0.1.0
 */
export const holderOf = (context: Context, layout: Layout, highest: Journal | undefined): O.Option<Holder> =>
  highest?.claim === undefined || highest.released || !isAlive(context, layout, highest.claim, highest.damage)
    ? O.none
    : O.some({ host: highest.claim.owner.host, pid: highest.claim.owner.pid, since: highest.claim.since })

/** Damage may hide that the journal was released: then its owner has no heartbeat any more, though its process lives. */
const isAlive = (
  context: Context,
  layout: Layout,
  { token, process }: ClaimRecord,
  damage: Journal['damage']
): boolean => {
  const beats = (): boolean => isFresh(context, heartbeat(layout, token))
  if (damage.length > 0 && !beats()) return false
  return isOurs(context, process) ? !context.givenUp.has(token) : (context.processes.isAlive(process) ?? beats())
}

const isOurs = ({ processes }: Context, process: Processes.ProcessIdentity): boolean => {
  try {
    return Processes.equals(process, processes.self())
  } catch {
    return false
  }
}

/** A heartbeat that can't be looked at counts as one: being refused is the lesser harm. */
const isFresh = ({ fs, settings }: Context, path: string): boolean => {
  try {
    const facts = fs.lstatSync(path)
    return facts !== undefined && facts.modifiedMillis + settings.staleMillis > Date.now()
  } catch {
    return true
  }
}

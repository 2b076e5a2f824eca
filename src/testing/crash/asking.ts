/**
 * Somebody who asks a process to pause while it runs.
 *
 * @since 0.1.0
 */
import type { Environment } from '../../ports/Environment.js'
import type { Pauses } from '../../ports/Pauses.js'
import { pause } from '../../executor/pause.js'
import type { Pause } from './Intervention.js'
import { never } from './Life.js'
import type { PauseWitness } from './PauseWitness.js'
import { quiet } from './VirtualClock.js'

/** Who asks, and in what environment. `late`: a request that arrives only when another process has claimed the run. */
export interface Asker {
  readonly due: ReadonlyArray<Pause>
  readonly environment: Environment & { readonly pauses: Pauses }
  readonly alive: () => boolean
  readonly witness: PauseWitness
  readonly note: (by: Pause) => void
  readonly late: (arrive: () => Promise<unknown>) => void
}

/** Told of each unit that runs; if somebody asks meanwhile, when that is done. */
export const whileRunning = (asker: Asker): ((unit: string, runId: string) => Promise<void> | undefined) => {
  let open = asker.due
  return (unit, runId) => {
    const now = open.filter((one) => one.unit === unit)
    if (now.length === 0) return undefined
    open = open.filter((one) => one.unit !== unit)
    return inTurn(now, (one) => (one.when === 'late' ? askLate(asker, one, runId) : askNow(asker, one, runId)))
  }
}

const inTurn = async <A>(all: ReadonlyArray<A>, act: (one: A) => Promise<void>): Promise<void> => {
  for (const one of all) await act(one)
}

const askNow = async ({ environment, alive, witness, note }: Asker, by: Pause, runId: string): Promise<void> => {
  note(by)
  const asked = witness.asks(by)
  const pauses: Pauses = {
    ...environment.pauses,
    request: (request) => () => {
      asked.leaves()
      return environment.pauses.request(request)()
    }
  }
  const answer = await pause(runId)({ ...environment, pauses })()
  // Whatever had looked before the request came, and was about to start something, has gone on by now.
  await quiet()
  asked.answered(answer, alive())
}

/** Resolves when the request is under way. */
const askLate = ({ environment, note, late }: Asker, by: Pause, runId: string): Promise<void> =>
  new Promise((resolve) => {
    note(by)
    const pauses: Pauses = {
      ...environment.pauses,
      request: (request) => () => {
        late(environment.pauses.request(request))
        resolve()
        return never()
      }
    }
    void pause(runId)({ ...environment, pauses })().then(() => resolve())
  })

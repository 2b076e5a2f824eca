/** The trace of a simulated run. */
import type { Json } from '../../domain/data/Json.js'
import { byTag } from '../byTag.js'
import type { EditEvidence, Intervention } from './Intervention.js'
import { describeIntervention } from './Intervention.js'

/**
 * One event of process number `life` (from 1). `unit` is a path such as `step/group`.
 *
 * - `Started`: the step's own code was called, for this `attempt` and with this idempotency `key`.
 * - `Done`: the code succeeded.
 * - `Failed`: the code failed. `applied`: it may have taken effect.
 * - `Effect`: an effect that a step announced with `ProcessContext.effect` was performed.
 * - `Answered`: a question about the unit got this answer.
 * - `Intervened`: an intervention was applied. For evidence, `what` lists what was deleted or edited.
 * - `Recorded`: a change about these units is durable: `rewound`, `assumed done`, `to run again` or `kept` (answers),
 *   `job failed`, `job refused` (the job took no effect), `not attempted` (another unit failed), `waiting`, `answered`,
 *   `wait over`.
 * - `Died`: the process was killed, or a store call failed; `where` says at which point.
 * - `Ended`: the process ended by itself; `how` says with which outcome.
 *
 * @category model
 */
export type TraceEntry = { readonly life: number } & (
  | { readonly _tag: 'Started'; readonly unit: string; readonly attempt: number; readonly key: string }
  | { readonly _tag: 'Done'; readonly unit: string }
  | { readonly _tag: 'Failed'; readonly unit: string; readonly applied: boolean; readonly message: string }
  | { readonly _tag: 'Effect'; readonly name: string }
  | {
      readonly _tag: 'Answered'
      readonly unit: string
      readonly answer: EditEvidence['answer']
      readonly output?: Json
    }
  | { readonly _tag: 'Intervened'; readonly by: Intervention; readonly what?: ReadonlyArray<string> }
  | {
      readonly _tag: 'Recorded'
      readonly what:
        | 'rewound'
        | 'assumed done'
        | 'to run again'
        | 'kept'
        | 'job failed'
        | 'job refused'
        | 'not attempted'
        | 'waiting'
        | 'answered'
        | 'wait over'
      readonly units: ReadonlyArray<string>
      /** The subtrees that a rewind names. */
      readonly named?: ReadonlyArray<string>
    }
  | { readonly _tag: 'Died'; readonly where: string }
  | { readonly _tag: 'Ended'; readonly how: string }
)

/**
 * The events of a run, in order.
 *
 * @category model
 */
export type Trace = ReadonlyArray<TraceEntry>

export const describeEntry = (one: TraceEntry): string =>
  byTag(one, {
    Started: ({ unit, attempt }) => `${unit} starts, attempt ${attempt}`,
    Done: ({ unit }) => `${unit} is done`,
    Failed: ({ unit, applied, message }) => `${unit} fails${applied ? '' : ', having done nothing'}: ${message}`,
    Effect: ({ name }) => `effect: ${name}`,
    Answered: ({ answer, unit }) => ANSWERS[answer](unit),
    Intervened: ({ by, what }) => `${describeIntervention(by)}${what === undefined ? '' : `: ${what.join(', ')}`}`,
    Recorded: ({ units, what }) => `recorded: ${units.join(', ')} ${what}`,
    Died: ({ life, where }) => `process ${life}: ${where}`,
    Ended: ({ life, how }) => `process ${life} ends by itself: ${how}`
  })

const ANSWERS = {
  again: (unit: string) => `answer: run ${unit} again`,
  keep: (unit: string) => `answer: keep the evidence of ${unit}`,
  done: (unit: string) => `answer: ${unit} is done`
}

/** What happened in a simulated run, one life of a process after the other. */
import type { Json } from '../../domain/data/Json.js'
import type { Intervention } from './Intervention.js'
import { describeIntervention } from './Intervention.js'

/**
 * One thing that happened, in the `life` of the process with that number (from 1). `unit`: `step` or `step/group`.
 *
 * - `Started`: the step's own code was called, for this `attempt` and under this idempotency `key`.
 * - `Done`: it ended well. `Failed`: it did not; `applied`: whether it may have had its effect.
 * - `Effect`: an effect that a step announced with `ProcessContext.effect` has happened.
 * - `Answered`: the unit was in doubt, or its evidence changed, and the answer was `done`, `keep` or `again`.
 * - `Intervened`: a user's action before this process started, an override, or a request to pause; for evidence, `what` was
 *   deleted or edited.
 * - `Recorded`: what is decided against the record is durable. These units are taken back, they are taken as done, it is said that
 *   they are to run again, their changed evidence is kept, their job failed (`job refused`: without having had an effect), or they
 *   are `left undone` because another unit failed. For waits: the unit `waits`, it `is answered`, or it `has waited` and is completed.
 * - `Died`: the process was killed, or its store failed it; `where` in words.
 * - `Ended`: the process came to an end by itself; `how` in words.
 *
 * @category model
 */
export type TraceEntry =
  | {
      readonly _tag: 'Started'
      readonly life: number
      readonly unit: string
      readonly attempt: number
      readonly key: string
    }
  | { readonly _tag: 'Done'; readonly life: number; readonly unit: string }
  | {
      readonly _tag: 'Failed'
      readonly life: number
      readonly unit: string
      readonly applied: boolean
      readonly message: string
    }
  | { readonly _tag: 'Effect'; readonly life: number; readonly name: string }
  | {
      readonly _tag: 'Answered'
      readonly life: number
      readonly unit: string
      readonly answer: 'again' | 'keep' | 'done'
      readonly output?: Json
    }
  | {
      readonly _tag: 'Intervened'
      readonly life: number
      readonly by: Intervention
      readonly what?: ReadonlyArray<string>
    }
  | {
      readonly _tag: 'Recorded'
      readonly life: number
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
      /** What a rewind names. */
      readonly named?: ReadonlyArray<string>
    }
  | { readonly _tag: 'Died'; readonly life: number; readonly where: string }
  | { readonly _tag: 'Ended'; readonly life: number; readonly how: string }

/**
 * What happened, in order.
 *
 * @category model
 */
export type Trace = ReadonlyArray<TraceEntry>

export const describeEntry = (entry: TraceEntry): string => {
  switch (entry._tag) {
    case 'Started':
      return `${entry.unit} starts, attempt ${entry.attempt}`
    case 'Done':
      return `${entry.unit} is done`
    case 'Failed':
      return `${entry.unit} fails${entry.applied ? '' : ', having done nothing'}: ${entry.message}`
    case 'Effect':
      return `effect: ${entry.name}`
    case 'Answered':
      return ANSWERS[entry.answer](entry.unit)
    case 'Intervened':
      return `${describeIntervention(entry.by)}${entry.what === undefined ? '' : `: ${entry.what.join(', ')}`}`
    case 'Recorded':
      return `recorded: ${entry.units.join(', ')} ${entry.what}`
    case 'Died':
      return `process ${entry.life} ends: ${entry.where}`
    case 'Ended':
      return `process ${entry.life} ends by itself: ${entry.how}`
  }
}

const ANSWERS = {
  again: (unit: string) => `answer: run ${unit} again`,
  keep: (unit: string) => `answer: keep the evidence of ${unit}`,
  done: (unit: string) => `answer: ${unit} is done`
}

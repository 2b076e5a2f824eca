/**
 * What a crash test found.
 *
 * @module
 */
import type { CrashPoint, CrashSchedule } from './CrashPoint.js'
import { describePoint } from './CrashPoint.js'
import type { Intervention } from './Intervention.js'
import { describeIntervention } from './Intervention.js'
import type { Trace } from './Trace.js'
import { describeEntry } from './Trace.js'

/**
 * The law that is broken.
 *
 * - `Undisturbed`: the workflow does not complete without faults. Nothing else was tried.
 * - `NothingLost`: an acknowledged record is missing or was not returned to the next process, or a process that ended
 *   by itself did not record a completed unit.
 * - `NothingTwice`: a recorded unit, or one with a pending job, ran again or was rewound although no override, answer
 *   or missing evidence required it.
 * - `DurableFirst`: an attempt or its successors started before its start was recorded.
 * - `OverrideKept`: an override is not followed: other records are rewound, a rewound record still counts, a unit is
 *   assumed done without a reason, or a refused plan changed something.
 * - `EvidenceSeen`: missing evidence rewinds other units than its own and later ones, or edited evidence is ignored or
 *   overwritten against the answer.
 * - `PauseKept`: a process that agreed to pause started more work, cut off running work, ended otherwise, did not
 *   record the pause, misinformed the requester, or left a stale request or pointer.
 * - `PauseMeant`: a process paused without a request for it.
 * - `CancelKept`: after a cancel a further unit started, or the owner left the run with another status.
 * - `NothingForgotten`: a unit is neither recorded nor scheduled, or there is no plan.
 * - `SameEnd`: the run did not complete with the outputs and variables of the undisturbed run.
 * - `AtLeastOnce`: a recorded unit never completed, or not since it was rewound, and no answer says that it is done.
 * - `AtMostOnce`: a non-idempotent unit that may have taken effect ran again without an answer.
 * - `SameKey`: a unit ran again under another idempotency key although it was not rewound and its job did not fail.
 * - `SameAttempt`: an attempt that was cut short was repeated under another number although no failure was recorded.
 * - `WaitKept`: a wait ended early, twice or without a record, its time changed, a later unit started before its end,
 *   an answer was lost or used twice, or a suspended task continued in another attempt or in dropped code.
 * - `Fenced`: a late call of a dead process took effect after another process had claimed the run.
 * - `Ends`: a process neither continued nor ended, or it threw, or more than ten in a row ended with a storage error.
 * - `Invariant`: one of your own invariants; `name` says which.
 *
 * @category model
 */
export type CrashLaw =
  | 'Undisturbed'
  | 'NothingLost'
  | 'NothingTwice'
  | 'DurableFirst'
  | 'OverrideKept'
  | 'EvidenceSeen'
  | 'PauseKept'
  | 'PauseMeant'
  | 'CancelKept'
  | 'NothingForgotten'
  | 'SameEnd'
  | 'AtLeastOnce'
  | 'AtMostOnce'
  | 'SameKey'
  | 'SameAttempt'
  | 'WaitKept'
  | 'Fenced'
  | 'Ends'
  | 'Invariant'

/**
 * How to repeat one simulated run: the crash points, the answer to questions about units in doubt, and the
 * interventions (default none).
 *
 * @category model
 */
export interface CrashCase {
  readonly schedule: CrashSchedule
  readonly answer: 'again' | 'done'
  readonly interventions?: ReadonlyArray<Intervention>
}

/**
 * A broken law. `what` is a sentence, `unit` the path of the unit, `only` the case to pass to `crashEverywhere` to
 * repeat it, `trace` the events up to it.
 *
 * @category model
 */
export interface Violation {
  readonly law: CrashLaw
  readonly what: string
  readonly unit?: string
  readonly name?: string
  readonly only: CrashCase
  readonly trace: Trace
}

/**
 * What a crash test tried and found, as plain data.
 *
 * - `points`: the crash points of the first process that were tried; with `only`, those of its points that were reached.
 * - `unreached`: the points and interventions of `only` that did not happen, although no law was broken before them. The
 *   workflow then no longer does what the case repeats.
 * - `runs`: the number of simulated runs, the undisturbed one included. `twice`: the sampled pairs of crashes.
 *   `overridden`: the runs with sampled interventions. `paused`: the requests that `pauses` tried. A case that is tried
 *   with both answers counts once here, and twice in `runs`.
 * - `seed`: the seed of the samples.
 * - `violations`: empty if all laws hold. The test ends after `stopAfter` of them.
 *
 * @category model
 */
export interface CrashReport {
  readonly workflow: string
  readonly points: ReadonlyArray<CrashPoint>
  readonly unreached: ReadonlyArray<CrashPoint | Intervention>
  readonly runs: number
  readonly twice: number
  readonly overridden: number
  readonly paused: number
  readonly seed: number
  readonly violations: ReadonlyArray<Violation>
}

/**
 * Renders a report: one line if all laws hold, else each violation with its case, its trace and the options that repeat
 * it. Another line names what `only` did not reach.
 *
 * @example
 * import { workflow } from 'dogear/promise'
 * import { crashEverywhere, CrashReport } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const report = await crashEverywhere(workflow('job').step('one', () => 1), { twice: 0 })
 * assert.match(CrashReport.toText(report), /^job: no violation in \d+ crash points/)
 *
 * @category destructors
 */
export const toText = (report: CrashReport): string => {
  const { workflow, points, unreached, runs, twice, overridden, paused, seed, violations } = report
  const more = [
    ...(paused === 0 ? [] : [`, ${paused} with a pause`]),
    ...(overridden === 0 ? [] : [`, ${overridden} with interventions`])
  ].join('')
  const tried = `${counted(points.length, 'crash point')}, ${counted(runs, 'run')}, ${twice} of them with two crashes${more} (seed ${seed})`
  const count = violations.length === 0 ? 'no violation' : counted(violations.length, 'violation')
  return [
    `${workflow}: ${count} in ${tried}`,
    ...(unreached.length === 0 ? [] : [`Not reached: ${unreached.map(describePart).join(', ')}; ${REMEDY}`]),
    ...violations.flatMap(describeViolation)
  ].join('\n')
}

const REMEDY = 'check the units and numbers in `only`, or test without it'

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

const describePart = (part: CrashPoint | Intervention): string =>
  'life' in part ? describeIntervention(part) : describePoint(part)

const describeViolation = ({ law, what, name, only, trace }: Violation): ReadonlyArray<string> => [
  '',
  `${law}${name === undefined ? '' : ` (${name})`}: ${what}`,
  `  ${describeCase(only)}`,
  ...trace.map((entry) => `    ${describeEntry(entry)}`),
  `  repeat with { only: ${JSON.stringify(only)} }`
]

const describeCase = (one: CrashCase): string => {
  const { schedule, interventions = [] } = one
  return isUndisturbed(one)
    ? 'no crash'
    : [
        ...(schedule.length === 0 ? [] : [schedule.map(describePoint).join(', then ')]),
        ...interventions.map(describeIntervention)
      ].join('; ')
}

export const isUndisturbed = ({ schedule, interventions = [] }: CrashCase): boolean =>
  schedule.length === 0 && interventions.length === 0

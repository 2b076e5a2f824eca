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
 * What does not hold.
 *
 * - `Undisturbed`: the workflow does not complete even if nothing goes wrong. Nothing else was tried then.
 * - `NothingLost`: what was acknowledged is not there any more, or is not given to the next process; or what ended well in a
 *   process that ended by itself is not recorded.
 * - `NothingTwice`: a unit that is recorded completed, or whose job is pending, ran again, or its record was taken back; and nobody
 *   said so, and its evidence stands.
 * - `DurableFirst`: an attempt began, or work went on, before what it follows from was on record.
 * - `OverrideKept`: what a process was told does not hold: other records are taken back than follow from it, or something counts that
 *   was taken back, or is taken as done though nobody said so; or it was refused, and something changed.
 * - `EvidenceSeen`: evidence of a unit is missing, and other records are rewound than its own and later ones; or evidence was
 *   edited, and work went on before an answer, or against it.
 * - `PauseKept`: a process agreed to pause and started something more, cut off what ran, ended otherwise, or did not record it; or who
 *   asked was told what is not so; or the request or the pointer are not as a process leaves them that ends by itself.
 * - `PauseMeant`: a process has paused, and nobody had asked it to, though its store could tell it whom a request is for.
 * - `CancelKept`: a run was cancelled, and a unit that had not started began all the same, or an owner ended by itself and left the
 *   run with another status.
 * - `NothingForgotten`: a unit is neither recorded nor scheduled, or no plan can be made.
 * - `SameEnd`: the run ended otherwise than undisturbed: not completed, or with other outputs or variables.
 * - `AtLeastOnce`: a unit is recorded completed, nobody said that it is done, and it never ended well, or not since it was taken
 *   back.
 * - `AtMostOnce`: a unit that is not idempotent and may have had its effect ran again, and nobody said so.
 * - `SameKey`: a unit got another idempotency key when it ran again, though it was not taken back itself, and no job of it had ended
 *   badly.
 * - `SameAttempt`: an attempt that was cut short was repeated as another one, though no process had recorded that its unit failed.
 * - `WaitKept`: a wait ended before its time, twice or without its end on record, its time changed, or what comes after it started before; an
 *   answer was lost or taken twice; or a suspended task went on in another attempt, or with code that was dropped.
 * - `Fenced`: a call of a dead process, arriving late, took effect after another had claimed the run.
 * - `Ends`: a process neither went on nor ended.
 * - `Invariant`: one of your own; `name` says which.
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
 * How to repeat one simulated run: where its processes die, what is answered when a unit is in doubt, and what somebody does
 * between two processes or while one runs (default: nothing).
 *
 * @category model
 */
export interface CrashCase {
  readonly schedule: CrashSchedule
  readonly answer: 'again' | 'done'
  readonly interventions?: ReadonlyArray<Intervention>
}

/**
 * Something that does not hold. `what` is a sentence, `unit` the `step` or `step/group` that it is about, `only` what to pass to
 * `crashEverywhere` to see exactly this again, `trace` what happened up to there.
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
 * - `points`: every place where the one process of a run was killed, or its store failed it.
 * - `runs`: how many runs were simulated, the undisturbed one among them; `twice`: how many of them were killed twice; `overridden`:
 *   how many with interventions.
 * - `paused`: how many ways it was asked to pause, and died or not.
 * - `seed`: what the second points and the interventions were sampled with.
 * - `violations`: empty if all holds. The test ends after `stopAfter` of them.
 *
 * @category model
 */
export interface CrashReport {
  readonly workflow: string
  readonly points: ReadonlyArray<CrashPoint>
  readonly runs: number
  readonly twice: number
  readonly overridden: number
  readonly paused: number
  readonly seed: number
  readonly violations: ReadonlyArray<Violation>
}

/**
 * A report as text for people: one line if all holds, else for each violation what, where, what happened, and what to pass
 * to repeat it.
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
  const { workflow, points, runs, twice, overridden, paused, seed, violations } = report
  const more = [
    ...(paused === 0 ? [] : [`, ${paused} with a pause`]),
    ...(overridden === 0 ? [] : [`, ${overridden} with interventions`])
  ].join('')
  const tried = `${points.length} crash points, ${runs} runs, ${twice} of them with two crashes${more} (seed ${seed})`
  const count =
    violations.length === 0
      ? 'no violation'
      : violations.length === 1
        ? '1 violation'
        : `${violations.length} violations`
  return [`${workflow}: ${count} in ${tried}`, ...violations.flatMap(describeViolation)].join('\n')
}

const describeViolation = ({ law, what, name, only, trace }: Violation): ReadonlyArray<string> => [
  '',
  `${law}${name === undefined ? '' : ` (${name})`}: ${what}`,
  `  ${describeCase(only)}`,
  ...trace.map((entry) => `    ${describeEntry(entry)}`),
  `  repeat with { only: ${JSON.stringify(only)} }`
]

const describeCase = ({ schedule, interventions = [] }: CrashCase): string => {
  const told = interventions.map(describeIntervention)
  return told.length === 0 && schedule.length === 0
    ? 'undisturbed'
    : [...(schedule.length === 0 ? [] : [schedule.map(describePoint).join(', then ')]), ...told].join('; ')
}

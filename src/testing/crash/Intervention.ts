/** What users and other processes do between two processes of a run, or while one runs. */
import type { Json } from '../../domain/data/Json.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { isWithin } from '../../domain/workflow/Unit.js'
import type { Table } from '../byTag.js'
import { byTag } from '../byTag.js'

/**
 * Process number `life` (from 1) starts from this step. Earlier units are assumed done, with their outputs of the
 * undisturbed run.
 *
 * @category model
 */
export interface FromStep {
  readonly _tag: 'FromStep'
  readonly life: number
  readonly step: string
}

/**
 * Process number `life` (from 1) restarts this sequence, wave or map: all its parts and everything after it run.
 *
 * @category model
 */
export interface RestartWave {
  readonly _tag: 'RestartWave'
  readonly life: number
  readonly wave: string
}

/**
 * Before process number `life` (from 1) starts, a user deletes the files and commits that are evidence of this unit: a
 * path, or the name of a wave for evidence of the whole wave. Nothing happens if the unit has no record or no evidence.
 *
 * @category model
 */
export interface DeleteEvidence {
  readonly _tag: 'DeleteEvidence'
  readonly life: number
  readonly unit: string
}

/**
 * Before process number `life` (from 1) starts, a user edits the artifacts of this unit. Questions about edited artifacts get the
 * `answer` of the latest edit, in this process and in later ones. Nothing happens if the unit has no record or no artifacts.
 *
 * @category model
 */
export interface EditEvidence {
  readonly _tag: 'EditEvidence'
  readonly life: number
  readonly unit: string
  readonly answer: 'again' | 'keep' | 'done'
}

/**
 * An override of one process. Later processes resume without it, as after a crash in the middle of a `--force`.
 *
 * @category model
 */
export type Override = FromStep | RestartWave

/** Returns whether an override may run the unit again: `FromStep` any unit, `RestartWave` those inside what it names. */
export const isForced = (unit: Unit, override: Override | undefined): boolean =>
  override?._tag === 'FromStep' || (override?._tag === 'RestartWave' && isWithin(unit, override.wave))

/**
 * While process number `life` (from 1) runs this unit for the first time, another process pauses the run. Nothing
 * happens if the process dies before that.
 *
 * - `during` (the default): the unit ends only once the requester has its reply.
 * - `late`: the request arrives only after the next process has claimed the run. It then addresses no process and must
 *   have no effect.
 *
 * @category model
 */
export interface Pause {
  readonly _tag: 'Pause'
  readonly life: number
  readonly unit: string
  readonly when?: 'during' | 'late'
}

/**
 * Another process pauses the run during the `n`-th store call (from 1) of process number `life` (from 1), `before` or
 * `after` the call takes effect. The call continues when the requester has its reply.
 *
 * @category model
 */
export interface PauseAtCall {
  readonly _tag: 'PauseAtCall'
  readonly life: number
  readonly n: number
  readonly how: 'before' | 'after'
}

/**
 * While process number `life` (from 1) runs this unit for the first time, another process cancels the run. A later process that is
 * refused reopens it. Nothing happens if the process dies before that.
 *
 * @category model
 */
export interface Cancel {
  readonly _tag: 'Cancel'
  readonly life: number
  readonly unit: string
}

/**
 * The unit is answered before the `n`-th time (from 1) that process number `life` (from 1) starts or resumes the run, whether the unit waits
 * or not. A process resumes the run again when it was pending or cancelled, or had questions. `value`: an answer that the unit may reject;
 * the default is what `reply` of `crashEverywhere` returns.
 *
 * @category model
 */
export interface AnswerWait {
  readonly _tag: 'AnswerWait'
  readonly life: number
  readonly n: number
  readonly unit: string
  readonly value?: Json
}

/**
 * A request of another process while one runs.
 *
 * @category model
 */
export type ConcurrentRequest = Pause | PauseAtCall | Cancel

/**
 * What users and other processes do between two processes of a run, or while one runs (`Pause`, `PauseAtCall`,
 * `Cancel`).
 *
 * @category model
 */
export type Intervention = Override | DeleteEvidence | EditEvidence | ConcurrentRequest | AnswerWait

const DESCRIPTIONS: Table<Intervention, string> = {
  FromStep: ({ life, step }) => `process ${life} starts from ${step}`,
  RestartWave: ({ life, wave }) => `process ${life} restarts ${wave}`,
  DeleteEvidence: ({ life, unit }) => `before process ${life} a user deletes the evidence of ${unit}`,
  EditEvidence: ({ life, unit, answer }) =>
    `before process ${life} a user edits the evidence of ${unit} and answers ${answer}`,
  Pause: ({ life, unit, when }) =>
    `process ${life} gets a pause request while ${unit} runs${when === 'late' ? ', which arrives only at the next process' : ''}`,
  Cancel: ({ life, unit }) => `process ${life} gets a cancel request while ${unit} runs`,
  AnswerWait: ({ life, unit, value, n }) =>
    `process ${life} answers ${unit}${value === undefined ? '' : ` with ${JSON.stringify(value)}`} before run ${n}`,
  PauseAtCall: ({ life, how, n }) => `process ${life} gets a pause request ${how} its store call ${n} takes effect`
}

/** The kinds of interventions. */
export const INTERVENTIONS = Object.keys(DESCRIPTIONS)

export const describeIntervention = (one: Intervention): string => byTag(one, DESCRIPTIONS)

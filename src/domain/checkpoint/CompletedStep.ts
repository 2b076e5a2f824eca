/** The record of a unit that ended well: what it is worth to a resume. */
import type { Json } from '../data/Json.js'
import type { SubStep } from './SubStep.js'
import type { Unit } from '../workflow/Unit.js'

/**
 * Something that must still exist for a completed step to count: a file or folder with this content, a commit, a file, an
 * artifact of the run with this content.
 *
 * @category model
 */
export type Evidence =
  | { readonly _tag: 'Artifact'; readonly path: string; readonly size: number; readonly sha256: string }
  | { readonly _tag: 'Commit'; readonly hash: string }
  | { readonly _tag: 'File'; readonly path: string }
  | { readonly _tag: 'Stored'; readonly id: string; readonly size: number; readonly sha256: string }

/**
 * What a unit is to leave when it has ended well, of which evidence is then taken: a file or folder whose content counts, a
 * commit, a file that has to be there.
 *
 * @category model
 */
export type ExpectedEvidence =
  | { readonly _tag: 'Artifact'; readonly path: string }
  | { readonly _tag: 'Commit'; readonly hash: string }
  | { readonly _tag: 'File'; readonly path: string }

/**
 * A unit that completed. `stepIndex`: the index of its top-level step, from 0.
 *
 * - `fingerprint`: of the definition that ran.
 * - `output`: what it gave, absent if nothing; `captured`: the variables that have this output as their value.
 * - `attempts`: how many it took; 0 if it never ran, which is so only with `assumed`.
 * - `startedAt` and `completedAt`: UTC, ISO 8601.
 * - `assumed`: a person or the host said that it is done.
 * - `subStep`: what is recorded of the call, if it is a sub-step of a task. Its fingerprint is that of the task.
 * - `inDoubt`: of a task, the sub-steps that failed, are not idempotent, and may have acted.
 *
 * @category model
 */
export interface CompletedStep {
  readonly unit: Unit
  readonly stepIndex: number
  readonly fingerprint: string
  readonly output?: Json
  readonly captured: ReadonlyArray<string>
  readonly attempts: number
  readonly startedAt: string
  readonly completedAt: string
  readonly durationMillis: number
  readonly evidence: ReadonlyArray<Evidence>
  readonly assumed?: true
  readonly subStep?: SubStep
  readonly inDoubt?: ReadonlyArray<Unit>
}

/** Describes one piece of evidence. */
export const describeEvidence = (evidence: Evidence | ExpectedEvidence): string => {
  switch (evidence._tag) {
    case 'Artifact':
    case 'File':
      return evidence.path
    case 'Commit':
      return `commit ${evidence.hash}`
    case 'Stored':
      return `artifact ${evidence.id}`
  }
}

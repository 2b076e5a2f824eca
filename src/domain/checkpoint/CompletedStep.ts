/** The record of a completed unit. */
import type { Json } from '../data/Json.js'
import { fieldsOf, isText } from '../data/Options.js'
import type { SubStep } from './SubStep.js'
import type { Unit } from '../workflow/Unit.js'

/**
 * Something that must still exist for a completed unit to count: a file or folder with this content (`Artifact`) or with any content
 * (`File`), a commit, or a stored artifact with this content.
 *
 * @category model
 */
export type Evidence =
  | { readonly _tag: 'Artifact'; readonly path: string; readonly size: number; readonly sha256: string }
  | { readonly _tag: 'Commit'; readonly hash: string }
  | { readonly _tag: 'File'; readonly path: string }
  | { readonly _tag: 'Stored'; readonly id: string; readonly size: number; readonly sha256: string }

/**
 * Evidence that a unit must produce: a file or folder whose content is recorded (`Artifact`) or that only must exist (`File`), or a commit.
 *
 * @category model
 */
export type ExpectedEvidence =
  | { readonly _tag: 'Artifact'; readonly path: string }
  | { readonly _tag: 'Commit'; readonly hash: string }
  | { readonly _tag: 'File'; readonly path: string }

/**
 * A completed unit. `stepIndex`: the index of its top-level step, from 0.
 *
 * - `fingerprint`: of the definition that ran.
 * - `output`: its output, absent if there was none; `captured`: the variables that have this output as value.
 * - `attempts`: their number; 0 if it never ran, which requires `assumed`.
 * - `startedAt`, `completedAt`: UTC, ISO 8601.
 * - `assumed`: a user or host declared it done.
 * - `subStep`: the recorded call of a sub-step. `fingerprint` is then that of its task.
 * - `inDoubt`: its failed sub-steps, or nested ones of a sub-step, that are not idempotent and may have acted.
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

/** Detects evidence that names a place; untyped hosts may pass anything. */
export const isEvidence = (value: unknown): boolean => {
  const { _tag, id } = fieldsOf(value)
  return _tag === 'Stored' ? isText(id) : isExpectedEvidence(value)
}

/** Checks a value from a host, because untyped hosts may pass anything. */
export const isExpectedEvidence = (value: unknown): value is ExpectedEvidence => {
  const { _tag, path, hash } = fieldsOf(value)
  return _tag === 'Commit' ? isText(hash) : (_tag === 'Artifact' || _tag === 'File') && isText(path)
}

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

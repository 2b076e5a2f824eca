/** The context in which a workflow file is decoded. */
import type * as E from 'fp-ts/lib/Either.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Position, Problem, Report } from '../Problem.js'
import type { Source } from '../Source.js'

/** `name`: the default name of the workflow; `shown`: the path in messages. */
export interface WorkflowText {
  readonly path: string
  readonly shown: string
  readonly name: string
  readonly source: E.Either<ReadonlyArray<Problem>, Source>
}

export type Include = (from: WorkflowText, name: string) => E.Either<string, WorkflowText>

/** `from`: the including files, the innermost last; `seen` counts the steps of all files. */
export interface Reading {
  readonly report: Report
  readonly warn: Report
  readonly include: Include
  readonly from: ReadonlyNonEmptyArray<WorkflowText>
  readonly seen: { steps: number }
  /** The step around the value. */
  readonly unit: { readonly at: Position; readonly name: string }
}

/** What the values of a workflow file are read with. */
import type * as E from 'fp-ts/lib/Either.js'
import type { ReadonlyNonEmptyArray } from 'fp-ts/lib/ReadonlyNonEmptyArray.js'
import type { Position, Problem, Report } from '../Problem.js'
import type { Source } from '../Source.js'

/** A workflow file as text that was parsed. `name`: that of the workflow if it gives itself none; `shown`: that of the file in messages. */
export interface WorkflowText {
  readonly path: string
  readonly shown: string
  readonly name: string
  readonly source: E.Either<ReadonlyArray<Problem>, Source>
}

/** Reads the file that another one includes under this name, or says why it can't be read. */
export type Include = (from: WorkflowText, name: string) => E.Either<string, WorkflowText>

/** The context of a value. `from`: the files around it, the innermost last; `seen` counts the steps of all of them. */
export interface Reading {
  readonly report: Report
  readonly warn: Report
  readonly include: Include
  readonly from: ReadonlyNonEmptyArray<WorkflowText>
  readonly seen: { steps: number }
  /** The name of the step around the value, and where that is written. */
  readonly unit: { readonly at: Position; readonly name: string }
}

/** The last line of a run: how it ended, how long it took, and how many tasks ended in which way. */
import { definitionAt, isComposite } from '../../domain/workflow/Node.js'
import type { RunOutcome } from '../../executor/RunOutcome.js'
import { counted, duration, grouped } from '../../view/text.js'
import type { StepEntry } from '../workflow/WorkflowFile.js'
import type { LiveRun } from './LiveRun.js'

/** Detects a resume that had nothing to do. */
export const isNothingLeft = ({ loaded, decisions }: LiveRun): boolean =>
  loaded.completed === loaded.total && [...decisions.values()].every(({ _tag }) => _tag === 'Skip')

/** For example `Run completed in 3.1 s: 2 steps ran, 2 skipped`. */
export const completedText = (run: LiveRun): string => `Run completed in ${counts(run, 'ran')}`

/** The end of the last line of a run that did not complete: `after 0.4 s: 1 step completed, 1 failed`. */
export const summaryOf = (run: LiveRun, outcome: RunOutcome): string => `after ${counts(run, 'completed', outcome)}`

const counts = (run: LiveRun, completed: string, outcome?: RunOutcome): string => {
  const { tally, steps, now, since } = run
  const all = [...tally.ends.values()]
  const of = (end: string): number => all.filter((one) => one === end).length
  const pending = outcome?._tag === 'Pending' ? outcome.units.length : 0
  const noun = steps.some(isComposite) ? 'task' : 'step'
  const ends = [
    [of('completed'), completed],
    [of('failed'), 'failed'],
    [pending, 'pending'],
    [of('skipped'), 'skipped']
  ] as const
  const [first, ...others] = ends.filter(([count]) => count > 0)
  const parts = [
    ...(first === undefined ? [] : [`${counted(first[0], noun)} ${first[1]}`]),
    ...others.map(([count, end]) => `${grouped(count)} ${end}`),
    ...compositesFailed(run, outcome),
    ...(tally.retries === 0 ? [] : [tally.retries === 1 ? '1 retry' : `${grouped(tally.retries)} retries`])
  ]
  return [duration(now() - since), ...(parts.length === 0 ? [] : [parts.join(', ')])].join(': ')
}

/** The composites that themselves failed, such as by a check: no task of theirs did. */
const compositesFailed = ({ steps }: LiveRun, outcome?: RunOutcome): ReadonlyArray<string> => {
  const failures = outcome?._tag === 'Failed' ? outcome.failures : []
  const kinds = failures.map(({ unit }) => definitionAt<StepEntry>({ steps }, unit)?._tag)
  return (['Sequence', 'Wave', 'Map'] as const).flatMap((kind) => {
    const count = kinds.filter((one) => one === kind).length
    return count === 0 ? [] : [`${counted(count, kind.toLowerCase())} failed`]
  })
}

/** The last line of a run: how it ended, how long it took, and how many tasks ended in which way. */
import { isComposite } from '../../domain/workflow/Node.js'
import type { RunOutcome } from '../../executor/RunOutcome.js'
import { counted, duration, grouped } from '../../view/text.js'
import type { LiveRun } from './LiveRun.js'

/** Detects a resume that had nothing to do. */
export const isNothingLeft = ({ loaded, steps, decisions }: LiveRun): boolean =>
  loaded === steps.length && [...decisions.values()].every(({ _tag }) => _tag === 'Skip')

/** For example `Run completed in 3.1 s: 2 steps ran, 2 skipped`. */
export const completedText = (run: LiveRun): string => `Run completed in ${counts(run, 'ran')}`

/** The end of the last line of a run that did not complete: `after 0.4 s: 1 step completed, 1 failed`. */
export const summaryOf = (run: LiveRun, outcome: RunOutcome): string =>
  `after ${counts(run, 'completed', outcome._tag === 'Pending' ? outcome.units.length : 0)}`

const counts = ({ tally, steps, now, since }: LiveRun, completed: string, pending = 0): string => {
  const noun = steps.some(isComposite) ? 'task' : 'step'
  const ends = [
    [tally.completed.size, completed],
    [tally.failed.size, 'failed'],
    [pending, 'pending'],
    [tally.skipped.size, 'skipped']
  ] as const
  const [first, ...others] = ends.filter(([count]) => count > 0)
  const parts = [
    ...(first === undefined ? [] : [`${counted(first[0], noun)} ${first[1]}`]),
    ...others.map(([count, end]) => `${grouped(count)} ${end}`),
    ...(tally.retries === 0 ? [] : [tally.retries === 1 ? '1 retry' : `${grouped(tally.retries)} retries`])
  ]
  return [duration(now() - since), ...(parts.length === 0 ? [] : [parts.join(', ')])].join(': ')
}

/** Hints for runs and workflow files that were not found. */
import type { Status } from '../../../domain/checkpoint/Checkpoint.js'
import { isFinal } from '../../../domain/checkpoint/Checkpoint.js'
import type { WorkflowIdentity } from '../../../domain/workflow/WorkflowIdentity.js'
import type { Hint } from '../../report/Hint.js'
import type { Place } from '../Context.js'
import { hintTo, showHint } from '../Context.js'

/** For a workflow without runs. */
export const ofNoRunOf = (place: Place, shown: string): ReadonlyArray<Hint> => [
  ...ofNoRun(place),
  hintTo(place, 'Start one:', ['run', shown])
]

/** `tooShortFor`: the minimum length of an id prefix, if this one is shorter. */
export const ofNoRun = ({ store }: Place, tooShortFor?: number): ReadonlyArray<Hint> => [
  { text: `Looked in ${store.shown}` },
  ...(tooShortFor === undefined ? [] : [{ text: `An id prefix needs at least ${tooShortFor} characters` }])
]

/** For a workflow file passed in place of a run. */
export const ofFile = (file: string): Hint => ({
  text: `${file} is a file: this command takes the id of a run; "dogear run" takes a file`
})

/** For a run whose workflow file is unreadable. */
export const ofMissingFile = (place: Place, runId: string): ReadonlyArray<Hint> => [
  { text: `Run ${runId} was started from it; restore it, then resume` },
  hintTo(place, 'Or, if it was moved, resume with its new path:', ['run', 'NEWPATH', '--id', runId, '--resume'])
]

/** For a resume without a resumable run: lists the active runs, or the command that lists all. */
export const ofNothing = (place: Place, active: ReadonlyArray<string>, total: number): ReadonlyArray<Hint> => {
  if (active.length > 0) return [{ text: 'In progress:' }, ...active.map((text) => ({ text }))]
  return total === 0 ? [{ text: `Looked in ${place.store.shown}` }] : []
}

/** `status`: unless the run can be resumed anyway. */
export const ofResume = (
  place: Place,
  runId: string,
  { path }: Pick<WorkflowIdentity, 'path'>,
  status?: Status
): Hint =>
  status !== undefined && isFinal(status)
    ? showHint(place, runId)
    : path === undefined
      ? showHint(place, runId, 'Resume it in the program that started it. Show it with:')
      : hintTo(place, 'Resume with:', ['resume', runId])

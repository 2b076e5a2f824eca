/**
 * What to do where a run, or a workflow file, was not found.
 *
 * @since 0.1.0
 */
import type { Hint } from '../report/Hint.js'
import type { Typed } from './Context.js'
import { dogearCommand } from './Context.js'

type Place = Omit<Typed, 'words'>

/**
 * For a workflow that has no run yet.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofNoRunOf = (place: Place, shown: string): ReadonlyArray<Hint> => [
  ...ofNoRun(place),
  { text: 'Start one:', command: dogearCommand(place, ['run', shown]) }
]

/**
 * For a run that was not found: where it was looked for. `tooShortFor`: how many characters the beginning of an id needs,
 * if these were too few.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofNoRun = ({ home }: Place, tooShortFor?: number): ReadonlyArray<Hint> => [
  { text: `Looked in ${home}` },
  ...(tooShortFor === undefined ? [] : [{ text: `The beginning of an id needs at least ${tooShortFor} characters` }])
]

/**
 * For a workflow file that was named in place of a run.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofFile = (file: string): Hint => ({
  text: `${file} is a file: "dogear run" takes a file, this command takes the id of a run`
})

/**
 * For a run whose workflow file can't be read.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofMissingFile = (place: Place, runId: string): ReadonlyArray<Hint> => [
  { text: `Run ${runId} was started from it. Put it back, then resume` },
  {
    text: 'Or, if it was moved, go on with the file where it is now:',
    command: dogearCommand(place, ['run', 'NEWPATH', '--id', runId, '--resume'])
  }
]

/**
 * Where no run can be resumed: those in progress, or where to find all.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofNothing = (place: Place, active: ReadonlyArray<string>, total: number): ReadonlyArray<Hint> => {
  if (active.length > 0) return [{ text: 'In progress:' }, ...active.map((text) => ({ text }))]
  return total === 0 ? [{ text: `Looked in ${place.home}` }] : []
}

/** Suggests what to do with a run, as commands to copy; also with one that was not found. */
import type { Checkpoint, Move, Status } from '../../../domain/checkpoint/Checkpoint.js'
import { isFinal } from '../../../domain/checkpoint/Checkpoint.js'
import { overAt } from '../../../domain/checkpoint/Due.js'
import type { PendingUnit } from '../../../domain/checkpoint/Pending.js'
import { has } from '../../../domain/checkpoint/Units.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import type { WorkflowIdentity } from '../../../domain/workflow/WorkflowIdentity.js'
import type { RunError } from '../../../executor/errors/RunError.js'
import type { RunSummary } from '../../../executor/storage/runs.js'
import type { Holder } from '../../../ports/CheckpointStorage.js'
import type { Hint } from '../../report/Hint.js'
import { nowText, positionOf } from '../../report/text.js'
import { commandOf } from '../../terminal/shellQuote.js'
import type { Place } from '../Context.js'
import { dogearCommand, hintTo, showHint } from '../Context.js'
import type { Difference } from '../execution/input.js'
import { describeDifference } from '../execution/input.js'
import type { PrintedFlags } from '../execution/planFlags.js'
import { resumeHint } from '../execution/planFlags.js'

/** The commands that end the waits of a run: a poll of its jobs, and an answer to the first unit that waits for one. */
export const ofPending = (place: Place, { runId, pending, answers }: Checkpoint): ReadonlyArray<Hint> => {
  const waits = [...pending]
  const now = nowText()
  const isOpen = (one: PendingUnit): boolean =>
    one._tag === 'Answer' && overAt(one, has(answers, one.unit), now) === undefined
  const unit = waits.find(isOpen)?.unit
  const jobs = waits.filter(({ _tag }) => _tag === 'Job').length
  return [
    ...(jobs === 0 ? [] : [hintTo(place, `Poll the ${jobs === 1 ? 'job' : 'jobs'} with:`, ['poll', runId])]),
    ...(unit === undefined ? [] : [answerHint(place, runId, unit)])
  ]
}

export const answerHint = (place: Place, runId: string, unit: Unit, text = `Answer ${unit} with:`): Required<Hint> =>
  hintTo(place, text, ['answer', runId, unit, '--value', 'JSON'])

export const ofMove = (place: Place, runId: string, { way, store }: Move): Hint => ({
  text: 'Finish the move with:',
  command:
    way === 'to'
      ? dogearCommand(place, ['move', runId, '--to', store])
      : commandOf(['dogear', 'move', runId, '--to', place.store.shown, '--store', store])
})

/** For a run that another process took over or deleted. */
export const ofLostRun = (place: Place, runId: string, isThere: boolean): Hint =>
  isThere ? showHint(place, runId) : hintTo(place, 'It no longer exists. List the runs with:', ['runs'])

export const ofHeld = (
  place: Place,
  runId: string,
  { liveness }: Holder,
  flags: PrintedFlags = {}
): ReadonlyArray<Hint> =>
  liveness === 'alive'
    ? flags.takeOver === true
      ? [{ text: '--take-over was refused: the owner is proven alive' }]
      : []
    : [resumeHint(place, 'If you know that it is dead, take the run over:', runId, { ...flags, takeOver: true })]

/** For a run whose workspace is missing; `--force` creates a new one, unless the folder is the user's. */
export const ofMissingWorkspace = (
  place: Place,
  { runId, kind }: RunError & { readonly _tag: 'WorkspaceMissing' }
): ReadonlyArray<Hint> =>
  kind === 'none'
    ? [{ text: 'Nothing ran. Create the folder again with the missing files, or start a new run' }]
    : [resumeHint(place, 'Nothing ran. To start over with a new workspace:', runId, { force: true })]

export const ofExisting = (place: Place, runId: string): ReadonlyArray<Hint> => [
  resumeHint(place, 'To resume it:', runId)
]

/** For a new run whose id is in use. `start`: the words that start a run with another id. */
export const ofTaken = (place: Place, run: RunSummary, start: ReadonlyArray<string>): ReadonlyArray<Hint> => {
  const { runId, workflow, status } = run
  const its = { text: `It is a run of ${workflow.name}: ${positionOf(run)}` }
  if (workflow.path === undefined)
    return [its, showHint(place, runId, 'A program started it. Show it with:'), another(place, start)]
  switch (status) {
    case 'completed':
      return [
        its,
        resumeHint(place, 'To run it again, from the first step:', runId, { force: true }),
        another(place, start)
      ]
    case 'cancelled':
      return [its, resumeHint(place, 'To resume it anyway:', runId, { reopen: true }), another(place, start)]
    case 'moved':
      return [its, showHint(place, runId), another(place, start)]
    default:
      return [its, ...ofExisting(place, runId)]
  }
}

const another = (place: Place, start: ReadonlyArray<string>): Hint =>
  hintTo(place, 'To start a run with a generated id:', start)

/** For a run with another input. `given`: the new input as words; `start`: the words that start a run with it. */
export const ofOtherInput = (
  place: Place,
  runId: string,
  how: PrintedFlags,
  differences: ReadonlyArray<Difference>,
  given: ReadonlyArray<string>,
  start: ReadonlyArray<string>
): ReadonlyArray<Hint> => [
  ...differences.map((one) => ({ text: `  ${describeDifference(one)}` })),
  resumeHint(place, 'To resume with its recorded input:', runId, how),
  hintTo(place, 'To use the new input from a step on:', ['resume', runId, '--from-step', 'STEP', ...given]),
  hintTo(place, 'To start a new run with the new input:', start)
]

export const OF_DAMAGE = 'To resume from the recovered state:'

export const ofDamage = (place: Place, runId: string, flags: PrintedFlags): ReadonlyArray<Hint> => [
  resumeHint(place, OF_DAMAGE, runId, { ...flags, yes: true })
]

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

/** For a resume without a resumable run: lists the runs in progress, or where runs were looked for. */
export const ofNothing = (place: Place, active: ReadonlyArray<string>, total: number): ReadonlyArray<Hint> => {
  if (active.length > 0) return active.map((text) => ({ text: `  ${text}` }))
  return total === 0 ? [{ text: `Looked in ${place.store.shown}` }] : []
}

/** `status` is given if the run may be final. */
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

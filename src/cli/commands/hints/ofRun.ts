/** Suggests what to do with a run, as commands to copy; also with one that was not found. */
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint, Move } from '../../../domain/checkpoint/Checkpoint.js'
import { isFinal, status } from '../../../domain/checkpoint/Checkpoint.js'
import { overAt } from '../../../domain/checkpoint/Due.js'
import type { PendingUnit } from '../../../domain/checkpoint/Pending.js'
import { get, has } from '../../../domain/checkpoint/Units.js'
import type { Unit } from '../../../domain/workflow/Unit.js'
import type { RunView } from '../../../executor/storage/runs.js'
import type { Holder } from '../../../ports/CheckpointStorage.js'
import type { StoredRun } from '../../CliError.js'
import type { Hint } from '../../report/Hint.js'
import { holderText, nowText, positionOf, processText } from '../../report/text.js'
import { show } from '../../store/Location.js'
import { commandOf } from '../../../domain/explain/shellQuote.js'
import type { Flags, Place, Typed } from '../Context.js'
import { dogearCommand, hintTo, showHint } from '../Context.js'
import { resumeHint } from '../execution/planFlags.js'

/** The commands that continue a run; one that only its owner or program continues is shown. `text`: before the command that resumes it. */
export const continuing = (
  place: Place,
  { checkpoint, heldBy }: Pick<RunView, 'checkpoint' | 'heldBy'>,
  text = 'Resume with:',
  unit?: Unit
): ReadonlyArray<Hint> => {
  const { runId, workflow } = checkpoint
  if (O.isSome(heldBy)) {
    const { value: owner } = heldBy
    if (owner.liveness === 'alive')
      return [showHint(place, runId, `It is in progress: ${processText(owner)}. Show it with:`)]
    return ofHeld(place, checkpoint, owner).map((hint) => ({
      ...hint,
      text: `It is held by ${holderText(owner)}. ${hint.text}`
    }))
  }
  const now = status(checkpoint, false)
  if (now === 'cancelled' && workflow.path !== undefined) return reopening(place, checkpoint)
  if (isFinal(now)) return [showHint(place, runId)]
  const [waits, later] = ofWaits(place, checkpoint, unit)
  // False if a resume now continues with other units, or may.
  const isForLater = now === 'pending' ? waits.length + later.length > 0 : later.length > 0 && sleeps(checkpoint)
  return isForLater && ![...checkpoint.pending].some(isOver(checkpoint))
    ? [...waits, ...later]
    : [...waits, resumeHint(place, text, checkpoint)]
}

/** True of a run that was paused while its current step slept. */
const sleeps = ({ state, pending }: Checkpoint): boolean =>
  state._tag === 'Interrupted' && state.reason === 'paused' && get(pending, state.step)?._tag === 'Timer'

/** The command that resumes a cancelled run, if its workflow is a file. */
export const reopening = (
  place: Place,
  checkpoint: Checkpoint,
  text = 'It is cancelled. To resume it anyway:'
): ReadonlyArray<Hint> =>
  checkpoint.workflow.path === undefined ? [] : [resumeHint(place, text, checkpoint, { reopen: true })]

/** The commands that end the waits of a run: a poll of its jobs, an answer to the first that waits for one; and a later resume, if it only waits. */
export const ofPending = (place: Place, checkpoint: Checkpoint): ReadonlyArray<Hint> => {
  const [waits, later] = ofWaits(place, checkpoint)
  return status(checkpoint, false) === 'pending' || sleeps(checkpoint) ? [...waits, ...later] : waits
}

/** A poll of the jobs of a run and an answer to `unit`, or else to the first that waits for one; and a later resume. */
const ofWaits = (
  place: Place,
  checkpoint: Checkpoint,
  unit?: Unit
): readonly [ReadonlyArray<Hint>, ReadonlyArray<Hint>] => {
  const { runId, workflow } = checkpoint
  const open = [...checkpoint.pending].filter((one) => !isOver(checkpoint)(one))
  const jobs = open.filter(({ _tag }) => _tag === 'Job').length
  const asked = open.flatMap((one) => (one._tag === 'Answer' ? [one.unit] : []))
  const [answered] = unit !== undefined && asked.includes(unit) ? [unit] : asked
  const [wakeAt] = open.flatMap((one) => (one._tag === 'Timer' ? [one.wakeAt] : [])).sort()
  return [
    [
      ...(jobs === 0 ? [] : [hintTo(place, `Poll the ${jobs === 1 ? 'job' : 'jobs'} with:`, ['poll', runId])]),
      ...(answered === undefined ? [] : [answerHint(place, runId, answered)])
    ],
    wakeAt === undefined || workflow.path === undefined
      ? []
      : [resumeHint(place, `Resume at ${wakeAt} or later with:`, checkpoint)]
  ]
}

const isOver =
  ({ answers }: Checkpoint) =>
  (one: PendingUnit): boolean =>
    overAt(one, has(answers, one.unit), nowText()) !== undefined

export const answerHint = (place: Place, runId: string, unit: Unit): Required<Hint> =>
  hintTo(place, `Answer ${unit} with:`, ['answer', runId, unit, '--value', 'JSON'])

export const ofMove = (place: Place, runId: string, { way, store }: Move): Hint => ({
  text: 'Finish the move with:',
  command:
    way === 'to'
      ? dogearCommand(place, ['move', runId, '--to', store])
      : commandOf(['dogear', 'move', runId, '--to', show(place.store.location), '--store', store])
})

/** Says why a living owner keeps its run. */
export const ofTakeOver = ({ takeOver }: Flags): ReadonlyArray<Hint> =>
  takeOver === true ? [{ text: '--take-over was refused: the owner is proven alive' }] : []

export const ofHeld = (place: Place, run: StoredRun, { liveness }: Holder, flags: Flags = {}): ReadonlyArray<Hint> =>
  liveness === 'alive'
    ? ofTakeOver(flags)
    : [resumeHint(place, 'If you know that it is dead, take the run over:', run, { ...flags, takeOver: true })]

/** For a new run whose id is in use. `start`: the words that start a run with another id. */
export const ofTaken = (place: Place, run: RunView, start: ReadonlyArray<string>): ReadonlyArray<Hint> => {
  const { workflow } = run
  const isOfFile = workflow.path !== undefined
  return [
    { text: `It is a run of ${workflow.name}: ${positionOf(run)}` },
    ...(isOfFile && run.status === 'completed'
      ? [resumeHint(place, 'To run it again, from the first step:', run, { force: true })]
      : continuing(place, run)),
    ...(isOfFile && !isFinal(run.status) ? [] : [hintTo(place, 'To start a run with a generated id:', start)])
  ]
}

/** For printed commands with `--yes`. */
export const AGREES_TO_RECOVERY = 'With --yes you agree to continue from the recovered state'

export const ofDamage = (place: Place, run: StoredRun, flags: Flags): ReadonlyArray<Hint> => [
  resumeHint(place, 'To resume from the recovered state:', run, { ...flags, yes: true })
]

/** `tooShortFor`: the minimum length of an id prefix, if this one is shorter. */
export const ofNoRun = ({ store }: Place, tooShortFor?: number): ReadonlyArray<Hint> => [
  { text: `Looked in ${show(store.location)}` },
  ...(tooShortFor === undefined ? [] : [{ text: `An id prefix needs at least ${tooShortFor} characters` }])
]

/** For a run whose workflow file is unreadable. A flag that `run` lacks, or a value, is not repeated; and `run` resumes no cancelled run. */
export const ofMissingFile = (typed: Typed, checkpoint: Checkpoint): ReadonlyArray<Hint> => {
  const { runId } = checkpoint
  const restore = { text: `Run ${runId} was started from it; restore it, then resume` }
  const { words } = typed
  const isCancelled = status(checkpoint, false) === 'cancelled'
  if (isCancelled || words.some((word) => /^--(reopen|force|confirm|input)\b/.test(word))) return [restore]
  const from = words.filter((word, at) => FROM.has(word.replace(/=.*/s, '')) || FROM.has(words[at - 1] ?? ''))
  const which = from.length === 0 ? ['--id', runId, '--resume'] : ['--run', runId, ...from]
  return [restore, hintTo(typed, 'Or, if it was moved, resume with its new path:', ['run', 'NEWPATH', ...which])]
}

const FROM: ReadonlySet<string> = new Set(['--from-step', '--restart-wave'])

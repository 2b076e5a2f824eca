/** The offer to go on with an earlier run: where it stands, and the question. */
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import * as State from '../../../domain/checkpoint/CheckpointState.js'
import { isWithin } from '../../../domain/workflow/Unit.js'
import type { RunView } from '../../../executor/storage/runs.js'
import { progressOf } from '../../report/progress.js'
import { rowLines } from '../../report/rows.js'
import { choose } from '../../terminal/Prompt.js'
import type { WorkflowFile } from '../../workflow/WorkflowFile.js'
import type { Attended } from './execution.js'
import { minute } from '../hints/hints.js'

/** What somebody wants done about an earlier run. */
export type Wish =
  | { readonly _tag: 'GoOn' }
  | { readonly _tag: 'Decline' }
  | { readonly _tag: 'RestartWave'; readonly wave: string }
  | { readonly _tag: 'Abort' }

/** Shows a run, and asks whether to go on with it. `otherwise`: what "n" does, in words. None: nobody answers any more. */
export const offer = async (
  { screen, prompt }: Attended,
  view: RunView,
  file: WorkflowFile,
  otherwise: string
): Promise<O.Option<Wish>> => {
  const { runId, workflow, status, updatedAt, checkpoint } = view
  const wave = waveToRestart(checkpoint, file)
  const facts = [workflow.name, status, progressOf(checkpoint), `updated ${minute(updatedAt)}`]
  screen.line(screen.style.bold(`Run ${runId}: ${facts.join(', ')}`))
  for (const line of rowLines(view, screen.style, 1)) screen.line(line)
  const restart = O.isNone(wave) ? [] : [`w: run all groups of ${wave.value} again, then go on`]
  screen.line(['y: resume it', ...restart, `n: ${otherwise}`, 'a: abort'].join('. '))
  const goOn: Wish = { _tag: 'GoOn' }
  const answers = new Map<string, Wish>([
    ...['', 'y', 'yes'].map((word) => [word, goOn] as const),
    ...(O.isNone(wave) ? [] : [['w', { _tag: 'RestartWave', wave: wave.value }] as const]),
    ...['n', 'no'].map((word) => [word, { _tag: 'Decline' }] as const),
    ...['a', 'abort'].map((word) => [word, { _tag: 'Abort' }] as const)
  ])
  return choose(prompt, 'Previous execution found. Resume? [Y/n] ', answers)
}

/** The wave where a run stands, if something of it is done, or was begun, and it is still a wave. */
const waveToRestart = (
  { workflow, items, state, completedSteps }: Checkpoint,
  file: WorkflowFile
): O.Option<string> => {
  const { stepIndex, step } = state
  const kind = workflow.steps[stepIndex]?._tag
  const isWave = kind === 'Wave' || (kind === 'Map' && items.has(step))
  if (!isWave || !file.steps.some(({ _tag, name }) => _tag !== 'Task' && name === step)) return O.none
  let begun = State.inFlight(state).size + State.failures(state).size > 0
  for (const record of completedSteps) {
    if (record.unit === step) return O.none
    begun ||= isWithin(record.unit, step)
  }
  return begun ? O.some(step) : O.none
}

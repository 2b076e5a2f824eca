/** Shows an earlier run, and offers to resume it. */
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import * as State from '../../../domain/checkpoint/CheckpointState.js'
import { isWithin } from '../../../domain/workflow/Unit.js'
import type { RunView } from '../../../executor/storage/runs.js'
import { rowLines } from '../../report/rows.js'
import { choose } from '../../terminal/Prompt.js'
import type { WorkflowFile } from '../../workflow/WorkflowFile.js'
import type { PromptContext } from './withPrompt.js'
import { minute, progressOf } from '../../report/text.js'

export type OfferAnswer =
  | { readonly _tag: 'Resume' }
  | { readonly _tag: 'Decline' }
  | { readonly _tag: 'RestartWave'; readonly wave: string }
  | { readonly _tag: 'Abort' }

/** `otherwise`: what "n" does. None: the prompt was closed. */
export const offer = async (
  { screen, prompt }: PromptContext,
  view: RunView,
  file: WorkflowFile,
  otherwise: string
): Promise<O.Option<OfferAnswer>> => {
  const { runId, workflow, status, updatedAt, checkpoint } = view
  const wave = waveToRestart(checkpoint, file)
  const facts = [workflow.name, status, progressOf(checkpoint), `updated ${minute(updatedAt)}`]
  screen.line(screen.style.bold(`Run ${runId}: ${facts.join(', ')}`))
  for (const line of rowLines(view, screen.style, 1)) screen.line(line)
  const restart = O.isNone(wave) ? [] : [`w: run all groups of ${wave.value} again, then continue`]
  screen.line(['y: resume it', ...restart, `n: ${otherwise}`, 'a: abort'].join('. '))
  const answers = new Map<string, OfferAnswer>([
    ...['', 'y', 'yes'].map((word) => [word, { _tag: 'Resume' }] as const),
    ...(O.isNone(wave) ? [] : [['w', { _tag: 'RestartWave', wave: wave.value }] as const]),
    ...['n', 'no'].map((word) => [word, { _tag: 'Decline' }] as const),
    ...['a', 'abort'].map((word) => [word, { _tag: 'Abort' }] as const)
  ])
  const words = [...answers.keys()].filter(({ length }) => length === 1)
  return choose(prompt, 'Previous execution found. Resume? [Y/n] ', words, (typed) => answers.get(typed))
}

/** The current wave of a run, if it has begun and the file still has it. */
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

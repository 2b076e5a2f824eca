/** Shows an earlier run, and offers to resume it. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../../domain/checkpoint/Checkpoint.js'
import * as State from '../../../domain/checkpoint/CheckpointState.js'
import { isWithin } from '../../../domain/workflow/Unit.js'
import type { RunView } from '../../../executor/storage/runs.js'
import { DECLINED } from '../../CliError.js'
import { rowLines } from '../../report/rows.js'
import { choose } from '../../terminal/Prompt.js'
import type { WorkflowFile } from '../../workflow/WorkflowFile.js'
import type { Flags, Result } from '../Context.js'
import type { PromptContext } from './withPrompt.js'
import { minute, progressOf } from '../../report/text.js'

/** `otherwise`: what "n" does. Returns how to resume the run, or undefined for "n". */
export const offer = async (
  { screen, prompt }: PromptContext,
  view: RunView,
  file: WorkflowFile,
  otherwise: string
): Promise<Result<Flags | undefined>> => {
  const { runId, workflow, status, updatedAt, checkpoint } = view
  const wave = waveToRestart(checkpoint, file)
  const facts = [workflow.name, status, progressOf(checkpoint), `updated ${minute(updatedAt)}`]
  screen.line(screen.style.bold(`Run ${runId}: ${facts.join(', ')}`))
  for (const line of rowLines(view, screen.style, 1)) screen.line(line)
  const restart = O.isNone(wave) ? [] : [`w: run all groups of ${wave.value} again, then continue`]
  screen.line(['y: resume it', ...restart, `n: ${otherwise}`, 'a: abort'].join('. '))
  const answers = new Map<string, Result<Flags | undefined>>([
    ...['', 'y', 'yes'].map((word) => [word, E.right({})] as const),
    ...(O.isNone(wave) ? [] : [['w', E.right({ restartWave: wave.value })] as const]),
    ...['n', 'no'].map((word) => [word, E.right(undefined)] as const),
    ...['a', 'abort'].map((word) => [word, E.left(DECLINED)] as const)
  ])
  const words = [...answers.keys()].filter(({ length }) => length === 1)
  const answer = await choose(prompt, 'Previous execution found. Resume? [Y/n] ', words, (typed) => answers.get(typed))
  return O.isNone(answer) ? E.left(DECLINED) : answer.value
}

/** The current wave of a run, if it has begun and the file still has it. */
const waveToRestart = (checkpoint: Checkpoint, file: WorkflowFile): O.Option<string> => {
  const { workflow, items, state, completedSteps } = checkpoint
  const { stepIndex, step } = state
  const kind = workflow.steps[stepIndex]?._tag
  const isWave = kind === 'Wave' || (kind === 'Map' && items.has(step))
  if (!isWave || !file.steps.some(({ _tag, name }) => _tag !== 'Task' && name === step)) return O.none
  let begun = State.isOpen(state, step)
  for (const record of completedSteps) {
    if (record.unit === step) return O.none
    begun ||= isWithin(record.unit, step)
  }
  return begun ? O.some(step) : O.none
}

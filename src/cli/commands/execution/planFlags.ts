/** Flags of `resume` and `plan`: read as options of the planner, and written into printed commands. */
import { defined } from '../../../domain/data/defined.js'
import * as E from 'fp-ts/lib/Either.js'
import type { Answer, Changes } from '../../../domain/plan/Plan.js'
import type { Json } from '../../../domain/data/Json.js'
import type { Workflow } from '../../../domain/workflow/Workflow.js'
import type { TryPlanOptions } from '../../../executor/planRun.js'
import type { StoredRun } from '../../CliError.js'
import { wrongUse, wordAmong } from '../../CliError.js'
import type { Hint } from '../../report/Hint.js'
import type { Flags, Place, Result } from '../Context.js'
import { dogearCommand, showHint } from '../Context.js'

const CHANGES: ReadonlyArray<Changes> = ['strict', 'completed', 'ignore']

const RESTARTS = ['force', 'fromStep', 'restartWave'] as const

export const planOptions = (flags: Flags, { steps }: Workflow): Result<TryPlanOptions> => {
  const restarts = RESTARTS.filter((key) => wordsIn(flags, key).length > 0).map(flagOf)
  if (restarts.length > 1) return wrongUse(`${restarts.join(' and ')} cannot be combined; use one of them`)
  const changes =
    flags.changes === undefined ? E.right(undefined) : wordAmong('--changes', 'unknown policy', flags.changes, CHANGES)
  if (E.isLeft(changes)) return changes
  const confirm = parseConfirm(flags.confirm ?? [])
  if (E.isLeft(confirm)) return confirm
  const fromStep = flags.force === true ? steps[0]?.name : flags.fromStep
  return E.right({
    ...defined({ fromStep, restartWave: flags.restartWave, changes: changes.right, reopen: flags.reopen }),
    confirm: confirm.right
  })
}

export const parseConfirm = (texts: ReadonlyArray<string>): Result<ReadonlyMap<string, Answer>> => {
  const answers = new Map<string, Answer>()
  for (const text of texts) {
    const [, unit, answer, output] = /^([^=]+)=(again|keep|done)(?::([\s\S]*))?$/.exec(text) ?? []
    if (unit === undefined || (answer !== 'done' && output !== undefined)) {
      return wrongUse(`--confirm: expected STEP=again, STEP=keep, STEP=done or STEP=done:OUTPUT, got "${text}"`)
    }
    if (answers.has(unit)) return wrongUse(`--confirm: "${unit}" is answered twice; answer it once`)
    answers.set(unit, answerFrom(answer, output))
  }
  return E.right(answers)
}

/** The answer that a word means. `output`: that of `done`. */
export const answerFrom = (word: string | undefined, output?: Json): Answer =>
  word === 'again' ? { _tag: 'Again' } : word === 'keep' ? { _tag: 'Keep' } : { _tag: 'Done', ...defined({ output }) }

/** The flag of a key: `--from-step` of `fromStep`. */
const flagOf = (key: keyof Flags): string => `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

/** The words that set the flags of these keys. */
const wordsIn = (flags: Flags, ...keys: ReadonlyArray<keyof Flags>): ReadonlyArray<string> =>
  keys.flatMap((key) => {
    const value = flags[key] ?? []
    if (typeof value === 'boolean') return value ? [flagOf(key)] : []
    return [value].flat().flatMap((one) => [flagOf(key), one])
  })

export const wordsOf = (flags: Flags): ReadonlyArray<string> =>
  wordsIn(flags, ...RESTARTS, 'input', 'changes', 'reopen', 'confirm')

/** `answers`: texts of `--confirm`. */
export const answering = (flags: Flags, answers: ReadonlyArray<string>): Flags => ({
  ...flags,
  confirm: [...(flags.confirm ?? []), ...answers]
})

export const resumeLine = (place: Place, runId: string, flags: Flags = {}): string =>
  dogearCommand(place, ['resume', runId, ...wordsOf(flags), ...wordsIn(flags, 'plan', 'takeOver', 'yes')])

/** The command that resumes a run, or that shows it if only its program can resume it. */
export const resumeHint = (place: Place, text: string, run: StoredRun, flags: Flags = {}): Required<Hint> =>
  run.workflow.path === undefined
    ? showHint(place, run.runId, 'Resume it in the program that started it. Show it with:')
    : { text, command: resumeLine(place, run.runId, flags) }

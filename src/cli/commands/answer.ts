/** `dogear answer`: answers a unit that waits, through the owner of the run if it has one, or the questions of a resume. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import { find, findOrTask } from '../../domain/checkpoint/Tree.js'
import { get, has } from '../../domain/checkpoint/Units.js'
import type { Json } from '../../domain/data/Json.js'
import { fromUnknown } from '../../domain/data/Json.js'
import { didYouMean } from '../../domain/data/Suggestion.js'
import { atPath } from '../../domain/data/Malformed.js'
import { unitsOf } from '../../domain/explain/UnitView.js'
import type { Answer } from '../../domain/plan/Plan.js'
import { answer } from '../../executor/requests/answer.js'
import { confirm, withDecision } from '../../executor/requests/confirm.js'
import { acceptAnswer } from '../../executor/requests/inboxAnswers.js'
import type { RunError } from '../../executor/errors/RunError.js'
import type { RunView } from '../../executor/storage/runs.js'
import type { CliError } from '../CliError.js'
import { notDone, usage, wrongUse } from '../CliError.js'
import type { Hint } from '../report/Hint.js'
import { nowText, processText } from '../report/text.js'
import type { Context, Flags, Result } from './Context.js'
import { environmentFor, hintTo, showHint, userName, printDone } from './Context.js'
import { heldError } from './execution/owner.js'
import { answerFrom, parseConfirm } from './execution/planFlags.js'
import { treeFor } from './execution/commandPlan.js'
import { WHY } from '../workflow/load.js'
import { findRun, viewOf } from './find/find.js'
import { ofRefusal, planOf } from './hints/ofAnswer.js'
import { continuing } from './hints/ofRun.js'

/** The program checks the answer when it resumes. */
export const answerCommand = async (
  context: Context,
  id: string,
  unit: string,
  word: string | undefined,
  flags: Flags
): Promise<Result> => {
  const view = await findRun(context, id)
  const waits = E.isLeft(view) ? undefined : isWait(view.right.checkpoint, unit)
  const given: Result<Given | undefined> =
    word === undefined ? valueOf(context, id, unit, flags) : answersOf(context, id, unit, word, flags, waits)
  // A wrong unit explains a wrong answer, so the unit is reported first.
  if (E.isRight(view) && (E.isLeft(given) || given.right === undefined)) {
    const refused = await refusalOf(context, view.right, unit)
    if (refused !== undefined) return E.left(refused)
  }
  if (E.isLeft(given)) return given
  if (E.isLeft(view)) return view
  const { runId, checkpoint } = view.right
  if (given.right === undefined) return E.left(missing(context, checkpoint, unit))
  const environment = environmentFor(context, { tree: treeFor(context, view.right) })
  const answered =
    'answers' in given.right
      ? E.map(() => ({ _tag: 'Recorded' }) as const)(await confirm(runId, given.right.answers)(environment)())
      : await answer(runId, unit, given.right.value, { by: userName() })(environment)()
  if (E.isLeft(answered) && answered.left._tag === 'HeldBy')
    return E.left(await heldError(context, view.right, answered.left.holder))
  if (E.isLeft(answered)) return E.left(await refusal(context, view.right, unit, answered.left))
  if (answered.right._tag !== 'Requested') {
    const now = await viewOf(context, runId)
    const [end, next] = E.isLeft(now)
      ? ['', []]
      : [now.right.status === 'completed' ? ', which is completed now' : '', continuing(context, now.right)]
    const line = `Recorded the answer to "${unit}" of run ${runId}${end}`
    return printDone(context, { run_id: runId, unit, requested: false }, line, next)
  }
  const line = `Run ${runId} takes the answer to ${unit} before its next unit (${processText(answered.right.holder)})`
  return printDone(context, { run_id: runId, unit, requested: true }, line)
}

const refusal = async (context: Context, view: RunView, unit: string, error: RunError): Promise<CliError> =>
  notDone(error, await ofRefusal(context, view, unit, error), view, 'answer')

/** Why the unit takes no answer at all. Undefined for a run with an owner, which may have changed its state meanwhile. */
const refusalOf = async (context: Context, view: RunView, unit: string): Promise<CliError | undefined> => {
  const { runId, checkpoint, heldBy } = view
  if (isUnknown(checkpoint, unit)) return unknown(context, checkpoint, unit)
  if (O.isSome(heldBy) || (isWait(checkpoint, unit) && !has(checkpoint.completedSteps, unit))) return undefined
  const planned = await planOf(context, view)
  if (E.isLeft(planned)) return refusal(context, view, unit, planned.left)
  if (planned.right.questions.some((question) => question.unit === unit)) return undefined
  const request = { _tag: 'Answer', runId, unit, value: null, by: userName(), requestedAt: nowText() } as const
  const taken = acceptAnswer(checkpoint, request)
  if (E.isRight(taken) || taken.left._tag !== 'AnswerRefused') return undefined
  return refusal(context, view, unit, withDecision(planned.right, taken.left))
}

const isUnknown = ({ workflow, items, pending }: Checkpoint, unit: string): boolean =>
  !has(pending, unit) && findOrTask(workflow, items, unit) === undefined

const unknown = (context: Context, checkpoint: Checkpoint, unit: string): CliError => {
  const hint = didYouMean(
    unit,
    unitsOf(checkpoint).map((one) => one.unit)
  )
  return usage(`answer: the run has no unit "${unit}"; name one of its units, then the answer${hint}`, [
    showHint(context, checkpoint.runId, 'List the units with:')
  ])
}

/** The example fits the unit: a value for one that waits, or will. */
const missing = (context: Context, checkpoint: Checkpoint, unit: string): CliError =>
  usage(`answer: the answer is missing; ${OF_UNKNOWN}`, [
    isWait(checkpoint, unit)
      ? hintTo(context, 'For example:', ['answer', checkpoint.runId, unit, '--value', 'true'])
      : ofQuestion(context, checkpoint.runId, unit)
  ])

const isWait = ({ workflow, items, pending }: Checkpoint, unit: string): boolean => {
  const definition = find(workflow, items, unit)?.definition
  return get(pending, unit)?._tag === 'Answer' || (definition?._tag === 'Task' && definition.wait === 'Answer')
}

const ofQuestion = (context: Context, id: string, unit: string): Hint =>
  hintTo(context, 'For example:', ['answer', id, unit, 'again'])

/** A value for a unit that waits, or answers to the questions of a resume. */
type Given = { readonly value: Json } | { readonly answers: ReadonlyMap<string, Answer> }

const OF_WAIT = 'pass --value JSON to a unit that waits'

const OF_UNKNOWN = `${OF_WAIT}, or again, keep or done to a question`

const OF_QUESTION = 'use again or done, or keep if the question is about changed files or commits'

/** The answers to the questions of a resume: the one to the unit, and those of `--confirm`. `waits`: undefined if the run is unknown. */
const answersOf = (
  context: Context,
  id: string,
  unit: string,
  word: string,
  { value, valueFile, output, confirm = [] }: Flags,
  waits: boolean | undefined
): Result<Given> => {
  if (value !== undefined || valueFile !== undefined)
    return wrongUse(`--value and --value-file cannot be combined with "${word}"; use --output for an output`)
  const appended = word.startsWith('done:') ? word.slice('done:'.length) : undefined
  if (appended !== undefined)
    return wrongUse(`answer: unknown answer "${word}"; pass the output of "done" as --output JSON`, [
      hintTo(context, 'For example:', ['answer', id, unit, 'done', '--output', JSON.stringify(appended)])
    ])
  if (!['again', 'keep', 'done'].includes(word))
    return wrongUse(
      `answer: unknown answer "${word}"; ${waits === undefined ? OF_UNKNOWN : waits ? OF_WAIT : OF_QUESTION}`,
      [waits === false ? ofQuestion(context, id, unit) : ofWord(context, id, unit, word)]
    )
  if (word !== 'done' && output !== undefined) return wrongUse(`--output: only "done" has an output, not "${word}"`)
  const json = output === undefined ? E.right(undefined) : parsed(output)
  if (E.isLeft(json)) return wrongUse(`--output: ${json.left}`)
  const others = parseConfirm(confirm)
  if (E.isLeft(others)) return others
  if (others.right.has(unit)) return wrongUse(`--confirm: "${unit}" is answered twice; answer it once`)
  return E.right({ answers: new Map([[unit, answerFrom(word, json.right)], ...others.right]) })
}

const valueOf = (context: Context, id: string, unit: string, flags: Flags): Result<Given | undefined> => {
  const { value, valueFile, output, confirm } = flags
  if (output !== undefined) return wrongUse('--output: only "done" has an output; pass it as "done --output JSON"')
  if (confirm !== undefined && (value ?? valueFile) !== undefined)
    return wrongUse('--confirm cannot be combined with --value or --value-file; it goes with again, keep or done')
  if (confirm !== undefined) return wrongUse('--confirm: needs an answer to the unit: again, keep or done')
  if (value !== undefined && valueFile !== undefined)
    return wrongUse('--value and --value-file cannot be combined; use one of them')
  if (valueFile !== undefined) return fromFile(context, valueFile)
  if (value === undefined) return E.right(undefined)
  const json = parsed(value)
  return E.isRight(json)
    ? E.right({ value: json.right })
    : wrongUse(`--value: ${json.left}`, STRUCTURED.test(value) ? [] : [ofString(context, id, unit, value)])
}

/** An unknown answer that is JSON (`true`, `3`) may be meant as a value. */
const ofWord = (context: Context, id: string, unit: string, word: string): Hint =>
  E.isRight(parsed(word))
    ? hintTo(context, 'To answer with this JSON value:', ['answer', id, unit, '--value', word])
    : ofString(context, id, unit, word)

/** The text that was typed, quoted for JSON and for the shell. */
const ofString = (context: Context, id: string, unit: string, text: string): Hint =>
  hintTo(context, 'To answer with a string:', ['answer', id, unit, '--value', JSON.stringify(text)])

const STRUCTURED = /^\s*[{["]/

const fromFile = ({ folder }: Context, file: string): Result<Given> => {
  const text = E.tryCatch(
    () => new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(resolve(folder, file))),
    (error) => (error as NodeJS.ErrnoException).code ?? String(error)
  )
  if (E.isLeft(text)) return wrongUse(`--value-file: cannot read ${file}: ${WHY[text.left] ?? text.left}`)
  const json = parsed(text.right)
  return E.isLeft(json) ? wrongUse(`${file}: ${json.left}`) : E.right({ value: json.right })
}

const parsed = (text: string): E.Either<string, Json> => {
  const value = E.tryCatch((): unknown => JSON.parse(text), String)
  if (E.isLeft(value))
    return E.left(`not valid JSON; put ${STRUCTURED.test(text) ? 'strings and names' : 'a string'} in double quotes`)
  const json = fromUnknown(value.right)
  return E.isRight(json) ? json : E.left(`not storable as JSON${atPath(json.left.path)}: ${json.left.found}`)
}

/** `dogear answer`: answers a unit that waits, through the owner of the run if it has one. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { Json } from '../../domain/data/Json.js'
import { fromUnknown } from '../../domain/data/Json.js'
import { answer } from '../../executor/requests/answer.js'
import type { CliError } from '../CliError.js'
import { notDone, usage } from '../CliError.js'
import { ExitCode } from '../ExitCode.js'
import type { Hint } from '../report/Hint.js'
import { linesOf } from '../report/Hint.js'
import { printed } from '../report/runJson.js'
import type { Context, Result } from './Context.js'
import { dogearCommand, environmentFor, showHint, userName } from './Context.js'
import { findRun } from './find/find.js'

export interface AnswerFlags {
  readonly value?: string
  readonly valueFile?: string
}

/** The program checks the answer when it resumes. */
export const answerCommand = async (
  context: Context,
  id: string,
  unit: string,
  flags: AnswerFlags
): Promise<Result> => {
  const value = valueOf(context, id, unit, flags)
  if (E.isLeft(value)) return value
  const view = await findRun(context, id)
  if (E.isLeft(view)) return view
  const { runId, workflow } = view.right
  const answered = await answer(runId, unit, value.right, { by: userName() })(environmentFor(context))()
  if (E.isLeft(answered)) return E.left(notDone(answered.left, [], runId))
  const { screen, json } = context
  const requested = answered.right._tag === 'Requested'
  if (json) screen.out(printed({ run_id: runId, unit, requested }))
  else if (answered.right._tag === 'Requested') {
    const { pid, host } = answered.right.holder
    screen.print(`Run ${runId} takes the answer to ${unit} before its next unit (process ${pid} on ${host})`)
  } else {
    screen.print(`Run ${runId} has the answer to ${unit}`)
    const next: Hint =
      workflow.path === undefined
        ? { ...showHint(context, runId), text: 'Resume it in the program that started it. Show it with:' }
        : { text: 'Resume with:', command: dogearCommand(context, ['resume', runId]) }
    for (const line of linesOf([next], screen.style)) screen.line(line)
  }
  return E.right(ExitCode.done)
}

const valueOf = (
  context: Context,
  id: string,
  unit: string,
  { value, valueFile }: AnswerFlags
): E.Either<CliError, Json> => {
  const such = (text: string, ...flag: ReadonlyArray<string>): ReadonlyArray<Hint> => [
    { text, command: dogearCommand(context, ['answer', id, unit, ...flag]) }
  ]
  if (value !== undefined && valueFile !== undefined)
    return E.left(usage('--value and --value-file cannot be combined; use one of them'))
  if (valueFile !== undefined) return fromFile(context, valueFile)
  if (value === undefined)
    return E.left(usage('answer: the value is missing; pass it as JSON', such('For example:', '--value', 'true')))
  const json = parsed(value)
  return E.isRight(json)
    ? json
    : E.left(usage(`--value: ${json.left}`, such('To answer with a string:', '--value', '"TEXT"')))
}

const fromFile = ({ folder }: Context, file: string): E.Either<CliError, Json> => {
  const text = E.tryCatch(
    () => readFileSync(resolve(folder, file), 'utf8'),
    (error) => (error as NodeJS.ErrnoException).code ?? String(error)
  )
  if (E.isLeft(text))
    return E.left(
      usage(`--value-file: cannot read ${file}: ${text.left === 'ENOENT' ? 'the file does not exist' : text.left}`)
    )
  return E.mapLeft((why: string) => usage(`${file}: ${why}`))(parsed(text.right))
}

const parsed = (text: string): E.Either<string, Json> => {
  const value = E.tryCatch((): unknown => JSON.parse(text), String)
  if (E.isLeft(value)) return E.left('not valid JSON; put a string in double quotes')
  const json = fromUnknown(value.right)
  return E.isRight(json) ? json : E.left(`not storable as JSON at ${json.left.path}: ${json.left.found}`)
}

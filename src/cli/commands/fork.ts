/** `dogear fork`: makes a new run from the records of another one. */
import { randomUUID } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { defined } from '../../domain/data/defined.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import { status } from '../../domain/checkpoint/Checkpoint.js'
import { isDone } from '../../domain/change/transitionParts.js'
import { has } from '../../domain/checkpoint/Units.js'
import type { JsonObject } from '../../domain/data/Json.js'
import { quoted } from '../../domain/data/listed.js'
import { nonIdempotent } from '../../domain/workflow/Node.js'
import { allInDoubt, nonIdempotentSubSteps } from '../../domain/plan/subSteps.js'
import type { Unit } from '../../domain/workflow/Unit.js'
import { ancestors, isWithin } from '../../domain/workflow/Unit.js'
import { toWorkflow } from '../../domain/workflow/WorkflowIdentity.js'
import type { RunError } from '../../executor/errors/RunError.js'
import { fork } from '../../hosts/fork.js'
import { notDone, wrongUse } from '../CliError.js'
import type { Hint } from '../report/Hint.js'
import type { Context, Flags, Result } from './Context.js'
import { environmentFor, sameCommand, showHint, printDone } from './Context.js'
import { differencesFrom, inputReplaced, inputNamesIn, replacementOf, warningsOf } from './execution/input.js'
import { parseConfirm } from './execution/planFlags.js'
import { treeFor } from './execution/commandPlan.js'
import { findRun } from './find/find.js'
import { load, shownPath } from '../workflow/load.js'
import { checkInputs } from './find/workflowOf.js'
import { answeringToo } from './hints/ofError.js'
import { unitsMissing } from './hints/ofPlan.js'
import { continuing } from './hints/ofRun.js'

export const forkCommand = async (context: Context, id: string, flags: Flags): Promise<Result> => {
  const { fromStep, id: newId = randomUUID(), confirm: texts = [] } = flags
  if (fromStep === undefined)
    return wrongUse('fork: --from-step is missing; pass the step where the new run starts', [listSteps(context, id)])
  const confirm = parseConfirm(texts)
  if (E.isLeft(confirm)) return confirm
  const view = await findRun(context, id)
  if (E.isLeft(view)) return view
  const { runId, checkpoint } = view.right
  const { workflow } = checkpoint
  const input = inputFor(context, checkpoint, flags)
  if (E.isLeft(input)) return input
  const known = checkInput(context, checkpoint, flags)
  if (E.isLeft(known)) return known
  const environment = environmentFor(context, { tree: treeFor(context, view.right) })
  const options = {
    fromStep,
    ...defined({ input: input.right }),
    ...(confirm.right.size === 0 ? {} : { confirm: confirm.right })
  }
  const made = await fork(runId, newId, options)(environment)()
  if (E.isLeft(made)) return E.left(notDone(made.left, ofRefusal(context, runId, made.left), view.right, 'fork'))
  const { screen, json } = context
  const isAnswered = (unit: Unit): boolean => [unit, ...ancestors(unit)].some((one) => confirm.right.has(one))
  const harmful = [...nonIdempotent(toWorkflow(workflow)), ...nonIdempotentSubSteps(checkpoint)].filter(
    (unit) => !isDone(made.right.checkpoint, unit) && !isAnswered(unit)
  )
  const again = harmful.filter((unit) => has(checkpoint.completedSteps, unit))
  const doubts = allInDoubt(checkpoint).filter((unit) => !isAnswered(unit))
  const doubted = harmful.filter((unit) => !again.includes(unit) && doubts.some((one) => isWithin(one, unit)))
  if (again.length > 0) screen.warn(repetition(newId, again, 'already completed'))
  if (doubted.length > 0) screen.warn(repetition(newId, doubted, 'may already have taken effect'))
  if (!json && input.right !== undefined) screen.line(replaced(fromStep, checkpoint, input.right))
  const steps = `${made.right.checkpoint.completedSteps.steps} of ${workflow.steps.length} steps done`
  const untilResumed = `Until you resume it, its status is ${status(made.right.checkpoint, false)}`
  const line = `Run ${newId} starts at ${fromStep} with the records of ${runId}, ${steps}. ${untilResumed}`
  const document = { run_id: newId, forked_from: runId, from_step: fromStep }
  return printDone(context, document, line, continuing(context, { ...made.right, heldBy: O.none }))
}

const repetition = (newId: string, units: ReadonlyArray<string>, earlier: string): string => {
  const [keys, are] = units.length === 1 ? ['a new idempotency key', 'it is'] : ['new idempotency keys', 'they are']
  return `Run ${newId} will run ${quoted(units)} unasked and under ${keys}, although ${are} not idempotent and ${earlier}`
}

/** A fork works without the file; only it knows all inputs. */
const checkInput = (context: Context, { workflow }: Checkpoint, flags: Flags): Result<void> => {
  const { path } = workflow
  if (flags.input === undefined || path === undefined) return E.right(undefined)
  const loaded = load(path, shownPath(path, context.folder))
  if (E.isLeft(loaded)) return E.right(undefined)
  const known = checkInputs(loaded.right, inputNamesIn(flags))
  if (E.isLeft(known)) return known
  warningsOf(context, loaded.right.file, flags).forEach(context.screen.warn)
  return E.right(undefined)
}

/** The input of the new run, if it replaces the recorded one. A program has an input of its own kind. */
const inputFor = (context: Context, checkpoint: Checkpoint, flags: Flags): Result<JsonObject | undefined> => {
  const { input = [], fromStep = '' } = flags
  const { workflow } = checkpoint
  return workflow.path === undefined && input.length > 0
    ? wrongUse('--input: a program started the run and checks its input; pass `input` to its `fork`')
    : replacementOf(context, workflow, checkpoint, { input, fromStep })
}

/** Secrets are redacted in `input`. */
const replaced = (fromStep: string, old: Checkpoint, input: JsonObject): string => {
  const texts = Object.entries(input).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return inputReplaced(fromStep, differencesFrom(old, Object.fromEntries(texts)))
}

/** The command that passes the missing outputs; else the one that lists the steps. */
const ofRefusal = (context: Context, runId: string, error: RunError): ReadonlyArray<Hint> => {
  if (error._tag === 'Unconfirmed') return [answeringToo(context, error.questions)]
  if (error._tag !== 'PlanError') return []
  const missing = unitsMissing('output', error.problems).map((unit) => `${unit}=done`)
  if (missing.length < error.problems.length) return [listSteps(context, runId)]
  const isGiven = (answer: string): boolean => context.words.some((word) => isAnswer(word, answer))
  const words = context.words.map((word) => (missing.some((one) => isAnswer(word, one)) ? `${word}:OUTPUT` : word))
  const more = missing.filter((one) => !isGiven(one)).flatMap((one) => ['--confirm', `${one}:OUTPUT`])
  return [{ text: 'Pass its output:', command: sameCommand({ ...context, words }, more) }]
}

const isAnswer = (word: string, answer: string): boolean => word === answer || word === `--confirm=${answer}`

const listSteps = (context: Context, runId: string): Hint => showHint(context, runId, 'List the steps with:')

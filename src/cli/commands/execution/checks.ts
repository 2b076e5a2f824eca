/** Prompts for an answer when a check fails. */
import * as O from 'fp-ts/lib/Option.js'
import { listed } from '../../../domain/data/listed.js'
import { definitionAt } from '../../../domain/workflow/Node.js'
import type { Step } from '../../../domain/workflow/Workflow.js'
import type { CheckAnswer, FailedCheck } from '../../../ports/Checks.js'
import { choose, confirm } from '../../terminal/Prompt.js'
import type { PromptContext } from './withPrompt.js'
import type { Steps } from '../find/definitions.js'
import { nonIdempotentFrom } from '../find/definitions.js'

/** One prompt at a time, because groups run concurrently. */
export const askChecks = (context: PromptContext, program: Steps): ((failed: FailedCheck) => Promise<CheckAnswer>) => {
  let last: Promise<unknown> = Promise.resolve()
  return (failed) => {
    const answer = last.then(() => askOne(context, program, failed))
    last = answer.catch(() => undefined)
    return answer
  }
}

const askOne = async (context: PromptContext, program: Steps, failed: FailedCheck): Promise<CheckAnswer> => {
  const { prompt, screen, signals } = context
  if (signals.interrupt.signal.aborted) return 'abort'
  const name = failed.unit
  screen.line(screen.style.yellow(`"${name}" ${failed.when === 'before' ? 'cannot start' : 'ran, but'}:`))
  for (const one of failed.wrong) screen.line(`  ${one}`)
  const words = failed.answers.map((answer) => WORDS[answer])
  const meaningOf = (typed: string): CheckAnswer | undefined =>
    failed.answers.find((answer) => typed !== '' && WORDS[answer].startsWith(typed))
  for (;;) {
    const said = await choose(prompt, `${questionOf(program, failed)} [${words.join('/')}] `, words, meaningOf)
    const answer = O.isNone(said) ? 'abort' : said.value
    if (await mayRunTwice(context, program, failed, answer)) return answer
  }
}

const WORDS: Readonly<Record<CheckAnswer, string>> = {
  retry: 'retry',
  lookAgain: 'look again',
  previousWave: 'previous wave',
  continue: 'continue',
  abort: 'abort'
}

/** Only the check of a composite can be repeated alone. */
const isOfComposite = ({ answers }: FailedCheck): boolean => answers.includes('lookAgain')

const questionOf = (program: Steps, failed: FailedCheck): string => {
  const { unit, answers, previousWave } = failed
  if (!isOfComposite(failed)) return 'Retry, continue anyway, or abort?'
  const parts = definitionAt<Step>(program, unit)?._tag === 'Sequence' ? 'steps' : 'groups'
  if (answers.includes('retry')) return `Run its ${parts} again, look again, continue anyway, or abort?`
  const back = previousWave === undefined ? '' : ` run "${previousWave}" again,`
  return `Look again,${back} continue anyway, or abort?`
}

/** A completed unit that is not idempotent runs again only after explicit consent. */
const mayRunTwice = async (
  { prompt }: PromptContext,
  program: Steps,
  failed: FailedCheck,
  answer: CheckAnswer
): Promise<boolean> => {
  const repeatsAll = answer === 'retry' && failed.when === 'after' && isOfComposite(failed)
  const back = answer === 'previousWave' ? failed.previousWave : repeatsAll ? failed.unit : undefined
  const twice = back === undefined ? [] : nonIdempotentFrom(program, back, repeatsAll ? undefined : failed.unit)
  return twice.length === 0 || (await confirm(prompt, `${repeatWarning(twice)} Continue?`))
}

/** `isCompleted`: the units have completed; otherwise they are in doubt. */
export const repeatWarning = (units: ReadonlyArray<string>, isCompleted = true): string => {
  const [these, step, are] = units.length === 1 ? ['This', 'step', 'is'] : ['These', 'steps', 'are']
  const what = isCompleted
    ? `completed ${step} ${are} not idempotent,`
    : `${step} ${are} not idempotent, may already have taken effect,`
  return `${these} ${what} and would run again: ${listed(units)}.`
}

/**
 * Asking what is to be made of a check that failed.
 *
 * @since 0.1.0
 */
import * as O from 'fp-ts/lib/Option.js'
import type { SignalHandlers } from '../../adapters/node/index.js'
import { unitName } from '../../domain/Plan.js'
import type { Step } from '../../domain/Workflow.js'
import { tasks } from '../../domain/Workflow.js'
import type { CheckAnswer, FailedCheck } from '../../ports/Checks.js'
import type { Prompt } from '../terminal/Prompt.js'
import { confirm, isYes } from '../terminal/Prompt.js'
import type { Context } from './Context.js'

/** Who is asked. */
interface Asking extends Context {
  readonly signals: SignalHandlers
  readonly prompt: Prompt
}

/** The steps of a program. */
interface Steps {
  readonly steps: ReadonlyArray<Step>
}

/**
 * Asks what is to be made of checks that fail, one at a time: groups run side by side. Nobody there: it has failed.
 *
 * @category effects
 * @since 0.1.0
 */
export const askAbout = (context: Asking, program: Steps): ((failed: FailedCheck) => Promise<CheckAnswer>) => {
  let last: Promise<unknown> = Promise.resolve()
  return (failed) => {
    const answer = last.then(() => askOne(context, program, failed))
    last = answer.catch(() => undefined)
    return answer
  }
}

const askOne = async (context: Asking, program: Steps, failed: FailedCheck): Promise<CheckAnswer> => {
  const { prompt, screen, signals } = context
  if (signals.interrupt.signal.aborted) return 'abort'
  const name = unitName(failed)
  screen.line(screen.style.yellow(`"${name}" ${failed.when === 'before' ? 'can not start' : 'ran, but'}:`))
  for (const one of failed.wrong) screen.line(`  ${one}`)
  const words = failed.answers.map((answer) => WORDS[answer])
  for (;;) {
    const said = await prompt.ask(`${questionOf(failed)} [${words.join('/')}] `)
    const word = O.isNone(said) ? 'abort' : said.value.trim().toLowerCase()
    const answer = failed.answers.find((one) => word !== '' && WORDS[one].startsWith(word))
    if (answer !== undefined && (await mayRunTwice(context, program, failed, answer))) return answer
    if (answer === undefined) screen.line(`Please answer ${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`)
  }
}

const WORDS: Readonly<Record<CheckAnswer, string>> = {
  retry: 'retry',
  lookAgain: 'look again',
  previousWave: 'previous wave',
  continue: 'continue',
  abort: 'abort'
}

const questionOf = ({ answers, when, previousWave }: FailedCheck): string => {
  if (!answers.includes('lookAgain')) return 'Try it again, let it count all the same, or stop here?'
  if (when === 'after') return 'Run its groups again, look again, let it count all the same, or stop here?'
  const back = previousWave === undefined ? '' : ` run "${previousWave}" again,`
  return `Look again,${back} start all the same, or stop here?`
}

/** What completed and is not idempotent runs again only with somebody's word for just that. */
const mayRunTwice = async (
  { prompt }: Asking,
  program: Steps,
  failed: FailedCheck,
  answer: CheckAnswer
): Promise<boolean> => {
  const isAfter = answer === 'retry' && failed.when === 'after' && failed.answers.includes('lookAgain')
  const back = answer === 'previousWave' ? failed.previousWave : isAfter ? failed.step : undefined
  const twice = back === undefined ? [] : harmfulFrom(program, back, failed.stepIndex + (isAfter ? 1 : 0))
  return twice.length === 0 || isYes(await confirm(prompt, `${warningOf(twice)} Continue?`, false))
}

/**
 * What is said before units run again that completed and are not idempotent.
 *
 * @category destructors
 * @since 0.1.0
 */
export const warningOf = (units: ReadonlyArray<string>): string =>
  `Completed, not idempotent, and to run again: ${units.join(', ')}.`

/**
 * The units that are not idempotent, from the step of this name to before the one at this index. Of a map it is the map.
 *
 * @category destructors
 * @since 0.1.0
 */
export const harmfulFrom = ({ steps }: Steps, from: string, end = steps.length): ReadonlyArray<string> =>
  steps
    .slice(0, end)
    .slice(
      Math.max(
        0,
        steps.slice(0, end).findIndex(({ name }) => name === from)
      )
    )
    .flatMap((step) => {
      if (step._tag === 'Map') return step.each.idempotent ? [] : [step.name]
      const harmful = tasks(step).filter(({ idempotent }) => !idempotent)
      return harmful.map(({ name }) => (step._tag === 'Task' ? name : unitName({ step: step.name, group: name })))
    })

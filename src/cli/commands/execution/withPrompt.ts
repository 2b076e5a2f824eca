/** Gives a command signal handlers and a prompt. */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { SignalHandlers, StopSignal } from '../../../adapters/node/index.js'
import { abortOnSignals } from '../../../adapters/node/index.js'
import type { CliError } from '../../CliError.js'
import { DECLINED, stopped } from '../../CliError.js'
import * as Prompt from '../../terminal/Prompt.js'
import type { Context, Result } from '../Context.js'

/** The context of a command that asks questions or runs steps. */
export interface PromptContext extends Context {
  readonly signals: SignalHandlers
  readonly prompt: Prompt.Prompt
}

/** Fails unless the user agrees: at a terminal to the question; in a pipe with a flag, which the error names. */
export const agree = async (
  { prompt, interactive }: PromptContext,
  question: string,
  missing: () => CliError
): Promise<Result<void>> => {
  if (!interactive) return E.left(missing())
  return (await Prompt.confirm(prompt, question)) ? E.right(undefined) : E.left(DECLINED)
}

/** Signals that end a process: a stop by any of them must end the commands of the steps too. */
export const SIGNALS: ReadonlyArray<StopSignal> = [
  ...(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const),
  ...(['SIGABRT', 'SIGALRM', 'SIGIO', 'SIGPWR', 'SIGUSR2', 'SIGVTALRM', 'SIGXCPU'] as const)
]

/** Handles signals and opens a prompt for a command, until the command ends. */
export const withPrompt =
  <A extends ReadonlyArray<unknown>>(body: (context: PromptContext, ...args: A) => Promise<Result>) =>
  async (context: Context, ...args: A): Promise<Result> => {
    const signals = abortOnSignals({ signals: SIGNALS })
    const prompt = Prompt.make(context.screen, context.stdin, signals.interrupt.signal)
    let hungUp = false
    const onHangUp = (): void => {
      hungUp = true
    }
    process.on('SIGHUP', onHangUp)
    try {
      const result = await body({ ...context, signals, prompt }, ...args)
      const received = signals.received()
      return E.isLeft(result) && result.left._tag === 'Declined' && O.isSome(received)
        ? E.left(stopped(received.value))
        : result
    } finally {
      prompt.close()
      signals.dispose()
      // The outcome is decided: a signal in the last moments changes nothing. A second one still ends the process.
      for (const signal of SIGNALS) process.once(signal, () => undefined)
      process.off('SIGHUP', onHangUp)
      if (hungUp) endOnHangUp(context)
    }
  }

/** Node aborts when it ends on a closed terminal: let the signal end the process, as it would have. */
const endOnHangUp = ({ stdin }: Context): void => {
  const onTerminal = stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY
  if (!onTerminal) return
  process.removeAllListeners('SIGHUP')
  process.kill(process.pid, 'SIGHUP')
}

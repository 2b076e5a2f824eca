/** Prompts the user. */
import type { Interface } from 'node:readline'
import { createInterface } from 'node:readline'
import * as O from 'fp-ts/lib/Option.js'
import { orList } from '../../domain/data/Suggestion.js'
import type { Screen } from './Screen.js'

export interface Prompt {
  /** Returns none at the end of input and after a signal. */
  readonly ask: (question: string) => Promise<O.Option<string>>
  readonly say: (line: string) => void
  /** Releases standard input, which keeps the process alive. */
  readonly close: () => void
}

/** Opens standard input with the first question. */
export const make = (screen: Screen, stdin: NodeJS.ReadStream, stop: AbortSignal): Prompt => {
  let reader: Interface | undefined
  let lines: AsyncIterator<string> | undefined
  return {
    ask: async (question) => {
      // The terminal echoes, edits, and turns Ctrl+C into a signal.
      reader ??= createInterface({ input: stdin, terminal: false })
      lines ??= reader[Symbol.asyncIterator]()
      const answered = screen.question(question)
      const answer = await Promise.race([lines.next(), stopped(stop)])
      answered()
      if (answer === undefined || answer.done === true) {
        screen.line('')
        return O.none
      }
      return O.some(answer.value)
    },
    say: screen.line,
    close: () => {
      reader?.close()
      if (reader !== undefined) stdin.unref?.()
    }
  }
}

const stopped = (stop: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (stop.aborted) resolve(undefined)
    else stop.addEventListener('abort', () => resolve(undefined), { once: true })
  })

/** Asks until what is typed has a meaning. `words`: what to type. */
export const choose = async <A>(
  prompt: Prompt,
  question: string,
  words: ReadonlyArray<string>,
  meaningOf: (typed: string) => A | undefined
): Promise<O.Option<A>> => {
  for (;;) {
    const line = await prompt.ask(question)
    if (O.isNone(line)) return O.none
    const meaning = meaningOf(line.value.trim().toLowerCase())
    if (meaning !== undefined) return O.some(meaning)
    prompt.say(`Please type ${orList(words.map((word) => `"${word}"`))}`)
  }
}

/** An empty line, the end of input and a signal say no. */
export const confirm = async (prompt: Prompt, question: string): Promise<boolean> => {
  const meaningOf = (typed: string): boolean | undefined =>
    ['', 'y', 'yes', 'n', 'no'].includes(typed) ? typed.startsWith('y') : undefined
  const answer = await choose(prompt, `${question} [y/N] `, ['y', 'n'], meaningOf)
  return O.isSome(answer) && answer.value
}

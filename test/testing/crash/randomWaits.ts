/** Random waits for the crash simulator: steps that only wait, and task code that waits. */
import * as fc from 'fast-check'
import * as t from 'io-ts'
import { Program } from '../../../src/index.js'
import type * as Pending from '../../../src/domain/checkpoint/Pending.js'
import type * as P from '../../../src/executor/program/Program.js'
import { plainObject, taggedObject } from '../../../src/testing/arbitraryObjects.js'
import type { Intervention } from '../../../src/testing/crash/Intervention.js'

/** A wait: for a time, in half seconds, or for an answer. `timesOut`: how often it gets none in time; absent: no time limit. */
export type WaitSpec =
  { readonly _tag: 'Sleep'; readonly halves: number } | { readonly _tag: 'Ask'; readonly timesOut?: number }

/** A wait in the code of a task. `dropped`: the code does not await it; `beside`: a plain promise runs beside it, and then a sub-step. */
export interface CodeWait {
  readonly wait: WaitSpec
  readonly how: 'awaited' | 'dropped' | 'beside'
}

export const waitSpec: fc.Arbitrary<WaitSpec> = fc.oneof(
  taggedObject('Sleep', { halves: fc.nat({ max: 4 }) }),
  taggedObject('Ask', { timesOut: fc.constantFrom(undefined, 0, 1) })
) as fc.Arbitrary<WaitSpec>

export const codeWait: fc.Arbitrary<CodeWait> = plainObject<CodeWait>({
  wait: waitSpec,
  how: fc.constantFrom('awaited', 'awaited', 'awaited', 'dropped', 'beside')
})

// ---------------------------------------------------------------------------------------------------------------------
// steps
// ---------------------------------------------------------------------------------------------------------------------

const TIMEOUT_MILLIS = 1500

/** The question contains how often the wait times out. */
const questionOf = (timesOut: number | undefined): { readonly question: string; readonly timeoutMillis?: number } => ({
  question: `ignored ${timesOut ?? 0}`,
  ...(timesOut === undefined ? {} : { timeoutMillis: TIMEOUT_MILLIS })
})

/** A step that only waits. */
export const waitStep = (name: string, wait: WaitSpec): P.ProgramTask =>
  wait._tag === 'Sleep'
    ? Program.task(name, { sleep: { millis: wait.halves * 500 } })
    : Program.task(name, { waitFor: questionOf(wait.timesOut), output: t.string })

/** The start times of the waits with one name, by unit. */
export type Asked = Map<string, Set<string>>

/** An answer that no wait accepts. */
export const MISFIT = 17

/** Answers a wait, unless it must time out. */
export const answerTo = (
  { unit, startedAt, ...wait }: Pending.PendingWait,
  { asked }: { readonly asked: Asked }
): unknown => {
  const question = (wait._tag === 'Answer' ? wait.question : undefined) ?? ''
  const ignored = Number(question.replace('ignored ', ''))
  const before = asked.get(unit) ?? new Set()
  asked.set(unit, before.add(startedAt))
  return before.size > ignored ? `answer to ${unit}` : undefined
}

// ---------------------------------------------------------------------------------------------------------------------
// code
// ---------------------------------------------------------------------------------------------------------------------

const NEVER = 'ignored 1000'

type Calls = Pick<P.StepContext<unknown, unknown>, 'sleep' | 'waitFor' | 'step'>

/** Waits in the code of a task: again for an answer after each timeout. */
export const waitInCode = async (
  { sleep, waitFor, step }: Calls,
  name: string,
  { wait, how }: CodeWait,
  plain: () => Promise<void>
): Promise<unknown> => {
  const waiting = async (): Promise<unknown> => {
    if (wait._tag === 'Sleep') return await sleep(name, { millis: wait.halves * 500 })
    for (let n = 0; ; n++) {
      // The last one has no time limit, because other groups may take longer than any limit.
      const limited =
        n < (wait.timesOut ?? 0) ? { question: NEVER, timeoutMillis: TIMEOUT_MILLIS } : questionOf(undefined)
      const options = { ...limited, output: t.string }
      // The output does not depend on the number of timeouts.
      const ended = await waitFor(`${name}.${n}`, options).then(
        () => 'answered',
        (error: unknown) => error
      )
      if (ended === 'answered') return ended
      if ((ended as { readonly code?: string }).code !== 'WAIT_TIMEOUT') throw ended as Error
    }
  }
  switch (how) {
    case 'awaited':
      return await waiting()
    case 'dropped':
      void waiting().catch(() => undefined)
      return undefined
    case 'beside': {
      const late = async (): Promise<unknown> => {
        await plain()
        return await step(`${name}.late`, () => 'late')
      }
      return await Promise.all([waiting(), late()])
    }
  }
}

/** The names under which the code waits for an answer. */
export const namesOf = (name: string, { wait }: CodeWait): ReadonlyArray<string> =>
  wait._tag === 'Sleep' ? [] : Array.from({ length: 1 + (wait.timesOut ?? 0) }, (_, n) => `${name}.${n}`)

// ---------------------------------------------------------------------------------------------------------------------
// answers
// ---------------------------------------------------------------------------------------------------------------------

/** Arbitrary answers to these units, at any time, some of which do not fit. */
export const repliesTo = (units: ReadonlyArray<string>): fc.Arbitrary<ReadonlyArray<Intervention>> =>
  units.length === 0
    ? fc.constant([])
    : fc.array(
        plainObject({
          life: fc.integer({ min: 1, max: 3 }),
          n: fc.integer({ min: 1, max: 3 }),
          unit: fc.constantFrom(...units),
          fits: fc.boolean()
        }).map(({ fits, ...one }) => ({ _tag: 'AnswerWait' as const, ...one, ...(fits ? {} : { value: MISFIT }) })),
        { maxLength: 3 }
      )

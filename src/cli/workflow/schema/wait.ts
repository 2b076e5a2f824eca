/** The schema of steps that wait: for a time, or for an answer. */
import { defined } from '../../../domain/data/defined.js'
import { MAX_WAIT_MILLIS } from '../../../executor/program/awaits.js'
import type { WaitFor } from '../../../executor/program/StepSpec.js'
import type { WaitEntry } from '../WorkflowFile.js'
import type { Reading } from './Reading.js'
import { longDuration, text, variable } from './scalars.js'
import type { Read, Rule, Schema } from './Schema.js'
import { field, mapped, named, notWith, object, onlyWith, refined } from './Schema.js'

const wait = refined(longDuration, {}, (millis, { key }) =>
  millis > MAX_WAIT_MILLIS ? `"${key}" must be at most 1,000 years` : undefined
)

const waitFor: Schema<WaitFor> = mapped(
  object(
    '"waitFor"',
    {
      question: field(text, 'The question, for people.'),
      timeout: field(wait, 'The step fails without an answer in this time, like 12h or 3d. Default: no limit.')
    },
    { otherwise: (kind) => `"waitFor" is a mapping like { question: "Publish?" }, not ${kind}` }
  ),
  ({ question, timeout }) => defined({ question: question?.value, timeoutMillis: timeout?.value })
)

export const waitFields = {
  sleep: field(wait, 'How long the run sleeps here, like 90s, 12h or 14d. No process has to stay for it.'),
  waitFor: field(
    named('waitFor', () => waitFor),
    'The run waits here for an answer: "dogear answer".'
  ),
  summary: field(text, 'A line for people. Default: the name.'),
  capture: field(variable(text, 'variable'), 'The variable that the answer becomes.')
}

type Wait = Read<typeof waitFields>

export const waitRules: ReadonlyArray<Rule<Wait>> = [
  notWith('sleep', ['waitFor'], 'a step has either "sleep" or "waitFor", not both'),
  onlyWith('capture', ['waitFor'], 'a sleep has no output for "capture"; remove it')
]

export const waitForeign = {
  timeout: 'a wait for an answer has it inside, as in waitFor: { question: "Publish?", timeout: 5m }'
}

export const waitOf = ({ sleep, waitFor, summary, capture }: Wait, { unit }: Reading): WaitEntry => ({
  _tag: 'Wait',
  at: unit.at,
  name: unit.name,
  summary: summary?.value ?? unit.name,
  wait: sleep === undefined ? { waitFor: waitFor?.value ?? {} } : { sleep: { millis: sleep.value ?? 0 } },
  ...defined({ capture: capture?.value })
})

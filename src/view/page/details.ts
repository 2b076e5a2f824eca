/** The details of each unit as plain data, which the page shows on demand. */
import { defined } from '../../domain/data/defined.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import { describeEvidence } from '../../domain/checkpoint/CompletedStep.js'
import { presentOf } from '../../domain/checkpoint/Due.js'
import * as Units from '../../domain/checkpoint/Units.js'
import type { Json } from '../../domain/data/Json.js'
import { describeReason } from '../../domain/explain/Explain.js'
import { overOf } from '../../domain/plan/nextUnits.js'
import { printable, printableLines } from '../../domain/explain/printable.js'
import type { Decision } from '../../domain/plan/Plan.js'
import type { Bar } from '../timeline/Timeline.js'
import type { UnitView } from '../../domain/explain/UnitView.js'
import { cut } from '../../domain/data/Cut.js'
import type { Page } from './RunPage.js'

/** The approximate limit of characters in all outputs together. Each output may have at least 200. */
const MOST_CHARS = 1_000_000

/** An attempt, or a wait (number 0): `from`: milliseconds after the start of the run; `end`: how it ended; `message`: its error. */
type Attempt = readonly [number: number, from: number, millis: number, end: string, message?: string]

interface Details {
  readonly unit: string
  readonly attempts?: ReadonlyArray<Attempt>
  readonly error?: string
  readonly output?: string
  readonly evidence?: ReadonlyArray<string>
  readonly plan?: string
}

/** The details of each row, in the order of the rows. `start`: when the run started, in milliseconds. */
export const detailsOf = (
  page: Page,
  rows: ReadonlyArray<{ readonly view: UnitView; readonly bars: ReadonlyArray<Bar> }>,
  start: number
): { readonly start: number; readonly rows: ReadonlyArray<Details> } => {
  const { checkpoint, plan } = page
  const now = presentOf(page, page.now)
  const most = Math.max(200, Math.min(4_000, Math.floor(MOST_CHARS / Math.max(1, rows.length))))
  const decisions = new Map((plan?.decisions ?? []).map((one) => [one.unit, one]))
  const details = rows.map(({ view, bars }) => ({
    unit: printable(view.unit),
    ...(view.parts === undefined && bars.length > 0 ? { attempts: bars.map((bar) => attemptOf(bar, start)) } : {}),
    ...defined({
      error: view.error && cut(printableLines(view.error.message.split('\n')), 4_000),
      output: view.output === undefined ? undefined : cut(textOf(view.output), most),
      evidence: evidenceOf(checkpoint, view),
      plan: planOf(decisions.get(view.unit), now)
    })
  }))
  return { start, rows: details }
}

export const describeEnd = (end: Bar['end']): string => {
  if (end === 'cut') return 'cut short by a crash'
  return end === 'submitted' ? 'submitted a job' : end
}

const attemptOf = ({ isWait, attempt, from, to, end, isRewound, message }: Bar, start: number): Attempt => {
  const how = `${describeEnd(end)}${isRewound ? ', run again since' : ''}`
  const fields = [isWait ? 0 : attempt, from - start, to - from, how] as const
  return message === undefined ? fields : [...fields, cut(printableLines(message.split('\n')), 1_000)]
}

const textOf = (output: Json): string =>
  printableLines((typeof output === 'string' ? output : JSON.stringify(output, null, 2)).split('\n'))

const evidenceOf = ({ completedSteps }: Checkpoint, { unit }: UnitView): ReadonlyArray<string> | undefined => {
  const evidence = Units.get(completedSteps, unit)?.evidence ?? []
  return evidence.length === 0 ? undefined : evidence.map((one) => printable(describeEvidence(one)))
}

const VERBS: Readonly<Record<Decision['_tag'], string>> = {
  Skip: 'skip',
  Run: 'run',
  Retry: 'retry',
  Confirm: 'ask',
  Poll: 'wait'
}

const planOf = (decision: Decision | undefined, now: string | undefined): string | undefined => {
  if (decision === undefined) return undefined
  const verb = overOf(decision, now) === undefined ? VERBS[decision._tag] : 'run'
  return printable(`${verb}: ${describeReason(decision, now)}`)
}

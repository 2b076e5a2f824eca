/** The details of each unit as plain data, which the page shows on demand. */
import { defined } from '../../domain/data/defined.js'
import type { Checkpoint } from '../../domain/checkpoint/Checkpoint.js'
import { describeEvidence } from '../../domain/checkpoint/CompletedStep.js'
import { presentOf } from '../../domain/checkpoint/Due.js'
import * as Units from '../../domain/checkpoint/Units.js'
import type { Json } from '../../domain/data/Json.js'
import { describeReason, overOf } from '../../domain/explain/Explain.js'
import { printable, printableLines } from '../../domain/explain/printable.js'
import type { Decision } from '../../domain/plan/Plan.js'
import type { Bar } from '../timeline/Timeline.js'
import type { UnitView } from '../../domain/explain/UnitView.js'
import { cut } from '../../domain/data/Cut.js'
import type { Page } from './RunPage.js'

/** About how many characters all outputs have together at most; each may have 200. */
const BUDGET = 1_000_000

/** The number (0 for a wait), the start after that of the run, the duration in milliseconds, how it ended, and its error. */
type Attempt = readonly [number: number, from: number, millis: number, end: string, message?: string]

interface Details {
  readonly unit: string
  readonly attempts?: ReadonlyArray<Attempt>
  readonly error?: string
  readonly output?: string
  readonly evidence?: ReadonlyArray<string>
  readonly plan?: string
}

/** The details by row. */
export const detailsOf = (
  page: Page,
  rows: ReadonlyArray<{ readonly view: UnitView; readonly bars: ReadonlyArray<Bar> }>,
  start: number
): { readonly start: number; readonly rows: ReadonlyArray<Details> } => {
  const { checkpoint, plan } = page
  const now = presentOf(page, page.now)
  const most = Math.max(200, Math.min(4_000, Math.floor(BUDGET / Math.max(1, rows.length))))
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

export const describeEnd = (end: Bar['end']): string =>
  end === 'cut' ? 'cut short by a crash' : end === 'submitted' ? 'submitted a job' : end

const attemptOf = ({ isWait, attempt, from, to, end, isRewound, message }: Bar, start: number): Attempt => {
  const how = `${describeEnd(end)}${isRewound ? ', run again since' : ''}`
  const attempted = [isWait ? 0 : attempt, from - start, to - from, how] as const
  return message === undefined ? attempted : [...attempted, cut(printableLines(message.split('\n')), 1_000)]
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

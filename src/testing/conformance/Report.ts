/**
 * The result of a conformance run, as data, as text, JSON and TAP.
 *
 * @module
 */
import type { ConformanceCase, Level } from './Case.js'
import { LEVELS } from './Case.js'
import type { Capability } from './Spec.js'

// --- model

/**
 * The outcome of a case.
 *
 * - `Passed`: the law holds.
 * - `Failed`: it does not; `why` says what was expected and found.
 * - `NotClaimed`: the store does not claim the capabilities in `lacks`. If the spec has the tools, the case ran all the
 *   same, and `wouldHave` has its result.
 *
 * @category model
 */
export type CaseOutcome =
  | { readonly _tag: 'Passed' }
  | { readonly _tag: 'Failed'; readonly why: string }
  | {
      readonly _tag: 'NotClaimed'
      readonly lacks: ReadonlyArray<Capability>
      readonly wouldHave: 'passed' | 'failed' | 'not been tried'
    }

/**
 * One case and its outcome.
 *
 * @category model
 */
export interface CaseResult extends Omit<ConformanceCase, 'run'> {
  readonly outcome: CaseOutcome
  readonly durationMillis: number
}

/**
 * The result of a conformance run. `hints`: capabilities that the store seems to have and does not claim. `untried`:
 * what this run does not cover. Both are empty if the option `only` selected the cases.
 *
 * @category model
 */
export interface Report {
  readonly store: string
  readonly capabilities: ReadonlyArray<Capability>
  readonly results: ReadonlyArray<CaseResult>
  readonly hints: ReadonlyArray<string>
  readonly untried: ReadonlyArray<string>
}

// --- constructors

export const make = (
  store: string,
  capabilities: ReadonlyArray<Capability>,
  results: ReadonlyArray<CaseResult>,
  { only, levels = LEVELS }: { only?: ReadonlyArray<string> | undefined; levels?: ReadonlyArray<Level> | undefined }
): Report => ({
  store,
  capabilities,
  results,
  hints: only === undefined ? hintsOf(results) : [],
  untried: only === undefined ? untriedOf(results, levels) : []
})

const untriedOf = (results: ReadonlyArray<CaseResult>, levels: ReadonlyArray<Level>): ReadonlyArray<string> => {
  const lackedBy = (isTried: boolean): ReadonlyArray<Capability> =>
    results.flatMap(({ outcome }) =>
      outcome._tag === 'NotClaimed' && (outcome.wouldHave !== 'not been tried') === isTried ? outcome.lacks : []
    )
  const tried = lackedBy(true)
  return [
    'power cuts: whether acknowledged saves survive one',
    ...LEVELS.filter((level) => !levels.includes(level)).map((level) => `${level} cases: not selected`),
    ...[...new Set(lackedBy(false))]
      .filter((one) => !tried.includes(one))
      .map((one) => `\`${one}\`: not claimed, and the spec has no tool to try it`)
  ]
}

/** Hints at a capability if every case that lacks only this one passed. */
const hintsOf = (results: ReadonlyArray<CaseResult>): ReadonlyArray<string> => {
  const lackOne = results.flatMap(({ outcome }) =>
    outcome._tag === 'NotClaimed' && outcome.lacks.length === 1 ? [outcome] : []
  )
  const failing = lackOne.flatMap(({ lacks, wouldHave }) => (wouldHave === 'passed' ? [] : lacks))
  const lacked = new Set(lackOne.flatMap(({ lacks }) => lacks))
  return [...lacked]
    .filter((one) => !failing.includes(one))
    .map((one) => `every case for \`${one}\` passes: the store could claim it`)
}

/** A case counts only if the store claims all capabilities that the case needs. `why`: of a case that did not pass. */
export const resultOf = (
  { id, title, level, needs }: Omit<ConformanceCase, 'run'>,
  capabilities: ReadonlyArray<Capability>,
  durationMillis: number,
  wouldHave: Extract<CaseOutcome, { _tag: 'NotClaimed' }>['wouldHave'],
  why = ''
): CaseResult => {
  const lacks = needs.filter((need) => !capabilities.includes(need))
  const claimed: CaseOutcome = wouldHave === 'passed' ? { _tag: 'Passed' } : { _tag: 'Failed', why }
  const outcome: CaseOutcome = lacks.length === 0 ? claimed : { _tag: 'NotClaimed', lacks, wouldHave }
  return { id, title, level, needs, outcome, durationMillis }
}

// --- refinements

/**
 * Returns whether cases ran and none failed.
 *
 * @example
 * import { ConformanceReport } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const report = { store: 'mine', capabilities: [], results: [], hints: [], untried: [] }
 * assert.equal(ConformanceReport.isConformant(report), false)
 *
 * @category refinements
 */
export const isConformant = ({ results }: Report): boolean =>
  results.length > 0 && results.every(({ outcome }) => outcome._tag !== 'Failed')

// --- destructors

const countOf = ({ results }: Report, tag: CaseOutcome['_tag']): number =>
  results.filter(({ outcome }) => outcome._tag === tag).length

const MARKS = { Passed: '✓', Failed: '✗', NotClaimed: '○' } as const

/**
 * Renders a report: a line per case, the reasons for failures, the hints, what was not tried, and the counts.
 *
 * @example
 * import { ConformanceReport } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const needs = [] as const
 * const one = { id: 'CS-ID-04', title: 'runs whose ids share a prefix are separate', level: 'core', needs, durationMillis: 2 } as const
 * const report = { store: 'mine', capabilities: [], hints: [], untried: [], results: [{ ...one, outcome: { _tag: 'Passed' } as const }] }
 * assert.ok(ConformanceReport.isConformant(report))
 * assert.match(ConformanceReport.toText(report), /✓ CS-ID-04 runs whose ids share a prefix are separate\n.*1 passed, 0 failed/s)
 *
 * @category destructors
 */
export const toText = (report: Report): string =>
  [headingOf(report), '', ...report.results.flatMap(linesOf), '', ...closingOf(report)].join('\n')

export const headingOf = ({ store, capabilities }: Pick<Report, 'store' | 'capabilities'>): string =>
  `${store} (capabilities: ${capabilities.join(', ') || 'none beyond the core'})`

export const linesOf = ({ id, title, outcome }: CaseResult): ReadonlyArray<string> => [
  `${MARKS[outcome._tag]} ${id} ${title}${noteOf(outcome)}`,
  ...(outcome._tag === 'Failed' ? indented(outcome.why) : [])
]

export const closingOf = (report: Report): ReadonlyArray<string> => [
  ...report.hints.map((hint) => `Hint: ${hint}`),
  ...(report.hints.length > 0 ? [''] : []),
  ...(report.untried.length > 0 ? ['Not tried:', ...report.untried.map((one) => `  ${one}`), ''] : []),
  `${countOf(report, 'Passed')} passed, ${countOf(report, 'Failed')} failed, ${countOf(report, 'NotClaimed')} not claimed`
]

const noteOf = (outcome: CaseOutcome): string => {
  if (outcome._tag !== 'NotClaimed') return ''
  const tried = outcome.wouldHave === 'not been tried' ? 'not tried' : `it would have ${outcome.wouldHave}`
  return ` (needs ${outcome.lacks.join(', ')}; ${tried})`
}

const indented = (text: string): ReadonlyArray<string> => text.split('\n').map((line) => `    ${line}`)

/**
 * Encodes a report as JSON.
 *
 * @example
 * import { ConformanceReport } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const report = { store: 'mine', capabilities: [], results: [], hints: [], untried: [] }
 * assert.deepEqual(JSON.parse(ConformanceReport.toJson(report)), { conformant: false, ...report })
 *
 * @category destructors
 */
export const toJson = (report: Report): string =>
  JSON.stringify({ conformant: isConformant(report), ...report }, undefined, 2)

/**
 * Renders a report as TAP 14. Cases that are not claimed are skipped, with the reason.
 *
 * @see https://testanything.org/tap-version-14-specification.html
 * @example
 * import { ConformanceReport } from 'dogear/testing'
 * import assert from 'node:assert/strict'
 *
 * const report = { store: 'mine', capabilities: [], results: [], hints: [], untried: ['power cuts'] }
 * assert.equal(ConformanceReport.toTap(report), 'TAP version 14\n1..0\n# not tried: power cuts')
 *
 * @category destructors
 */
export const toTap = (report: Report): string =>
  [
    'TAP version 14',
    `1..${report.results.length}`,
    ...report.results.flatMap(({ id, title, outcome, durationMillis }, index) => {
      const line = `${index + 1} - ${id} ${title.replaceAll('\\', '\\\\').replaceAll('#', '\\#')}`
      switch (outcome._tag) {
        case 'Passed':
          return [`ok ${line}`, ...diagnostic([`duration_ms: ${durationMillis}`])]
        case 'NotClaimed':
          return [`ok ${line} # SKIP needs ${outcome.lacks.join(', ')}`]
        case 'Failed':
          return [`not ok ${line}`, ...diagnostic(['message: |2-', ...printable(outcome.why).map((one) => `  ${one}`)])]
      }
    }),
    ...report.hints.map((hint) => `# hint: ${hint}`),
    ...report.untried.map((one) => `# not tried: ${one}`)
  ].join('\n')

/** Splits text into lines and escapes characters that YAML forbids or treats as line ends. */
const printable = (text: string): ReadonlyArray<string> =>
  text
    .split(/\r\n|[\r\n]/)
    .map((line) =>
      line.replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029\uFEFF\uFFFE\uFFFF]/gu, (one) =>
        one === '\t' ? one : `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`
      )
    )

const diagnostic = (lines: ReadonlyArray<string>): ReadonlyArray<string> => [
  '  ---',
  ...lines.map((line) => `  ${line}`),
  '  ...'
]

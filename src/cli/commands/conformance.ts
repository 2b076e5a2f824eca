/** `dogear conformance`: tests a store against the laws of the storage port. */
import { stripVTControlCharacters } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { ConformanceCase, Level } from '../../testing/conformance/Case.js'
import { LEVELS } from '../../testing/conformance/Case.js'
import { checkpointStorageCases } from '../../testing/conformance/cases/index.js'
import type { CaseResult, Report } from '../../testing/conformance/Report.js'
import { closingOf, headingOf, isConformant, linesOf, make, toJson, toTap } from '../../testing/conformance/Report.js'
import { chosenOf, familiesOf } from '../../testing/conformance/selection.js'
import type { CliError } from '../CliError.js'
import { usage, wrongUse, wordAmong } from '../CliError.js'
import type { Wanted } from '../conformance/loadSpec.js'
import { withoutOurs } from '../conformance/loadSpec.js'
import type { LoadedStore } from '../conformance/watched.js'
import { runWatched } from '../conformance/watched.js'
import { ExitCode } from '../ExitCode.js'
import { linesOf as hintLines } from '../report/Hint.js'
import { printed } from '../report/runJson.js'
import { commandOf } from '../../domain/explain/shellQuote.js'
import * as Duration from '../workflow/Duration.js'
import { didYouMean } from '../../domain/data/Suggestion.js'
import type { Context, Flags, Result } from './Context.js'

interface Choice {
  readonly levels: ReadonlyArray<Level>
  readonly only: ReadonlyArray<string> | undefined
  readonly cases: ReadonlyArray<ConformanceCase>
  readonly limitMillis: number
}

const LIMIT_MILLIS = 30_000

export const conformanceCommand = async (
  context: Context,
  module: string | undefined,
  flags: Flags
): Promise<Result> => {
  const choice = choiceOf(flags)
  if (E.isLeft(choice)) return choice
  if (context.json && flags.tap === true) return wrongUse('--json and --tap cannot be combined; use one of them')
  if (flags.list === true) return list(context, choice.right)
  if (module === undefined) {
    const command = 'dogear conformance spec.mjs'
    return wrongUse('conformance: the module is missing; name the one that exports the spec of the store', [
      { text: 'For example:', command }
    ])
  }
  const { limitMillis } = choice.right
  const exportName = flags.export ?? 'spec'
  const words = [module, ...(flags.export === undefined ? [] : ['--export', exportName])]
  const wanted = { folder: context.folder, module, exportName, limitMillis }
  return run(context, words, wanted, { ...choice.right, tap: flags.tap === true })
}

const choiceOf = (flags: Flags): Result<Choice> => {
  const wanted = E.traverseArray((word: string) => wordAmong('--level', 'unknown level', word, LEVELS))(
    flags.level ?? LEVELS
  )
  if (E.isLeft(wanted)) return wanted
  const levels = LEVELS.filter((one) => wanted.right.includes(one))
  const only = flags.only?.map((id) => id.toUpperCase())
  for (const id of only ?? [])
    if (chosenOf(checkpointStorageCases, { only: [id] }).length === 0) return E.left(unknownCase(id))
  const limit = flags.limit === undefined ? O.some(LIMIT_MILLIS) : Duration.parse(flags.limit)
  if (O.isNone(limit) || limit.value <= 0) {
    return wrongUse(`--limit: "${flags.limit ?? ''}" is not a duration above 0; use one like 500ms, 30s or 2m`)
  }
  const cases = chosenOf(checkpointStorageCases, { levels, ...(only === undefined ? {} : { only }) })
  return cases.length === 0
    ? wrongUse(`--only: ${only?.join(', ') ?? 'the kit'} has no ${levels.join(' or ')} case; use another --level`)
    : E.right({ levels, only, cases, limitMillis: limit.value })
}

const unknownCase = (id: string): CliError => {
  const families = familiesOf(checkpointStorageCases)
  const ids = checkpointStorageCases.map((one) => one.id)
  return usage(`--only: unknown case or family of cases "${id}"${didYouMean(id, [...families, ...ids])}`, [
    { text: `The families: ${families.join(', ')}` },
    { text: 'All cases:', command: 'dogear conformance --list' }
  ])
}

const list = ({ screen, json }: Context, { cases }: Choice): Result => {
  if (json) screen.out(printed(cases.map(({ id, title, level, needs }) => ({ id, title, level, needs }))))
  else for (const one of cases) screen.print(`${one.id} ${one.title} ${screen.outStyle.dim(`(${aboutCase(one)})`)}`)
  return E.right(ExitCode.done)
}

const aboutCase = ({ level, needs }: ConformanceCase): string =>
  needs.length === 0 ? level : `${level}, needs ${needs.join(', ')}`

const run = async (
  context: Context,
  words: ReadonlyArray<string>,
  wanted: Wanted,
  { levels, only, cases, tap }: Choice & { readonly tap: boolean }
): Promise<Result> => {
  const { screen, json } = context
  const asText = !json && !tap
  let store: LoadedStore = { name: '', capabilities: [], unknownFields: [] }
  let [done, uncaught] = [0, 0]
  const ran = await runWatched(wanted, cases, {
    onLoaded: (loaded) => {
      store = loaded
      loaded.unknownFields.forEach(screen.warn)
      if (asText) [headingOf({ ...loaded, store: loaded.name }), ''].forEach(screen.print)
      screen.status(() => `${done}/${cases.length} cases done, ${cases[done]?.id ?? ''}`)
    },
    onResult: (result) => {
      done += 1
      if (done === cases.length) screen.status(undefined)
      if (asText) resultLines(context, result).forEach(screen.print)
    },
    onUncaught: (text) => {
      uncaught += 1
      printUncaught(context, cases[done]?.id, text)
    }
  })
  if (E.isLeft(ran)) return ran
  const report = make(store.name, store.capabilities, ran.right, { only, levels })
  printReport(context, withPlainText(report), tap)
  const failed = report.results.find(({ outcome }) => outcome._tag === 'Failed')
  if (failed !== undefined && asText) {
    const command = commandOf(['dogear', 'conformance', ...words, '--only', failed.id])
    for (const line of hintLines([{ text: 'One case alone:', command }], screen.style)) screen.line(line)
  }
  return E.right(isConformant(report) && uncaught === 0 ? ExitCode.done : ExitCode.caseFailed)
}

const printReport = ({ screen, json }: Context, report: Report, tap: boolean): void => {
  if (json) return screen.out(`${toJson(report)}\n`)
  if (tap) return screen.out(`${toTap(report)}\n`)
  const colour = isConformant(report) ? screen.outStyle.green : screen.outStyle.red
  const lines = ['', ...closingOf(report)]
  for (const [n, line] of lines.entries()) screen.print(n === lines.length - 1 ? colour(line) : line)
}

const resultLines = ({ screen }: Context, result: CaseResult): ReadonlyArray<string> => {
  const { green, red, dim } = screen.outStyle
  const colour = { Passed: green, Failed: red, NotClaimed: dim }[result.outcome._tag]
  const [first = '', ...why] = linesOf(withPlainWhy(result))
  return [`${colour(first.slice(0, 1))}${first.slice(1)}`, ...why]
}

/** Node colours the difference between two values when error output is a terminal. */
const withPlainWhy = (result: CaseResult): CaseResult => {
  if (result.outcome._tag !== 'Failed') return result
  const why = withoutOurs(stripVTControlCharacters(result.outcome.why)).join('\n')
  return { ...result, outcome: { ...result.outcome, why } }
}

const withPlainText = (report: Report): Report => ({ ...report, results: report.results.map(withPlainWhy) })

/** A timer of the store may throw outside of any case. */
const printUncaught = ({ screen }: Context, current: string | undefined, text: string): void => {
  const when = current === undefined ? 'after the last case' : `during ${current}`
  screen.line(`${screen.style.red('dogear:')} uncaught exception ${when}:`)
  for (const line of withoutOurs(text)) screen.line(`  ${line}`)
}

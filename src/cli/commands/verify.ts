/**
 * `dogear verify`: whether what is stored is what was written.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import type { Json } from '../../domain/Json.js'
import { describeStorage } from '../../executor/RunError.js'
import type { StorageError } from '../../ports/CheckpointStorage.js'
import type { RunSummary } from '../../executor/runs.js'
import type { CliError } from '../CliError.js'
import { ExitCode } from '../ExitCode.js'
import { holderJson, printed } from '../report/runJson.js'
import type { Style } from '../terminal/Style.js'
import { printable } from '../terminal/Style.js'
import type { Context, Result } from './Context.js'
import { environmentFor } from './Context.js'
import type { Runs } from './find.js'
import { allRuns, findRun } from './find.js'

/** What was found of one run. */
type Finding =
  | { readonly _tag: 'Exact'; readonly run: RunSummary }
  | { readonly _tag: 'Recovered'; readonly run: RunSummary; readonly from: string; readonly lost: string }
  | { readonly _tag: 'Damaged'; readonly runId: string; readonly error: StorageError }

/**
 * Checks the run of this id, or all.
 *
 * @category commands
 * @since 0.1.0
 */
export const verifyCommand = async (context: Context, id: string | undefined): Promise<Result> => {
  const runs = id === undefined ? await allRuns(environmentFor(context)) : await oneRun(context, id)
  if (E.isLeft(runs)) return runs
  const findings: ReadonlyArray<Finding> = [
    ...runs.right.runs.map(findingOf),
    ...runs.right.damaged.map((one) => ({ _tag: 'Damaged', ...one }) as const)
  ]
  const { screen } = context
  if (context.json) screen.out(printed(findings.map(findingJson)))
  else if (findings.length === 0) screen.out('No runs yet\n')
  else for (const finding of findings) screen.out(`${findingLine(finding, screen.outStyle)}\n`)
  return E.right(findings.every(({ _tag }) => _tag === 'Exact') ? ExitCode.done : ExitCode.storage)
}

/** A run that can't be read at all is an error, which says why. */
const oneRun = async (context: Context, id: string): Promise<E.Either<CliError, Runs>> => {
  const found = await findRun(environmentFor(context), id)
  return E.isLeft(found) ? found : E.right({ runs: [found.right], damaged: [] })
}

const findingOf = (run: RunSummary): Finding =>
  run.found._tag === 'Exact'
    ? { _tag: 'Exact', run }
    : { _tag: 'Recovered', run, from: run.found.from, lost: run.found.lost }

const findingLine = (finding: Finding, style: Style): string => {
  switch (finding._tag) {
    case 'Exact': {
      const { runId, revision, heldBy } = finding.run
      const held = O.isNone(heldBy) ? '' : `, held by process ${heldBy.value.pid} on ${heldBy.value.host}`
      return `${style.green('✓')} ${runId}  exact, revision ${revision}${held}`
    }
    case 'Recovered': {
      const { runId, revision } = finding.run
      const what = printable(`recovered from ${finding.from}; lost: ${finding.lost}`)
      return `${style.yellow('!')} ${runId}  ${what}, revision ${revision}`
    }
    case 'Damaged':
      return `${style.red('✗')} ${printable(finding.runId)}  damaged: ${printable(describeStorage(finding.error))}`
  }
}

const findingJson = (finding: Finding): Json => {
  switch (finding._tag) {
    case 'Exact':
    case 'Recovered': {
      const { runId, revision } = finding.run
      const loss = finding._tag === 'Exact' ? {} : { from: finding.from, lost: finding.lost }
      const found = finding._tag === 'Exact' ? 'exact' : 'recovered'
      return { run_id: runId, found, revision, held_by: holderJson(finding.run), ...loss }
    }
    case 'Damaged':
      return {
        run_id: finding.runId,
        found: 'damaged',
        error: { code: finding.error._tag, message: describeStorage(finding.error) }
      }
  }
}

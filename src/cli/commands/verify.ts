/**
 * `dogear verify`: whether what is stored is what was written, and whether a resume can go on from it.
 *
 * @since 0.1.0
 */
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { describeProblem } from '../../domain/Explain.js'
import type { Json } from '../../domain/Json.js'
import { planResume } from '../../domain/planResume.js'
import { describeStorage } from '../../executor/RunError.js'
import type { RunSummary } from '../../executor/runs.js'
import { goneOf } from '../../executor/workspace.js'
import type { StorageError } from '../../ports/CheckpointStorage.js'
import type { CliError } from '../CliError.js'
import { describeFully, notDone } from '../CliError.js'
import { ExitCode } from '../ExitCode.js'
import { holderJson, printed } from '../report/runJson.js'
import { shortened } from '../report/fingerprints.js'
import type { Style } from '../terminal/Style.js'
import { printable } from '../terminal/Style.js'
import type { Context, Result } from './Context.js'
import { remainsOf } from './evidence.js'
import type { Runs } from './find.js'
import { allRuns, findRun, isUnfinished, viewOf } from './find.js'
import { plannable, workflowOf } from './workflowOf.js'

/** What was found of one run. */
type Finding =
  | { readonly _tag: 'Exact'; readonly run: RunSummary; readonly obstacles: ReadonlyArray<string> }
  | {
      readonly _tag: 'Recovered'
      readonly run: RunSummary
      readonly obstacles: ReadonlyArray<string>
      readonly from: string
      readonly lost: string
    }
  | { readonly _tag: 'Damaged'; readonly runId: string; readonly error: StorageError }

/**
 * Checks the run of this id, or all: whether what is stored is what was written, and all that stands in the way of
 * going on with it.
 *
 * @category commands
 * @since 0.1.0
 */
export const verifyCommand = async (context: Context, id: string | undefined): Promise<Result> => {
  const runs = id === undefined ? await allRuns(context) : await oneRun(context, id)
  if (E.isLeft(runs)) return runs
  const found: Array<Finding> = []
  for (const run of runs.right.runs) found.push(findingOf(run, await obstaclesOf(context, run)))
  for (const one of runs.right.damaged) found.push({ _tag: 'Damaged', ...one })
  const { screen } = context
  if (context.json) screen.out(printed(found.map(findingJson)))
  else if (found.length === 0) screen.out(`No runs in ${printable(context.home)}\n`)
  else for (const finding of found) for (const line of findingLines(finding, screen.outStyle)) screen.out(`${line}\n`)
  if (found.some(({ _tag }) => _tag !== 'Exact')) return E.right(ExitCode.storage)
  return E.right(
    found.some((one) => one._tag === 'Exact' && one.obstacles.length > 0) ? ExitCode.refused : ExitCode.done
  )
}

/** All that would be refused if the run were resumed as it is: its folder, its file, its plan. */
const obstaclesOf = async (context: Context, run: RunSummary): Promise<ReadonlyArray<string>> => {
  if (!isUnfinished(run)) return []
  const view = await viewOf(context, run.runId)
  if (E.isLeft(view)) return [describeFully(view.left)]
  const { checkpoint, found } = view.right
  const remains = await remainsOf(context, checkpoint)
  const missed = E.isLeft(remains) ? remains.left : remains.right.there ? undefined : notDone(goneOf(checkpoint))
  const gone: ReadonlyArray<CliError> = missed === undefined ? [] : [missed]
  const workflow = await workflowOf(context, checkpoint)
  if (E.isLeft(workflow)) return [...gone, workflow.left].map(describeFully)
  if (E.isLeft(remains)) return gone.map(describeFully)
  const options = { evidence: remains.right.missing, recovered: found._tag === 'Recovered' }
  const plan = planResume(checkpoint, plannable(workflow.right), options)
  return [...gone.map(describeFully), ...(E.isLeft(plan) ? plan.left.problems.map(describeProblem) : [])]
}

/** A run that can't be read at all is an error, which says why. */
const oneRun = async (context: Context, id: string): Promise<E.Either<CliError, Runs>> => {
  const found = await findRun(context, id)
  return E.isLeft(found) ? found : E.right({ runs: [found.right], damaged: [] })
}

const findingOf = (run: RunSummary, obstacles: ReadonlyArray<string>): Finding =>
  run.found._tag === 'Exact'
    ? { _tag: 'Exact', run, obstacles }
    : { _tag: 'Recovered', run, obstacles, from: run.found.from, lost: run.found.lost }

const findingLines = (finding: Finding, style: Style): ReadonlyArray<string> => {
  if (finding._tag === 'Damaged') {
    return [
      `${style.red(style.marks.failed)} ${printable(finding.runId)}  damaged: ${printable(describeStorage(finding.error))}`
    ]
  }
  const { runId, revision, heldBy } = finding.run
  const held = O.isNone(heldBy) ? '' : `, held by process ${heldBy.value.pid} on ${heldBy.value.host}`
  const obstacles = finding.obstacles.flatMap((text) =>
    text.split('\n').map((line) => `    ${shortened(printable(line))}`)
  )
  const mark =
    finding._tag === 'Recovered' || obstacles.length > 0 ? style.yellow('!') : style.green(style.marks.completed)
  const what = finding._tag === 'Exact' ? 'exact' : printable(`recovered from ${finding.from}`)
  const lost = finding._tag === 'Exact' ? [] : [`    lost: ${printable(finding.lost)}`]
  return [
    `${mark} ${runId}  ${what}, revision ${revision}${held}`,
    ...lost,
    ...(obstacles.length === 0 ? [] : ['  In the way of a resume:', ...obstacles])
  ]
}

const findingJson = (finding: Finding): Json => {
  switch (finding._tag) {
    case 'Exact':
    case 'Recovered': {
      const { runId, revision } = finding.run
      const loss = finding._tag === 'Exact' ? {} : { from: finding.from, lost: finding.lost }
      const found = finding._tag === 'Exact' ? 'exact' : 'recovered'
      return { run_id: runId, found, revision, held_by: holderJson(finding.run), ...loss, obstacles: finding.obstacles }
    }
    case 'Damaged':
      return {
        run_id: finding.runId,
        found: 'damaged',
        error: { code: finding.error._tag, message: describeStorage(finding.error) }
      }
  }
}

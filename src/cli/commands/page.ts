/** `dogear show --html`: writes a run as a page. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { systemClock } from '../../adapters/node/index.js'
import { isFinal } from '../../domain/checkpoint/Checkpoint.js'
import type { ResumePlan } from '../../domain/plan/Plan.js'
import { openQuestions } from '../../domain/plan/Plan.js'
import { runChanges } from '../../executor/storage/history.js'
import type { RunView } from '../../executor/storage/runs.js'
import type { ArtifactInfo } from '../../ports/ArtifactStore.js'
import { renderRun } from '../../view/page/renderRun.js'
import type { CliError } from '../CliError.js'
import { describe, hintsOf, notDone, usage } from '../CliError.js'
import type { Hint } from '../report/Hint.js'
import type { Context } from './Context.js'
import { environmentFor } from './Context.js'
import { resumeHint } from './execution/planFlags.js'
import { surveyRun, usablePlan } from './execution/survey.js'
import { plannable, workflowOf } from './find/workflowOf.js'
import { ofHeld, ofPending, resumeHints } from './hints/hints.js'

/** Writes the page of a run to a file, and returns its path. */
export const writePage = async (
  context: Context,
  view: RunView,
  artifacts: ReadonlyArray<ArtifactInfo>,
  file: string
): Promise<E.Either<CliError, string>> => {
  if (file === '') return E.left(usage('--html: the value is empty; pass a file'))
  const path = resolve(context.folder, file)
  const changes = await runChanges(view.runId)(environmentFor(context))()
  if (E.isLeft(changes)) return E.left(notDone(changes.left))
  const outlook = await outlookOf(context, view)
  const now = new Date(systemClock.now()).toISOString()
  return written(path, file, renderRun({ ...view, ...outlook, changes: changes.right, artifacts, now }))
}

interface Outlook {
  readonly plan?: ResumePlan
  readonly problems?: ReadonlyArray<string>
  readonly next: ReadonlyArray<Hint>
}

/** The plan of a resume, or why there is none, and what to type next. A program that started the run plans it itself. */
const outlookOf = async (context: Context, view: RunView): Promise<Outlook> => {
  const { runId, checkpoint, status, heldBy } = view
  if (O.isSome(heldBy)) return { next: ofHeld(context, runId, heldBy.value) }
  if (status === 'cancelled') return { next: [resumeHint(context, 'To resume it anyway:', runId, { reopen: true })] }
  if (isFinal(status)) return { next: [] }
  const waits = ofPending(context, checkpoint)
  if (checkpoint.workflow.path === undefined) return { next: waits }
  const workflow = workflowOf(context, checkpoint)
  if (E.isLeft(workflow)) return refused(workflow.left)
  const program = plannable(workflow.right)
  const surveyed = await surveyRun(context, program, view)
  if (E.isLeft(surveyed)) return refused(surveyed.left)
  const planned = usablePlan(context, program, surveyed.right, {})
  if (E.isLeft(planned)) return refused(planned.left)
  const { plan } = planned.right
  return { plan, next: [...waits, ...resumeHints(context, runId, program, openQuestions(plan), 'Resume with:')] }
}

const refused = (error: CliError): Outlook => {
  const hints = hintsOf(error)
  const bare = 'hints' in error ? { ...error, hints: [] } : error
  return { problems: [describe(bare).join('\n')], next: hints }
}

/** Replaces an earlier page, and no other file. */
const written = (path: string, typed: string, page: string): E.Either<CliError, string> => {
  try {
    // A device or a pipe could be read for ever.
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === false)
      return E.left(usage(`--html: ${typed} is not a regular file; name another file`))
    if (!isPage(path)) return E.left(usage(`--html: ${typed} exists and is no page of dogear; name another file`))
    writeFileSync(path, page)
    return E.right(path)
  } catch (cause) {
    return E.left({ _tag: 'PageNotWritten', message: `Cannot write ${path}: ${whyOf(cause)}`, hints: [] })
  }
}

const whyOf = (cause: unknown): string => {
  const { code, message } = cause as NodeJS.ErrnoException
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'its folder does not exist; create it, or name another file'
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return 'writing there is not permitted; name another file'
    default:
      return `${message}; fix this, or name another file`
  }
}

const START = '<!doctype html>\n<html lang="en">'

const isPage = (path: string): boolean => !existsSync(path) || readFileSync(path, 'utf8').startsWith(START)

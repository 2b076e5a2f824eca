/** `dogear show --html`: writes a run as a page. */
import * as fs from 'node:fs'
import { dirname, isAbsolute, resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import { isFinal } from '../../domain/checkpoint/Checkpoint.js'
import type { ResumePlan } from '../../domain/plan/Plan.js'
import { openQuestions } from '../../domain/plan/Plan.js'
import { runChanges } from '../../executor/storage/history.js'
import type { Meaning } from '../../executor/errors/portErrors.js'
import { meaningOf } from '../../executor/errors/portErrors.js'
import type { RunView } from '../../executor/storage/runs.js'
import type { ArtifactInfo } from '../../ports/ArtifactStore.js'
import { renderRun } from '../../view/page/renderRun.js'
import type { CliError } from '../CliError.js'
import { describe, notDone, refused, usage, wrongUse } from '../CliError.js'
import type { Hint } from '../report/Hint.js'
import { nowText } from '../report/text.js'
import type { Context, Result } from './Context.js'
import { environmentFor } from './Context.js'
import { planForCommand, usablePlan } from './execution/commandPlan.js'
import { requestedCancel } from './execution/requestedCancel.js'
import { plannable, workflowOf } from './find/workflowOf.js'
import { continuing } from './hints/ofRun.js'
import { asking } from './hints/ofPlan.js'

/** Standard output as the target of a page. */
const STDOUT = '-'

/** Writes the page of a run to a file or, for `-`, to standard output, and returns its path. */
export const writePage = async (
  context: Context,
  view: RunView,
  artifacts: ReadonlyArray<ArtifactInfo>,
  file: string
): Promise<Result<string | undefined>> => {
  const { folder, screen, json } = context
  const path = resolve(folder, file)
  if (file === STDOUT && json) return wrongUse('--html - and --json both print to standard output; use one of them')
  const refusal = file === STDOUT ? undefined : refusedTarget(path, file)
  if (refusal !== undefined) return E.left(refusal)
  const changes = await runChanges(view.runId)(environmentFor(context))()
  if (E.isLeft(changes)) return E.left(notDone(changes.left))
  const outlook = await outlookOf(context, view)
  const page = renderRun({ ...view, ...outlook, changes: changes.right, artifacts, now: nowText() })
  if (file !== STDOUT) return written(path, page)
  screen.out(page)
  return E.right(undefined)
}

interface Outlook {
  readonly plan?: ResumePlan
  readonly problems?: ReadonlyArray<string>
  readonly next: ReadonlyArray<Hint>
}

/** The plan of a resume, or why there is none, and what to type next. A program that started the run plans it itself. */
const outlookOf = async (context: Context, view: RunView): Promise<Outlook> => {
  const { checkpoint, status, heldBy } = view
  const next = status === 'completed' ? [] : continuing(context, view)
  if (O.isSome(heldBy) || isFinal(status) || checkpoint.workflow.path === undefined) return { next }
  const cancel = await requestedCancel(context, view)
  if (cancel !== undefined) return withoutPlan(cancel)
  const workflow = workflowOf(context, checkpoint)
  if (E.isLeft(workflow)) return withoutPlan(workflow.left)
  const planResult = await planForCommand(context, plannable(workflow.right), view, {})
  if (E.isLeft(planResult)) return withoutPlan(planResult.left)
  const planned = usablePlan(context, planResult.right)
  if (E.isLeft(planned)) return withoutPlan(planned.left)
  const { plan } = planned.right
  const questions = openQuestions(plan)
  return { plan, next: questions.length === 0 ? next : asking(context, planResult.right, questions) }
}

const withoutPlan = (error: CliError): Outlook => ({
  problems: [describe({ ...error, hints: [] }).join('\n')],
  next: error.hints
})

/** Refuses anything but a new file and an earlier page, before the page is made: reading a pipe or a device may never end. */
const refusedTarget = (path: string, typed: string): CliError | undefined => {
  if (typed === '') return usage('--html: the value is empty; pass a file, or - for standard output')
  try {
    const found = fs.statSync(path, { throwIfNoEntry: false })
    if (found === undefined || (found.isFile() && isPage(path))) return undefined
    const what = found.isFile()
      ? 'exists and is no page of dogear'
      : found.isDirectory()
        ? 'is a folder'
        : 'is no regular file'
    return usage(`--html: ${typed} ${what}; name another file, or - for standard output`)
  } catch (cause) {
    return notWritten(path, cause)
  }
}

const START = '<!doctype html>\n<html lang="en">'

const isPage = (path: string): boolean => {
  const file = fs.openSync(path, 'r')
  try {
    const start = Buffer.alloc(START.length)
    return fs.readSync(file, start) === START.length && start.toString() === START
  } finally {
    fs.closeSync(file)
  }
}

const written = (path: string, page: string): Result<string> => {
  try {
    replace(behindLinks(path), page)
    return E.right(path)
  } catch (cause) {
    return E.left(notWritten(path, cause))
  }
}

/** Renames a complete page, so that a full disk leaves the earlier one, whose permissions the new one takes. */
const replace = (target: string, page: string): void => {
  const mode = fs.statSync(target, { throwIfNoEntry: false })?.mode
  const unfinished = `${dirname(target)}/.dogear-${process.pid}.tmp`
  try {
    fs.writeFileSync(unfinished, page, { mode })
    // The umask of the process may have removed permissions.
    if (mode !== undefined) fs.chmodSync(unfinished, mode)
    fs.renameSync(unfinished, target)
  } finally {
    fs.rmSync(unfinished, { force: true })
  }
}

/** Returns where a link leads, also to a file that does not exist yet. Joins no paths: in a linked folder `..` is the parent of the real one. */
const behindLinks = (path: string): string => {
  if (fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return path
  const to = fs.readlinkSync(path)
  return behindLinks(isAbsolute(to) ? to : `${dirname(path)}/${to}`)
}

const notWritten = (path: string, cause: unknown): CliError => {
  const { code = 'UNKNOWN', message } = cause as NodeJS.ErrnoException
  const { text, remedy = 'name another file' } = OF_PATHS[code] ?? meaningOf(code) ?? { text: message }
  return refused('NotWritten', [`Cannot write ${path}: ${text}; ${remedy}`])
}

/** Error codes that mean something else for the path of a page than for a store. */
const OF_PATHS: Readonly<Record<string, Meaning>> = {
  ENOENT: { text: 'the folder does not exist', remedy: 'create it' },
  ENOTDIR: { text: 'a part of its path is no folder' }
}

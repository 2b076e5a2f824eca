/** The sections of the page around its timeline. */
import * as O from 'fp-ts/lib/Option.js'
import type { Change } from '../../domain/change/Change.js'
import { progress } from '../../domain/checkpoint/Checkpoint.js'
import { presentOf } from '../../domain/checkpoint/Due.js'
import { explain } from '../../domain/explain/Explain.js'
import type { Axis } from '../timeline/Axis.js'
import type { Timeline } from '../timeline/Timeline.js'
import { factsOf } from '../facts.js'
import { counted, duration, grouped } from '../text.js'
import { cut } from '../../domain/data/Cut.js'
import type { UnitView } from '../../domain/explain/UnitView.js'
import { escaped, escapedLines } from './html.js'
import type { Page } from './RunPage.js'

const MARKS: Readonly<Record<Page['status'], string>> = {
  queued: '○',
  running: '⚡',
  completed: '✓',
  failed: '✗',
  interrupted: '⚡',
  paused: '◌',
  pending: '◌',
  cancelled: '✗',
  moved: '→'
}

export const header = ({ runId, checkpoint, status, heldBy }: Page, { gaps }: Timeline, { busy }: Axis): string => {
  const { completed, total } = progress(checkpoint)
  const { workflow, workspace, createdAt, updatedAt } = checkpoint
  const resumes = gaps.filter(({ to }) => to !== undefined).length
  const facts: ReadonlyArray<readonly [string, string]> = [
    ['Steps', `${grouped(completed)} of ${grouped(total)} completed`],
    // Of an attempt that a crash cut short, only its start is recorded.
    ['Worked', `${gaps.some(({ why }) => why === 'crashed') ? 'at least ' : ''}${duration(busy)}`],
    ['Started', time(createdAt)],
    status === 'completed' ? ['Completed', time(completedAt(checkpoint))] : ['Last record', time(updatedAt)],
    ...(resumes === 0 ? [] : [['Resumed', counted(resumes, 'time')] as const]),
    ...(O.isNone(heldBy) ? [] : [['Process', escaped(`${heldBy.value.pid} on ${heldBy.value.host}`)] as const]),
    ...(workflow.path === undefined ? [] : [['Workflow file', escaped(workflow.path)] as const]),
    ...(workspace === undefined ? [] : [['Folder', escaped(workspace.path)] as const])
  ]
  const list = facts.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join('')
  return `<header>
<p class="id">Run <code>${escaped(runId)}</code></p>
<h1>${escaped(workflow.name)}</h1>
<p class="status ${status}"><i aria-hidden="true">${MARKS[status]}</i> ${status}</p>
<progress value="${completed}" max="${Math.max(1, total)}" aria-label="Completed steps"></progress>
<dl>${list}</dl>
</header>`
}

/** When the last unit completed: a move may have been recorded since. */
const completedAt = ({ completedSteps, createdAt }: Page['checkpoint']): string =>
  completedSteps.records.reduce((latest, one) => (one.completedAt > latest ? one.completedAt : latest), createdAt)

const section = (id: string, title: string, content: string, attributes = ''): string =>
  `<section ${attributes}aria-labelledby="${id}"><h2 id="${id}">${title}</h2>${content}</section>`

const tableOf = (headings: ReadonlyArray<string>, rows: ReadonlyArray<string>): string => {
  const head = headings.map((one) => `<th scope="col">${one}</th>`).join('')
  return `<div class="wide"><table class="list"><thead><tr>${head}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`
}

const time = (at: string): string =>
  `<time datetime="${escaped(at)}">${escaped(at.slice(0, 10))} ${escaped(at.slice(11, 19))} UTC</time>`

export const notices = ({ found, problems = [] }: Page, { isPartial }: Timeline): string => {
  const texts = [
    ...(found._tag === 'Exact'
      ? []
      : [`The newest state is damaged: ${found.lost}. The page shows the state from ${found.from}.`]),
    ...problems.map((one) => `A resume is not possible as things are: ${one}`)
  ]
  const partial = isPartial
    ? '<p class="note">The oldest changes of this run are no longer stored. Of units that ran before, the last attempt is shown.</p>'
    : ''
  return `${texts.map((text) => `<p class="notice" role="note">${escapedLines(text)}</p>`).join('')}${partial}`
}

/** The maximum number of failures that are shown. */
const MAX_FAILURES = 20

export const failures = (units: ReadonlyArray<UnitView>): string => {
  const failed = units.flatMap((view, index) =>
    view.status === 'failed' && view.error !== undefined ? [{ view, index }] : []
  )
  if (failed.length === 0) return ''
  const shown = failed.slice(0, MAX_FAILURES).map(({ view: { unit, error, attempts }, index }) => {
    const { name = '', message = '', code } = error ?? {}
    const more = [name, ...(code === undefined ? [] : [code]), ...(attempts > 1 ? [`attempt ${attempts}`] : [])]
    return `<li><a href="#u${index}">${escaped(unit)}</a> <small>${escaped(more.join(' · '))}</small><pre>${escapedLines(message)}</pre></li>`
  })
  const rest = failed.length - shown.length
  const more = rest === 0 ? '' : `<p>and ${counted(rest, 'more unit')}</p>`
  return section('failed', 'What failed', `<ul>${shown.join('')}</ul>${more}`, 'class="bad" ')
}

export const next = ({ next: all = [] }: Page): string => {
  if (all.length === 0) return ''
  const items = all.map(({ text, command }) =>
    command === undefined
      ? `<p>${escaped(text)}</p>`
      : `<p>${escaped(text)}</p><div class="copy"><pre><code>${escaped(command)}</code></pre><button type="button" data-do="copy" hidden>Copy</button></div>`
  )
  return section('next', 'Next', items.join(''), 'class="next" ')
}

/** Puts each line into an element of its own, so that it can have a hanging indent. */
const linesOf = (text: string): string =>
  text
    .split('\n')
    .map((line) => `<span>${escaped(line)}\n</span>`)
    .join('')

export const plan = (page: Page): string => {
  const { plan, status } = page
  if (plan === undefined || status === 'completed') return ''
  const lines = linesOf(explain(plan, presentOf(page, page.now)))
  return section('plan', 'What a resume does', `<pre class="plan">${lines}</pre>`)
}

export const artifacts = ({ artifacts = [] }: Page): string => {
  if (artifacts.length === 0) return ''
  const rows = artifacts.map(
    ({ id, size, sha256 }) =>
      `<tr><th scope="row">${escaped(id)}</th><td>${grouped(size)} bytes</td><td><code>${escaped(sha256.slice(0, 16))}…</code></td></tr>`
  )
  return section('artifacts', 'Artifacts', tableOf(['Id', 'Size', 'SHA-256'], rows))
}

const MAX_VALUE = 400

export const variables = ({ checkpoint }: Page): string => {
  if (checkpoint.variables.size === 0) return ''
  const rows = [...checkpoint.variables].map(
    ([name, value]) =>
      `<tr><th scope="row">${escaped(name)}</th><td><code>${escaped(cut(JSON.stringify(value), MAX_VALUE))}</code></td></tr>`
  )
  return section('variables', 'Variables', tableOf(['Name', 'Value'], rows))
}

/** The maximum number of listed moments; the newest are listed. */
const MAX_MOMENTS = 100

/** Lists the changes that no bar of the timeline shows: edits, answers, interruptions and the like. */
export const moments = ({ changes = new Map() }: Page): string => {
  const all = [...changes]
    .sort(([a], [b]) => a - b)
    .filter(([, change]) => MOMENTS.has(change._tag))
    .map(([, change]) => `<li>${time(change.at)} <span>${change._tag} ${escaped(factsOf(change))}</span></li>`)
  if (all.length === 0) return ''
  const rest = Math.max(0, all.length - MAX_MOMENTS)
  const more = rest === 0 ? '' : `<li>${counted(rest, 'earlier one')}</li>`
  return section('moments', 'Also recorded', `<ol class="moments">${more}${all.slice(rest).join('')}</ol>`)
}

const MOMENTS: ReadonlySet<Change['_tag']> = new Set([
  'Moved',
  'WorkflowEdited',
  'Recovered',
  'InputReplaced',
  'Answered',
  'Interrupted',
  'Rewound',
  'Assumed',
  'Confirmed'
])

export const footer = ({ checkpoint: { revision }, now }: Page): string =>
  `<footer>Revision ${grouped(revision)}${now === undefined ? '' : `, shown at ${time(now)}`} · Dogear</footer>`

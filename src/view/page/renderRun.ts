/** Renders a run as one HTML page that loads nothing. */
import { sha256Base64 } from '../../domain/data/Digest.js'
import { axisOf } from '../timeline/Axis.js'
import { timelineOf } from '../timeline/Timeline.js'
import { unitsOf } from '../../domain/explain/UnitView.js'
import { escaped } from './html.js'
import { pageOf, type RunPage } from './RunPage.js'
import { rowsOf } from './rows.js'
import { SCRIPT } from './script.js'
import * as Sections from './sections.js'
import { STYLE } from './style.js'

/**
 * Renders a run as one self-contained HTML page: its units as a timeline with a bar for each attempt, errors, artifacts, the plan of a
 * resume and the next commands. The page loads nothing, and its Content-Security-Policy allows nothing else. All names, errors and outputs
 * are escaped.
 *
 * @example
 * import * as E from 'fp-ts/lib/Either.js'
 * import * as O from 'fp-ts/lib/Option.js'
 * import { renderRun, runChanges, viewRun } from 'dogear'
 * import { memoryStorage } from 'dogear/memory'
 * import { nodeEnvironment } from 'dogear/node'
 * import { run, workflow } from 'dogear/promise'
 * import assert from 'node:assert/strict'
 *
 * const storage = memoryStorage()
 * await run(workflow('greet').step('hello', () => 'hello'), { id: 'greet-1', storage })
 * const environment = nodeEnvironment(storage)
 * const view = await viewRun('greet-1')(environment)()
 * const changes = await runChanges('greet-1')(environment)()
 * assert.ok(E.isRight(view) && O.isSome(view.right) && E.isRight(changes))
 * const html = renderRun({ ...view.right.value, changes: changes.right })
 * assert.match(html, /^<!doctype html>/)
 *
 * @category looking
 */
export const renderRun = (run: RunPage): string => {
  const view = pageOf(run)
  const units = unitsOf(view.checkpoint)
  const timeline = timelineOf(view)
  const axis = axisOf(timeline)
  const title = `${view.checkpoint.workflow.name} · ${view.runId}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${Sections.header(view, timeline, axis)}
<main>
${Sections.notices(view, timeline)}
${Sections.failures(units)}
${Sections.next(view)}
${rowsOf(view, units, timeline, axis)}
${Sections.plan(view)}
${Sections.artifacts(view)}
${Sections.variables(view)}
${Sections.moments(view)}
</main>
${Sections.footer(view)}
<script>${SCRIPT}</script>
</body>
</html>
`
}

const hashOf = (content: string): string => `'sha256-${sha256Base64(content)}'`

const POLICY = [
  "default-src 'none'",
  `style-src ${hashOf(STYLE)}`,
  `script-src ${hashOf(SCRIPT)}`,
  "base-uri 'none'",
  "form-action 'none'"
].join('; ')

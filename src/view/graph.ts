/** Renders a run as a Mermaid flowchart, for a pull request or a README. The class of a node shows the status of its unit. */
import type { Checkpoint } from '../domain/checkpoint/Checkpoint.js'
import { pushTo } from '../domain/data/indexed.js'
import { partNamed, partNames } from '../domain/checkpoint/Tree.js'
import { printable } from '../domain/explain/printable.js'
import type { Unit } from '../domain/workflow/Unit.js'
import { join } from '../domain/workflow/Unit.js'
import type { StepIdentity } from '../domain/workflow/WorkflowIdentity.js'
import { grouped } from './text.js'
import type { UnitView } from '../domain/explain/UnitView.js'
import { unitsOf } from '../domain/explain/UnitView.js'

/** A composite with more parts than this is one node, because a graph of hundreds shows nothing. */
const MOST_PARTS = 20

const CLASSES: Readonly<Record<UnitView['status'], readonly [name: string, style: string]>> = {
  completed: ['completed', 'fill:#dff1e8,stroke:#2c7a5a,color:#14432f'],
  failed: ['failed', 'fill:#fbe3e1,stroke:#b9332b,color:#6b1a15'],
  'in flight': ['inFlight', 'fill:#e0edfb,stroke:#1f66b5,color:#123c6b'],
  pending: ['pending', 'fill:#ece6fa,stroke:#7a5cc0,color:#3f2a78'],
  'not started': ['notStarted', 'fill:#f6f4f0,stroke:#a8a299,color:#4b4842']
}

interface Drawing {
  readonly checkpoint: Checkpoint
  readonly views: ReadonlyMap<Unit, UnitView>
  readonly lines: Array<string>
  /** The ids of the nodes of each status. */
  readonly idsOf: Map<UnitView['status'], Array<string>>
  count: number
}

/** Returns a Mermaid flowchart; all names are escaped. */
export const graphOf = (checkpoint: Checkpoint): string => {
  const views = new Map(unitsOf(checkpoint).map((view) => [view.unit, view]))
  const drawing: Drawing = { checkpoint, views, lines: [], idsOf: new Map(), count: 0 }
  const { steps } = checkpoint.workflow
  linkInOrder(
    drawing,
    steps.map((step) => draw(drawing, step, step.name, '  ')),
    '  '
  )
  const classes = [...drawing.idsOf].flatMap(([status, ids]) => {
    const [name, style] = CLASSES[status]
    return [`  classDef ${name} ${style}`, `  class ${ids.join(',')} ${name}`]
  })
  return ['flowchart TD', ...drawing.lines, ...classes, ''].join('\n')
}

/** Draws a unit and its parts, and returns the id of its node. */
const draw = (drawing: Drawing, step: StepIdentity, unit: Unit, indent: string, name = step.name): string => {
  const { checkpoint, views, lines, idsOf } = drawing
  const id = `u${drawing.count++}`
  const view = views.get(unit)
  const status = view?.status ?? 'not started'
  pushTo(idsOf, status, id)
  const names = step._tag === 'Task' ? [] : (partNames(step, unit, checkpoint.items) ?? [])
  if (names.length === 0 || names.length > MOST_PARTS) {
    const { completed = 0, total = 0 } = view?.parts ?? {}
    const count = total === 0 ? '' : ` (${grouped(completed)}/${grouped(total)})`
    const [open, close] = step._tag === 'Task' ? ['[', ']'] : ['[[', ']]']
    lines.push(`${indent}${id}${open}"${label(`${name}${count}`)}"${close}`)
    return id
  }
  lines.push(`${indent}subgraph ${id}["${label(name)}"]`)
  const inner = names.flatMap((part) => {
    const definition = partNamed<StepIdentity>(step, unit, part, checkpoint.items)
    return definition === undefined ? [] : [draw(drawing, definition, join(unit, part), `${indent}  `, part)]
  })
  if (step._tag === 'Sequence') linkInOrder(drawing, inner, `${indent}  `)
  if (step._tag === 'Wave')
    linkNeeds(drawing, step.groups, new Map(names.map((part, at) => [part, inner[at]])), `${indent}  `)
  lines.push(`${indent}end`)
  return id
}

const linkInOrder = ({ lines }: Drawing, ids: ReadonlyArray<string>, indent: string): void => {
  if (ids.length > 1) lines.push(`${indent}${ids.join(' --> ')}`)
}

/** Draws an edge from each needed group to the group that needs it. */
const linkNeeds = (
  { lines }: Drawing,
  groups: ReadonlyArray<StepIdentity>,
  ids: ReadonlyMap<string, string | undefined>,
  indent: string
): void => {
  for (const { name, needs = [] } of groups)
    for (const need of needs) lines.push(`${indent}${ids.get(need) ?? ''} --> ${ids.get(name) ?? ''}`)
}

/** Escapes all but plain characters as Mermaid does: `#60;`. */
const label = (text: string): string =>
  Array.from(printable(text), (character) =>
    /[\p{L}\p{N} .,_/()-]/u.test(character) ? character : `#${character.codePointAt(0) ?? 0};`
  ).join('')

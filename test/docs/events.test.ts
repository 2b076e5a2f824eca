import { describe, expect, test } from 'vitest'
import { codes, column, read, table } from './markdown.js'
import { fieldsOf } from './source.js'

const events = [...fieldsOf('ports/Events.ts', 'Event')].map(([tag, fields]) => ({
  tag,
  fields: fields.filter((field) => field !== 'runId').sort()
}))

/** The fields of every event about a unit. */
const OF_UNIT = ['unit', 'stepIndex']

const guide = table(read('docs/guide/embedding.md'), 'Events')
const said = new Map(
  column(guide, 'event').map((cell, index) => [codes(cell)[0], codes(column(guide, 'fields')[index] ?? '')])
)

/** The entries of the union's doc block: `- \`Tag\`: …`, up to the next one. */
const inSource = new Map(
  [
    ...read('src/ports/Events.ts')
      .replace(/^ \* ?/gm, '')
      .matchAll(/^- `(\w+)`([\s\S]*?)(?=^- `|^@|^$)/gm)
  ].map(([, tag, text]) => [tag, text ?? ''])
)

describe('the events', () => {
  test('the guide lists every event', () => {
    expect([...said.keys()].toSorted()).toEqual(events.map(({ tag }) => tag).toSorted())
  })

  test.each(events)('the guide lists the fields of $tag', ({ tag, fields }) => {
    expect([...(said.get(tag) ?? [])].sort()).toEqual(fields)
  })

  test.each(events)('the doc block lists the fields of $tag', ({ tag, fields }) => {
    const text = inSource.get(tag) ?? ''
    expect(
      fields.filter((field) => !OF_UNIT.includes(field) && !text.includes(`\`${field.replace('?', '')}\``))
    ).toEqual([])
    expect(text).not.toBe('')
  })
})

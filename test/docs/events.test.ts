import { describe, expect, test } from 'vitest'
import { codes, column, read, table } from './markdown.js'
import { fieldsOf } from './source.js'

const UNIT = ['stepIndex', 'step', 'group?']

/** What every event has, and the fields of a unit under one name. */
const shortened = (fields: readonly string[]): readonly string[] => {
  const own = fields.filter((field) => field !== 'runId')
  return UNIT.every((field) => own.includes(field)) ? ['unit', ...own.filter((field) => !UNIT.includes(field))] : own
}

const events = [...fieldsOf('ports/Events.ts', 'Event')].map(([tag, fields]) => ({
  tag,
  fields: [...shortened(fields)].sort()
}))

const guide = table(read('docs/guide/embedding.md'), 'Events')
const said = new Map(
  column(guide, 'event').map((cell, index) => [codes(cell)[0], codes(column(guide, 'fields')[index] ?? '')])
)

/** What the doc block of the union says of each of its members: `- \`Tag\`: …`, up to the next of these. */
const inSource = new Map(
  [
    ...read('src/ports/Events.ts')
      .replace(/^ \* ?/gm, '')
      .matchAll(/^- `(\w+)`([\s\S]*?)(?=^- `|^@|^$)/gm)
  ].map(([, tag, text]) => [tag, text ?? ''])
)

describe('the events', () => {
  test('in the guide are all that there are', () => {
    expect([...said.keys()].toSorted()).toEqual(events.map(({ tag }) => tag).toSorted())
  })

  test.each(events)('$tag has its fields in the guide', ({ tag, fields }) => {
    expect([...(said.get(tag) ?? [])].sort()).toEqual(fields)
  })

  test.each(events)('$tag has its fields in its doc block', ({ tag, fields }) => {
    const text = inSource.get(tag) ?? ''
    expect(fields.filter((field) => field !== 'unit' && !text.includes(`\`${field.replace('?', '')}\``))).toEqual([])
    expect(text).not.toBe('')
  })
})

import { describe, expect, test } from 'vitest'
import { codes, column, read, table } from './markdown.js'
import { fieldsOf } from './source.js'

const UNIT = ['stepIndex', 'step', 'group?']

/** The fields of an event, with those of a unit under one name and without `runId`. */
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
    expect(fields.filter((field) => field !== 'unit' && !text.includes(`\`${field.replace('?', '')}\``))).toEqual([])
    expect(text).not.toBe('')
  })
})

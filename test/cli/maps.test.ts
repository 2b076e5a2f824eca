/** `forEach` in a workflow file: a wave whose items an earlier step printed. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { linesOf, type Sandbox, sandbox } from './dogear.js'

const pictures = `
name: pictures
steps:
  - name: list
    shell: cat files
    capture: files
  - wave: convert
    forEach: files
    key: item
    concurrency: 2
    each:
      run: [sh, -c, 'test ! -e "$1.broken" && echo "$1 $DOGEAR_KEY $item" >> did', sh, '\${item}']
  - shell: sort did > sorted
`

let place: Sandbox
beforeAll(() => {
  place = sandbox({ 'pictures.yml': pictures, files: 'a.png\nb.png\n\nc.png\n', 'b.png.broken': '' })
})
afterAll(() => place.remove())

describe('a map in a workflow file', () => {
  test('a map runs once per line, and a resume runs only the missing items, even if the list has changed', async () => {
    const ran = await place.dogear(['run', 'pictures.yml', '--id', 'p-1'])
    expect(ran.code).toBe(1)
    expect(linesOf(ran.stderr)).toContain('Step 2/3 convert: 3 items')
    place.write('files', 'other.png\n')
    rmSync(join(place.folder, 'b.png.broken'))
    const plan = await place.dogear(['plan', 'p-1'])
    expect(linesOf(plan.stdout).slice(1, 7)).toEqual([
      '1/3 steps are done, 2 to run',
      '  1/3  skip     list     completed',
      expect.stringMatching(/2\/3 {2}retry {4}convert {2}failed/),
      '       skip       a.png  completed',
      expect.stringMatching(/retry {6}b\.png {2}failed/),
      expect.stringMatching(/(skip|run) {7,8}c\.png/)
    ])
    expect((await place.dogear(['resume', 'p-1'])).code).toBe(0)
    expect(place.read('sorted')).toBe('a.png a.png a.png\nb.png b.png b.png\nc.png c.png c.png\n')
  })

  const half = `
name: half
steps:
  - { name: list, shell: 'printf "a\\nb\\nc\\n"', capture: files }
  - { wave: convert, forEach: files, key: item, concurrency: 1, each: { shell: 'test $item != b' } }
`

  test.each([
    ['--from-step', half],
    ['--restart-wave', half],
    ['--from-step', half.replace(/ {2}- \{ wave.*/, '  - { name: convert, shell: "true" }')]
  ])(
    '%s of a map with one completed item reports that the item, not the map, had completed before',
    async (flag, now) => {
      const at = sandbox({ 'half.yml': half })
      expect((await at.dogear(['run', 'half.yml', '--id', 'h-1'])).code).toBe(1)
      at.write('half.yml', now)
      const again = await at.dogear(['resume', 'h-1', flag, 'convert', '--json'])
      expect(again.stderr).toContain('\nCompleted before, running again:\n  convert/a: as requested\n')
      expect(JSON.parse(again.stdout)).toMatchObject({
        ran_again: [{ unit: 'convert/a', reason: 'Forced', why: 'as requested' }]
      })
      at.remove()
    }
  )

  test('--restart-wave computes the items of a map again', async () => {
    place.write('files', 'x\ny\n')
    expect((await place.dogear(['run', 'pictures.yml', '--id', 'p-2'])).code).toBe(0)
    place.write('did', '')
    const again = await place.dogear(['resume', 'p-2', '--restart-wave', 'convert'])
    expect([again.code, linesOf(again.stderr).includes('Step 2/3 convert: 2 items')]).toEqual([0, true])
    expect(place.read('sorted')).toBe('x x x\ny y y\n')
  })

  test('the items of a map may come from JSON or the file, with a field as their key', async () => {
    const json = '[{"id": "one", "n": 1}, {"id": "two", "n": 2}]'
    const each = 'each: { shell: \'echo "$DOGEAR_KEY $item" >> out\' }'
    place.write(
      'json.yml',
      `steps:\n  - { name: list, shell: "echo '${json.replaceAll('"', '\\"')}'", capture: list }\n` +
        `  - { wave: a, forEach: list, key: id, concurrency: 1, ${each} }\n` +
        `  - { wave: b, forEach: [red, 7], concurrency: 1, ${each} }\n`
    )
    const ran = await place.dogear(['run', 'json.yml'])
    expect([ran.code, ran.stderr.includes('error')]).toEqual([0, false])
    expect(linesOf(place.read('out'))).toEqual(['one {"id":"one","n":1}', 'two {"id":"two","n":2}', '1 red', '2 7'])
  })

  test('an inner map may take its items from an item of the outer map', async () => {
    place.write(
      'inner.yml',
      'steps: [{ wave: a, forEach: [[x, y], [z]], concurrency: 1, each: { forEach: item, key: item, concurrency: 1, ' +
        'each: { shell: echo "$DOGEAR_STEP $DOGEAR_KEY $item" >> inner } } }]\n'
    )
    expect((await place.dogear(['run', 'inner.yml'])).code).toBe(0)
    expect(linesOf(place.read('inner'))).toEqual(['a/1/x x x', 'a/1/y y y', 'a/2/z z z'])
  })

  test.each([
    ['[1, 2', '"list" is not a valid JSON array'],
    ['[{"n": 1}]', 'item 1 has no string or number "id" as its key: {"n":1}'],
    ['[{"id": "a"}, {"id": "a"}]', 'item 2 has the key "a" of an earlier item; use a different key for each item'],
    ['[{"id": ""}]', 'item 1 has a key of 0 characters; use 1 to 512 characters']
  ])('a map fails before any work if its items cannot be computed: %s', async (list, message) => {
    place.write(
      'bad.yml',
      `input: { list: '${list}' }\nsteps: [{ wave: w, forEach: list, key: id, each: { shell: touch ran } }]\n`
    )
    const ran = await place.dogear(['run', 'bad.yml'])
    expect(ran.code).toBe(1)
    expect(ran.stderr).toContain(message)
    expect(place.exists('ran')).toBe(false)
  })

  test.each([
    ['{ wave: w, forEach: lst, each: { shell: x } }', 'unknown variable "lst". Did you mean "list"?'],
    ['{ wave: w, forEach: list }', '"forEach" needs "each": the work for each item'],
    ['{ wave: w, each: { shell: x } }', '"each" needs "forEach": the variable that has the items, or a list of them'],
    ['{ wave: w, forEach: list, each: { shell: x, capture: y } }', 'capture of "w" must be absent'],
    ['{ wave: w, forEach: list, each: x }', '"each" is a mapping like'],
    ['{ wave: w, forEach: list, groups: { a: { shell: x } }, each: { shell: x } }', 'not both'],
    ['{ wave: w, key: x, groups: { a: { shell: x } } }', '"key" is for the items of "forEach"'],
    ['{ wave: w, forEach: list, each: { run: [x, "${ietm}"] } }', 'unknown variable "ietm". Did you mean "item"?']
  ])('a wave with invalid fields of a map is refused before anything runs: %s', async (step, message) => {
    place.write('wrong.yml', `input: { list: a }\nsteps:\n  - ${step}\n`)
    const ran = await place.dogear(['run', 'wrong.yml'])
    expect(ran.code).toBe(2)
    expect(ran.stderr).toMatch(/wrong\.yml:\d+:\d+: /)
    expect(ran.stderr).toContain(message)
  })

  test('a map of thousands of items is reported in a few lines', async () => {
    place.write(
      'many.yml',
      'steps:\n  - { name: list, shell: seq 120, capture: numbers }\n  - { wave: all, forEach: numbers, each: { run: ["true"] } }\n'
    )
    const ran = await place.dogear(['run', 'many.yml', '--id', 'many-1'])
    expect(ran.code).toBe(0)
    expect(linesOf(ran.stderr)).toContain('Executing step 2/2: all (120 groups)')
    expect(linesOf(ran.stderr).length).toBeLessThan(20)
    const shown = await place.dogear(['show', 'many-1'])
    expect(linesOf(shown.stdout).length).toBeLessThan(30)
    expect(shown.stdout).toContain('120/120 groups')
  })
})

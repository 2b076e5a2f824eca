import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { blocks, read } from './markdown.js'
import { open } from './terminal.js'

interface Typed {
  readonly line: string
  readonly output: string
}

/** What is typed in a terminal picture, and what comes of it. */
const story: readonly Typed[] = blocks(read('README.md'), 'console').flatMap((block) =>
  block
    .split(/^\$ /m)
    .filter((part) => part !== '')
    .map((part) => {
      const [line = '', ...output] = part.trimEnd().split('\n')
      return { line, output: output.join('\n') }
    })
)

const terminal = open()
afterAll(terminal.close)

/** Progress and a step's own output come through two pipes: their lines are compared in any order. */
const shape = (output: string): readonly string[] => output.trimEnd().split('\n').sort()

describe('the picture in the README', () => {
  test('shows a crash, a plan and a resume', () => {
    const lines = story.map(({ line }) => line.split(' ').slice(0, 2).join(' '))
    expect(lines).toEqual(['cat release.yml', 'dogear run', 'dogear plan', 'dogear resume'])
  })

  test('is what happens', async () => {
    for (const { line, output } of story) {
      const [, shown] = /^cat (\S+)$/.exec(line) ?? []
      if (shown !== undefined) {
        writeFileSync(join(terminal.folder, shown), `${output}\n`)
        continue
      }
      // People wait two seconds before they kill; a busy machine may need longer to get so far.
      const [, killed] = /^(.*) & sleep \d+; kill -9 \$!$/.exec(line) ?? []
      const seen = await (killed === undefined ? terminal.type(line) : terminal.type(killed, output.split('\n').at(-1)))
      expect(shape(seen.all), line).toEqual(shape(output))
      expect(seen.code, line).toBe(killed === undefined ? 0 : null)
    }
  })
})

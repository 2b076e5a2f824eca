import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** TypeScript in the documentation: in the comments of src, in README.md or below docs. */
export interface Fence {
  /** The file, from the root of the repository, and the line where the code begins: `src/domain/plan/Plan.ts:12`. */
  readonly name: string
  readonly line: number
  readonly code: string
  /** Whether to run it too, or only type-check it. */
  readonly runs: boolean
}

interface Page {
  readonly file: string
  /** Markdown, with the line of each fence in the file. */
  readonly lines: readonly string[]
}

export const root = resolve(import.meta.dirname, '..')

/** The code to check: ` ```ts `, ` ```ts no-run ` without running it, not ` ```ts ignore `. An `@example` without a fence is code itself. */
export const fences = (): readonly Fence[] => [
  ...comments().flatMap((page) => [...examplesOf(page), ...fencesOf(page)]),
  ...guides().flatMap(fencesOf)
]

// The end of a comment ends its last tag, as the next tag would.
const comments = (): readonly Page[] =>
  pages(below('src', '.ts'), (line) => /^\s*\*(?!\/) ?(.*)$/.exec(line)?.[1] ?? (line.includes('*/') ? '@end' : ''))

const guides = (): readonly Page[] => pages(['README.md', ...below('docs', '.md')], (line) => line)

function pages(files: readonly string[], markdownOf: (line: string) => string): readonly Page[] {
  return files.map((file) => ({ file, lines: readFileSync(join(root, file), 'utf8').split('\n').map(markdownOf) }))
}

function below(folder: string, extension: string): readonly string[] {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(extension))
    .map((path) => `${folder}/${path}`)
    .sort()
}

function examplesOf({ file, lines }: Page): readonly Fence[] {
  return lines.flatMap((text, index) => {
    if (!/^@example\b/.test(text)) return []
    const length = lines.slice(index + 1).findIndex((line) => line.startsWith('@'))
    const code = lines.slice(index + 1, index + 1 + length)
    if (code.some((line) => line.startsWith('```'))) return []
    if (code.every((line) => line.trim() === '')) throw new Error(`${file}:${index + 1}: this example is empty`)
    return [{ name: `${file}:${index + 2}`, line: index + 2, code: code.join('\n'), runs: true }]
  })
}

function fencesOf({ file, lines }: Page): readonly Fence[] {
  const found: Fence[] = []
  let open: { readonly marker: string; readonly info: string; readonly from: number } | undefined
  for (const [index, text] of lines.entries()) {
    const [, marker, info = ''] = /^\s*(`{3,})\s*([^`]*)$/.exec(text) ?? []
    if (marker === undefined) continue
    if (open === undefined) {
      open = { marker, info: info.trim(), from: index + 1 }
    } else if (info === '' && marker.length >= open.marker.length) {
      const name = `${file}:${open.from + 1}`
      const how = treatment(open.info, name)
      const code = lines.slice(open.from, index).join('\n')
      if (how !== 'ignore') found.push({ name, line: open.from + 1, code, runs: how === 'run' })
      open = undefined
    }
  }
  if (open !== undefined) throw new Error(`${file}:${open.from}: this code block has no end`)
  return found
}

function treatment(info: string, name: string): 'run' | 'no-run' | 'ignore' {
  const [language, ...words] = info.split(/\s+/)
  if (language !== 'ts' && language !== 'typescript') return 'ignore'
  const word = words.join(' ') || 'run'
  if (word === 'run' || word === 'no-run' || word === 'ignore') return word
  throw new Error(`${name}: a TypeScript code block is "ts", "ts no-run" or "ts ignore", not "${info}"`)
}

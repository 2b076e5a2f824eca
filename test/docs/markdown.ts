import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const root = resolve(import.meta.dirname, '../..')

export const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** The Markdown pages of the repository, by path from its root, without typedoc's output. */
export const pages: readonly string[] = [
  'README.md',
  'CHANGELOG.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md') && !path.startsWith('api/'))
    .map((path) => `docs/${path}`)
    .sort()
]

export interface Table {
  /** The heading above it. */
  readonly under: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** The tables of a page. */
export function tables(markdown: string): readonly Table[] {
  const found: Table[] = []
  let under = ''
  let rows: string[][] = []
  const close = (): void => {
    const [head, , ...body] = rows
    if (head !== undefined) found.push({ under, head, rows: body })
    rows = []
  }
  for (const line of outsideFences(markdown)) {
    if (line.startsWith('|')) rows.push(cells(line))
    else close()
    under = /^#+ (.*)$/.exec(line)?.[1] ?? under
  }
  close()
  return found
}

const cells = (row: string): string[] =>
  row
    .slice(1, row.lastIndexOf('|'))
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim())

/** The one table under a heading. */
export function table(markdown: string, under: string): Table {
  const [only, ...more] = tables(markdown).filter((one) => one.under === under)
  if (only === undefined || more.length > 0) throw new Error(`there should be one table under "${under}"`)
  return only
}

/** A column of a table, by its title. */
export function column({ head, rows }: Table, name: string): readonly string[] {
  const index = head.indexOf(name)
  if (index === -1) throw new Error(`the table has no column ${name}: ${head.join(', ')}`)
  return rows.map((row) => row[index] ?? '')
}

/** The content of code marks: `` `Failed` `` yields Failed. */
export const codes = (text: string): readonly string[] =>
  [...text.matchAll(/`([^`]+)`/g)].flatMap(([, code]) => code ?? [])

/** The lines of a page, with code blocks blanked. */
export function outsideFences(markdown: string): readonly string[] {
  let within = false
  return markdown.split('\n').map((line) => {
    const fence = /^\s*```/.test(line)
    if (fence) within = !within
    return fence || within ? '' : line
  })
}

/** The code blocks of a page whose info string begins with this text. */
export function blocks(markdown: string, info: string): readonly string[] {
  return [...markdown.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].flatMap(([, head, body]) =>
    head === info ? [body ?? ''] : []
  )
}

/** The anchors of headings, as GitHub derives them. */
export function anchors(markdown: string): ReadonlySet<string> {
  const seen = new Map<string, number>()
  const headings = outsideFences(markdown).flatMap((line) => /^#+ (.*)$/.exec(line)?.[1] ?? [])
  return new Set(
    headings.map((heading) => {
      const plain = heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-')
      const times = seen.get(plain) ?? 0
      seen.set(plain, times + 1)
      return times === 0 ? plain : `${plain}-${times}`
    })
  )
}

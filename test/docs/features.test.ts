import { existsSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { read, root, tables } from './markdown.js'

const page = read('docs/features.md')

/** The number of behaviours of each chapter. */
const CHAPTERS: Readonly<Record<string, number>> = {
  A: 14,
  B: 9,
  C: 14,
  D: 13,
  E: 10,
  F: 8,
  G: 12,
  H: 6,
  I: 4,
  J: 8,
  K: 6,
  L: 6,
  M: 12,
  N: 7,
  O: 7,
  P: 10,
  Q: 3,
  R: 10,
  S: 7,
  T: 14,
  U: 9,
  V: 7
}

interface Feature {
  readonly id: string
  readonly under: string
  readonly behaviour: string
  readonly state: string
  readonly shown: readonly string[]
  readonly why: string
}

/** The content of single or double code marks, because a title may contain backticks. */
const CODE = /``\s(.+?)\s``|`([^`]+)`/g

const features: readonly Feature[] = tables(page).flatMap(({ under, rows }) =>
  rows.map(([id = '', behaviour = '', state = '', cell = '']) => ({
    id,
    under,
    behaviour,
    state,
    shown: [...cell.matchAll(CODE)].map(([, two, one]) => two ?? one ?? ''),
    why: cell.replace(CODE, '').replace(/^[,;\s]+/, '')
  }))
)

const counts = (state: string): number => features.filter((one) => one.state === state).length

// ---------------------------------------------------------------------------------------------------------------------
// tests in the source
// ---------------------------------------------------------------------------------------------------------------------

/** The words of a call: `test.skipIf(x).each([…])(…)` yields test, skipIf, each. */
const wordsOf = (callee: ts.Expression): readonly string[] => {
  if (ts.isIdentifier(callee)) return [callee.text]
  if (ts.isPropertyAccessExpression(callee)) return [...wordsOf(callee.expression), callee.name.text]
  return ts.isCallExpression(callee) ? wordsOf(callee.expression) : []
}

const TESTS = new Set(['test', 'law'])
const NEVER_RUN = new Set(['skip', 'todo', 'fails'])

/** A title as written in the source, including `${…}`. */
const titleOf = (node: ts.Expression | undefined, source: ts.SourceFile): string | undefined => {
  if (node === undefined) return undefined
  if (ts.isStringLiteralLike(node)) return node.text
  return ts.isTemplateExpression(node) ? node.getText(source).slice(1, -1) : undefined
}

/** The titles of the tests in a file that run. */
const titlesIn = (path: string): ReadonlySet<string> => {
  const source = ts.createSourceFile(path, read(path), ts.ScriptTarget.Latest)
  const found = new Set<string>()
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const [first = '', ...more] = wordsOf(node.expression)
      const isSkipped = more.some((word) => NEVER_RUN.has(word))
      if (isSkipped && (TESTS.has(first) || first === 'describe')) return
      const title = titleOf(node.arguments[0], source)
      if (TESTS.has(first) && title !== undefined) found.add(title)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

const known = new Map<string, ReadonlySet<string>>()

const titlesOf = (path: string): ReadonlySet<string> => {
  const found = known.get(path) ?? (existsSync(join(root, path)) ? titlesIn(path) : new Set<string>())
  known.set(path, found)
  return found
}

describe('docs/features.md', () => {
  test('docs/features.md has a row for each behaviour, in order and under its chapter', () => {
    const all = Object.entries(CHAPTERS).flatMap(([chapter, has]) =>
      Array.from({ length: has }, (_, index) => `${chapter}${index + 1}`)
    )
    expect(features.map(({ id }) => id)).toEqual(all)
    expect(features.filter(({ id, under }) => under[0] !== id[0])).toEqual([])
    expect(features.filter(({ behaviour }) => !behaviour.endsWith('.'))).toEqual([])
  })

  test('docs/features.md counts the behaviours of each state correctly', () => {
    expect(page).toContain(
      `Of ${features.length} behaviours: ${counts('built')} built, ${counts('in part')} in part, ` +
        `${counts('superseded')} superseded, ${counts('not built yet')} not built yet.`
    )
  })

  test('docs/features.md names a test, a gap or a reason for each behaviour', () => {
    const fits = ({ state, shown, why }: Feature): boolean => {
      switch (state) {
        case 'built':
          return shown.length > 0 && why === ''
        case 'in part':
          return shown.length > 0 && why !== ''
        case 'superseded':
          return shown.length === 0 && why !== ''
        case 'not built yet':
          return shown.length === 0 && why === ''
        default:
          return false
      }
    }
    expect(features.filter((one) => !fits(one))).toEqual([])
  })

  test.each(features.filter(({ shown }) => shown.length > 0))(
    'the tests of the behaviour $id exist and run',
    ({ shown }) => {
      const missing = shown.filter((one) => {
        const [path = '', ...title] = one.split(' › ')
        return !titlesOf(path).has(title.join(' › '))
      })
      expect(missing).toEqual([])
    }
  )
})

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

interface Row {
  /** The files that this row applies to. A file may import what any of its rows allows. */
  readonly files: RegExp
  readonly mayImport: readonly RegExp[]
  readonly mayImportTypes?: readonly RegExp[]
}

const fpTs = /^fp-ts\/lib\/\w+\.js$/
const pureFpTs = /^fp-ts\/lib\/(?!\w*(Task|IO))(?!Console|Date|Random)\w+\.js$/
const ioTs = /^io-ts$|^io-ts\/lib\/\w+\.js$/
const node = /^node:/

const table: readonly Row[] = [
  { files: /^domain\//, mayImport: [/^domain\//, pureFpTs] },
  { files: /^domain\/(.*\/)?\w+Codec\.ts$/, mayImport: [ioTs] },
  { files: /^domain\/data\/Digest\.ts$/, mayImport: [/^node:crypto$/] },
  { files: /^ports\//, mayImport: [], mayImportTypes: [/^(ports|domain)\//, fpTs] },
  { files: /^adapters\//, mayImport: [/^(ports|domain)\//, fpTs, node] },
  { files: /^adapters\/json-file\//, mayImport: [/^adapters\/json-file\//, /^(write-file-atomic|proper-lockfile)$/] },
  { files: /^adapters\/memory(\.ts$|\/)/, mayImport: [/^adapters\/memory\//] },
  { files: /^adapters\/node\//, mayImport: [/^adapters\/node\//] },
  // Both databases keep the same rows.
  { files: /^adapters\/(sql|sqlite|postgres)\//, mayImport: [/^adapters\/sql\//] },
  { files: /^adapters\/sqlite\//, mayImport: [/^adapters\/sqlite\//] },
  { files: /^adapters\/postgres\//, mayImport: [/^adapters\/postgres\//, /^pg$/] },
  // It imports the store that its message names.
  { files: /^adapters\/node\/storageProcessChild\.ts$/, mayImport: [/^\(a computed name\)$/] },
  { files: /^executor\//, mayImport: [/^(executor|ports|domain)\//, fpTs], mayImportTypes: [ioTs] },
  { files: /^hosts\//, mayImport: [/^(hosts|executor|ports|domain)\//, fpTs] },
  {
    files: /^testing\//,
    mayImport: [/^(testing|executor|ports|domain)\//, /^adapters\/memory\.ts$/, fpTs, /^(fast-check|node:assert)$/]
  },
  { files: /^view\//, mayImport: [/^(view|domain)\//, pureFpTs], mayImportTypes: [/^ports\//] },
  { files: /^index\.ts$/, mayImport: [/^(domain|ports|executor|hosts|view|public)\//] },
  { files: /^public\//, mayImport: [/^(domain|ports|executor)\//] },
  // TypeScript names these types in the declarations of users.
  { files: /^public\/signatureTypes\.ts$/, mayImport: [], mayImportTypes: [fpTs] },
  { files: /^promise\//, mayImport: [/^(?!cli\/|testing\/)/] },
  { files: /^cli\//, mayImport: [/^/] }
]

interface Import {
  /** A path below src/ for a project module, else the specifier of the import. */
  readonly target: string
  readonly typesOnly: boolean
  readonly line: number
}

interface Source {
  /** The path below src/. */
  readonly path: string
  readonly lines: number
  readonly imports: readonly Import[]
  readonly tree: ts.SourceFile
}

const src = fileURLToPath(new URL('../src', import.meta.url))

const sources: readonly Source[] = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .sort()
  .map((path) => {
    const text = readFileSync(join(src, path), 'utf8')
    const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true)
    return { path, lines: text.split('\n').length, imports: importsOf(path, tree), tree }
  })

function importsOf(path: string, tree: ts.SourceFile): readonly Import[] {
  return nodesOf(tree).flatMap((node) => {
    const specifier = specifierOf(node)
    if (specifier === undefined) return []
    const target = specifier.startsWith('.')
      ? relative(src, join(src, dirname(path), specifier)).replace(/\.js$/, '.ts')
      : specifier
    return [{ target, typesOnly: importsTypesOnly(node), line: lineOf(node) }]
  })
}

function specifierOf(node: ts.Node): string | undefined {
  const specifier =
    ts.isImportDeclaration(node) || ts.isExportDeclaration(node)
      ? node.moduleSpecifier
      : ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)
        ? node.argument.literal
        : ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
          ? node.arguments[0]
          : undefined
  return specifier === undefined ? undefined : ts.isStringLiteralLike(specifier) ? specifier.text : '(a computed name)'
}

function importsTypesOnly(node: ts.Node): boolean {
  if (ts.isImportTypeNode(node)) return true
  if (ts.isExportDeclaration(node)) return node.isTypeOnly
  return ts.isImportDeclaration(node) && node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword
}

function nodesOf(tree: ts.Node): readonly ts.Node[] {
  const found: ts.Node[] = []
  const visit = (node: ts.Node): void => {
    found.push(node)
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return found
}

function lineOf(node: ts.Node): number {
  const tree = node.getSourceFile()
  return tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1
}

const layer = (name: string): readonly Source[] => sources.filter(({ path }) => path.startsWith(`${name}/`))

/** The positions of a syntax kind in the given files. */
const occurrences = (among: readonly Source[], matches: (node: ts.Node) => boolean): readonly string[] =>
  among.flatMap(({ path, tree }) =>
    nodesOf(tree)
      .filter(matches)
      .map((node) => `${path}:${lineOf(node)}: ${node.getText().split('\n')[0]}`)
  )

/** A type that shares its name with a namespace is exported as an alias. */
const passesOn = (statement: ts.Statement): boolean =>
  (ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined) ||
  (ts.isImportDeclaration(statement) && importsTypesOnly(statement)) ||
  ts.isTypeAliasDeclaration(statement)

describe('the layers', () => {
  test('every source file belongs to a layer', () => {
    expect(sources.length).toBeGreaterThan(0)
    expect(sources.filter(({ path }) => !table.some(({ files }) => files.test(path))).map(({ path }) => path)).toEqual(
      []
    )
  })

  test('a file imports only what its layer may import', () => {
    const wrong = sources.flatMap(({ path, imports }) => {
      const rows = table.filter(({ files }) => files.test(path))
      const allowed = ({ target, typesOnly }: Import): boolean =>
        rows.some(
          ({ mayImport, mayImportTypes = [] }) =>
            mayImport.some((pattern) => pattern.test(target)) ||
            (typesOnly && mayImportTypes.some((pattern) => pattern.test(target)))
        )
      return imports
        .filter((one) => !allowed(one))
        .map(({ target, typesOnly, line }) => `${path}:${line}: ${typesOnly ? 'types of ' : ''}${target}`)
    })
    expect(wrong).toEqual([])
  })

  test('imports have no cycle', () => {
    const targets = new Map(sources.map(({ path, imports }) => [path, imports.map(({ target }) => target)]))
    const done = new Set<string>()
    const cycles: string[] = []
    const visit = (path: string, trail: readonly string[]): void => {
      if (trail.includes(path)) {
        cycles.push([...trail.slice(trail.indexOf(path)), path].join(' > '))
      } else if (!done.has(path)) {
        for (const target of targets.get(path) ?? []) visit(target, [...trail, path])
        done.add(path)
      }
    }
    for (const { path } of sources) visit(path, [])
    expect(cycles).toEqual([])
  })

  test('each folder of the domain imports only folders before it in one order', () => {
    const ranks: Record<string, number> = {
      data: 0,
      workflow: 1,
      checkpoint: 2,
      change: 3,
      plan: 4,
      request: 4,
      explain: 5
    }
    const folderOf = (path: string): string => path.split('/')[1] ?? ''
    const wrong = layer('domain').flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => target.startsWith('domain/') && folderOf(target) !== folderOf(path))
        .filter(({ target }) => !((ranks[folderOf(target)] ?? Infinity) < (ranks[folderOf(path)] ?? -1)))
        .map(({ target, line }) => `${path}:${line}: ${target}`)
    )
    expect(wrong).toEqual([])
  })

  test('a folder has at most 20 modules', () => {
    const modules = new Map<string, number>()
    for (const { path } of sources) modules.set(dirname(path), (modules.get(dirname(path)) ?? 0) + 1)
    expect([...modules].filter(([, count]) => count > 20)).toEqual([])
  })

  test('the index and public modules only re-export what other modules export', () => {
    const index = sources.filter(({ path }) => path === 'index.ts' || path.startsWith('public/'))
    expect(index.length).toBeGreaterThan(1)
    expect(occurrences(index, (node) => ts.isStatement(node) && !passesOn(node))).toEqual([])
  })

  test('the executor has fewer lines than the domain', () => {
    const lines = (name: string): number => layer(name).reduce((sum, file) => sum + file.lines, 0)
    expect(lines('executor')).toBeLessThan(lines('domain'))
  })
})

const isChance = (node: ts.Identifier): boolean =>
  node.text === 'Math' && !(ts.isPropertyAccessExpression(node.parent) && node.parent.name.text !== 'random')

describe('the domain', () => {
  const clocks = ['Date', 'performance', 'setImmediate', 'setInterval', 'setTimeout']
  const surroundings = ['console', 'crypto', 'fetch', 'globalThis', 'process', 'Promise', 'queueMicrotask']

  test('among the executor and the promise form, only planRun.ts plans a run', () => {
    const planning = sources
      .filter(({ path }) => /^(executor|promise)\//.test(path))
      .filter(({ imports }) => imports.some(({ target }) => target === 'domain/plan/planResume.ts'))
    expect(planning.map(({ path }) => path)).toEqual(['executor/planRun.ts'])
  })

  test('the domain uses no time, no randomness and no process', () => {
    const outside = new Set([...clocks, ...surroundings])
    const wrong = layer('domain').flatMap((file) => {
      const imported = new Set(
        nodesOf(file.tree)
          .filter(ts.isNamespaceImport)
          .map(({ name }) => name.text)
      )
      const isImpure = (node: ts.Identifier): boolean =>
        (outside.has(node.text) && !imported.has(node.text)) || isChance(node)
      return occurrences([file], (node) => ts.isIdentifier(node) && isImpure(node))
    })
    expect(wrong).toEqual([])
  })

  test('the view reads no clock and no information about its process', () => {
    const outside = new Set([...clocks.filter((one) => one !== 'Date'), ...surroundings])
    const isPresent = (node: ts.Node): boolean =>
      (ts.isNewExpression(node) && node.expression.getText() === 'Date' && node.arguments?.length !== 1) ||
      (ts.isPropertyAccessExpression(node) && node.getText() === 'Date.now')
    expect(occurrences(layer('view'), isPresent)).toEqual([])
    expect(
      occurrences(layer('view'), (node) => ts.isIdentifier(node) && (outside.has(node.text) || isChance(node)))
    ).toEqual([])
  })

  test('the domain is synchronous', () => {
    const waits = [ts.SyntaxKind.AsyncKeyword, ts.SyntaxKind.AwaitKeyword, ts.SyntaxKind.AwaitExpression]
    expect(occurrences(layer('domain'), ({ kind }) => waits.includes(kind))).toEqual([])
  })
})

describe('the code', () => {
  test('only the promise façade throws or has classes', () => {
    const others = sources.filter(({ path }) => !path.startsWith('promise/'))
    expect(occurrences(others, (node) => ts.isClassLike(node) || ts.isThrowStatement(node))).toEqual([])
  })

  test('no type is any', () => {
    expect(occurrences(sources, ({ kind }) => kind === ts.SyntaxKind.AnyKeyword)).toEqual([])
  })

  test('no module has a default export', () => {
    expect(
      occurrences(
        sources,
        (node) =>
          ts.isExportAssignment(node) ||
          (node.kind === ts.SyntaxKind.DefaultKeyword && ts.canHaveModifiers(node.parent)) ||
          (ts.isExportSpecifier(node) && node.name.text === 'default')
      )
    ).toEqual([])
  })

  test('no comment is wider than 150 columns, except rows of tables', () => {
    const root = join(src, '..')
    const isCode = (path: string): boolean => /\.[cm]?[jt]s$/.test(path) && !/(^|\/)(\.tmp|node_modules)\//.test(path)
    const files = ['.ci', 'benchmarks', 'examples', 'src', 'test'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path))
    )
    const wide = files.filter(isCode).flatMap((path) =>
      readFileSync(join(root, path), 'utf8')
        .split('\n')
        .flatMap((line, index) =>
          line.length > 150 && /^\s*(\/\/|\/?\*)(?! \|)/.test(line) ? [`${path}:${index + 1}`] : []
        )
    )
    expect(wide).toEqual([])
  })

  test('no folder or file has a catch-all name', () => {
    const vague = /(^|\/)(utils?|helpers?|common|types|shared|misc)(\/|\.ts$)/i
    expect(sources.map(({ path }) => path).filter((path) => vague.test(path))).toEqual([])
  })
})

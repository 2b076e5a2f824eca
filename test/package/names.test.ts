import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** The names of a module, and below those of its namespaces. */
const namesOf = (checker: ts.TypeChecker, module: ts.Symbol): ReadonlyArray<string> =>
  checker
    .getExportsOfModule(module)
    .flatMap((symbol) => {
      const members = membersOf(checker, symbol)
      return [symbol.name, ...members.map((name) => `${symbol.name}.${name}`)]
    })
    .sort()

const membersOf = (checker: ts.TypeChecker, symbol: ts.Symbol): ReadonlyArray<string> => {
  const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0
  const target = isAlias ? checker.getAliasedSymbol(symbol) : symbol
  const isModule = (target.flags & ts.SymbolFlags.ValueModule) !== 0
  return isModule ? checker.getExportsOfModule(target).map(({ name }) => name) : []
}

const ENTRIES = {
  dogear: '../../src/index.ts',
  'dogear/promise': '../../src/promise/index.ts',
  'dogear/memory': '../../src/adapters/memory.ts',
  'dogear/json-file': '../../src/adapters/json-file/index.ts',
  'dogear/sqlite': '../../src/adapters/sqlite/index.ts',
  'dogear/postgres': '../../src/adapters/postgres/index.ts',
  'dogear/node': '../../src/adapters/node/index.ts',
  'dogear/testing': '../../src/testing/index.ts'
}

test('each entry point exports exactly the names in its list', { timeout: 60_000 }, async () => {
  const program = ts.createProgram(Object.values(ENTRIES).map(path), {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    types: []
  })
  const checker = program.getTypeChecker()
  const lists = Object.entries(ENTRIES).flatMap(([entry, file]) => {
    const source = program.getSourceFile(path(file))
    const module = source === undefined ? undefined : checker.getSymbolAtLocation(source)
    const names = module === undefined ? [] : namesOf(checker, module)
    return [`# ${entry}: ${names.length}`, ...names, '']
  })
  await expect(lists.join('\n')).toMatchFileSnapshot(path('../golden/names.txt'))
})

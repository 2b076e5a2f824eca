// Takes from the declarations of tsc what the entry points lead to: what they export, and what that names.
import { dirname, join } from 'node:path'
import ts from 'typescript'

const ALL = '*'

/** Returns the text of each file that is left, by its path. `read` returns the text of a file. */
export function reachableTypes(entries, read) {
  const files = new Map()
  const fileAt = (path) => {
    if (!files.has(path)) files.set(path, fileOf(path, read(path)))
    return files.get(path)
  }
  const keep = (path, name) => {
    const file = fileAt(path)
    if (file.asked.has(name)) return
    file.asked.add(name)
    for (const statement of file.statements) {
      if (statement.star !== undefined) {
        keep(statement.star, name)
        if (fileAt(statement.star).statements.some(({ isKept }) => isKept)) statement.isKept = true
      } else if (name === ALL ? statement.isExported : statement.names.has(name)) {
        if (statement.isKept) continue
        statement.isKept = true
        for (const [target, found] of statement.leadsTo(file)) keep(target, found)
      }
    }
  }
  for (const entry of entries) keep(entry, ALL)
  return new Map([...files].map(([path, file]) => [path, textOf(file)]))
}

function fileOf(path, text) {
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true)
  const targetOf = ({ text }) =>
    text.startsWith('.') ? join(dirname(path), text.replace(/\.js$/, '.d.ts')) : undefined
  const imports = tree.statements.filter(ts.isImportDeclaration).map((statement) => importOf(statement, targetOf))
  const statements = tree.statements
    .filter((statement) => !ts.isImportDeclaration(statement))
    .map((statement) => statementOf(statement, path, targetOf))
  return { path, imports, statements, asked: new Set() }
}

function importOf(statement, targetOf) {
  const { namedBindings: bindings } = statement.importClause
  const names = ts.isNamespaceImport(bindings)
    ? [{ here: bindings.name.text, there: ALL, text: bindings.getText() }]
    : bindings.elements.map((one) => ({
        here: one.name.text,
        there: (one.propertyName ?? one.name).text,
        text: one.getText()
      }))
  return { text: statement.getText(), bindings: bindings.getText(), names, target: targetOf(statement.moduleSpecifier) }
}

function statementOf(statement, path, targetOf) {
  const text = statement.getFullText()
  const isExported = ts.isExportDeclaration(statement) || statement.modifiers?.[0]?.kind === ts.SyntaxKind.ExportKeyword
  const common = { text, isExported, isKept: false, identifiers: new Set(), names: new Set() }
  if (ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined) {
    const target = targetOf(statement.moduleSpecifier)
    const { exportClause: clause } = statement
    if (clause === undefined) return { ...common, star: target }
    const elements = ts.isNamespaceExport(clause) ? [clause] : clause.elements
    const led = target === undefined ? [] : elements
    const leads = led.map((one) => [target, clause === one ? ALL : (one.propertyName ?? one.name).text])
    return { ...common, names: new Set(elements.map(({ name }) => name.text)), leadsTo: () => leads }
  }
  const { identifiers, members, types } = identifiersIn(statement, targetOf)
  /** What the file imports or declares under a name. */
  const named =
    ({ imports }) =>
    (name) => {
      const found = imports.find(({ names }) => names.some(({ here }) => here === name))
      if (found === undefined) return [[path, name]]
      if (found.target === undefined) return []
      const { there } = found.names.find(({ here }) => here === name)
      if (there !== ALL) return [[found.target, there]]
      return (members.get(name) ?? [ALL]).map((member) => [found.target, member])
    }
  return {
    ...common,
    identifiers,
    names: namesOf(statement),
    leadsTo: (file) => [...types, ...[...identifiers].flatMap(named(file))]
  }
}

function namesOf(statement) {
  if (ts.isExportDeclaration(statement)) return new Set(statement.exportClause.elements.map(({ name }) => name.text))
  const declared = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [statement]
  return new Set(declared.flatMap(({ name }) => (name === undefined ? [] : [name.text])))
}

/** `members`: what is taken of a name, as in `Change.Change`; `types`: what `import()` names. */
function identifiersIn(statement, targetOf) {
  const [identifiers, members, types] = [new Set(), new Map(), []]
  const visit = (node) => {
    if (ts.isIdentifier(node)) identifiers.add(node.text)
    if (ts.isQualifiedName(node) && ts.isIdentifier(node.left))
      members.set(node.left.text, [...(members.get(node.left.text) ?? []), node.right.text])
    if (ts.isImportTypeNode(node)) {
      const target = targetOf(node.argument.literal)
      if (target !== undefined) types.push([target, node.qualifier?.getText() ?? ALL])
    }
    ts.forEachChild(node, visit)
  }
  visit(statement)
  return { identifiers, members, types }
}

/** A file without its other declarations, and without what only these import; undefined if nothing is left. */
function textOf({ imports, statements }) {
  const kept = statements.filter(({ isKept }) => isKept)
  if (kept.length === 0) return undefined
  const used = new Set(kept.flatMap(({ identifiers }) => [...identifiers]))
  const needed = imports.flatMap(({ text, bindings, names }) => {
    const left = names.filter(({ here }) => used.has(here))
    if (left.length === 0) return []
    return left.length === names.length
      ? [text]
      : [text.replace(bindings, () => `{ ${left.map((one) => one.text).join(', ')} }`)]
  })
  return `${[...needed, ...kept.map(({ text }) => text.trim())].join('\n')}\n`
}

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { root } from './markdown.js'

const config = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path))
const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, root)

const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => join(root, 'src', path))

const program = ts.createProgram(files, options)
const checker = program.getTypeChecker()

const ours: readonly ts.SourceFile[] = program.getSourceFiles().filter(({ fileName }) => files.includes(fileName))

/** The values of a property in all members of a type that `src/<file>` exports: of `_tag`, its members' names. */
export function literals(file: string, name: string, property = '_tag'): readonly string[] {
  return literalsOf(checker.getDeclaredTypeOfSymbol(exportedAs(file, name)), property)
}

const exportedAs = (file: string, name: string): ts.Symbol => {
  const source = program.getSourceFile(join(root, 'src', file))
  const exported = source && checker.getSymbolAtLocation(source)
  const symbol = exported && checker.getExportsOfModule(exported).find((one) => one.name === name)
  if (source === undefined || symbol === undefined) throw new Error(`src/${file} exports no type ${name}`)
  return symbol
}

const membersOf = (type: ts.Type): readonly ts.Type[] => (type.isUnion() ? type.types : [type])

const literalsOf = (type: ts.Type, property: string): readonly string[] =>
  membersOf(type).flatMap((member) => {
    const symbol = member.getProperty(property)
    if (symbol === undefined) return []
    return membersOf(checker.getTypeOfSymbol(symbol)).flatMap((value) => (value.isStringLiteral() ? [value.value] : []))
  })

/** The members of a type that `src/<file>` exports, by tag, with their other fields; `group?` is optional. Two members with one tag count as one. */
export function fieldsOf(file: string, name: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const member of membersOf(checker.getDeclaredTypeOfSymbol(exportedAs(file, name)))) {
    const [tag = ''] = literalsOf(member, '_tag')
    const fields = member.getProperties().filter((one) => one.name !== '_tag')
    const names = fields.map((one) => ((one.flags & ts.SymbolFlags.Optional) === 0 ? one.name : `${one.name}?`))
    found.set(tag, [...(found.get(tag) ?? []), ...names])
  }
  return found
}

/** The tags of every exported type in the category errors. */
export const errorTags = (): ReadonlySet<string> =>
  new Set(
    ours.flatMap((source) =>
      source.statements
        .filter((one) => ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one))
        .filter((one) =>
          ts.getJSDocTags(one).some((tag) => tag.tagName.text === 'category' && tag.comment === 'errors')
        )
        .flatMap((one) => literalsOf(checker.getTypeAtLocation(one), '_tag'))
    )
  )

/** An error that the source creates for a step: its name, and its code if that is constant. */
export interface Made {
  readonly name: string
  readonly code?: string
}

/** Every call of `StepError.make` with a fixed name, and of `wrong(name, message, code)`, which makes the errors of sub-steps. */
export const stepErrors = (): readonly Made[] => {
  const found: Made[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const [name, , details] = node.arguments
      const made = node.expression.getText()
      if (name !== undefined && ts.isStringLiteral(name)) {
        if (made === 'StepError.make') found.push({ name: name.text, ...codeIn(details) })
        if (made === 'wrong' && details !== undefined && ts.isStringLiteral(details))
          found.push({ name: name.text, code: details.text })
      }
    }
    ts.forEachChild(node, visit)
  }
  ours.forEach(visit)
  return found
}

const codeIn = (details: ts.Expression | undefined): { readonly code?: string } => {
  if (details === undefined || !ts.isObjectLiteralExpression(details)) return {}
  const [code] = details.properties
    .filter((one) => ts.isPropertyAssignment(one))
    .filter((one) => one.name.getText() === 'code')
    .map((one) => one.initializer)
  return code !== undefined && ts.isStringLiteral(code) ? { code: code.text } : {}
}

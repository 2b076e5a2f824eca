/** Parses YAML 1.2 into plain data with positions; nothing else knows the YAML parser. */
import * as E from 'fp-ts/lib/Either.js'
import type { Document, Scalar as YamlScalar, YAMLMap, YAMLSeq } from 'yaml'
import { Composer, isAlias, isMap, isNode, isScalar, isSeq, Lexer, LineCounter, Parser, visit } from 'yaml'
import type { CST } from 'yaml'
import { clipped } from '../../view/text.js'
import type { Position, Problem, Report } from './Problem.js'
import * as Syntax from './Syntax.js'

/** `source`: the value as it is written. */
export interface Scalar {
  readonly _tag: 'Scalar'
  readonly at: Position
  readonly value: null | boolean | number | string
  readonly source: string
}

export interface List {
  readonly _tag: 'List'
  readonly at: Position
  readonly items: ReadonlyArray<Node>
}

export interface Entry {
  readonly at: Position
  readonly key: string
  readonly value: Node
}

/** Entries are in file order, each key once. */
export interface Mapping {
  readonly _tag: 'Mapping'
  readonly at: Position
  readonly entries: ReadonlyArray<Entry>
}

export type Node = Scalar | List | Mapping

export const kindOf = (node: Node): string => {
  if (node._tag !== 'Scalar') return node._tag === 'List' ? 'a list' : 'a mapping'
  const { value, source } = node
  if (value === null) return 'nothing'
  return typeof value === 'string'
    ? `the string ${JSON.stringify(clipped(value, 40))}`
    : `the ${typeof value} ${source}`
}

/** `problems`: values that cannot be read, each replaced by a stand-in. */
export interface Source {
  readonly node: Node
  readonly problems: ReadonlyArray<Problem>
}

export const MAX_BYTES = 1_048_576

/** The maximum depth of the parser's stack: the levels of lists and mappings, and one or two more. */
export const MAX_DEPTH = 100

/** `file`: the name in positions of an included file. */
export const parse = (text: string, file?: string): E.Either<ReadonlyArray<Problem>, Source> => {
  const lines = new LineCounter()
  const problems: Array<Problem> = []
  const placeOf = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return { line, column: col, ...(file === undefined ? {} : { file }) }
  }
  const report: Report = (at, message) => problems.push({ at, message })
  const tokens = tokensOf(text, lines)
  if (E.isLeft(tokens)) {
    report(placeOf(tokens.left), `nested more than ${MAX_DEPTH} levels deep`)
    return E.left(problems)
  }
  const [document, ...more] = new Composer({
    version: '1.2',
    uniqueKeys: false,
    prettyErrors: false,
    intAsBigInt: true,
    lineCounter: lines
  }).compose(tokens.right, true, text.length)
  if (document === undefined) return E.left(problems)
  const errors = [...document.errors, ...document.warnings]
  for (const { offset, message } of Syntax.syntaxProblems(text, errors, startIn(document, text))) {
    report(placeOf(offset), message)
  }
  if (more[0] !== undefined)
    report(placeOf(more[0].range[0]), 'a workflow file holds one document, and this is a second; remove it')
  if (document.directives?.yaml.version !== '1.2')
    report(placeOf(0), 'only YAML 1.2 is supported; remove the directive')
  if (problems.length > 0) return E.left(problems)
  const node = convertNode({ placeOf, report }, document.contents, document.range[0])
  return E.right({ node, problems })
}

/** Finds the last string, or outermost list or mapping, that opens what `end` closes and reaches the place where the parser noticed. */
const startIn = (document: Document.Parsed, text: string): Syntax.StartOf => {
  let all: Array<readonly [start: number, end: number]> | undefined
  const found = (): NonNullable<typeof all> => {
    const ranges: NonNullable<typeof all> = []
    visit(document, { Node: (_, { range }) => void (range && ranges.push([range[0], range[2]])) })
    return ranges
  }
  return (end, noticed) => {
    const begin = end === ']' ? '[' : end === '}' ? '{' : end
    const isIt = ([start, nodeEnd]: readonly [number, number]): boolean =>
      start < noticed && nodeEnd >= noticed && text.charAt(start) === begin
    all ??= found()
    return (begin === end ? all.findLast(isIt) : all.find(isIt))?.[0]
  }
}

/** Returns the offset of too deep nesting: the later stages recurse and would crash. */
const tokensOf = (text: string, lines: LineCounter): E.Either<number, ReadonlyArray<CST.Token>> => {
  const parser = new Parser(lines.addNewLine)
  lines.addNewLine(0)
  const tokens: Array<CST.Token> = []
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme))
    if (parser.stack.length > MAX_DEPTH) return E.left(parser.offset)
  }
  tokens.push(...parser.end())
  return E.right(tokens)
}

interface Reader {
  readonly placeOf: (offset: number) => Position
  readonly report: Report
}

/** `offset`: the position of a missing value. */
const convertNode = (reader: Reader, node: unknown, offset: number): Node => {
  refuseProperties(reader, node, offset)
  if (isScalar(node)) return convertScalar(reader, node, reader.placeOf(startOf(node, offset)))
  if (isMap(node)) return convertMap(reader, node, startOf(node, offset))
  if (isSeq(node)) return convertList(reader, node, startOf(node, offset))
  const at = reader.placeOf(isAlias(node) ? startOf(node, offset) : offset)
  if (isAlias(node)) reader.report(at, Syntax.alias)
  return { _tag: 'Scalar', at, value: null, source: '' }
}

/** YAML drops a tag silently, even the lone "!" of a script that begins with it, and the anchor "&x" of a string. */
const refuseProperties = ({ placeOf, report }: Reader, node: unknown, offset: number): void => {
  if (!isNode(node) || isAlias(node)) return
  if (node.tag !== undefined) report(placeOf(startOf(node, offset)), Syntax.tagged(node.tag))
  if (isScalar(node) && node.anchor !== undefined) report(placeOf(startOf(node, offset)), Syntax.anchor)
}

const startOf = (node: { readonly range?: readonly [number, ...Array<number>] | null }, otherwise: number): number =>
  node.range?.[0] ?? otherwise

const convertList = (reader: Reader, list: YAMLSeq, offset: number): List => ({
  _tag: 'List',
  at: reader.placeOf(offset),
  items: list.items.map((item) => convertNode(reader, item, offset))
})

const convertMap = (reader: Reader, map: YAMLMap, offset: number): Mapping => {
  const seen = new Map<string, Position>()
  const entries: Array<Entry> = []
  for (const { key, value } of map.items) {
    const keyOffset = isScalar(key) ? startOf(key, offset) : offset
    const at = reader.placeOf(keyOffset)
    const name = keyIn(reader, key, keyOffset)
    const converted = convertNode(reader, value, keyOffset)
    if (name === undefined) continue
    const earlier = seen.get(name)
    if (earlier !== undefined)
      reader.report(at, `the key "${name}" is set twice, first in line ${earlier.line}; remove one`)
    else entries.push({ at, key: name, value: converted })
    seen.set(name, earlier ?? at)
  }
  return { _tag: 'Mapping', at: reader.placeOf(offset), entries }
}

/** A key that is no string is reported, and stands for itself as it is written. */
const keyIn = (reader: Reader, key: unknown, offset: number): string | undefined => {
  // That a number cannot be stored does not matter for a key.
  const isText = !isScalar(key) || typeof key.value === 'string'
  const node = convertNode(isText ? reader : { ...reader, report: () => undefined }, key, offset)
  if (node._tag === 'Scalar' && typeof node.value === 'string') return node.value
  if (!isAlias(key)) reader.report(node.at, `a key must be a string, not ${kindOf(node)}; put it in quotes`)
  return node._tag === 'Scalar' && node.source !== '' ? node.source : undefined
}

const convertScalar = (reader: Reader, scalar: YamlScalar, at: Position): Scalar => {
  const { value, source = '' } = scalar
  if (typeof value === 'string' || typeof value === 'boolean') return { _tag: 'Scalar', at, value, source }
  if (typeof value !== 'bigint' && typeof value !== 'number') return { _tag: 'Scalar', at, value: null, source }
  const number = Number(value)
  const exact = Number.isFinite(number) && (typeof value === 'number' || Number.isSafeInteger(number))
  if (!exact) reader.report(at, `${source} cannot be stored exactly as a number; put it in quotes`)
  return { _tag: 'Scalar', at, value: exact ? number : 0, source }
}

/**
 * The states that a power cut may leave of a volume. Each name change that is not durable is there or not; each sector that is
 * not durable has any version since it last was; so has the length of each file. All of these are independent.
 */
import { sha256 } from '../../../src/domain/data/Digest.js'
import { chance } from './Chance.js'
import * as Content from './Content.js'
import type { FileNode, FolderNode, Volume } from './Volume.js'
import { emptyFolder, folderOf, ROOT } from './Volume.js'

/** A random choice and its number of outcomes. The first one is the state before the cut. */
interface Question {
  readonly what: string
  readonly ways: number
  readonly about:
    | { readonly _tag: 'Naming'; readonly index: number }
    | { readonly _tag: 'Sector'; readonly ino: number; readonly sector: number }
    | { readonly _tag: 'Size'; readonly ino: number }
}

type Answers = ReadonlyArray<number>

/** A volume after a power cut, and how it differs from before, for people. */
export interface Survivor {
  readonly volume: Volume
  readonly what: () => string
}

/**
 * The possible states after a power cut: all of them if there are at most `limit`, else a sample: the one that lost nothing, the
 * one that lost all it could, those that lost or kept one thing only, and random ones.
 */
export function* survivors(self: Volume, limit: number, seed: number): Generator<Survivor> {
  const questions = questionsOf(self)
  const all = questions.reduce((product, { ways }) => product * ways, 1)
  const seen = new Set<string>()
  for (const answers of all <= limit ? allAnswers(questions, all) : someAnswers(questions, limit, seed)) {
    const volume = leave(self, questions, answers)
    const print = fingerprint(volume)
    if (seen.has(print)) continue
    seen.add(print)
    yield { volume, what: () => describe(questions, answers) }
    if (seen.size === limit) return
  }
}

const questionsOf = (self: Volume): ReadonlyArray<Question> => {
  const files = filesWithin(self)
  return [
    ...self.namings.map(({ what }, index): Question => ({
      what: `without: ${what}`,
      ways: 2,
      about: { _tag: 'Naming', index }
    })),
    ...files.flatMap(({ path, node: { ino, content } }) => [
      ...[...content.sectors].map(([sector, versions]): Question => ({
        what: `sector ${sector} of ${path} as before`,
        ways: versions.length + 1,
        about: { _tag: 'Sector', ino, sector }
      })),
      ...sizesOf(content)
        .slice(1, 2)
        .map((): Question => ({
          what: `the length of ${path} as before`,
          ways: sizesOf(content).length,
          about: { _tag: 'Size', ino }
        }))
    ])
  ]
}

/** The possible lengths of a file: the one before the cut first, the oldest last. */
const sizesOf = ({ size, sizes }: Content.Content): ReadonlyArray<number> => [
  ...new Set([size, ...sizes.map(({ value }) => value).reverse()])
]

/** The files that may have a name after the cut, each with one such name. */
const filesWithin = (self: Volume): ReadonlyArray<{ readonly path: string; readonly node: FileNode }> => {
  const found = new Map<number, { readonly path: string; readonly node: FileNode }>()
  const visited = new Set<number>()
  const visit = (folder: FolderNode, path: string): void => {
    if (visited.has(folder.ino)) return
    visited.add(folder.ino)
    const parts = self.namings.flatMap((naming) => naming.parts.filter((part) => part.folder === folder.ino))
    for (const [name, ino] of [...folder.durable, ...parts.map((part) => [part.name, part.ino] as const)]) {
      const node = ino === undefined ? undefined : self.nodes.get(ino)
      if (node?.kind === 'folder') visit(node, `${path}/${name}`)
      else if (node !== undefined) found.set(node.ino, { path: `${path}/${name}`, node })
    }
  }
  visit(folderOf(self, ROOT), '')
  return [...found.values()]
}

function* allAnswers(questions: ReadonlyArray<Question>, all: number): Generator<Answers> {
  for (let nth = 0; nth < all; nth++) {
    let rest = nth
    yield questions.map(({ ways }) => {
      const answer = rest % ways
      rest = Math.floor(rest / ways)
      return answer
    })
  }
}

/** Random choices often repeat the state before: a file that has lost its name can lose no more. */
const TRIES = 4

function* someAnswers(questions: ReadonlyArray<Question>, limit: number, seed: number): Generator<Answers> {
  const pick = chance(seed)
  const kept = questions.map(() => 0)
  const lost = questions.map(({ ways }) => ways - 1)
  yield kept
  yield lost
  const order = questions.map((_, index) => ({ index, at: pick(1_000_000) })).sort((a, b) => a.at - b.at)
  for (const { index } of order) {
    yield kept.with(index, lost[index] as number)
    yield lost.with(index, 0)
  }
  for (let nth = 0; nth < TRIES * limit; nth++) yield byMood(questions, pick)
}

/** With independent coins for each choice, states that keep or lose most of one kind would be rare. */
const byMood = (questions: ReadonlyArray<Question>, pick: (below: number) => number): Answers => {
  const moods = new Map<string, number>()
  return questions.map(({ about, ways }) => {
    const key = about._tag === 'Naming' ? about._tag : `${about._tag} ${about.ino}`
    const mood = moods.get(key) ?? pick(4)
    moods.set(key, mood)
    return mood === 0 ? 0 : mood === 1 ? ways - 1 : pick(ways)
  })
}

const describe = (questions: ReadonlyArray<Question>, answers: Answers): string => {
  const lost = questions.flatMap(({ what, ways }, index) => {
    const answer = answers[index] as number
    return answer === 0 ? [] : [ways > 2 ? `${what} (way ${answer})` : what]
  })
  return lost.length === 0 ? 'nothing is lost' : lost.join('; ')
}

const leave = (self: Volume, questions: ReadonlyArray<Question>, answers: Answers): Volume => {
  const lost = new Set<number>()
  const sectors = new Map<number, Map<number, Uint8Array>>()
  const sizes = new Map<number, number>()
  for (const [at, { about }] of questions.entries()) {
    const answer = answers[at] as number
    if (answer === 0) continue
    if (about._tag === 'Naming') {
      lost.add(about.index)
      continue
    }
    const { content } = self.nodes.get(about.ino) as FileNode
    if (about._tag === 'Size') sizes.set(about.ino, sizesOf(content)[answer] as number)
    else {
      const of = sectors.get(about.ino) ?? new Map<number, Uint8Array>()
      // The last way is the oldest version.
      of.set(about.sector, content.sectors.get(about.sector)?.at(-answer)?.value as Uint8Array)
      sectors.set(about.ino, of)
    }
  }
  const names = namesAfter(self, lost)
  return copy(
    self,
    (ino) => names.get(ino) ?? folderOf(self, ino).durable,
    ({ ino, content }) => Content.left(content, sectors.get(ino) ?? new Map(), sizes.get(ino) ?? content.size)
  )
}

/** The names in folders with names that are not durable. */
const namesAfter = (self: Volume, lost: ReadonlySet<number>): ReadonlyMap<number, ReadonlyMap<string, number>> => {
  const names = new Map<number, Map<string, number>>()
  for (const [index, { parts }] of self.namings.entries()) {
    if (lost.has(index)) continue
    for (const { folder, name, ino } of parts) {
      const there = names.get(folder) ?? new Map(folderOf(self, folder).durable)
      if (ino === undefined) there.delete(name)
      else there.set(name, ino)
      names.set(folder, there)
    }
  }
  return names
}

/** A durable volume of everything reachable. */
const copy = (
  self: Volume,
  namesOf: (ino: number) => ReadonlyMap<string, number>,
  contentOf: (file: FileNode) => Content.Content
): Volume => {
  const nodes: Volume['nodes'] = new Map()
  const place = (ino: number, above: FolderNode['above']): void => {
    const node = self.nodes.get(ino)
    if (node === undefined || nodes.has(ino)) return
    if (node.kind === 'file') {
      nodes.set(ino, { ...node, content: contentOf(node) })
      return
    }
    const folder = { ...emptyFolder(ino, above), modifiedMillis: node.modifiedMillis }
    nodes.set(ino, folder)
    for (const [name, below] of namesOf(ino)) {
      // No folder is in two places.
      if (nodes.get(below)?.kind === 'folder') continue
      folder.names.set(name, below)
      folder.durable.set(name, below)
      place(below, { folder: ino, name })
    }
  }
  place(ROOT, undefined)
  return { nodes, namings: [], nextIno: self.nextIno, time: 0 }
}

/** A copy of a volume in which all is durable. */
export const durable = (self: Volume): Volume =>
  copy(
    self,
    (ino) => folderOf(self, ino).names,
    ({ content }) => Content.make(content.bytes.slice(), content.size)
  )

/** A digest of all names and contents. */
export const fingerprint = (self: Volume): string => {
  const parts: Array<string> = []
  const visit = ({ names }: FolderNode): void => {
    for (const [name, ino] of [...names].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const node = self.nodes.get(ino)
      if (node?.kind === 'folder') {
        parts.push(`${name}/`)
        visit(node)
        parts.push('..')
      } else if (node !== undefined) {
        const { content } = node
        parts.push(`${name} ${ino} ${content.size} ${Buffer.from(Content.written(content)).toString('latin1')}`)
      }
    }
  }
  visit(folderOf(self, ROOT))
  return sha256(parts.join('\n'))
}

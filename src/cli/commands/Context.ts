/** The context of every command. */
import { lstatSync, statSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join, resolve } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { JsonFileOptions, LargeCheckpoint } from '../../adapters/json-file/index.js'
import {
  describeExposure,
  fileArchive,
  fileArtifacts,
  fileRequests,
  jsonFileStorage
} from '../../adapters/json-file/index.js'
import { environmentSecrets, nodeEnvironment, workspaces } from '../../adapters/node/index.js'
import type { Json } from '../../domain/data/Json.js'
import type { Environment } from '../../ports/Environment.js'
import type { CliError } from '../CliError.js'
import { notDone, wrongUse } from '../CliError.js'
import { ExitCode } from '../ExitCode.js'
import type { Screen } from '../terminal/Screen.js'
import type { Hint } from '../report/Hint.js'
import { printHints } from '../report/Hint.js'
import { printed } from '../report/runJson.js'
import type { Location } from '../store/Location.js'
import { notAFolder, parse, show, STORES } from '../store/Location.js'
import type { Database } from '../store/open.js'
import { commandOf } from '../../domain/explain/shellQuote.js'

/** `words`: the typed command line; `inherited`: the variables that steps inherit. */
export interface Context {
  readonly words: ReadonlyArray<string>
  readonly screen: Screen
  readonly json: boolean
  /** Print events as lines of JSON, and the result as the last one; `json` is true then. */
  readonly events: boolean
  readonly stdin: NodeJS.ReadStream
  /** True if standard input and error output are a terminal. */
  readonly interactive: boolean
  readonly verbose: boolean
  readonly inherited: Readonly<Record<string, string | undefined>>
  readonly folder: string
  /** The folder of workspaces, and of runs unless they are in a database. */
  readonly home: string
  readonly store: Store
}

/** The values of all flags, by their names in camel case. */
export interface Flags {
  readonly all?: boolean
  readonly changes?: string
  readonly commit?: boolean
  readonly confirm?: ReadonlyArray<string>
  readonly dryRun?: boolean
  readonly events?: boolean
  readonly export?: string
  readonly force?: boolean
  readonly fromStep?: string
  readonly help?: boolean
  readonly history?: boolean
  readonly home?: string
  readonly html?: string
  readonly id?: string
  readonly input?: ReadonlyArray<string>
  readonly json?: boolean
  readonly keep?: string
  readonly level?: ReadonlyArray<string>
  readonly limit?: string
  readonly list?: boolean
  readonly merge?: boolean
  readonly mermaid?: boolean
  readonly olderThan?: string
  readonly only?: ReadonlyArray<string>
  readonly output?: string
  readonly plan?: string
  readonly reopen?: boolean
  readonly restartWave?: string
  readonly resume?: boolean
  readonly run?: string
  readonly status?: ReadonlyArray<string>
  readonly store?: string
  readonly takeOver?: boolean
  readonly tap?: boolean
  readonly to?: string
  readonly value?: string
  readonly valueFile?: string
  readonly verbose?: boolean
  readonly version?: boolean
  readonly yes?: boolean
}

/** Where the runs are. `words`: the flags that a printed command needs; `database`: absent if runs are files. */
export interface Store {
  readonly location: Location
  readonly words: ReadonlyArray<string>
  readonly database?: Database
}

/** The store in which a printed command works. */
export type Place = Pick<Context, 'store'>

export type Typed = Pick<Context, 'store' | 'words'>

/** The exit code of a command, or another value; left: its error. */
export type Result<A = ExitCode> = E.Either<CliError, A>

/** Returns an absolute path. */
const homeOf = (flag: string | undefined, inherited: Context['inherited'], folder: string): Result<string> => {
  if (flag === '' || flag?.startsWith('--') === true)
    return wrongUse(`--home: the value is ${flag === '' ? 'empty' : 'missing'}; pass a folder`)
  const variable = inherited['DOGEAR_HOME'] ?? ''
  const problem = notAFolder(flag ?? variable, folder)
  if (problem !== undefined) return wrongUse(`${flag === undefined ? 'DOGEAR_HOME' : '--home'}: ${problem}`)
  const home = resolve(folder, flag ?? (variable.trim() === '' ? DEFAULT_HOME : variable))
  return checkFolder(home)
}

/** Returns the path of a folder that exists, or that can be created. */
export const checkFolder = (path: string): Result<string> => {
  const why = whyNoFolder(path)
  return why === undefined
    ? E.right(path)
    : E.left(notDone({ _tag: 'Insecure', where: path, why, remedy: 'move it away, or pass another one' }))
}

/** Returns why a path cannot be used as a folder; undefined if it is a folder, is missing, or cannot be read, which the store reports. */
const whyNoFolder = (path: string): string | undefined => {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found !== undefined) return found.isDirectory() ? undefined : 'it is not a folder'
    return lstatSync(path, { throwIfNoEntry: false }) && 'it is a symbolic link to a folder that does not exist'
  } catch {
    return undefined
  }
}

const DEFAULT_HOME = '.dogear'

/** The variables for steps: a "dogear" in a step uses the same store. */
export const forSteps = (inherited: Context['inherited'], location: Location): Context['inherited'] => ({
  ...inherited,
  DOGEAR_STORE: location._tag === 'Files' ? undefined : location._tag === 'Sqlite' ? show(location) : location.url
})

const isDefaultHome = ({ home, folder }: Pick<Context, 'home' | 'folder'>): boolean =>
  home === join(folder, DEFAULT_HOME)

/** Where a command keeps runs and workspaces. Flags outweigh variables, so `--home` alone outweighs DOGEAR_STORE. */
export const locate = (
  flags: Flags,
  inherited: Context['inherited'],
  folder: string
): Result<Pick<Context, 'home' | 'store'>> => {
  if (flags.store?.startsWith('--') === true) return wrongUse(`--store: the value is missing; pass ${STORES}`)
  const variable = (inherited['DOGEAR_STORE'] ?? '').trim()
  const wanted = flags.store ?? (flags.home === undefined && variable !== '' ? variable : undefined)
  const home = homeOf(flags.home, inherited, folder)
  if (E.isLeft(home)) return home
  const parsed = wanted === undefined ? E.right(undefined) : parse(wanted, folder)
  if (E.isLeft(parsed)) return wrongUse(`${flags.store === undefined ? 'DOGEAR_STORE' : '--store'}: ${parsed.left}`)
  const location = parsed.right ?? { _tag: 'Files', path: home.right }
  if (location._tag !== 'Files') {
    const folders = { home: home.right, folder }
    const isImplied = flags.store === undefined && isDefaultHome(folders)
    return E.right({ home: home.right, store: isImplied ? { location, words: [] } : databaseAt(location, folders) })
  }
  const { path } = location
  if (flags.home !== undefined && path !== home.right)
    return wrongUse('--home and --store name different folders; use one of them')
  // A printed command must outweigh DOGEAR_STORE, and names a folder with the flag that the user typed.
  const isImplied = variable === '' && isDefaultHome({ home: path, folder })
  const words = isImplied ? [] : [flags.store === undefined ? '--home' : '--store', path]
  return E.map(() => ({ home: path, store: { location, words } }))(checkFolder(path))
}

export const databaseAt = (location: Location, folders: Pick<Context, 'home' | 'folder'>): Store => ({
  location,
  words: ['--store', show(location), ...(isDefaultHome(folders) ? [] : ['--home', folders.home])]
})

export const environmentFor = (
  { home, folder, inherited, screen, store: { database } }: Context,
  given: Partial<Omit<Environment, 'storage'>> = {}
): Environment => {
  const { storage, ...ports } = database ?? {
    storage: jsonFileStorage(home, warningsTo(screen)),
    artifacts: fileArtifacts(home),
    requests: fileRequests(home)
  }
  return nodeEnvironment(storage, {
    ...ports,
    archive: fileArchive(home),
    secrets: environmentSecrets(inherited),
    workspaces: workspaces(home, folder),
    ...given
  })
}

/** The warnings that were printed: a command may open the store more than once. */
const exposed = new Set<string>()

const warningsTo = (screen: Context['screen']): Pick<JsonFileOptions, 'onLarge' | 'onExposed'> => ({
  onLarge: (large) => screen.warn(ofLarge(large)),
  onExposed: (exposure) => {
    const text = describeExposure(exposure)
    if (!exposed.has(text)) screen.warn(text)
    exposed.add(text)
  }
})

const ofLarge = ({ runId, bytes, limitBytes, biggest }: LargeCheckpoint): string => {
  const named = biggest.map(({ path, bytes }) => `${path} (${bytes} bytes)`).join(', ')
  return `the state of run ${runId} has ${bytes} bytes (limit: ${limitBytes}). The biggest values: ${named}; keep large values in files or artifacts`
}

/** Keeps `.dogear` out of the user's commits. The store must create the folder first, durably. */
export const ignoreHome = (context: Context): void => {
  if (!isDefaultHome(context)) return
  try {
    writeFileSync(join(context.home, '.gitignore'), '*\n', { mode: 0o600, flag: 'wx' })
  } catch {
    // The file exists, or the store reports what is wrong with the folder.
  }
}

/** Prints what a command did: a document with `--json`, else a line and what to do next. */
export const printDone = (context: Context, document: Json, line: string, next: ReadonlyArray<Hint> = []): Result => {
  const { screen, json } = context
  if (json) screen.out(printed(document))
  else {
    screen.print(line)
    printHints(screen, next)
  }
  return E.right(ExitCode.done)
}

export const dogearCommand = ({ store }: Place, words: ReadonlyArray<string>): string =>
  commandOf(['dogear', ...words, ...store.words])

/** The typed command with `more` flags, for a shell in the same folder. */
export const sameCommand = ({ words, store }: Typed, more: ReadonlyArray<string> = []): string => {
  const end = words.indexOf('--')
  const typed = end === -1 ? words : words.slice(0, end)
  const saysStore = typed.some((word) => /^--(home|store)(=|$)/.test(word))
  const where = saysStore ? [] : store.words
  return commandOf(['dogear', ...typed, ...more, ...where, ...(end === -1 ? [] : words.slice(end))])
}

export const hintTo = (place: Place, text: string, words: ReadonlyArray<string>): Required<Hint> => ({
  text,
  command: dogearCommand(place, words)
})

export const showHint = (place: Place, runId: string, text = 'Show the run with:'): Required<Hint> =>
  hintTo(place, text, ['show', runId])

export const listHint = (place: Place): Required<Hint> => hintTo(place, 'List the runs with:', ['runs'])

/** The name of the user, for records of consent. A process may run under an id that has no name. */
export const userName = (): string => {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}

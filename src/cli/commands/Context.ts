/** The context of every command. */
import { statSync, writeFileSync } from 'node:fs'
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
import type { Environment } from '../../ports/Environment.js'
import type { CliError } from '../CliError.js'
import { notDone, usage } from '../CliError.js'
import type { ExitCode } from '../ExitCode.js'
import type { Screen } from '../terminal/Screen.js'
import type { Hint } from '../report/Hint.js'
import { commandOf } from '../terminal/shellQuote.js'

/** `words`: the typed command line. */
export interface Context {
  readonly words: ReadonlyArray<string>
  readonly screen: Screen
  readonly json: boolean
  /** Print events as lines of JSON, and the result as the last one; `json` is true then. */
  readonly events: boolean
  readonly stdin: NodeJS.ReadStream
  /** True if standard input and error output are a terminal. */
  readonly interactive: boolean
  readonly inherited: Readonly<Record<string, string | undefined>>
  readonly folder: string
  readonly home: string
}

export type Typed = Pick<Context, 'home' | 'folder' | 'words'>

/** The folder and state folder in which a printed command works. */
export type Place = Pick<Context, 'home' | 'folder'>

export type Result = E.Either<CliError, ExitCode>

/** Returns an absolute path. */
export const homeOf = (
  flag: string | undefined,
  inherited: Context['inherited'],
  folder: string
): E.Either<CliError, string> => {
  if (flag === '') return E.left(usage('--home: the value is empty; pass a folder'))
  const variable = inherited['DOGEAR_HOME']
  const home = resolve(folder, flag ?? (variable === undefined || variable === '' ? DEFAULT_HOME : variable))
  return isOther(home) ? E.left(notDone({ _tag: 'Insecure', where: home, why: 'it is not a folder' })) : E.right(home)
}

/** The store reports a path that cannot be read. */
const isOther = (path: string): boolean => {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === false
  } catch {
    return false
  }
}

const DEFAULT_HOME = '.dogear'

const isDefaultHome = ({ home, folder }: Place): boolean => home === join(folder, DEFAULT_HOME)

export const environmentFor = (
  { home, folder, inherited, screen }: Context,
  given: Partial<Omit<Environment, 'storage'>> = {}
): Environment =>
  nodeEnvironment(jsonFileStorage(home, warningsTo(screen)), {
    artifacts: fileArtifacts(home),
    archive: fileArchive(home),
    secrets: environmentSecrets(inherited),
    requests: fileRequests(home),
    workspaces: workspaces(home, folder),
    ...given
  })

/** Roots that already caused a warning: a command may open the store more than once. */
const exposed = new Set<string>()

const warningsTo = (screen: Context['screen']): Pick<JsonFileOptions, 'onLarge' | 'onExposed'> => ({
  onLarge: (large) => screen.line(screen.style.yellow(ofLarge(large))),
  onExposed: (exposure) => {
    const line = `warning: ${describeExposure(exposure)}`
    if (!exposed.has(line)) screen.line(screen.style.yellow(line))
    exposed.add(line)
  }
})

const ofLarge = ({ runId, bytes, limitBytes, biggest }: LargeCheckpoint): string => {
  const named = biggest.map(({ path, bytes }) => `${path} (${bytes} bytes)`).join(', ')
  return `warning: the state of run ${runId} has ${bytes} bytes (limit: ${limitBytes}). The biggest values: ${named}; keep large values in files or artifacts`
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

export const dogearCommand = (context: Place, words: ReadonlyArray<string>): string =>
  commandOf(['dogear', ...words, ...(isDefaultHome(context) ? [] : ['--home', context.home])])

/** Quotes for a shell in the same folder. */
export const sameCommand = (context: Typed, more: ReadonlyArray<string> = []): string => {
  const { words } = context
  const end = words.indexOf('--')
  const flags = end === -1 ? words : words.slice(0, end)
  const saysHome = flags.some((word) => word === '--home' || word.startsWith('--home='))
  const home = saysHome || isDefaultHome(context) ? [] : ['--home', context.home]
  return commandOf(['dogear', ...flags, ...more, ...home, ...(end === -1 ? [] : words.slice(end))])
}

export const showHint = (place: Place, runId: string): Required<Hint> => ({
  text: 'Show the run with:',
  command: dogearCommand(place, ['show', runId])
})

/** The name of the user, for records of consent. A process may run under an id that has no name. */
export const userName = (): string => {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}

/** Finds the spec of a store in a module. */
import { existsSync, statSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import type { StorageSpec } from '../../testing/conformance/Spec.js'
import type { CliError } from '../CliError.js'
import { usage, wrongUse } from '../CliError.js'
import type { Hint } from '../report/Hint.js'
import { commandOf } from '../../domain/explain/shellQuote.js'
import { duration } from '../../view/text.js'
import { isLikeSpec, specProblems } from '../../testing/conformance/specProblems.js'

type Exported = Readonly<Record<string, unknown>>

/** A busy machine may need longer to load a module than for a case. */
export const LOADING_MILLIS = 10_000

export interface Wanted {
  readonly folder: string
  readonly module: string
  readonly exportName: string
  readonly limitMillis: number
}

export const loadSpec = async (wanted: Wanted): Promise<E.Either<CliError, StorageSpec<unknown>>> => {
  const { folder, module, exportName } = wanted
  const path = resolve(folder, module)
  const kind = existsSync(path) ? statSync(path) : undefined
  if (kind === undefined) return wrongUse(`${path} does not exist; name the module that exports the spec`)
  if (kind.isDirectory()) return wrongUse(`${path} is a folder; name the module in it that exports the spec`)
  const loading = { ...wanted, limitMillis: Math.max(LOADING_MILLIS, wanted.limitMillis) }
  const exported = await settled(loading, () => import(pathToFileURL(path).href) as Promise<Exported>)
  if (E.isLeft(exported)) return E.left(notLoaded(wanted, exported.left))
  const found = exported.right[exportName]
  if (found === undefined) return E.left(notExported(wanted, exported.right))
  const spec = typeof found === 'function' ? await settled(wanted, found as () => unknown) : E.right(found)
  if (E.isLeft(spec)) return E.left(failed(wanted, spec.left))
  const problems = specProblems(spec.right)
  return problems.length === 0
    ? E.right(spec.right as StorageSpec<unknown>)
    : wrongUse(`${exportName} of ${module} is not a store spec:`, [...problems.map(indented), ABOUT])
}

const ABOUT = { text: 'What a spec has: docs/guide/testing.md of dogear, and the type StorageSpec (dogear/testing)' }

const OURS = new URL('.', import.meta.url).href

/** Removes this command and Node from a stack trace. */
export const withoutOurs = (text: string): ReadonlyArray<string> =>
  text.split('\n').filter((line) => !(/^\s+at /.test(line) && (line.includes(OURS) || /\(?node:internal\//.test(line))))

/** Left if it rejects or exceeds the limit. */
const settled = <A>({ limitMillis }: Wanted, start: () => A | Promise<A>): Promise<E.Either<unknown, A>> =>
  Promise.race([
    Promise.resolve().then(start).then(E.right, E.left),
    sleep(limitMillis, E.left(`it did not end within ${duration(limitMillis)}`), { ref: false })
  ])

const notLoaded = ({ module }: Wanted, error: unknown): CliError => {
  const { code } = Object(error) as { readonly code?: unknown }
  return code === 'ERR_UNKNOWN_FILE_EXTENSION' && /^\.[cm]?tsx?$/.test(extname(module))
    ? usage(`${module} is TypeScript, which Node ${process.version} does not load`, [
        { text: 'Use Node 22.18 or later, or compile it to JavaScript first' }
      ])
    : usage(`${module} could not be loaded:`, [
        ...traceOf(error),
        ...(error instanceof SyntaxError ? [whereIn(module)] : []),
        ...peerMissing(error)
      ])
}

const failed = ({ module, exportName }: Wanted, error: unknown): CliError =>
  usage(`${exportName}() of ${module} failed:`, [...traceOf(error), ...peerMissing(error)])

/** fast-check is an optional peer: npm does not install it, and `dogear/testing` does not load without it. */
const peerMissing = (error: unknown): ReadonlyArray<Hint> =>
  error instanceof Error && /^Cannot find (package|module) 'fast-check'/.test(error.message)
    ? [{ text: 'dogear/testing needs fast-check:', command: 'npm install --save-dev fast-check' }]
    : []

/** A SyntaxError of an import names no line. */
const whereIn = (module: string): Hint => ({ text: 'To see the line:', command: commandOf(['node', module]) })

const notExported = ({ module, exportName }: Wanted, exported: Exported): CliError => {
  const names = Object.keys(exported)
  const others = names.filter((name) => isLikeSpec(exported[name]))
  const hints =
    others.length > 0
      ? others.map((name) => ({
          text: 'This looks like one:',
          command: commandOf(['dogear', 'conformance', module, '--export', name])
        }))
      : [{ text: `Export one: export const ${exportName} = { name, create, reopen, capabilities }` }, ABOUT]
  return usage(`${module} has no export ${exportName}; it has: ${names.join(', ') || 'none'}`, hints)
}

const traceOf = (error: unknown): ReadonlyArray<Hint> => {
  const thrown: unknown = error instanceof Error ? (error.stack ?? error.message) : error
  return withoutOurs(typeof thrown === 'string' ? thrown : inspect(thrown)).map(indented)
}

const indented = (line: string): Hint => ({ text: `  ${line}` })

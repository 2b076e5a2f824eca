/** Runs the cases in a process of their own, so that a store that blocks or ends its process is a failed case. */
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import * as E from 'fp-ts/lib/Either.js'
import { exitOf } from '../../adapters/node/storageProcessMessages.js'
import type { ConformanceCase } from '../../testing/conformance/Case.js'
import type { Capability } from '../../testing/conformance/Spec.js'
import type { CaseResult } from '../../testing/conformance/Report.js'
import { resultOf } from '../../testing/conformance/Report.js'
import type { CliError } from '../CliError.js'
import { usage } from '../CliError.js'
import type { Wanted } from './loadSpec.js'
import { LOADING_MILLIS } from './loadSpec.js'

export interface Start extends Wanted {
  readonly ids: ReadonlyArray<string>
}

/** A store whose spec is loaded. `unknownFields`: a sentence for each unknown field of the spec. */
export interface LoadedStore {
  readonly name: string
  readonly capabilities: ReadonlyArray<Capability>
  readonly unknownFields: ReadonlyArray<string>
}

/** `Beat` comes ten times a second, unless the store blocks the process. */
export type Message =
  | { readonly _tag: 'Beat' }
  | { readonly _tag: 'NotLoaded'; readonly error: CliError }
  | { readonly _tag: 'Loaded'; readonly store: LoadedStore }
  | { readonly _tag: 'Result'; readonly result: CaseResult }
  | { readonly _tag: 'Uncaught'; readonly text: string }

export interface Listener {
  /** Called once, before the first result. */
  readonly onLoaded: (store: LoadedStore) => void
  readonly onResult: (result: CaseResult) => void
  /** Called with exceptions that no case can catch. */
  readonly onUncaught: (text: string) => void
}

/** How a process ended: all cases ran, the spec failed to load, or the store blocked or ended the process. */
type Ending = { readonly _tag: 'Done' } | { readonly _tag: 'NotLoaded'; readonly error: CliError } | Lost

type Lost =
  { readonly _tag: 'Blocked'; readonly limitMillis: number } | { readonly _tag: 'Ended'; readonly how: string }

interface Progress {
  readonly wanted: Wanted
  readonly cases: ReadonlyArray<ConformanceCase>
  readonly results: Array<CaseResult>
  readonly listener: Listener
  store: LoadedStore | undefined
}

/** The limit inside the process fires first, because it reports more. */
const GRACE_MILLIS = 500

const LOOK_MILLIS = 100

/** The time a process has to end by itself. */
const ENDING_MILLIS = 2_000

/** Runs the cases of a spec, and starts a new process for the rest after one was lost. */
export const runWatched = async (
  wanted: Wanted,
  cases: ReadonlyArray<ConformanceCase>,
  listener: Listener
): Promise<E.Either<CliError, ReadonlyArray<CaseResult>>> => {
  const progress: Progress = { wanted, cases, results: [], listener, store: undefined }
  while (progress.results.length < cases.length) {
    const ending = await runRest(progress)
    if (ending._tag === 'NotLoaded') return E.left(ending.error)
    if (ending._tag === 'Done') continue
    if (progress.store === undefined) return E.left(notLoaded(wanted, ending))
    take(progress, lostResult(progress.store, cases[progress.results.length], ending))
  }
  return E.right(progress.results)
}

const notLoaded = ({ module }: Wanted, ending: Lost): CliError =>
  usage(
    `${module} could not be loaded: ${
      ending._tag === 'Blocked'
        ? `it blocked its process for longer than ${ending.limitMillis} ms`
        : `it ended its process: ${ending.how}`
    }`
  )

const take = ({ results, listener }: Progress, result: CaseResult | undefined): void => {
  if (result === undefined) return
  results.push(result)
  listener.onResult(result)
}

const lostResult = (store: LoadedStore, one: ConformanceCase | undefined, ending: Lost): CaseResult | undefined => {
  if (one === undefined) return undefined
  const why =
    ending._tag === 'Blocked'
      ? `it blocked its process for longer than ${ending.limitMillis} ms; make the call asynchronous, or give it a timeout. The data of \`create\` was not cleaned up`
      : `its process ended: ${ending.how}; a store must report an error, never end the process`
  const millis = ending._tag === 'Blocked' ? ending.limitMillis : 0
  return resultOf(one, store.capabilities, millis, 'failed', why)
}

const runRest = async (progress: Progress): Promise<Ending> => {
  const { wanted, cases, results } = progress
  const child = fork(fileURLToPath(new URL('./cases.js', import.meta.url)), {
    cwd: wanted.folder,
    stdio: ['inherit', 'inherit', 'inherit', 'ipc']
  })
  const undo = endTogether(child)
  const ids = cases.slice(results.length).map(({ id }) => id)
  // If the message cannot be sent, the end of the process is reported.
  child.send({ ...wanted, ids } satisfies Start, () => undefined)
  const exit = exitOf(child)
  const ending = await endingOf(progress, child, exit)
  // A process ends when its channel closes, unless it is blocked.
  const timer = setTimeout(() => child.kill('SIGKILL'), ending._tag === 'Blocked' ? 0 : ENDING_MILLIS)
  if (child.connected) child.disconnect()
  await exit
  clearTimeout(timer)
  undo()
  return ending
}

const endingOf = (progress: Progress, child: ChildProcess, exit: Promise<string>): Promise<Ending> =>
  new Promise((resolve) => {
    let heardAt = performance.now()
    let isLoaded = false
    let silentLooks = 0
    const timer = setInterval(() => {
      const limitMillis = limitNow(progress, isLoaded)
      silentLooks = performance.now() - heardAt > limitMillis + GRACE_MILLIS ? silentLooks + 1 : 0
      // Messages in transit arrive before the second look, in case this process was blocked too.
      if (silentLooks > 1) end({ _tag: 'Blocked', limitMillis })
    }, LOOK_MILLIS)
    const end = (ending: Ending): void => {
      clearInterval(timer)
      child.off('message', hear)
      resolve(ending)
    }
    const hear = (message: Message): void => {
      heardAt = performance.now()
      isLoaded ||= message._tag === 'Loaded'
      const ending = receive(progress, message)
      if (ending !== undefined) end(ending)
    }
    child.on('message', hear)
    void exit.then((how) => end({ _tag: 'Ended', how }))
  })

/** The longest silence allowed: the limit of the case, or of loading the spec. */
const limitNow = ({ wanted: { limitMillis }, cases, results }: Progress, isLoaded: boolean): number => {
  if (!isLoaded) return Math.max(LOADING_MILLIS, limitMillis)
  return cases[results.length]?.level === 'stress' ? 4 * limitMillis : limitMillis
}

const receive = (progress: Progress, message: Message): Ending | undefined => {
  const { listener } = progress
  switch (message._tag) {
    case 'Beat':
      return undefined
    case 'NotLoaded':
      return message
    case 'Loaded':
      if (progress.store === undefined) listener.onLoaded(message.store)
      progress.store = message.store
      return undefined
    case 'Uncaught':
      listener.onUncaught(message.text)
      return undefined
    case 'Result':
      take(progress, message.result)
      return progress.results.length === progress.cases.length ? { _tag: 'Done' } : undefined
  }
}

const SIGNALS: ReadonlyArray<NodeJS.Signals> = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** A signal ends both processes, even if the store blocks one. */
const endTogether = (child: ChildProcess): (() => void) => {
  const handlers = SIGNALS.map((signal) => {
    const handler = (): void => {
      child.kill('SIGKILL')
      process.kill(process.pid, signal)
    }
    process.once(signal, handler)
    return () => process.off(signal, handler)
  })
  return () => handlers.forEach((off) => off())
}

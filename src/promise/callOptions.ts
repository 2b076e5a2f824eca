/** Checks the options of calls, because untyped hosts may pass anything: an ignored option may repeat work or discard it. */
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { Executor } from '../executor/Executor.js'
import type { ResumeOptions, RunOptions } from '../executor/RunOptions.js'
import type { Options } from './options.js'

type Expected = (value: unknown) => string | undefined

const anything: Expected = () => undefined

const ofType =
  (type: 'string' | 'boolean' | 'function', expected: string): Expected =>
  (value) =>
    typeof value === type ? undefined : expected

const oneOf =
  (...words: ReadonlyArray<string>): Expected =>
  (value) =>
    words.some((word) => word === value) ? undefined : words.map((word) => `'${word}'`).join(' or ')

const flag = ofType('boolean', 'true or false')

const text = ofType('string', 'a string')

/** Test runners have a `Map` and an `AbortSignal` of their own. */
const having =
  (methods: ReadonlyArray<string>, expected: string): Expected =>
  (value) =>
    methods.every((name) => typeof (value as Readonly<Record<string, unknown>> | null)?.[name] === 'function')
      ? undefined
      : expected

const map = having(['get', 'has'], 'a Map by unit')

const RUN: Readonly<Record<keyof RunOptions, Expected>> = { workspace: anything, wait: flag }

const RESUME: Readonly<Record<keyof ResumeOptions, Expected>> = {
  input: anything,
  fromStep: text,
  restartWave: text,
  changes: oneOf('strict', 'completed', 'ignore'),
  confirm: map,
  outputs: map,
  evidence: (value) => (Array.isArray(value) ? undefined : 'an array'),
  onChanged: oneOf('refuse', 'keep'),
  recovered: flag,
  planHash: text,
  onRecovered: ofType('function', 'a function'),
  takeOver: flag,
  wait: flag,
  reopen: flag
}

const HOST: Readonly<Record<keyof Options, Expected>> = {
  id: text,
  storage: having(['claim', 'load', 'save', 'list'], "a CheckpointStorage, such as jsonFileStorage('.dogear')"),
  signal: having(['addEventListener'], 'an AbortSignal'),
  environment: anything
}

/** The options of each call. */
const KNOWN = {
  Run: { ...HOST, input: anything, ...RUN },
  Resume: { ...HOST, ...RESUME },
  RunOrResume: { ...HOST, ...RESUME, ...RUN }
} as const

/** Without them nothing can start. */
const needed = ({ id, storage }: { readonly id?: unknown; readonly storage?: unknown }) => ({
  id: id ?? null,
  storage: storage ?? null
})

/** Refuses options that a call does not have, and invalid values. An option that is `undefined` counts as absent. */
export const checking =
  <A>(call: keyof typeof KNOWN, options: Options, executor: Executor<A>): Executor<A> =>
  (environment) => {
    const known: Readonly<Record<string, Expected>> = KNOWN[call]
    const [problem, ...more] = Object.entries({ ...options, ...needed(options) }).flatMap(([option, value]) => {
      const check = Object.hasOwn(known, option) ? known[option] : undefined
      const expected = check === undefined ? `omitted: it is not one of ${Object.keys(known).join(', ')}` : check(value)
      return expected === undefined || value === undefined ? [] : [{ option, expected }]
    })
    return problem === undefined
      ? executor(environment)
      : TE.left({ _tag: 'InvalidOptions', problems: [problem, ...more] })
  }

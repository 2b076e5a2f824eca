/** The messages between the command and the process that runs the cases. */
import type { CaseResult } from '../../testing/conformance/Report.js'
import type { Capability } from '../../testing/conformance/Spec.js'
import type { CliError } from '../CliError.js'
import type { Wanted } from './loadSpec.js'

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

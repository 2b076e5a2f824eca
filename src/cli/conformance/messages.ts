/**
 * What the command and the process that runs the cases tell each other.
 *
 * @since 0.1.0
 */
import type { CaseResult } from '../../testing/conformance/Report.js'
import type { Capability } from '../../testing/conformance/Spec.js'
import type { CliError } from '../CliError.js'
import type { Wanted } from './loadSpec.js'

/** Which cases to run, by their ids, of which spec. */
export interface Start extends Wanted {
  readonly ids: ReadonlyArray<string>
}

/** What is known of a store once its spec is loaded. `strays`: fields that no spec has, each as a sentence. */
export interface LoadedStore {
  readonly name: string
  readonly capabilities: ReadonlyArray<Capability>
  readonly strays: ReadonlyArray<string>
}

/** `Beat` comes ten times a second, unless the store blocks the process. */
export type Message =
  | { readonly _tag: 'Beat' }
  | { readonly _tag: 'NotLoaded'; readonly error: CliError }
  | { readonly _tag: 'Loaded'; readonly store: LoadedStore }
  | { readonly _tag: 'Result'; readonly result: CaseResult }
  | { readonly _tag: 'Stray'; readonly text: string }

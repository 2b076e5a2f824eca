/**
 * Commands of storage clients, as data: they can be generated, shrunk, printed and replayed.
 *
 * @module
 */
import * as fc from 'fast-check'
import { taggedObject } from '../arbitraryObjects.js'

// --- model

/**
 * A command of a client. `claim` and `instance` are indices, newest first, modulo the number of claims or instances so
 * far.
 *
 * - `Claim`, `Load`, `History`, `Remove`: of a run, through an instance. A claim or removal uses a live instance. `behind`: the removal
 *   names the revision that is this many before the newest.
 * - `Save`: saves `count` revisions with a claim, `skew` revisions from the right one (mostly 0).
 * - `List`: of all runs, through an instance. `Release`: of a claim.
 * - `Race`: the two newest claims of each run save its next revision concurrently, each twice.
 * - `Reopen`: kills all processes and starts a new one. `Beside`: starts another one. `Kill`: kills one of those.
 *
 * @category model
 */
export type Command =
  | { readonly _tag: 'Claim'; readonly runId: string; readonly instance: number }
  | { readonly _tag: 'Save'; readonly claim: number; readonly count: number; readonly skew: number }
  | { readonly _tag: 'Race' }
  | { readonly _tag: 'Release'; readonly claim: number }
  | { readonly _tag: 'Load'; readonly runId: string; readonly instance: number }
  | { readonly _tag: 'History'; readonly runId: string; readonly instance: number }
  | { readonly _tag: 'List'; readonly instance: number }
  | { readonly _tag: 'Remove'; readonly runId: string; readonly instance: number; readonly behind?: number | undefined }
  | { readonly _tag: 'Reopen' }
  | { readonly _tag: 'Beside' }
  | { readonly _tag: 'Kill'; readonly instance: number }

// --- arbitraries

/** Ids that share a prefix. */
const runId = fc.constantFrom('a', 'ab')

const which = fc.constantFrom(0, 0, 0, 1, 2, 5)

const weighted = <Tag extends string, T>(
  weight: number,
  tag: Tag,
  fields: { readonly [K in keyof T]: fc.Arbitrary<T[K]> }
) => ({ weight, arbitrary: taggedObject(tag, fields) })

const count = fc.integer({ min: 1, max: 3 })
const skew = fc.constantFrom(0, 0, 0, 0, 0, 0, -1, 1, 2)
const behind = fc.constantFrom(undefined, undefined, 0, 1)

export const command = (hasProcesses: boolean): fc.Arbitrary<Command> =>
  fc.oneof(
    weighted(6, 'Claim', { runId, instance: which }),
    weighted(10, 'Save', { claim: which, count, skew }),
    weighted(2, 'Race', {}),
    weighted(4, 'Release', { claim: which }),
    weighted(4, 'Load', { runId, instance: which }),
    weighted(2, 'History', { runId, instance: which }),
    weighted(1, 'List', { instance: which }),
    weighted(2, 'Remove', { runId, instance: which, behind }),
    weighted(3, 'Reopen', {}),
    ...(hasProcesses ? [weighted(3, 'Beside', {}), weighted(2, 'Kill', { instance: which })] : [])
  )

// --- destructors

export const describe = ({ _tag, ...fields }: Command): string =>
  [
    _tag,
    ...Object.entries(fields)
      .filter(([name, value]) => value !== undefined && (name !== 'skew' || value !== 0))
      .map(([name, value]) => `${name}=${value}`)
  ].join(' ')

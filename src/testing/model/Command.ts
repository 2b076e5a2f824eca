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

export const command = (hasProcesses: boolean): fc.Arbitrary<Command> =>
  fc.oneof(
    { weight: 6, arbitrary: taggedObject('Claim', { runId, instance: which }) },
    {
      weight: 10,
      arbitrary: taggedObject('Save', {
        claim: which,
        count: fc.integer({ min: 1, max: 3 }),
        skew: fc.constantFrom(0, 0, 0, 0, 0, 0, -1, 1, 2)
      })
    },
    { weight: 2, arbitrary: taggedObject('Race', {}) },
    { weight: 4, arbitrary: taggedObject('Release', { claim: which }) },
    { weight: 4, arbitrary: taggedObject('Load', { runId, instance: which }) },
    { weight: 2, arbitrary: taggedObject('History', { runId, instance: which }) },
    { weight: 1, arbitrary: taggedObject('List', { instance: which }) },
    {
      weight: 2,
      arbitrary: taggedObject('Remove', { runId, instance: which, behind: fc.constantFrom(undefined, undefined, 0, 1) })
    },
    { weight: 3, arbitrary: taggedObject('Reopen', {}) },
    ...(hasProcesses
      ? [
          { weight: 3, arbitrary: taggedObject('Beside', {}) },
          { weight: 2, arbitrary: taggedObject('Kill', { instance: which }) }
        ]
      : [])
  )

// --- destructors

export const describe = ({ _tag, ...fields }: Command): string =>
  [
    _tag,
    ...Object.entries(fields)
      .filter(([name, value]) => value !== undefined && (name !== 'skew' || value !== 0))
      .map(([name, value]) => `${name}=${value}`)
  ].join(' ')

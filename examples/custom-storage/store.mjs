// store.mjs: all runs in one JSON file, which is replaced as a whole. For one process at a time.
// The laws have their numbers in docs/guide/storage.md.
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { RunId } from 'dogear'

/** @type {(path: string) => import('dogear').CheckpointStorage} */
export const fileStorage = (path) => {
  // The claims that this instance granted. A claim in the file but not here belongs to a process that has ended: only one uses the file.
  const granted = new Map()
  const failed = (_tag, cause, more = {}) =>
    E.left({ _tag, ...more, where: path, operation: cause.syscall, code: cause.code, cause })

  // Law 5: only a missing file is an empty store. An I/O error or damage is reported.
  const read = (runId) => {
    try {
      const { epoch, runs } = JSON.parse(readFileSync(path, 'utf8'))
      return E.right({ epoch, runs: new Map(runs) })
    } catch (cause) {
      if (cause.code === 'ENOENT') return E.right({ epoch: 0, runs: new Map() })
      if (cause.code !== undefined) return failed('ReadFailed', cause)
      return E.left({ _tag: 'Corrupt', runId, where: path, why: cause.message, cause })
    }
  }

  // Law 1: durable when it returns, first the content, then its name. A crash leaves the old file or the new one, whole.
  const write = ({ epoch, runs }, result) => {
    try {
      writeFileSync(`${path}.tmp`, JSON.stringify({ epoch, runs: [...runs] }), { mode: 0o600, flush: true })
      renameSync(`${path}.tmp`, path)
      const folder = openSync(dirname(path))
      fsyncSync(folder)
      closeSync(folder)
      return E.right(result)
    } catch (cause) {
      // The new file may have its name already: the next claim reads which one is there.
      return failed('WriteFailed', cause, { committed: 'unknown' })
    }
  }

  // Laws 2 and 4: all of it is synchronous, so nothing else in this process comes between reading and writing.
  // No content is kept in memory: after a failed write it could differ from the file.
  const on = (runId, act) =>
    TE.fromIOEither(() => {
      const state = E.chain(read)(RunId.parse(runId))
      return E.isLeft(state) ? state : act(state.right.runs.get(runId) ?? { changes: [] }, state.right)
    })
  const put = (runId, run, { epoch, runs }, result) => write({ epoch, runs: runs.set(runId, run) }, result)

  const holder = ({ held }) => (granted.has(held?.epoch) ? O.some(held.holder) : O.none)
  // Only the first checkpoint is kept: Dogear applies the later changes to it.
  const stored = (run, revision = run.changes.length - 1) =>
    run.changes[revision] === undefined
      ? O.none
      : O.some({
          revision,
          checkpoint: run.first,
          changes: run.changes.slice(1, revision + 1),
          found: { _tag: 'Exact' },
          heldBy: holder(run)
        })

  return {
    claim: (runId, { host, pid }) =>
      on(runId, (run, state) => {
        if (O.isSome(holder(run))) return E.left({ _tag: 'HeldBy', runId, holder: run.held.holder })
        // Law 2: one counter for all runs, so that no number returns, also after a removal.
        const epoch = state.epoch + 1
        const held = { epoch, holder: { host, pid, since: new Date().toISOString(), liveness: 'alive' } }
        const lost = new AbortController()
        const claimed = { claim: { runId, epoch, lost: lost.signal }, stored: stored(run) }
        // The claim counts once it is durable.
        const written = put(runId, { ...run, held }, { ...state, epoch }, claimed)
        if (E.isRight(written)) granted.set(epoch, lost)
        return written
      }),

    save: ({ runId, epoch }, revisions) =>
      on(runId, (run, state) => {
        // Law 3: the file decides who writes, before anything else of the save is checked.
        if (run.held?.epoch !== epoch || !granted.has(epoch)) {
          const fenced = { _tag: 'Fenced', runId, epoch, by: run.held?.epoch > epoch ? O.some(run.held.epoch) : O.none }
          granted.get(epoch)?.abort(fenced)
          return E.left(fenced)
        }
        // All revisions or none: the write comes after the last check.
        const changes = [...run.changes]
        for (const { revision: found, change } of revisions) {
          const expected = changes.length
          if (found !== expected) return E.left({ _tag: 'RevisionConflict', runId, expected, found })
          changes.push(change)
        }
        const summary = revisions.at(-1).summary()
        return put(runId, { ...run, first: run.first ?? revisions[0].checkpoint(), changes, summary }, state)
      }),

    // Forgets the claim in memory first, so that this process can claim the run again even if the write fails.
    release:
      ({ runId, epoch }) =>
      () => {
        granted.delete(epoch)
        const drop = ({ held, ...run }, state) => (held?.epoch === epoch ? put(runId, run, state) : E.right(undefined))
        return on(runId, drop)()
      },

    load: (runId) => on(runId, (run) => E.right(stored(run))),

    history: (runId) =>
      on(runId, ({ changes }) =>
        E.right(changes.map(({ _tag: change, at }, revision) => ({ revision, change, at })).reverse())
      ),

    loadRevision: (runId, revision) => on(runId, (run) => E.right(stored(run, revision))),

    list: ({ after = '', limit } = {}) =>
      TE.fromIOEither(() =>
        E.map(({ runs }) =>
          [...runs]
            // A run that was claimed and never saved has no summary, and is no run yet. Ids are ASCII, so this order is bytewise.
            .filter(([runId, { summary }]) => runId > after && summary !== undefined)
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .slice(0, limit)
            .map(([runId, run]) => ({ runId, summary: { ...run.summary, heldBy: holder(run) } }))
        )(read('*'))
      ),

    remove: (runId, { newest } = {}) =>
      on(runId, (run, state) => {
        if (O.isSome(holder(run))) return E.left({ _tag: 'HeldBy', runId, holder: run.held.holder })
        // Law 6: a run that changed since the caller checked it stays.
        const found = run.changes.length - 1
        if (newest !== undefined && found >= 0 && (newest.revision !== found || newest.at !== run.changes[found].at))
          return E.left({ _tag: 'RunChanged', runId, expected: newest.revision, found })
        return state.runs.delete(runId) ? write(state) : E.right(undefined)
      })
  }
}

import assert from 'node:assert/strict'
import * as O from 'fp-ts/lib/Option.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import type { CheckpointStorage, RevisionConflict } from '../../src/index.js'
import type * as Errors from '../../src/executor/errors/RunError.js'
import { Program, resume, run, RunError } from '../../src/index.js'
import { ended, failingSave, newProcess, newWorld, refused, task } from './fixtures.js'

const two = (log: Array<string>) =>
  Program.fromSteps('two', [
    task('one', { run: () => TE.right(log.push('one')) }),
    task('two', { run: () => TE.right(log.push('two')) })
  ])

describe('the message of a failed save', () => {
  test('the message of a failed save says if it is unknown whether the save took effect', async () => {
    const world = newWorld()
    const process = newProcess(world, { around: failingSave(3, 'after') })
    const error = refused(await process.perform(run(two(world.log), 'r', {})), 'WriteFailed')
    assert.match(RunError.describe(error), /^Writing the disk failed: fdatasync: ENOSPC/)
    assert.match(
      RunError.describe(error),
      /Earlier saves are intact\. It is unknown whether this write took effect; the next resume determines it/
    )
    ended(await newProcess(world).perform(resume(two(world.log), 'r')), 'Completed')
    assert.deepEqual(world.log, ['one', 'two'])
  })
})

describe('the message of a RevisionConflict', () => {
  const conflict: RevisionConflict = { _tag: 'RevisionConflict', runId: 'r', expected: 3, found: 5 }

  test('the message of a RevisionConflict names both possible causes, a store that lost saves and a bug of the caller, and what to do', () => {
    const text = RunError.describe(conflict)
    assert.match(text, /^Run r cannot be saved: the store expects revision 3, but got revision 5/)
    assert.match(text, /lost acknowledged saves \(a failover to a stale replica\)/)
    assert.match(text, /or the caller of `save` has a bug/)
    assert.match(text, /resume the run; it continues from the stored state/)
  })

  test('after a RevisionConflict a resume continues from the stored state', async () => {
    const world = newWorld()
    const failing = (storage: CheckpointStorage): CheckpointStorage => {
      let saves = 0
      return {
        ...storage,
        save: (claim, revisions) => (++saves === 2 ? TE.left(conflict) : storage.save(claim, revisions))
      }
    }
    const process = newProcess(world, { around: failing })
    refused(await process.perform(run(two(world.log), 'r', {})), 'RevisionConflict')
    ended(await newProcess(world).perform(resume(two(world.log), 'r')), 'Completed')
    assert.deepEqual(world.log, ['one', 'one', 'two'])
  })
})

test('the message of a RunChanged says which revision was checked and which is stored now', () => {
  const changed = { _tag: 'RunChanged', runId: 'r', expected: 3 } as const
  const text = 'Run r was not removed: it changed after it was checked'
  const next = 'look at it, and repeat the removal if it may be deleted'
  assert.equal(RunError.describe({ ...changed, found: 5 }), `${text} (revision 3 then, 5 now); ${next}`)
  const reused = `${text} (revision 3 then, that of another run with the id now); ${next}`
  assert.equal(RunError.describe({ ...changed, found: 3 }), reused)
})

describe('the message of an error', () => {
  test('the message of a question shows the answers as values of `confirm`', async () => {
    const world = newWorld()
    const pay = (passes: boolean) =>
      Program.fromSteps('pay', [
        task('pay', { idempotent: false, run: () => (passes ? TE.right(1) : TE.left('no answer')) })
      ])
    ended(await newProcess(world).perform(run(pay(false), 'r', {})), 'Failed')
    const error = refused(await newProcess(world).perform(resume(pay(true), 'r')), 'Unconfirmed')
    assert.equal(
      RunError.describe(error),
      [
        'These steps need an answer before they run again:',
        '  "pay" may already have taken effect, and is not idempotent: it failed: no answer',
        `    to run it again: confirm: new Map([["pay", { _tag: 'Again' }]])`,
        `    if it is done: confirm: new Map([["pay", { _tag: 'Done' }]])`,
        "  If the step returns an output, add it: { _tag: 'Done', output: … }"
      ].join('\n')
    )
  })

  test('the message of several questions speaks of changes only if all questions are about changes', () => {
    const of = { stepIndex: 0, summary: 'x', fingerprint: 'v1:a' }
    const doubt = {
      _tag: 'Confirm',
      ...of,
      unit: 'pay',
      reason: { _tag: 'Failed', message: 'no', attempts: 1 }
    } as const
    const was = { _tag: 'File', path: 'a.txt' } as const
    const edit = {
      _tag: 'Confirm',
      ...of,
      unit: 'pack',
      reason: { _tag: 'EvidenceChanged', changed: [{ was }] }
    } as const
    const lines = (questions: (Errors.RunError & { readonly _tag: 'Unconfirmed' })['questions']) =>
      RunError.describe({ _tag: 'Unconfirmed', questions }).split('\n')
    const both = lines([doubt, edit])
    assert.equal(both[0], 'These steps need an answer before they run again:')
    assert.match(both.join(), /to run them again: .*if they are done: .*If a step returns an output/)
    assert.match(lines([edit])[0] ?? '', /^These steps would overwrite changes made since they ran/)
    const rewritten = {
      ...edit,
      reason: { _tag: 'EvidenceChanged', changed: [{ was: { _tag: 'Commit', hash: 'c1' } }] }
    } as const
    assert.equal(lines([rewritten])[0], 'The evidence of these steps changed since they ran. Answer for each:')
  })

  const changed = (unit: string) =>
    ({ _tag: 'WorkflowChanged', edit: 'changed', unit, recorded: 'v1:a', present: 'v1:b' }) as const

  const texts: ReadonlyArray<readonly [what: string, error: Errors.RunError, says: RegExp, never: RegExp]> = [
    [
      'Corrupt',
      { _tag: 'Corrupt', runId: 'r', where: 'row 7', why: 'no JSON', cause: 0 },
      /The stored state was not changed; restore it from a backup, or do its work in a new run$/,
      /files/
    ],
    [
      'Fenced',
      { _tag: 'Fenced', runId: 'r', epoch: 4, by: O.some(5) },
      /^Run r was taken over by another process \(claim 5, this one was 4\)\. This process wrote nothing since$/,
      /Nothing was written/
    ],
    [
      'Insecure',
      { _tag: 'Insecure', where: '/a', why: 'it is a symbolic link' },
      /^Cannot use \/a: it is a symbolic link; move it away$/,
      /not used/
    ],
    [
      'Insecure with a remedy',
      { _tag: 'Insecure', where: '/a', why: 'it is; a link', remedy: 'move the state folder' },
      /^Cannot use \/a: it is; a link; move the state folder$/,
      /move it away/
    ],
    [
      'NoRequests',
      { _tag: 'NoRequests', runId: 'r' },
      /^Cannot pause or cancel run r: the environment has no `requests`; set `requests` in the environments of this process and of the run's owner, both to /,
      /leave/
    ],
    [
      'ReadFailed with ECONNREFUSED',
      {
        _tag: 'ReadFailed',
        where: 'dogear.runs',
        operation: 'SELECT runs',
        code: 'ECONNREFUSED',
        cause: new AggregateError([new Error('connect ECONNREFUSED 127.0.0.1:1')])
      },
      /SELECT runs: ECONNREFUSED: connect ECONNREFUSED 127\.0\.0\.1:1 \(no server listens there/,
      /UNKNOWN/
    ],
    [
      'ReadFailed with ERR_INVALID_URL',
      {
        _tag: 'ReadFailed',
        where: 'dogear.runs',
        operation: 'SELECT runs',
        code: 'ERR_INVALID_URL',
        cause: new Error('Invalid URL')
      },
      /ERR_INVALID_URL: Invalid URL \(pass one like postgres:\/\/USER:PASSWORD@HOST:5432\/DATABASE, special characters percent-encoded\)/,
      /UNKNOWN/
    ],
    [
      'TooLarge',
      {
        ...{ _tag: 'TooLarge', runId: 'r', where: 'a', bytes: 7, limitBytes: 6 },
        biggest: [{ path: '$.changes[0].output', bytes: 5 }]
      },
      /output \(5 bytes\)\. Store large outputs as artifacts, or raise limits\.checkpointBytes$/,
      /--/
    ],
    [
      'TooLarge without the biggest values',
      { _tag: 'TooLarge', runId: 'r', where: 'a', bytes: 7, limitBytes: 6, biggest: [] },
      /7 bytes, the limit is 6\. Store large outputs as artifacts, or raise limits\.checkpointBytes$/,
      /biggest/
    ],
    [
      'WorkspaceMissing of a worktree',
      { _tag: 'WorkspaceMissing', runId: 'r', kind: 'worktree', path: '/w', missing: [] },
      /\nTo start over with a new workspace, set `fromStep` to the first step; or start a new run$/,
      /--/
    ],
    [
      'WorkspaceMissing of a folder',
      { _tag: 'WorkspaceMissing', runId: 'r', kind: 'none', path: '/w', missing: [] },
      /\nCreate the folder again with the missing files, or start a new run$/,
      /fromStep/
    ],
    [
      'RecoveryRefused',
      { _tag: 'RecoveryRefused', runId: 'r', from: 'a', lost: 'b', cause: undefined },
      /; to continue from it, resume with the option `onRecovered`, a function that returns the name of the user who agrees\. Nothing was changed$/,
      /--/
    ],
    [
      'RecoveryRefused by `onRecovered`',
      { _tag: 'RecoveryRefused', runId: 'r', from: 'a', lost: 'b', cause: new Error('the terminal was closed') },
      /; `onRecovered` did not agree: the terminal was closed\. Nothing was changed$/,
      /--|resume with/
    ],
    [
      'an input without fromStep',
      { _tag: 'PlanError', problems: [{ _tag: 'InputWithoutStep' }] },
      /^Cannot resume this run:\n {2}the input differs from the recorded one/,
      /--/
    ],
    [
      'an edit',
      { _tag: 'PlanError', problems: [changed('a')] },
      /now v1:b\nUndo the edit, set fromStep: 'a', or accept it with changes: 'ignore'$/,
      /--/
    ],
    [
      'two edits',
      { _tag: 'PlanError', problems: [changed('a'), { ...changed('b'), edit: 'removed' }] },
      /\nUndo the edits or accept them with changes: 'ignore'$/,
      /fromStep|--/
    ],
    [
      'a changed and an inserted step',
      { _tag: 'PlanError', problems: [{ ...changed('b/c'), edit: 'insertedBefore' }, changed('d')] },
      /\nUndo the edits, set fromStep: 'b', or accept them with changes: 'ignore'$/,
      /--/
    ],
    [
      'an edit of a unit in doubt',
      { _tag: 'PlanError', problems: [{ ...changed('a'), inDoubt: true }] },
      /v1:b/,
      /fromStep|Undo/
    ],
    [
      'an edit of a unit in doubt beside another edit',
      {
        _tag: 'PlanError',
        problems: [
          { ...changed('a'), inDoubt: true },
          { ...changed('b'), edit: 'reordered' }
        ]
      },
      /\nAfter that, undo the other edit or accept it with changes: 'ignore'$/,
      /fromStep|--/
    ],
    [
      'NotAWave',
      { _tag: 'PlanError', problems: [{ _tag: 'NotAWave', step: 'a', exists: true, available: [], steps: ['a'] }] },
      /run from that step instead\nSet fromStep: 'a'$/,
      /--/
    ]
  ]

  test.each(texts)('the message for a program suggests options of calls, not commands: %s', (_, error, says, never) => {
    assert.match(RunError.describe(error), says)
    assert.doesNotMatch(RunError.describe(error), never)
  })
})

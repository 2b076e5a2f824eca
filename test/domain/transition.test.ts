import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import { describe, test } from 'vitest'
import type { Change } from '../../src/domain/change/Change.js'
import type { Checkpoint } from '../../src/domain/checkpoint/Checkpoint.js'
import { progress, start, status } from '../../src/domain/checkpoint/Checkpoint.js'
import { decode, encode } from '../../src/domain/checkpoint/CheckpointCodec.js'
import * as State from '../../src/domain/checkpoint/CheckpointState.js'
import * as IdempotencyKey from '../../src/domain/checkpoint/IdempotencyKey.js'
import { find } from '../../src/domain/checkpoint/Tree.js'
import { planResume } from '../../src/domain/plan/planResume.js'
import * as Err from '../../src/domain/data/StepError.js'
import type { TransitionError } from '../../src/domain/change/Transition.js'
import { apply, replay } from '../../src/domain/change/Transition.js'
import type { Workflow } from '../../src/domain/workflow/Workflow.js'
import * as W from '../../src/domain/workflow/Workflow.js'
import * as Identity from '../../src/domain/workflow/WorkflowIdentity.js'
import * as arb from '../../src/testing/planning/arbitrary/Arbitrary.js'
import { law } from './law.js'

// ---------------------------------------------------------------------------------------------------------------------
// a run by hand: build, then checks (unit, lint, smoke), then publish
// ---------------------------------------------------------------------------------------------------------------------

const timeOf = (second: number): string => `2026-01-02T03:04:${String(second).padStart(2, '0')}.000Z`
const AT = timeOf(5)

const checks = W.wave('checks', [W.group(W.task('unit')), W.group(W.task('lint')), W.group(W.task('smoke'), ['unit'])])
const workflow: Workflow = {
  name: 'release',
  steps: [W.task('build', { captures: ['dist'] }), checks, W.task('publish', { idempotent: false })]
}

const queued: Checkpoint = start({
  _tag: 'Started',
  at: AT,
  runId: 'run-1',
  workflow: Identity.of(workflow),
  input: { channel: 'beta' }
})

const build = { at: AT, unit: 'build' } as const
const wave = { at: AT, unit: 'checks' } as const
const publish = { at: AT, unit: 'publish' } as const
const ended = { captured: [], attempts: 1, startedAt: AT, durationMillis: 7, evidence: [] } as const
const error = Err.make('HttpError', 'Service Unavailable', { code: '503', stack: 'at x', data: { body: 'x' } })
const lost = { attempt: 1, startedAt: AT, error, outcome: 'unknown' } as const

const starts = (place: typeof build | typeof publish, attempt = 1): Change => ({
  _tag: 'AttemptStarted',
  at: AT,
  attempts: [{ unit: place.unit, attempt }]
})
const startsGroups = (...groups: ReadonlyArray<string>): Change => ({
  _tag: 'AttemptStarted',
  at: AT,
  attempts: groups.map((group) => ({ unit: `checks/${group}`, attempt: 1 }))
})
const completes = (place: typeof build | typeof wave | typeof publish): Change => ({
  _tag: 'UnitCompleted',
  ...place,
  ...ended
})
const completesGroup = (group: string): Change => ({ _tag: 'UnitCompleted', at: AT, ...ended, unit: `checks/${group}` })
const failsGroup = (group: string): Change => ({
  _tag: 'UnitFailed',
  at: AT,
  unit: `checks/${group}`,
  retryable: false,
  last: lost
})
const failsAttempt = (attempt: number, delayBeforeNextMillis = 100): Change => ({
  _tag: 'AttemptFailed',
  ...build,
  ...lost,
  attempt,
  delayBeforeNextMillis
})
const stops = (place: typeof build | typeof wave | typeof publish): Change => ({
  _tag: 'Interrupted',
  ...place,
  reason: 'signal'
})

const after = (...changes: ReadonlyArray<Change>): Checkpoint => from(queued, ...changes)

const from = (base: Checkpoint, ...changes: ReadonlyArray<Change>): Checkpoint => {
  const reached = replay(base, changes)
  return E.isRight(reached) ? reached.right : assert.fail(JSON.stringify(reached.left))
}

const built = after(starts(build), completes(build))
const checked = from(
  built,
  startsGroups('unit', 'lint'),
  completesGroup('unit'),
  completesGroup('lint'),
  startsGroups('smoke'),
  completesGroup('smoke'),
  completes(wave)
)
const published = from(checked, starts(publish), completes(publish))

const done = ({ completedSteps }: Checkpoint): ReadonlyArray<string> => [...completedSteps].map(({ unit }) => unit)

// ---------------------------------------------------------------------------------------------------------------------
// which changes may follow
// ---------------------------------------------------------------------------------------------------------------------

type Row = readonly [
  title: string,
  change: Change,
  legalAfter: Checkpoint,
  illegalAfter: Checkpoint,
  why: TransitionError['why'],
  unit: string
]

const rows: ReadonlyArray<Row> = [
  ['an attempt starts only on a step without a record', starts(build), queued, built, 'AlreadyCompleted', 'build'],
  [
    'a group starts only without a record',
    startsGroups('lint'),
    built,
    from(built, startsGroups('lint'), completesGroup('lint')),
    'AlreadyCompleted',
    'checks/lint'
  ],
  [
    'a wave starts groups only while it is open',
    startsGroups('lint'),
    built,
    checked,
    'AlreadyCompleted',
    'checks/lint'
  ],
  ['a step completes only in flight', completes(build), after(starts(build)), queued, 'NotInFlight', 'build'],
  [
    'a step completes only with the attempt in flight',
    completes(build),
    after(starts(build)),
    after(starts(build, 2)),
    'NotInFlight',
    'build'
  ],
  ['a completed run cannot be stopped', stops(publish), checked, published, 'AlreadyCompleted', 'publish'],
  ['a step completes once', completes(build), after(starts(build)), built, 'AlreadyCompleted', 'build'],
  [
    'a group completes only in flight',
    completesGroup('unit'),
    from(built, startsGroups('unit')),
    from(built, startsGroups('lint')),
    'NotInFlight',
    'checks/unit'
  ],
  [
    'a wave completes only after all its groups',
    completes(wave),
    from(
      built,
      startsGroups('unit', 'lint', 'smoke'),
      completesGroup('unit'),
      completesGroup('lint'),
      completesGroup('smoke')
    ),
    from(built, startsGroups('unit', 'lint', 'smoke'), completesGroup('unit'), completesGroup('smoke')),
    'PartsUnfinished',
    'checks/lint'
  ],
  ['an attempt fails only in flight', failsAttempt(1), after(starts(build)), queued, 'NotInFlight', 'build'],
  [
    'an attempt fails once',
    failsAttempt(1),
    after(starts(build)),
    after(starts(build), failsAttempt(1)),
    'NotInFlight',
    'build'
  ],
  [
    'a group fails only in flight',
    failsGroup('unit'),
    from(built, startsGroups('unit')),
    built,
    'NotInFlight',
    'checks/unit'
  ],
  [
    'a task fails only in flight',
    { _tag: 'UnitFailed', ...build, retryable: true, last: lost },
    after(starts(build)),
    queued,
    'NotInFlight',
    'build'
  ],
  [
    'a task fails with its last attempt',
    { _tag: 'UnitFailed', ...build, retryable: true, last: lost },
    after(starts(build)),
    after(starts(build, 2)),
    'NotInFlight',
    'build'
  ],
  [
    'a wave fails only while no group of it is in flight',
    { _tag: 'UnitFailed', ...wave, retryable: true },
    from(built, startsGroups('unit'), failsGroup('unit')),
    from(built, startsGroups('unit', 'lint'), failsGroup('unit')),
    'PartsUnfinished',
    'checks'
  ],
  [
    'a wave fails only if a group failed',
    { _tag: 'UnitFailed', ...wave, retryable: true },
    from(built, startsGroups('unit'), failsGroup('unit')),
    built,
    'NotInFlight',
    'checks'
  ],
  [
    'a completed wave does not fail',
    { _tag: 'UnitFailed', ...wave, retryable: true },
    from(built, startsGroups('unit'), failsGroup('unit')),
    checked,
    'AlreadyCompleted',
    'checks'
  ],
  [
    'a step is assumed only without a record',
    { _tag: 'Assumed', ...build, captured: [] },
    queued,
    built,
    'AlreadyCompleted',
    'build'
  ],
  [
    'a group is assumed only without a record',
    { _tag: 'Assumed', at: AT, unit: 'checks/unit', captured: [] },
    built,
    from(built, startsGroups('unit'), completesGroup('unit')),
    'AlreadyCompleted',
    'checks/unit'
  ],
  [
    'a group of a completed wave is not assumed',
    { _tag: 'Assumed', at: AT, unit: 'checks/unit', captured: [] },
    built,
    checked,
    'AlreadyCompleted',
    'checks/unit'
  ],
  [
    'a wave is assumed after its groups',
    { _tag: 'Assumed', ...wave, captured: [] },
    from(
      built,
      ...['unit', 'lint', 'smoke'].map((group): Change => ({
        _tag: 'Assumed',
        at: AT,
        unit: `checks/${group}`,
        captured: []
      }))
    ),
    built,
    'PartsUnfinished',
    'checks/unit'
  ],
  [
    'a step in doubt is confirmed',
    { _tag: 'Confirmed', ...publish },
    from(checked, starts(publish)),
    checked,
    'NotInFlight',
    'publish'
  ],
  [
    'only a step in doubt is confirmed',
    { _tag: 'Confirmed', ...publish },
    from(checked, starts(publish)),
    published,
    'NotInFlight',
    'publish'
  ],
  [
    'a group in doubt is confirmed',
    { _tag: 'Confirmed', at: AT, unit: 'checks/lint' },
    from(built, startsGroups('lint')),
    from(built, startsGroups('unit')),
    'NotInFlight',
    'checks/lint'
  ],
  [
    'a Confirmed change replaces the evidence of a completed unit',
    { _tag: 'Confirmed', at: AT, unit: 'checks/lint', evidence: [] },
    checked,
    built,
    'NotCompleted',
    'checks/lint'
  ]
]

describe('the changes that a state permits', () => {
  test.each(rows)('a change is applied only to a state that permits it: %s', (_, change, legal, illegal, why, unit) => {
    const reached = apply(legal, change)
    assert.ok(E.isRight(reached))
    assert.equal(reached.right.revision, legal.revision + 1)
    assert.equal(reached.right.updatedAt, change.at)
    assert.deepEqual(
      apply(illegal, change),
      E.left({ _tag: 'TransitionError', change: change._tag, revision: illegal.revision, why, unit })
    )
  })

  test('kept evidence replaces the evidence in the record of its unit, and changes no state', () => {
    const evidence = [{ _tag: 'Artifact', path: 'a', size: 1, sha256: '0'.repeat(64) }] as const
    for (const before of [checked, from(checked, starts(publish)), published]) {
      const now = from(before, { _tag: 'Confirmed', at: AT, unit: 'checks/lint', evidence })
      assert.deepEqual(now.state, before.state)
      assert.deepEqual(
        [...now.completedSteps],
        [...before.completedSteps].map((one) => (one.unit === 'checks/lint' ? { ...one, evidence } : one))
      )
      assert.deepEqual(
        [...before.completedSteps].flatMap((one) => one.evidence),
        []
      )
    }
  })

  test('a run starts only once', () => {
    const again: Change = { _tag: 'Started', at: AT, runId: 'run-2', workflow: queued.workflow, input: {} }
    const found = apply(queued, again)
    assert.ok(E.isLeft(found))
    assert.deepEqual([found.left.why, found.left.unit], ['AlreadyStarted', 'run-2'])
  })

  test('a change must name a unit of the workflow', () => {
    const running = after(starts(build))
    const runningGroup = from(built, startsGroups('unit'))
    const starting = (...attempts: ReadonlyArray<State.InFlight>): Change => ({
      _tag: 'AttemptStarted',
      at: AT,
      attempts
    })
    const unknown: ReadonlyArray<readonly [Checkpoint, Change]> = [
      ...['nowhere', 'build/unit', 'checks/unit/x'].flatMap((unit): ReadonlyArray<readonly [Checkpoint, Change]> => [
        [running, { _tag: 'AttemptFailed', at: AT, ...lost, unit, delayBeforeNextMillis: 1 }],
        [running, { _tag: 'UnitCompleted', at: AT, ...ended, unit }],
        [running, { _tag: 'UnitFailed', at: AT, unit, retryable: true, last: lost }],
        [running, { _tag: 'Interrupted', at: AT, unit, reason: 'signal' }],
        [running, { _tag: 'Rewound', at: AT, units: [unit], why: 'Forced' }],
        [queued, { _tag: 'Assumed', at: AT, unit, captured: [] }],
        [running, { _tag: 'Confirmed', at: AT, unit }]
      ]),
      [queued, starting()],
      [queued, starting({ unit: 'nowhere', attempt: 1 })],
      [queued, starting({ unit: 'build', attempt: 1 }, { unit: 'publish', attempt: 1 })],
      [built, starting({ unit: 'checks', attempt: 1 })],
      [built, starting({ unit: 'checks/x', attempt: 1 })],
      [runningGroup, { _tag: 'Interrupted', at: AT, unit: 'checks/unit', reason: 'signal' }],
      [runningGroup, { _tag: 'UnitCompleted', at: AT, ...ended, unit: 'checks/constructor' }],
      [runningGroup, { _tag: 'UnitFailed', at: AT, unit: 'checks/x', retryable: false, last: lost }],
      [checked, { _tag: 'Rewound', at: AT, units: ['checks/unit', 'checks/x'], why: 'Forced' }],
      [checked, { _tag: 'Rewound', at: AT, units: [], why: 'Forced' }],
      [built, { _tag: 'Assumed', at: AT, unit: 'checks/x', captured: [] }],
      [runningGroup, { _tag: 'Confirmed', ...wave }],
      [runningGroup, { _tag: 'Confirmed', at: AT, unit: 'checks/x' }],
      [queued, { _tag: 'WorkflowEdited', at: AT, workflow: { name: 'release', fingerprint: 'v1:x', steps: [] } }]
    ]
    for (const [checkpoint, change] of unknown) {
      const found = apply(checkpoint, change)
      assert.equal(E.isLeft(found) && found.left.why, 'UnknownUnit', JSON.stringify(change))
    }
    const twice = apply(queued, starting({ unit: 'build', attempt: 1 }, { unit: 'build', attempt: 2 }))
    assert.equal(E.isLeft(twice) && twice.left.why, 'AttemptOpen')
    for (const unit of ['build/unit', 'checks/unit/x']) {
      const early = apply(queued, starting({ unit, attempt: 1 }))
      assert.equal(E.isLeft(early) && early.left.why, 'NotInFlight')
    }
  })

  test('replay stops at the first change that the state does not permit', () => {
    assert.deepEqual(
      replay(queued, [starts(build), completes(build), completes(build)]),
      apply(built, completes(build))
    )
  })

  const folded = (base: Checkpoint, changes: ReadonlyArray<Change>): E.Either<TransitionError, Checkpoint> =>
    changes.reduce<E.Either<TransitionError, Checkpoint>>(
      (reached, change) => (E.isLeft(reached) ? reached : apply(reached.right, change)),
      E.right(base)
    )

  const assertReplayed = (base: Checkpoint, changes: ReadonlyArray<Change>): void => {
    const before = JSON.stringify(encode(base))
    const [whole, folds] = [replay(base, changes), folded(base, changes)].map(E.map(encode))
    assert.deepEqual(whole, folds, JSON.stringify(changes))
    assert.equal(JSON.stringify(encode(base)), before)
  }

  test('replay gives the same result as repeated apply for three changes in any order', () => {
    const keyed = { ...starts(publish), submissions: [{ unit: 'publish', key: 'k' }] } as Change
    const misplaced = { ...starts(build), submissions: [{ unit: 'publish', key: 'k' }] } as Change
    const called = { at: AT, unit: 'build/call' } as const
    const doubtful: Change = {
      _tag: 'UnitFailed',
      ...called,
      retryable: false,
      last: lost,
      subStep: { idempotent: false }
    }
    const inDoubt = after(starts(build), starts(called as never), doubtful)
    const submitted: Change = { _tag: 'JobSubmitted', ...publish, attempt: 1 }
    const both = {
      _tag: 'AttemptStarted',
      at: AT,
      attempts: [build, publish].map(({ unit }) => ({ unit, attempt: 1 }))
    }
    const undone: Change = { _tag: 'Rewound', at: timeOf(6), units: ['build'], why: 'Forced' }
    const two = [starts(build, 2), { ...completes(build), attempts: 2, at: timeOf(7) } as Change]
    const failed = [failsAttempt(1), startsGroups('unit'), completesGroup('unit'), stops(build)]
    const all = [starts(build), completes(build), ...two, ...failed, undone]
    const later = [
      misplaced,
      starts(wave as never),
      completes(wave),
      starts(publish),
      completes(publish),
      keyed,
      submitted,
      both as Change
    ]
    const bases = [queued, inDoubt, after(starts(build)), after(starts(build), failsAttempt(1)), built, checked]
    for (const base of [...bases, from(checked, keyed), from(checked, keyed, submitted)])
      for (const a of [...all, ...later])
        for (const b of [...all, ...later]) for (const c of [...all, ...later]) assertReplayed(base, [a, b, c])
  })

  test('replay of a long run gives the same result as repeated apply, and changes no earlier checkpoint', () => {
    const names = Array.from({ length: 100 }, (_, index) => `step-${index}`)
    const long = start({
      _tag: 'Started',
      at: AT,
      runId: 'run-1',
      workflow: Identity.of({ name: 'long', steps: names.map((name) => W.task(name)) }),
      input: {}
    })
    const changes = names.flatMap((unit) => [starts({ at: AT, unit } as never), completes({ at: AT, unit } as never)])
    assertReplayed(long, changes)
    const half = from(long, ...changes.slice(0, 100))
    assertReplayed(half, changes.slice(100))
    assertReplayed(half, [...changes.slice(100, 150), stops({ at: AT, unit: 'step-75' } as never)])
    assertReplayed(half, [...changes.slice(100, 150), ...changes.slice(148)])
    assertReplayed(half, [...changes.slice(100, 150), { _tag: 'Rewound', at: AT, units: ['step-3'], why: 'Forced' }])
  })

  law(
    'if a change of a run is left out, replay gives the same result as repeated apply',
    arb.run(),
    ({ trail, changes }) => {
      const [first] = trail
      const later = changes.slice(1)
      if (first !== undefined)
        for (const [index] of later.entries()) assertReplayed(first.checkpoint, later.toSpliced(index, 1))
    }
  )
})

// ---------------------------------------------------------------------------------------------------------------------
// the effects of changes
// ---------------------------------------------------------------------------------------------------------------------

describe('an attempt', () => {
  test('a failed attempt is kept with its number, times, error, outcome and the delay after it', () => {
    const { state } = after(
      starts(build),
      failsAttempt(1, 100),
      starts(build, 2),
      { ...failsAttempt(2, 250), at: timeOf(9) },
      starts(build, 3),
      {
        _tag: 'UnitFailed',
        ...build,
        at: timeOf(11),
        retryable: true,
        last: { ...lost, attempt: 3, outcome: 'notApplied' }
      }
    )
    assert.ok(state._tag === 'Failed')
    assert.equal(state.retryable, true)
    const brief = { name: 'HttpError', message: 'Service Unavailable', code: '503' }
    assert.deepEqual(state.failures.records, [
      {
        unit: 'build',
        error,
        outcome: 'notApplied',
        attempts: [
          { attempt: 1, startedAt: AT, failedAt: AT, error: brief, outcome: 'unknown', delayBeforeNextMillis: 100 },
          {
            attempt: 2,
            startedAt: AT,
            failedAt: timeOf(9),
            error: brief,
            outcome: 'unknown',
            delayBeforeNextMillis: 250
          },
          { attempt: 3, startedAt: AT, failedAt: timeOf(11), error: brief, outcome: 'notApplied' }
        ]
      }
    ])
  })

  test('the first and the newest 99 failed attempts are kept', () => {
    const changes = Array.from({ length: 250 }, (_, index) => [
      starts(build, index + 1),
      failsAttempt(index + 1)
    ]).flat()
    const [failure] = State.failures(after(...changes).state)
    assert.equal(State.MAX_ATTEMPTS_KEPT, 100)
    assert.deepEqual(
      failure?.attempts.map(({ attempt }) => attempt),
      [1, ...Array.from({ length: 99 }, (_, index) => 152 + index)]
    )
  })

  test('an attempt that succeeds drops its errors, in a task and in a group', () => {
    const passed = after(starts(build), failsAttempt(1), starts(build, 2), {
      ...completes(build),
      attempts: 2
    } as Change)
    assert.deepEqual(passed.state, State.completed(0, 'build'))
    assert.deepEqual(
      [...passed.completedSteps].map(({ attempts }) => attempts),
      [2]
    )
    const group = from(
      built,
      startsGroups('unit', 'lint'),
      failsGroup('unit'),
      failsGroup('lint'),
      startsGroups('unit'),
      completesGroup('unit')
    )
    assert.deepEqual(
      State.failures(group.state).records.map(({ unit }) => unit),
      ['checks/lint']
    )
  })

  test('a group that finally succeeds drops the errors of its attempts', () => {
    const failed: Change = { _tag: 'AttemptFailed', at: AT, ...lost, unit: 'checks/unit', delayBeforeNextMillis: 5 }
    const again: Change = { _tag: 'AttemptStarted', at: AT, attempts: [{ unit: 'checks/unit', attempt: 2 }] }
    const retried = from(built, startsGroups('unit', 'lint'), failed, again)
    assert.deepEqual(
      State.failures(retried.state).records.map(({ unit }) => unit),
      ['checks/unit']
    )
    const passed = from(retried, { ...completesGroup('unit'), attempts: 2 } as Change)
    assert.deepEqual(State.failures(passed.state).records, [])
    assert.deepEqual(State.inFlight(passed.state).records, [{ unit: 'checks/lint', attempt: 1 }])
  })

  test('starting a failed unit again drops its attempts; a retry keeps them', () => {
    const spent = after(starts(build), { _tag: 'UnitFailed', ...build, retryable: true, last: lost }, starts(build))
    assert.deepEqual(State.failures(spent.state).records, [])
    const further = after(starts(build), failsAttempt(1), starts(build, 2))
    assert.equal(State.failures(further.state).size, 1)
    assert.deepEqual(State.inFlight(further.state).records, [{ unit: 'build', attempt: 2 }])
  })
})

describe('an interruption', () => {
  const inProgress = ({ state }: Checkpoint): boolean => state._tag === 'Interrupted' && state.inProgress

  test('an interruption is recorded as in progress if and only if its step started and did not end', () => {
    assert.equal(inProgress(after(stops(build))), false)
    assert.equal(inProgress(after(starts(build), stops(build))), true)
    assert.equal(inProgress(after(starts(build), failsAttempt(1), stops(build))), true)
    assert.equal(inProgress(from(built, stops(build))), false)
    assert.equal(inProgress(from(built, stops(wave))), false)
    assert.equal(inProgress(from(built, startsGroups('unit'), completesGroup('unit'), stops(wave))), true)
    assert.equal(inProgress(from(checked, stops(wave))), false)
  })

  test('an interruption stays until the questions about all of its groups are answered', () => {
    const stopped = from(built, startsGroups('unit', 'lint'), stops(wave))
    const { state } = from(stopped, { _tag: 'Confirmed', at: AT, unit: 'checks/unit' })
    assert.ok(state._tag === 'Interrupted' && state.inProgress)
    assert.deepEqual(state.inFlight.records, [{ unit: 'checks/lint', attempt: 1 }])
    const both = from(
      stopped,
      { _tag: 'Confirmed', at: AT, unit: 'checks/unit' },
      { _tag: 'Confirmed', at: AT, unit: 'checks/lint' }
    )
    assert.deepEqual(both.state, State.beforeStep(1, 'checks'))
  })

  test('an interruption keeps the units in flight and the failures', () => {
    const { state } = from(built, startsGroups('unit', 'lint'), failsGroup('lint'), stops(wave))
    assert.ok(state._tag === 'Interrupted')
    assert.equal(state.reason, 'signal')
    assert.deepEqual(state.inFlight.records, [{ unit: 'checks/unit', attempt: 1 }])
    assert.deepEqual(
      state.failures.records.map(({ unit }) => unit),
      ['checks/lint']
    )
  })
})

describe('an attempt in flight of a step, after an edit inserted a new step before that step', () => {
  const open = after(starts(build), failsAttempt(1), starts(build, 2))
  const edited = from(open, {
    _tag: 'WorkflowEdited',
    at: AT,
    workflow: Identity.of({ ...workflow, steps: [W.task('new'), ...workflow.steps] })
  })
  const first = { at: AT, unit: 'new' } as const
  const begun = from(edited, { _tag: 'AttemptStarted', at: AT, attempts: [{ unit: 'new', attempt: 1 }] })
  const made = from(begun, { _tag: 'UnitCompleted', ...first, ...ended })
  const attempts = ({ state }: Checkpoint): ReadonlyArray<string> =>
    [...State.inFlight(state)].map(({ unit, attempt }) => `${unit} ${attempt}`)
  const failed = ({ state }: Checkpoint): ReadonlyArray<string> => [...State.failures(state)].map(({ unit }) => unit)

  test('the new step starts, stops, fails and completes, and the attempt stays in flight', () => {
    assert.deepEqual([attempts(begun), failed(begun)], [['build 2', 'new 1'], ['build']])
    const stopped = from(begun, { _tag: 'Interrupted', ...first, reason: 'signal' })
    assert.deepEqual(attempts(stopped), ['build 2', 'new 1'])
    const broken = from(begun, { _tag: 'UnitFailed', ...first, retryable: false, last: lost })
    assert.deepEqual([attempts(broken), failed(broken)], [['build 2'], ['build', 'new']])
    assert.deepEqual(
      State.failuresHere(broken.state).map(({ unit }) => unit),
      ['new']
    )
    assert.deepEqual(
      [made.state._tag, made.state.step, attempts(made), failed(made)],
      ['Completed', 'new', ['build 2'], ['build']]
    )
  })

  test('a stop before the new step is not in progress', () => {
    const { state } = from(edited, { _tag: 'Interrupted', ...first, reason: 'signal' })
    assert.ok(state._tag === 'Interrupted')
    assert.deepEqual([state.inProgress, [...State.inDoubt(state)]], [false, ['build']])
  })

  test('the attempt cannot complete while the run stands at the new step, and completes once its step has started again', () => {
    const ends: Change = { _tag: 'UnitCompleted', ...build, ...ended, attempts: 2 }
    const early = apply(begun, ends)
    assert.ok(E.isLeft(early) && early.left.why === 'NotInFlight')
    const again = from(made, starts(build, 2))
    assert.deepEqual([attempts(again), failed(again)], [['build 2'], ['build']])
    assert.deepEqual(from(again, ends).state, State.completed(1, 'build'))
  })

  test('a stored checkpoint keeps the attempt, even if the new step has completed and the next one has not started', () => {
    const text = JSON.stringify(encode(made))
    const back = decode(JSON.parse(text))
    assert.ok(E.isRight(back))
    assert.equal(JSON.stringify(encode(back.right)), text)
    assert.deepEqual(attempts(back.right), ['build 2'])
  })

  test('a rewind, an assumption or a removal of the step drops the attempt, and the run stays at the new step', () => {
    const removed = Identity.of({ ...workflow, steps: [W.task('new'), ...workflow.steps.slice(1)] })
    for (const change of [
      { _tag: 'Rewound', at: AT, units: ['build'], why: 'Forced' },
      { _tag: 'Assumed', ...build, captured: [] },
      { _tag: 'WorkflowEdited', at: AT, workflow: removed }
    ] as const) {
      const reached = from(begun, change)
      assert.deepEqual([reached.state.step, attempts(reached), failed(reached)], ['new', ['new 1'], []])
    }
  })

  test('an edit that removes the new step leaves the attempt in flight', () => {
    const back = from(begun, { _tag: 'WorkflowEdited', at: AT, workflow: Identity.of(workflow) })
    assert.deepEqual(back.state, open.state)
  })

  law(
    'a new first step that completes changes no open attempt, and no decision about a task',
    arb.run(),
    (run) => {
      for (const { checkpoint, workflow } of run.trail) {
        const steps = [W.task('new'), ...workflow.steps]
        const adopted = from(checkpoint, {
          _tag: 'WorkflowEdited',
          at: AT,
          workflow: Identity.of({ ...workflow, steps })
        })
        const starting: Change = { _tag: 'AttemptStarted', at: AT, attempts: [{ unit: 'new', attempt: 1 }] }
        const next = from(adopted, starting, { _tag: 'UnitCompleted', ...first, ...ended })
        const listed = ({ state }: Checkpoint) => [[...State.inFlight(state)], [...State.failures(state)]]
        assert.deepEqual(listed(next), listed(adopted))
        const tasks = (of: Checkpoint) => {
          const plan = planResume(of, { ...workflow, steps }, { changes: 'ignore' })
          if (E.isLeft(plan)) return plan.left.problems
          return plan.right.decisions.flatMap((decision) =>
            decision.unit === 'new' || find(of.workflow, of.items, decision.unit)?.definition._tag !== 'Task'
              ? []
              : [`${decision.unit} ${decision._tag} ${decision._tag === 'Retry' ? decision.attempt : ''}`]
          )
        }
        assert.deepEqual(tasks(next), tasks(adopted))
      }
    },
    40
  )

  test('a confirmation of the attempt does not move the run', () => {
    const running = from(checked, starts(publish))
    const steps = [...workflow.steps.slice(0, 2), W.task('new'), ...workflow.steps.slice(2)]
    const moved = from(
      running,
      { _tag: 'WorkflowEdited', at: AT, workflow: Identity.of({ ...workflow, steps }) },
      { _tag: 'AttemptStarted', at: AT, attempts: [{ unit: 'new', attempt: 1 }] }
    )
    assert.deepEqual(attempts(moved), ['publish 1', 'new 1'])
    const confirmed = from(moved, { _tag: 'Confirmed', ...publish })
    assert.deepEqual([confirmed.state.step, attempts(confirmed)], ['new', ['new 1']])
  })
})

describe('a rewind', () => {
  const rewound = (base: Checkpoint, ...units: ReadonlyArray<string>) =>
    from(base, { _tag: 'Rewound', at: AT, units, why: 'Forced' })

  test('a rewind drops the records of its units and of those inside them, and raises the generation', () => {
    for (const [units, left, at] of [
      [['build', 'checks', 'publish'], [], 0],
      [['checks', 'publish'], ['build'], 1],
      [['checks'], ['build', 'publish'], 1],
      [['publish'], ['build', 'checks/unit', 'checks/lint', 'checks/smoke', 'checks'], 2]
    ] as const) {
      const reached = rewound(published, ...units)
      assert.deepEqual(done(reached), left)
      assert.deepEqual(reached.state, State.beforeStep(at, units[0]))
      assert.equal(reached.generation, 1)
    }
    assert.equal(rewound(rewound(published, 'checks', 'publish'), 'build').generation, 2)
  })

  test('a rewind of some groups keeps the records of the other groups, but not that of the wave', () => {
    assert.deepEqual(done(rewound(published, 'checks/unit', 'checks/smoke', 'publish')), ['build', 'checks/lint'])
  })

  test('a rewind of some groups keeps the other groups in doubt', () => {
    const running = from(built, startsGroups('unit', 'lint', 'smoke'), failsGroup('smoke'))
    const { state } = rewound(running, 'checks/lint')
    assert.deepEqual(State.inFlight(state).records, [{ unit: 'checks/unit', attempt: 1 }])
    assert.deepEqual(
      State.failures(state).records.map(({ unit }) => unit),
      ['checks/smoke']
    )
    const whole = rewound(running, 'checks').state
    assert.deepEqual([State.inFlight(whole).records, State.failures(whole).records], [[], []])
  })

  test('a rewind of an earlier step is refused unless it also names the step that is in flight', () => {
    const running = from(checked, starts(publish))
    const refused = apply(running, { _tag: 'Rewound', at: AT, units: ['build'], why: 'Forced' })
    assert.ok(E.isLeft(refused))
    assert.deepEqual([refused.left.why, refused.left.unit], ['StandsElsewhere', 'publish'])
    assert.deepEqual(rewound(running, 'build', 'publish').state, State.beforeStep(0, 'build'))
  })

  test('a rewind of a unit changes its key and those of the units inside it, and no other key', () => {
    const units = ['build', 'checks/unit', 'checks/lint', 'publish']
    const keysOf = (checkpoint: Checkpoint) => units.map((unit) => IdempotencyKey.of(checkpoint, unit))
    const before = keysOf(published)
    const differing = (checkpoint: Checkpoint) =>
      units.filter((_, index) => keysOf(checkpoint)[index] !== before[index])
    assert.deepEqual(differing(rewound(published, 'checks/lint')), ['checks/lint'])
    assert.deepEqual(differing(rewound(published, 'checks', 'publish')), ['checks/unit', 'checks/lint', 'publish'])
  })

  test('a rewind of a later step does not change the current step', () => {
    const running = after(starts(build))
    assert.deepEqual(rewound(running, 'publish').state, running.state)
  })

  test('a rewind drops the variables that the step captured', () => {
    const captured = after(starts(build), { ...completes(build), output: 'dist.tgz', captured: ['dist'] } as Change)
    assert.deepEqual(
      [...captured.variables],
      [
        ['channel', 'beta'],
        ['dist', 'dist.tgz']
      ]
    )
    assert.deepEqual([...rewound(captured, 'build').variables], [['channel', 'beta']])
  })
})

describe('an assumption', () => {
  test('a unit that is assumed done gets a record marked assumed, and the run continues after it', () => {
    const assumed = after({ _tag: 'Assumed', ...build, output: 1, captured: ['dist'] })
    assert.deepEqual(
      [...assumed.completedSteps],
      [
        {
          unit: 'build',
          stepIndex: 0,
          fingerprint: workflow.steps[0]?.fingerprint,
          output: 1,
          captured: ['dist'],
          attempts: 0,
          startedAt: AT,
          completedAt: AT,
          durationMillis: 0,
          evidence: [],
          assumed: true
        }
      ]
    )
    assert.deepEqual(assumed.state, State.completed(0, 'build'))
  })

  test('assuming a later step done changes neither the current step nor the units in flight', () => {
    const running = after(starts(build))
    const assumed = from(running, { _tag: 'Assumed', ...publish, captured: [] })
    assert.deepEqual(assumed.state, running.state)
    const group = from(running, { _tag: 'Assumed', at: AT, unit: 'checks/unit', captured: [] })
    assert.deepEqual(group.state, running.state)
  })

  test('assuming one group done keeps the other groups in flight', () => {
    const running = from(built, startsGroups('unit', 'lint'))
    const assumed = from(running, { _tag: 'Assumed', at: AT, unit: 'checks/unit', captured: [] })
    assert.deepEqual(State.inFlight(assumed.state).records, [{ unit: 'checks/lint', attempt: 1 }])
  })

  test('assuming a later step done does not affect the running wave', () => {
    const early = from(built, startsGroups('unit'), completesGroup('unit'), {
      _tag: 'Assumed',
      ...publish,
      captured: []
    })
    const finished = from(
      early,
      startsGroups('lint', 'smoke'),
      completesGroup('lint'),
      completesGroup('smoke'),
      completes(wave)
    )
    assert.equal(finished.completedSteps.steps, 3)
    assert.equal(status(finished, false), 'completed')
    assert.equal(E.isLeft(apply(early, startsGroups('unit'))), true)
  })
})

describe('a recovery', () => {
  test('a recovery adds a revision and changes nothing else', () => {
    const noted = from(built, { _tag: 'Recovered', at: timeOf(9), from: 'history', lost: 'a line', agreedBy: 'ada' })
    const plain = (checkpoint: Checkpoint) => ({ ...(encode(checkpoint) as object), revision: 0, updatedAt: '' })
    assert.deepEqual(plain(noted), plain(built))
    assert.equal(noted.revision, built.revision + 1)
  })
})

test('a wait that times out fails as a unit, not as a job', () => {
  const identity = Identity.of({ name: 'release', steps: [W.task('approve', { wait: 'Answer' })] })
  const waiting = from(start({ _tag: 'Started', at: AT, runId: 'run-1', workflow: identity, input: {} }), {
    _tag: 'WaitStarted',
    at: AT,
    unit: 'approve',
    wait: { _tag: 'Answer' }
  })
  const { error, outcome } = lost
  const ended = apply(waiting, { _tag: 'JobEnded', at: AT, unit: 'approve', error, outcome, retryable: false })
  assert.equal(E.isLeft(ended) && ended.left.why, 'NotPending')
  const timesOut = { _tag: 'UnitFailed', at: AT, unit: 'approve', retryable: false, last: lost } as const
  const failed = from(waiting, timesOut)
  assert.equal(failed.state._tag, 'Failed')
  assert.deepEqual([failed.pending.size, State.failures(failed.state).size, failed.renewals.size], [0, 1, 0])
  const again = apply(failed, timesOut)
  assert.equal(E.isLeft(again) && again.left.why, 'NotPending')
})

// ---------------------------------------------------------------------------------------------------------------------
// status
// ---------------------------------------------------------------------------------------------------------------------

describe('the status of a run', () => {
  const stopped = (reason: State.InterruptReason): Checkpoint => from(built, { ...stops(wave), reason } as Change)
  const first = (step: W.Step, change: Change): Checkpoint => {
    const identity = Identity.of({ name: 'release', steps: [step] })
    return from(start({ _tag: 'Started', at: AT, runId: 'run-1', workflow: identity, input: {} }), change)
  }
  const timer = { _tag: 'Timer', wakeAt: timeOf(9) } as const
  const waiting = first(W.task('nap', { wait: 'Timer' }), { _tag: 'WaitStarted', at: AT, unit: 'nap', wait: timer })
  const expanding = first(W.mapOf('each', W.task('do')), { _tag: 'Expanded', at: AT, unit: 'each', items: [] })
  const rowsOf: ReadonlyArray<readonly [string, Checkpoint, string, string]> = [
    ['queued', queued, 'queued', 'queued'],
    ['in its first attempt', after(starts(build)), 'running', 'interrupted'],
    ['between attempts', after(starts(build), failsAttempt(1)), 'running', 'interrupted'],
    ['between steps', built, 'running', 'interrupted'],
    ['in a wave', from(built, startsGroups('unit')), 'running', 'interrupted'],
    ['completed', published, 'completed', 'completed'],
    ['failed', after(starts(build), { _tag: 'UnitFailed', ...build, retryable: true, last: lost }), 'failed', 'failed'],
    ['waiting in its first step', waiting, 'running', 'interrupted'],
    ['expanding its first map', expanding, 'running', 'interrupted'],
    ['stopped by a signal', stopped('signal'), 'interrupted', 'interrupted'],
    ['stopped by its host', stopped('aborted'), 'interrupted', 'interrupted'],
    ['paused', stopped('paused'), 'paused', 'paused'],
    ['cancelled', stopped('cancelled'), 'cancelled', 'cancelled'],
    ['waiting for outside work', stopped('pending'), 'pending', 'pending'],
    [
      'rewound to its start',
      from(published, { _tag: 'Rewound', at: AT, units: ['build', 'checks', 'publish'], why: 'Forced' }),
      'running',
      'queued'
    ],
    [
      'at its start with a later step assumed',
      after({ _tag: 'Assumed', ...publish, captured: [] }),
      'running',
      'interrupted'
    ]
  ]

  test.each(rowsOf)(
    'the status depends on the checkpoint and on whether the owner is alive: a run that is %s',
    (_, checkpoint, live, dead) => {
      assert.equal(status(checkpoint, true), live)
      assert.equal(status(checkpoint, false), dead)
    }
  )

  test('progress counts whole steps, not groups', () => {
    assert.deepEqual(progress(queued), { completed: 0, total: 3 })
    assert.deepEqual(progress(from(built, startsGroups('unit'), completesGroup('unit'))), { completed: 1, total: 3 })
    assert.deepEqual(progress(published), { completed: 3, total: 3 })
  })

  law('a run is completed if and only if its next plan schedules nothing', arb.run(), (run) => {
    const plan = planResume(run.checkpoint, run.workflow)
    assert.ok(E.isRight(plan))
    const nothingLeft = plan.right.startIndex === run.workflow.steps.length
    assert.equal(status(run.checkpoint, false) === 'completed', nothingLeft)
  })
})

// ---------------------------------------------------------------------------------------------------------------------
// edits
// ---------------------------------------------------------------------------------------------------------------------

describe('an adopted edit', () => {
  const fails = (unit: string): Change => ({ _tag: 'UnitFailed', at: AT, unit, retryable: false, last: lost })
  const edited = (base: Checkpoint, ...steps: ReadonlyArray<W.Step>): Checkpoint =>
    from(base, { _tag: 'WorkflowEdited', at: AT, workflow: Identity.of({ name: 'release', steps }) })
  const [first, second, third] = workflow.steps as [W.Task, W.Wave, W.Task]

  test('an edited workflow keeps records by name, at their new index, with the fingerprint that ran', () => {
    const other = W.task('build', { definition: 'other' })
    const reached = edited(checked, W.task('setup'), other, second, third)
    assert.deepEqual(
      [...reached.completedSteps].map(({ stepIndex, unit, fingerprint }) => [stepIndex, unit, fingerprint]).slice(0, 2),
      [
        [1, 'build', first.fingerprint],
        [2, 'checks/unit', second.groups[0]?.fingerprint]
      ]
    )
    assert.deepEqual(reached.state, State.completed(2, 'checks'))
  })

  test('an adopted edit drops the records of removed steps and groups', () => {
    assert.deepEqual(done(edited(checked, second, third)), ['checks/unit', 'checks/lint', 'checks/smoke', 'checks'])
    const less = W.wave('checks', second.groups.slice(0, 2))
    assert.deepEqual(done(edited(checked, first, less, third)), ['build', 'checks/unit', 'checks/lint', 'checks'])
  })

  test('an adopted edit changes the keys of the units that it drops, and no other key', () => {
    const back = edited(edited(published, first, second), first, second, third)
    const keysOf = (checkpoint: Checkpoint) =>
      ['build', 'checks/unit', 'publish'].map((unit) => IdempotencyKey.of(checkpoint, unit))
    const [build, unit, publishing] = keysOf(published)
    const [buildNow, unitNow, publishingNow] = keysOf(back)
    assert.deepEqual([buildNow, unitNow], [build, unit])
    assert.notEqual(publishingNow, publishing)
  })

  test('an adopted edit that adds a group to a completed wave opens the wave again, and keeps the records of its groups', () => {
    const more = W.wave('checks', [...second.groups, W.group(W.task('fuzz'))])
    const reached = edited(checked, first, more, third)
    assert.deepEqual(done(reached), ['build', 'checks/unit', 'checks/lint', 'checks/smoke'])
    assert.deepEqual(reached.state, State.beforeStep(1, 'checks'))
    assert.ok(E.isLeft(apply(reached, startsGroups('unit'))))
    assert.ok(E.isRight(apply(reached, startsGroups('fuzz'))))
  })

  test('an adopted edit keeps the state of a step that still exists', () => {
    const running = from(built, startsGroups('unit', 'lint'))
    const less = W.wave('checks', second.groups.slice(1, 2))
    assert.deepEqual(
      edited(running, W.task('setup'), first, less).state,
      State.beforeStep(2, 'checks', [{ unit: 'checks/lint', attempt: 1 }])
    )
    const failed = from(checked, starts(publish), { _tag: 'UnitFailed', ...publish, retryable: false, last: lost })
    const { state } = edited(failed, first, second, W.task('setup'), third)
    assert.deepEqual([state.stepIndex, State.failures(state).size], [3, 1])
  })

  test('an adopted edit drops the state of a step whose kind changed', () => {
    const stopped = from(built, startsGroups('unit'), { _tag: 'Interrupted', ...wave, reason: 'signal' })
    const { state } = edited(stopped, first, W.task('checks'), third)
    assert.deepEqual(state, State.interrupted(1, 'checks', 'signal', { inProgress: false, inFlight: [], failures: [] }))
  })

  test('an adopted edit keeps the state of the groups of a wave that became a sequence, but not of the wave', () => {
    const inOrder = W.sequence('checks', second.groups)
    const inFlight = [{ unit: 'checks/unit', attempt: 1 }]
    const running = from(built, startsGroups('unit'))
    assert.deepEqual(edited(running, first, inOrder, third).state, State.beforeStep(1, 'checks', inFlight))
    const stopped = from(running, { _tag: 'Interrupted', ...wave, reason: 'signal' })
    assert.deepEqual(
      edited(stopped, first, inOrder, third).state,
      State.interrupted(1, 'checks', 'signal', { inProgress: true, inFlight, failures: [] })
    )
    const failed = from(built, startsGroups('unit'), fails('checks/unit'), fails('checks'))
    const failures = State.failures(edited(failed, first, inOrder, third).state)
    assert.deepEqual(
      failures.records.map(({ unit }) => unit),
      ['checks/unit']
    )
  })

  test('apply refuses a change with an unknown tag', () => {
    for (const _tag of ['constructor', 'toString', 'Unknown']) {
      const refused = apply(queued, { _tag, at: AT } as never)
      assert.ok(E.isLeft(refused))
      assert.deepEqual([refused.left.why, refused.left.change], ['UnknownChange', _tag])
    }
  })

  test('an adopted edit drops the state of a group whose kind changed', () => {
    const other = W.wave('checks', [W.group(W.sequence('unit', [W.task('unit')])), ...second.groups.slice(1, 2)])
    const { state } = edited(from(built, startsGroups('unit', 'lint')), first, other, third)
    assert.deepEqual(state, State.beforeStep(1, 'checks', [{ unit: 'checks/lint', attempt: 1 }]))
  })

  test('after an adopted edit that removed the current step, the first open step is current, or the run is completed', () => {
    const failed = from(checked, starts(publish), { _tag: 'UnitFailed', ...publish, retryable: false, last: lost })
    assert.deepEqual(edited(failed, first, second, W.task('deploy')).state, State.beforeStep(2, 'deploy'))
    assert.deepEqual(edited(failed, first, second).state, State.completed(1, 'checks'))
  })
})

/** The simulator on an executor with a planted fault: one exact piece of text in one module is replaced. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Plugin } from 'esbuild'
import { build } from 'esbuild'
import { afterAll } from 'vitest'
import type { crashEverywhere } from '../../../src/testing/crash/crashEverywhere.js'
import type { CrashCase, CrashLaw } from '../../../src/testing/crash/CrashReport.js'
import type { EditEvidence, Intervention } from '../../../src/testing/crash/Intervention.js'
import type { CrashPoint } from '../../../src/testing/crash/CrashPoint.js'
import type { StepSpec, SubStepSpec, UnitSpec, WorkflowSpec } from './randomWorkflow.js'
import { task } from './randomWorkflow.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const folders: Array<string> = []

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** Text of a module below src, its replacement, and the law that this breaks in the run of a workflow. */
export interface Fault {
  readonly what: string
  readonly spec: WorkflowSpec
  readonly only: CrashCase
  readonly module: string
  readonly text: string
  readonly instead: string
  readonly breaks: CrashLaw
}

/** Groups that each need the earlier ones given as bits. */
const wave = (...groups: ReadonlyArray<readonly [needs: number, given?: Partial<UnitSpec>]>): StepSpec => ({
  _tag: 'Wave',
  groups: groups.map(([needs, given]) => ({ step: task(given), needs })),
  concurrency: 1,
  onFailure: 'continue',
  leaves: false
})

export const caseWith = (
  interventions: ReadonlyArray<Intervention>,
  ...schedule: ReadonlyArray<CrashPoint>
): CrashCase => ({
  schedule,
  answer: 'again',
  interventions
})

const from = (step: string, life = 2): Intervention => ({ _tag: 'FromStep', life, step })

const lost = (what: string, life = 2): Intervention => ({ _tag: 'DeleteEvidence', life, unit: what })

const edited = (what: string, answer: EditEvidence['answer'], life = 2): Intervention => ({
  _tag: 'EditEvidence',
  life,
  unit: what,
  answer
})

const pause = (what: string, life = 1): Intervention => ({ _tag: 'Pause', life, unit: what })

const cancel = (what: string, life = 1): Intervention => ({ _tag: 'Cancel', life, unit: what })

const atCall = (n: number): CrashPoint => ({ _tag: 'AtCall', n, how: 'before' })

const atUnit = (name: string, how: 'before' | 'after'): CrashPoint => ({ _tag: 'AtUnit', unit: name, n: 1, how })

const atEffect = (n: number, how: 'before' | 'after'): CrashPoint => ({ _tag: 'AtEffect', n, how })

const NOWHERE = atCall(1000)

const subSteps = (given: Partial<SubStepSpec> = {}): Partial<UnitSpec> => ({
  subSteps: [{ idempotent: true, parallel: false, fails: 'never', nested: false, ...given }]
})

const LEAVES = { leaves: 'file' } as const

const ARTIFACT = { leaves: 'artifact' } as const

const ONCE = { idempotent: false } as const

/** Faults of pauses. */
const PAUSING: ReadonlyArray<Fault> = [
  {
    what: 'starts one more step after it read a pause request',
    spec: [task(), task(), task()],
    only: caseWith([pause('s0')]),
    module: 'executor/steps/steps.ts',
    text: 'if (stopping.aborted || (await mustStop(scope))) return',
    instead: 'if (stopping.aborted || ((await mustStop(scope)) && index > 1)) return',
    breaks: 'PauseKept'
  },
  {
    what: 'starts the other groups of a wave despite a pause request',
    spec: [wave([0], [0]), task()],
    only: caseWith([pause('s0/g0')]),
    module: 'executor/steps/wave.ts',
    text: 'if (await mustStop(scope)) state.mustStop = true',
    instead: '',
    breaks: 'PauseKept'
  },
  {
    what: 'aborts the running step for a pause',
    spec: [task({ sleeps: 1 }), task()],
    only: caseWith([pause('s0')]),
    module: 'executor/steps/runTask.ts',
    text: '  start(run)\n',
    instead: `  const halt = new AbortController()
  let isOver = false
  const { runId } = scope.recorder.checkpoint()
  const watch = () => {
    if (scope.environment.requests.isAny(runId)) halt.abort()
    else if (!isOver) setImmediate(watch)
  }
  watch()
  const onEndOrHalt = async (run, settled) => {
    isOver = true
    if (!halt.signal.aborted) return onEnd(run, settled)
    await scope.requests.look()
    done(E.right({ _tag: 'Stopped' }))
  }
  start({ ...run, toRun: { ...toRun, stopping: halt.signal }, onEnd: onEndOrHalt })
`,
    breaks: 'PauseKept'
  },
  {
    what: 'pauses for a request to its predecessor',
    spec: [task(), task()],
    only: caseWith([pause('s0')], atUnit('s0', 'after')),
    module: 'domain/request/Request.ts',
    text: ' && addressee.pid === pid && addressee.since === since',
    instead: '',
    breaks: 'PauseMeant'
  },
  {
    what: 'pauses for a request that arrived after its predecessor died',
    spec: [task(), task()],
    only: caseWith([{ _tag: 'Pause', life: 1, unit: 's0', when: 'late' }], atUnit('s0', 'after')),
    module: 'domain/request/Request.ts',
    text: ' && addressee.pid === pid && addressee.since === since',
    instead: '',
    breaks: 'PauseMeant'
  },
  {
    what: 'deletes a request to itself when it starts',
    spec: [task(), task()],
    only: caseWith([{ _tag: 'PauseAtCall', life: 2, n: 1, how: 'after' }], atUnit('s0', 'before')),
    module: 'executor/run.ts',
    text: 'const ended = E.isLeft(ready) ? ready : await executePlan(',
    instead: `if (resumed) await clearPause(environment, runId)
    const ended = E.isLeft(ready) ? ready : await executePlan(`,
    breaks: 'PauseKept'
  },
  {
    what: 'deletes a newer request together with one to its predecessor',
    spec: [task(), task()],
    only: caseWith(
      [
        { _tag: 'Pause', life: 1, unit: 's0', when: 'late' },
        { _tag: 'PauseAtCall', life: 2, n: 2, how: 'before' }
      ],
      atUnit('s0', 'after')
    ),
    module: 'executor/requests/watchInbox.ts',
    text: 'await withdraw(environment, pause)',
    instead: 'await environment.requests?.clearPause(pause.runId)()',
    breaks: 'PauseKept'
  },
  {
    what: 'does not record its pause',
    spec: [task(), task()],
    only: caseWith([pause('s0')]),
    module: 'executor/storage/changes.ts',
    text: '  recorder.stage([...before, {',
    instead: "  if (reason !== 'paused') recorder.stage([...before, {",
    breaks: 'PauseKept'
  },
  {
    what: 'writes the pause pointer before it records the pause',
    spec: [task(), task()],
    only: caseWith([pause('s0')]),
    module: 'executor/executePlan.ts',
    text: '  const recorded = await recordInterrupted(',
    instead: `  if (reason === 'paused') await leavePointer(environment, recorder.checkpoint(), { commit: false })
  const recorded = await recordInterrupted(`,
    breaks: 'DurableFirst'
  },
  {
    what: 'loses the last output at a pause',
    spec: [task(), task()],
    only: caseWith([pause('s0')]),
    module: 'executor/steps/runTask.ts',
    text: '  const end = (how: AttemptResult): void => done(E.right(stageEnd(scope, toRun, how, times)))\n',
    instead: `  const asked = scope.requests.look()
  const isAsked = asked !== false && (await asked)
  const end = (how) => done(E.right(isAsked && how._tag === 'Done' ? { _tag: 'Done' } : stageEnd(scope, toRun, how, times)))
`,
    breaks: 'NothingLost'
  },
  {
    what: 'ignores a request that arrived before its end',
    spec: [task(), task()],
    only: caseWith([pause('s0')]),
    module: 'executor/requests/watchInbox.ts',
    text: 'isStopSeen: () => seen',
    instead: 'isStopSeen: () => undefined && seen',
    breaks: 'PauseKept'
  },
  {
    what: 'leaves its request in the inbox when it ends',
    spec: [task(), task()],
    only: caseWith([pause('s0')]),
    module: 'executor/run.ts',
    text: "if (scope.stopReason() !== 'fenced' && !isPending) await clearPause(environment, runId)",
    instead: '',
    breaks: 'PauseKept'
  }
]

/** Faults of cancels. */
const CANCELLING: ReadonlyArray<Fault> = [
  {
    what: 'pauses a run that was cancelled',
    spec: [task(), task()],
    only: caseWith([cancel('s0')]),
    module: 'executor/executePlan.ts',
    text: "request.cancel === undefined ? 'paused' : 'cancelled'",
    instead: "'paused'",
    breaks: 'CancelKept'
  },
  {
    what: 'withdraws a cancel of its predecessor and continues',
    spec: [task(), task()],
    only: caseWith([cancel('s0')], atUnit('s0', 'after')),
    module: 'executor/requests/recordRequests.ts',
    text: 'const recorded = isFinalRun(checkpoint)',
    instead: `await withdraw(environment, request)
  if (!isFinalRun(checkpoint)) return E.right(O.none)
  const recorded = isFinalRun(checkpoint)`,
    breaks: 'CancelKept'
  },
  {
    what: 'withdraws a cancel when a step fails',
    spec: [task({ trouble: ['permanent'] }), task()],
    only: caseWith([cancel('s0')]),
    module: 'executor/requests/recordRequests.ts',
    text: 'if (!late.some(',
    instead: `if (status(checkpoint, false) === 'failed') await withdrawAll(environment, late)
    if (!late.some(`,
    breaks: 'CancelKept'
  }
]

/** Faults of sub-steps. */
const SUB_STEPS: ReadonlyArray<Fault> = [
  {
    what: 'runs a recorded sub-step again',
    spec: [task(subSteps())],
    only: caseWith([], atEffect(2, 'before')),
    module: 'executor/subSteps/subStepLevel.ts',
    text: 'if (record !== undefined) return',
    instead: 'if (record?.assumed === true) return',
    breaks: 'NothingTwice'
  },
  {
    what: 'repeats a sub-step whose failure is recorded',
    spec: [task(subSteps({ fails: 'always' }))],
    only: caseWith([], atEffect(2, 'before')),
    module: 'executor/subSteps/subStepLevel.ts',
    text: 'if (failure !== undefined) return',
    instead: 'if (failure === null) return',
    breaks: 'NothingTwice'
  }
]

/** Cases that random schedules rarely reach. */
export const DOUBTS: ReadonlyArray<Pick<Fault, 'what' | 'spec' | 'only'>> = [
  {
    what: 'a non-idempotent sub-step is retried if it had no effect',
    spec: [task(subSteps({ ...ONCE, fails: 'once' }))],
    only: caseWith([])
  },
  {
    what: 'a sub-step confirmed as done stays done when its task is killed again',
    spec: [task(subSteps(ONCE))],
    only: { ...caseWith([], atEffect(1, 'after'), atEffect(1, 'before')), answer: 'done' }
  },
  {
    what: 'a sub-step of a task that runs again can be confirmed as done',
    spec: [task({ ...LEAVES, ...subSteps(ONCE) })],
    only: { ...caseWith([lost('s0')]), answer: 'done' }
  },
  {
    what: 'a map that runs again raises questions for sub-steps of its items',
    spec: [task(LEAVES), { _tag: 'Map', each: task(subSteps(ONCE)), items: 1, concurrency: 1 }],
    only: caseWith([lost('s0')])
  },
  {
    what: 'a task that runs again raises questions for failed sub-steps that may have acted',
    spec: [task({ ...LEAVES, ...subSteps({ ...ONCE, fails: 'always' }) })],
    only: caseWith([lost('s0')])
  },
  {
    what: 'a sub-step in flight is dropped when its task is confirmed as done',
    spec: [{ _tag: 'Sequence', steps: [task(subSteps(ONCE)), task({ trouble: ['permanent'] })] }],
    only: caseWith([from('s0/s1')], atEffect(1, 'after'))
  },
  {
    what: 'a wave whose evidence is missing runs all its groups, even if a wave in it is restarted',
    spec: [
      {
        _tag: 'Wave',
        groups: [
          { step: task(), needs: 0 },
          { step: wave([0]), needs: 0 }
        ],
        concurrency: 1,
        onFailure: 'continue',
        leaves: true
      }
    ],
    only: caseWith([{ _tag: 'RestartWave', life: 2, wave: 's0/g1' }, lost('s0')])
  },
  {
    what: 'a run is cancelled at once while its only task is suspended',
    spec: [task(subSteps({ parallel: true, waits: { wait: { _tag: 'Ask' }, how: 'beside' } }))],
    only: caseWith([pause('s0'), cancel('s0')])
  },
  {
    what: 'a group in flight at a kill restarts its attempt count if another group failed first',
    spec: [
      {
        _tag: 'Wave',
        groups: [
          { step: task({ wait: { _tag: 'Ask', timesOut: 1 } }), needs: 0 },
          { step: task({ trouble: ['transient'], sleeps: 2 }), needs: 0 }
        ],
        concurrency: 1,
        onFailure: 'halt',
        leaves: false
      }
    ],
    only: caseWith([], { _tag: 'AtUnit', unit: 's0/g1', n: 2, how: 'during' })
  },
  {
    what: 'a reopened run that is cancelled again is refused again',
    spec: [
      task(subSteps({ waits: { wait: { _tag: 'Sleep', halves: 2 }, how: 'awaited' } })),
      wave([0, subSteps({ waits: { wait: { _tag: 'Sleep', halves: 4 }, how: 'awaited' } })], [0])
    ],
    only: caseWith([cancel('s0'), cancel('s1/g1')])
  },
  {
    what: 'a pause request to an answering process whose release failed does not pause the next execution',
    spec: [task(), task({ wait: { _tag: 'Ask' } })],
    only: caseWith(
      [
        { _tag: 'PauseAtCall', life: 2, n: 4, how: 'before' },
        { _tag: 'AnswerWait', life: 2, n: 1, unit: 's1' }
      ],
      atUnit('s0', 'after'),
      { _tag: 'AtCall', n: 4, how: 'fails' }
    )
  }
]

/** Faults of the executor and the planner in overrides, evidence, waves, jobs and pauses. */
export const FAULTS: ReadonlyArray<Fault> = [
  {
    what: 'starts before it records its overrides',
    spec: [task(), task()],
    only: caseWith([from('s0')]),
    module: 'executor/steps/runTask.ts',
    text: `  const started = await recorder.commit()
  if (E.isLeft(started)) return started
  const ended = await new Promise<Ending>((resolve) => runStarted(scope, toRun, attempt, resolve))
`,
    instead: `  const saving = recorder.commit()
  const isTold = recorder.checkpoint().generation > 0
  const run = () => new Promise((resolve) => runStarted(scope, toRun, attempt, resolve))
  const ended = isTold || E.isRight(await saving) ? await run() : await saving
  const started = await saving
  if (E.isLeft(started)) return started
`,
    breaks: 'DurableFirst'
  },
  {
    what: 'keeps the records after a rewound step',
    spec: [task(), task()],
    only: caseWith([from('s0')]),
    module: 'domain/change/overrideChanges.ts',
    text: 'const named = new Set(change.units)',
    instead: 'const named = new Set(change.units.slice(0, 1))',
    breaks: 'OverrideKept'
  },
  {
    what: 'does not rewind what follows a rewound step',
    spec: [task(), task()],
    only: caseWith([from('s0')]),
    module: 'domain/plan/Overrides.ts',
    text: 'return isHeld(unit) ? whole : NOTHING',
    instead: 'return NOTHING',
    breaks: 'OverrideKept'
  },
  {
    what: 'forgets rewinds at the next resume',
    spec: [wave([0, { trouble: ['permanent'] }], [0])],
    only: caseWith([from('s0')], NOWHERE, atUnit('s0/g0', 'before')),
    module: 'executor/storage/stored.ts',
    text: '  const restored = restore(stored)\n  if (E.isRight(restored)) {',
    instead: `  const nothing = { _tag: 'Recovered', at: '2026-01-02T03:04:05.000Z', from: '', lost: '', agreedBy: '' }
  const changes = stored.changes.map((change) => (change._tag === 'Rewound' ? nothing : change))
  const restored = restore({ ...stored, changes })
  if (E.isRight(restored)) {`,
    breaks: 'OverrideKept'
  },
  {
    what: 'does not record assumed steps',
    spec: [task(), task()],
    only: caseWith([from('s1', 1)]),
    module: 'domain/plan/Overrides.ts',
    text: '    ...assumed(known, taken, at),\n',
    instead: '',
    breaks: 'OverrideKept'
  },
  {
    what: 'assumes a step done although its evidence is missing',
    spec: [task(LEAVES), task()],
    only: caseWith([lost('s0'), from('s1')]),
    module: 'domain/plan/decideTask.ts',
    text: "if (missing.size === 0 || placed.demand !== 'assumed' || placed.keptAbove?.isWhole === true) return",
    instead: 'if (missing.size >= 0) return',
    breaks: 'OverrideKept'
  },
  {
    what: 'does not collect evidence',
    spec: [task(LEAVES)],
    only: caseWith([lost('s0')]),
    module: 'executor/planRun.ts',
    text: 'await collectEvidence(unitsToCheck(checkpoint, program, given))(environment)()',
    instead: 'E.right([])',
    breaks: 'EvidenceSeen'
  },
  {
    what: 'overwrites an edited artifact without a question',
    spec: [task(ARTIFACT), task()],
    only: caseWith([edited('s0', 'again')]),
    module: 'domain/plan/decideTask.ts',
    text: 'if (changedByUser !== undefined && !again)',
    instead: 'if (changedByUser !== undefined && again)',
    breaks: 'EvidenceSeen'
  },
  {
    what: 'continues with an edited artifact without a question',
    spec: [task(ARTIFACT), task()],
    only: caseWith([edited('s0', 'keep')]),
    module: 'domain/plan/changedEvidence.ts',
    text: 'draft.open.add(last.unit)',
    instead: '',
    breaks: 'EvidenceSeen'
  },
  {
    what: 'does not record kept evidence',
    spec: [task(ARTIFACT), task()],
    only: caseWith([edited('s0', 'keep')]),
    module: 'domain/plan/Overrides.ts',
    text: '    ...kept(known, options, taken, at),\n',
    instead: '',
    breaks: 'EvidenceSeen'
  },
  {
    what: 'does not repeat a group whose needed group lost its evidence',
    spec: [wave([0, LEAVES], [1], [0])],
    only: caseWith([lost('s0/g0')]),
    module: 'domain/plan/demands.ts',
    text: 'demands.set(name, reason)',
    instead: '',
    breaks: 'EvidenceSeen'
  },
  {
    what: 'loses the items of a map that is confirmed as done',
    spec: [task(LEAVES), { _tag: 'Map', each: task(ONCE), items: 2, concurrency: 1 }],
    only: { ...caseWith([lost('s0')], atEffect(3, 'after')), answer: 'done' },
    module: 'domain/plan/decide.ts',
    text: "recorded !== undefined && answer === 'Done' && out.decisions[here]?._tag === 'Skip'",
    instead: 'false',
    breaks: 'SameEnd'
  },
  {
    what: 'rewinds the items of a map that is confirmed as done',
    spec: [task(LEAVES), { _tag: 'Map', each: task(ONCE), items: 2, concurrency: 1 }],
    only: { ...caseWith([lost('s0')], atEffect(3, 'after')), answer: 'done' },
    module: 'domain/plan/Overrides.ts',
    text: "if (kind === 'Map') return { units: below.units, keeps: true }",
    instead: "if (kind === 'Map') return isAfter ? whole : { units: below.units, keeps: true }",
    breaks: 'OverrideKept'
  },
  {
    what: 'refuses to keep the evidence of a map',
    spec: [task(LEAVES), { _tag: 'Map', each: task({ ...ONCE, ...ARTIFACT }), items: 1, concurrency: 1 }],
    only: caseWith([lost('s0'), edited('s1/i0', 'keep')]),
    module: 'domain/plan/decide.ts',
    text: "recorded !== undefined && answer === 'Keep' && mayKeep(context, unit, recorded)",
    instead: 'false',
    breaks: 'SameEnd'
  },
  {
    what: 'rewinds a whole wave for one of its groups',
    spec: [wave([0, LEAVES], [0])],
    only: caseWith([lost('s0/g0')]),
    module: 'domain/plan/Overrides.ts',
    text: '!below.keeps && (below.units.length > 0 || (isAfter && isHeld(unit)))',
    instead: 'below.units.length > 0',
    breaks: 'EvidenceSeen'
  },
  {
    what: 'does not record a completed sibling of a failed group',
    spec: [wave([0, { trouble: ['none', 'permanent'] }], [0])],
    only: caseWith([from('s0')]),
    module: 'executor/steps/runTask.ts',
    text: '      stageCompleted(',
    instead: `      if (recorder.checkpoint().state.failures?.size > 0)
        recorder.stage(taskStopped(scope, place, task, undefined, times))
      else stageCompleted(`,
    breaks: 'NothingLost'
  },
  {
    what: 'forgets that a job was submitted',
    spec: [task({ job: 'done' })],
    only: caseWith([from('s0')]),
    module: 'domain/change/jobChanges.ts',
    text: 'pending: Units.append(Units.outside(self.pending, unit), submitted),',
    instead:
      'pending: self.generation > 0 ? self.pending : Units.append(Units.outside(self.pending, unit), submitted),',
    breaks: 'NothingTwice'
  },
  {
    what: 'submits a job again under a new key',
    spec: [wave([0, LEAVES], [0, { job: 'done' }])],
    only: caseWith([lost('s0/g0')], atUnit('s0/g1', 'after')),
    module: 'domain/plan/Overrides.ts',
    text: "if (decision._tag === 'Poll' || decision._tag === 'Retry') return KEPT",
    instead: "if (decision._tag === 'Poll') return KEPT",
    breaks: 'SameKey'
  },
  {
    what: 'abandons a non-idempotent job without a question',
    spec: [task({ ...ONCE, job: 'done' })],
    only: caseWith([from('s0')], atCall(7)),
    module: 'domain/plan/decideTask.ts',
    text: "const isForced = again || (rerun?._tag === 'Forced' && pending?._tag !== 'Job')",
    instead: "const isForced = again || rerun?._tag === 'Forced'",
    breaks: 'AtMostOnce'
  },
  {
    what: 'repeats a non-idempotent step after a rewound one without a question',
    spec: [task(LEAVES), task(ONCE)],
    only: caseWith([lost('s0')]),
    module: 'domain/plan/decideTask.ts',
    text: 'record !== undefined ||\n    pending !== undefined ||\n    started?.mayHaveActed',
    instead: 'pending !== undefined ||\n    started?.mayHaveActed',
    breaks: 'AtMostOnce'
  },
  {
    what: 'rewinds everything at each resume',
    spec: [task(), task()],
    only: caseWith([lost('s0')]),
    module: 'domain/plan/PlanContext.ts',
    text: 'again: evidence.again }),',
    instead: 'again: [...evidence.again, ...[...checkpoint.completedSteps].slice(0, 1).map(({ unit }) => unit)] }),',
    breaks: 'NothingTwice'
  },
  ...PAUSING,
  ...CANCELLING,
  ...SUB_STEPS
]

const planting = ({ module, text, instead }: Fault, done: () => void): Plugin => ({
  name: 'planting',
  setup: (context) =>
    context.onLoad({ filter: /src[/\\](domain|executor)[/\\].+\.ts$/ }, ({ path }) => {
      let contents = readFileSync(path, 'utf8')
      if (path === join(root, 'src', module)) {
        assert.equal(contents.split(text).length, 2, `not once in ${module}: ${text}`)
        contents = contents.replace(text, () => instead)
        done()
      }
      return { contents, loader: 'ts' }
    })
})

/** The simulator on an executor with a fault. Fails unless the text occurs exactly once. */
export const planted = async (fault: Fault): Promise<typeof crashEverywhere> => {
  const temporary = join(root, 'test/.tmp')
  mkdirSync(temporary, { recursive: true })
  const folder = mkdtempSync(join(temporary, 'planted-'))
  folders.push(folder)
  let isPlanted = false
  const outfile = join(folder, 'crash.mjs')
  await build({
    entryPoints: [join(root, 'src/testing/crash/crashEverywhere.ts')],
    plugins: [planting(fault, () => (isPlanted = true))],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    logLevel: 'error'
  })
  assert.ok(isPlanted)
  const made = (await import(/* @vite-ignore */ pathToFileURL(outfile).href)) as {
    crashEverywhere: typeof crashEverywhere
  }
  return made.crashEverywhere
}

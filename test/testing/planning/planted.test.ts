/** The planner with one piece of its text replaced: the law that it breaks must find each fault. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, test } from 'vitest'
import type * as Laws from '../../../src/testing/planning/checkPlanLaws.js'
import { sweep } from '../../sweep.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
mkdirSync(join(root, 'test/.tmp'), { recursive: true })
const folder = mkdtempSync(join(root, 'test/.tmp/laws-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Fault {
  readonly module: string
  readonly text: string
  readonly instead: string
}

let built = 0

/** The laws on a planner with a fault. Fails unless the text occurs exactly once. */
const lawsOver = async ({ module, text, instead }: Fault): Promise<typeof Laws> => {
  // A file that was imported before is not read again.
  const outfile = join(folder, `${++built}.mjs`)
  await build({
    entryPoints: [join(root, 'src/testing/planning/checkPlanLaws.ts')],
    plugins: [
      {
        name: 'planting',
        setup: (context) =>
          context.onLoad({ filter: /src[/\\]domain[/\\].+\.ts$/ }, ({ path }) => {
            const contents = readFileSync(path, 'utf8')
            if (basename(path) !== module) return { contents, loader: 'ts' }
            assert.equal(contents.split(text).length, 2, `not once in ${module}: ${text}`)
            return { contents: contents.replace(text, () => instead), loader: 'ts' }
          })
      }
    ],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    logLevel: 'error'
  })
  return (await import(/* @vite-ignore */ pathToFileURL(outfile).href)) as typeof Laws
}

/** `seed`: for a fault that seed 1 finds late. */
const FAULTS: ReadonlyArray<readonly [what: string, law: string, fault: Fault, seed?: number]> = [
  [
    'does not run the step that it starts from',
    'PL-FORCE-01',
    {
      module: 'demands.ts',
      text: "index === start && !isTarget(index) ? 'none'",
      instead: "index === start ? 'none'"
    }
  ],
  [
    'skips a group whose needed group runs again',
    'PL-GONE-01',
    { module: 'demands.ts', text: 'demands.set(name, reason)', instead: '' }
  ],
  [
    'overwrites changed evidence without a question',
    'PL-CHANGED-01',
    {
      module: 'decideTask.ts',
      text: 'if (changedByUser !== undefined && !again)',
      instead: 'if (changedByUser !== undefined && again)'
    }
  ],
  [
    'ignores that changed evidence is kept',
    'PL-CHANGED-02',
    { module: 'Overrides.ts', text: '    ...kept(known, options, taken, at),\n', instead: '' }
  ],
  [
    'repeats only the last unit that recorded the changed evidence',
    'PL-CHANGED-03',
    {
      module: 'changedEvidence.ts',
      text: 'else add(draft.rerun, one, is)',
      instead: 'else if (one === last) add(draft.rerun, one, is)'
    }
  ],
  [
    'ignores the changed evidence of assumed steps',
    'PL-CHANGED-04',
    {
      module: 'Overrides.ts',
      text: "'evidence' in reason ? reason.evidence",
      instead: "reason._tag === 'EvidenceChanged' ? reason.evidence"
    }
  ],
  [
    'accepts any content of a path once one was accepted',
    'PL-CHANGED-05',
    {
      module: 'Overrides.ts',
      text: 'at, unit, evidence }) as const',
      instead: 'at, unit, evidence: [] }) as const'
    }
  ],
  [
    'assumes a step done although its evidence is missing',
    'PL-ASSUME-01',
    {
      module: 'decideTask.ts',
      text: 'if (lost === undefined) return\n',
      instead: 'if (lost === undefined || lost.length > 0) return\n'
    }
  ],
  [
    'repeats a recorded non-idempotent unit without a question',
    'PL-DOUBT-04',
    {
      module: 'decideTask.ts',
      text: 'record !== undefined ||',
      instead: ''
    }
  ],
  [
    'accepts the answer Done for any unit',
    'PL-DOUBT-05',
    {
      module: 'decideTask.ts',
      text: "if (answer?._tag === 'Done' && (decision._tag === 'Confirm' || isCovered))",
      instead: "if (answer?._tag === 'Done')"
    }
  ],
  [
    'offers to keep evidence that did not change',
    'PL-ANSWER-01',
    {
      module: 'Plan.ts',
      text: ": ['Again', 'Done']",
      instead: ": ['Again', 'Keep', 'Done']"
    }
  ],
  [
    'skips a unit whose output its task no longer accepts',
    'PL-FIT-01',
    {
      module: 'decideTask.ts',
      text: 'if (E.isLeft(fits))\n    out.problems.push',
      instead: 'if (!fits) out.problems.push'
    }
  ],
  [
    'restarts the attempt count after each crash',
    'PL-TRY-01',
    { module: 'decideTask.ts', text: 'attempt: hasNext ? attempts + 1 : 1', instead: 'attempt: 1' }
  ],
  [
    'does not compare the workflow with the recorded one',
    'PL-EDIT-03',
    { module: 'PlanCheck.ts', text: "if (policy === 'ignore')", instead: "if (policy !== 'strict')" }
  ],
  [
    'lets an edit make a step in doubt idempotent',
    'PL-EDIT-06',
    {
      module: 'decideTask.ts',
      text: 'return task.idempotent && !(isLeaf && !isIdempotent(before))',
      instead: 'return task.idempotent'
    }
  ],
  [
    'raises no question for a step in doubt that an edit made non-idempotent',
    'PL-EDIT-06',
    {
      module: 'decideTask.ts',
      text: 'return task.idempotent && !(isLeaf && !isIdempotent(before))',
      instead: 'return isLeaf ? isIdempotent(before) : task.idempotent'
    }
  ],
  [
    'forgets that the recorded body of a map was not idempotent',
    'PL-EDIT-06',
    {
      module: 'decideTask.ts',
      text: "before?._tag === 'Task' || before?._tag === 'Map'",
      instead: "before?._tag === 'Task'"
    }
  ],
  [
    'accepts an edit that removes the task of a sub-step in doubt',
    'PL-EDIT-06',
    {
      module: 'PlanCheck.ts',
      text: 'if (was === undefined) yield* vanishedSubStep(comparison, unit)',
      instead: 'if (was === null) yield* vanishedSubStep(comparison, unit)'
    },
    186
  ],
  [
    'accepts an edit that drops a completed sub-step that is not idempotent',
    'PL-EDIT-10',
    {
      module: 'PlanCheck.ts',
      text: 'if (!isOther && (subStep.idempotent === false',
      instead: 'if (isOther && (subStep.idempotent === false'
    }
  ],
  [
    'forgets the sub-steps of a task whose code an edit removes',
    'PL-EDIT-06',
    {
      module: 'subSteps.ts',
      text: 'if (isThere || isSubStepInDoubt(state, unit))',
      instead: 'if (isThere)'
    },
    3
  ],
  [
    'forgets the questions about a task that an edit makes another kind of step',
    'PL-EDIT-06',
    {
      module: 'PlanContext.ts',
      text: '!replaced.has(unit) || wasTask(unit)',
      instead: '!replaced.has(unit)'
    }
  ],
  [
    'runs a unit that waits for its job',
    'PL-PLAN-03',
    {
      module: 'decideTask.ts',
      text: 'if (pending !== undefined && rerun === undefined) {',
      instead: 'if (pending !== undefined && rerun?._tag === undefined && placed.stepIndex < 0) {'
    }
  ],
  [
    'submits under the key of a failed job',
    'PL-JOB-03',
    {
      module: 'jobChanges.ts',
      text: 'renewals: renewed(self.renewals, [unit])',
      instead: 'renewals: self.renewals'
    }
  ],
  [
    'lists no abandoned job',
    'PL-EDIT-07',
    { module: 'planResume.ts', text: 'if (jobs.length === 0) return jobs', instead: 'if (jobs.length > 0) return []' }
  ],
  [
    'records no abandoned job with an edit',
    'PL-EDIT-08',
    { module: 'Overrides.ts', text: 'units.length === 0 ? {} :', instead: 'units.length >= 0 ? {} :' }
  ],
  [
    'retries a unit whose kind an edit changed',
    'PL-EDIT-09',
    { module: 'PlanContext.ts', text: '!isSameKind(was, now)', instead: 'was.name !== now.name' }
  ],
  [
    'lists only the jobs that an edit abandons',
    'PL-JOB-04',
    { module: 'planResume.ts', text: '!stillPolled.has(place) ||', instead: '' }
  ],
  [
    'starts from a unit only at the top level',
    'PL-WRAP-01',
    {
      module: 'demands.ts',
      text: 'const [toFrom, toRestart] = [childOf(from), childOf(restart)]\n    const isBefore',
      instead:
        'const [toFrom, toRestart] = [parent === undefined ? childOf(from) : undefined, childOf(restart)]\n    const isBefore'
    }
  ],
  [
    'assumes no step done before a nested restarted wave',
    'PL-FORCE-01',
    {
      module: 'demands.ts',
      text: 'isFirst && toRestart !== undefined',
      instead: 'isFirst && toRestart === targets.from'
    }
  ],
  [
    'drops the items of a map in a sequence that continues with them',
    'PL-KEEP-01',
    { module: 'Overrides.ts', text: 'return { units: below.units, keeps: true }', instead: 'return below' }
  ],
  [
    'keeps the record of a composite whose parts are rewound',
    'PL-REWIND-01',
    { module: 'overrideChanges.ts', text: '!above.has(unit) && !isNamed(unit)', instead: '!isNamed(unit)' }
  ],
  [
    'changes the keys of a whole step when a part of it is rewound',
    'PL-REWIND-02',
    {
      module: 'overrideChanges.ts',
      text: 'renewals: renewed(self.renewals, named)',
      instead: "renewals: renewed(self.renewals, new Set(change.units.flatMap((unit) => unit.split('/', 1))))"
    }
  ],
  [
    'continues from an inconsistent checkpoint',
    'PL-DAMAGE-01',
    { module: 'planResume.ts', text: '...inconsistencies(checkpoint)', instead: '' }
  ],
  [
    'forgets the failed sub-steps of a task',
    'PL-SUB-01',
    {
      module: 'subSteps.ts',
      text: 'if (subStep !== undefined) add(unit, subStep, { failedAt: attempts.at(-1)?.failedAt })',
      instead: 'void [unit, attempts]'
    }
  ],
  [
    'raises a question for a sub-step in doubt whose error its completed outer sub-step caught',
    'PL-SUB-01',
    { module: 'decideSubSteps.ts', text: 'again === undefined && (isDone', instead: 'again === null && (isDone' }
  ],
  [
    'forgets a sub-step in doubt whose error its completed outer sub-step caught',
    'PL-SUB-03',
    {
      module: 'subSteps.ts',
      text: 'if (inDoubt !== undefined) for',
      instead: 'if (subStep === undefined && inDoubt) for'
    }
  ],
  [
    'forgets the open waits in the code of a task',
    'PL-SUB-01',
    { module: 'subSteps.ts', text: 'add(unit, {})', instead: 'void unit' }
  ],
  [
    'repeats a non-idempotent sub-step in flight without a question',
    'PL-DOUBT-01',
    {
      module: 'subSteps.ts',
      text: 'add(unit, NOT_IDEMPOTENT)\n  for (const { unit, _tag }',
      instead: 'add(unit, {})\n  for (const { unit, _tag }'
    }
  ],
  [
    'runs a failed sub-step again although its task repeats the attempt',
    'PL-SUB-02',
    { module: 'decideSubSteps.ts', text: 'const failure = isRepeated ?', instead: 'const failure = !isRepeated ?' }
  ],
  [
    'keeps the nested sub-steps of a sub-step that runs again',
    'PL-SUB-03',
    { module: 'subSteps.ts', text: 'if (isWithin(unit, from)) again', instead: 'if (unit === from) again' }
  ],
  [
    'starts from the first sub-step with a name instead of the one with that number',
    'PL-SUB-03',
    {
      module: 'subSteps.ts',
      text: '({ unit }) => unit === from)\n',
      instead: "({ unit }) => unit === from.replace(/#\\d+$/, ''))\n"
    }
  ],
  [
    'repeats a suspended attempt before one of its waits ends',
    'PL-PLAN-03',
    { module: 'decideSubSteps.ts', text: '?.suspended !== true) return', instead: '?.suspended !== false) return' }
  ],
  [
    'restarts an open wait',
    'PL-TRY-01',
    { module: 'decideTask.ts', text: "pending?._tag === (task.wait ?? 'Job')", instead: "pending?._tag === 'Job'" }
  ],
  [
    'does not report a recorded answer',
    'PL-WAIT-01',
    { module: 'decideTask.ts', text: 'Units.has(answers, unit)', instead: "Units.has(answers, '')" }
  ],
  [
    'keeps the answer of a wait that is rewound',
    'PL-REWIND-01',
    {
      module: 'overrideChanges.ts',
      text: 'answers: Units.filter(self.answers, stays)',
      instead: 'answers: self.answers'
    }
  ],
  [
    'keeps the answer of a completed wait',
    'PL-WAIT-02',
    { module: 'transitionParts.ts', text: 'answers: Units.outside(answers, unit)', instead: 'answers' }
  ]
]

describe('planted faults of the planner', () => {
  // A failing law is enough: shrinking takes a hundred times as long as finding.
  beforeAll(() => fc.configureGlobal({ endOnFailure: true }))
  afterAll(() => fc.resetConfigureGlobal())

  for (const [what, id, fault, seed = 1] of FAULTS) {
    test(`a law fails for a planner that ${what}`, async () => {
      const { planLaws } = await lawsOver(fault)
      const law = planLaws.find((one) => one.id === id) ?? assert.fail(id)
      const { holds, why = '' } = law.check({}, { numRuns: 1500, seed })
      assert.equal(holds, false)
      assert.match(why, /^.*\S \S/, `the reason is no sentence: ${why}`)
      assert.doesNotMatch(why, /is not defined|Cannot read/, 'the fault throws')
    })
  }

  test('the laws hold for a planner without a fault', async () => {
    const { planLaws } = await lawsOver({ module: 'none', text: '', instead: '' })
    for (const [, id] of FAULTS) {
      const result = planLaws.find((one) => one.id === id)?.check({}, { numRuns: sweep ? 300 : 8, seed: 1 })
      assert.equal(result?.holds, true, result?.why)
    }
  })
})

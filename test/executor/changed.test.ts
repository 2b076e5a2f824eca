/** Changed evidence raises a question and is never overwritten silently. */
import assert from 'node:assert/strict'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import type { CheckpointStorage, ResumeOptions } from '../../src/index.js'
import type * as Change from '../../src/domain/change/Change.js'
import type * as Plan from '../../src/domain/plan/Plan.js'
import * as Program from '../../src/executor/program/Program.js'
import { hashPlan, planResume, collectEvidence, resume, run, RunError, runOrResume } from '../../src/index.js'
import { planRun, workflow } from '../../src/promise/index.js'
import { never } from '../../src/testing/crash/process/Life.js'
import type { Life } from '../../src/testing/crash/process/Life.js'
import type { TreeData } from '../../src/testing/memoryTree.js'
import type { World } from './fixtures.js'
import { ended, historyOf, newLife, newProcess, newWorld, patiently, refused, right, stored } from './fixtures.js'
import { nameOf } from '../../src/domain/workflow/Unit.js'

const doing = (world: World, name: string, act: (tree: TreeData) => void = () => undefined) =>
  TE.fromIO(() => {
    world.log.push(name)
    act(world.tree)
  })

const artifact = (path: string) => ({ _tag: 'Artifact', path }) as const

const set = (path: string, text: string) => (tree: TreeData) => void tree.files.set(path, text)

/** Generates a file, checks it, and publishes; the check fails until the file is fixed. */
const three = (world: World, options: { readonly generate?: object } = {}) =>
  pipe(
    Program.start('three'),
    Program.step('generate', {
      evidence: [artifact('gen.js')],
      ...(options.generate as object),
      run: () => doing(world, 'generate', set('gen.js', 'broken'))
    }),
    Program.step('check', {
      run: () =>
        pipe(
          doing(world, 'check'),
          TE.chain(() => (world.tree.files.get('gen.js') === 'fixed' ? TE.right('ok') : TE.left(new Error('broken'))))
        )
    }),
    Program.step('publish', { run: () => doing(world, 'publish') })
  )

/** A run that failed in `check`, with its file fixed by hand. */
const fixed = async (): Promise<World> => {
  const world = newWorld()
  ended(await newProcess(world).perform(run(three(world), 'r', {})), 'Failed')
  set('gen.js', 'fixed')(world.tree)
  world.log.length = 0
  return world
}

const go = (world: World, options: ResumeOptions = {}, program: Program.Program<unknown> = three(world)) =>
  newProcess(world).perform(resume(program, 'r', options))

const confirm = (answers: Readonly<Record<string, Plan.Answer['_tag']>>): ResumeOptions => ({
  confirm: new Map(Object.entries(answers).map(([unit, _tag]) => [unit, { _tag }]))
})

/** The units with a question. */
const asked = async (world: World, options: ResumeOptions = {}, program: Program.Program<unknown> = three(world)) =>
  refused(await go(world, options, program), 'Unconfirmed').questions.map(({ unit, reason }) => [unit, reason._tag])

describe('an artifact edited by hand', () => {
  test('an edited artifact raises a question even if changes are ignored; until it is answered nothing runs and nothing is written', async () => {
    const world = await fixed()
    const { revision } = await stored(newProcess(world).storage)
    for (const options of [{}, { changes: 'ignore' }] as const) {
      const { questions, ...error } = refused(await go(world, options), 'Unconfirmed')
      assert.deepEqual(
        questions.map(({ unit, reason }) => [unit, reason._tag]),
        [['generate', 'EvidenceChanged']]
      )
      const text = RunError.describe({ ...error, questions })
      assert.match(text, /"generate" completed, but its evidence changed since: gen\.js/)
      for (const answer of ['Again', 'Keep', 'Done'])
        assert.ok(text.includes(`confirm: new Map([["generate", { _tag: '${answer}' }]])`), text)
      assert.match(text, /\n {2}For a file that may change at any time, .*\(File evidence\)$/)
    }
    assert.deepEqual([world.log, world.tree.files.get('gen.js')], [[], 'fixed'])
    assert.equal((await stored(newProcess(world).storage)).revision, revision)
  })

  test.each<readonly [answer: Plan.Answer['_tag'], outcome: 'Completed' | 'Failed', ran: ReadonlyArray<string>]>([
    ['Keep', 'Completed', ['check', 'publish']],
    ['Done', 'Completed', ['check', 'publish']],
    ['Again', 'Failed', ['generate', 'check']]
  ])(
    'the answer %s to an edited artifact is obeyed, and the next resume asks nothing',
    async (answer, outcome, ran) => {
      const world = await fixed()
      ended(await go(world, confirm({ generate: answer })), outcome)
      assert.deepEqual(world.log, ran)
      if (outcome === 'Failed') return
      const { completedSteps } = await stored(newProcess(world).storage)
      const [generate] = completedSteps
      assert.equal(generate?.evidence[0]?._tag === 'Artifact' && generate.evidence[0].size, 'fixed'.length)
      world.log.length = 0
      ended(await go(world), 'Completed')
      assert.deepEqual(world.log, [])
    }
  )

  test.each([
    ['Keep', 'nothing', []],
    ['Done', 'only the step after it', ['pack']],
    ['Again', 'its step and the step after it', ['generate', 'pack']]
  ] as const)(
    'an edited artifact of a completed run raises a question, and the answer %s runs %s',
    async (answer, _, ran) => {
      const world = newWorld()
      const program = pipe(
        Program.start('two'),
        Program.step('generate', { evidence: [artifact('a')], run: () => doing(world, 'generate', set('a', 'a')) }),
        Program.step('pack', { run: () => doing(world, 'pack') })
      )
      ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
      set('a', 'by hand')(world.tree)
      world.log.length = 0
      assert.deepEqual(await asked(world, {}, program), [['generate', 'EvidenceChanged']])
      ended(await go(world, confirm({ generate: answer }), program), 'Completed')
      ended(await go(world, {}, program), 'Completed')
      assert.deepEqual(world.log, ran)
    }
  )

  test('a step whose artifact was deleted during a wait runs again after the wait', async () => {
    const world = newWorld()
    let time = 0
    const clock = { now: () => time, sleep: () => () => Promise.resolve() }
    const waiting = pipe(
      Program.start('waiting'),
      Program.step('generate', {
        evidence: [artifact('gen.js')],
        run: () => doing(world, 'generate', set('gen.js', '1'))
      }),
      Program.wave('both', {
        nap: { sleep: { millis: 1_000 } },
        harm: {
          run: () =>
            doing(world, 'harm', (tree) => {
              if (time === 0) tree.files.delete('gen.js')
              time += 1_000
            })
        }
      })
    )
    const environment = { ...newProcess(world).environment, clock }
    ended(await run(waiting, 'r', {})(environment)(), 'Completed')
    assert.deepEqual(world.log, ['generate', 'harm', 'generate', 'harm'])
  })

  test('the option onChanged applies to every plan of a call, also after a wait', async () => {
    const world = newWorld()
    let time = Date.parse('2026-01-02T03:04:05.000Z')
    // The file is edited during the wait.
    const clock = {
      now: () => time,
      sleep: () => () => {
        set('gen.js', 'by hand')(world.tree)
        time += 1_000
        return Promise.resolve()
      }
    }
    const waiting = pipe(
      Program.start('waiting'),
      Program.step('generate', {
        evidence: [artifact('gen.js')],
        run: () => doing(world, 'generate', set('gen.js', '1'))
      }),
      Program.sleep('nap', { millis: 1_000 }),
      Program.step('publish', { run: () => doing(world, 'publish') })
    )
    const environment = { ...newProcess(world).environment, clock }
    ended(await run(waiting, 'r', {})(environment)(), 'Pending')
    const outcome = await resume(waiting, 'r', { onChanged: 'keep', wait: true })(environment)()
    ended(outcome, 'Completed')
  })

  test('fromStep keeps an edited artifact of an earlier step and overwrites the artifact of the step that it names', async () => {
    const world = await fixed()
    ended(await go(world, { fromStep: 'check' }), 'Completed')
    assert.deepEqual(world.log, ['check', 'publish'])
    ended(await go(world), 'Completed')
    assert.deepEqual(world.log, ['check', 'publish'])
    const other = await fixed()
    ended(await go(other, { fromStep: 'generate' }), 'Failed')
    assert.deepEqual(other.log, ['generate', 'check'])
  })

  test('the hash of a plan covers the content of an edited artifact', async () => {
    const world = await fixed()
    const checkpoint = await stored(newProcess(world).storage)
    const hashes = []
    for (const text of ['fixed', 'Fixed']) {
      set('gen.js', text)(world.tree)
      const evidence = right(await collectEvidence(checkpoint)(newProcess(world).environment)())
      for (const options of [{}, { confirm: new Map([['generate', { _tag: 'Keep' as const }]]) }])
        hashes.push(hashPlan(right(planResume(checkpoint, three(world), { ...options, evidence }))))
    }
    assert.equal(new Set(hashes).size, 4)
    const planHash = hashes[1] ?? ''
    refused(await go(world, { ...confirm({ generate: 'Keep' }), planHash }), 'PlanChanged')
    assert.deepEqual(world.log, [])
  })

  test('the answer Keep is refused for a unit whose evidence is unchanged', async () => {
    const world = await fixed()
    const { problems } = refused(await go(world, confirm({ generate: 'Keep', check: 'Keep' })), 'PlanError')
    assert.deepEqual(problems, [{ _tag: 'NothingToConfirm', unit: 'check', keep: true }])
    ended(await go(world, confirm({ generate: 'Keep' })), 'Completed')
    ended(await go(world, confirm({ generate: 'Keep' })), 'Completed')
    assert.deepEqual(world.log, ['check', 'publish'])
  })

  test('an edited artifact raises a question even if an earlier step runs again for another reason', async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('two'),
      Program.step('fetch', { evidence: [artifact('in')], run: () => doing(world, 'fetch', set('in', 'in')) }),
      Program.step('generate', { evidence: [artifact('out')], run: () => doing(world, 'generate', set('out', 'out')) }),
      Program.step('pack', { run: () => doing(world, 'pack') })
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    world.tree.files.delete('in')
    set('out', 'by hand')(world.tree)
    world.log.length = 0
    assert.deepEqual(await asked(world, {}, program), [['generate', 'EvidenceChanged']])
    assert.deepEqual(world.log, [])
    ended(await go(world, confirm({ generate: 'Keep' }), program), 'Completed')
    assert.deepEqual([world.log, world.tree.files.get('out')], [['fetch', 'pack'], 'by hand'])
    world.log.length = 0
    ended(await go(world, {}, program), 'Completed')
    assert.deepEqual(world.log, [])
  })

  test('changed and missing artifacts of one unit raise one question that names both', async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('one'),
      Program.step('make', {
        evidence: [artifact('a'), artifact('b')],
        run: () => doing(world, 'make', ({ files }) => files.set('a', 'a').set('b', 'b'))
      })
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    world.tree.files.delete('a')
    set('b', 'by hand')(world.tree)
    const { questions } = refused(await go(world, {}, program), 'Unconfirmed')
    assert.deepEqual(
      questions.map(
        ({ reason }) => reason._tag === 'EvidenceChanged' && reason.missing?.map((one) => 'path' in one && one.path)
      ),
      [['a']]
    )
    ended(await go(world, confirm({ make: 'Keep' }), program), 'Completed')
    ended(await go(world, {}, program), 'Completed')
    assert.deepEqual(world.log, ['make'])
  })
})

describe('a change at a path that several units recorded', () => {
  const turns = (world: World, idempotent = true) =>
    pipe(
      Program.start('turns'),
      Program.step('make', {
        idempotent,
        evidence: [artifact('v')],
        run: () => doing(world, 'make', set('v', '1'))
      }),
      Program.step('other', { run: () => doing(world, 'other') }),
      Program.wave(
        'wave',
        {
          sign: { evidence: [artifact('v')], run: () => doing(world, 'sign', set('v', '2')) },
          beside: { run: () => doing(world, 'beside') }
        },
        { concurrency: 1 }
      ),
      Program.step('last', { run: () => doing(world, 'last') })
    )
  const edited = async (idempotent = true): Promise<World> => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(turns(world, idempotent), 'r', {})), 'Completed')
    set('v', 'by hand')(world.tree)
    world.log.length = 0
    return world
  }

  test('a change at a path that several units recorded raises one question, at the last of them', async () => {
    const world = await edited()
    assert.deepEqual(await asked(world, {}, turns(world)), [['wave/sign', 'EvidenceChanged']])
  })

  test('the answer "again" about a path that several units recorded runs all of them and all later units', async () => {
    const world = await edited()
    ended(await go(world, confirm({ 'wave/sign': 'Again' }), turns(world)), 'Completed')
    assert.deepEqual(world.log, ['make', 'other', 'sign', 'beside', 'last'])
  })

  test('the answer "keep" about a path that several units recorded runs none, and the next resume asks nothing', async () => {
    const world = await edited()
    ended(await go(world, confirm({ 'wave/sign': 'Keep' }), turns(world)), 'Completed')
    ended(await go(world, {}, turns(world)), 'Completed')
    assert.deepEqual(world.log, [])
  })

  test('the answer "again" about a path that several units recorded raises a question about each of them that is not idempotent', async () => {
    const world = await edited(false)
    const again = confirm({ 'wave/sign': 'Again' })
    assert.deepEqual(await asked(world, again, turns(world, false)), [['make', 'EvidenceChanged']])
    const both = confirm({ 'wave/sign': 'Again', make: 'Done' })
    ended(await go(world, both, turns(world, false)), 'Completed')
    assert.deepEqual(world.log, ['other', 'sign', 'beside', 'last'])
  })
})

describe('a change made by a failed group', () => {
  /** `make` writes a file in the first step; two groups follow, of which `sign` fails on request. */
  const groups = (world: World, sign: object, fails: () => boolean) =>
    pipe(
      Program.start('groups'),
      Program.step('make', { evidence: [artifact('v')], run: () => doing(world, 'make', set('v', '1')) }),
      Program.wave(
        'wave',
        {
          sign: {
            ...sign,
            run: () =>
              pipe(
                doing(world, 'sign', set('v', 'half')),
                TE.chain(() => (fails() ? TE.left(new Error('no key')) : TE.right(undefined)))
              )
          }
        },
        { concurrency: 1 }
      )
    )

  test('a change raises no question if a failed group had declared its path in advance, and the step that recorded the path stays completed', async () => {
    const world = newWorld()
    let fails = true
    const program = groups(world, { evidence: [artifact('v')] }, () => fails)
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
    fails = false
    ended(await go(world, {}, program), 'Completed')
    assert.deepEqual(world.log, ['make', 'sign', 'sign'])
  })

  test('a change that a failed group made raises a question if that group did not declare the path in advance', async () => {
    for (const sign of [{}, { evidence: () => [artifact('v')] }, { expect: { files: ['v'] } }]) {
      const world = newWorld()
      const program = groups(world, sign, () => true)
      ended(await newProcess(world).perform(run(program, 'r', {})), 'Failed')
      assert.deepEqual(await asked(world, {}, program), [['make', 'EvidenceChanged']])
    }
  })

  test('an edited artifact raises a question if one group that declared it failed before another group recorded it', async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('wave'),
      Program.wave(
        'wave',
        {
          sign: {
            evidence: [artifact('v')],
            run: () =>
              pipe(
                doing(world, 'sign'),
                TE.chain(() => TE.left(new Error('no')))
              )
          },
          make: {
            evidence: [artifact('v')],
            run: () =>
              pipe(
                TE.fromTask(() => new Promise<void>((resolve) => setTimeout(resolve, 5))),
                TE.chain(() => doing(world, 'make', set('v', '1')))
              )
          }
        },
        { concurrency: 1, onFailure: 'continue' }
      )
    )
    const process = newProcess(world, { clock: { ...newProcess().clock, now: () => Date.now() } })
    ended(await process.perform(run(program, 'r', {})), 'Failed')
    set('v', 'by hand')(world.tree)
    assert.deepEqual(await asked(world, {}, program), [['wave/make', 'EvidenceChanged']])
  })
})

describe('a commit', () => {
  const committing = (world: World) =>
    pipe(
      Program.start('commits'),
      Program.wave(
        'work',
        {
          one: { expect: { commits: true }, run: () => doing(world, 'one', commit('c1')) },
          two: { expect: { commits: true }, run: () => doing(world, 'two', commit('c2')) }
        },
        { concurrency: 1 }
      ),
      Program.step('last', { run: () => doing(world, 'last') })
    )
  const commit = (hash: string) => (tree: TreeData) => void (tree.commits = [...tree.commits, hash])
  const rewritten = async (otherCommits: ReadonlyArray<string>): Promise<World> => {
    const world = newWorld()
    ended(await newProcess(world).perform(run(committing(world), 'r', {})), 'Completed')
    world.tree.commits = ['c1', 'c3']
    world.tree.otherCommits = otherCommits
    world.log.length = 0
    return world
  }

  test('a commit that the repository lost is missing: only its group and all later units run again', async () => {
    const world = await rewritten([])
    const process = newProcess(world)
    ended(await process.perform(resume(committing(world), 'r')), 'Completed')
    assert.deepEqual(world.log, ['two', 'last'])
    assert.deepEqual(
      process.events.flatMap((event) =>
        event._tag === 'StepsRunAgain'
          ? event.units.map(({ unit, reason }) => [nameOf(unit), reason._tag === 'EvidenceMissing' && reason.missing])
          : []
      ),
      [
        ['two', [{ _tag: 'Commit', hash: 'c2' }]],
        ['last', false]
      ]
    )
  })

  test('a commit that HEAD no longer contains raises a question; keeping it records HEAD, and the next resume asks nothing', async () => {
    const world = await rewritten(['c2'])
    assert.deepEqual(await asked(world, {}, committing(world)), [['work/two', 'EvidenceChanged']])
    ended(await go(world, confirm({ 'work/two': 'Keep' }), committing(world)), 'Completed')
    ended(await go(world, {}, committing(world)), 'Completed')
    assert.deepEqual(world.log, [])
    const records = [...(await stored(newProcess(world).storage)).completedSteps]
    assert.deepEqual(
      records.map(({ evidence }) => evidence.map((one) => one._tag === 'Commit' && one.hash)).slice(0, 2),
      [['c1'], ['c3']]
    )
  })

  test('if two groups recorded a commit that HEAD no longer contains, one question is raised, and Keep applies to both', async () => {
    const world = newWorld()
    const named = { evidence: [{ _tag: 'Commit', hash: 'c1' }] } as const
    const program = pipe(
      Program.start('shared'),
      Program.wave('work', {
        one: { ...named, run: () => doing(world, 'one', (tree) => void (tree.commits = ['c1'])) },
        two: { ...named, run: () => doing(world, 'two', (tree) => void (tree.commits = ['c1'])) }
      })
    )
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    world.tree.commits = ['c9']
    world.tree.otherCommits = ['c1']
    const [[last] = []] = await asked(world, {}, program)
    ended(await go(world, confirm({ [last as string]: 'Keep' }), program), 'Completed')
    ended(await go(world, {}, program), 'Completed')
    assert.equal(world.log.length, 2)
  })
})

describe('a crash', () => {
  /** A store whose process dies right before or after a change of this kind is durable. */
  const dyingAt =
    (life: Life, tag: Change.Change['_tag'], when: 'before' | 'after') =>
    (storage: CheckpointStorage): CheckpointStorage => ({
      ...storage,
      save: (claim, revisions) => async () => {
        const isIt = revisions.some(({ change }) => change._tag === tag)
        if (isIt && when === 'before') life.kill()
        if (!life.alive()) return await never()
        const saved = await storage.save(claim, revisions)()
        if (isIt) life.kill()
        return life.alive() ? saved : await never()
      }
    })

  test.each([
    ['Keep', 'Confirmed'],
    ['Done', 'Confirmed'],
    ['Again', 'Rewound']
  ] as const)(
    'a crash before the answer %s is recorded repeats the question; a crash afterwards does not',
    async (answer, tag) => {
      for (const when of ['before', 'after'] as const) {
        const world = await fixed()
        const life = newLife()
        const process = newProcess(world, { around: dyingAt(life, tag, when) })
        const answers = confirm({ generate: answer })
        await patiently(
          process.clock,
          Promise.race([life.killed, resume(three(world), 'r', answers)(process.environment)()])
        )
        assert.ok(!life.alive())
        if (when === 'before') assert.deepEqual(await asked(world), [['generate', 'EvidenceChanged']])
        else {
          assert.ok((await historyOf(newProcess(world).storage)).includes(tag))
          ended(await go(world), answer === 'Again' ? 'Failed' : 'Completed')
        }
      }
    }
  )
})

describe('completed steps that run again', () => {
  test('completed steps that run again are reported with their reasons before the first save', async () => {
    const world = newWorld()
    const program = pipe(
      Program.start('two'),
      Program.step('make', { evidence: [artifact('a')], run: () => doing(world, 'make', set('a', 'a')) }),
      Program.wave('wave', { one: { run: () => doing(world, 'one') } }),
      Program.step('fails', { run: () => TE.left(new Error('no')) })
    )
    const first = newProcess(world)
    ended(await first.perform(runOrResume(program, 'r', {})), 'Failed')
    assert.ok(first.events.every(({ _tag }) => _tag !== 'StepsRunAgain'))
    world.tree.files.clear()
    const second = newProcess(world)
    ended(await second.perform(runOrResume(program, 'r', {})), 'Failed')
    const tags = second.events.map(({ _tag }) => _tag)
    assert.deepEqual(tags.slice(0, 3), ['RunPlanned', 'StepsRunAgain', 'CheckpointSaved'])
    const [told] = second.events.flatMap((event) => (event._tag === 'StepsRunAgain' ? [event] : []))
    assert.deepEqual(
      told?.units.map(({ unit, reason }) => [nameOf(unit), reason._tag]),
      [
        ['make', 'EvidenceMissing'],
        ['one', 'EarlierStepRunsAgain']
      ]
    )
  })
})

describe('a plan', () => {
  test("planRun of dogear/promise raises a question about changed evidence, unless onChanged is 'keep'", async () => {
    const world = newWorld()
    const program = workflow('p').step('make', {
      evidence: [artifact('a')],
      run: () => void world.tree.files.set('a', '1')
    })
    const { environment } = newProcess(world)
    const options = { id: 'r', storage: environment.storage, environment }
    ended(await newProcess(world).perform(run(program, 'r', {})), 'Completed')
    set('a', '2')(world.tree)
    const tags = async (more: Partial<ResumeOptions> = {}) =>
      (await planRun(program, { ...options, ...more })).plan.decisions.map(({ _tag, reason }) => [_tag, reason._tag])
    assert.deepEqual(await tags(), [['Confirm', 'EvidenceChanged']])
    assert.deepEqual(await tags({ onChanged: 'keep' }), [['Skip', 'EvidenceChanged']])
    assert.deepEqual(await tags(confirm({ make: 'Again' })), [['Run', 'EvidenceChanged']])
  })
})

test('a map that runs again as a whole raises a question if an artifact of one item was edited', async () => {
  const world = newWorld()
  const program = pipe(
    Program.start('pages'),
    Program.step('list', { evidence: [artifact('list')], run: () => doing(world, 'list', set('list', 'a b')) }),
    Program.map(
      'render',
      { forEach: () => ['a', 'b'], key: (_, index) => 'ab'[index] ?? '' },
      {
        evidence: (_: unknown, { itemKey }: { readonly itemKey: string }) => [artifact(itemKey)],
        run: ({ itemKey }) => doing(world, itemKey, set(itemKey, itemKey))
      }
    )
  )
  ended(await newProcess(world).perform(run(program as never, 'r', {})), 'Completed')
  world.tree.files.delete('list')
  set('b', 'by hand')(world.tree)
  world.log.length = 0
  assert.deepEqual(await asked(world, {}, program as never), [['render', 'EvidenceChanged']])
  ended(await go(world, confirm({ render: 'Again' }), program as never), 'Completed')
  assert.deepEqual(world.log, ['list', 'a', 'b'])
  set('b', 'by hand')(world.tree)
  assert.deepEqual(await asked(world, {}, program as never), [['render/b', 'EvidenceChanged']])
  ended(await go(world, confirm({ 'render/b': 'Keep' }), program as never), 'Completed')
  assert.deepEqual(world.log, ['list', 'a', 'b'])
})

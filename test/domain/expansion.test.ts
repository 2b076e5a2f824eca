import assert from 'node:assert/strict'
import * as E from 'fp-ts/lib/Either.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { describe, test } from 'vitest'
import { expand, expandDefinition, itemOf, waveOf } from '../../src/domain/Expansion.js'
import type { Group, Step } from '../../src/domain/Workflow.js'
import * as W from '../../src/domain/Workflow.js'
import type { WorkflowIdentity } from '../../src/domain/WorkflowIdentity.js'
import * as Identity from '../../src/domain/WorkflowIdentity.js'
import { fromSteps, task } from '../../src/executor/Program.js'
import { mapOf } from '../../src/executor/ProgramStep.js'

const items = [
  { key: 'a', value: 1 },
  { key: 'b', value: [2] }
]

const each = W.task('convert', {
  definition: { shell: 'convert' },
  idempotent: false,
  accepts: () => E.left({ path: '$', expected: 'nothing' })
})

const steps = [W.task('list'), W.mapOf('pictures', each, 'All pictures')]

/** What is on record of a workflow whose second step is known to be of these items. */
const known = (of: ReadonlyArray<Step>): WorkflowIdentity => {
  const identity = Identity.of({ name: 'w', steps: of })
  const [first, map] = identity.steps
  if (first === undefined || map?.kind !== 'map') return assert.fail()
  return { ...identity, steps: [first, { ...map, kind: 'expanded', items }] }
}

const groupsIn = (step: Step | undefined): ReadonlyArray<Group> =>
  step?._tag === 'Wave' ? step.groups : assert.fail('it is no wave')

describe('a map whose items are on record', () => {
  test('is a wave with a group for each, of all that it does for each', () => {
    const [list, wave] = expand(steps, known(steps))
    assert.equal(list, steps[0])
    assert.deepEqual(wave, waveOf(steps[1] as W.MapWave, items) satisfies W.Wave)
    assert.deepEqual(
      groupsIn(wave as Step).map(({ name, summary, fingerprint, idempotent, needs }) => ({
        name,
        summary,
        fingerprint,
        idempotent,
        needs
      })),
      ['a', 'b'].map((name) => ({
        name,
        summary: name,
        fingerprint: each.fingerprint,
        idempotent: false,
        needs: []
      }))
    )
  })

  test('is the same to a plan, and nothing of what runs it is in that', () => {
    assert.deepEqual(expandDefinition(steps, known(steps)), expand(steps, known(steps)))
    const program = fromSteps('w', [
      task('list', { run: () => TE.right(0) }),
      mapOf('pictures', task('convert', { run: () => TE.right(0), summary: 'Converts one' }), {
        forEach: () => E.right([]),
        keyOf: () => E.right('')
      } as never)
    ])
    const ran = groupsIn(expand(program.steps, known(program.steps))[1])
    const planned = groupsIn(expandDefinition(program.steps, known(program.steps))[1])
    const fields = [
      '_tag',
      'name',
      'summary',
      'fingerprint',
      'idempotent',
      'captures',
      'numbered',
      'accepts',
      'leaves',
      'needs'
    ]
    assert.deepEqual(
      planned.map((group) => Object.keys(group)),
      items.map(() => fields)
    )
    for (const [index, group] of planned.entries())
      for (const field of fields) assert.equal(Reflect.get(group, field), Reflect.get(ran[index] ?? {}, field), field)
    assert.equal(ran[0]?.summary, 'Converts one')
  })

  test('is a map again where nothing is on record of it', () => {
    assert.equal(expand(steps, Identity.of({ name: 'w', steps })), steps)
    assert.equal(expandDefinition(steps, Identity.of({ name: 'w', steps })), steps)
  })

  test('tells the item of a group, and has a group for nothing else', () => {
    const map = known(steps).steps[1]
    assert.ok(map !== undefined)
    assert.deepEqual(itemOf(map, 'b'), items[1])
    assert.equal(itemOf(map, 'c'), undefined)
    assert.deepEqual(Identity.groupOf(map, 'b'), Identity.groupsOf(map)[1])
    assert.equal(Identity.groupOf(map, 'c'), undefined)
    assert.equal(itemOf(known(steps).steps[0], 'a'), undefined)
  })
})

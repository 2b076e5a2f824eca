/** Outputs that are too large are refused by name, and what was saved before still loads. */
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { inWorld, kept, perform, reportOf, sweep } from './world.js'

const MEBIBYTE = 1_048_576

/** The limit of a checkpoint in mebibytes; the default in a sweep. */
const LIMIT = sweep ? 64 : 16

test('outputs of 1 MiB are stored until the checkpoint is full; the error then names the largest, and all acknowledged outputs load', async () => {
  await inWorld(`more than ${LIMIT} mebibytes`, async (world) => {
    const store = { limits: { checkpointBytes: LIMIT * MEBIBYTE } }
    const order = { program: 'heavy', size: { steps: Math.round(LIMIT * 1.5), bytes: MEBIBYTE }, store } as const
    const first = reportOf(await perform(world, { ...order, op: 'run', life: 1 }))
    const acked = world.acks().flatMap(({ completed }) => completed)
    const found = await kept(world)
    for (const unit of acked) assert.ok(found?.completed.has(unit), `${unit} was acknowledged and is lost`)
    console.log(`heavy: ${first.outcome}, ${acked.length} outputs of 1 MiB were kept; ${first.told ?? ''}`)
    if (first.outcome === 'Completed') return
    assert.equal(first.error?._tag, 'TooLarge')
    assert.ok(acked.length >= (50 / 64) * LIMIT, `only ${acked.length} MiB fit into ${LIMIT}`)
    const biggest = first.error?.['biggest'] as ReadonlyArray<{ readonly path: string; readonly bytes: number }>
    assert.ok(biggest.length > 0)
    for (const { path, bytes } of biggest) {
      assert.match(path, /output/)
      assert.ok(bytes >= MEBIBYTE)
    }
    const again = reportOf(await perform(world, { ...order, op: 'resume', life: 2 }))
    assert.ok(again.outcome === 'Completed' || again.error?._tag === 'TooLarge', JSON.stringify(again))
    const after = await kept(world)
    for (const unit of acked) assert.ok(after?.completed.has(unit), `${unit} was acknowledged and is lost`)
    for (const { unit, life } of world.effects()) assert.ok(life === 1 || !acked.includes(unit), `${unit} ran again`)
  })
})

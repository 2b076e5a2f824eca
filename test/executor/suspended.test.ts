/** Suspended tasks cost no memory: their code is collected while the run continues. */
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { memoryStorage } from 'dogear/memory'
import { runOutcome, workflow } from 'dogear/promise'
import { test } from 'vitest'
import { sweep } from '../sweep.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const TASKS = sweep ? 10_000 : 2_000

test(
  `the memory of ${TASKS} suspended tasks is freed while another task runs`,
  async () => {
    const held: Array<WeakRef<object>> = []
    let suspended = 0
    let alive = NaN
    const many = workflow('many').wave('all', {
      each: {
        steps: (start) =>
          start.map(
            'each',
            { forEach: () => Array.from({ length: TASKS }, (_, index) => index) },
            async ({ sleep, item }) => {
              const frame = { item }
              held.push(new WeakRef(frame))
              await sleep('nap', { millis: 3_600_000 })
              return frame.item
            }
          )
      },
      look: async () => {
        while (suspended < TASKS) await setImmediate()
        for (let turn = 0; turn < 3; turn++) await setImmediate()
        collect()
        alive = held.filter((one) => one.deref() !== undefined).length
      }
    })
    const events = {
      report: ({ _tag }: { readonly _tag: string }) => void (suspended += _tag === 'StepSuspended' ? 1 : 0)
    }
    const resting = await runOutcome(many, { id: 'many-1', storage: memoryStorage(), environment: { events } })
    assert.equal(resting._tag, 'Pending')
    assert.equal(alive, 0)
  },
  sweep ? 3_600_000 : 60_000
)

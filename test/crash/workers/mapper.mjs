// One process that works on a map of many items: starts the run, or resumes it.
//
// effects.log has each item that was done, acks.log each that was recorded; so after many kills the logs show what was done
// and what was recorded.
import { openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { Unit } from 'dogear'
import { jsonFileStorage } from 'dogear/json-file'
import { runOrResume, workflow } from 'dogear/promise'

const { state, folder, items } = JSON.parse(process.argv[2])
const [effects, acks] = ['effects.log', 'acks.log'].map((name) => openSync(join(folder, name), 'a'))

const noting = (storage) => ({
  ...storage,
  save: (claim, revisions) => async () => {
    const saved = await storage.save(claim, revisions)()
    if (E.isRight(saved))
      for (const { change } of revisions)
        if (change._tag === 'UnitCompleted') writeSync(acks, `${Unit.names(change.unit).at(-1)}\n`)
    return saved
  }
})

const program = workflow('many')
  .step('list', () => Array.from({ length: items }, (_, index) => `item-${index}`))
  .map('each', { forEach: ({ outputs }) => outputs.list, key: (item) => item, concurrency: 10 }, async ({ item }) => {
    await new Promise((resolve) => setImmediate(resolve))
    writeSync(effects, `${item}\n`)
    return item.length
  })
  .step('count', ({ outputs }) => outputs.each.length)

const { count } = await runOrResume(program, { id: 'many', storage: noting(jsonFileStorage(state)) })
writeSync(1, `${count}\n`)

import assert from 'node:assert/strict'
import * as t from 'io-ts'
import { expectTypeOf, test } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory.js'
import { resume, RunFailure, runOrResume, workflow } from '../../src/promise/index.js'

test('the steps of a sequence see earlier outputs, and later steps see the outputs of the sequence by name', async () => {
  const did: Array<string> = []
  let isDown = true
  const release = workflow('release')
    .step('version', { output: t.string, run: () => '1.2.3' })
    .sequence('deploy', (deploy) =>
      deploy
        .step('push', {
          output: t.string,
          run: ({ unit, outputs }) => {
            expectTypeOf(outputs.version).toEqualTypeOf<string>()
            did.push(unit)
            return `v${outputs.version}`
          }
        })
        .step('smoke', {
          output: t.number,
          run: ({ unit, outputs }) => {
            expectTypeOf(outputs.push).toEqualTypeOf<string>()
            did.push(unit)
            if (isDown) throw new Error('no answer')
            return outputs.push.length
          }
        })
    )
    .step('announce', ({ unit, outputs }) => {
      expectTypeOf(outputs.deploy).toEqualTypeOf<{ readonly push: string; readonly smoke: number }>()
      // @ts-expect-error: the steps of a sequence are seen by its name
      assert.equal(outputs.push, undefined)
      did.push(unit)
      return `${outputs.deploy.push} is out`
    })
  const options = { id: 'release-1', storage: memoryStorage() }
  await assert.rejects(runOrResume(release, options), RunFailure)
  isDown = false
  const outputs = await runOrResume(release, options)
  assert.deepEqual(did, ['deploy/push', 'deploy/smoke', 'deploy/smoke', 'announce'])
  assert.deepEqual(outputs, {
    version: '1.2.3',
    deploy: { push: 'v1.2.3', smoke: 6 },
    announce: 'v1.2.3 is out'
  })
  did.length = 0
  await resume(release, { ...options, fromStep: 'deploy/smoke' })
  assert.deepEqual(did, ['deploy/smoke', 'announce'])
})

test('the checks of a sequence run before and after its steps', async () => {
  const did: Array<string> = []
  const checked = workflow('checked').sequence('all', (all) => all.step('one', ({ unit }) => did.push(unit)), {
    before: () => did.push('before'),
    after: () => did.push('after')
  })
  await runOrResume(checked, { id: 'checked-1', storage: memoryStorage() })
  assert.deepEqual(did, ['before', 'all/one', 'after'])
})

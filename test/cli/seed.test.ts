import { afterAll, expect, test } from 'vitest'
import { linesOf, runIdOf, sandbox, timeless } from './dogear.js'

const workflow = (second: string): string => `
name: test-resume
commands:
  - shell: "echo step1"
  - shell: "${second}"
  - shell: "echo step3"
`

const place = sandbox({ 'workflow.yml': workflow('exit 1') })
afterAll(() => place.remove())

test('after a fix of the failed step, a resume runs it and the later one, not the earlier one', async () => {
  const failed = await place.dogear(['run', 'workflow.yml'])
  const id = runIdOf(failed)
  expect(failed.code).toBe(1)
  expect(failed.stdout).toBe('step1\n')
  expect(linesOf(timeless(failed.stderr))).toEqual([
    `Run ${id} started`,
    'Executing step 1/3: step-1 (echo step1)',
    '✓ step-1 (T)',
    'Executing step 2/3: step-2 (exit 1)',
    '✗ Step 2/3 failed: step-2',
    '  command: exit 1',
    '  error: exit code 1',
    `  folder: ${place.folder}`,
    'Run failed after T: 1 step completed, 1 failed',
    'After fixing this, resume with:',
    `  dogear resume ${id}`
  ])

  place.write('workflow.yml', workflow('echo step2-fixed'))
  const resumed = await place.dogear(['resume', id])
  expect(resumed.code).toBe(0)
  expect(resumed.stdout).toBe('step2-fixed\nstep3\n')
  expect(linesOf(timeless(resumed.stderr))).toEqual([
    `Resuming run ${id}`,
    'Loaded checkpoint: 1/3 steps completed',
    '↷ 1 step completed earlier: step-1',
    'Retrying step 2/3: step-2 (echo step2-fixed)',
    '✓ step-2 (T)',
    'Executing step 3/3: step-3 (echo step3)',
    '✓ step-3 (T)',
    'Run completed in T: 2 steps ran, 1 skipped'
  ])

  const again = await place.dogear(['resume', id])
  expect(again).toEqual({ code: 0, signal: null, stdout: '', stderr: `Run ${id}: nothing left to do\n` })
})

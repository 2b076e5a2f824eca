import { afterEach, describe, expect, test } from 'vitest'
import { type Sandbox, sandbox } from './dogear.js'

let place: Sandbox
afterEach(() => place.remove())

describe('a script', () => {
  const script = (...lines: readonly string[]): string =>
    ['steps:', '  - shell: |', ...lines.map((line) => `      ${line}`)].join('\n')

  test('stops at its first command that fails, and the step has failed', async () => {
    place = sandbox({ 'w.yml': script('echo one >> log', 'false', 'echo two >> log') })
    const { code, stderr } = await place.dogear(['run', 'w.yml'])
    expect(stderr).toContain('error: exit code 1\n')
    expect(code).toBe(1)
    expect(place.read('log')).toBe('one\n')
  })

  test.each([
    ['set +e', 'false', 'echo two >> log'],
    ['false || true', 'if false; then exit 1; fi', '! true', 'echo two >> log']
  ])('goes on where it says so: %s', async (...lines) => {
    place = sandbox({ 'w.yml': script(...lines) })
    expect((await place.dogear(['run', 'w.yml'])).code).toBe(0)
    expect(place.read('log')).toBe('two\n')
  })
})

import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, lstatSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Sandbox, sandbox } from './dogear.js'

const workflow = `
name: release
steps:
  - { name: build, shell: echo built }
  - { name: test, shell: 'test -e fixed || { echo "no <b>server</b>" >&2; exit 3; }' }
  - { name: ship, shell: 'test -e shipped || { touch shipped; kill -9 $PPID; }' }
`

let place: Sandbox
beforeEach(() => {
  place = sandbox({ 'w.yml': workflow })
})
afterEach(() => place.remove())

test('the page of a failed run has its error, its plan and the command that resumes it', async () => {
  await place.dogear(['run', 'w.yml', '--id', 'first'])
  const { code, stdout, stderr } = await place.dogear(['show', 'first', '--html', 'run.html'])
  expect([code, stdout, stderr]).toEqual([0, '', `Wrote ${place.folder}/run.html\n`])
  const page = place.read('run.html')
  expect(page).toContain('no &lt;b&gt;server&lt;/b&gt;')
  expect(page).not.toContain('<b>server')
  expect(page).toContain('<pre><code>dogear resume first</code></pre>')
  expect(page).toMatch(/2\/3 {2}retry {4}test {3}failed/)
  const [, command = ''] = /<pre><code>(.*)<\/code><\/pre>/.exec(page) ?? []
  place.write('fixed', '')
  place.write('shipped', '')
  expect((await place.dogear(command.split(' ').slice(1))).code).toBe(0)
})

test('the page of a killed and resumed run has the crash as a gap, and replaces the earlier page', async () => {
  place.write('fixed', '')
  await place.process(['run', 'w.yml', '--id', 'first'])
  await place.dogear(['show', 'first', '--html', 'run.html'])
  expect(place.read('run.html')).toContain('class="crashed"')
  expect((await place.dogear(['resume', 'first'])).code).toBe(0)
  await place.dogear(['show', 'first', '--html', 'run.html'])
  const page = place.read('run.html')
  expect(page).toMatch(/<title>no record for .*: the process died in this time/)
  expect(page).toContain('attempt 1 cut short by a crash; attempt 1 completed after')
})

test.skipIf(process.platform === 'win32')('a page that replaces an earlier one keeps its permissions', async () => {
  await place.dogear(['run', 'w.yml', '--id', 'first'])
  await place.dogear(['show', 'first', '--html', 'run.html'])
  const path = `${place.folder}/run.html`
  for (const mode of [0o600, 0o666]) {
    chmodSync(path, mode)
    await place.dogear(['show', 'first', '--html', 'run.html'])
    expect(statSync(path).mode & 0o777).toBe(mode)
  }
})

test('--html replaces no file that is not a page, and reports a file that it cannot write', async () => {
  await place.dogear(['run', 'w.yml', '--id', 'first'])
  const refused = await place.dogear(['show', 'first', '--html', 'w.yml'])
  expect([refused.code, refused.stderr]).toEqual([
    2,
    'dogear: --html: w.yml exists and is no page of dogear; name another file, or - for standard output\n'
  ])
  expect(place.read('w.yml')).toBe(workflow)
  const missing = await place.dogear(['show', 'first', '--html', 'no/such/folder.html'])
  expect(missing.code).toBe(5)
  expect(missing.stderr).toBe(
    `dogear: Cannot write ${place.folder}/no/such/folder.html: the folder does not exist; create it\n`
  )
  const inFile = await place.dogear(['show', 'first', '--html', 'w.yml/page.html'])
  expect(inFile.stderr).toBe(
    `dogear: Cannot write ${place.folder}/w.yml/page.html: a part of its path is no folder; name another file\n`
  )
  expect((await place.dogear(['show', 'first', '--html', ''])).code).toBe(2)
})

test.skipIf(process.platform === 'win32')(
  'if a page cannot be written, the earlier page stays, and a first page does not exist',
  async () => {
    await place.dogear(['run', 'w.yml', '--id', 'first'])
    await place.dogear(['show', 'first', '--html', 'run.html'])
    symlinkSync('run.html', `${place.folder}/link.html`)
    const files = (): readonly string[] => readdirSync(place.folder).sort()
    const before = [place.read('run.html'), files()]
    for (const file of ['run.html', 'link.html', 'new.html']) {
      const { code, stderr } = await place.shell(`ulimit -f 4; dogear show first --html ${file}`)
      expect([code, stderr]).toEqual([5, expect.stringContaining(`Cannot write ${place.folder}/${file}: EFBIG`)])
    }
    expect([place.read('run.html'), files()]).toEqual(before)
    expect((await place.dogear(['show', 'first', '--html', 'link.html'])).code).toBe(0)
    expect(lstatSync(`${place.folder}/link.html`).isSymbolicLink()).toBe(true)
  }
)

test.skipIf(process.platform === 'win32')(
  '--html writes through a symbolic link to its target, also if the target does not exist yet',
  async () => {
    await place.dogear(['run', 'w.yml', '--id', 'first'])
    place.write('deep/pages/.keep', '')
    symlinkSync('deep/pages', `${place.folder}/folder`)
    symlinkSync('second.html', `${place.folder}/deep/pages/first.html`)
    symlinkSync('../new.html', `${place.folder}/deep/pages/second.html`)
    expect((await place.dogear(['show', 'first', '--html', 'folder/first.html'])).code).toBe(0)
    expect(place.read('deep/new.html')).toContain('<!doctype html>')
    expect(readdirSync(`${place.folder}/deep`).sort()).toEqual(['new.html', 'pages'])
    expect(lstatSync(`${place.folder}/deep/pages/second.html`).isSymbolicLink()).toBe(true)
    symlinkSync('missing/page.html', `${place.folder}/nowhere.html`)
    const { code, stderr } = await place.dogear(['show', 'first', '--html', 'nowhere.html'])
    expect([code, stderr]).toEqual([5, expect.stringContaining('nowhere.html: the folder does not exist; create it')])
  }
)

test.skipIf(process.platform === 'win32')(
  'a page may have the longest file name that the file system accepts',
  async () => {
    await place.dogear(['run', 'w.yml', '--id', 'first'])
    const longest = `${'x'.repeat(250)}.html`
    expect((await place.dogear(['show', 'first', '--html', longest])).code).toBe(0)
    expect(place.read(longest)).toContain('<!doctype html>')
  }
)

test.skipIf(process.platform === 'win32')('--html refuses a device, a pipe or a folder with exit code 2', async () => {
  await place.dogear(['run', 'w.yml', '--id', 'first'])
  execFileSync('mkfifo', [`${place.folder}/pipe`])
  for (const [target, what] of [
    ['/dev/full', 'is no regular file'],
    ['pipe', 'is no regular file'],
    ['.', 'is a folder']
  ] as const) {
    const { code, stderr } = await place.dogear(['show', 'first', '--html', target])
    expect([code, stderr]).toEqual([
      2,
      `dogear: --html: ${target} ${what}; name another file, or - for standard output\n`
    ])
  }
})

test('--html - prints the page, and cannot be combined with --json or --mermaid', async () => {
  await place.dogear(['run', 'w.yml', '--id', 'first'])
  const { code, stdout, stderr } = await place.dogear(['show', 'first', '--html', '-'])
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^<!doctype html>[^]*<\/html>\n$/)
  expect(existsSync(`${place.folder}/-`)).toBe(false)
  expect((await place.dogear(['show', 'first', '--html', '-', '--json'])).code).toBe(2)
  expect((await place.dogear(['show', 'first', '--html', 'a.html', '--mermaid'])).code).toBe(2)
  expect(existsSync(`${place.folder}/a.html`)).toBe(false)
})

test('a page names what makes a resume impossible, with the remedy', async () => {
  await place.dogear(['run', 'w.yml', '--id', 'first'])
  place.write('w.yml', workflow.replace('echo built', 'echo another'))
  expect((await place.dogear(['show', 'first', '--html', 'run.html'])).code).toBe(0)
  const page = place.read('run.html')
  expect(page).toContain('&quot;build&quot; differs from its recorded definition')
  expect(page).toContain('dogear resume first --from-step build')
  expect(existsSync(`${place.folder}/run.html`)).toBe(true)
})

test('--mermaid prints the graph alone, and with --json as a field', async () => {
  await place.dogear(['run', 'w.yml', '--id', 'first'])
  const { code, stdout, stderr } = await place.dogear(['show', 'first', '--mermaid'])
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^flowchart TD\n {2}u0\["build"\]\n/)
  expect(stdout).toContain('  class u1 failed\n')
  expect(JSON.parse((await place.dogear(['show', 'first', '--mermaid', '--json'])).stdout)).toEqual({
    run_id: 'first',
    mermaid: stdout
  })
})

test('--html and --mermaid are refused together, and no page is written', async () => {
  await place.dogear(['run', 'w.yml', '--id', 'first'])
  const { code, stderr } = await place.dogear(['show', 'first', '--html', 'run.html', '--mermaid'])
  expect([code, stderr]).toEqual([2, 'dogear: --html and --mermaid cannot be combined; use one of them\n'])
  expect(place.exists('run.html')).toBe(false)
})

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { RunPage } from '../../src/index.js'
import { planResume, renderRun } from '../../src/index.js'
import { hasChromium, launch, type Opened, open as openIn } from './chromium.js'
import { completed, failed, pageOf, resumed, started, task, wave, wide } from './pages.js'

const folder = mkdtempSync(join(tmpdir(), 'dogear-page-'))
let browser: Browser
let files = 0

beforeAll(async () => {
  if (hasChromium) browser = await launch()
}, 60_000)
afterAll(async () => {
  if (hasChromium) await browser.close()
  rmSync(folder, { recursive: true, force: true })
})

const open = (page: RunPage, options: BrowserContextOptions = {}): Promise<Opened> => {
  const path = join(folder, `${files++}.html`)
  writeFileSync(path, renderRun(page))
  return openIn(browser, path, options)
}

const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '</script><script>alert(1)</script>',
  '<!--',
  '</title></style><svg onload=alert(1)>',
  'a\u202eb\u0007c'
] as const

/** Each string as a workflow, run, sub-step, error, output, variable, artifact, command and problem. */
const hostile = (text: string): RunPage => {
  const sub = `build/${text.replace(/[^A-Za-z0-9._-]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)}`
  const page = pageOf(
    [task('first', { captures: ['value'] }), task('build')],
    [
      started(0, { first: 1 }),
      completed('first', 0, 1, { output: text, captured: ['value'] }),
      started(1, { build: 1 }),
      ...(/[^\u0020-\u007e]/.test(text) ? [] : [completed(sub, 1, 2, { output: [text], subStep: {} })]),
      failed('build', 1, 1, 3, `${text}\n${text}`)
    ],
    {
      name: text,
      artifacts: [{ id: text, size: 3, sha256: text }],
      problems: [text],
      next: [{ text, command: text }],
      found: { _tag: 'Recovered', from: text, lost: text }
    }
  )
  return { ...page, runId: text, checkpoint: { ...page.checkpoint, createdAt: page.checkpoint.createdAt } }
}

describe.skipIf(!hasChromium)('the page of a run in a browser', () => {
  test('the page of a run makes no request, reports no error, and shows every unit with its state', async () => {
    const { page, problems } = await open(resumed())
    expect(await page.title()).toBe('release · r-1')
    expect(await page.locator('tbody tr').count()).toBe(5)
    expect(await page.locator('tbody tr').allInnerTexts()).toEqual([
      expect.stringMatching(/^version\s+completed\s+2.0 s/),
      expect.stringMatching(/^checks wave\s+completed 2\/2\s/),
      expect.stringMatching(/^unit\s+completed\s/),
      expect.stringMatching(/^e2e\s+completed\s/),
      expect.stringMatching(/^publish\s+completed\s/)
    ])
    expect(await page.locator('header').innerText()).toContain('3 times')
    expect(await page.locator('.over .crashed').count()).toBe(1)
    expect(problems).toEqual([])
  })

  test.each(HOSTILE)('the text %j is shown as text, wherever it comes from', async (text) => {
    const { page, problems } = await open(hostile(text))
    for (const row of await page.locator('tbody tr').all()) await row.click()
    await page.mouse.move(300, 300)
    expect(problems).toEqual([])
    expect(await page.locator('img, main svg[onload], [onmouseover], [onerror]').count()).toBe(0)
    expect(await page.locator('script').count()).toBe(2)
    const shown = text.replace('\u202e', '\\u202e').replace('\u0007', '\\u0007')
    expect(await page.locator('h1').innerText()).toBe(shown)
    expect(await page.locator('.copy code').innerText()).toBe(shown)
    expect(await page.locator('.bad pre').innerText()).toBe(`${shown}\n${shown}`)
    expect(await page.locator('tr.more pre').first().innerText()).toContain(shown)
  })

  test('the content security policy of the page stops scripts, styles and requests that are not its own', async () => {
    const { page } = await open(resumed())
    const blocked = await page.evaluate<{ violations: string[]; wasRun: boolean }>(`(async () => {
      const violations = []
      document.addEventListener('securitypolicyviolation', (event) => violations.push(event.effectiveDirective))
      const script = document.createElement('script')
      script.textContent = 'window.wasRun = true'
      document.body.append(script)
      document.body.insertAdjacentHTML('beforeend', '<p style="color: red">styled</p><img src="http://127.0.0.1:9/x">')
      await fetch('http://127.0.0.1:9/').catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, 200))
      return { violations: [...new Set(violations)].sort(), wasRun: 'wasRun' in window }
    })()`)
    expect(blocked.wasRun).toBe(false)
    expect(blocked.violations).toEqual(['connect-src', 'img-src', 'script-src-elem', 'style-src-attr'])
  })

  test('a page of 10,000 units opens within a second of processor time, and its folded units can be unfolded', async () => {
    const { page, problems } = await open(pageOf([task('one')], []))
    const path = join(folder, 'wide.html')
    writeFileSync(path, renderRun(wide(10_000)))
    const session = await page.context().newCDPSession(page)
    // Measures processor time, which does not depend on the load of the machine.
    await session.send('Performance.enable', { timeDomain: 'threadTicks' })
    await page.goto(`file://${path}`)
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))')
    const { metrics } = await session.send('Performance.getMetrics')
    expect(metrics.find(({ name }) => name === 'TaskDuration')?.value).toBeLessThan(1)
    expect(await page.locator('tbody tr:not([hidden])').count()).toBe(3)
    await page.getByRole('button', { name: 'Expand all' }).click()
    expect(await page.locator('tbody tr:not([hidden])').count()).toBe(10_003)
    await page.locator('.bad a').click()
    expect(await page.locator('tr.more').innerText()).toContain('no network')
    await page.getByRole('combobox').selectOption('Failed')
    expect(await page.locator('tbody tr:not([hidden])').allInnerTexts()).toEqual([
      expect.stringContaining('pages'),
      expect.stringContaining('page-4711')
    ])
    await page.getByRole('combobox').selectOption('All units')
    await page.getByRole('searchbox').fill('page-99')
    expect(await page.locator('tbody tr:not([hidden])').count()).toBe(1 + 111)
    expect(problems.filter((one) => !one.includes('wide.html'))).toEqual([])
  })

  test('the keyboard moves through the tree, folds it and shows the details of a unit', async () => {
    const { page } = await open(resumed())
    const focused = (): Promise<string> =>
      page.evaluate<string>(`document.activeElement.cells[0].innerText.split(' ')[0]`)
    await page.locator('tbody tr').first().focus()
    await page.keyboard.press('ArrowDown')
    expect(await focused()).toBe('checks')
    await page.keyboard.press('ArrowLeft')
    expect(await page.locator('tbody tr:not([hidden])').count()).toBe(3)
    await page.keyboard.press('ArrowDown')
    expect(await focused()).toBe('publish')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    expect(await focused()).toBe('unit')
    await page.keyboard.press('End')
    expect(await focused()).toBe('publish')
    await page.keyboard.press('Enter')
    const details = page.locator('tr.more')
    expect(await details.locator('li').allInnerTexts()).toEqual([
      expect.stringContaining('cut short by a crash'),
      expect.stringContaining('interrupted after 2.0 s'),
      expect.stringContaining('completed after 3.0 s')
    ])
    await page.keyboard.press('Escape')
    expect(await details.count()).toBe(0)
    await page.keyboard.press('Home')
    expect(await focused()).toBe('version')
  })

  test('a screen reader finds a tree grid with levels, headers and the attempts of each unit', async () => {
    const { page } = await open(resumed())
    const session = await page.context().newCDPSession(page)
    // Without this the browser may still be building the tree when the test reads it.
    await session.send('Accessibility.enable')
    const { nodes } = await vi.waitFor(async () => {
      const tree = await session.send('Accessibility.getFullAXTree')
      expect(tree.nodes.filter(({ role, ignored }) => role?.value === 'rowheader' && !ignored)).toHaveLength(5)
      return tree
    })
    const named = (role: string): readonly string[] =>
      nodes.filter((node) => node.role?.value === role && !node.ignored).map((node) => String(node.name?.value ?? ''))
    expect(named('treegrid')).toEqual(['Timeline'])
    expect(named('columnheader')).toEqual(['Unit', 'State', 'Time', 'Attempts'])
    expect(named('rowheader')).toEqual(['version', 'checks wave', 'unit', 'e2e', 'publish'])
    expect(named('row')).toHaveLength(6)
    expect(named('gridcell')).toContain(
      'attempt 1 failed after 1.0 s; attempt 2 failed after 2.0 s; attempt 1 completed after 2.0 s'
    )
    const levels = nodes.flatMap(({ properties = [] }) =>
      properties.flatMap((one) =>
        one.name === 'level' && one.value.type === 'integer' ? [Number(one.value.value)] : []
      )
    )
    expect(levels.filter((level) => level > 2)).toEqual([])
    expect(levels).toContain(2)
  })

  test.each(['light', 'dark'] as const)(
    'all text has a contrast of at least 4.5 in the %s scheme',
    async (colorScheme) => {
      const page = pageOf(
        [wave('checks', [task('unit'), task('lint')]), task('next')],
        [started(0, { 'checks/unit': 1, 'checks/lint': 1 }), failed('checks/unit', 1, 0, 1)],
        { isLive: true, next: [{ text: 'Resume with:', command: 'dogear resume r-1' }], problems: ['a problem'] }
      )
      const { page: opened } = await open(page, { colorScheme })
      expect(await opened.evaluate<number>(WORST_CONTRAST)).toBeGreaterThanOrEqual(4.5)
    }
  )

  test.each(['light', 'dark', 'print'] as const)(
    'in the %s colours each state has a contrast of at least 4.5, and each bar one of at least 3',
    async (colours) => {
      const { page } = await open(resumed(), { colorScheme: colours === 'dark' ? 'dark' : 'light' })
      if (colours === 'print') await page.emulateMedia({ media: 'print' })
      for (const status of ['completed', 'failed', 'running', 'interrupted', 'pending']) {
        await page.evaluate(`document.querySelector('.status').className = 'status ${status}'`)
        expect([status, await page.evaluate<number>(WORST_CONTRAST)]).toEqual([status, atLeast(4.5)])
      }
      for (const bar of ['', 'failed', 'running', 'cut', 'interrupted', 'suspended', 'submitted']) {
        await page.evaluate(`document.querySelector('tbody td svg rect').setAttribute('class', '${bar}')`)
        expect([bar, await page.evaluate<number>(CONTRAST_OF_BAR)]).toEqual([bar, atLeast(3)])
      }
    }
  )

  test('a phone shows the whole width of the page, and without scripts all units are visible', async () => {
    const { page } = await open(resumed(), { viewport: { width: 390, height: 800 } })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    const { page: still } = await open(wide(200), { javaScriptEnabled: false })
    expect(await still.locator('tbody tr:visible').count()).toBe(203)
    expect(await still.locator('.tools').isVisible()).toBe(false)
  })

  test('on a phone the lines of the plan are indented below their names, and no short value is broken across lines', async () => {
    const steps = [task('version'), task('integration-tests-of-the-payments')]
    const ended = pageOf(steps, [
      started(0, { version: 1 }),
      completed('version', 0, 1),
      started(1, { 'integration-tests-of-the-payments': 2 }),
      failed('integration-tests-of-the-payments', 2, 1, 2, 'connection refused by the database of the tests')
    ])
    const planned = planResume(ended.checkpoint, { name: 'release', steps })
    if (E.isLeft(planned)) throw new Error('no plan')
    const next = [{ text: 'Resume with:', command: 'dogear resume r-1' }]
    const { page } = await open({ ...ended, plan: planned.right, next }, { viewport: { width: 375, height: 800 } })
    const lefts = await page.evaluate<readonly number[]>(`(() => {
      const { lastElementChild: line } = document.querySelector('.plan')
      const range = document.createRange()
      range.selectNodeContents(line)
      const edge = document.querySelector('.plan').firstElementChild.getBoundingClientRect().left
      const lines = new Map()
      for (const { top, left, width } of range.getClientRects())
        if (width > 0) lines.set(Math.round(top), Math.min(left - edge, lines.get(Math.round(top)) ?? Infinity))
      return [...lines.values()]
    })()`)
    expect(lefts.length).toBeGreaterThan(2)
    // A long name has the whole width, as one line or two.
    const lines = '(document.querySelectorAll("tbody th")[1].clientHeight / 22.5)'
    expect(await page.evaluate<number>(lines)).toBeLessThan(2.5)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(375)
    expect(lefts[0]).toBeLessThan(20)
    for (const left of lefts.slice(1)) expect(left).toBeGreaterThan(100)
    const height = (of: string): Promise<number> =>
      page.evaluate<number>(`document.querySelector(${JSON.stringify(of)}).getClientRects().length`)
    expect(await height('tbody td small')).toBe(1)
    const size = (of: string): Promise<string> =>
      page.evaluate<string>(`getComputedStyle(document.querySelector(${JSON.stringify(of)})).fontSize`)
    expect(await size('.copy code')).toBe(await size('.bad pre'))
  })

  test('the page of a run prints black on white, without controls', async () => {
    const { page } = await open(wide(20), { colorScheme: 'dark' })
    expect(await page.locator('.tools').isVisible()).toBe(true)
    await page.emulateMedia({ media: 'print' })
    expect(await page.evaluate('getComputedStyle(document.documentElement).color')).toBe('rgb(0, 0, 0)')
    expect(await page.locator('.tools').isVisible()).toBe(false)
  })
})

const atLeast = (limit: number): unknown => ({
  asymmetricMatch: (value: number) => value >= limit,
  toAsymmetricMatcher: () => `at least ${limit}`
})

/** Functions that compute the contrast of a colour and the colour behind an element (WCAG 2), in the page. */
const CONTRAST = `
  const channels = (colour) => (colour.match(/[\\d.]+/g) ?? []).map(Number)
  const light = (colour) => {
    const [r, g, b] = channels(colour).map((one) => {
      const share = one / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const behind = (element) => {
    for (let one = element; one !== null; one = one.parentElement) {
      const { backgroundColor } = getComputedStyle(one)
      if (channels(backgroundColor)[3] !== 0) return backgroundColor
    }
    return 'rgb(255, 255, 255)'
  }
  const contrast = (colour, element) => {
    const [one, other] = [light(colour), light(behind(element))]
    return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
  }
`

/** The lowest contrast of all texts of the page. */
const WORST_CONTRAST = `(() => {${CONTRAST}
  let worst = 21
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement
    if (node.textContent.trim() === '' || !element.checkVisibility()) continue
    if (element.closest('script, style, svg, option') !== null) continue
    worst = Math.min(worst, contrast(getComputedStyle(element).color, element))
  }
  return worst
})()`

const CONTRAST_OF_BAR = `(() => {${CONTRAST}
  const bar = document.querySelector('tbody td svg rect')
  return contrast(getComputedStyle(bar).fill, bar)
})()`

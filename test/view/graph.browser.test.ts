import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Change } from '../../src/index.js'
import { Workflow } from '../../src/index.js'
import { graphOf } from '../../src/view/graph.js'
import { hasChromium, launch } from './chromium.js'
import { completed, failed, pageOf, resumed, started, task, wave, wide } from './pages.js'

const nested = pageOf(
  [
    wave('build', [
      Workflow.sequence('linux', [task('compile'), task('sign')]),
      Workflow.sequence('macos', [task('compile'), task('sign')])
    ]),
    Workflow.mapOf('pages', task('each')),
    task('end')
  ],
  [
    started(0, { 'build/linux/compile': 1, 'build/macos/compile': 1 }),
    completed('build/linux/compile', 0, 1),
    failed('build/macos/compile', 1, 0, 2)
  ]
)

const needing = pageOf([Workflow.wave('w', [Workflow.group(task('a')), Workflow.group(task('b'), ['a'])])], [])

/** Items have any name. */
const hostile = pageOf(
  [Workflow.mapOf('pages', task('each'))],
  [
    {
      _tag: 'Expanded',
      at: '2026-01-02T03:04:06.000Z',
      unit: 'pages',
      items: [
        '"]; click u0 call alert(1)',
        '<img src=x onerror=alert(1)>',
        'end',
        '%%{init: {}}%%',
        '`**a**`',
        '#quot;',
        'a\nb'
      ].map((key) => ({ key, value: key }))
    } satisfies Change
  ]
)

describe('the graph of a run', () => {
  test('a graph has the steps in order, units inside their composite, and states as classes', () => {
    const graph = graphOf(nested.checkpoint)
    expect(graph.split('\n').slice(0, 18)).toEqual([
      'flowchart TD',
      '  subgraph u0["build"]',
      '    subgraph u1["linux"]',
      '      u2["compile"]',
      '      u3["sign"]',
      '      u2 --> u3',
      '    end',
      '    subgraph u4["macos"]',
      '      u5["compile"]',
      '      u6["sign"]',
      '      u5 --> u6',
      '    end',
      '  end',
      '  u7[["pages"]]',
      '  u8["end"]',
      '  u0 --> u7 --> u8',
      '  classDef inFlight fill:#e0edfb,stroke:#1f66b5,color:#123c6b',
      '  class u0,u1 inFlight'
    ])
    expect(graph).toContain('\n  class u2 completed\n')
    expect(graph).toContain('\n  class u4,u5 failed\n')
    expect(graph).toContain('\n  class u3,u6,u7,u8 notStarted\n')
  })

  test('an arrow leads from each needed group to the group that needs it', () => {
    const { checkpoint } = pageOf(
      [
        Workflow.wave('checks', [
          Workflow.group(task('unit')),
          Workflow.group(Workflow.sequence('e2e', [task('build'), task('drive')]), ['unit']),
          Workflow.group(task('report'), ['unit', 'e2e'])
        ])
      ],
      []
    )
    const lines = graphOf(checkpoint).split('\n')
    expect(lines.filter((line) => line.includes('-->'))).toEqual([
      '      u3 --> u4',
      '    u1 --> u2',
      '    u1 --> u5',
      '    u2 --> u5'
    ])
  })

  test('a map of more than 20 items is one node with its counts', () => {
    expect(graphOf(wide(10_000).checkpoint)).toContain('  u1[["pages (9,999/10,000)"]]\n')
    expect(graphOf(wide(20).checkpoint)).toContain('  subgraph u1["pages"]\n    u2["page-0"]\n')
  })
})

describe.skipIf(!hasChromium)('the graph in a browser', () => {
  let browser: Browser
  let page: Page
  beforeAll(async () => {
    browser = await launch()
    page = await browser.newPage()
    await page.addScriptTag({ path: createRequire(import.meta.url).resolve('mermaid/dist/mermaid.min.js') })
  }, 60_000)
  afterAll(() => browser.close())

  test.each([
    ['a resumed run', resumed()],
    ['nested units', nested],
    ['a wide map', wide(10_000)],
    ['groups with needs', needing],
    ['hostile names', hostile]
  ])('the parser of Mermaid reads and draws %s', async (_, { checkpoint }) => {
    const graph = JSON.stringify(graphOf(checkpoint))
    expect(await page.evaluate(`mermaid.parse(${graph})`)).toMatchObject({ diagramType: 'flowchart-v2' })
    await page.evaluate(`mermaid.render('g', ${graph}).then(({ svg }) => { document.body.innerHTML = svg })`)
    expect(await page.locator('[onerror], img, .clickable').count()).toBe(0)
  })

  test('hostile names are drawn as text', async () => {
    await page.evaluate(
      `mermaid.render('g', ${JSON.stringify(graphOf(hostile.checkpoint))}).then(({ svg }) => { document.body.innerHTML = svg })`
    )
    const labels = await page.locator('.node .nodeLabel').allInnerTexts()
    expect(labels.map((one) => one.trim())).toEqual([
      '"]; click u0 call alert(1)',
      '<img src=x onerror=alert(1)>',
      'end',
      '%%{init: {}}%%',
      '`**a**`',
      '#quot;',
      'a\\nb'
    ])
  })
})

/** Opens pages in a headless Chromium, where one is installed. */
import { existsSync } from 'node:fs'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { chromium } from 'playwright-core'

const executablePath = [process.env['CHROMIUM'] ?? '', '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  existsSync
)

export const hasChromium = executablePath !== undefined

if (!hasChromium)
  console.warn(
    'SKIPPED: the tests of pages in a browser. Install Chromium (apt-get install chromium), or set CHROMIUM.'
  )

const ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync'
]

export const launch = (): Promise<Browser> => chromium.launch({ executablePath: executablePath ?? '', args: ARGS })

/** An open page, and whatever it did that it must not do. */
export interface Opened {
  readonly page: Page
  readonly problems: readonly string[]
}

export const open = async (browser: Browser, path: string, options: BrowserContextOptions = {}): Promise<Opened> => {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const problems: string[] = []
  const url = `file://${path}`
  page.on('console', (message) => problems.push(`console: ${message.text()}`))
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`))
  page.on('dialog', (dialog) => problems.push(`dialog: ${dialog.message()}`))
  page.on('request', (request) => {
    if (request.url().split('#')[0] !== url) problems.push(`request: ${request.url()}`)
  })
  await page.goto(url)
  return { page, problems }
}

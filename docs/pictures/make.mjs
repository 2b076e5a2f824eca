// Makes the pictures of the documentation from real runs: `npm run build && npm run pictures`.
// With a folder as its argument, also writes pictures and PDFs there, to check by eye.
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'

const here = dirname(fileURLToPath(import.meta.url))
const dist = join(here, '../../dist')
const main = join(dist, 'cli/main.js')
const folder = mkdtempSync(join(tmpdir(), 'dogear-pictures-'))
const extra = process.argv[2] === undefined ? undefined : resolve(process.argv[2])

const dogear = (...words) => spawnSync(process.execPath, [main, ...words], { cwd: folder, encoding: 'utf8' })

/** Starts a command, and sends it the signal `signal`, `delayMillis` after it has printed `until`. Resolves at its exit, with all that it printed. */
const started = (words, until, signal, delayMillis = 0) =>
  new Promise((done) => {
    const child = spawn(process.execPath, [main, ...words], { cwd: folder })
    let said = ''
    let isDue = false
    const read = (chunk) => {
      said += chunk
      if (!said.includes(until) || isDue) return
      isDue = true
      setTimeout(() => child.kill(signal), delayMillis)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.on('exit', () => done(said))
  })

/** Writes the page of a run. It names the folder /home/me/site in place of the temporary one. */
const page = (id, name) => {
  dogear('show', id, '--html', `${name}.html`)
  const file = join(folder, `${name}.html`)
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(folder, '/home/me/site'))
}

const pause = (millis) => new Promise((done) => setTimeout(done, millis))

const RELEASE = `name: release
steps:
  - { name: version, shell: "sleep 0.4; echo 1.4.0", capture: version }
  - wave: checks
    groups:
      unit: { shell: sleep 1.1 }
      lint: { shell: "sleep 0.3; test -e linted", retry: { attempts: 2, delay: 200ms } }
      types: { shell: sleep 0.6, needs: [lint] }
  - { name: build, shell: sleep 0.9 }
  - { name: upload, shell: 'echo "uploading $version"; sleep 1.4; test -e online || { echo "no route to host" >&2; exit 7; }' }
  - { name: announce, shell: "sleep 0.3", idempotent: false }
`

/** A run that is killed in `upload`, fails in it, is interrupted in it, and then completes. */
const resumedRun = async () => {
  writeFileSync(join(folder, 'release.yml'), RELEASE)
  writeFileSync(join(folder, 'linted'), '')
  await started(['run', 'release.yml', '--id', 'release-1'], 'uploading', 'SIGKILL', 500)
  await pause(600)
  dogear('resume', 'release-1')
  page('release-1', 'failed')
  await started(['resume', 'release-1'], 'uploading', 'SIGINT', 500)
  writeFileSync(join(folder, 'online'), '')
  dogear('resume', 'release-1')
  page('release-1', 'resumed')
}

const simpleRun = async () => {
  await started(['run', 'release.yml', '--id', 'release-2'], 'uploading', 'SIGKILL', 700)
  await pause(500)
  dogear('resume', 'release-2')
  page('release-2', 'run')
}

const wideRun = async () => {
  const { runOrResume, workflow } = await import(pathToFileURL(join(dist, 'promise/index.js')).href)
  const { jsonFileStorage } = await import(pathToFileURL(join(dist, 'adapters/json-file/index.js')).href)
  const items = Array.from({ length: 9_997 }, (_, page) => `page-${page}`)
  const wide = workflow('crawl')
    .step('list', () => items)
    .map(
      'pages',
      { forEach: ({ outputs }) => outputs.list, key: (page) => page, concurrency: 50 },
      ({ item }) => item.length
    )
    .step('index', () => 'index.json')
  await runOrResume(wide, { id: 'crawl-1', storage: jsonFileStorage(join(folder, '.dogear')) })
  page('crawl-1', 'wide')
}

/** What a terminal shows after this output, with its colours. Knows the control sequences that dogear writes. */
const screenAfter = (output) => {
  const lines = ['']
  for (const part of output.split(/(\r\n|\r|\n|\x1b\[2K|\x1b\[1A)/)) {
    if (part === '\n' || part === '\r\n') lines.push('')
    else if (part === '\x1b[2K') lines[lines.length - 1] = ''
    else if (part === '\x1b[1A') lines.pop()
    else if (part !== '\r') lines[lines.length - 1] += part
  }
  return lines
}

const CLASSES = { 1: 'b', 2: 'd', 31: 'r', 32: 'g', 33: 'y' }
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Lines of a terminal as SVG. */
const drawn = (lines, columns) => {
  const [line, column, margin] = [19, 7.83, 16]
  const rows = lines.map((text, index) => {
    let open = ''
    const spans = text.split(/\x1b\[(\d+)m/).map((part, at) => {
      if (at % 2 === 0)
        return part === '' ? '' : open === '' ? escaped(part) : `<tspan class="${open}">${escaped(part)}</tspan>`
      open = CLASSES[part] ?? ''
      return ''
    })
    return `<text x="${margin}" y="${margin + 14 + index * line}">${spans.join('')}</text>`
  })
  const [width, height] = [Math.ceil(columns * column) + 2 * margin, lines.length * line + 2 * margin]
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">
<title>A terminal: completed steps with their durations, and a live row for each running group</title>
<style>text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d9d5cd;white-space:pre}.b{font-weight:600;fill:#fff}.d{fill:#98938a}.r{fill:#ff8a80}.g{fill:#6fcf97}.y{fill:#f2c14e}</style>
<rect width="100%" height="100%" rx="8" fill="#1f1d1a"/>
${rows.join('\n')}
</svg>
`
}

/** A terminal while the groups of a wave run. */
const terminal = async () => {
  writeFileSync(
    join(folder, 'checks.yml'),
    RELEASE.replace('sleep 1.1', 'sleep 6')
      .replace('sleep 0.6', 'sleep 6')
      .replace('  - { name: build', '  - { name: pack')
      .replace('sleep 0.3; test -e linted', 'sleep 0.9; test -e linted')
  )
  const command = `stty cols 64; exec '${process.execPath}' '${main}' run checks.yml --id release-3`
  const { FORCE_COLOR: _, NO_COLOR: __, ...env } = process.env
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    cwd: folder,
    env: { ...env, TERM: 'xterm', DOGEAR_HOME: '' }
  })
  let said = ''
  child.stdout.on('data', (chunk) => (said += chunk))
  await pause(4_500)
  const lines = ['\x1b[2m$ \x1b[22mdogear run release.yml --id release-3', ...screenAfter(said)]
  child.kill('SIGKILL')
  return drawn(lines, 64)
}

const pictures = async (browser) => {
  const shot = async (page, name, { to = here, clip, full = false, ...options } = {}) => {
    const context = await browser.newContext({
      viewport: { width: 1_000, height: 700 },
      deviceScaleFactor: 2,
      ...options
    })
    const opened = await context.newPage()
    await opened.goto(pathToFileURL(join(folder, page)).href)
    const png = await opened.screenshot({ fullPage: full, ...(clip === undefined ? {} : { clip }) })
    if (to === here) writeFileSync(join(to, `${name}.webp`), await webp(browser, png))
    else writeFileSync(join(to, `${name}.png`), png)
    await context.close()
  }
  await shot('run.html', 'run', { full: true, viewport: { width: 860, height: 300 }, deviceScaleFactor: 1.5 })
  if (extra === undefined) return
  mkdirSync(extra, { recursive: true })
  const looks = { to: extra, deviceScaleFactor: 1 }
  for (const name of ['run', 'failed', 'resumed', 'wide'])
    for (const colorScheme of ['light', 'dark'])
      await shot(`${name}.html`, `${name}-${colorScheme}`, { ...looks, colorScheme })
  for (const name of ['failed', 'resumed', 'wide'])
    await shot(`${name}.html`, `${name}-phone`, {
      ...looks,
      viewport: { width: 390, height: 844 },
      deviceScaleFactor: 2,
      isMobile: true
    })
  for (const name of ['failed', 'resumed', 'wide']) {
    const page = await browser.newPage()
    await page.goto(pathToFileURL(join(folder, `${name}.html`)).href)
    await page.pdf({ path: join(extra, `${name}.pdf`), format: 'A4' })
  }
}

/** Chromium encodes WebP, which is a fifth of a PNG. */
const webp = async (browser, png) => {
  const page = await browser.newPage()
  const url = await page.evaluate(
    async (source) => {
      const image = new Image()
      image.src = source
      await image.decode()
      const canvas = document.createElement('canvas')
      canvas.width = image.width
      canvas.height = image.height
      canvas.getContext('2d').drawImage(image, 0, 0)
      return canvas.toDataURL('image/webp', 0.75)
    },
    `data:image/png;base64,${png.toString('base64')}`
  )
  await page.close()
  return Buffer.from(url.split(',')[1], 'base64')
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu']
})
try {
  await resumedRun()
  await simpleRun()
  if (extra !== undefined) await wideRun()
  writeFileSync(join(here, 'terminal.svg'), await terminal())
  await pictures(browser)
} finally {
  await browser.close()
  rmSync(folder, { recursive: true, force: true })
}

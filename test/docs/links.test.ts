import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { describe, expect, test } from 'vitest'
import { anchors, codes, outsideFences, pages, read, root, table } from './markdown.js'

interface Link {
  readonly page: string
  readonly to: string
}

/** `[text](target)` and `[name]: target`, outside of code. */
const links: readonly Link[] = pages.flatMap((page) =>
  outsideFences(read(page)).flatMap((line) => {
    const text = line.replace(/`[^`]*`/g, '')
    const found = [...text.matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)/g)]
    return found.map(([, inline, reference]) => ({ page, to: inline ?? reference ?? '' }))
  })
)

const { files } = JSON.parse(read('package.json')) as { readonly files: ReadonlyArray<string> }

/** Whether a path from the root exists; its last part may contain `*`. */
const exists = (path: string): boolean => {
  const folder = join(root, dirname(path))
  const name = new RegExp(`^${basename(path).replaceAll('.', '\\.').replaceAll('*', '.*')}$`)
  return existsSync(folder) && readdirSync(folder).some((one) => name.test(one))
}

const isOutside = (to: string): boolean => /^[a-z]+:/.test(to)

describe('the documentation', () => {
  test('the documentation has more than ten links between its pages', () => {
    expect(links.filter(({ to }) => !isOutside(to)).length).toBeGreaterThan(10)
  })

  test.each(links.filter(({ to }) => !isOutside(to)))('the link from $page to $to works', ({ page, to }) => {
    const [path = '', anchor] = to.split('#')
    const target = path === '' ? page : normalize(join(dirname(page), path))
    expect(existsSync(join(root, target)), `${target} does not exist`).toBe(true)
    if (anchor === undefined) return
    expect(statSync(join(root, target)).isFile()).toBe(true)
    expect([...anchors(read(target))]).toContain(anchor)
  })

  test('every page of the package but the README is the target of a link', () => {
    const targets = new Set(
      links
        .filter(({ to }) => !isOutside(to))
        .flatMap(({ page, to }) => {
          const path = normalize(join(dirname(page), to.split('#')[0] ?? ''))
          return path.endsWith('/') ? pages.filter((one) => one.startsWith(path)) : [path]
        })
    )
    const isPacked = (page: string): boolean => page !== 'README.md' && !files.includes(`!${page}`)
    expect(pages.filter((page) => isPacked(page) && !targets.has(page))).toEqual([])
  })

  test('every file and folder that docs/ARCHITECTURE.md names exists', () => {
    const cells = table(read('docs/ARCHITECTURE.md'), 'Where do I find …').rows.flatMap(([, place = '']) => place)
    const missing = cells.flatMap((cell) => {
      let folder = 'src'
      return codes(cell).flatMap((path) => {
        if (!/\/|\.ts$/.test(path)) return []
        const found = ['', 'src', folder].map((base) => join(base, path)).find(exists)
        folder = found === undefined ? folder : dirname(found)
        return found === undefined ? [path] : []
      })
    })
    expect(cells.length).toBeGreaterThan(20)
    expect(missing).toEqual([])
  })

  test('every picture is shown by a page and takes at most 48 KB', () => {
    const shown = new Set(links.map(({ page, to }) => normalize(join(dirname(page), to))))
    const pictures = readdirSync(join(root, 'docs/pictures')).filter((name) => !name.endsWith('.mjs'))
    expect(pictures).not.toEqual([])
    for (const name of pictures) {
      expect(shown).toContain(`docs/pictures/${name}`)
      expect(statSync(join(root, 'docs/pictures', name)).size).toBeLessThanOrEqual(48 * 1_024)
    }
  })
})

/** Bundles the scripts that tests start, because a process loads one file in half the time of a hundred. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { afterAll } from 'vitest'

// Inside the repository, so that `dogear` is this package as it was last built, also where esbuild leaves an import.
const above = fileURLToPath(new URL('.tmp/', import.meta.url))
const bundles = new Map<string, string>()
let folder: string | undefined

afterAll(() => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  folder = undefined
  bundles.clear()
})

/** The bundle of a module, built at the first call. */
export const bundled = (path: string): string => {
  const built = bundles.get(path)
  if (built !== undefined) return built
  mkdirSync(above, { recursive: true })
  folder ??= mkdtempSync(join(above, 'bundled-'))
  // Some tests start processes of another user.
  chmodSync(folder, 0o755)
  const outfile = join(folder, basename(path).replace(/\.(m?js|ts)$/, '.mjs'))
  const common = { bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'error' } as const
  // Packages in CommonJS form call `require` for the modules of Node.
  const banner = {
    js: `import { createRequire as requireFrom } from 'node:module'\nconst require = requireFrom(import.meta.url)`
  }
  buildSync({ ...common, entryPoints: [path], outfile, banner })
  bundles.set(path, outfile)
  return outfile
}

// Fills dist/: one ES module for each entry point, with shared chunks, and one for the command; fp-ts, io-ts and what only
// the command needs are bundled. Types come from tsc. Everything is built beside dist/ and then put in its place, so that
// a build that is killed leaves the last one whole.
import { chmod, copyFile, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, transform } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
const [command] = Object.values(manifest.bin)

/** Takes fp-ts and io-ts in their ES module form, of which esbuild keeps only what is used. */
const treeShakeable = {
  name: 'tree-shakeable',
  setup(context) {
    context.onResolve({ filter: /^(fp-ts|io-ts)\/lib\// }, ({ path, ...from }) =>
      context.resolve(path.replace('/lib/', '/es6/'), { kind: from.kind, resolveDir: from.resolveDir })
    )
    context.onResolve({ filter: /^io-ts$/ }, (from) =>
      context.resolve('io-ts/es6/index.js', { kind: from.kind, resolveDir: from.resolveDir })
    )
  }
}

/** Leaves imports of other bundles, and of packages. */
const converted = {
  name: 'converted',
  setup(context) {
    context.onResolve({ filter: /^/ }, ({ path, kind }) =>
      kind === 'entry-point' ? undefined : { path: path.replace(/^(\..*)\.js$/, '$1.cjs'), external: true }
    )
  }
}

/** The entry points, by their sources. */
const entries = Object.values(manifest.exports).flatMap((target) =>
  typeof target === 'object' ? [target.default.replace('./dist/', '').replace(/\.js$/, '')] : []
)

const bundling = {
  absWorkingDir: root,
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  legalComments: 'none',
  plugins: [treeShakeable],
  metafile: true,
  logLevel: 'warning'
}

// At the same depth as dist/: source maps name their sources relative to themselves.
const fresh = join(root, `dist-${process.pid}`)
const freshCommand = join(fresh, relative('dist', command))

await clearAway()
emitTypes()
await keepReachableTypes()
const library = await bundleLibrary()
await shortenKit()
await convertToCommonJs(library)
const bundledFiles = await bundleCommand()
await writeNotices(fresh, 'Dogear', Object.keys(library.inputs))
await writeNotices(dirname(freshCommand), 'The dogear command', bundledFiles)
await writeSchema()
await putInPlace()

/** What killed builds left behind. */
async function clearAway() {
  for (const entry of await readdir(root)) {
    const pid = Number(/^dist-(\d+)/.exec(entry)?.[1])
    if (pid > 0 && !isAlive(pid)) await rm(join(root, entry), { recursive: true, force: true })
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function putInPlace() {
  const former = `${fresh}-former`
  await rename(join(root, 'dist'), former).catch((error) => {
    if (error.code !== 'ENOENT') throw error
  })
  await rename(fresh, join(root, 'dist'))
  await rm(former, { recursive: true, force: true })
}

function emitTypes() {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  const args = [tsc, '--project', join(root, '.ci/tsconfig.build.json'), '--outDir', fresh]
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
  if (status === 0) return
  rmSync(fresh, { recursive: true, force: true })
  process.exit(status ?? 1)
}

/** Keeps the declarations that the entry points lead to. They take the types of fp-ts from a file beside them. */
async function keepReachableTypes() {
  const kept = new Set()
  const visit = async (path) => {
    if (kept.has(path)) return
    kept.add(path)
    const text = await readFile(path, 'utf8')
    const types = relative(dirname(path), join(fresh, 'fp-ts.js'))
    const named = types.startsWith('.') ? types : `./${types}`
    await writeFile(path, text.replaceAll(/^((?:import|export) .*from )'fp-ts\/lib\/\w+\.js'/gm, `$1'${named}'`))
    for (const [, target] of text.matchAll(/(?:from |import\()['"](\.[^'"]*)\.js['"]/g))
      await visit(join(dirname(path), `${target}.d.ts`))
  }
  for (const entry of entries) await visit(join(fresh, `${entry}.d.ts`))
  for (const path of await readdir(fresh, { recursive: true }))
    if (path.endsWith('.d.ts') && !kept.has(join(fresh, path))) await rm(join(fresh, path))
  await copyFile(join(root, '.ci/fp-ts.d.ts'), join(fresh, 'fp-ts.d.ts'))
}

/** Bundles the library. The process of another store is started from a file of its own. */
async function bundleLibrary() {
  const { metafile } = await build({
    ...bundling,
    // A process finds the file of another one beside its own, which is a chunk.
    entryPoints: [
      ...entries.map((entry) => ({ in: `src/${entry}.ts`, out: entry })),
      { in: 'src/adapters/node/storageProcessChild.ts', out: 'chunks/storageProcessChild' }
    ],
    outdir: fresh,
    chunkNames: 'chunks/[name]-[hash]',
    // Drivers of databases are the user's.
    external: [...Object.keys(manifest.dependencies), 'fast-check', 'pg']
  })
  return metafile
}

/** Takes the white space out of the kit, by far the largest bundle. Its names stay, for stack traces. */
async function shortenKit() {
  const path = join(fresh, 'testing/index.js')
  const { code } = await transform(await readFile(path, 'utf8'), { minifyWhitespace: true, minifySyntax: true })
  await writeFile(path, code)
}

/** Writes the files that `require` leads to: each bundle that they need once more, as CommonJS. */
async function convertToCommonJs({ outputs }) {
  const needed = new Set()
  const visit = (path) => {
    if (needed.has(path)) return
    needed.add(path)
    for (const { path: imported, external } of outputs[path].imports) if (!external) visit(imported)
  }
  for (const { require } of Object.values(manifest.exports))
    if (require !== undefined) {
      const path = join(fresh, relative('dist', require))
      visit(relative(root, path.replace(/cjs$/, 'js')))
      // With "module": "node16" a CommonJS module may not name an ES module.
      const types = `// @ts-ignore\nexport * from './${basename(path, '.cjs')}.js'\n`
      await writeFile(path.replace(/cjs$/, 'd.cts'), types)
    }
  await build({
    ...bundling,
    splitting: false,
    format: 'cjs',
    minify: true,
    entryPoints: [...needed],
    outdir: fresh,
    outbase: fresh,
    outExtension: { '.js': '.cjs' },
    // Test runners that have no `import` of ES modules have no `import()` either.
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': '$url' },
    banner: { js: `'use strict';const $url=require('node:url').pathToFileURL(__filename).href;` },
    plugins: [converted]
  })
}

/** Bundles the command; what it imports dynamically becomes a chunk of its own, so that `--version` loads next to nothing. */
async function bundleCommand() {
  const outdir = dirname(freshCommand)
  const { metafile } = await build({
    ...bundling,
    // The process that runs conformance cases has a file of its own, beside the command; tests call the command line.
    entryPoints: {
      main: 'src/cli/main.ts',
      commandLine: 'src/cli/commandLine.ts',
      cases: 'src/cli/conformance/cases.ts'
    },
    outdir,
    chunkNames: '[name]-[hash]',
    minify: true,
    sourcemap: 'linked',
    sourcesContent: false,
    external: [...Object.keys(manifest.dependencies), 'pg'],
    // The bundled packages that are CommonJS call require() for Node's own modules.
    banner: {
      js: `import { createRequire as $createRequire } from 'node:module';const require = $createRequire(import.meta.url);`
    }
  })
  await chmod(freshCommand, 0o755)
  return Object.keys(metafile.inputs)
}

/** Editors read the schema of workflow files from the package. */
async function writeSchema() {
  const { status, stdout } = spawnSync(process.execPath, [freshCommand, 'schema'], { encoding: 'utf8' })
  if (status !== 0) throw new Error('dogear schema failed')
  await writeFile(join(fresh, 'workflow.schema.json'), JSON.stringify(JSON.parse(stdout)))
}

/** The licences of what went into a bundle ask to be passed on with it. */
async function writeNotices(folder, what, files) {
  const packages = new Set(files.map((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]).filter(Boolean))
  const notices = await Promise.all([...packages].sort().map(notice))
  const heading = `${what} contains the following packages.\n`
  await writeFile(join(folder, 'THIRD-PARTY-NOTICES.txt'), [heading, ...notices].join('\n'))
}

async function notice(name) {
  const folder = join(root, 'node_modules', name)
  const { version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e([.-]|$)/i.test(entry))
  if (file === undefined) throw new Error(`${name} is bundled, but has no licence file to pass on`)
  return `${'-'.repeat(80)}\n${name} ${version} (${license})\n\n${await readFile(join(folder, file), 'utf8')}`
}

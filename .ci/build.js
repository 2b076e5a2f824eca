// Fills dist/: one ES module for each entry point and for the command, with shared chunks; fp-ts, io-ts and what only the
// command needs are bundled. Types come from tsc. Everything is built beside dist/ and then put in its place, so that a
// build that is killed leaves the last one whole.
import { chmod, copyFile, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, transform } from 'esbuild'
import { reachableTypes } from './types.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
const [command] = Object.values(manifest.bin)

/** The name of a bundle in esbuild's report. */
const outputOf = (entry) => relative(root, join(fresh, `${entry}.js`))

/** The bundles that load with those at `from`, at once or later. */
function reachable(outputs, from, isFollowed = () => true) {
  const found = new Set(from)
  for (const path of found)
    for (const one of outputs[path].imports) if (!one.external && isFollowed(one)) found.add(one.path)
  return found
}

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

/** Imports the modules of Node that bundled CommonJS packages require. */
const imported = {
  name: 'imported',
  setup(context) {
    context.onResolve({ filter: /^/ }, ({ path, kind }) =>
      kind === 'require-call' && isBuiltin(path) ? { path, namespace: 'required' } : undefined
    )
    context.onLoad({ filter: /^/, namespace: 'required' }, ({ path }) => ({ contents: `export * from '${path}'` }))
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
  target.default === undefined ? [] : [target.default.replace('./dist/', '').replace(/\.js$/, '')]
)

/** The entry points that have only types. */
const typeEntries = Object.values(manifest.exports).flatMap(({ types }) =>
  types?.default === undefined ? [] : [types.default.replace('./dist/', '').replace(/\.d\.ts$/, '')]
)

const bundling = {
  absWorkingDir: root,
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  legalComments: 'none',
  plugins: [treeShakeable, imported],
  metafile: true,
  logLevel: 'warning'
}

// At the same depth as dist/: source maps name their sources relative to themselves.
const fresh = join(root, `dist-${process.pid}`)

await clearAway()
emitTypes()
await keepReachableTypes()
const { inputs, outputs } = await bundle()
await joinChunks(outputs)
await shorten(outputs)
await convertToCommonJs(outputs)
await writeNotices(Object.keys(inputs))
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
  const tsc = join(root, 'node_modules/typescript-native/bin/tsc')
  const args = [tsc, '--project', join(root, '.ci/tsconfig.build.json'), '--outDir', fresh]
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
  if (status === 0) return
  rmSync(fresh, { recursive: true, force: true })
  process.exit(status ?? 1)
}

/** Keeps the declarations that the entry points lead to. They take the types of fp-ts from a file beside them. */
async function keepReachableTypes() {
  const all = (await readdir(fresh, { recursive: true })).filter((path) => path.endsWith('.d.ts'))
  const texts = new Map(all.map((path) => [join(fresh, path), readFileSync(join(fresh, path), 'utf8')]))
  const kept = reachableTypes(
    [...entries, ...typeEntries].map((entry) => join(fresh, `${entry}.d.ts`)),
    (path) => texts.get(path)
  )
  for (const path of texts.keys()) {
    const text = kept.get(path)
    if (text === undefined) {
      await rm(path)
      continue
    }
    const types = relative(dirname(path), join(fresh, 'fp-ts.js'))
    const named = types.startsWith('.') ? types : `./${types}`
    await writeFile(
      path,
      shortened(text.replaceAll(/^((?:import|export) .*from )'fp-ts\/lib\/\w+\.js'/gm, `$1'${named}'`))
    )
  }
  await copyFile(join(root, '.ci/fp-ts.d.ts'), join(fresh, 'fp-ts.d.ts'))
}

/** Leaves out what only a reader of the source or the reference uses: categories, half of the indentation. */
function shortened(types) {
  return types
    .replaceAll(/^( *\*\n)? *\* @category .*\n/gm, '')
    .replaceAll(/^(?: {4})+/gm, (indent) => ' '.repeat(indent.length / 2))
}

/** Bundles the library and the command. A process finds the file of another one beside its own, which is a chunk. */
async function bundle() {
  const { metafile } = await build({
    ...bundling,
    entryPoints: [
      ...entries.map((entry) => ({ in: `src/${entry}.ts`, out: entry })),
      { in: 'src/cli/main.ts', out: command.replace('./dist/', '').replace(/\.js$/, '') },
      { in: 'src/adapters/node/storageProcessChild.ts', out: 'chunks/storageProcessChild' },
      { in: 'src/cli/conformance/cases.ts', out: 'chunks/cases' },
      // Tests call it.
      { in: 'src/cli/commandLine.ts', out: 'cli/commandLine' }
    ],
    outdir: fresh,
    chunkNames: 'chunks/[name]-[hash]',
    // Tests read them; the package has none.
    sourcemap: 'linked',
    sourcesContent: false,
    // Drivers of databases are the user's.
    external: [...Object.keys(manifest.dependencies), 'fast-check', 'pg']
  })
  await chmod(join(fresh, relative('dist', command)), 0o755)
  return metafile
}

/** Makes one file of the chunks that a run loads together anyway, because each file takes a process most of a millisecond. */
async function joinChunks(outputs) {
  const groups = groupsOf(outputs)
  const joined = Object.keys(groups).map((name) => relative(root, join(fresh, `chunks/${name}.js`)))
  /** An export has the number of its chunk behind its name, because two chunks may use one name. */
  const placeOf = (path) => {
    const members = Object.values(groups)
    const group = members.findIndex((paths) => paths.includes(path))
    return group === -1 ? undefined : { file: joined[group], mark: `$${members[group].indexOf(path)}` }
  }
  const others = (members) => ({
    name: 'others',
    setup: (context) =>
      context.onResolve({ filter: /^/ }, ({ path, kind }) =>
        kind === 'entry-point' || members.some((member) => basename(member) === basename(path))
          ? undefined
          : { path, external: true }
      )
  })
  for (const [name, members] of Object.entries(groups)) {
    const contents = members.map((path) => {
      const names = outputs[path].exports.map((one) => `${one} as ${one}${placeOf(path).mark}`)
      return `export { ${names.join(', ')} } from './${basename(path)}'`
    })
    await build({
      ...bundling,
      splitting: false,
      stdin: { contents: contents.join('\n'), resolveDir: join(fresh, 'chunks') },
      outfile: join(fresh, `chunks/${name}.js`),
      sourcemap: 'linked',
      sourcesContent: false,
      plugins: [others(members)]
    })
    const imports = members.flatMap((path) => outputs[path].imports).filter(({ path }) => !members.includes(path))
    outputs[relative(root, join(fresh, `chunks/${name}.js`))] = { imports }
    for (const path of members)
      for (const file of [path, `${path}.map`]) {
        await rm(join(root, file))
        delete outputs[file]
      }
  }
  for (const path of Object.keys(outputs).filter((one) => one.endsWith('.js'))) {
    const toPlace = (target) => placeOf(relative(root, join(root, dirname(path), target)))
    const text = await readFile(join(root, path), 'utf8')
    const named = text.replaceAll(/^import (?:\{([^}]*)\} from )?"(\..*)";$/gm, (statement, names, target) => {
      const place = toPlace(target)
      if (place === undefined) return statement
      const from = JSON.stringify(`./${relative(dirname(path), place.file)}`.replace(/^\.\/\.\./, '..'))
      return names === undefined ? `import ${from};` : `import {${marked(names, place.mark)}} from ${from};`
    })
    const lost = Object.values(groups)
      .flat()
      .find((member) => named.includes(`/${basename(member)}"`))
    if (lost !== undefined) throw new Error(`${path} still imports ${lost}, which was joined`)
    await writeFile(join(root, path), named)
    outputs[path].imports = outputs[path].imports.map((one) => ({ ...one, path: placeOf(one.path)?.file ?? one.path }))
  }
}

/** `a, b as c` becomes `a$1 as a, b$1 as c`. */
function marked(names, mark) {
  return names.replaceAll(/([\w$]+)(?: as ([\w$]+))?/g, (_, name, here = name) => `${name}${mark} as ${here}`)
}

/**
 * The chunks to join: what a run loads with each store (`data`), what it loads besides (`engine`), and what stores share (`stores`). What the
 * command loads first stays alone.
 */
function groupsOf(outputs) {
  const from = (entry) => reachable(outputs, [outputOf(entry)])
  const first = reachable(outputs, [outputOf('cli/main')], ({ kind }) => kind === 'import-statement')
  const run = from('promise/index')
  const stores = entries.filter((entry) => /^adapters\/(?!node)/.test(entry)).map(from)
  const groups = { data: [], engine: [], stores: [] }
  for (const path of Object.keys(outputs)) {
    if (!/chunks\/chunk-\w+\.js$/.test(path) || first.has(path)) continue
    const users = stores.filter((store) => store.has(path)).length
    if (run.has(path)) groups[users > 0 ? 'data' : 'engine'].push(path)
    else if (users > 1) groups.stores.push(path)
  }
  return groups
}

/** Takes the white space out of the library, whose names and lines stay for stack traces, and shortens what only the command or the kit loads. */
async function shorten(outputs) {
  const library = reachable(outputs, entries.filter((entry) => entry !== 'testing/index').map(outputOf))
  for (const path of Object.keys(outputs).filter((one) => one.endsWith('.js'))) {
    const options = library.has(path)
      ? { minifyWhitespace: true, minifySyntax: true, lineLimit: 120 }
      : { minify: true }
    const { code } = await transform(await readFile(path, 'utf8'), options)
    await writeFile(path, code)
  }
}

/** Writes the files that `require` leads to: each bundle that they need once more, as CommonJS. */
async function convertToCommonJs(outputs) {
  const required = Object.values(manifest.exports).flatMap(({ require }) => (require === undefined ? [] : [require]))
  const typesOnly = Object.values(manifest.exports).flatMap(({ types }) => types?.require ?? [])
  for (const types of [...required.map((path) => path.replace(/cjs$/, 'd.cts')), ...typesOnly]) {
    const path = join(fresh, relative('dist', types))
    // With "module": "node16" a CommonJS module may not name an ES module.
    await writeFile(path, `// @ts-ignore\nexport * from './${basename(path, '.d.cts')}.js'\n`)
  }
  const needed = reachable(
    outputs,
    required.map((path) => outputOf(path.replace(/^\.\/dist\/|\.cjs$/g, '')))
  )
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

/** Editors read the schema of workflow files from the package. */
async function writeSchema() {
  const { status, stdout } = spawnSync(process.execPath, [join(fresh, relative('dist', command)), 'schema'], {
    encoding: 'utf8'
  })
  if (status !== 0) throw new Error('dogear schema failed')
  await writeFile(join(fresh, 'workflow.schema.json'), JSON.stringify(JSON.parse(stdout)))
}

/** The licences of what went into a bundle ask to be passed on with it. */
async function writeNotices(files) {
  const packages = new Set(files.map((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]).filter(Boolean))
  const notices = await Promise.all([...packages].sort().map(notice))
  const heading = 'Dogear contains the following packages.\n'
  await writeFile(join(fresh, 'THIRD-PARTY-NOTICES.txt'), [heading, ...notices].join('\n'))
}

async function notice(name) {
  const folder = join(root, 'node_modules', name)
  const { version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e([.-]|$)/i.test(entry))
  if (file === undefined) throw new Error(`${name} is bundled, but has no licence file to pass on`)
  return `${'-'.repeat(80)}\n${name} ${version} (${license})\n\n${await readFile(join(folder, file), 'utf8')}`
}

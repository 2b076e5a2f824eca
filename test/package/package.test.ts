import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, normalize, resolve } from 'node:path'
import { build, transformSync } from 'esbuild'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { outsideFences } from '../docs/markdown.js'
import { nodes } from '../matrix/nodes.js'
import { type Consumer, consume, entryPoints, killInSecondStep, manifest, root, start, tsc } from './consumer.js'
import { versions } from './tools.js'

const nodeVersions = new Map([[process.version, process.execPath], ...nodes()])

const optionalPeers = Object.keys(manifest.peerDependenciesMeta ?? {})
const forTypes = ['@types/node', ...optionalPeers].map((name) => `${name}@${manifest.devDependencies[name]}`)

/** Exports of a program that imports the kit alone. */
const reports = `
import { checkModel, checkPlanLaws, ConformanceReport, crashEverywhere, CrashReport, runArtifactConformance, runConformance } from 'dogear/testing'

export const conformance = (...given: Parameters<typeof runConformance<string>>) => runConformance(...given)
export const artifacts = (...given: Parameters<typeof runArtifactConformance<string>>) => runArtifactConformance(...given)
export const results = async (...given: Parameters<typeof conformance>) => (await conformance(...given)).results
export const model = (...given: Parameters<typeof checkModel<string>>) => checkModel(...given)
export const laws = (...given: Parameters<typeof checkPlanLaws>) => checkPlanLaws(...given)
export const crashes = (...given: Parameters<typeof crashEverywhere>) => crashEverywhere(...given)
export const texts = [ConformanceReport.toText, CrashReport.toText] as const
`

let consumer: Consumer
beforeAll(() => {
  consumer = consume(...forTypes)
})
afterAll(() => {
  consumer?.remove()
})

interface Found {
  readonly exports: readonly string[]
  readonly listeners: readonly string[]
  readonly globals: readonly string[]
  readonly patched: readonly string[]
  readonly commonJs: readonly string[]
}

/** Copies a script beside this file to the folder of the installation. */
const copied = (script: string): string =>
  consumer.write(script, readFileSync(join(import.meta.dirname, script), 'utf8'))

/** Loads entry points in order in a separate process. */
async function probe(
  node: string,
  way: 'import' | 'require',
  ...names: readonly string[]
): Promise<ReadonlyMap<string, Found>> {
  const { code, stdout, stderr } = await start(consumer.folder, node, copied('probe.cjs'), way, ...names)
  expect(code, stderr).toBe(0)
  return new Map(JSON.parse(stdout) as ReadonlyArray<readonly [string, Found]>)
}

const alone: Array<string> = []
afterAll(() => {
  for (const folder of alone) rmSync(folder, { recursive: true, force: true })
})

const host = readFileSync(join(import.meta.dirname, 'host.mjs'), 'utf8')

/** A program as one file (`require`: a CommonJS program), in its own folder or in the consumer's. */
const bundled = async (
  format: 'esm' | 'cjs' | 'require',
  isAlone: boolean,
  text = host
): Promise<{ readonly file: string; readonly folder: string }> => {
  const folder = mkdtempSync(join(isAlone ? tmpdir() : consumer.folder, 'bundle-'))
  if (isAlone) alone.push(folder)
  const file = join(folder, format === 'esm' ? 'host.mjs' : 'host.cjs')
  const contents = format === 'require' ? transformSync(text, { format: 'cjs' }).code : text
  const stdin = { contents, resolveDir: consumer.folder }
  await build({ stdin, outfile: file, bundle: true, platform: 'node', format: format === 'esm' ? 'esm' : 'cjs' })
  return { file, folder }
}

/** Kills a bundled host in its second step, and starts it again. */
const expectToResume = async (node: string, file: string, folder: string): Promise<void> => {
  const [state, log] = [join(folder, 'state'), join(folder, 'log')]
  expect(await killInSecondStep(node, file, state, log, 'first')).toBe('first\nsecond\n')
  const resumed = await start(folder, node, file, state, log, 'second')
  expect(resumed).toEqual({ code: 0, stdout: 'second\nthird\nCompleted {}\n', stderr: '' })
  expect(readFileSync(log, 'utf8')).toBe('first\nsecond\nsecond\nthird\n')
}

describe.each([...nodeVersions])('on Node %s', (_, node) => {
  let imported: ReadonlyMap<string, Found>
  let required: ReadonlyMap<string, Found>
  beforeAll(async () => {
    imported = await probe(node, 'import', ...entryPoints)
    required = await probe(node, 'require', ...entryPoints)
  })

  test.each(entryPoints)('%s exports the same names to import and require', (entryPoint) => {
    const exported = imported.get(entryPoint)?.exports ?? []
    expect(exported).not.toEqual([])
    expect(required.get(entryPoint)?.exports).toEqual(exported)
  })

  test('require and import load the same module', async () => {
    const script = consumer.write(
      'same.mjs',
      `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)
for (const name of ${JSON.stringify(entryPoints)}) console.log(require(name) === (await import(name)))
`
    )
    const { stdout, stderr } = await start(consumer.folder, node, script)
    expect(stdout, stderr).toBe('true\n'.repeat(entryPoints.length))
  })

  test('a run of a bundled program is killed and resumes', async () => {
    const { file, folder } = await bundled('esm', true)
    await expectToResume(node, file, folder)
  })

  test('the command prints its version', async () => {
    const bin = join(consumer.installed, manifest.bin['dogear'] ?? '')
    expect(await start(consumer.folder, node, bin, '--version')).toEqual({
      code: 0,
      stdout: `${manifest.version}\n`,
      stderr: ''
    })
  })

  test('a failed program resumes at its failed step', async () => {
    const { code, stdout, stderr } = await start(consumer.folder, node, copied('program.mjs'))
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ executed: ['first', 'second after 1'], ends: ['Failed', 'Completed'] })
  })

  test('a failed workflow resumes at its failed step', async () => {
    const bin = join(consumer.installed, manifest.bin['dogear'] ?? '')
    const id = `on-node-${process.pid}-${[...nodeVersions.values()].indexOf(node)}`
    consumer.write(
      `${id}.yaml`,
      `name: ${id}
steps:
  - name: first
    shell: echo first >> ${id}.log
  - name: second
    shell: test -e ${id}.mended && echo second >> ${id}.log
`
    )
    const failed = await start(consumer.folder, node, bin, 'run', `${id}.yaml`, '--id', id)
    expect(failed.code, failed.stderr).toBe(1)
    consumer.write(`${id}.mended`, '')
    const resumed = await start(consumer.folder, node, bin, 'resume', id)
    expect(resumed.code, resumed.stderr).toBe(0)
    expect(readFileSync(join(consumer.folder, `${id}.log`), 'utf8')).toBe('first\nsecond\n')
  })

  test('the command reports whether a store keeps the laws, and which one it breaks', async () => {
    const bin = join(consumer.installed, manifest.bin['dogear'] ?? '')
    consumer.write(
      'spec.mjs',
      `import { memoryData, memoryStorage } from '${manifest.name}/memory'
const create = async () => memoryData()
export const spec = { name: 'mine', create, reopen: async (data) => memoryStorage(data), capabilities: ['history'] }
export const broken = {
  ...spec,
  reopen: async (data) => ({ ...memoryStorage(data), list: () => async () => ({ _tag: 'Right', right: ['b', 'a'] }) })
}
`
    )
    const words = ['conformance', 'spec.mjs', '--only', 'CS-LIST-01', '--only', 'CS-HIST-01']
    const good = await start(consumer.folder, node, bin, ...words)
    expect(good.code, good.stdout + good.stderr).toBe(0)
    expect(good.stdout).toMatch(/^✓ CS-LIST-01 [^]*\b0 failed, \d+ not claimed\n$/m)
    const bad = await start(consumer.folder, node, bin, ...words, '--export', 'broken')
    expect(bad.code, bad.stdout + bad.stderr).toBe(1)
    expect(bad.stdout).toMatch(/^✗ CS-LIST-01 [^]*\b1 failed, \d+ not claimed\n$/m)
  })
})

describe('a program bundled by esbuild', () => {
  const places = [
    ['in a folder with its packages', false],
    ['in a folder without node_modules', true]
  ] as const
  const cases = (['esm', 'cjs', 'require'] as const).flatMap((format) =>
    places.map(([where, isAlone]) => ({ format, where, isAlone }))
  )

  test.each(cases)('a bundled program runs, is killed, and resumes ($format, $where)', async ({ format, isAlone }) => {
    const { file, folder } = await bundled(format, isAlone)
    await expectToResume(process.execPath, file, folder)
    const copy = JSON.parse(readFileSync(join(folder, 'state/runs/r/checkpoint.json'), 'utf8')) as {
      readonly state: { readonly _tag: string }
    }
    expect(copy.state._tag).toBe('Completed')
  })

  test.each(['esm', 'cjs'] as const)(
    'a store in a child process says that it needs dogear outside of the bundle (%s)',
    async (format) => {
      const text = `import { storageProcess } from '${manifest.name}/node'\nstorageProcess('x').catch(({ message }) => console.log(message))`
      const { file, folder } = await bundled(format, true, text)
      const { stdout } = await start(folder, process.execPath, file)
      expect(stdout).toBe(
        'storageProcess: a bundle lacks the file of the child process; leave dogear out of the bundle\n'
      )
    }
  )
})

describe('the CommonJS form', () => {
  const forms = Object.entries(manifest.exports).flatMap(([path, target]) =>
    typeof target === 'object' && target.require !== undefined
      ? [{ name: path.replace(/^\./, manifest.name), file: `./node_modules/${manifest.name}/${target.require}` }]
      : []
  )

  test('every entry point but dogear/testing has a CommonJS form with the same exports', async () => {
    expect(forms.map(({ name }) => name)).toEqual(entryPoints.filter((name) => name !== `${manifest.name}/testing`))
    const imported = await probe(process.execPath, 'import', ...forms.map(({ name }) => name))
    const required = await probe(process.execPath, 'require', ...forms.map(({ file }) => file))
    const offers = (found: typeof imported, by: 'name' | 'file'): readonly unknown[] =>
      forms.map((form) => found.get(form[by])?.exports)
    expect(offers(required, 'file')).toEqual(offers(imported, 'name'))
  })

  test('the ES module form runs workflows of the CommonJS form, on its stores, and recognises its errors', async () => {
    const text = `import { createRequire } from 'node:module'
import { isRunFailure, runOutcome } from '${manifest.name}/promise'
const require = createRequire(import.meta.url)
const { jsonFileStorage } = require('./node_modules/${manifest.name}/dist/adapters/json-file/index.cjs')
const { runOrResume, workflow } = require('./node_modules/${manifest.name}/dist/promise/index.cjs')
const storage = jsonFileStorage('mixed')
const program = (isBroken) =>
  workflow('mixed').step('parts', async ({ step }) => (await step('one', () => 1)) + (await step('two', () => 2)))
    .step('last', ({ outputs }) => { if (isBroken) throw new Error('broken'); return outputs.parts })
const failed = await runOrResume(program(true), { id: 'r', storage }).catch((error) => error)
console.log(isRunFailure(failed), JSON.stringify((await runOutcome(program(false), { id: 'r', storage })).outputs))
`
    const ended = await start(consumer.folder, process.execPath, consumer.write('mixed.mjs', text))
    expect(ended).toEqual({ code: 0, stdout: 'true {"parts":3,"last":3}\n', stderr: '' })
  })

  test('the CommonJS form starts a store in a child process', async () => {
    const script = consumer.write(
      'child.cjs',
      `const { storageProcess } = require('./node_modules/${manifest.name}/dist/adapters/node/index.cjs')
const store = './node_modules/${manifest.name}/dist/adapters/memory.js'
storageProcess(store, 'memoryStorage').then(async ({ storage, kill }) => {
  console.log((await storage.claim('r', { host: 'a', pid: 1 })())._tag)
  await kill()
})
`
    )
    expect((await start(consumer.folder, process.execPath, script)).stdout).toBe('Right\n')
  })
})

describe('importing', () => {
  test.each(entryPoints)('importing %s leaves the process unchanged', async (entryPoint) => {
    const found = (await probe(process.execPath, 'import', entryPoint)).get(entryPoint)
    const { listeners, globals, patched, commonJs } = found ?? expect.fail(`no report on ${entryPoint}`)
    expect({ listeners, globals, patched }).toEqual({ listeners: [], globals: [], patched: [] })
    const drivers = Object.keys(manifest.dependencies).map((name) => join('node_modules', name, '/'))
    expect(commonJs.filter((path) => drivers.some((driver) => path.includes(driver)))).toEqual([])
  })

  test('package.json can be read by programs', async () => {
    const script = consumer.write('version.cjs', `console.log(require('${manifest.name}/package.json').version)`)
    expect((await start(consumer.folder, process.execPath, script)).stdout).toBe(`${manifest.version}\n`)
  })

  test('only the entry points can be imported', async () => {
    const script = consumer.write('inside.mjs', `await import('${manifest.name}/dist/index.js')`)
    expect((await start(consumer.folder, process.execPath, script)).stderr).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED')
  })
})

describe('the types', () => {
  const options = {
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023'],
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true
  }
  /** A module that imports every entry point and does something with each. */
  const module = (importing: (local: string, name: string) => string, using = ''): string =>
    entryPoints.map((name, i) => `${importing(`_${i}`, name)}\nvoid _${i}${using}\n`).join('')
  const esm = (local: string, name: string): string => `import * as ${local} from '${name}'`
  const cjs = (local: string, name: string): string => `import ${local} = require('${name}')`

  /** The compiler errors of all these modules together. */
  let errors: readonly string[]
  beforeAll(async () => {
    consumer.write('esm.mts', module(esm))
    consumer.write('cjs.cts', module(cjs))
    consumer.write('typed.mts', module(esm, '.thereIsNoSuchExport'))
    const files = ['esm.mts', 'cjs.cts', 'typed.mts']
    const tsconfig = consumer.write('tsconfig.json', JSON.stringify({ compilerOptions: options, files }))
    const { stdout } = await start(consumer.folder, process.execPath, tsc.inJavaScript, '--project', tsconfig)
    errors = stdout.split('\n').filter((line) => line !== '')
  })
  const isOfTyped = (line: string): boolean => line.startsWith('typed.mts')

  test('an ES module and a CommonJS module type-check against every entry point', () => {
    expect(errors.filter((line) => !isOfTyped(line))).toEqual([])
  })

  test('a CommonJS module type-checks with "module": "node16" against every entry point but dogear/testing', async () => {
    const names = entryPoints.filter((name) => !name.endsWith('/testing'))
    consumer.write('node16.cts', names.map((name, i) => `${cjs(`_${i}`, name)}\nvoid _${i}\n`).join(''))
    const compilerOptions = { ...options, module: 'node16' }
    const tsconfig = consumer.write('node16.json', JSON.stringify({ compilerOptions, files: ['node16.cts'] }))
    expect((await start(consumer.folder, process.execPath, tsc.newest, '--project', tsconfig)).stdout).toBe('')
  })

  test('declarations of exported reports name no file of the package', async () => {
    consumer.write('reports.mts', reports)
    const compilerOptions = { ...options, noEmit: false, declaration: true, emitDeclarationOnly: true, outDir: 'types' }
    const tsconfig = consumer.write('reports.json', JSON.stringify({ compilerOptions, files: ['reports.mts'] }))
    expect((await start(consumer.folder, process.execPath, tsc.newest, '--project', tsconfig)).stdout).toBe('')
    const declared = readFileSync(join(consumer.folder, 'types/reports.d.mts'), 'utf8')
    expect(declared).toContain('Promise<import("dogear/testing/types").ModelReport>')
    expect(declared).not.toContain('/dist/')
  })

  test('no exported type is any', () => {
    const found = errors.filter(isOfTyped)
    expect(found).toHaveLength(entryPoints.length)
    for (const line of found) expect(line).toContain('error TS2339')
  })

  test('the published types import only types of Node, and those of dogear/testing also fast-check', () => {
    const dist = join(consumer.installed, 'dist')
    const all = new Set(
      readdirSync(dist, { recursive: true, encoding: 'utf8' })
        .filter((path) => path.endsWith('.d.ts'))
        .flatMap((path) => [...packagesOf(join(dist, path))])
    )
    const known = ['@types/node', 'fast-check']
    expect(all).toContain('fast-check')
    expect([...all].filter((name) => !known.includes(name) && !name.startsWith('node:'))).toEqual([])
  })

  test('publint reports nothing', async () => {
    const publint = join(root, 'node_modules/.bin/publint')
    const { code, stdout, stderr } = await start(root, publint, 'run', consumer.tarball, '--strict')
    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toContain('All good!')
  })

  test.each([
    ['dogear/testing by ES modules', ['--profile', 'esm-only', '--entrypoints', './testing']],
    ['every other entry point by both kinds of modules', ['--profile', 'node16', '--exclude-entrypoints', './testing']]
  ])('every resolution of %s finds the right types', async (_, profile) => {
    const attw = join(root, 'node_modules/.bin/attw')
    const how = [...profile, '--no-definitely-typed', '--format', 'ascii', '--no-color']
    const { code, stdout, stderr } = await start(root, attw, consumer.tarball, ...how)
    expect(code, stdout + stderr).toBe(0)
  })
})

test('the guide names the versions of Jest, Bun, Deno and esbuild that are tested', () => {
  const guide = readFileSync(join(root, 'docs/guide/embedding.md'), 'utf8')
  const tested = { ...versions, esbuild: manifest.devDependencies['esbuild'] }
  const missing = Object.entries(tested).filter(([tool, version]) => !guide.includes(`\n| ${tool} | ${version} |`))
  expect(missing).toEqual([])
})

describe('the tarball', () => {
  test('installing the package installs nothing that only the command or the tests need', () => {
    const record = JSON.parse(readFileSync(join(consumer.folder, 'node_modules/.package-lock.json'), 'utf8')) as {
      readonly packages: Readonly<Record<string, unknown>>
    }
    const installed = Object.keys(record.packages).map((path) => path.replace(/^.*node_modules\//, ''))
    const needed = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies)]
    const expected = ['@types/node', ...needed]
    expect(installed).toEqual(expect.arrayContaining([manifest.name, ...needed]))
    const surplus = Object.keys(manifest.devDependencies).filter((name) => !expected.includes(name))
    expect(installed.filter((name) => surplus.includes(name))).toEqual([])
  })

  test('the library needs two packages and no peer dependency', () => {
    expect(Object.keys(manifest.dependencies).sort()).toEqual(['proper-lockfile', 'write-file-atomic'])
    expect(Object.keys(manifest.peerDependencies).filter((name) => !optionalPeers.includes(name))).toEqual([])
  })

  test('the package takes at most 3 MB unpacked', () => {
    const files = readdirSync(consumer.installed, { recursive: true, withFileTypes: true })
    const sizes = files.filter((file) => file.isFile()).map((file) => statSync(join(file.parentPath, file.name)).size)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(3_000_000)
  })

  test('the tarball has the licence of every package that the library and the command contain', () => {
    const dist = join(root, 'dist')
    const notices = readFileSync(join(consumer.installed, 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8')
    const contained = readdirSync(dist, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.map'))
      .flatMap((path) => sourcesOf(join(dist, path)).flatMap(packageOf))
    expect(new Set(contained)).toContain('fp-ts')
    expect(new Set(contained)).toContain('yaml')
    expect([...new Set(contained)].filter((name) => !notices.includes(`\n${name} `))).toEqual([])
  })

  test('the library contains no package but fp-ts and io-ts', () => {
    const loaded = new Set(
      Object.values(manifest.exports).flatMap((to) => (typeof to === 'object' ? (to.default ?? []) : []))
    )
    for (const path of loaded)
      for (const [, to = ''] of readFileSync(join(root, path), 'utf8').matchAll(
        /(?:from|import|import\()\s*["'](\.[^"']*\.js)["']/g
      ))
        loaded.add(join(dirname(path), to))
    const contained = [...loaded].flatMap((path) => sourcesOf(join(root, `${path}.map`)).flatMap(packageOf))
    expect([...new Set(contained)].sort()).toEqual(['fp-ts', 'io-ts'])
  })

  test('the tarball has no tests, tools or settings', () => {
    const top = ['CHANGELOG.md', 'LICENSE', 'README.md', 'benchmarks', 'dist', 'docs', 'examples', 'package.json']
    expect(readdirSync(consumer.installed).filter((name) => !top.includes(name))).toEqual([])
    expect(top.filter((name) => !existsSync(join(consumer.installed, name)))).toEqual([])
  })

  test('the tarball has every file that its pages link to', () => {
    const pagesIn = readdirSync(consumer.installed, { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.md')
    )
    const targets = pagesIn.flatMap((page) =>
      outsideFences(readFileSync(join(consumer.installed, page), 'utf8')).flatMap((line) =>
        [...line.replace(/`[^`]*`/g, '').matchAll(/\]\(([^)\s#]+)/g)]
          .filter(([, to = '']) => !/^[a-z]+:/.test(to))
          .map(([, to = '']) => normalize(join(dirname(page), to)))
      )
    )
    expect(targets).toContain('docs/guide/embedding.md')
    expect(targets.filter((path) => !existsSync(join(consumer.installed, path)))).toEqual([])
  })
})

describe('the entry points', () => {
  const sourceOf = (target: string): string => target.replace('./dist/', 'src/').replace(/\.js$/, '.ts')
  const targets = Object.values(manifest.exports).flatMap((target) =>
    typeof target === 'object' ? (target.default ?? []) : []
  )

  test('no entry point in package.json is a wildcard pattern', () => {
    expect(Object.keys(manifest.exports).filter((path) => path.includes('*'))).toEqual([])
  })

  test('the documentation covers each entry point', () => {
    const typedoc = JSON.parse(readFileSync(join(root, 'typedoc.json'), 'utf8')) as {
      readonly entryPoints: readonly string[]
    }
    const typesOnly = ['src/public/signatureTypes.ts', 'src/testing/public/signatureTypes.ts']
    const documented = typedoc.entryPoints.filter((entry) => !typesOnly.includes(entry))
    expect(documented).toEqual(targets.map((target) => sourceOf(target)))
  })

  test('the examples and benchmarks type-check against the source of each entry point', () => {
    const tsconfig = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')) as {
      readonly compilerOptions: { readonly paths: Readonly<Record<string, readonly string[]>> }
    }
    const sources = targets.map((target) => [`./${sourceOf(target)}`])
    expect(tsconfig.compilerOptions.paths).toEqual(Object.fromEntries(entryPoints.map((name, i) => [name, sources[i]])))
  })
})

/** The packages that declarations import, also through other files. Imports in comments do not count. */
const packagesOf = (entry: string, seen = new Set<string>()): ReadonlySet<string> => {
  const packages = new Set<string>()
  seen.add(entry)
  for (const { fileName } of ts.preProcessFile(readFileSync(entry, 'utf8')).importedFiles) {
    if (!fileName.startsWith('.')) packages.add(/^(?:@[^/]+\/)?[^/]+/.exec(fileName)?.[0] ?? fileName)
    else {
      const path = resolve(entry, '..', fileName.replace(/\.js$/, '.d.ts'))
      if (!seen.has(path)) for (const name of packagesOf(path, seen)) packages.add(name)
    }
  }
  return packages
}

/** The package of a source, if it is of one. */
const packageOf = (source: string): readonly string[] =>
  /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.slice(1) ?? []

const sourcesOf = (map: string): readonly string[] =>
  (JSON.parse(readFileSync(map, 'utf8')) as { readonly sources: readonly string[] }).sources

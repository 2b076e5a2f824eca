// Fills dist/: the library through tsc, one module for each source file; the command through esbuild, one bundle that
// needs nothing installed but the library's own dependencies.
import { chmod, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

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

await rm(join(root, 'dist'), { recursive: true, force: true })
emitLibrary()
const bundledFiles = await bundleCommand()
await writeNotices(bundledFiles)

function emitLibrary() {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  const { status } = spawnSync(process.execPath, [tsc, '--project', join(root, '.ci/tsconfig.build.json')], {
    stdio: 'inherit'
  })
  if (status !== 0) process.exit(status ?? 1)
}

/** Bundles the command; what it imports dynamically becomes a chunk of its own, so that `--version` loads next to nothing. */
async function bundleCommand() {
  const outdir = dirname(join(root, command))
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { main: 'src/cli/main.ts' },
    outdir,
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    minifyWhitespace: true,
    minifySyntax: true,
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'none',
    external: Object.keys(manifest.dependencies),
    plugins: [treeShakeable],
    // The bundled packages that are CommonJS call require() for Node's own modules.
    banner: {
      js: `import { createRequire as $createRequire } from 'node:module';const require = $createRequire(import.meta.url);`
    },
    metafile: true,
    logLevel: 'warning'
  })
  await chmod(join(root, command), 0o755)
  return Object.keys(metafile.inputs)
}

/** The licences of what went into the bundle ask to be passed on with it. */
async function writeNotices(files) {
  const packages = new Set(files.map((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]).filter(Boolean))
  const notices = await Promise.all([...packages].sort().map(notice))
  const heading = `The dogear command contains the following packages.\n`
  await writeFile(join(dirname(join(root, command)), 'THIRD-PARTY-NOTICES.txt'), [heading, ...notices].join('\n'))
}

async function notice(name) {
  const folder = join(root, 'node_modules', name)
  const { version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e(\.|$)/i.test(entry))
  if (file === undefined) throw new Error(`${name} is bundled, but has no licence file to pass on`)
  return `${'-'.repeat(80)}\n${name} ${version} (${license})\n\n${await readFile(join(folder, file), 'utf8')}`
}

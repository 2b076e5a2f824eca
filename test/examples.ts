import { fork } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import ts from 'typescript'
import { type Fence, root } from './fences.js'

/** The errors of code blocks, by their names. */
export type Faults = ReadonlyMap<string, string>

// Inside the repository, so that `dogear` is this package, by the exports in package.json, as it was last built.
const folder = join(root, `test/.tmp/examples-${process.pid}`)

/** Removes what the functions below wrote. */
export const clear = (): void => rmSync(folder, { recursive: true, force: true })

const fileOf = (fence: Fence, kind: 'ts' | 'js'): string =>
  join(folder, kind, `${fence.name.replaceAll('/', '.').replace(':', '.')}.${kind}`)

/** Type-checks the code blocks, all in one program, and leaves their JavaScript for {@link run}. */
export function typeCheck(fences: readonly Fence[]): Faults {
  clear()
  mkdirSync(join(folder, 'ts'), { recursive: true })
  // Empty lines above put the code on its line in the documentation, so that messages name that line.
  for (const fence of fences) writeFileSync(fileOf(fence, 'ts'), '\n'.repeat(fence.line - 1) + fence.code)
  const { options } = ts.parseJsonConfigFileContent({ extends: '../../../tsconfig.json' }, ts.sys, folder)
  const program = ts.createProgram(
    fences.map((fence) => fileOf(fence, 'ts')),
    {
      ...options,
      paths: {},
      noEmit: false,
      rootDir: join(folder, 'ts'),
      outDir: join(folder, 'js'),
      inlineSourceMap: true,
      noUnusedLocals: false,
      noUnusedParameters: false
    }
  )
  program.emit()
  const diagnostics = ts.getPreEmitDiagnostics(program)
  const elsewhere = diagnostics.filter(({ file }) => fences.every((fence) => file?.fileName !== fileOf(fence, 'ts')))
  if (elsewhere.length > 0) throw new Error(ts.formatDiagnostics(elsewhere, host))
  return new Map(
    fences.flatMap((fence) => {
      const own = diagnostics.filter(({ file }) => file?.fileName === fileOf(fence, 'ts'))
      return own.length > 0 ? [[fence.name, inTermsOf(fence, ts.formatDiagnostics(own, host))]] : []
    })
  )
}

const host: ts.FormatDiagnosticsHost = {
  getCanonicalFileName: (name) => name,
  getCurrentDirectory: () => folder,
  getNewLine: () => '\n'
}

/** Puts the documentation's own file in place of the one that the code was written to. */
function inTermsOf(fence: Fence, text: string): string {
  const written = fileOf(fence, 'ts')
  const file = fence.name.replace(/:\d+$/, '')
  return text
    .replaceAll(`file://${written}`, file)
    .replaceAll(written, file)
    .replaceAll(relative(folder, written), file)
}

/** Runs the code blocks in sequence, half of them in each of two processes, each in an empty folder. */
export async function run(fences: readonly Fence[]): Promise<Faults> {
  const half = Math.ceil(fences.length / 2)
  const [first, second] = await Promise.all([runInOne(fences.slice(0, half)), runInOne(fences.slice(half))])
  return new Map([...first, ...second])
}

function runInOne(fences: readonly Fence[]): Promise<Faults> {
  const scratch = mkdtempSync(join(tmpdir(), 'dogear-examples-'))
  const runner = fork(
    join(import.meta.dirname, 'examples.runner.js'),
    fences.map((fence) => fileOf(fence, 'js')),
    { cwd: scratch, execArgv: ['--enable-source-maps'], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] }
  )
  const thrown: string[] = []
  let said = ''
  runner.stderr?.on('data', (chunk) => (said += String(chunk)))
  runner.on('message', (text: string) => thrown.push(text))
  return new Promise((resolve) => {
    runner.on('close', () => {
      rmSync(scratch, { recursive: true, force: true })
      const faultOf = (fence: Fence, index: number): string =>
        index > thrown.length
          ? 'did not come to run: an earlier one ended the process'
          : inTermsOf(fence, thrown[index] ?? `ended the process\n${said}`)
      const faults = fences.map((fence, index) => [fence.name, faultOf(fence, index)] as const)
      resolve(new Map(faults.filter(([, fault]) => fault !== '')))
    })
  })
}

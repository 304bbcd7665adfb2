/** Type-checks all examples at once, the way a user's compiler would, and runs those that are meant to run. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import type { Fence } from './collect.ts'
import { MARK_HERE, SHOW, instrument } from './expectations.ts'
import { faultsOf, runAll } from './run.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** How examples are run. */
export interface CheckOptions {
  /** Milliseconds that one example may take. */
  readonly limit: number
  /** Processes that run examples at the same time. */
  readonly children: number
}

const compilerOptions: ts.CompilerOptions = {
  strict: true,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  moduleDetection: ts.ModuleDetectionKind.Force,
  types: ['node'],
  skipLibCheck: true,
}

/** The child is compiled by itself, without a package.json that would say what kind of module it is. */
const childOptions: ts.CompilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext }

/** A folder from where the package is seen as its users see it: through its exports. */
const makeScratch = (): string => {
  const cache = `${root}node_modules/.cache/headrace`
  mkdirSync(cache, { recursive: true })
  const scratch = mkdtempSync(`${cache}/examples-`)
  mkdirSync(`${scratch}/node_modules`)
  symlinkSync(root, `${scratch}/node_modules/headrace`, 'dir')
  writeFileSync(`${scratch}/package.json`, '{ "type": "module" }')
  writeFileSync(
    `${scratch}/show.d.ts`,
    `declare const ${SHOW}: (value: unknown) => void\ndeclare const ${MARK_HERE}: () => void\n`,
  )
  const child = readFileSync(`${root}test/examples/child.ts`, 'utf8')
  writeFileSync(
    `${scratch}/child.js`,
    ts.transpileModule(child, { compilerOptions: childOptions }).outputText,
  )
  return scratch
}

const nameOf = (at: number): string => `example${at}`

const compile = (scratch: string, fences: ReadonlyArray<Fence>): ReadonlyArray<string[]> => {
  const faults = fences.map((): string[] => [])
  const paths = fences.map((_, at) => `${scratch}/${nameOf(at)}.ts`)
  const program = ts.createProgram([`${scratch}/show.d.ts`, ...paths], compilerOptions)
  const { diagnostics } = program.emit()
  for (const diagnostic of [...ts.getPreEmitDiagnostics(program), ...diagnostics]) {
    const message = ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n')
    const at = paths.indexOf(diagnostic.file?.fileName ?? '')
    const fence = fences[at]
    if (fence === undefined || diagnostic.file === undefined) throw new Error(message)
    const { line } = diagnostic.file.getLineAndCharacterOfPosition(diagnostic.start ?? 0)
    faults[at]?.push(`${fence.file}:${fence.line + line} ${message}`)
  }
  return faults
}

/** What is wrong with each example, by position; empty for those that hold. */
export const checkExamples = async (
  fences: ReadonlyArray<Fence>,
  options: CheckOptions,
): Promise<ReadonlyArray<ReadonlyArray<string>>> => {
  const scratch = makeScratch()
  try {
    const instrumented = fences.map(({ text }) => instrument(text))
    instrumented.forEach(({ code }, at) => writeFileSync(`${scratch}/${nameOf(at)}.ts`, code))
    const faults = compile(scratch, fences)
    const pathOf = (at: number): string => `${scratch}/${nameOf(at)}.js`
    const toRun = fences.flatMap(({ flags }, at) =>
      flags.includes('no-run') || (faults[at] ?? []).length > 0 ? [] : [pathOf(at)],
    )
    const runs = await runAll(`${scratch}/child.js`, toRun, { ...options, cwd: root })
    return faults.map((found, at) => {
      const run = runs.get(pathOf(at))
      return run === undefined ? found : faultsOf(run, instrumented[at]?.expected ?? [])
    })
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

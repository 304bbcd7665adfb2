/**
 * Runs what the docs show. A ts example is type-checked as a user's compiler would, and run; `// => value` after a statement says what
 * it prints or, if it prints nothing, what its value is. `$ headrace …` lines of a console fence are typed into a shell.
 *
 * @module
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { projectFolder } from './folder.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Fence {
  readonly file: string
  readonly line: number
  readonly language: string
  readonly flags: ReadonlyArray<string>
  readonly text: string
}

const FENCE = /^( *)(`{3,})([^\n`]*)\n([\s\S]*?)^ *\2 *$/gm
const DOC_BLOCK = /^ *\/\*\*\n(?: *\*.*\n)*? *\*\//gm
const EXAMPLE = /^@example\b[^\n]*\n([\s\S]*?)(?=^@\w|(?![\s\S]))/gm
const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length

export const fencesOf = (file: string, text: string, firstLine = 1): ReadonlyArray<Fence> =>
  [...text.matchAll(FENCE)].map(({ index, 1: indent = '', 3: info = '', 4: body = '' }) => {
    const [language = '', ...flags] = info.trim().split(/\s+/)
    const line = firstLine + lineAt(text, index)
    return { file, line, language, flags, text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), '') }
  })

/** Every `@example` of a source file: its fences, or its whole text if it has none. */
export const docExamplesOf = (file: string, source: string): ReadonlyArray<Fence> =>
  [...source.matchAll(DOC_BLOCK)].flatMap((block) => {
    const text = block[0].replaceAll(/^ *(\/\*\*|\*\/|\* ?)/gm, '')
    return [...text.matchAll(EXAMPLE)].flatMap(({ index, 1: body = '' }) => {
      const line = lineAt(source, block.index) + lineAt(text, index)
      const fences = fencesOf(file, body, line)
      return fences.length > 0 ? fences : [{ file, line, language: 'ts', flags: [], text: body }]
    })
  })

export const collectExamples = (): ReadonlyArray<Fence> => {
  const files = (folder: string, ending: string): ReadonlyArray<string> =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith(ending))
      .map((path) => `${folder}/${path}`)
      .sort()
  const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')
  return [
    ...['README.md', ...files('docs', '.md')].flatMap((path) => fencesOf(path, read(path))),
    ...files('src', '.ts').flatMap((path) => docExamplesOf(path, read(path))),
  ]
}

const isOpen = (value: string): boolean => value.split(/[[({]/).length > value.split(/[\])}]/).length

/** What the comments expect. A comment of its own line goes on with the value above it when a bracket is open, or it is set in. */
const expectedOf = (source: string): ReadonlyArray<string> => {
  const expected: string[] = []
  let isGoingOn = false
  for (const line of source.split('\n')) {
    const value = /(?:^|[^'"`\w:])\/\/ ?=> ?(.*)$/.exec(line)?.[1]
    const comment = /^\s*\/\/(.*)$/.exec(line)?.[1]
    const before = expected.at(-1) ?? ''
    if (value !== undefined) expected.push(value)
    else if (isGoingOn && comment !== undefined && (comment.startsWith('  ') || isOpen(before)))
      expected[expected.length - 1] = before + comment
    else {
      isGoingOn = false
      continue
    }
    isGoingOn = true
  }
  return expected
}

/** Makes statements with `// =>` show their value, unless they print by themselves. Lines stay where they were. */
const instrument = (source: string): string => {
  const tree = ts.createSourceFile('example.ts', source, ts.ScriptTarget.ES2022, true)
  const lines = source.split('\n')
  const inserts = tree.statements.flatMap((statement): Array<readonly [at: number, text: string]> => {
    const { line } = tree.getLineAndCharacterOfPosition(statement.getEnd())
    if (!/\S.*\/\/ ?=>/.test(lines[line] ?? '') || /\bconsole\s*\./.test(statement.getText())) return []
    if (ts.isExpressionStatement(statement)) {
      const { expression } = statement
      return [
        [expression.getStart(), ';__mark();__show('],
        [expression.getEnd(), ')'],
      ]
    }
    const list = ts.isVariableStatement(statement) ? statement.declarationList.declarations : []
    const name = list[0]?.name
    if (name === undefined || !ts.isIdentifier(name)) return []
    return [
      [statement.getStart(), ';__mark();'],
      [statement.getEnd(), `;__show(${name.text})`],
    ]
  })
  return inserts.reverse().reduce((text, [at, insert]) => text.slice(0, at) + insert + text.slice(at), source)
}

const plain = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

/** Whether a text is as shown. Blanks count as one, `…` stands for anything. */
const matches = (shown: string, text: string): boolean => {
  const pieces = plain(shown).split('…')
  const pattern = pieces.map((piece) => piece.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[^]*')
  return new RegExp(`^${pattern}$`).test(plain(text))
}

const CHILD = `
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
const paths = process.argv.slice(2)
let isDone = true, printed = 0, mark = 0
const report = (message) => writeSync(3, JSON.stringify(message) + '\\n')
const write = (value) => inspect(value, { depth: Infinity, breakLength: Infinity, compact: true, maxArrayLength: 200 })
const print = (...values) => { printed++
  report({ printed: [values.map((v) => (typeof v === 'string' ? v : write(v))).join(' '), values.map(write).join(' ')] })
}
const threw = (error) => report({ error: error instanceof Error ? error.stack : write(error) })
const next = () => { if (!isDone) threw('it waits for something that never comes')
  if (process.exitCode) threw('it set the exit code ' + process.exitCode)
  process.exitCode = 0
  const path = paths.shift()
  if (path === undefined) return
  report({ path })
  isDone = false
  // An import alone does not keep Node 24 alive.
  setImmediate(() => import(pathToFileURL(path).href).catch(threw).finally(() => { isDone = true }))
}
console.log = print
globalThis.__mark = () => (mark = printed)
globalThis.__show = (value) => { if (printed === mark) print(value) }
process.on('uncaughtException', threw)
process.on('unhandledRejection', threw)
process.on('beforeExit', next)
next()
`

type Run = Readonly<{ printed: Array<readonly [string, string]>; errors: string[] }>

const runAll = async (child: string, paths: ReadonlyArray<string>, limit: number) => {
  const runs = new Map<string, Run>()
  let left = paths
  while (left.length > 0) {
    let current: Run = { printed: [], errors: [] }
    const before = left.length
    const node = spawn(process.execPath, [child, ...left], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    })
    const stopLater = (): NodeJS.Timeout =>
      setTimeout(() => {
        current.errors.push(`it has not ended after ${limit} ms: something is left open`)
        node.kill('SIGKILL')
      }, limit)
    let timer = stopLater()
    let text = ''
    node.stdio[3]?.on('data', (chunk: Buffer) => {
      const lines = (text += chunk.toString()).split('\n')
      text = lines.pop() ?? ''
      for (const line of lines) {
        // The child above writes nothing else to this descriptor.
        const said = JSON.parse(line) as { path?: string; printed?: [string, string]; error?: string }
        if (said.printed !== undefined) current.printed.push(said.printed)
        if (said.error !== undefined) current.errors.push(said.error)
        if (said.path === undefined) continue
        runs.set(said.path, (current = { printed: [], errors: [] }))
        left = left.filter((path) => path !== said.path)
        clearTimeout(timer)
        timer = stopLater()
      }
    })
    const code = await new Promise((resolve) => node.on('close', resolve))
    clearTimeout(timer)
    if (code !== 0 && current.errors.length === 0) current.errors.push(`it ended with ${String(code)}`)
    if (left.length === before) throw new Error('the child did not start')
  }
  return runs
}

const faultsOf = ({ printed, errors }: Run, expected: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (errors.length > 0 || expected.length === 0) return errors
  const wrong = expected.filter((shown, at) => !printed[at]?.some((form) => matches(shown, form)))
  return [
    ...wrong.map((shown) => `shows '${shown}', but printed ${JSON.stringify(printed.map(([form]) => form))}`),
    ...printed.slice(expected.length).map(([form]) => `does not show '${form}'`),
  ]
}

/**
 * What is wrong with each example, by position; empty for those that hold. Each has `limit` milliseconds. They share a process unless they
 * are `programs`.
 */
export const checkExamples = async (
  fences: ReadonlyArray<Fence>,
  limit: number,
  { programs = false } = {},
): Promise<ReadonlyArray<ReadonlyArray<string>>> => {
  const scratch = projectFolder()
  try {
    const globals = 'declare const __show: (value: unknown) => void\ndeclare const __mark: () => void\n'
    writeFileSync(`${scratch}/show.d.ts`, globals)
    writeFileSync(`${scratch}/child.mjs`, CHILD)
    const paths = fences.map((_, at) => `${scratch}/example${at}`)
    fences.forEach(({ text }, at) => writeFileSync(`${paths[at]}.ts`, instrument(text)))
    const program = ts.createProgram([`${scratch}/show.d.ts`, ...paths.map((path) => `${path}.ts`)], {
      strict: true,
      ...{ target: ts.ScriptTarget.ES2022, lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'] },
      ...{ module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
      moduleDetection: ts.ModuleDetectionKind.Force,
      types: ['node'],
      skipLibCheck: true,
    })
    const faults = fences.map((): string[] => [])
    const found = [...ts.getPreEmitDiagnostics(program), ...program.emit().diagnostics]
    for (const { file, start, messageText } of found) {
      const at = paths.indexOf(file?.fileName.replace(/\.ts$/, '') ?? '')
      const line = (fences[at]?.line ?? 0) + (file?.getLineAndCharacterOfPosition(start ?? 0).line ?? 0)
      const message = ts.flattenDiagnosticMessageText(messageText, '\n')
      if (at < 0) throw new Error(message)
      faults[at]?.push(`${fences[at]?.file ?? ''}:${line} ${message}`)
    }
    const isRun = (at: number) => faults[at]?.length === 0 && fences[at]?.flags.includes('no-run') === false
    const started = paths.filter((_, at) => isRun(at)).map((path) => `${path}.js`)
    const runs = new Map<string, Run>()
    for (const group of programs ? started.map((path) => [path]) : [started])
      for (const [path, run] of await runAll(`${scratch}/child.mjs`, group, limit)) runs.set(path, run)
    return faults.map((found, at) => {
      const run = runs.get(`${paths[at]}.js`)
      return run === undefined ? found : faultsOf(run, expectedOf(fences[at]?.text ?? ''))
    })
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

const RUNNABLE = /^export \w+=|(^|[|;&] *|\w=\S+ )(npx )?headrace( |$)/
const END = '\u0004'

/**
 * What is wrong with a console fence. A command that shows output must print it; one that shows none must succeed. Commands run in an
 * empty folder in which `docs` is the repository's.
 */
export const checkCommands = async (text: string, limit: number): Promise<ReadonlyArray<string>> => {
  const commands = text
    .replaceAll(/\\\n\s*>? ?/g, '')
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [line = '', ...shown] = part.split('\n')
      return { line: line.replace(/\s+#.*$/, ''), shown: shown.join('\n').trim() }
    })
    .filter(({ line }) => RUNNABLE.test(line))
  if (commands.length === 0) return []
  const cwd = mkdtempSync(`${tmpdir()}/headrace-console-`)
  const start = `headrace() { node '${root}dist/cli/main.js' "$@"; }\nnpx() { "$@"; }\nexec 2>&1\n`
  const script = start + commands.map(({ line }) => `${line}\nprintf '${END}%s${END}' "$?"\n`).join('')
  try {
    symlinkSync(`${root}docs`, `${cwd}/docs`, 'dir')
    // A session of its own, so that what it started ends with it.
    const shell = spawn('bash', ['-c', script], { cwd, detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
    const timer = setTimeout(() => process.kill(-(shell.pid ?? 0), 'SIGKILL'), limit)
    let output = ''
    shell.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    await new Promise((resolve) => shell.on('close', resolve))
    clearTimeout(timer)
    const parts = output.split(END)
    return commands.flatMap(({ line, shown }, at) => {
      const [printed, code] = [parts[2 * at] ?? '', parts[2 * at + 1]]
      if (code === undefined) return [`'${line}' has not ended after ${limit} ms; it printed: ${printed}`]
      if (shown === '') return code === '0' ? [] : [`'${line}' ended with ${code}: ${printed}`]
      return matches(shown, printed) ? [] : [`'${line}' shows:\n${shown}\nbut printed:\n${printed}`]
    })
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
}

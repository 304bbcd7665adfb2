import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { entries, manifest, root } from './package/entries.ts'
import { faultsOfExports, faultsOfTypes } from './package/findings.ts'
import type { PackedFiles } from './package/findings.ts'

const scratch = mkdtempSync(`${tmpdir()}/headrace-package-`)
const project = `${scratch}/project`
const installed = `${project}/node_modules/${manifest.name}`

/** Packs the package as it would be published, and unpacks it where an installation would put it. */
beforeAll(() => {
  // The scripts would build again, under the feet of the other tests.
  execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', scratch], {
    cwd: root,
    stdio: 'pipe',
  })
  mkdirSync(installed, { recursive: true })
  const tarball = `${scratch}/${manifest.name}-${manifest.version}.tgz`
  execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed])
  const companions = { ...manifest.dependencies, ...manifest.peerDependencies }
  for (const name of [...Object.keys(companions), '@types']) {
    symlinkSync(`${root}node_modules/${name}`, `${project}/node_modules/${name}`, 'dir')
  }
  writeFileSync(`${project}/package.json`, '{ "type": "module" }')
}, 120_000)

afterAll(() => {
  rmSync(scratch, { recursive: true, force: true })
})

const node = (...args: ReadonlyArray<string>): string =>
  execFileSync(process.execPath, args, { cwd: project, encoding: 'utf8', stdio: 'pipe' })

/** For each specifier, the error code of importing it, or `ok`. */
const importing = (specifiers: ReadonlyArray<string>): Readonly<Record<string, string>> => {
  const script = `
    const result = {}
    for (const specifier of ${JSON.stringify(specifiers)}) {
      result[specifier] = await import(specifier).then(() => 'ok', (error) => error.code ?? error.message)
    }
    console.log(JSON.stringify(result))`
  // The script answers with exactly one text for each specifier.
  return JSON.parse(node('--input-type=module', '--eval', script)) as Record<string, string>
}

const all = (specifiers: ReadonlyArray<string>, answer: string): Readonly<Record<string, string>> =>
  Object.fromEntries(specifiers.map((specifier) => [specifier, answer]))

const packedPaths = (): ReadonlyArray<string> =>
  readdirSync(installed, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(installed.length + 1))

const packed = (): PackedFiles =>
  Object.fromEntries(packedPaths().map((path) => [path, readFileSync(`${installed}/${path}`)]))

describe('the packed package', () => {
  test('holds the build, the source, the licence and the readme, and nothing else', () => {
    const files = packedPaths()
    const unexpected = files.filter(
      (file) =>
        !/^(dist\/.+\.(js|d\.ts|js\.map|d\.ts\.map)|src\/.+\.ts|LICENSE|README\.md|package\.json)$/.test(
          file,
        ),
    )
    expect(unexpected).toEqual([])
    const wanted = ['LICENSE', 'README.md', 'package.json', 'dist/index.js', 'src/index.ts']
    expect(wanted.filter((file) => !files.includes(file))).toEqual([])
  })

  test('holds no build of a file that is gone', () => {
    const code = readdirSync(`${installed}/dist`, { recursive: true, encoding: 'utf8' }).filter((f) =>
      f.endsWith('.js'),
    )
    const source = readdirSync(`${installed}/src`, { recursive: true, encoding: 'utf8' })
    expect(code.filter((file) => !source.includes(file.replace(/\.js$/, '.ts')))).toEqual([])
  })

  test('can be imported by every published path', () => {
    const specifiers = [...entries.map(({ specifier }) => specifier)]
    expect(importing(specifiers)).toEqual(all(specifiers, 'ok'))
  })

  test('can be required by every published path, by those who still do', () => {
    const specifiers = entries.map(({ specifier }) => specifier)
    const script = `for (const each of ${JSON.stringify(specifiers)}) require(each); console.log(require('headrace/package.json').name)`
    expect(node('--no-warnings', '--input-type=commonjs', '--eval', script)).toBe('headrace\n')
  })

  test('refuses every other path', () => {
    const internals = [
      'internal/Heap',
      'internal/Heap.js',
      'dist/index.js',
      'src/index.ts',
      'outbox/relay/relay',
      'sinks',
      'x',
    ]
    const specifiers = internals.map((path) => `${manifest.name}/${path}`)
    expect(importing(specifiers)).toEqual(all(specifiers, 'ERR_PACKAGE_PATH_NOT_EXPORTED'))
  })

  test.each(['nodenext', 'bundler'] as const)(
    'has types that hold for a user whose compiler resolves by %s',
    (by) => {
      const file = `${project}/user-${by}.ts`
      writeFileSync(
        file,
        entries
          .map(({ specifier }, at) => `import * as m${at} from '${specifier}'\nexport { m${at} }\n`)
          .join(''),
      )
      const program = ts.createProgram([file], {
        strict: true,
        exactOptionalPropertyTypes: true,
        target: ts.ScriptTarget.ES2022,
        lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
        types: ['node'],
        noEmit: true,
        // Our own declarations are checked too; what other packages declare is not ours to judge.
        skipLibCheck: false,
        ...(by === 'nodenext'
          ? { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext }
          : { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler }),
      })
      const ours = [file, ...program.getSourceFiles().map(({ fileName }) => fileName)].filter((name) =>
        name.startsWith(project),
      )
      expect(ours.length).toBeGreaterThan(entries.length)
      const faults = ours.flatMap((name) => {
        const source = program.getSourceFile(name)
        return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
          ({ messageText }) => `${name}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
        )
      })
      expect(faults).toEqual([])
    },
  )

  test('is a package and has types in which other tools find nothing wrong', async () => {
    expect(await faultsOfExports(packed())).toEqual([])
    expect(await faultsOfTypes(packed(), manifest.name, manifest.version)).toEqual([])
  })

  test('would be one in which they find something if a path led nowhere', async () => {
    const files = packed()
    const { 'dist/client/index.d.ts': types, 'dist/client/index.js': code, ...rest } = files
    expect(types).toBeDefined()
    expect(code).toBeDefined()
    expect(await faultsOfExports(rest)).not.toEqual([])
    expect(await faultsOfTypes(rest, manifest.name, manifest.version)).not.toEqual([])
  })

  test('brings a command that starts', () => {
    const bin = manifest.bin['headrace'] ?? ''
    expect(readFileSync(`${installed}/${bin}`, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
    expect(node(`${installed}/${bin}`, '--version').trim()).toBe(manifest.version)
  })
})

describe('the lock file', () => {
  test('holds no address to download from', () => {
    const lock = readFileSync(`${root}package-lock.json`, 'utf8')
    expect(lock).toContain('"lockfileVersion": 3')
    expect(lock).not.toMatch(/"resolved"|\.tgz/)
  })
})

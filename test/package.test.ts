import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { existsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Package, checkPackage } from '@arethetypeswrong/core'
import { isRight } from 'fp-ts/lib/Either.js'
import { groupBy } from 'fp-ts/lib/NonEmptyArray.js'
import * as t from 'io-ts'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { profile } from './support/runs.ts'

const root: string = fileURLToPath(new URL('..', import.meta.url))

const Manifest = t.type({
  name: t.string,
  version: t.string,
  bin: t.record(t.string, t.string),
  exports: t.record(t.string, t.union([t.string, t.strict({ types: t.string, default: t.string })])),
  dependencies: t.record(t.string, t.string),
  peerDependencies: t.record(t.string, t.string),
  peerDependenciesMeta: t.record(t.string, t.type({ optional: t.literal(true) })),
})

const decoded = Manifest.decode(JSON.parse(readFileSync(`${root}package.json`, 'utf8')))
if (!isRight(decoded)) throw new Error('package.json is not of the form that the tests of the package expect')

const manifest: t.TypeOf<typeof Manifest> = decoded.right

type Entry = Readonly<{ specifier: string; code: string; types: string }>

const entries: ReadonlyArray<Entry> = Object.entries(manifest.exports).flatMap(([path, target]) =>
  typeof target === 'string'
    ? []
    : [{ specifier: path.replace(/^\./, manifest.name), code: target.default, types: target.types }],
)

type PackedFiles = Readonly<Record<string, Uint8Array>>

/** Of the paths that a package exports, of its files and of the fields of its package.json. */
const faultsOfExports = async (files: PackedFiles): Promise<ReadonlyArray<string>> => {
  const packed = Object.entries(files).map(([path, data]) => ({ name: `package/${path}`, data }))
  const { messages, pkg } = await publint({ pkgDir: 'package', pack: { files: packed }, strict: true })
  return messages.map((message) => formatMessage(message, pkg, { color: false }) ?? message.code)
}

/**
 * These are not for us, which is what the tool calls its profile `esm-only`: `node10` does not know `exports`, and `node16-cjs` is a
 * compiler that does not know that Node requires ES modules by now (Node 20.19 does).
 */
const IGNORED: ReadonlyArray<string> = ['node10', 'node16-cjs']

const isMapped = (path: string, data: Uint8Array): boolean =>
  path.endsWith('.map') || /^\/\/# sourceMappingURL=/m.test(Buffer.from(data).toString())

/** Bytes. The source and the maps between it and the build were 47 % of 1.04 MB. */
const MAX_TARBALL = 600_000

const faultsOfTypes = async (files: PackedFiles, name: string, version: string): Promise<string[]> => {
  const placed = Object.entries(files).map(([path, data]) => [`/node_modules/${name}/${path}`, data] as const)
  const result = await checkPackage(new Package(Object.fromEntries(placed), name, version))
  if (!result.types) return ['it has no types']
  return result.problems
    .filter((problem) => !('resolutionKind' in problem && IGNORED.includes(problem.resolutionKind)))
    .map(({ kind, ...where }) => `${kind} ${JSON.stringify(where)}`)
}

/** What one entry lets out, by name. A name may be both: a codec and its type. */
type Surface = Readonly<{ values: ReadonlyArray<string>; types: ReadonlyArray<string> }>

const compilerOptions: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  skipLibCheck: true,
  noEmit: true,
}

const sorted = (names: ReadonlyArray<string>) => [...new Set(names)].sort((a, b) => (a < b ? -1 : 1))

/** Names that begin alike stand in one line, so that a change shows in few. */
const byLetter = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  Object.values(groupBy((name: string) => name.charAt(0))([...names])).reduce<string[]>((lines, some) => {
    const line = [lines.at(-1), ...some].join(' ').trim()
    return line.length > 140 ? [...lines, some.join(' ')] : [...lines.slice(0, -1), line]
  }, [])

const surfacesOf = (): Readonly<Record<string, Surface>> => {
  const program = ts.createProgram(
    entries.map(({ types }) => `${root}${types}`),
    compilerOptions,
  )
  const checker = program.getTypeChecker()

  const read = (module: ts.Symbol): Surface => {
    const found = { values: [] as string[], types: [] as string[] }
    for (const symbol of checker.getExportsOfModule(module)) {
      const { name } = symbol
      const meant = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
      const typeOnly = symbol.declarations?.some(ts.isTypeOnlyImportOrExportDeclaration) === true
      if (meant.flags & ts.SymbolFlags.Value && !typeOnly) found.values.push(name)
      if (meant.flags & ts.SymbolFlags.Type) found.types.push(name)
      if (meant.flags === ts.SymbolFlags.None || checker.isUnknownSymbol(meant))
        throw new Error(`${name} is declared nowhere`)
    }
    return { values: sorted(found.values), types: sorted(found.types) }
  }

  return Object.fromEntries(
    entries.map(({ specifier, types }) => {
      const file = program.getSourceFile(`${root}${types}`)
      const module = file && checker.getSymbolAtLocation(file)
      if (module === undefined) throw new Error(`${specifier} has no declarations at ${types}`)
      return [specifier, read(module)]
    }),
  )
}

const scratch = mkdtempSync(`${tmpdir()}/headrace-package-`)
const project = `${scratch}/project`
const installed = `${project}/node_modules/${manifest.name}`
const tarball = `${scratch}/${manifest.name}-${manifest.version}.tgz`

/** Packs the package as it would be published, and unpacks it where an installation would put it. */
beforeAll(() => {
  // The scripts would build again, under the feet of the other tests.
  const pack = ['pack', '--ignore-scripts', '--pack-destination', scratch]
  execFileSync('npm', pack, { cwd: root, stdio: 'pipe' })
  mkdirSync(installed, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed])
  const companions = { ...manifest.dependencies, ...manifest.peerDependencies }
  // Of the optional peers two are there, because a whole entry needs each.
  const needed = ['fast-check', '@opentelemetry/api']
  const left = Object.keys(manifest.peerDependenciesMeta).filter((each) => !needed.includes(each))
  mkdirSync(`${project}/node_modules/@opentelemetry`)
  for (const name of [...Object.keys(companions), '@types'].filter((each) => !left.includes(each)))
    symlinkSync(`${root}node_modules/${name}`, `${project}/node_modules/${name}`, 'dir')
  writeFileSync(`${project}/package.json`, '{ "type": "module" }')
})

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const node = (...args: ReadonlyArray<string>): string =>
  execFileSync(process.execPath, args, { cwd: project, encoding: 'utf8', stdio: 'pipe' })

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

const EXPECTED =
  /^(dist\/.+\.(js|d\.ts)|docs\/.+\.(md|ts|svg|png|ndjson)|docs\/(receivers\/\w+\.(json|py|go|php)|examples\/testing\/[\w.]+\.(js|json))|LICENSE|README\.md|package\.json)$/

describe('the packed package', () => {
  test('holds the build, the docs, and nothing else', () => {
    const files = packedPaths()
    expect(files.filter((file) => !EXPECTED.test(file))).toEqual([])
    const wanted = ['LICENSE', 'README.md', 'package.json', 'dist/index.js', 'docs/examples/README.md']
    expect(wanted.filter((file) => !files.includes(file))).toEqual([])
    expect(statSync(tarball).size).toBeLessThanOrEqual(MAX_TARBALL)
  })

  test('leads from its docs to files that it holds', () => {
    const deadIn = (page: string): ReadonlyArray<string> =>
      [...readFileSync(`${installed}/${page}`, 'utf8').matchAll(/\]\((?![a-z]+:)([\w./-]+)[#)]/g)]
        .map(([, link = '']) => posix.join(posix.dirname(page), link))
        .filter((path) => !existsSync(`${installed}/${path}`))
    expect(packedPaths().flatMap((path) => (/^docs.*md$/.test(path) ? deadIn(path) : []))).toEqual([])
  })

  test('holds no map, and names none: tools would warn of it', () => {
    expect(isMapped('dist/a.js', Buffer.from('1\n//# sourceMappingURL=a.js.map\n'))).toBe(true)
    expect(Object.entries(packed()).filter((file) => isMapped(...file))).toEqual([])
  })

  test('holds no code that no entry and no command loads, and no types of a file that is gone', () => {
    const starts = [...entries.map(({ code }) => code), ...Object.values(manifest.bin)]
    const loaded = new Set(starts.map((path) => posix.normalize(path)))
    const specifier = /(?:from|import\()\s*"(\.[^"]+)"/g
    for (const path of loaded)
      for (const [, to = ''] of readFileSync(`${installed}/${path}`, 'utf8').matchAll(specifier))
        loaded.add(posix.join(posix.dirname(path), to))
    const files = readdirSync(`${installed}/dist`, { recursive: true, encoding: 'utf8' })
    expect(files.filter((file) => file.endsWith('.js') && !loaded.has(`dist/${file}`))).toEqual([])
    const source = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
    const types = files.filter((file) => file.endsWith('.d.ts'))
    expect(types.filter((file) => !source.includes(file.replace(/\.d\.ts$/, '.ts')))).toEqual([])
  })

  test('has one of each thing in a process: a sink of one entry is known to every other', () => {
    const script = `
      import { onlyAttempt, withTimeout } from 'headrace'
      import { ConfigError } from 'headrace/client'
      import { createCollector } from 'headrace/collector'
      import { secretFrom } from 'headrace/signing'
      import { memory } from 'headrace/sinks/memory'
      import { webhook } from 'headrace/sinks/webhook'
      import { Observable } from 'rxjs'
      let subscribed = 0
      const { subscribe } = Observable.prototype
      Observable.prototype.subscribe = function (...args) {
        subscribed++
        return subscribe.apply(this, args)
      }
      withTimeout({ timeout: 1_000 })(memory()).deliver('a', onlyAttempt).subscribe()
      webhook({ url: 'http://127.0.0.1:9', secret: secretFrom('s').right })
      try { createCollector({ sources: 7 }) } catch (error) { console.log(subscribed, error instanceof ConfigError) }`
    // The layer starts the sink inside by its function, and not by a second Observable.
    expect(node('--input-type=module', '--eval', script)).toBe('1 true\n')
  })

  test('runs no script when it is installed, also from a file', () => {
    const { scripts } = JSON.parse(readFileSync(`${installed}/package.json`, 'utf8')) as { scripts: object }
    const names = Object.keys(scripts)
    expect(names.filter((name) => /^(pre|post)?(install|prepare)$/.test(name))).toEqual([])
    expect(names).toContain('prepack')
  })

  test('can be imported by every published path', () => {
    const specifiers = entries.map(({ specifier }) => specifier)
    expect(importing(specifiers)).toEqual(all(specifiers, 'ok'))
  })

  test('can be required by every published path, by those who still do', () => {
    const specifiers = entries.map(({ specifier }) => specifier)
    const script = `for (const each of ${JSON.stringify(specifiers)}) require(each); console.log(require('headrace/package.json').name)`
    expect(node('--no-warnings', '--input-type=commonjs', '--eval', script)).toBe('headrace\n')
  })

  test('refuses every other path', () => {
    const internals = ['internal/Heap', 'internal/Heap.js', 'dist/index.js', 'src/index.ts', 'sinks', 'x']
    const specifiers = internals.map((path) => `${manifest.name}/${path}`)
    expect(importing(specifiers)).toEqual(all(specifiers, 'ERR_PACKAGE_PATH_NOT_EXPORTED'))
  })

  // Not skipped in the short profile but left out: a skipped test is always a fault.
  const fullTest = profile === 'short' ? () => undefined : test

  fullTest('is a package and has types in which other tools find nothing wrong', async () => {
    expect(await faultsOfExports(packed())).toEqual([])
    expect(await faultsOfTypes(packed(), manifest.name, manifest.version)).toEqual([])
  })

  fullTest('would be one in which they find something if a path led nowhere', async () => {
    const { 'dist/client/index.d.ts': types, 'dist/client/index.js': code, ...rest } = packed()
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

  test('says without lmdb or pg, the optional peer dependencies, what to install', () => {
    const script = `
      import { createClient } from 'headrace/client'
      import { webhookDestination } from 'headrace/destination'
      import { lmdbOutbox } from 'headrace/outbox/lmdb'
      const outbox = { path: 'outbox' }
      const url = 'http://127.0.0.1:9'
      const client = () => createClient('key', { endpoint: url, outbox })
      const destination = () => webhookDestination({ webhooks: [{ url }] }, { outbox })
      for (const open of [client, destination, () => lmdbOutbox(outbox)])
        try { open() } catch ({ reason, message }) { console.log(reason, message) }`
    const message = `an outbox on a disk needs the package lmdb, which could not be loaded: run "npm install lmdb" (Cannot find module 'lmdb')`
    expect(node('--input-type=module', '--eval', script)).toBe(`missing ${message}\n`.repeat(3))
    const args = ['send', '--outbox', 'outbox', '--to', 'https://a.example/hook']
    const command = [`${installed}/${manifest.bin['headrace'] ?? ''}`, ...args]
    const run = (...more: string[]) =>
      spawnSync(process.execPath, [...command, ...more], { cwd: project, encoding: 'utf8', input: '' })
    const sent = run()
    expect(sent.status).toBe(2)
    expect(sent.stderr).toMatch(/^headrace send: .*\n$/)
    expect(sent.stderr).toContain(message)
    const { status, stderr } = run('--outbox', 'postgres://a@b/c', '--queue', 'q')
    expect([status, stderr]).toEqual([2, expect.stringMatching(/^headrace send: .*"npm install pg"\n$/)])
  })
})

describe('the lock file', () =>
  test('holds no address to download from', () => {
    const lock = readFileSync(`${root}package-lock.json`, 'utf8')
    expect(lock).toContain('"lockfileVersion": 3')
    expect(lock).not.toMatch(/"resolved"|\.tgz/)
    // H20: overrides do nothing for a user.
    expect(readFileSync(`${root}package.json`, 'utf8')).not.toContain('"overrides"')
  }))

describe('the published names', () => {
  const surfaces = surfacesOf()

  test('are those in surface.json: after a wanted change run this test with -u', async () => {
    const lines = Object.entries(surfaces).map(([entry, { values, types }]) => [
      entry,
      { values: byLetter(values), types: byLetter(types) },
    ])
    const text = JSON.stringify(Object.fromEntries(lines), null, 2).replaceAll(/\[\n +(".*")\n +\]/g, '[$1]')
    await expect(`${text}\n`).toMatchFileSnapshot(`${root}test/fixtures/surface.json`)
  })

  test('stand as code on some page', () => {
    const pages = readdirSync(`${root}docs`).filter((file) => file.endsWith('.md'))
    const paths = ['README.md', ...pages.map((file) => `docs/${file}`)]
    const texts = paths.map((path) => readFileSync(root + path, 'utf8'))
    const code = texts.flatMap((text) => text.match(/^```[^]*?^```|`[^`\n]+`/gm) ?? []).join('\n')
    const isNamed = (name: string): boolean =>
      new RegExp(`(?<![\\w$])${name.replaceAll(/[.$]/g, '\\$&')}(?![\\w$])`).test(code)
    for (const [entry, { values, types }] of Object.entries(surfaces))
      expect([entry, ...[...values, ...types].filter((name) => !isNamed(name))]).toEqual([entry])
    expect(isNamed('Paylo')).toBe(false)
  })

  test.each(entries)('$specifier has at run time what its types promise', async ({ specifier, code }) => {
    const module: unknown = await import(`${root}${code}`)
    const values = surfaces[specifier]?.values ?? []
    expect(values.length).toBeGreaterThan(0)
    expect(Object.keys(module as object).sort()).toEqual([...values].sort())
  })
})

test('what a person has to set before the first release is known', () => {
  const missing = ['repository', 'homepage', 'bugs'].filter((field) => !(field in manifest))
  // An address is a person's choice. Take a field out of this list when it is set.
  expect(missing).toEqual(['repository', 'homepage', 'bugs'])
})

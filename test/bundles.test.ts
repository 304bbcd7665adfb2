import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { receiverOf } from './support/http.ts'
import { fencesOf } from './support/examples.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = readFileSync(`${root}docs/bundling.md`, 'utf8')
const fences = fencesOf('docs/bundling.md', page)
const app = fences.find(({ language }) => language === 'ts')?.text ?? ''
const shell = fences.filter(({ language }) => language === 'sh')
const commands = shell.flatMap(({ text }) => text.trim().split(/(?<!\\)\n/))
const project = mkdtempSync(`${tmpdir()}/headrace-bundles-`)
const link = (name: string) => symlinkSync(`${root}node_modules/${name}`, `${project}/node_modules/${name}`)

beforeAll(() => {
  mkdirSync(`${project}/node_modules/headrace`, { recursive: true })
  for (const each of ['package.json', 'dist', 'docs'])
    symlinkSync(root + each, `${project}/node_modules/headrace/${each}`)
  for (const one of ['commander', 'debug', 'ipaddr.js', 'undici', 'fp-ts', 'io-ts', 'rxjs', 'lmdb']) link(one)
  writeFileSync(`${project}/package.json`, '{}')
  writeFileSync(
    `${project}/app.ts`,
    `import { receiverVectors } from 'headrace/testing'\n${app}
process.on('exit', () => console.log(receiverVectors('s').length > 10))\n`,
  )
})

afterAll(() => rmSync(project, { recursive: true, force: true }))

const bundle = (command: string): string => {
  rmSync(`${project}/outbox`, { recursive: true, force: true })
  const line = command.replace('npx esbuild', `${root}node_modules/.bin/esbuild --log-level=error`)
  execFileSync('sh', ['-c', line], { cwd: project, stdio: 'pipe' })
  return /--outfile=(\S+)/.exec(command)?.[1] ?? ''
}

const run = async (file: string, env: Readonly<Record<string, string>>) =>
  promisify(execFile)(process.execPath, ['--no-warnings', file], {
    cwd: project,
    env: { ...process.env, ...env },
  })

describe('the commands of docs/bundling.md make programs that open a folder and deliver', () => {
  test('there are some', () => expect(commands.length).toBeGreaterThan(5))

  test.each(commands)('%s', async (command) => {
    const receiver = await receiverOf()
    const { stdout, stderr } = await run(bundle(command), { HOOK_URL: receiver.url, DEBUG: 'analytics' })
    expect(stdout).toBe('Delivered m1\ntrue\n')
    expect(stderr).toContain('analytics m1: accepted')
  })
})

test('a bundle that finds no lmdb says what to install', async () => {
  rmSync(`${project}/node_modules/lmdb`)
  for (const command of commands.filter((each) => !each.includes('external'))) {
    const missing = /run "npm install lmdb" \(Cannot find module 'lmdb'\)/
    await expect(run(bundle(command), {})).rejects.toThrow(missing)
  }
})

const bundled = async (file: string) => {
  const { metafile, outputFiles } = await build({
    ...{ bundle: true, minify: true, packages: 'external', write: false, metafile: true },
    entryPoints: [`${root}${file}`],
    platform: 'node',
    format: 'esm',
  })
  const [code = new Uint8Array()] = outputFiles.map(({ contents }) => contents)
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports)
  const loaded = [...new Set(imports.filter((at) => at.kind === 'import-statement').map(({ path }) => path))]
  return { bytes: [code.length, gzipSync(code).length], loaded: loaded.sort() }
}

test.each(['index', 'signing/index'])('%s loads no files, sockets or TLS', async (entry) => {
  const { loaded } = await bundled(`dist/${entry}.js`)
  expect(loaded.filter((path) => /^(node:)?(fs|net|tls|http|https|dns)\b|undici|lmdb/.test(path))).toEqual([])
})

test('the sizes in docs/bundling.md are right to 3 %', async () => {
  const { exports } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
    exports: Readonly<Record<string, string | { readonly default: string }>>
  }
  const files = Object.entries(exports).flatMap(([path, target]) =>
    typeof target === 'string' ? [] : [[path.replace('.', 'headrace'), target.default] as const],
  )
  const told = [...page.matchAll(/^\| `(headrace[\w/]*)` *\| *([\d.]+) KB *\| *([\d.]+) KB *\| (.*?) *\|$/gm)]
  expect(told.map(([, name]) => name)).toEqual(files.map(([name]) => name))
  const wrong = await Promise.all(
    files.map(async ([name, file], at) => {
      const { bytes, loaded } = await bundled(file)
      const packages = loaded.filter((each) => !each.startsWith('node:')).join(', ') || 'nothing'
      const [, , ...said] = told[at] ?? []
      const isRight = bytes.every((each, of) => Math.abs(each - Number(said[of]) * 1_000) <= 0.03 * each)
      const line = [`\`${name}\``, ...bytes.map((each) => `${(each / 1_000).toFixed(2)} KB`), packages]
      return isRight && said[2] === packages ? [] : [`| ${line.join(' | ')} |`]
    }),
  )
  expect(wrong.flat()).toEqual([])
})

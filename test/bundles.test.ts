import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loopbackReceiver } from '../src/testing/loopbackReceiver.ts'
import { fencesOf } from './support/examples.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const fences = fencesOf('docs/bundling.md', readFileSync(`${root}docs/bundling.md`, 'utf8'))
const app = fences.find(({ language }) => language === 'ts')?.text ?? ''
const commands = fences
  .filter(({ language }) => language === 'sh')
  .flatMap(({ text }) => text.trim().split('\n'))

/** A project with the build of headrace and what it needs, as an installation would place them. */
const project = mkdtempSync(`${tmpdir()}/headrace-bundles-`)

const link = (name: string): void =>
  symlinkSync(`${root}node_modules/${name}`, `${project}/node_modules/${name}`)

beforeAll(() => {
  mkdirSync(`${project}/node_modules/headrace`, { recursive: true })
  for (const each of ['package.json', 'dist', 'docs'])
    symlinkSync(root + each, `${project}/node_modules/headrace/${each}`)
  for (const each of ['commander', 'debug', 'undici', 'fp-ts', 'io-ts', 'rxjs', 'lmdb'])
    link(each)
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
    const receiver = await loopbackReceiver()
    const { stdout, stderr } = await run(bundle(command), { HOOK_URL: receiver.url, DEBUG: 'analytics' })
    expect(stdout).toBe('Delivered m1\ntrue\n')
    expect(stderr).toContain('analytics m1: accepted')
    await receiver.close()
  })
})

test('a bundle that finds no lmdb says what to install', async () => {
  rmSync(`${project}/node_modules/lmdb`)
  for (const command of commands.filter((each) => !each.includes('external'))) {
    const missing = /run "npm install lmdb" \(Cannot find module 'lmdb'\)/
    await expect(run(bundle(command), {})).rejects.toThrow(missing)
  }
})

test.each(['index', 'signing/index'])('%s loads no files, sockets or TLS', async (entry) => {
  const options = {
    bundle: true,
    platform: 'node',
    packages: 'external',
    write: false,
    metafile: true,
  } as const
  const { metafile } = await build({ ...options, entryPoints: [`${root}dist/${entry}.js`], format: 'esm' })
  const loaded = Object.values(metafile.inputs).flatMap(({ imports }) =>
    imports.filter(({ external }) => external).map(({ path }) => path),
  )
  expect(loaded).toContain('node:crypto')
  expect(loaded.filter((path) => /^(node:)?(fs|net|tls|http|https|dns)\b|undici|lmdb/.test(path))).toEqual([])
})

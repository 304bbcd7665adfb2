/** docs/examples/testing as a stranger runs it: the packed package, installed with vitest, jest and express beside it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const project = mkdtempSync(join(tmpdir(), 'headrace-example-'))

const npm = (...args: ReadonlyArray<string>): string =>
  execFileSync('npm', args, { cwd: project, encoding: 'utf8', stdio: 'pipe' })

beforeAll(() => {
  cpSync(join(root, 'docs/examples/testing'), project, { recursive: true })
  const pack = ['pack', '--ignore-scripts', '--pack-destination', project]
  execFileSync('npm', pack, { cwd: root, stdio: 'pipe' })
  const [tarball = ''] = readdirSync(project).filter((file) => file.endsWith('.tgz'))
  const file = join(project, 'package.json')
  const own = readFileSync(file, 'utf8').replace('"headrace": "*"', `"headrace": "file:${tarball}"`)
  // By default vitest and jest give each law 5 s, which a busy machine may need.
  writeFileSync(file, own.replaceAll(/(sink|outbox)\.test\.js/g, '$& --testTimeout=60000'))
  npm('install', '--no-audit', '--no-fund', '--loglevel', 'error')
})

afterAll(() => rmSync(project, { recursive: true, force: true }))

const run = (script: string, planted = '') => {
  const { VITEST: _v, NODE_OPTIONS: _o, NODE_TEST_CONTEXT: _c, RUNS: _r, ...env } = process.env
  const { status, stdout, stderr } = spawnSync('npm', ['run', script], {
    cwd: project,
    encoding: 'utf8',
    env: { ...env, NO_COLOR: '1', PLANTED: planted },
  })
  return { status, text: stdout + stderr }
}

it.each(['test:sink', 'test:outbox', 'test:receiver'])('%s passes', (script) => {
  const { status, text } = run(script)
  expect(status, text).toBe(0)
})

it.each([
  ['two-verdicts', 'test:sink', 'sink/one-verdict'],
  ['never-completes', 'test:sink', 'sink/settles'],
  ['drops-on-500', 'test:sink', 'sink/failed-is-retryable'],
  ['loses-what-came-back', 'test:outbox', 'outbox/order'],
  ['verifies-the-parsed-body', 'test:receiver', 'kind/track'],
])('%s is found by %s: %s', (planted, script, law) => {
  const { status, text } = run(script, planted)
  expect(status).not.toBe(0)
  expect(text).toContain(law)
  expect(text).toMatch(/replay: await checkLaws|why/)
})

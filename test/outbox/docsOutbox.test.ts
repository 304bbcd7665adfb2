/** The outbox of docs/outbox.md keeps the laws of any outbox. Uses the built package. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { afterAll, expect, it } from 'vitest'
import type { OutboxFactory } from '../../src/outbox/factory.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { checkLaws, outboxLaws, type OutboxBounds, type OutboxItem } from '../../src/testing/laws/index.ts'
import { checkExamples } from '../support/examples.ts'
import { runs } from '../support/runs.ts'

type FileOutbox = (path: string, options: OutboxBounds & { readonly now: () => number }) => Outbox<OutboxItem>

const root = fileURLToPath(new URL('../..', import.meta.url))
const cache = `${root}node_modules/.cache/headrace`
mkdirSync(cache, { recursive: true })
const scratch = mkdtempSync(`${cache}/docs-outbox-`)
afterAll(() => rmSync(scratch, { recursive: true }))

/** Its code block up to its use. */
const source = (): string => {
  const blocks = readFileSync(`${root}docs/outbox.md`, 'utf8').split('```ts\n')
  const fence = blocks.find((each) => each.includes('const fileOutbox')) ?? ''
  const [before = ''] = fence.split('const folder = ')
  return before
    .replace('const fileOutbox', 'export const fileOutbox')
    .replaceAll(/from 'headrace'/g, `from '${root}dist/index.js'`)
    .replaceAll(/from 'headrace\/outbox'/g, `from '${root}dist/outbox/index.js'`)
    .replaceAll(/import .* from 'headrace\/.*\n/g, '')
}

it('the outbox in a file keeps the laws of any outbox', async () => {
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext }
  writeFileSync(`${scratch}/fileOutbox.mjs`, ts.transpileModule(source(), { compilerOptions }).outputText)
  // test/examples.test.ts checks the types of the block.
  const { fileOutbox } = (await import(`${scratch}/fileOutbox.mjs`)) as { readonly fileOutbox: FileOutbox }
  expect(fileOutbox).toBeTypeOf('function')
  const laws = outboxLaws(
    ({ bounds, clock, place }) => fileOutbox(`${scratch}/${place}.json`, { ...bounds, now: clock.now }),
    { leave: (place) => rmSync(`${scratch}/${place}.json`, { force: true }) },
  )
  await checkLaws(laws, { runs: runs(0.3), seed: 1 })
})

const example = (file: string): string => readFileSync(`${root}docs/examples/sqlite/${file}.ts`, 'utf8')

it('the outbox over SQLite keeps them too, and serves a destination and a client', async () => {
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext }
  const code = example('sqliteOutbox').replaceAll(
    /'headrace(\/\w+)?'/g,
    (_, entry = '') => `'${root}dist${String(entry)}/index.js'`,
  )
  writeFileSync(`${scratch}/sqliteOutbox.mjs`, ts.transpileModule(code, { compilerOptions }).outputText)
  // The program below checks its types.
  const { sqliteOutbox } = (await import(`${scratch}/sqliteOutbox.mjs`)) as {
    readonly sqliteOutbox: (path: string, bounds: OutboxBounds) => OutboxFactory<OutboxItem>
  }
  const codec = {
    toText: JSON.stringify,
    fromText: JSON.parse,
    sizeOf: ({ byteLength }: OutboxItem) => byteLength,
  }
  const laws = outboxLaws(({ bounds, clock, place }) =>
    sqliteOutbox(`${scratch}/${place}.db`, bounds)({ codec, clock }),
  )
  await checkLaws(laws, { runs: runs(0.1), seed: 1 })
  const text = example('sqliteOutbox') + example('main').replace(/.*'.\/sqliteOutbox.ts'\n/, '')
  const fences = [{ file: 'main.ts', line: 1, language: 'ts', flags: [], text }]
  expect(await checkExamples(fences, 30_000, { programs: true })).toEqual([[]])
})

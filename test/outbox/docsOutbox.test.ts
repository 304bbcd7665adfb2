/** The outbox of docs/outbox.md keeps the laws of any outbox. Uses the built package. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { afterAll, expect, it } from 'vitest'
import type { OutboxFactory, Outbox } from '../../src/outbox/outbox.ts'
import { checkLaws, outboxLaws, type OutboxBounds, type OutboxItem } from '../../src/testing/laws/index.ts'
import { checkExamples } from '../support/examples.ts'
import { projectFolder } from '../support/folder.ts'
import { runs } from '../support/runs.ts'

type FileOutbox = (path: string, options: OutboxBounds & { readonly now: () => number }) => Outbox<OutboxItem>

const root = fileURLToPath(new URL('../..', import.meta.url))
const scratch = projectFolder()
afterAll(() => rmSync(scratch, { recursive: true }))

const imported = async (name: string, code: string): Promise<unknown> => {
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext }
  writeFileSync(`${scratch}/${name}.mjs`, ts.transpileModule(code, { compilerOptions }).outputText)
  return import(`${scratch}/${name}.mjs`)
}

const source = (): string => {
  const blocks = readFileSync(`${root}docs/outbox.md`, 'utf8').split('```ts\n')
  const fence = blocks.find((each) => each.includes('const fileOutbox')) ?? ''
  const [before = ''] = fence.split('const folder = ')
  return before
    .replace('const fileOutbox', 'export const fileOutbox')
    .replaceAll(/import .* from 'headrace\/(?!outbox').*\n/g, '')
}

it('the outbox in a file keeps the laws of any outbox', async () => {
  // test/examples.test.ts checks the types of the block.
  const { fileOutbox } = (await imported('fileOutbox', source())) as { readonly fileOutbox: FileOutbox }
  expect(fileOutbox).toBeTypeOf('function')
  const laws = outboxLaws(
    ({ bounds, clock, place }) => fileOutbox(`${scratch}/${place}.json`, { ...bounds, now: clock.now }),
    { leave: (place) => rmSync(`${scratch}/${place}.json`, { force: true }) },
  )
  await checkLaws(laws, { runs: runs(0.3), seed: 1 })
})

const example = (file: string): string => readFileSync(`${root}docs/examples/sqlite/${file}.ts`, 'utf8')

it('the outbox over SQLite keeps them too, and serves a destination and a client', async () => {
  // The program below checks its types.
  const { sqliteOutbox } = (await imported('sqliteOutbox', example('sqliteOutbox'))) as {
    readonly sqliteOutbox: (path: string, bounds: OutboxBounds) => OutboxFactory<OutboxItem>
  }
  const sizeOf = ({ byteLength }: OutboxItem) => byteLength
  const codec = { toText: JSON.stringify, fromText: JSON.parse, sizeOf }
  const file = (place: string) => `${scratch}/${place}.db`
  const laws = outboxLaws(({ bounds, clock, place }) => sqliteOutbox(file(place), bounds)({ codec, clock }))
  await checkLaws(laws, { runs: runs(0.1), seed: 4 })
  const text = example('sqliteOutbox') + example('main').replace(/.*'.\/sqliteOutbox.ts'\n/, '')
  const fences = [{ file: 'main.ts', line: 1, language: 'ts', flags: [], text }]
  expect(await checkExamples(fences, 120_000, { programs: true })).toEqual([[]])
})

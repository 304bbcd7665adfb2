/** The outbox that docs/outboxes.md shows is held to the laws of any outbox. */
import * as fc from 'fast-check'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { afterAll, expect, it } from 'vitest'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { nothingReached, outboxLaws } from '../laws/outbox.ts'
import type { Bounds, Item } from '../laws/outboxWorld.ts'

type FileOutbox = (path: string, options: Bounds & { readonly now: () => number }) => Outbox<Item>

const root = fileURLToPath(new URL('../..', import.meta.url))
const cache = `${root}node_modules/.cache/headrace`
mkdirSync(cache, { recursive: true })
const scratch = mkdtempSync(`${cache}/docs-outbox-`)
afterAll(() => {
  rmSync(scratch, { recursive: true })
})

/** The outbox alone, over the items of the laws, which have their size under another name. */
const shown = (): string => {
  const [, fence = ''] = /```ts\n([^]*?)```/.exec(readFileSync(`${root}docs/outboxes.md`, 'utf8')) ?? []
  const [before = ''] = fence.split('const folder = ')
  return before
    .replaceAll('byteLength', 'size')
    .replace('const fileOutbox', 'export const fileOutbox')
    .replaceAll(/from 'headrace'/g, `from '${root}dist/index.js'`)
    .replaceAll(/import .* from 'headrace\/.*\n/g, '')
}

it('keeps them', async () => {
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext }
  writeFileSync(`${scratch}/fileOutbox.mjs`, ts.transpileModule(shown(), { compilerOptions }).outputText)
  // The examples' own test checks its types; if it were something else, the laws would say so.
  const { fileOutbox } = (await import(`${scratch}/fileOutbox.mjs`)) as { readonly fileOutbox: FileOutbox }
  const reached = nothingReached()
  await fc.assert(
    outboxLaws(() => {
      const folder = mkdtempSync(`${scratch}/of-`)
      return {
        open: (bounds, { now }) => fileOutbox(`${folder}/outbox.json`, { ...bounds, now }),
        crash: () => undefined,
        leave: () => {
          rmSync(folder, { recursive: true })
        },
      }
    }, reached),
    { numRuns: 10 },
  )
  expect(reached.crashedWithParked).toBeGreaterThan(0)
}, 120_000)

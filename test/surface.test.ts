import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { entries, root } from './package/entries.ts'
import { surfacesOf } from './package/surface.ts'

const SNAPSHOT = `${root}test/fixtures/surface.json`

describe('the published names', () => {
  const surfaces = surfacesOf(entries)

  test('are those that were agreed on: after a wanted change, run vitest with -u and say so in the changelog', async () => {
    expect(existsSync(SNAPSHOT)).toBe(true)
    await expect(`${JSON.stringify(surfaces, null, 2)}\n`).toMatchFileSnapshot(SNAPSHOT)
  })

  test.each(entries)('$specifier holds at run time what its types promise', async ({ specifier, code }) => {
    const module: unknown = await import(`${root}${code}`)
    const values = surfaces[specifier]?.values.filter((name) => !name.includes('.')) ?? []
    expect(values.length).toBeGreaterThan(0)
    expect(Object.keys(module as object).sort()).toEqual([...values].sort())
  })
})

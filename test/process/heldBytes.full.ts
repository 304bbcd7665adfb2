/** A byte that `stats().bytes` counts stands for at most 1.5 bytes of heap: events of six shapes, in a destination and in a client. */
import { expect, it } from 'vitest'
import { run } from '../bench/heldBytes.js'

it('H3, L3: the bound in bytes bounds the heap', async () => {
  // The bytes beside a text are a figure of the bench; here only that they are no more than counted.
  for (const { what, figure, unit, met } of await run({ maxBytes: 32_000_000 }))
    expect(unit === 'bytes' ? figure <= 256 : met, `${what}: ${String(figure)}`).toBe(true)
})

/** A byte that `stats().bytes` counts stands for at most 1.5 bytes of heap: events of six shapes, in a destination and in a client. */
import { expect, it } from 'vitest'
import { run } from '../bench/heldBytes.js'

it('H3, L3: the bound in bytes bounds the heap', async () => {
  for (const { what, figure, met } of await run({ maxBytes: 32_000_000 }))
    expect(met, `${what}: ${String(figure)}`).toBe(true)
})

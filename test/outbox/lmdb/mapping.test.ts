import { describe, expect, it } from 'vitest'
import { mapping } from '../../../src/outbox/lmdb/mapping.ts'
import type { Store } from '../../../src/outbox/lmdb/Store.ts'
import { wear } from '../../../src/outbox/lmdb/wear.ts'

const MiB = 1_048_576

describe('wear', () => {
  /** After how many writes it says yes, while so much is mapped. */
  const asks = (isWorn: (writes: number) => boolean): number => {
    for (let asked = 1; asked <= 100; asked++) if (isWorn(16)) return asked * 16
    return Infinity
  }

  it('says so when 64 MiB more are mapped than at the least since, and looks after 256 writes', () => {
    let mapped = 500 * MiB
    let looks = 0
    const isWorn = wear(() => {
      looks++
      return mapped
    })
    expect(asks(isWorn)).toBe(Infinity)
    expect(looks).toBe(1 + Math.floor((99 * 16) / 256))
    mapped = 563 * MiB
    expect(asks(isWorn)).toBe(Infinity)
    mapped = 400 * MiB
    expect(asks(isWorn)).toBe(Infinity)
    mapped = 464 * MiB
    expect(asks(isWorn)).toBeLessThanOrEqual(256)
    // Counted anew from here.
    expect(asks(isWorn)).toBe(Infinity)
    mapped = 528 * MiB
    expect(asks(isWorn)).toBeLessThanOrEqual(256)
  })

  it('never says so where the system does not tell', () => {
    expect(asks(wear(() => undefined))).toBe(Infinity)
  })

  it('reads what this system tells', () => {
    expect(wear()(1)).toBe(false)
  })
})

describe('mapping', () => {
  const closing = async (): Promise<void> => undefined
  // Of a store it uses nothing but the close.
  const store = { env: { close: closing } } as unknown as Store

  it('opens again what could not be opened, and reads wait for it', async () => {
    let failures = 2
    let worn = true
    const { ready, read, isReadable, close } = mapping({
      store,
      isWorn: () => worn,
      open: () => {
        if (failures-- > 0) throw new Error('no more files')
        worn = false
        return store
      },
    })
    expect(read(() => 1)).toBe(1)
    await expect(ready(1)).rejects.toThrow('no more files')
    expect(isReadable()).toBe(false)
    await expect(Promise.resolve(read(() => 1))).rejects.toThrow('no more files')
    expect(await read(() => 2)).toBe(2)
    expect(isReadable()).toBe(true)
    await ready(1)
    await close()
    await expect(ready(1)).rejects.toThrow('closed')
  })

  it('lets readers wait while it closes and opens', async () => {
    let opened = 0
    const readable: boolean[] = []
    const { ready, read, isReadable, beforeRenewal } = mapping({
      store,
      isWorn: () => opened === 0,
      open: () => {
        opened++
        return store
      },
    })
    beforeRenewal(() => readable.push(isReadable()))
    const renewed = ready(1)
    expect(readable).toEqual([true])
    expect(isReadable()).toBe(false)
    const answer = read(() => opened)
    await renewed
    expect(await answer).toBe(1)
  })
})

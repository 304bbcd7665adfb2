import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { justAppended } from '../../../src/outbox/lmdb/entering/justAppended.ts'
import type { JustAppended, Remembered } from '../../../src/outbox/lmdb/entering/justAppended.ts'
import { none, storedGround } from './grounds.ts'
import type { Item } from '../../laws/outboxWorld.ts'

type Make = (most: Remembered) => JustAppended<number>

type Command = { readonly add: number; readonly bytes: number } | 'shift'

const MOST: Remembered = { count: 5, bytes: 60 }

const commands = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ add: fc.integer({ min: -1, max: 5 }), bytes: fc.nat({ max: 20 }) }) },
    { weight: 1, arbitrary: fc.constant('shift' as const) },
  ),
  { maxLength: 60, size: 'max' },
)

interface Reached {
  byCount: number
  byBytes: number
  old: number
}

/** What it holds is the newest of what was added, in order and within both bounds, and nothing else. */
const law = (make: Make, reached: Reached = { byCount: 0, byBytes: 0, old: 0 }): fc.IProperty<[Command[]]> =>
  fc.property(commands, (all) => {
    const memory = make(MOST)
    const model: Array<{ number: number; bytes: number }> = []
    let newest = 0
    for (const command of all) {
      if (command === 'shift') {
        expect(memory.shift()).toBe(model.shift()?.number)
      } else {
        const number = newest + command.add
        const held = model.reduce((sum, { bytes }) => sum + bytes, 0)
        const isOld = number <= newest
        if (isOld) reached.old++
        else if (model.length >= MOST.count) reached.byCount++
        else if (held + command.bytes > MOST.bytes) reached.byBytes++
        else {
          model.push({ number, bytes: command.bytes })
          newest = number
        }
        expect(memory.takes(number, command.bytes)).toBe(newest === number && !isOld)
        memory.add(number, number, command.bytes)
      }
      expect(memory.first()).toBe(model[0]?.number)
    }
  })

test('it remembers the newest in order, within its bounds', () => {
  const reached = { byCount: 0, byBytes: 0, old: 0 }
  fc.assert(law(justAppended, reached), { numRuns: 500 })
  for (const count of Object.values(reached)) expect(count).toBeGreaterThan(200)
})

describe('the law finds a memory that', () => {
  const mutants: Readonly<Record<string, Make>> = {
    'heeds no count': ({ bytes }) => justAppended({ count: 1_000, bytes }),
    'heeds no bytes': ({ count }) => justAppended({ count, bytes: 1_000 }),
    'holds one too many': ({ count, bytes }) => justAppended({ count: count + 1, bytes }),
    'gives no room back': (most) => {
      const memory = justAppended<number>(most)
      let left = most.bytes
      return {
        ...memory,
        add: (number, value, bytes) => {
          left -= bytes
          if (left >= 0) memory.add(number, value, bytes)
        },
      }
    },
    'takes what is older': (most) => {
      const held: number[] = []
      return {
        takes: () => true,
        add: (_number, value, bytes) => {
          if (held.length < most.count && bytes <= most.bytes) held.push(value)
        },
        first: () => held[0],
        shift: () => held.shift(),
      }
    },
  }
  it.each(Object.entries(mutants))('%s', (_name, make) => {
    expect(fc.check(law(make), { numRuns: 500 }).failed).toBe(true)
  })
})

describe('what was appended a moment ago', () => {
  const item = (n: number): Item => ({ n, size: 1, text: `text ${String(n)}` })

  const readBack = async (remembered: Remembered): Promise<{ items: unknown[]; read: number }> => {
    let read = 0
    const ground = storedGround({
      remembered,
      fromText: () => {
        read++
      },
    })
    try {
      const outbox = ground.open({ maxCount: 100, maxBytes: 100, keepDead: 10 }, systemClock)
      for (let n = 0; n < 6; n++) await outbox.append(item(n))
      const first = await outbox.take(0, 2, 0)
      for (let n = 6; n < 10; n++) await outbox.append(item(n))
      const rest = await outbox.take(0, 100, 0)
      return { items: [...first, ...rest], read }
    } finally {
      await ground.leave()
    }
  }

  it('is handed out equal to what is read back, and in the same order', async () => {
    const [all, some, nothing] = await Promise.all(
      [{ count: 100, bytes: 10_000 }, { count: 3, bytes: 10_000 }, none].map(readBack),
    )
    expect(all?.read).toBe(0)
    // Three find room at first, two of them are handed out, and two more find room then.
    expect(some?.read).toBe(5)
    expect(nothing?.read).toBe(10)
    expect(all?.items).toStrictEqual(nothing?.items)
    expect(some?.items).toStrictEqual(nothing?.items)
  })
})

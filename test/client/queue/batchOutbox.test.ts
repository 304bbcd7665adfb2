import * as fc from 'fast-check'
import { isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { batchOutbox } from '../../../src/client/queue/batchOutbox.ts'
import type { BatchOutbox } from '../../../src/client/queue/batchOutbox.ts'
import { delivered } from '../../../src/core/outcome.ts'
import type { Entry } from '../../../src/outbox/outbox.ts'

interface Item {
  readonly lane: number | undefined
  readonly byteLength: number
}

type Command =
  | { readonly do: 'append'; readonly lane: number | undefined; readonly times: number }
  | { readonly do: 'take'; readonly limit: number; readonly parked: number }
  | { readonly do: 'park'; readonly delay: number }
  | { readonly do: 'end' | 'withdraw' | 'later' }
  | { readonly do: 'withdrawMany'; readonly times: number }

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      lane: fc.constantFrom(undefined, undefined, 0, 1),
      times: fc.constantFrom(1, 3, 90),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('take' as const),
      limit: fc.constantFrom(1, 2, 100),
      parked: fc.constantFrom(0, 1, 100),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('park' as const), delay: fc.constantFrom(1, 5, 9) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('end' as const, 'withdraw' as const, 'later' as const) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('withdrawMany' as const), times: fc.constantFrom(70, 150) }),
  },
)

/** One list in the order of append, searched anew for every answer. */
const model = (laneOf: (item: Item) => number | undefined): BatchOutbox<Item> => {
  interface Row {
    entry: Entry<Item>
    state: 'fresh' | 'out' | number
    parkedAt: number
  }
  let rows: Row[] = []
  let appended = 0
  let parkings = 0
  const mayGo = (row: Row): boolean => {
    const lane = laneOf(row.entry.item)
    return lane === undefined || rows.find((other) => laneOf(other.entry.item) === lane) === row
  }
  /** When it came to be free to go, new ones go in that order; of a lane that is when the one before it left. */
  const freed = new Map<string, number>()
  let turn = 0
  const note = (): void => {
    for (const row of rows)
      if (row.state === 'fresh' && mayGo(row) && !freed.has(row.entry.id)) freed.set(row.entry.id, turn++)
  }
  const find = (entry: Entry<Item>): Row | undefined => rows.find((row) => row.entry.id === entry.id)
  const remove = (row: Row | undefined): void => {
    rows = rows.filter((each) => each !== row)
    note()
  }
  const base = batchOutbox<Item>(laneOf)
  return {
    ...base,
    append: (item) => {
      const entry = { id: `b${String(++appended)}`, item, firstAttemptAt: undefined, progress: undefined }
      rows.push({ entry, state: 'fresh', parkedAt: 0 })
      note()
      return { _tag: 'Right', right: entry }
    },
    take: (now, limit, mostParked) => {
      const due = rows
        .filter((row) => typeof row.state === 'number' && row.state <= now)
        .toSorted((a, b) => Number(a.state) - Number(b.state) || a.parkedAt - b.parkedAt)
        .slice(0, Math.min(limit, mostParked))
      const fresh = rows
        .filter((row) => row.state === 'fresh' && mayGo(row))
        .toSorted((a, b) => (freed.get(a.entry.id) ?? 0) - (freed.get(b.entry.id) ?? 0))
        .slice(0, limit - due.length)
      const taken = [...due, ...fresh]
      for (const row of taken) row.state = 'out'
      return taken.map(({ entry }) => entry)
    },
    park: (entry, due) => {
      const row = find(entry)
      if (row === undefined) return
      row.state = due
      row.entry = entry
      row.parkedAt = parkings++
    },
    end: (entry) => {
      remove(find(entry))
    },
    nextDue: () => {
      if (rows.some((row) => row.state === 'fresh' && mayGo(row))) return 0
      const dues = rows.flatMap(({ state }) => (typeof state === 'number' ? [state] : []))
      return dues.length === 0 ? undefined : Math.min(...dues)
    },
    withdrawOldest: () => {
      const row = rows.find(({ state }) => state !== 'out')
      remove(row)
      return row?.entry
    },
    abandon: () => {
      const given = rows.filter(({ state }) => state !== 'out')
      rows = rows.filter(({ state }) => state === 'out')
      return given.map(({ entry }) => entry)
    },
    stats: () => ({
      waiting: rows.length,
      bytes: rows.reduce((sum, { entry }) => sum + entry.item.byteLength, 0),
      dead: 0,
      maxCount: Infinity,
      maxBytes: Infinity,
    }),
  }
}

describe('batchOutbox', () => {
  it('does what one searched list does, and reaches torn tickets in the heap', () => {
    let torn = 0
    fc.assert(
      fc.property(fc.array(command, { maxLength: 60, size: 'max' }), (commands) => {
        const laneOf = ({ lane }: Item): number | undefined => lane
        const both = [batchOutbox<Item>(laneOf), model(laneOf)] as const
        const out: Array<Entry<Item>> = []
        let now = 0
        const same = <T>(ask: (outbox: BatchOutbox<Item>) => T): T => {
          const [real, wanted] = [ask(both[0]), ask(both[1])]
          expect(real).toEqual(wanted)
          return real
        }
        for (const each of commands) {
          switch (each.do) {
            case 'append':
              for (let n = 0; n < each.times; n++)
                expect(
                  isRight(same((outbox) => outbox.append({ lane: each.lane, byteLength: 3 })) as never),
                ).toBe(true)
              break
            case 'take':
              out.push(
                ...(same((outbox) => outbox.take(now, each.limit, each.parked)) as ReadonlyArray<
                  Entry<Item>
                >),
              )
              break
            case 'park':
              for (const entry of out.splice(0)) {
                same((outbox) => outbox.park({ ...entry, firstAttemptAt: now }, now + each.delay))
              }
              break
            case 'end': {
              const entry = out.shift()
              if (entry !== undefined)
                same((outbox) => outbox.end(entry, delivered(entry.item, 1, { sink: 's' })))
              break
            }
            case 'later':
              now += 4
              break
            case 'withdraw':
              same((outbox) => outbox.withdrawOldest())
              break
            case 'withdrawMany':
              for (let n = 0; n < each.times; n++)
                if (same((outbox) => outbox.withdrawOldest())?.firstAttemptAt !== undefined) torn++
          }
          same((outbox) => outbox.nextDue())
          same((outbox) => outbox.stats())
        }
        same((outbox) => outbox.abandon())
        same((outbox) => outbox.stats())
      }),
      { numRuns: 200 },
    )
    expect(torn).toBeGreaterThan(200)
  })
})

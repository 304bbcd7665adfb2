import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { expired as expiredFailure, retryable } from '../../src/core/failure.ts'
import { delivered, expired } from '../../src/core/outcome.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import type { Entry, Outbox } from '../../src/outbox/outbox.ts'

/** What a memory outbox answers at once. */
const now = <T>(value: T | PromiseLike<T>): T => {
  if (typeof value === 'object' && value !== null && 'then' in value) throw new Error('a promise from memory')
  return value
}

const appended = <A>(outbox: Outbox<A>, item: A): Entry<A> => {
  const answer = now(outbox.append(item))
  if (isLeft(answer)) throw new Error('full')
  return answer.right
}

type Command =
  | { readonly do: 'append'; readonly size: number }
  | { readonly do: 'take'; readonly limit: number; readonly parked: number }
  | { readonly do: 'park'; readonly delay: number }
  | { readonly do: 'end' }
  | { readonly do: 'pass'; readonly ms: number }

const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ do: fc.constant('append' as const), size: fc.constantFrom(0, 1, 10, 40) }),
  fc.record({ do: fc.constant('take' as const), limit: fc.nat(5), parked: fc.nat(5) }),
  fc.record({ do: fc.constant('park' as const), delay: fc.constantFrom(0, 1, 10, 100) }),
  fc.record({ do: fc.constant('end' as const) }),
  fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(0, 1, 9, 10, 100) }),
)

interface Item {
  readonly n: number
  readonly byteLength: number
}

describe('memoryOutbox', () => {
  it('agrees with a plain model under 1,000 random command lists', () => {
    let refusedByCount = 0
    let refusedByBytes = 0
    let tookParked = 0
    fc.assert(
      fc.property(fc.array(command, { size: 'max', maxLength: 80 }), (commands) => {
        const outbox = memoryOutbox<Item>({ maxCount: 8, maxBytes: 100 })
        let clock = 0
        let fresh: Array<Entry<Item>> = []
        let parked: Array<{ entry: Entry<Item>; due: number }> = []
        const taken: Array<Entry<Item>> = []
        const everything = (): Array<Entry<Item>> => [...fresh, ...parked.map((row) => row.entry), ...taken]
        commands.forEach((each, n) => {
          switch (each.do) {
            case 'append': {
              const item = { n, byteLength: each.size }
              const answer = now(outbox.append(item))
              const bytes = everything().reduce((sum, entry) => sum + entry.item.byteLength, 0)
              const bound = everything().length >= 8 ? 'count' : bytes + each.size > 100 ? 'bytes' : undefined
              if (bound === 'count') refusedByCount++
              if (bound === 'bytes') refusedByBytes++
              expect(isLeft(answer) ? answer.left.bound : undefined).toBe(bound)
              if (!isLeft(answer)) fresh.push(answer.right)
              return
            }
            case 'take': {
              const due = parked.filter((row) => row.due <= clock).sort((a, b) => a.due - b.due)
              const retries = due.slice(0, Math.min(each.limit, each.parked)).map((row) => row.entry)
              const news = fresh.slice(0, each.limit - retries.length)
              expect(now(outbox.take(clock, each.limit, each.parked))).toEqual([...retries, ...news])
              tookParked += retries.length
              parked = parked.filter((row) => !retries.includes(row.entry))
              fresh = fresh.slice(news.length)
              taken.push(...retries, ...news)
              return
            }
            case 'park': {
              const entry = taken.shift()
              if (entry === undefined) return
              const due = clock + each.delay
              const again: Entry<Item> = {
                ...entry,
                firstAttemptAt: 0,
                progress: { attempts: 1, lastFailure: retryable('busy') },
              }
              now(outbox.park(again, due))
              parked.push({ entry: again, due })
              return
            }
            case 'end': {
              const entry = taken.shift()
              if (entry !== undefined) now(outbox.end(entry, delivered(entry.item, 1, { sink: 's' })))
              return
            }
            case 'pass':
              clock += each.ms
          }
          const { waiting } = outbox.stats()
          expect(waiting).toBe(everything().length)
          const soonest = Math.min(...parked.map((row) => row.due))
          expect(outbox.nextDue()).toBe(fresh.length > 0 ? 0 : parked.length > 0 ? soonest : undefined)
        })
        const left = now(outbox.abandon())
        expect(new Set(left)).toEqual(new Set([...fresh, ...parked.map((row) => row.entry)]))
        expect(outbox.stats().waiting).toBe(taken.length)
        expect(outbox.stats().bytes).toBe(taken.reduce((sum, entry) => sum + entry.item.byteLength, 0))
      }),
      { numRuns: 1_000 },
    )
    expect(refusedByCount).toBeGreaterThan(100)
    expect(refusedByBytes).toBeGreaterThan(100)
    expect(tookParked).toBeGreaterThan(100)
  })

  it('keeps a bounded number of dead letters, and puts them back on demand', () => {
    const outbox = memoryOutbox<string>({ keepDead: 2 })
    for (const item of ['a', 'b', 'c', 'd', 'e']) {
      const entry = appended(outbox, item)
      now(outbox.take(0, 1, 0))
      now(outbox.end(entry, expired(item, expiredFailure(1, 0, retryable('busy')))))
    }
    expect(now(outbox.dead.list()).map((letter) => letter.entry.item)).toEqual(['d', 'e'])
    expect(outbox.stats()).toMatchObject({ waiting: 0, dead: 2 })
    expect(now(outbox.dead.redrive((letter) => letter.entry.item === 'd'))).toBe(1)
    expect(
      now(outbox.take(0, 9, 9)).map((entry) => [entry.item, entry.firstAttemptAt, entry.progress]),
    ).toEqual([['d', undefined, undefined]])
    expect(now(outbox.dead.purge(() => true))).toBe(1)
    expect(outbox.stats()).toMatchObject({ waiting: 1, dead: 0 })
  })

  it('redrives only what there is room for; the rest stays dead', () => {
    const outbox = memoryOutbox<string>({ maxCount: 2 })
    for (const item of ['a', 'b', 'c']) {
      const entry = appended(outbox, item)
      now(outbox.take(0, 1, 0))
      now(outbox.end(entry, expired(item, expiredFailure(1, 0, retryable('busy')))))
    }
    expect(now(outbox.dead.redrive(() => true))).toBe(2)
    expect(outbox.stats()).toMatchObject({ waiting: 2, dead: 1 })
    expect(now(outbox.dead.list()).map((letter) => letter.entry.item)).toEqual(['c'])
  })

  it.each([
    ['maxCount', 0],
    ['maxCount', NaN],
    ['maxCount', -1],
    ['maxCount', 1.5],
    ['maxBytes', 0],
    ['maxBytes', Infinity],
    ['keepDead', -1],
    ['keepDead', NaN],
  ])('refuses %s: %s, and says so', (name, value) => {
    expect(() => memoryOutbox({ [name]: value })).toThrow(RangeError)
    expect(() => memoryOutbox({ [name]: value })).toThrow(`memoryOutbox: ${name}`)
  })
})

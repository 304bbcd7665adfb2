import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { retryable } from '../../src/core/failure.ts'
import { delivered } from '../../src/core/outcome.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import type { Entry, Outbox } from '../../src/outbox/outbox.ts'

export interface Keyed {
  readonly n: number
  readonly key: string | undefined
}

export type MakeInOrder = (outbox: Outbox<Keyed>, keyOf: (item: Keyed) => unknown) => Outbox<Keyed>

export type Command =
  | { readonly do: 'append'; readonly keys: ReadonlyArray<string | undefined> }
  | { readonly do: 'take'; readonly limit: number; readonly parked: number }
  | { readonly do: 'park'; readonly which: number; readonly delay: number; readonly tried: boolean }
  | { readonly do: 'end'; readonly which: number }
  | { readonly do: 'pass'; readonly ms: number }

const key = fc.constantFrom('a', 'a', 'a', 'b', 'b', 'c', undefined)

export const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('append' as const), keys: fc.array(key, { maxLength: 6 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('take' as const),
      limit: fc.integer({ min: 1, max: 4 }),
      parked: fc.nat(3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('park' as const),
      which: fc.nat(3),
      delay: fc.constantFrom(0, 1, 10),
      tried: fc.constantFrom(true, true, false),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(0, 1, 9, 10) }) },
)

/** Situations that the worlds must reach, or the law tests little. */
export interface Reached {
  worlds: number
  heldBack: number
  parkedHead: number
  handedBack: number
}

export const nothingReached = (): Reached => ({ worlds: 0, heldBack: 0, parkedHead: 0, handedBack: 0 })

const now = <T>(value: T | PromiseLike<T>): T => {
  if (typeof value === 'object' && value !== null && 'then' in value) throw new Error('a promise from memory')
  return value
}

/** What is wrong with an outbox that keeps the order, or nothing. */
const broken = (
  make: MakeInOrder,
  commands: ReadonlyArray<Command>,
  reached: Reached,
): string | undefined => {
  const outbox = make(memoryOutbox<Keyed>(), ({ key: own }) => own)
  const out: Array<Entry<Keyed>> = []
  /** Accepted and not ended, in the order of their coming. */
  let waiting: number[] = []
  const parked = new Map<number, number>()
  const keys: Array<string | undefined> = []
  let clock = 0

  const isHead = (n: number): boolean =>
    keys[n] === undefined || waiting.find((other) => keys[other] === keys[n]) === n
  const mayGo = (): ReadonlyArray<number> =>
    waiting.filter((n) => isHead(n) && (parked.get(n) ?? 0) <= clock && !out.some(({ item }) => item.n === n))
  const fault = (entries: ReadonlyArray<Entry<Keyed>>, limit: number, most: number): string | undefined => {
    const free = mayGo()
    if (entries.some(({ item }) => !free.includes(item.n)))
      return 'handed out one that must wait, or that is out'
    if (entries.length > limit) return 'more than were asked for'
    const retries = entries.filter(({ progress }) => progress !== undefined).length
    if (retries > most) return 'more retries than were asked for'
    const news = free.filter((n) => !parked.has(n)).length
    return entries.length < Math.min(limit, news) ? 'fewer than there are' : undefined
  }

  for (const each of commands) {
    switch (each.do) {
      case 'append':
        for (const own of each.keys) {
          const n = keys.push(own) - 1
          if (isLeft(now(outbox.append({ n, key: own })))) return 'refused'
          waiting.push(n)
        }
        break
      case 'take': {
        const entries = now(outbox.take(clock, each.limit, each.parked))
        const wrong = fault(entries, each.limit, each.parked)
        if (wrong !== undefined) return wrong
        for (const { item } of entries) parked.delete(item.n)
        out.push(...entries)
        break
      }
      case 'park': {
        const [entry] = out.splice(each.which, 1)
        if (entry === undefined) break
        const progress = { attempts: 1, lastFailure: retryable('busy') }
        now(outbox.park(each.tried ? { ...entry, firstAttemptAt: 0, progress } : entry, clock + each.delay))
        parked.set(entry.item.n, clock + each.delay)
        if (waiting.some((n) => n > entry.item.n && keys[n] !== undefined && keys[n] === keys[entry.item.n]))
          reached.parkedHead++
        break
      }
      case 'end': {
        const [entry] = out.splice(each.which, 1)
        if (entry === undefined) break
        now(outbox.end(entry, delivered(entry.item, 1, { sink: 's' })))
        waiting = waiting.filter((n) => n !== entry.item.n)
        break
      }
      case 'pass':
        clock += each.ms
    }
    if (outbox.stats().waiting !== waiting.length) return 'the counts differ'
    if (waiting.some((n) => !isHead(n))) reached.heldBack++
    const due = outbox.nextDue()
    if (mayGo().length > 0 && !((due ?? Infinity) <= clock)) return 'due later than there is something'
  }
  const rest = waiting.filter((n) => !out.some(({ item }) => item.n === n))
  const back = now(outbox.abandon()).map(({ item }) => item.n)
  if (back.length > 1) reached.handedBack++
  if (back.toSorted((a, b) => a - b).join() !== rest.join())
    return 'handed back something else than what waited'
  for (const own of ['a', 'b', 'c']) {
    const mine = back.filter((n) => keys[n] === own)
    if (mine.join() !== mine.toSorted((a, b) => a - b).join()) return 'handed back in another order'
  }
  return outbox.stats().waiting === out.length ? undefined : 'counts what was handed back'
}

/** The order within a key, and nothing else: nobody waits who need not, nothing is lost, and what is handed back is in order. */
export const inOrderLaw = (
  make: MakeInOrder,
  reached: Reached = nothingReached(),
): fc.IProperty<[ReadonlyArray<Command>]> =>
  fc.property(fc.array(command, { size: 'max', maxLength: 40 }), (commands) => {
    reached.worlds++
    const wrong = broken(make, commands, reached)
    if (wrong !== undefined) throw new Error(wrong)
  })

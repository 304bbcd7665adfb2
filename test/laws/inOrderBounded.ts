/** The same order over an outbox that holds more than memory does, and can hand out retries alone. */
import * as fc from 'fast-check'
import { right } from 'fp-ts/lib/Either.js'
import { isPromiseLike } from '../../src/core/awaitable.ts'
import type { Awaitable } from '../../src/core/awaitable.ts'
import { retryable } from '../../src/core/failure.ts'
import { delivered } from '../../src/core/outcome.ts'
import type { Entry, Outbox } from '../../src/outbox/outbox.ts'
import { command } from './inOrder.ts'
import type { Command, Keyed } from './inOrder.ts'

export interface BoundedOrder {
  readonly keyOf: (item: Keyed) => unknown
  readonly mostBehind: number
}

export type MakeBounded = (outbox: Outbox<Keyed>, options: BoundedOrder) => Outbox<Keyed>

export interface World {
  readonly mostBehind: number
  /** Whether all have one key. */
  readonly isSingle: boolean
  /** Whether the outbox answers later. */
  readonly isLater: boolean
  /** There before it was opened: some of them wait for a retry. */
  readonly earlier: ReadonlyArray<{ readonly key: string; readonly isParked: boolean }>
  readonly commands: ReadonlyArray<Command>
}

const world: fc.Arbitrary<World> = fc.record({
  mostBehind: fc.constantFrom(0, 1, 3, 8),
  isSingle: fc.boolean(),
  isLater: fc.boolean(),
  earlier: fc.array(fc.record({ key: fc.constantFrom('a', 'a', 'b'), isParked: fc.boolean() }), {
    maxLength: 6,
  }),
  commands: fc.array(command, { size: 'max', maxLength: 40 }),
})

/** Situations that the worlds must reach, or the law tests little. */
export const nothingBoundedReached = () => ({ worlds: 0, full: 0, retriedWhileFull: 0, heldMost: 0, vain: 0 })
export type BoundedReached = ReturnType<typeof nothingBoundedReached>

interface Parked {
  readonly due: number
  readonly entry: Entry<Keyed>
}

/** A store, as far as it matters here: what is out is known to it, and all else stays where it is. */
const store = (isLater: boolean) => {
  let fresh: ReadonlyArray<Entry<Keyed>> = []
  let parked: ReadonlyArray<Parked> = []
  const out = new Set<string>()
  const answer = <T>(value: T): Awaitable<T> => (isLater ? Promise.resolve(value) : value)
  const hand = (entries: ReadonlyArray<Entry<Keyed>>): ReadonlyArray<Entry<Keyed>> => {
    for (const { id } of entries) out.add(id)
    return entries
  }
  const takeParked = (now: number, limit: number): ReadonlyArray<Entry<Keyed>> => {
    const due = parked.filter((one) => one.due <= now).slice(0, limit)
    parked = parked.filter((one) => !due.includes(one))
    return hand(due.map(({ entry }) => entry))
  }
  const nextParked = (): number | undefined => parked[0]?.due
  const putBack = (entry: Entry<Keyed>, due: number): void => {
    parked = [...parked, { due, entry }].toSorted((a, b) => a.due - b.due)
  }
  const outbox: Outbox<Keyed> = {
    durable: true,
    append: (item) => {
      const entry = { id: String(item.n), item, firstAttemptAt: undefined, progress: undefined }
      fresh = [...fresh, entry]
      return answer(right(entry))
    },
    take: (now, limit, most) => {
      const retries = takeParked(now, Math.min(limit, most))
      const news = fresh.slice(0, limit - retries.length)
      fresh = fresh.slice(news.length)
      return answer([...retries, ...hand(news)])
    },
    parked: { nextDue: nextParked, take: (now, limit) => answer(takeParked(now, limit)) },
    park: (entry, due) => {
      out.delete(entry.id)
      putBack(entry, due)
      return answer(undefined)
    },
    end: ({ id }) => {
      out.delete(id)
      return answer(undefined)
    },
    nextDue: () => (fresh.length > 0 ? 0 : nextParked()),
    abandon: () => [],
    dead: { list: () => [], redrive: () => 0, purge: () => 0 },
    stats: () => ({
      waiting: fresh.length + parked.length + out.size,
      bytes: 0,
      dead: 0,
      maxCount: Infinity,
      maxBytes: Infinity,
    }),
    close: () => Promise.resolve(),
  }
  return { outbox, out: () => out.size, putBack }
}

const progress = { attempts: 1, lastFailure: retryable('busy') }

/** Plays a world; throws what is wrong. */
const play = async (make: MakeBounded, given: World, reached: BoundedReached): Promise<void> => {
  const { mostBehind, isSingle, isLater, earlier, commands } = given
  const under = store(isLater)
  const keyOf = ({ key }: Keyed): unknown => (isSingle ? 0 : key)
  const waiting: Keyed[] = []
  /** Of an earlier life, and not handed out yet: their order is that of the store. */
  const old = new Set<number>()
  const parked = new Map<number, number>()
  let out: ReadonlyArray<Entry<Keyed>> = []
  let clock = 0
  let made = 0
  let mostAsked = 0
  const earlierRetries = earlier.filter(({ isParked }) => isParked).length

  for (const { key, isParked } of earlier) {
    const item = { n: made++, key }
    waiting.push(item)
    old.add(item.n)
    const entry = { id: String(item.n), item, firstAttemptAt: 0, progress }
    if (isParked) {
      under.putBack(entry, 5)
      parked.set(item.n, 5)
    } else await under.outbox.append(item)
  }
  const outbox = make(under.outbox, { keyOf, mostBehind })

  const isBehind = ({ n, key }: Keyed): boolean => {
    const own = keyOf({ n, key })
    if (own === undefined) return false
    if (out.some(({ item }) => keyOf(item) === own)) return true
    return !old.has(n) && waiting.some((other) => other.n < n && keyOf(other) === own && !old.has(other.n))
  }
  const must = (isSo: boolean, what: string): void => {
    if (!isSo) throw new Error(what)
  }
  const take = async (limit: number, most: number): Promise<number> => {
    mostAsked = Math.max(mostAsked, limit)
    const isWakeful = (outbox.nextDue() ?? Infinity) <= clock
    const answer = outbox.take(clock, limit, most)
    const entries = isPromiseLike(answer) ? await answer : answer
    for (const { item } of entries) {
      must(!out.some((one) => one.item.n === item.n), 'handed out one that is out')
      must((parked.get(item.n) ?? 0) <= clock, 'handed out one that is not due')
      must(!isBehind(item), 'handed out one that must wait')
    }
    must(entries.length <= limit, 'more than were asked for')
    must(
      entries.filter(({ item, progress: tried }) => tried !== undefined && item.n >= earlier.length).length <=
        most,
      'more retries than were asked for',
    )
    const nothingIsOut = out.length === 0
    out = [...out, ...entries]
    for (const { item } of entries) {
      parked.delete(item.n)
      old.delete(item.n)
    }
    const held = under.out() - out.length
    // Retries of an earlier life stand before those that may go, and can only be passed by taking them.
    must(held <= mostBehind + mostAsked + earlierRetries, `${String(held)} are held in memory`)
    if (held === mostBehind + mostAsked) reached.heldMost++
    const isFull = held >= mostBehind && held > 0
    if (isFull) reached.full++
    if (isFull && entries.some((entry) => entry.progress !== undefined)) reached.retriedWhileFull++
    if (entries.length > 0) return entries.length
    if (isWakeful) reached.vain++
    const isAnyFree =
      nothingIsOut && waiting.length > 0 && waiting.every(({ n }) => (parked.get(n) ?? 0) <= clock)
    must(!isAnyFree || most === 0, 'nothing, though nothing is out and all is due')
    const due = outbox.nextDue()
    must(
      due === undefined || due > clock || most === 0,
      'after nothing it says at once that there is something',
    )
    return 0
  }
  const back = (which: number): Entry<Keyed> | undefined => {
    const entry = out[which]
    out = out.filter((each) => each !== entry)
    return entry
  }
  const end = async (which: number): Promise<void> => {
    const entry = back(which)
    if (entry === undefined) return
    waiting.splice(waiting.indexOf(entry.item), 1)
    await outbox.end(entry, delivered(entry.item, 1, { sink: 's' }))
  }

  for (const each of commands) {
    if (each.do === 'take') await take(each.limit, each.parked)
    else if (each.do === 'end') await end(each.which)
    else if (each.do === 'pass') clock += each.ms
    else if (each.do === 'append')
      for (const key of each.keys) {
        const item = { n: made++, key }
        waiting.push(item)
        await outbox.append(item)
      }
    else {
      const entry = back(each.which)
      if (entry === undefined) continue
      parked.set(entry.item.n, clock + each.delay)
      await outbox.park(each.tried ? { ...entry, firstAttemptAt: 0, progress } : entry, clock + each.delay)
    }
    must(outbox.stats().waiting === waiting.length, 'the counts differ')
  }
  // Everything ends.
  clock += 100
  while (waiting.length > 0) {
    const before = waiting.length
    await take(2, 1)
    while (out.length > 0) await end(0)
    must(waiting.length < before, 'it goes no further')
  }
  reached.worlds++
}

/** Order within a key, a bound on what is held in memory, and no standstill. */
export const inOrderBoundedLaw = (
  make: MakeBounded,
  reached: BoundedReached = nothingBoundedReached(),
): fc.IAsyncProperty<[World]> => fc.asyncProperty(world, (given) => play(make, given, reached))

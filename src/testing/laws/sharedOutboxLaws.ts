import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Awaitable } from '../../core/awaitable.ts'
import { refused, retryable } from '../../core/failure.ts'
import type { Verdict } from '../../core/failure.ts'
import { newId } from '../../event/payload.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { relay } from '../../outbox/relay.ts'
import { exponential } from '../../policy/retryPolicy.ts'
import { makeSink } from '../../sink/layer.ts'
import { virtualClock } from '../virtualClock.ts'
import type { VirtualClock } from '../virtualClock.ts'
import { holds, same } from './assert.ts'
import { lawsOver, type Law, type Run } from './law.ts'
import { settled } from './outboxWorld.ts'

/** Where several relays open one store. */
export interface SharedOutboxWorld {
  readonly clock: VirtualClock
  /** Names the store: new in each run, the same for all its relays. */
  readonly place: string
  /** Milliseconds for which a lease must hold if it is not renewed. */
  readonly leaseTime: number
  /** Milliseconds that the store may take for an answer. Real stores leave it out. */
  readonly latency: number
}

/** What one process sees of a shared store. */
export interface SharedOutbox {
  readonly outbox: Outbox<number>
  /** As a crash of its process: it writes nothing more and renews no lease. Left out: in the laws no process crashes. */
  readonly kill?: () => void
}

/** Opens the store for one more process. */
export type OpenSharedOutbox = (world: SharedOutboxWorld) => Awaitable<SharedOutbox>

const RELAYS = 3
const LEASE_TIME = 30_000
/** Milliseconds of a delivery. */
const DELIVERY = 100

/** Often the same moments, so that crashes meet deliveries. */
const moment = (later: number): fc.Arbitrary<number> =>
  fc.oneof(
    fc.nat(20_000),
    fc.constantFrom(0, 1_000, 5_000).map((at) => at + later),
  )

const input = fc.record({
  latency: fc.constantFrom(0, 1, 40),
  maxInFlight: fc.constantFrom(1, 2, 5),
  items: fc.array(
    fc.record({ at: moment(0), relay: fc.nat(RELAYS - 1), busy: fc.nat(2), no: fc.boolean() }),
    { minLength: 1, maxLength: 12 },
  ),
  /** The last relay never crashes, so that everything ends. */
  crashes: fc.array(fc.record({ at: moment(50), relay: fc.nat(RELAYS - 2) }), { maxLength: 3 }),
})
type Input = typeof input extends fc.Arbitrary<infer I> ? I : never

interface Trace {
  readonly accepted: ReadonlySet<number>
  /** By item, the relays that told of its end. */
  readonly ends: ReadonlyMap<number, ReadonlyArray<number>>
  readonly attempts: ReadonlyMap<number, number>
  readonly crashed: ReadonlySet<number>
  readonly inFlightTwice: ReadonlyArray<number>
  readonly left: {
    readonly waiting: number
    readonly working: number
    readonly timers: ReadonlyArray<string>
  }
}

const play = async (
  open: OpenSharedOutbox,
  { latency, maxInFlight, items, crashes }: Input,
  { reach, log }: Run,
): Promise<Trace> => {
  const clock = virtualClock()
  const world = { clock, place: newId(), leaseTime: LEASE_TIME, latency }
  const running = new Map<number, number>()
  const attempts = new Map<number, number>()
  const ends = new Map<number, number[]>()
  const accepted = new Set<number>()
  const crashed = new Set<number>()
  const inFlightTwice: number[] = []
  const tell = (what: string): void => log(`${String(clock.monotonic())} ms: ${what}`)

  const start = async (index: number) => {
    const { outbox, kill } = await settled(clock, open(world))
    const sink = makeSink<number>(
      `relay ${String(index)}`,
      (item, attempt, observer) => {
        tell(`relay ${String(index)} sends item ${String(item)}, attempt ${String(attempt.number)}`)
        const count = running.get(item) ?? 0
        if (count > 0) inFlightTwice.push(item)
        running.set(item, count + 1)
        attempts.set(item, (attempts.get(item) ?? 0) + 1)
        const { busy = 0, no = false } = items[item] ?? {}
        const final: Verdict = no ? left(refused('no')) : right({ sink: 's' })
        const cancel = clock.schedule(DELIVERY, () => {
          observer.next(attempt.number <= busy ? left(retryable('busy')) : final)
          observer.complete()
        })
        return () => {
          cancel()
          // After a crash the lease holds until it runs out.
          if (!crashed.has(index)) running.set(item, (running.get(item) ?? 1) - 1)
        }
      },
      () => () => Promise.resolve(),
    )
    const work = relay<number>({
      sink,
      outbox,
      retry: exponential({ base: 500 }),
      clock,
      random: () => 0.5,
      maxInFlight,
      ended: ({ item, _tag }) => {
        tell(`relay ${String(index)} ends item ${String(item)}: ${_tag}`)
        ends.set(item, [...(ends.get(item) ?? []), index])
      },
    })
    const crash = (): void => {
      if (crashed.has(index) || kill === undefined) return
      tell(`relay ${String(index)} crashes`)
      const lost = [...running.keys()].filter((item) => (running.get(item) ?? 0) > 0)
      if (lost.length > 0) reach('a crash with items in flight')
      crashed.add(index)
      kill()
      work.abort(() => undefined)
      clock.schedule(LEASE_TIME, () => {
        for (const item of lost) running.set(item, 0)
      })
    }
    const offer = async (item: number): Promise<void> => {
      if (!crashed.has(index) && (await work.offer(item))._tag === 'Right') accepted.add(item)
    }
    return { outbox, work, crash, offer, isAlive: () => !crashed.has(index) }
  }
  const relays: Array<Awaited<ReturnType<typeof start>>> = []
  for (let index = 0; index < RELAYS; index++) relays.push(await start(index))
  const events = [
    ...items.map(({ at, relay: index }, n) => ({ at, run: () => void relays[index]?.offer(n) })),
    ...crashes.map(({ at, relay: index }) => ({ at, run: () => relays[index]?.crash() })),
  ].sort((a, b) => a.at - b.at)
  const began = clock.monotonic()
  for (const { at, run } of events) {
    await clock.advance(Math.max(0, began + at - clock.monotonic()))
    run()
    await clock.settle()
  }
  await clock.advance(200_000)
  const alive = relays.filter(({ isAlive }) => isAlive())
  const rest = {
    waiting: alive[0]?.outbox.stats().waiting ?? 0,
    working: alive.filter(({ work }) => work.hasWorkBefore(Infinity)).length,
    timers: clock.timers().map(({ name }) => name),
  }
  for (const { work, outbox } of relays) {
    work.abort(() => undefined)
    await settled(clock, outbox.close())
  }
  return { accepted, ends, attempts, crashed, inFlightTwice, left: rest }
}

/**
 * The laws of a store that several processes share: three relays take items, deliver them and crash. Leases, `watch` and progress are what they
 * are about; check each view with `outboxLaws` as well.
 */
export const sharedOutboxLaws = (open: OpenSharedOutbox): ReadonlyArray<Law> =>
  lawsOver('shared-outbox', input, (given, run) => play(open, given, run), {
    'ends-once': {
      statement: 'An accepted item ends once; after a crash in its delivery it may end again.',
      check: ({ accepted, ends, attempts, crashed }) => {
        for (const item of accepted) {
          const tellers = ends.get(item) ?? []
          const isExcused = crashed.size > 0 && attempts.has(item)
          holds(tellers.length > 0 || isExcused, `item ${String(item)} was lost`)
          const sure = tellers.filter((index) => !crashed.has(index))
          holds(sure.length <= 1, `item ${String(item)} ended ${String(sure.length)} times`)
        }
      },
    },
    'one-at-a-time': {
      statement:
        'An item is in flight in one process at a time, and in another one only after its lease ran out.',
      check: ({ inFlightTwice }) => same(inFlightTwice, []),
    },
    'keeps-progress': {
      statement:
        'Without a crash an item has as many attempts as its sink needs, whichever process makes them.',
      check: ({ accepted, attempts, crashed }, { items }) => {
        if (crashed.size > 0) return
        for (const item of accepted) same(attempts.get(item), (items[item]?.busy ?? 0) + 1)
      },
    },
    'leaves-nothing': {
      statement: 'In the end nothing waits, no process has work, and no timer is left.',
      check: ({ left: rest }) => same(rest, { waiting: 0, working: 0, timers: [] }),
    },
  })

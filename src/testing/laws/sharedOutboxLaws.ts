import * as fc from 'fast-check'
import { isRight, left, right } from '../../core/either.ts'
import type { Awaitable } from '../../core/awaitable.ts'
import { refused, retryable } from '../../core/failure.ts'
import { newId } from '../../event/payload.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { relay } from '../../outbox/relay.ts'
import { one } from '../../outbox/take.ts'
import { exponential } from '../../policy/retryPolicy.ts'
import { scriptedSink } from '../scriptedSink.ts'
import { virtualClock, type VirtualClock } from '../virtualClock.ts'
import { holds, same, lawsOver, type Drawn, type Law, type Run } from './law.ts'
import { settled, type OutboxLawOptions } from './outboxWorld.ts'

/** Where several relays open one store. */
export interface SharedOutboxWorld {
  readonly clock: VirtualClock
  /** Names the store: new in each run, the same for all its relays. */
  readonly place: string
  /** Milliseconds for which a lease holds after the last sign of life. Renew it twice in that time. */
  readonly leaseTime: number
  /** Milliseconds that the store may take for an answer. Real stores leave it out. */
  readonly latency: number
}

/** One process's view of a shared store. */
export interface SharedOutbox {
  readonly outbox: Outbox<number>
  /** As a crash of its process: no more writes, no renewed lease. Left out: no process crashes. */
  readonly kill?: () => void
}

/** Opens the store for one more process. */
export type OpenSharedOutbox = (world: SharedOutboxWorld) => Awaitable<SharedOutbox>

const RELAYS = 3
const LEASE_TIME = 30_000
const RUN_TIME = 220_000
const DELIVERY = 100
/** Longer than a lease. */
const LONG_DELIVERY = 45_000

/** Often the same, so that crashes, half a delivery later, meet deliveries. */
const at = fc.constantFrom(0, 0, 1_000, 5_000, 5_010, 14_444)

const sharedRun = fc.record({
  latency: fc.constantFrom(0, 1, 40),
  maxInFlight: fc.constantFrom(1, 2, 5),
  /** Whether the last delivery of the first item takes longer than a lease, which must be renewed. */
  isLong: fc.boolean(),
  items: fc.array(fc.record({ at, relay: fc.nat(RELAYS - 1), busy: fc.nat(2), no: fc.boolean() }), {
    minLength: 1,
    maxLength: 12,
  }),
  /** The last relay never crashes, so that everything ends. */
  crashes: fc.array(fc.record({ at, relay: fc.nat(RELAYS - 2) }), { maxLength: 3 }),
  /** When the last relay asks for the end of all. */
  asks: fc.array(at, { maxLength: 2 }),
})

const aims = ['another process delivered an item', 'a retry', 'a crash cut a delivery']

const playShared = async (
  open: OpenSharedOutbox,
  { latency, maxInFlight, isLong, items, crashes, asks }: Drawn<typeof sharedRun>,
  { log, reach }: Run,
  settle: OutboxLawOptions['settle'],
) => {
  const clock = virtualClock()
  const world = { clock, place: newId(), leaseTime: LEASE_TIME, latency }
  const accepted: number[] = []
  const waits: Array<{ readonly before: ReadonlyArray<number>; endedAt: number }> = []
  const ends: Array<{ readonly item: number; readonly relay: number }> = []
  /** The time of its crash, by relay. */
  const crashed = new Map<number, number>()
  const tell = (what: string): void => log(`${String(clock.monotonic())} ms: relay ${what}`)

  const start = async (index: number) => {
    const { outbox, kill } = await settled(clock, open(world))
    // Without a crash there is nothing to reach.
    if (kill === undefined) reach('a crash cut a delivery')
    const sink = scriptedSink<number>({
      clock,
      reply: (item, { number }) => {
        tell(`${String(index)} sends item ${String(item)}, attempt ${String(number)}`)
        const { busy = 0, no = false, relay = index } = items[item] ?? {}
        if (relay !== index) reach('another process delivered an item')
        if (number > 1) reach('a retry')
        const last = no ? left(refused('no')) : right({ sink: 's' })
        if (number <= busy) return { verdict: left(retryable('busy')), after: DELIVERY }
        return { verdict: last, after: isLong && item === 0 ? LONG_DELIVERY : DELIVERY }
      },
    })
    const work = relay<number>({
      ...{ sink, outbox, clock, shape: one(maxInFlight), random: () => 0.5 },
      retry: exponential({ base: 500 }),
      ended: ({ item }) => void ends.push({ item, relay: index }),
    })
    const offer = async (item: number): Promise<void> => {
      if (crashed.has(index)) return
      try {
        if (isRight(await work.offer(item))) accepted.push(item)
      } catch (error) {
        // A relay that crashed gets no answer.
        if (!crashed.has(index)) throw error
      }
    }
    const crash = (): void => {
      if (crashed.has(index) || kill === undefined) return
      tell(`${String(index)} crashes`)
      if (sink.running() > 0) reach('a crash cut a delivery')
      crashed.set(index, clock.monotonic())
      kill()
      work.abort(() => undefined)
    }
    return { outbox, work, sink, offer, crash }
  }
  const relays: Array<Awaited<ReturnType<typeof start>>> = []
  for (let index = 0; index < RELAYS; index++) relays.push(await start(index))
  for (const [n, each] of items.entries()) clock.schedule(each.at, () => void relays[each.relay]?.offer(n))
  for (const each of crashes) clock.schedule(each.at + DELIVERY / 2, () => relays[each.relay]?.crash())
  const last = relays.at(-1)?.outbox
  for (const each of last?.allEnded ? asks : [])
    clock.schedule(each, () => {
      const wait = { before: [...accepted], endedAt: Infinity }
      waits.push(wait)
      void last?.allEnded?.().then(() => (wait.endedAt = clock.monotonic()))
    })
  const step = settle === undefined ? RUN_TIME : 1_000
  for (let passed = 0; passed < RUN_TIME; passed += step) {
    await clock.advance(step)
    await settle?.(step)
  }

  const alive = relays.filter((_, index) => !crashed.has(index))
  const rest = {
    waiting: alive[0]?.outbox.stats().waiting,
    working: alive.filter(({ work }) => work.hasWorkBefore(Infinity)).length,
    timers: clock.timers().map(({ name }) => name),
  }
  // Deliveries cut by a crash stay leased.
  const deliveries = relays.flatMap(({ sink }, index) =>
    sink.calls.map(({ item, attempt, startedAt, ended, endedAt = Infinity }) => ({
      item,
      // A crash may have taken the report of its outcome, and nothing else.
      mayHaveEnded: crashed.has(index) && ended === 'completed' && attempt.number > (items[item]?.busy ?? 0),
      from: startedAt,
      // The last sign of life may have been half of the time before the crash.
      to: ended === 'cancelled' ? (crashed.get(index) ?? Infinity) + LEASE_TIME / 2 : endedAt,
    })),
  )
  for (const { work, outbox } of relays) {
    work.abort(() => undefined)
    await settled(clock, outbox.close())
  }
  return { accepted, ends, crashed, deliveries, rest, waits }
}

/**
 * The laws of a store that several processes share: three relays take items, deliver them and crash. They are
 * about leases, `watch` and progress; check each view with `outboxLaws` too. `settle` is called each second.
 */
export const sharedOutboxLaws = (
  open: OpenSharedOutbox,
  { settle }: Pick<OutboxLawOptions, 'settle'> = {},
): ReadonlyArray<Law> => {
  const laws = lawsOver('shared-outbox', sharedRun, (given, run) => playShared(open, given, run, settle), {
    'ends-once': {
      statement: 'An accepted item ends once; after a crash in its delivery it may end again.',
      check: ({ accepted, ends, deliveries, crashed }) => {
        for (const item of accepted) {
          // The end that a crashed relay told may have been lost with it.
          const sure = ends.filter((each) => each.item === item && !crashed.has(each.relay)).length
          const mayBeLess = deliveries.some((each) => each.item === item && each.mayHaveEnded)
          holds(sure === 1 || (sure === 0 && mayBeLess), `item ${String(item)} ended ${String(sure)} times`)
        }
      },
    },
    'one-at-a-time': {
      statement: 'An item is in flight in one process at a time, in another only after its lease ran out.',
      check: ({ deliveries }) => {
        const free = new Map<number, number>()
        for (const { item, from, to } of [...deliveries].sort((a, b) => a.from - b.from)) {
          holds(from >= (free.get(item) ?? 0), `item ${String(item)} is leased twice at ${String(from)} ms`)
          free.set(item, to)
        }
      },
    },
    'keeps-progress': {
      statement: 'Without a crash an item has as many attempts as its sink needs, of any process.',
      check: ({ accepted, deliveries, crashed }, { items }) => {
        if (crashed.size > 0) return
        const attempts = accepted.map((n) => deliveries.filter(({ item }) => item === n).length)
        const wanted = accepted.map((n) => (items[n]?.busy ?? 0) + 1)
        same(attempts, wanted)
      },
    },
    'ends-all': {
      statement: '`allEnded`, if there is one, is answered after the last delivery of all that waited.',
      check: ({ deliveries, waits }) => {
        for (const { before, endedAt } of waits) {
          const late = deliveries.find(({ item, to }) => before.includes(item) && to > endedAt)
          const what = `answered at ${String(endedAt)} ms, and item ${String(late?.item)} ended later`
          holds(endedAt < Infinity && late === undefined, what)
        }
      },
    },
    'leaves-nothing': {
      statement: 'In the end nothing waits, no process has work, and no timer is left.',
      check: ({ rest }) => same(rest, { waiting: 0, working: 0, timers: [] }),
    },
  })
  return laws.map((each) => ({ ...each, situations: aims }))
}

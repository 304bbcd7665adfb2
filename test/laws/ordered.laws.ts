/** The laws of an order by key: random items, keys and answers, played by a relay on a virtual clock. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { describe, it } from 'vitest'
import { refused, retryable } from '../../src/core/failure.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import { ordered } from '../../src/outbox/ordered.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { relay } from '../../src/outbox/relay.ts'
import { exponential } from '../../src/policy/retryPolicy.ts'
import { scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

const PLENTY = 100

const world = fc.record({
  items: fc.array(
    fc.record({
      at: fc.nat(5_000),
      /** Undefined: no order. */
      key: fc.constantFrom('a', 'b', 'c', undefined),
      busy: fc.constantFrom(0, 0, 1, 3),
      isFinal: fc.boolean(),
      after: fc.constantFrom(0, 0, 10, 700),
    }),
    { minLength: 1, maxLength: 20 },
  ),
  maxInFlight: fc.constantFrom(1, 2, PLENTY),
  maxBehind: fc.constantFrom(0, 1, 3, PLENTY),
  isSlow: fc.boolean(),
  stopAt: fc.constantFrom(undefined, undefined, 100, 3_000),
})
type World = typeof world extends fc.Arbitrary<infer W> ? W : never

export type MakeOrdered = (
  outbox: Outbox<number>,
  keyOf: (item: number) => unknown,
  failed: (error: unknown) => void,
  maxBehind: number,
) => Outbox<number>

export const LAWS = {
  order: 'an item starts after the one before it with its key has ended',
  all: 'every item ends or is handed back',
  free: 'an item starts at once if nothing with its key is before it and there is room',
  bound: 'no more entries are held than allowed',
  remaining: 'what is handed back is in the order of its key',
} as const
const hold = (law: keyof typeof LAWS, isHeld: boolean, detail: string): void => {
  if (!isHeld) throw new Error(`${law}: ${LAWS[law]}: ${detail}`)
}

/** Throws the law that is broken. */
const play = async (make: MakeOrdered, { items, maxInFlight, maxBehind, isSlow, stopAt }: World) => {
  const clock = virtualClock()
  const keyOf = (n: number): unknown => items[n]?.key
  const arrived: number[] = []
  const started: number[] = []
  const ended: number[] = []
  /** Found inside the sink, where an error would count as its own. */
  const faults: Array<readonly [law: keyof typeof LAWS, detail: string]> = []
  const before = (n: number): ReadonlyArray<number> =>
    keyOf(n) === undefined
      ? []
      : arrived.slice(0, arrived.indexOf(n)).filter((other) => keyOf(other) === keyOf(n))

  const inner = memoryOutbox<number>()
  let leased = 0
  const counted: Outbox<number> = {
    ...inner,
    lease: async (now, limits) => {
      if (isSlow) await new Promise<void>((resolve) => void clock.schedule(1, resolve))
      const entries = await inner.lease(now, limits)
      leased += entries.length
      return entries
    },
    nack: (list) => {
      leased -= list.length
      return inner.nack(list)
    },
    ack: (list) => {
      leased -= list.length
      return inner.ack(list)
    },
  }
  const sink = scriptedSink<number>({
    clock,
    reply: (n, { number }) => {
      const { busy = 0, isFinal = true, after = 0 } = items[n] ?? {}
      if (!started.includes(n)) started.push(n)
      for (const other of before(n))
        if (!ended.includes(other)) faults.push(['order', `${String(n)} before ${String(other)}`])
      // What is in flight, and what is asked for at once, is not held behind others.
      if (leased > maxBehind + 2 * maxInFlight + 1) faults.push(['bound', `${String(leased)} leased`])
      const last = isFinal ? right({ sink: 's' }) : left(refused('no'))
      return { verdict: number <= busy ? left(retryable('busy')) : last, after }
    },
  })
  const work = relay<number>({
    sink,
    outbox: make(
      counted,
      keyOf,
      (error) => {
        throw error
      },
      maxBehind,
    ),
    retry: exponential({ base: 300 }),
    clock,
    random: () => 0.5,
    maxInFlight,
    ended: (outcome) => {
      if (outcome._tag !== 'Abandoned') ended.push(outcome.item)
    },
  })
  const events = items.map(({ at }, n) => ({ at, n })).sort((a, b) => a.at - b.at)
  let now = 0
  let handedBack: ReadonlyArray<number> = []
  let hasStopped = false
  const isOpen = (): boolean => !hasStopped
  const pass = async (to: number): Promise<void> => {
    await clock.advance(Math.max(0, to - now))
    now = Math.max(now, to)
  }
  const stop = async (): Promise<void> => {
    hasStopped = true
    work.abort((rest) => {
      handedBack = rest
    })
    await clock.advance(10)
  }
  for (const { at, n } of events) {
    if (stopAt !== undefined && at > stopAt && isOpen()) {
      await pass(stopAt)
      await stop()
    }
    if (!isOpen()) break
    await pass(at)
    arrived.push(n)
    await work.offer(n)
    await clock.advance(isSlow ? 5 : 0)
    const isFree = before(n).every((other) => ended.includes(other))
    if (isFree && maxInFlight === PLENTY && maxBehind === PLENTY)
      hold('free', started.includes(n), `${String(n)} waits`)
  }
  if (isOpen()) await pass(600_000)
  if (isOpen() && stopAt !== undefined) await stop()
  for (const [law, detail] of faults) hold(law, false, detail)
  const known = [...ended, ...handedBack].sort((a, b) => a - b)
  hold('all', known.join() === [...arrived].sort((a, b) => a - b).join(), known.join())
  for (const key of ['a', 'b', 'c']) {
    const own = handedBack.filter((n) => keyOf(n) === key)
    const expected = arrived.filter((n) => keyOf(n) === key && own.includes(n))
    hold('remaining', own.join() === expected.join(), own.join())
  }
}

export const orderedLaws = (make: MakeOrdered): fc.IAsyncProperty<[World]> =>
  fc.asyncProperty(world, (each) => play(make, each))

describe('an outbox in order', () => it('keeps its laws', () => fc.assert(orderedLaws(ordered))))

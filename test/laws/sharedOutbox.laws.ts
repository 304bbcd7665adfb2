/** The laws of a store that several relays share: random items, answers and crashes, played on a virtual clock. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { refused, retryable, type Verdict } from '../../src/core/failure.ts'
import { relay, type Relay } from '../../src/outbox/relay.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { exponential } from '../../src/policy/retryPolicy.ts'
import { makeSink } from '../../src/sink/layer.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { sharedStore } from '../../src/testing/laws/sharedStore.ts'

const RELAYS = 3
const LEASE_TIME = 30_000

const world = fc.record({
  latency: fc.constantFrom(0, 1, 40),
  maxInFlight: fc.constantFrom(1, 2, 5),
  items: fc.array(
    fc.record({ at: fc.nat(20_000), relay: fc.nat(RELAYS - 1), busy: fc.nat(2), no: fc.boolean() }),
    {
      minLength: 1,
      maxLength: 12,
    },
  ),
  /** The last relay never crashes, so that everything ends. */
  crashes: fc.array(fc.record({ at: fc.nat(20_000), relay: fc.nat(RELAYS - 2) }), { maxLength: 3 }),
})
type World = typeof world extends fc.Arbitrary<infer W> ? W : never

export type ChangeStore = (outbox: Outbox<number>) => Outbox<number>

/** Answers what is wrong, or nothing. */
const play = async (
  { latency, maxInFlight, items, crashes }: World,
  change: ChangeStore,
): Promise<string | undefined> => {
  const clock = virtualClock()
  const store = sharedStore<number>(clock, { latency, leaseTime: LEASE_TIME })
  const running = new Map<number, number>()
  const attempts = new Map<number, number>()
  let accepted = 0
  let fault: string | undefined

  const start = (index: number) => {
    const view = store.open()
    let isAlive = true
    const sink = makeSink<number>(
      `relay ${String(index)}`,
      (item, attempt, observer) => {
        const count = running.get(item) ?? 0
        if (count > 0) fault ??= `item ${String(item)} is in flight twice`
        running.set(item, count + 1)
        attempts.set(item, (attempts.get(item) ?? 0) + 1)
        const { busy = 0, no = false } = items[item] ?? {}
        const final: Verdict = no ? left(refused('no')) : right({ sink: 's' })
        const cancel = clock.schedule(100, () => {
          observer.next(attempt.number <= busy ? left(retryable('busy')) : final)
          observer.complete()
        })
        return () => {
          cancel()
          // After a crash the lease holds until it runs out.
          if (isAlive) running.set(item, (running.get(item) ?? 1) - 1)
        }
      },
      () => () => Promise.resolve(),
    )
    const work: Relay<number> = relay<number>({
      sink,
      outbox: change(view.outbox),
      retry: exponential({ base: 500 }),
      clock,
      random: () => 0.5,
      maxInFlight,
      ended: () => undefined,
    })
    const crash = (): void => {
      isAlive = false
      view.kill()
      work.abort(() => undefined)
      const lost = [...running.keys()]
      clock.schedule(LEASE_TIME, () => {
        for (const item of lost) running.set(item, 0)
      })
    }
    return { work, crash, isAlive: () => isAlive }
  }
  const relays = Array.from({ length: RELAYS }, (_, index) => start(index))
  const events = [
    ...items.map((item, n) => ({
      at: item.at,
      run: async () => {
        const target = relays[item.relay]
        if (target?.isAlive() !== true) return
        const answer = await target.work.offer(n)
        if (answer._tag === 'Right') accepted++
      },
    })),
    ...crashes.map((crash) => ({
      at: crash.at,
      run: () => {
        const target = relays[crash.relay]
        if (target?.isAlive() === true) target.crash()
        return Promise.resolve()
      },
    })),
  ].sort((a, b) => a.at - b.at)
  let now = 0
  for (const { at, run } of events) {
    await clock.advance(at - now)
    now = at
    void run()
    await clock.settle()
  }
  await clock.advance(200_000)
  const ids = store.ended.map(({ item }) => item)
  if (new Set(ids).size !== ids.length) return 'an item ended twice'
  if (store.size() > 0) return `${String(store.size())} items never ended`
  if (ids.length < accepted) return `${String(accepted)} accepted, ${String(ids.length)} ended`
  if (relays.some(({ work, isAlive }) => isAlive() && work.hasWorkBefore(Infinity))) return 'work is left'
  if (clock.pending() > 0) return `${String(clock.pending())} timers are left`
  for (const [item, count] of attempts)
    if (crashes.length === 0 && count !== (items[item]?.busy ?? 0) + 1) return 'an attempt was repeated'
  return fault
}

export const sharedLaws = (change: ChangeStore = (outbox) => outbox): fc.IAsyncProperty<[World]> =>
  fc.asyncProperty(world, async (each) => {
    const fault = await play(each, change)
    if (fault !== undefined) throw new Error(fault)
  })

describe('several relays over one store', () => {
  it('deliver each item once, one at a time, also when some of them crash', () => fc.assert(sharedLaws()))

  it('break a law if the store does not say that others changed it', async () => {
    const mute = sharedLaws(({ watch: _, ...outbox }) => outbox)
    expect((await fc.check(mute, { endOnFailure: true, numRuns: 200 })).failed).toBe(true)
  })

  it('break a law if a nack forgets the progress', async () => {
    const forgetful = sharedLaws((outbox) => ({
      ...outbox,
      nack: (list) =>
        outbox.nack(list.map(({ entry, due }) => ({ entry: { ...entry, progress: undefined }, due }))),
    }))
    expect((await fc.check(forgetful, { endOnFailure: true, numRuns: 200 })).failed).toBe(true)
  })
})

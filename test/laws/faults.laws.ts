/** TP2, TP3: errors at any of the calls that a part makes stop it not, and its accounts stay exact. */
import * as fc from 'fast-check'
import { Observable, config } from 'rxjs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { left, right } from 'fp-ts/lib/Either.js'
import { memoryOutbox, type Outbox } from '../../src/outbox/index.ts'
import { both, exponential, limitRetries } from '../../src/policy/index.ts'
import { type Clock, type Sink, type Verdict, type Totals, retryable } from '../../src/index.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import type { Drawn } from '../support/check.ts'
import { parts } from '../support/parts.ts'
import { runs } from '../support/runs.ts'

const CALLS = ['enqueue', 'lease', 'ack', 'nack', 'takeRemaining', 'nextDue'] as const
const PLACES = [...CALLS, 'deliver', 'schedule', 'random', 'onEvent', 'subscriber'] as const
type Place = (typeof PLACES)[number]

const world = fc.record({
  part: fc.constantFrom('deliver', 'destination', 'client'),
  hasStore: fc.boolean(),
  faults: fc.array(fc.tuple(fc.constantFrom(...PLACES), fc.nat(8)), { maxLength: 6 }),
  items: fc.array(fc.nat(2), { minLength: 1, maxLength: 8 }),
  waits: fc.boolean(),
})
type World = Drawn<typeof world>

const play = async ({ part, hasStore, faults, items, waits }: World) => {
  const calls = new Map<Place, number>()
  /** As at the end of the stack: before the call does anything. */
  const at = (place: Place): void => {
    const call = calls.get(place) ?? 0
    calls.set(place, call + 1)
    if (faults.some(([where, when]) => where === place && when === call))
      throw new RangeError('Maximum call stack size exceeded')
  }
  const around =
    <I extends unknown[], O>(place: Place, f: (...given: I) => O) =>
    (...given: I) => (at(place), f(...given))
  const virtual = virtualClock()
  const clock: Clock = { ...virtual, schedule: around('schedule', virtual.schedule) }
  const failures = new Map<string, number>()
  const verdictOf = (id: string): Verdict => {
    const failed = failures.get(id) ?? 0
    failures.set(id, failed + 1)
    return failed < (items[Number(id)] ?? 0) ? left(retryable('busy')) : right({ sink: 's' })
  }
  const target = <A>(idOf: (item: A) => string): Sink<A> => ({
    name: 's',
    deliver: (item) =>
      new Observable((subscriber) => {
        at('deliver')
        return virtual.schedule(1, () => {
          subscriber.next(verdictOf(idOf(item)))
          subscriber.complete()
        })
      }),
    close: () => Promise.resolve(),
  })
  const store = <A>(): Outbox<A> => {
    const inner = memoryOutbox<A>()
    return {
      ...inner,
      enqueue: around('enqueue', inner.enqueue),
      lease: around('lease', inner.lease),
      ack: around('ack', inner.ack),
      nack: around('nack', inner.nack),
      takeRemaining: around('takeRemaining', inner.takeRemaining),
      nextDue: around('nextDue', inner.nextDue),
    }
  }
  const outcomes: string[] = []
  const made = parts[part]({
    clock,
    random: around('random', () => 0.5),
    onEvent: around('onEvent', () => undefined),
    retry: both(exponential({ base: 100 }), limitRetries(20)),
    target,
    store: hasStore ? store : undefined,
    ended: (kind, id) => {
      outcomes.push(`${kind} ${id}`)
      at('subscriber')
    },
  })
  const accepted: string[] = []
  let refused = 0
  const lowest: number[] = []
  for (const n of items.keys()) {
    const answer = await made.call(String(n))
    if (answer._tag === 'Right') accepted.push(answer.right.id)
    else refused++
    lowest.push(made.stats().waiting)
    if (waits) await virtual.advance(500)
  }
  await virtual.advance(3_600_000)
  const idle = await virtual.run<{ readonly waiting: number }>(made.rest())
  const stats = made.stats()
  const { totals, abandoned } = await virtual.run<{
    readonly totals: Partial<Totals>
    readonly abandoned: ReadonlyArray<unknown>
  }>(made.close({ timeout: 1_000 }))
  return { accepted, refused, outcomes, idle, stats, totals, abandoned, lowest, timersLeft: virtual.timers() }
}

/** Found by a seed of the day: nothing asked the store again. */
const askedNoMore: World = {
  ...{ part: 'deliver', hasStore: true, items: [0], waits: false },
  faults: [6, 7].map((call) => ['nextDue', call]),
}

// RxJS throws what the subscriber of a pipeline throws, later, where nothing catches it.
beforeAll(() => void (config.onUnhandledError = () => undefined))
afterAll(() => void setTimeout(() => (config.onUnhandledError = null)))

it('a part whose calls throw delivers what it accepted, once, and counts it', () =>
  fc.assert(
    fc.asyncProperty(world, async (given) => {
      const { accepted, refused, outcomes, idle, stats, totals, abandoned, lowest, timersLeft } =
        await play(given)
      expect(outcomes.toSorted()).toEqual(accepted.map((id) => `Delivered ${id}`).toSorted())
      expect(accepted.length + refused).toBe(given.items.length)
      const { length } = accepted
      expect(stats).toMatchObject({ accepted: length, delivered: length, waiting: 0, refused })
      expect(idle.waiting).toBe(0)
      expect({ totals, abandoned }).toMatchObject({ totals: { delivered: length }, abandoned: [] })
      expect(Math.min(...lowest)).toBeGreaterThanOrEqual(0)
      expect(timersLeft).toEqual([])
    }),
    { numRuns: runs(3), examples: [[askedNoMore]] },
  ))

/** The published laws of a pipeline over a destination, and laws of what those do not see: several URLs, totals, limits, the close. */
import * as fc from 'fast-check'
import { concatMap, Observable } from 'rxjs'
import { describe, it, test } from 'vitest'
import type { DestinationOptions } from '../../src/destination/destination.ts'
import type { Event, Call } from '../../src/event/index.ts'
import type { Payload, Outcome } from '../../src/index.ts'
import { healthy, scriptedSink, seededRandom, virtualClock } from '../../src/testing/index.ts'
import { pipelineLaws, registerLaws, type Pipeline } from '../../src/testing/laws/index.ts'
import { anyScript } from '../../src/testing/laws/sinkWorld.ts'
import { openOver, track } from '../destination/virtual.ts'
import { holds, lawTable, same, type Drawn } from '../support/check.ts'

/** A destination as a pipeline: what it refuses, and its outcomes. It is closed when all of its source has ended. */
const through =
  (options: DestinationOptions): Pipeline<Payload<Event>> =>
  (source$, sink, { clock, random }) =>
    new Observable((subscriber) => {
      const destination = openOver([sink], { clock, random, logger: false, ...options })
      destination.outcomes$.subscribe(subscriber)
      // The source gives calls, and what is no call is refused.
      const answer$ = source$.pipe(concatMap((item) => destination.send(item as Call)))
      const sending = answer$.subscribe({
        next: (answer) => {
          if (answer._tag === 'Left') subscriber.next(answer.left)
        },
        complete: () => void destination.idle().then(() => destination.close()),
      })
      return () => {
        sending.unsubscribe()
        void destination.close({ timeout: 0 })
      }
    })

const keyOf = (item: unknown): string | undefined => (item as Partial<Event>).userId

// An error of the source overtakes answers in `concatMap`.
const sourceFails = false

describe('a destination', () => registerLaws({ test }, pipelineLaws(through({}), { sourceFails })))

const orderLaws = pipelineLaws(through({ orderBy: (event) => event.userId ?? '' }), { keyOf, sourceFails })
describe('a destination in order', () => registerLaws({ test }, orderLaws))

// What the published laws do not see.

export type OpenDestination = (...given: Required<Parameters<typeof openOver>>) => ReturnType<typeof openOver>
type World = Drawn<typeof world>

const arrival = fc.record({
  gap: fc.constantFrom(0, 0, 1, 50, 3_000),
  user: fc.constantFrom('a', 'a', 'b'),
  /** The body carries no integrations, and no id of a delete. */
  more: fc.constantFrom({}, {}, { type: 'delete' } as const, { integrations: { All: false, A: { b: [1] } } }),
})

const world = fc.record({
  urls: fc.array(anyScript, { minLength: 1, maxLength: 3, size: 'max' }),
  arrivals: fc.array(arrival, { minLength: 1, maxLength: 12, size: 'max' }),
  limits: fc.record({
    concurrency: fc.constantFrom(1, 2, 16),
    maxInFlight: fc.constantFrom(1, 2, 3, 100),
    timeout: fc.constantFrom(30, 300),
    maxCount: fc.constantFrom(3, 100),
  }),
  isOrdered: fc.boolean(),
  closeWithin: fc.constantFrom(0, 20, 1_000, 30_000),
  seed: fc.nat(),
})

const callOf = (n: number, { user, more }: World['arrivals'][number]): Call =>
  'type' in more
    ? { type: 'delete', userId: user, messageId: `m${n}`, timestamp: '2024-02-29T12:00:00.000Z' }
    : { ...track(`m${n}`, user), timestamp: '2024-02-29T12:00:00.000Z', ...more }

const play = async (open: OpenDestination, world: World) => {
  const { urls, arrivals, limits, isOrdered, closeWithin, seed } = world
  const clock = virtualClock()
  const ended: Array<{ outcome: Outcome<Payload<Event>>; missing: number }> = []
  const mostRunning = urls.map(() => 0)
  const sinks = urls.map((script, at) => {
    const sink = scriptedSink<Payload<Event>>({
      name: `url${at}`,
      clock,
      script: (_, n) => {
        mostRunning[at] = Math.max(mostRunning[at] ?? 0, sink.running() + 1)
        return script[n] ?? healthy
      },
    })
    return sink
  })
  let keysAsked = 0
  const orderBy = ({ userId = '' }: Event): string => (keysAsked++, userId)
  const options = { ...limits, clock, random: seededRandom(seed), logger: false as const }
  const destination = open(sinks, isOrdered ? { ...options, orderBy } : options)
  destination.outcomes$.subscribe((outcome) => {
    const { accepted, delivered, rejected, expired, dropped, abandoned, waiting } = destination.stats()
    const missing = accepted - (delivered + rejected + expired + dropped + abandoned + waiting)
    ended.push({ outcome, missing: waiting < 0 ? waiting : missing })
  })
  let accepted = 0
  for (const [n, arrival] of arrivals.entries()) {
    await clock.advance(arrival.gap)
    void destination.send(callOf(n, arrival)).then(({ _tag }) => (accepted += _tag === 'Right' ? 1 : 0))
    await clock.settle()
  }
  const closeAsked = clock.monotonic()
  const closing = await clock.run(destination.close({ timeout: closeWithin }))
  const closeTook = clock.monotonic() - closeAsked
  const left = [...sinks.map((sink) => sink.running()), clock.pending()]
  await clock.advance(100_000)
  const calls = sinks.flatMap((sink) => sink.calls)
  const times = { closeTook, closedAt: closeAsked + closeTook }
  return { calls, mostRunning, ended, accepted, keysAsked, closing, ...times, left }
}

export const destinationLaws = lawTable(world, play, {
  'D2 totals add up inside each callback, and agree with the outcomes': ({ ended, accepted, closing }) => {
    const wrong = ended.filter(({ missing }) => missing !== 0)
    const tags = ['Delivered', 'Rejected', 'Expired', 'Dropped', 'Abandoned']
    const counts = tags.map((tag) => ended.filter(({ outcome }) => outcome._tag === tag).length)
    const { delivered, rejected, expired, dropped, abandoned } = closing.totals
    same([wrong, closing.totals.accepted, closing.totals.waiting], [[], accepted, 0])
    same([delivered, rejected, expired, dropped, abandoned], counts)
  },
  'D3 close answers the abandoned events': ({ ended, closing }) => {
    const abandoned = ended.flatMap(({ outcome }) => (outcome._tag === 'Abandoned' ? [outcome.item.id] : []))
    same(closing.abandoned.map(({ id }) => id).toSorted(), abandoned.toSorted())
  },
  'D4 a URL has at most `concurrency` requests at once, each at most for `timeout`': (
    { mostRunning, calls },
    { limits: { concurrency, timeout } },
  ) => {
    holds(Math.max(...mostRunning) <= concurrency, `${Math.max(...mostRunning)} at a time`)
    for (const { startedAt, endedAt } of calls) holds((endedAt ?? Infinity) - startedAt <= timeout, 'one ran')
  },
  'D8 a close keeps its time; then nothing runs, starts or waits': (trace, { limits, closeWithin }) => {
    const { calls, closeTook, closedAt, left } = trace
    holds(closeTook <= closeWithin + limits.timeout, `the close took ${closeTook} ms`)
    holds(!left.some((count) => count > 0), 'something is left')
    for (const { startedAt } of calls) holds(startedAt <= closedAt, 'a start after the close')
  },
  'D10 H3: an outcome carries the event that was sent, also what the body does not; orderBy is asked once': (
    { ended, keysAsked },
    { arrivals, isOrdered },
  ) => {
    for (const { outcome } of ended) {
      const n = Number(outcome.item.id.slice(1))
      const arrival = arrivals[n]
      const call = arrival && callOf(n, arrival)
      same(outcome.item.items, [call?.type === 'delete' ? call : { properties: {}, context: {}, ...call }])
    }
    same(keysAsked, isOrdered ? arrivals.length : 0)
  },
})

it('a destination keeps its own laws too', () => fc.assert(destinationLaws.all(openOver)))

/** Laws of a destination, in random worlds on a virtual clock: events that arrive, URLs that answer by script, and a close. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Event } from '../../src/event/event.ts'
import type { Call } from '../../src/event/model.ts'
import type { Payload } from '../../src/event/payload.ts'
import { refused, retryable } from '../../src/core/failure.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import type { CloseResult } from '../../src/outbox/close.ts'
import {
  both,
  capDelay,
  deadline,
  exponential,
  fullJitter,
  respectRetryAfter,
} from '../../src/policy/retryPolicy.ts'
import { scriptedSink, type Call as Request, type Reply } from '../../src/testing/scriptedSink.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { virtualClock, type VirtualClock } from '../../src/testing/virtualClock.ts'
import type { Destination } from '../../src/destination/destination.ts'
import { openOver, track } from '../destination/virtual.ts'
import { describe, it } from 'vitest'
import { holds, lawTable, same } from '../support/check.ts'

export type OpenDestination = (...given: Required<Parameters<typeof openOver>>) => Destination

type Of<A> = A extends fc.Arbitrary<infer T> ? T : never
type Step = Of<typeof step>
type World = Of<typeof world>
type Trace = Awaited<ReturnType<typeof play>>

const step = fc.record({
  answer: fc.constantFrom(...(['ok', 'ok', 'refuse', 'refuse', 'busy', 'busy', 'wait', 'defect'] as const)),
  /** Milliseconds until the verdict, and from the verdict to rest. Undefined: at once. */
  after: fc.constantFrom(undefined, 0, 1, 40, 400),
  rest: fc.constantFrom(undefined, undefined, 30, 400),
})

const script = fc.array(step, { minLength: 1, maxLength: 4, size: 'max' })
const arrival = fc.record({
  at: fc.constantFrom(0, 0, 1, 50, 3_000),
  user: fc.constantFrom('a', 'a', 'b'),
  /** The body carries no integrations, and no id of a delete. */
  more: fc.constantFrom({}, {}, { type: 'delete' } as const, { integrations: { All: false, A: { b: [1] } } }),
})

const world = fc.record({
  /** For each URL what it does; the step is picked by the count of its requests for that event, the last one repeats. */
  urls: fc.array(script, { minLength: 1, maxLength: 3, size: 'max' }),
  events: fc.array(arrival, { minLength: 1, maxLength: 12, size: 'max' }),
  concurrency: fc.constantFrom(1, 2, 16),
  maxInFlight: fc.constantFrom(1, 2, 3, 100),
  timeout: fc.constantFrom(30, 300),
  maxCount: fc.constantFrom(3, 100),
  within: fc.constantFrom(1, 1_000, 20_000),
  ordered: fc.boolean(),
  closeAt: fc.constantFrom(0, 40, 3_500, 100_000),
  closeWithin: fc.constantFrom(0, 20, 1_000, 30_000),
  seed: fc.nat(),
})

const callOf = (n: number, userId: string, more: Of<typeof arrival>['more']): Call =>
  'type' in more
    ? { type: 'delete', userId, messageId: `m${n}`, timestamp: '2024-02-29T12:00:00.000Z' }
    : { ...track(`m${n}`, userId), timestamp: '2024-02-29T12:00:00.000Z', ...more }

const replyOf = ({ answer, after, rest }: Step, name: string, now: number): Reply => {
  const timing = { ...(after === undefined ? {} : { after }), ...(rest === undefined ? {} : { rest }) }
  switch (answer) {
    case 'ok':
      return { ...timing, verdict: right({ sink: name, status: 200 }) }
    case 'refuse':
      return { ...timing, verdict: left(refused('status', { status: 410 })) }
    case 'busy':
      return { ...timing, verdict: left(retryable('status', { status: 503 })) }
    case 'wait':
      return { ...timing, verdict: left(retryable('status', { status: 429, notBefore: now + 700 })) }
    case 'defect':
      return { ...timing, defect: new Error('a planted defect') }
  }
}

const urlOf = (script: ReadonlyArray<Step>, at: number, clock: VirtualClock) => {
  const name = `url${at}`
  const asked = new Map<string, number>()
  let most = 0
  const sink = scriptedSink<Payload<Event>>({
    name,
    clock,
    reply: ({ id }) => {
      most = Math.max(most, sink.running() + 1)
      const turn = asked.get(id) ?? 0
      asked.set(id, turn + 1)
      const each = script[Math.min(turn, script.length - 1)]
      return each === undefined ? {} : replyOf(each, name, clock.now())
    },
  })
  return { sink, most: () => most }
}

/** Plays a world to its end, which is a while after its close. */
const play = async (given: World, open: OpenDestination) => {
  const { events, concurrency, maxInFlight, timeout, maxCount, within, ordered, seed } = given
  const clock = virtualClock()
  const urls = given.urls.map((script, at) => urlOf(script, at, clock))
  /** `missing`: accepted minus the sum that it must equal, read inside the callback. */
  const told: Array<{ at: number; outcome: Outcome<Payload<Event>>; missing: number }> = []
  let refusals = 0
  let keysAsked = 0
  let closing: CloseResult<Payload<Event>> | undefined
  let closedAt = Infinity

  const orderBy = (event: Event): string => {
    keysAsked++
    return event.userId ?? ''
  }
  const destination = open(
    urls.map(({ sink }) => sink),
    {
      clock,
      random: seededRandom(seed),
      logger: false,
      retry: both(
        fullJitter(capDelay(2_000)(exponential({ base: 100 }))),
        both(deadline(within), respectRetryAfter),
      ),
      concurrency,
      maxInFlight,
      timeout,
      maxCount,
      ...(ordered ? { orderBy } : {}),
    },
  )
  destination.outcomes$.subscribe((outcome) => {
    const { accepted, delivered, rejected, expired, dropped, abandoned, waiting } = destination.stats()
    const missing = accepted - (delivered + rejected + expired + dropped + abandoned + waiting)
    told.push({ at: clock.monotonic(), outcome, missing: waiting < 0 ? waiting : missing })
  })

  const send = async (n: number, { user, more }: Of<typeof arrival>): Promise<void> => {
    if ((await destination.send(callOf(n, user, more)))._tag === 'Left') refusals++
  }
  const close = async (): Promise<void> => {
    closing = await destination.close({ timeout: given.closeWithin })
    closedAt = clock.monotonic()
  }
  const acts = [
    ...events.map((each, n) => ({ at: each.at, act: () => send(n, each) })),
    { at: given.closeAt, act: close },
  ].toSorted((a, b) => a.at - b.at)
  for (const { at, act } of acts) {
    await clock.advance(Math.max(0, at - clock.monotonic()))
    void act()
    await clock.settle()
  }
  await clock.advance(100_000)
  return {
    calls: urls.map(({ sink }) => sink.calls),
    mostRunning: urls.map(({ most }) => most()),
    told,
    sent: events.length,
    refused: refusals,
    keysAsked,
    closing,
    closedAt,
    timersLeft: clock.pending(),
    running: urls.reduce((sum, { sink }) => sum + sink.running(), 0),
  }
}

const requestsOf = ({ calls }: Trace, id: string): ReadonlyArray<Request<Payload<Event>>> =>
  calls.flat().filter(({ item }) => item.id === id)

const tagsOf = ({ told }: Trace): ReadonlyArray<string> => told.map(({ outcome }) => outcome._tag)

export const destinationLaws = lawTable(world, (open: OpenDestination, given) => play(given, open), {
  'D1 an event was refused, or has exactly one outcome after the close': ({
    told,
    sent,
    refused,
    closing,
  }: Trace) => {
    const ids = told.map(({ outcome }) => outcome.item.id)
    same([new Set(ids).size, ids.length], [ids.length, sent - refused])
    same(closing?.totals.waiting, 0)
  },
  'D2 totals add up inside each callback, and agree with the outcomes': (trace) => {
    for (const { missing } of trace.told) same(missing, 0)
    const { delivered, rejected, expired, abandoned } = trace.closing?.totals ?? {}
    const tags = ['Delivered', 'Rejected', 'Expired', 'Abandoned']
    const counts = tags.map((tag) => tagsOf(trace).filter((each) => each === tag).length)
    same([delivered, rejected, expired, abandoned], counts)
  },
  'D3 close answers the abandoned events': ({ told, closing }) => {
    const abandoned = told.flatMap(({ outcome }) => (outcome._tag === 'Abandoned' ? [outcome.item.id] : []))
    same(closing?.abandoned.map(({ id }) => id).toSorted(), abandoned.toSorted())
  },
  'D4 a URL has at most `concurrency` requests at once, each at most for `timeout`': (
    { mostRunning, calls },
    { concurrency, timeout }: World,
  ) => {
    holds(Math.max(...mostRunning) <= concurrency, `${Math.max(...mostRunning)} at a time`)
    for (const { startedAt, endedAt } of calls.flat())
      holds((endedAt ?? Infinity) - startedAt <= timeout, 'one went on')
  },
  'D5 no attempt starts at or after the deadline': (trace, { within }) => {
    for (const { outcome } of trace.told) {
      const starts = requestsOf(trace, outcome.item.id).map(({ startedAt }) => startedAt)
      // The deadline counts from when the event was taken up, before its first request left a queue.
      holds(!(Math.max(...starts) - Math.min(...starts) >= within), `${outcome.item.id} after its deadline`)
    }
  },
  'D7 in order: an event starts after the outcome of the one before it with the same key': (
    trace,
    { events, ordered },
  ) => {
    if (!ordered) return
    const endedAt = new Map(trace.told.map(({ at, outcome }) => [outcome.item.id, at]))
    const last = new Map<string, number>()
    for (const [n, { user }] of [...events.entries()].toSorted(([n, a], [m, b]) => a.at - b.at || n - m)) {
      const id = `m${n}`
      const ended = endedAt.get(id)
      if (ended === undefined) continue
      for (const { startedAt } of requestsOf(trace, id))
        holds(startedAt >= (last.get(user) ?? 0), `${id} overtakes`)
      last.set(user, ended)
    }
  },
  'D8 a close keeps its time; then nothing runs, starts or waits': (
    { calls, closedAt, running, timersLeft },
    { closeAt, closeWithin, timeout },
  ) => {
    holds(closedAt <= closeAt + closeWithin + timeout, `closed only at ${closedAt}`)
    same([running, timersLeft], [0, 0])
    for (const { startedAt } of calls.flat()) holds(startedAt <= closedAt, 'a start after the close')
  },
  'D10 H3: an outcome carries the event that was sent, also what the body does not; orderBy is asked once': (
    { told, sent, keysAsked },
    { events, ordered },
  ) => {
    for (const { outcome } of told) {
      const { id, items } = outcome.item
      const { user = '', more = {} } = events[Number(id.slice(1))] ?? {}
      const call = callOf(Number(id.slice(1)), user, more)
      same(items, [call.type === 'delete' ? call : { properties: {}, context: {}, ...call }])
    }
    same(keysAsked, ordered ? sent : 0)
  },
})

describe('a destination', () => {
  it('keeps its laws in random worlds', () => fc.assert(destinationLaws.all(openOver)))
})

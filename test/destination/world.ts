/**
 * Random worlds for a destination on a virtual clock: events that arrive, URLs that behave by script, and a close. All of it is data, and
 * `play` interprets it.
 */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Destination, DestinationOptions } from '../../src/destination/destination.ts'
import type { Parts } from '../../src/destination/createDestination.ts'
import type { Event } from '../../src/event/event.ts'
import type { Payload } from '../../src/event/payload.ts'
import { refused, retryable } from '../../src/core/failure.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import type { CloseResult } from '../../src/outbox/close.ts'
import { both, capDelay, deadline, exponential, fullJitter, notBefore } from '../../src/policy/retryPolicy.ts'
import { scriptedSink } from '../../src/testing/scriptedSink.ts'
import type { Call, Reply } from '../../src/testing/scriptedSink.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import type { VirtualClock } from '../../src/testing/virtualClock.ts'
import { track } from './virtual.ts'

export type OpenDestination = (parts: Parts, options: DestinationOptions) => Destination

export interface Step {
  readonly answer: 'ok' | 'refuse' | 'busy' | 'wait' | 'defect'
  /** Milliseconds until the verdict, and from the verdict to rest. Undefined: at once. */
  readonly after: number | undefined
  readonly rest: number | undefined
}

export interface World {
  /** For each URL what it does; the step is picked by the count of its requests for that event, the last one repeats. */
  readonly urls: ReadonlyArray<ReadonlyArray<Step>>
  /** When each event arrives, and of which user it is. */
  readonly events: ReadonlyArray<{ readonly at: number; readonly user: string }>
  readonly concurrency: number
  readonly maxInFlight: number
  readonly timeout: number
  readonly maxCount: number
  readonly within: number
  readonly ordered: boolean
  readonly closeAt: number
  readonly closeWithin: number
  readonly seed: number
}

export interface Told {
  readonly at: number
  readonly outcome: Outcome<Payload<Event>>
  /** accepted minus all that it should be the sum of, as seen inside this callback. */
  readonly missing: number
}

export interface Trace {
  readonly calls: ReadonlyArray<ReadonlyArray<Call<Payload<Event>>>>
  readonly mostRunning: ReadonlyArray<number>
  readonly told: ReadonlyArray<Told>
  readonly sent: number
  readonly refused: number
  readonly closing: CloseResult<Payload<Event>> | undefined
  readonly closedAt: number
  readonly counted: Readonly<Record<string, number>>
  readonly timersLeft: number
  readonly running: number
}

const step: fc.Arbitrary<Step> = fc.record({
  answer: fc.constantFrom('ok', 'ok', 'refuse', 'refuse', 'busy', 'busy', 'wait', 'defect'),
  after: fc.constantFrom(undefined, 0, 1, 40, 400),
  rest: fc.constantFrom(undefined, undefined, 30, 400),
})

export const world: fc.Arbitrary<World> = fc.record({
  urls: fc.array(fc.array(step, { minLength: 1, maxLength: 4, size: 'max' }), {
    minLength: 1,
    maxLength: 3,
    size: 'max',
  }),
  events: fc.array(
    fc.record({ at: fc.constantFrom(0, 0, 1, 50, 3_000), user: fc.constantFrom('a', 'a', 'b') }),
    {
      minLength: 1,
      maxLength: 12,
      size: 'max',
    },
  ),
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
  const name = `url${String(at)}`
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
export const play = async (given: World, openDestination: OpenDestination): Promise<Trace> => {
  const { events, concurrency, maxInFlight, timeout, maxCount, within, ordered, seed } = given
  const clock = virtualClock()
  const urls = given.urls.map((script, at) => urlOf(script, at, clock))
  const told: Told[] = []
  let refusals = 0
  let closing: Trace['closing']
  let closedAt = Infinity

  const destination = openDestination(
    { urls: urls.map(({ sink }) => sink), enabled: true },
    {
      clock,
      random: seededRandom(seed),
      logger: false,
      retry: both(fullJitter(capDelay(2_000)(exponential({ base: 100 }))), both(deadline(within), notBefore)),
      concurrency,
      maxInFlight,
      timeout,
      maxCount,
      ...(ordered ? { orderBy: (event: Event) => ('userId' in event ? (event.userId ?? '') : '') } : {}),
    },
  )
  destination.outcomes$.subscribe((outcome) => {
    const { accepted, delivered, rejected, expired, dropped, abandoned, waiting } = destination.stats()
    const missing = accepted - (delivered + rejected + expired + dropped + abandoned + waiting)
    told.push({ at: clock.monotonic(), outcome, missing: waiting < 0 ? waiting : missing })
  })

  const send = async (n: number, user: string): Promise<void> => {
    if ((await destination.send(track(`m${String(n)}`, user)))._tag === 'Left') refusals++
  }
  const close = async (): Promise<void> => {
    closing = await destination.close({ timeout: given.closeWithin })
    closedAt = clock.monotonic()
  }
  const acts = [
    ...events.map(({ at, user }, n) => ({ at, act: () => send(n, user) })),
    { at: given.closeAt, act: close },
  ].toSorted((a, b) => a.at - b.at)
  for (const { at, act } of acts) {
    await clock.advance(Math.max(0, at - clock.monotonic()))
    void act()
    await clock.settle()
  }
  await clock.advance(100_000)
  const { urls: byUrl } = destination.stats()
  return {
    calls: urls.map(({ sink }) => sink.calls),
    mostRunning: urls.map(({ most }) => most()),
    told,
    sent: events.length,
    refused: refusals,
    closing,
    closedAt,
    counted: Object.fromEntries(
      Object.entries(byUrl).map(([name, { delivered, failed }]) => [name, delivered + failed]),
    ),
    timersLeft: clock.pending(),
    running: urls.reduce((sum, { sink }) => sum + sink.running(), 0),
  }
}

/**
 * Random worlds for a client on a virtual clock: calls that arrive, an endpoint that behaves by script, flushes and a close. All of it is
 * data, and `play` interprets it.
 */
import * as fc from 'fast-check'
import { isRight } from 'fp-ts/lib/Either.js'
import type { Client } from '../../src/client/Client.ts'
import type { ClientOptions, Overflow } from '../../src/client/ClientOptions.ts'
import type { Message, MessageBatch } from '../../src/client/Message.ts'
import type { Outcome } from '../../src/outcome/Outcome.ts'
import type { Totals } from '../../src/outcome/Totals.ts'
import type { Closing } from '../../src/outbox/relay/closeRelay.ts'
import { both, capDelay, deadline, exponential, fullJitter, notBefore } from '../../src/policy/RetryPolicy.ts'
import { scriptedSink } from '../../src/testing/scriptedSink.ts'
import type { Call } from '../../src/testing/scriptedSink.ts'
import { seededRandom } from '../../src/testing/seededRandom.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { callOf } from './calls.ts'
import type { Kind } from './calls.ts'
import { outboxes } from './outboxes.ts'
import type { Appended, OutboxKind } from './outboxes.ts'
import { replyOf, step } from './server.ts'
import type { Step } from './server.ts'

export type OpenClient = (writeKey: string, options: ClientOptions) => Client

export interface Send {
  readonly kind: Kind
  readonly user: string
  /** Characters of padding. */
  readonly size: number
  readonly poison: boolean
}

export type Act =
  | { readonly do: 'send'; readonly at: number; readonly sends: ReadonlyArray<Send> }
  | { readonly do: 'flush'; readonly at: number; readonly timeout: number | undefined }

export interface World {
  /** What the endpoint does, request by request; the last step repeats. */
  readonly script: ReadonlyArray<Step>
  readonly acts: ReadonlyArray<Act>
  readonly size: number
  readonly flushAfter: number
  readonly maxBatch: number
  readonly maxCount: number
  readonly maxBytes: number
  readonly overflow: Overflow
  readonly concurrency: number
  readonly keyed: boolean
  readonly timeout: number
  readonly within: number
  readonly outbox: OutboxKind
  /** On so many outcomes the subscriber sends another message. */
  readonly reacts: number
  readonly closeAt: number
  readonly closeWithin: number
  readonly seed: number
}

export interface Sent {
  readonly id: string
  readonly at: number
  readonly user: string
  readonly answer: string
}

export interface Told {
  readonly at: number
  readonly outcome: Outcome<Message>
  /** accepted minus all that it should be the sum of, as seen inside this callback. */
  readonly missing: number
}

export interface Flushed {
  readonly asked: number
  /** What had been accepted and not ended when it was asked. */
  readonly open: ReadonlyArray<string>
  readonly timeout: number | undefined
  readonly at: number
  readonly totals: Totals
}

export interface Trace {
  readonly sent: ReadonlyArray<Sent>
  /** Ids in the order of their acceptance: who drops for a message tells of it first, and may be answered with another message. */
  readonly accepted: ReadonlyArray<string>
  readonly told: ReadonlyArray<Told>
  readonly calls: ReadonlyArray<Call<MessageBatch>>
  readonly mostRunning: number
  readonly mostWaiting: number
  readonly mostBytes: number
  /** What a host's outbox was asked to take, and when. */
  readonly appended: ReadonlyArray<Appended>
  readonly flushed: ReadonlyArray<Flushed>
  readonly flushes: number
  readonly closing: Closing<Message> | undefined
  readonly closeAsked: number
  readonly closedAt: number
  readonly timersLeft: number
  readonly running: number
  readonly attempted: number
  readonly requests: number
  readonly attempts: number
}

const send: fc.Arbitrary<Send> = fc.record({
  kind: fc.constantFrom('track', 'identify', 'page', 'screen', 'group', 'alias'),
  user: fc.constantFrom('a', 'a', 'b', 'c'),
  size: fc.constantFrom(0, 0, 0, 40, 300),
  poison: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
})

const at = fc.constantFrom(0, 0, 1, 50, 60, 900, 2_000, 6_000)

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('send' as const),
      at,
      sends: fc.array(send, { minLength: 1, maxLength: 9, size: 'max' }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('flush' as const),
      at,
      timeout: fc.constantFrom(undefined, 0, 100, 100_000),
    }),
  },
)

export const world: fc.Arbitrary<World> = fc.record({
  script: fc.array(step, { minLength: 1, maxLength: 6, size: 'max' }),
  acts: fc.array(act, { minLength: 1, maxLength: 8, size: 'max' }),
  size: fc.constantFrom(1, 3, 5, 20, 20),
  flushAfter: fc.constantFrom(20, 500, 5_000, Infinity),
  maxBatch: fc.constantFrom(800, 1_500, 500_000),
  maxCount: fc.constantFrom(1, 4, 8, 100),
  maxBytes: fc.constantFrom(800, 2_000, 1_000_000),
  overflow: fc.constantFrom('error', 'dropNewest', 'dropOldest'),
  concurrency: fc.constantFrom(1, 1, 2, 4),
  keyed: fc.boolean(),
  timeout: fc.constantFrom(30, 300, 1_000),
  within: fc.constantFrom(1, 1_000, 20_000),
  outbox: fc.constantFrom('own', 'own', 'memory', 'slow', 'failing'),
  reacts: fc.constantFrom(0, 0, 2, 6),
  closeAt: fc.constantFrom(0, 40, 3_500, 9_000, 60_000),
  closeWithin: fc.constantFrom(0, 20, 1_000, 30_000),
  seed: fc.nat(),
})

/** A message of at most so many bytes: the largest that `callOf` makes. */
export const MAX_MESSAGE = 700

/** Plays a world to its end, which is a while after its close. */
export const play = async (given: World, openClient: OpenClient): Promise<Trace> => {
  const clock = virtualClock()
  const store = outboxes(given.outbox, clock)
  const sent: Sent[] = []
  const told: Told[] = []
  const flushed: Flushed[] = []
  const ended = new Set<string>()
  const accepted: string[] = []
  let mostRunning = 0
  let mostWaiting = 0
  let mostBytes = 0
  let flushes = 0
  let attempted = 0
  let reactions = given.reacts
  let closing: Trace['closing']
  let closeAsked = Infinity
  let closedAt = Infinity

  const sink = scriptedSink<MessageBatch>({
    clock,
    reply: (batch, _attempt, index) => {
      mostRunning = Math.max(mostRunning, sink.running() + 1)
      const each = given.script[Math.min(index, given.script.length - 1)]
      return each === undefined ? {} : replyOf(each, batch, clock.now())
    },
  })
  const client = openClient('a key', {
    sink,
    clock,
    random: seededRandom(given.seed),
    logger: false,
    retry: both(
      fullJitter(capDelay(2_000)(exponential({ base: 100 }))),
      both(deadline(given.within), notBefore),
    ),
    size: given.size,
    flushAfter: given.flushAfter,
    maxMessage: MAX_MESSAGE,
    maxBatch: given.maxBatch,
    maxCount: given.maxCount,
    maxBytes: given.maxBytes,
    overflow: store === undefined || given.overflow !== 'dropOldest' ? given.overflow : 'dropNewest',
    concurrency: given.concurrency,
    timeout: given.timeout,
    drainOnExit: false,
    tell: (happening) => {
      if (happening._tag === 'Attempted') attempted++
      // What a client accepts is a message.
      if (happening._tag === 'Accepted') accepted.push((happening.item as Message).id)
    },
    ...(given.keyed ? { key: (event) => event.userId } : {}),
    ...(store === undefined ? {} : { outbox: store.outbox }),
  })

  const look = (): number => {
    const { accepted, delivered, rejected, expired, dropped, abandoned, waiting, bytes } = client.stats()
    mostWaiting = Math.max(mostWaiting, waiting)
    mostBytes = Math.max(mostBytes, bytes)
    return waiting < 0 ? waiting : accepted - (delivered + rejected + expired + dropped + abandoned + waiting)
  }
  const sendOne = (each: Send): void => {
    const id = `${each.poison ? 'p' : 'm'}${String(sent.length)}`
    // Its place in the order is that of its call, and its answer comes only after what it causes.
    const one = { id, at: clock.monotonic(), user: each.user, answer: '' }
    sent.push(one)
    const answer = client.send(callOf(id, each))
    one.answer = isRight(answer) ? 'Accepted' : answer.left._tag
    look()
  }
  client.outcomes$.subscribe((outcome) => {
    ended.add(outcome.item.id)
    told.push({ at: clock.monotonic(), outcome, missing: look() })
    if (reactions-- > 0) sendOne({ kind: 'track', user: 'a', size: 0, poison: false })
  })

  const flush = async (timeout: number | undefined): Promise<void> => {
    flushes++
    const asked = clock.monotonic()
    const open = sent.filter(({ id, answer }) => answer === 'Accepted' && !ended.has(id)).map(({ id }) => id)
    const totals = await client.flush(timeout === undefined ? {} : { timeout })
    flushed.push({ asked, open, timeout, at: clock.monotonic(), totals })
  }
  const close = async (): Promise<void> => {
    closeAsked = clock.monotonic()
    closing = await client.close({ timeout: given.closeWithin })
    closedAt = clock.monotonic()
  }
  const acts = [
    ...given.acts.map((each) => ({
      at: each.at,
      act: () => {
        if (each.do === 'flush') void flush(each.timeout)
        else for (const one of each.sends) sendOne(one)
      },
    })),
    { at: given.closeAt, act: () => void close() },
  ].toSorted((a, b) => a.at - b.at)
  for (const each of acts) {
    await clock.advance(Math.max(0, each.at - clock.monotonic()))
    each.act()
    await clock.settle()
    look()
  }
  await clock.advance(200_000)
  const { requests, attempts } = client.stats()
  return {
    sent,
    accepted,
    told,
    calls: sink.calls,
    mostRunning,
    mostWaiting,
    mostBytes,
    appended: store?.appended ?? [],
    flushed,
    flushes,
    closing,
    closeAsked,
    closedAt,
    timersLeft: clock.pending(),
    running: sink.running(),
    attempted,
    requests,
    attempts,
  }
}

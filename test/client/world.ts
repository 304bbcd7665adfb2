/** Plays a random world to a client on a virtual clock. */
import { isRight } from 'fp-ts/lib/Either.js'
import type { Client } from '../../src/client/Client.ts'
import type { ClientOptions } from '../../src/client/ClientOptions.ts'
import type { Message, SentBatch } from '../../src/client/Message.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import type { Totals } from '../../src/core/totals.ts'
import type { CloseResult } from '../../src/outbox/close.ts'
import { both, capDelay, deadline, exponential, fullJitter, notBefore } from '../../src/policy/retryPolicy.ts'
import { scriptedSink } from '../../src/testing/scriptedSink.ts'
import type { Call } from '../../src/testing/scriptedSink.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { callOf } from './calls.ts'
import { outboxes } from './outboxes.ts'
import type { Appended } from './outboxes.ts'
import { replyOf } from './server.ts'
import type { Send, World } from './worlds.ts'

export { world } from './worlds.ts'
export type { World } from './worlds.ts'

export type OpenClient = (writeKey: string, options: ClientOptions) => Client

export interface Sent {
  readonly id: string
  readonly at: number
  readonly user: string
  readonly answer: string
  /** Whether it was sent by whoever was being told of a drop. */
  readonly onDrop: boolean
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
  readonly calls: ReadonlyArray<Call<SentBatch>>
  readonly mostRunning: number
  readonly mostWaiting: number
  readonly mostBytes: number
  /** What a host's outbox was asked to take, and when. */
  readonly appended: ReadonlyArray<Appended>
  readonly flushed: ReadonlyArray<Flushed>
  readonly flushes: number
  readonly closing: CloseResult<Message> | undefined
  readonly closeAsked: number
  readonly closedAt: number
  readonly timersLeft: number
  readonly running: number
  readonly attempted: number
  readonly requests: number
  readonly attempts: number
}

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

  const sink = scriptedSink<SentBatch>({
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
    onEvent: (happening) => {
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
  const sendOne = (each: Send, onDrop = false): void => {
    const id = `${each.poison ? 'p' : 'm'}${String(sent.length)}`
    // Its place in the order is that of its call, and its answer comes only after what it causes.
    const one = { id, at: clock.monotonic(), user: each.user, answer: '', onDrop }
    sent.push(one)
    const answer = client.send(callOf(id, each))
    one.answer = isRight(answer) ? 'Accepted' : answer.left._tag
    look()
  }
  client.outcomes$.subscribe((outcome) => {
    ended.add(outcome.item.id)
    told.push({ at: clock.monotonic(), outcome, missing: look() })
    if (reactions-- > 0)
      sendOne({ kind: 'track', user: 'a', size: 0, poison: false }, outcome._tag === 'Dropped')
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

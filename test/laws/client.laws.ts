/** The laws of a client: random worlds in virtual time, and worlds with a crash over a durable outbox. */
import * as fc from 'fast-check'
import { isRight, left, right } from 'fp-ts/lib/Either.js'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it, test } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import { createClient } from '../../src/client/createClient.ts'
import type { CallType, Message, SentBatch } from '../../src/client/message.ts'
import type { ClientOptions, Overflow } from '../../src/client/options.ts'
import { partlyFailed, refused, retryable, type Verdict } from '../../src/core/failure.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import type { Totals } from '../../src/core/totals.ts'
import type { CloseResult } from '../../src/outbox/close.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import {
  both,
  capDelay,
  deadline,
  exponential,
  fullJitter,
  respectRetryAfter,
} from '../../src/policy/retryPolicy.ts'
import { registerLaws } from '../../src/testing/laws/checkLaws.ts'
import * as Published from '../../src/testing/laws/clientLaws.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { scriptedSink, type Call, type Reply } from '../../src/testing/scriptedSink.ts'
import { virtualClock, type VirtualClock } from '../../src/testing/virtualClock.ts'
import { callOf } from '../client/calls.ts'
import { sharedStore } from '../../src/testing/laws/sharedStore.ts'

export type OpenClient = (writeKey: string, options: ClientOptions) => Client

// The world: what the endpoint does, what is sent, and the options.

type OutboxKind = 'own' | 'memory' | 'slow' | 'failing'
type Of<A> = A extends fc.Arbitrary<infer T> ? T : never
type Step = Of<typeof step>
type Send = Of<typeof send>
type World = Of<typeof world>

const step = fc.record({
  answer: fc.constantFrom(
    ...(['ok', 'ok', 'ok', 'gone', 'busy', 'busy', 'wait', 'hang', 'defect', 'some', 'some', 'few'] as const),
  ),
  /** Milliseconds until the verdict, and from the verdict to the end. Undefined: at once. */
  after: fc.constantFrom(undefined, undefined, 0, 1, 40, 400),
  rest: fc.constantFrom(undefined, undefined, undefined, 30, 400),
})

const send = fc.record({
  kind: fc.constantFrom<CallType[]>('track', 'identify', 'page', 'screen', 'group', 'alias'),
  /** Characters of padding. */
  size: fc.constantFrom(0, 0, 0, 40, 300),
  /** The endpoint answers 400 to a batch with it. */
  isPoison: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
})

const at = fc.constantFrom(0, 0, 1, 50, 60, 900, 2_000, 6_000)

const sends = fc.record({ at, sends: fc.array(send, { minLength: 1, maxLength: 9, size: 'max' }) })
const flush = fc.record({ at, timeout: fc.constantFrom(undefined, 0, 100, 100_000) })
const act = fc.oneof({ weight: 4, arbitrary: sends }, { weight: 1, arbitrary: flush })

const world = fc.record({
  /** What the endpoint does, request by request; the last step repeats. */
  script: fc.array(step, { minLength: 1, maxLength: 6, size: 'max' }),
  acts: fc.array(act, { minLength: 1, maxLength: 8, size: 'max' }),
  size: fc.constantFrom(1, 3, 5, 20, 20),
  flushAfter: fc.constantFrom(20, 500, 5_000, Infinity),
  maxBatch: fc.constantFrom(800, 1_500, 500_000),
  maxCount: fc.constantFrom(1, 4, 8, 100),
  maxBytes: fc.constantFrom(1_900, 4_000, 1_000_000),
  overflow: fc.constantFrom<Overflow[]>('error', 'dropNewest', 'dropOldest'),
  concurrency: fc.constantFrom(1, 1, 2, 4),
  timeout: fc.constantFrom(30, 300, 1_000),
  window: fc.constantFrom(1, 1_000, 20_000),
  outbox: fc.constantFrom<OutboxKind[]>('own', 'own', 'memory', 'slow', 'failing'),
  /** On this many outcomes the subscriber sends another message. */
  reacts: fc.constantFrom(0, 0, 2, 6),
  closeAt: fc.constantFrom(0, 40, 3_500, 9_000, 60_000),
  closeWithin: fc.constantFrom(0, 20, 1_000, 30_000),
  seed: fc.nat(),
})

// The endpoint.

/** How long a `wait` asks for, in milliseconds. */
const RETRY_AFTER = 700
const yes: Verdict = right({ sink: 'scripted', status: 200 })
const status = (code: number): Verdict =>
  left(code < 500 ? refused('status', { status: code }) : retryable('status', { status: code }))

const isPoison = (id: string): boolean => id.startsWith('p')
const takes = (batch: SentBatch): Verdict =>
  batch.members.some(({ id }) => isPoison(id)) ? status(400) : yes

const verdictOf = (answer: Step['answer'], batch: SentBatch, now: number): Verdict => {
  if (answer === 'gone') return status(410)
  if (answer === 'busy') return status(503)
  if (answer === 'wait') return left(retryable('status', { status: 429, notBefore: now + RETRY_AFTER }))
  if (answer === 'few' && batch.members.length > 2) return status(413)
  if (answer === 'some')
    return left(
      partlyFailed(batch.members.map((_, n) => [yes, left(refused('rejected')), status(503)][n % 3] ?? yes)),
    )
  return takes(batch)
}

const replyOf = ({ answer, after, rest }: Step, batch: SentBatch, now: number): Reply => {
  const timing = { ...(after === undefined ? {} : { after }), ...(rest === undefined ? {} : { rest }) }
  if (answer === 'hang') return {}
  if (answer === 'defect') return { ...timing, defect: new Error('a planted defect') }
  return { ...timing, verdict: verdictOf(answer, batch, now + (after ?? 0)) }
}

/** A slow one answers after 3 ms, a failing one fails every other time; both have little room. */
const outboxOf = (kind: OutboxKind, clock: VirtualClock): Outbox<Message> | undefined => {
  if (kind === 'own') return undefined
  const inner = memoryOutbox<Message>({ maxCount: kind === 'memory' ? 1_000 : 12 })
  let asked = 0
  return {
    ...inner,
    enqueue: (items) => {
      if (kind === 'memory') return inner.enqueue(items)
      asked++
      if (kind === 'failing' && asked % 4 === 1) throw new Error('a planted failure')
      if (kind === 'failing' && asked % 4 === 3) return Promise.reject(new Error('a planted failure'))
      return new Promise((resolve) => {
        clock.schedule(3, () => resolve(Promise.resolve(inner.enqueue(items))))
      })
    },
  }
}

// A run.

type Trace = Awaited<ReturnType<typeof play>>

/** The largest message that `callOf` makes. */
const MAX_MESSAGE = 700

const play = async (given: World, openClient: OpenClient) => {
  const clock = virtualClock()
  const outbox = outboxOf(given.outbox, clock)
  /** `onDrop`: sent while a drop was reported. */
  const sent: Array<{ id: string; at: number; answer: string; onDrop: boolean }> = []
  /** `missing`: accepted minus the sum that it must equal, read inside the callback. */
  const reported: Array<{ at: number; outcome: Outcome<Message>; missing: number }> = []
  /** `open`: what had been accepted and not ended when it was asked. */
  const flushed: Array<{ asked: number; open: string[]; timeout?: number; at: number; totals: Totals }> = []
  const ended = new Set<string>()
  const accepted: string[] = []
  const most = { running: 0, waiting: 0, bytes: 0 }
  let flushes = 0
  let attempted = 0
  let reactions = given.reacts
  let closing: CloseResult<Message> | undefined
  let closeAsked = Infinity
  let closedAt = Infinity
  const sink = scriptedSink<SentBatch>({
    clock,
    reply: (batch, _attempt, index) => {
      most.running = Math.max(most.running, sink.running() + 1)
      const each = given.script[Math.min(index, given.script.length - 1)]
      return each === undefined ? {} : replyOf(each, batch, clock.now())
    },
  })
  const { size, flushAfter, maxBatch, maxCount, maxBytes, concurrency, timeout } = given
  const client = openClient('a key', {
    ...{ sink, clock, size, flushAfter, maxBatch, maxCount, maxBytes, concurrency, timeout },
    random: seededRandom(given.seed),
    logger: false,
    retry: both(
      fullJitter(capDelay(2_000)(exponential({ base: 100 }))),
      both(deadline(given.window), respectRetryAfter),
    ),
    maxMessage: MAX_MESSAGE,
    overflow: outbox !== undefined && given.overflow === 'dropOldest' ? 'dropNewest' : given.overflow,
    drainOnExit: false,
    onEvent: (event) => {
      if (event._tag === 'Attempted') attempted++
      // A client accepts messages.
      if (event._tag === 'Accepted') accepted.push((event.item as Message).id)
    },
    ...(outbox && { outbox }),
  })
  const look = (): number => {
    const stats = client.stats()
    most.waiting = Math.max(most.waiting, stats.waiting)
    most.bytes = Math.max(most.bytes, stats.bytes)
    const ends = stats.delivered + stats.rejected + stats.expired + stats.dropped + stats.abandoned
    return stats.waiting < 0 ? stats.waiting : stats.accepted - ends - stats.waiting
  }
  const sendOne = (each: Send, onDrop = false): void => {
    const id = `${each.isPoison ? 'p' : 'm'}${String(sent.length)}`
    const one = { id, at: clock.monotonic(), answer: '', onDrop }
    sent.push(one)
    const answer = client.send(callOf(id, { ...each, user: 'u' }))
    one.answer = isRight(answer) ? 'Accepted' : answer.left._tag
    look()
  }
  client.outcomes$.subscribe((outcome) => {
    ended.add(outcome.item.id)
    reported.push({ at: clock.monotonic(), outcome, missing: look() })
    if (reactions-- > 0) sendOne({ kind: 'track', size: 0, isPoison: false }, outcome._tag === 'Dropped')
  })
  const flush = async (limit: number | undefined): Promise<void> => {
    flushes++
    const asked = clock.monotonic()
    const open = accepted.filter((id) => !ended.has(id))
    const options = limit === undefined ? {} : { timeout: limit }
    const totals = await client.flush(options)
    flushed.push({ asked, open, ...options, at: clock.monotonic(), totals })
  }
  const close = async (): Promise<void> => {
    closeAsked = clock.monotonic()
    closing = await client.close({ timeout: given.closeWithin })
    closedAt = clock.monotonic()
  }
  const acts = [
    ...given.acts.map((each) => ({
      at: each.at,
      run: () => {
        if ('sends' in each) for (const one of each.sends) sendOne(one)
        else void flush(each.timeout)
      },
    })),
    { at: given.closeAt, run: () => void close() },
  ].toSorted((a, b) => a.at - b.at)
  for (const each of acts) {
    await clock.advance(Math.max(0, each.at - clock.monotonic()))
    each.run()
    await clock.settle()
    look()
  }
  await clock.advance(200_000)
  return {
    ...{ sent, accepted, reported, flushed, flushes, closing, closeAsked, closedAt, attempted },
    calls: sink.calls,
    mostRunning: most.running,
    mostWaiting: most.waiting,
    mostBytes: most.bytes,
    timersLeft: clock.pending(),
    running: sink.running(),
    stats: client.stats(),
  }
}

// The laws.

/** What is wrong with a trace, or nothing. */
type Broken = (trace: Trace, world: World) => string | undefined

const idsOf = (batch: SentBatch): ReadonlyArray<string> => batch.members.map(({ id }) => id)
const same = (some: ReadonlyArray<string>, others: ReadonlyArray<string>): boolean =>
  some.toSorted().join() === others.toSorted().join()
const has = ({ item }: Call<SentBatch>, id: string): boolean => item.members.some((each) => each.id === id)

/** The first request of each batch: the whole batch. Its halves have the same id. */
const wholeBatches = (calls: ReadonlyArray<Call<SentBatch>>): ReadonlyArray<Call<SentBatch>> =>
  calls.filter(({ item }, index) => calls.findIndex((each) => each.item.id === item.id) === index)

const laws: Readonly<Record<string, Broken>> = {
  'each accepted message has one outcome': ({ sent, accepted, reported, closing }) => {
    const answered = sent.filter(({ answer }) => answer === 'Accepted').map(({ id }) => id)
    if (closing === undefined) return 'it never closed'
    if (!same(accepted, answered)) return 'it reported others as accepted'
    const ids = reported.map(({ outcome }) => outcome.item.id)
    return same(ids, accepted)
      ? undefined
      : `${String(accepted.length)} accepted, ${String(ids.length)} ended`
  },
  'the counters agree with the outcomes': ({ reported, closing, stats, calls, attempted }) => {
    if (reported.some(({ missing }) => missing !== 0)) return 'a sum that is wrong'
    const count = (tag: string): number => reported.filter(({ outcome }) => outcome._tag === tag).length
    if (stats.requests !== calls.length || stats.attempts !== attempted) return 'wrong requests or attempts'
    const counts = {
      accepted: reported.length,
      delivered: count('Delivered'),
      rejected: count('Rejected'),
      expired: count('Expired'),
      dropped: count('Dropped'),
      abandoned: count('Abandoned'),
      waiting: 0,
    }
    return isDeepStrictEqual([closing?.totals, stats.bytes], [counts, 0]) ? undefined : 'other totals'
  },
  'BA4: a batch closed by count or bytes is full': ({ calls }, { size, maxBatch }) => {
    for (const { item } of wholeBatches(calls)) {
      const isFull = item.closedBy === 'count' && item.members.length === size
      const isClosedFull = item.closedBy === 'count' || item.closedBy === 'bytes'
      if (isClosedFull && !isFull && item.byteLength < maxBatch - MAX_MESSAGE) return 'a batch with room'
    }
    return undefined
  },
  'one request at a time keeps the order': ({ calls, accepted, reported }, { concurrency }) => {
    if (concurrency > 1) return undefined
    const endedAt = new Map(reported.map(({ at: when, outcome }) => [outcome.item.id, when]))
    for (const call of wholeBatches(calls)) {
      const last = Math.max(...idsOf(call.item).map((id) => accepted.indexOf(id)))
      const late = accepted
        .slice(0, last)
        .find((id) => !has(call, id) && (endedAt.get(id) ?? Infinity) > call.startedAt)
      if (late !== undefined) return `${late} was passed by`
      const places = idsOf(call.item).map((id) => accepted.indexOf(id))
      if (places.some((place, n) => n > 0 && place < (places[n - 1] ?? 0))) return 'a batch out of order'
    }
    return undefined
  },
  'P7: outcomes come from requests, and are the last': ({ calls, reported }) => {
    for (const { at: when, outcome } of reported) {
      const { id } = outcome.item
      const inRequest = calls.some((call) => call.verdictAt !== undefined && has(call, id))
      if ((outcome._tag === 'Delivered' || outcome._tag === 'Rejected') && !inRequest)
        return `${id} is ${outcome._tag} without a request`
      if (calls.some((call) => call.startedAt > when && has(call, id))) return `${id} was sent after its end`
    }
    return undefined
  },
  'P7: requests keep deadline and timeout': ({ calls }, { window, timeout }) => {
    const first = new Map<string, number>()
    for (const { item, startedAt, endedAt } of calls) {
      for (const id of idsOf(item)) {
        const firstAt = first.get(id) ?? startedAt
        first.set(id, firstAt)
        if (startedAt - firstAt >= window)
          return `a request ${String(startedAt - firstAt)} ms after the first`
      }
      if ((endedAt ?? Infinity) - startedAt > timeout) return 'a request that took longer'
    }
    return undefined
  },
  'P7: a Retry-After holds back every batch until its time': ({ calls }, { script, timeout }) => {
    for (const [index, { verdictAt, startedAt }] of calls.entries()) {
      const each = script[Math.min(index, script.length - 1)]
      if (each?.answer !== 'wait' || verdictAt === undefined || verdictAt - startedAt >= timeout) continue
      // Halves of a batch that started before go on.
      const begun = new Set(calls.filter((call) => call.startedAt <= verdictAt).map(({ item }) => item.id))
      const early = calls.some((call) => !begun.has(call.item.id) && call.startedAt < verdictAt + RETRY_AFTER)
      if (early) return `a batch within ${String(RETRY_AFTER)} ms`
    }
    return undefined
  },
  'one bad message costs one message': ({ reported }, { script }) => {
    if (script.some(({ answer }) => answer !== 'ok' && answer !== 'few')) return undefined
    const wrong = reported.find(({ outcome: { _tag, item } }) => _tag === 'Rejected' && !isPoison(item.id))
    return wrong && `${wrong.outcome.item.id} was rejected with its neighbour`
  },
  'P8: bounds hold': (
    { mostWaiting, mostBytes, mostRunning },
    { maxCount, maxBytes, concurrency, outbox },
  ) => {
    if (mostRunning > concurrency) return `${String(mostRunning)} requests at a time`
    if (outbox !== 'own') return undefined
    if (mostWaiting > maxCount) return `${String(mostWaiting)} messages`
    return mostBytes > maxBytes ? `${String(mostBytes)} bytes` : undefined
  },
  'only overflow drops, only a close abandons': ({ reported, sent, closeAsked }, { overflow }) => {
    const hasDrop = reported.some(({ outcome }) => outcome._tag === 'Dropped')
    if (overflow === 'error' && hasDrop) return 'a drop'
    if (overflow !== 'error' && sent.some(({ answer, onDrop }) => answer === 'Full' && !onDrop))
      return 'a refusal for lack of room'
    if (sent.some(({ answer, at: when }) => answer === 'Closed' && when < closeAsked))
      return 'closed too early'
    return reported.some(({ outcome, at: when }) => outcome._tag === 'Abandoned' && when < closeAsked)
      ? 'something abandoned before the close'
      : undefined
  },
  'CL3: a flush ends with what it waits for, or at its timeout': ({
    flushed,
    flushes,
    reported,
    closedAt,
  }) => {
    if (flushed.length !== flushes) return 'a flush that never resolved'
    const endedAt = new Map(reported.map(({ at: when, outcome }) => [outcome.item.id, when]))
    for (const { asked, open, timeout, at: when, totals } of flushed) {
      const last = Math.max(asked, ...open.map((id) => endedAt.get(id) ?? Infinity))
      const due = Math.min(last, asked + (timeout ?? Infinity), Math.max(asked, closedAt))
      if (when !== due) return `asked at ${String(asked)}, due at ${String(due)}, resolved at ${String(when)}`
      const ends = totals.delivered + totals.rejected + totals.expired + totals.dropped + totals.abandoned
      if (totals.accepted !== ends + totals.waiting) return 'wrong totals'
    }
    return undefined
  },
  'after a close, in time, nothing runs': (
    { calls, closedAt, running, timersLeft },
    { closeAt, closeWithin, timeout, outbox },
  ) => {
    // A store is waited for too.
    const patience = outbox === 'own' || outbox === 'memory' ? 0 : timeout + 1_000
    // What runs at the end of the close has 500 ms.
    if (closedAt > closeAt + closeWithin + Math.max(timeout, 500) + patience)
      return `closed only at ${String(closedAt)}`
    if (running > 0 || timersLeft > 0) return `${String(running)} requests, ${String(timersLeft)} timers`
    return calls.some(({ startedAt }) => startedAt > closedAt) ? 'a start after the close' : undefined
  },
}

/** One property with all laws, so that a world is played once. */
export const clientLaws = (open: OpenClient): fc.IAsyncProperty<[World]> =>
  fc.asyncProperty(world, async (given) => {
    const trace = await play(given, open)
    for (const [id, broken] of Object.entries(laws)) {
      const wrong = broken(trace, given)
      if (wrong !== undefined) throw new Error(`${id}: ${wrong}`)
    }
  })

// A crash.

const crash = fc.record({
  /** Pauses between messages. */
  sends: fc.array(fc.constantFrom(0, 0, 0, 1, 30, 400), { minLength: 1, maxLength: 40, size: 'max' }),
  size: fc.constantFrom(1, 3, 20),
  /** Not 0: such a write would reach the disk after the crash. */
  latency: fc.constantFrom(1, 25),
  isDown: fc.boolean(),
  crashAt: fc.constantFrom(0, 1, 26, 300, 1_500, 4_000),
  seed: fc.nat(),
})

/** What was on the disk at a crash ends, in this client or in the next one; nothing is left on the disk. */
export const crashLaw = (open: OpenClient): fc.IAsyncProperty<[Of<typeof crash>]> =>
  fc.asyncProperty(crash, async ({ sends, size, latency, isDown, crashAt, seed }) => {
    const clock = virtualClock()
    const store = sharedStore<Message>(clock, { latency, leaseTime: 0 })
    const view = store.open()
    let isCrashed = false
    const ended = new Set<string>()
    const life = (down: boolean, { outbox } = view): Client => {
      const client = open('a key', {
        sink: scriptedSink<SentBatch>({
          clock,
          reply: () => ({ verdict: down ? status(503) : yes, after: 20 }),
        }),
        ...{ outbox, clock, size, random: seededRandom(seed), logger: false, drainOnExit: false },
      })
      client.outcomes$.subscribe(({ item }) => ended.add(item.id))
      return client
    }
    const first = life(isDown)
    const accepted: string[] = []
    let persisted: ReadonlyArray<string> = []
    for (const pause of sends) {
      if (clock.monotonic() + pause > crashAt) break
      await clock.advance(pause)
      const id = `m${String(accepted.length)}`
      if (isRight(first.send(callOf(id, { kind: 'track', user: 'u' })))) accepted.push(id)
      const known = [...accepted]
      void first.persisted().then((isStored) => {
        if (isStored && !isCrashed) persisted = known.length > persisted.length ? known : persisted
      })
    }
    await clock.advance(Math.max(0, crashAt - clock.monotonic()))
    const promised = [...persisted]
    isCrashed = true
    view.kill()
    const endedBefore = new Set(ended)
    const second = life(false, store.open())
    await clock.advance(100_000)
    const closing = second.close()
    await clock.advance(100_000)
    await closing
    const lost = promised.filter((id) => !ended.has(id) && !endedBefore.has(id))
    expect(lost).toEqual([])
    expect(store.size()).toBe(0)
    void first.close({ timeout: 0 })
    await clock.advance(100_000)
  })

describe('the laws of a client hold', () => {
  it('in random worlds', () => fc.assert(clientLaws(createClient)))

  it('after a crash: nothing that was stored is lost', () => fc.assert(crashLaw(createClient)))
})

describe('the published laws of a client', () =>
  registerLaws(
    { test },
    Published.clientLaws((options) => createClient('a key', options)),
  ))

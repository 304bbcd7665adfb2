/** The published laws of a client over several outboxes, laws of what only we promise, and a crash over a durable outbox. */
import * as fc from 'fast-check'
import { isRight, left } from 'fp-ts/lib/Either.js'
import { describe, expect, it, test } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import { createClient, type Message, type SentBatch, type ClientOptions } from '../../src/client/index.ts'
import type { Overflow } from '../../src/client/options.ts'
import { refused, retryable, type Clock, type Outcome, type Verdict } from '../../src/index.ts'
import { memoryOutbox, type Outbox } from '../../src/outbox/index.ts'
import { both, capDelay, deadline, exponential, respectRetryAfter } from '../../src/policy/index.ts'
import { clientLaws, registerLaws } from '../../src/testing/laws/index.ts'
import type { OpenClient } from '../../src/testing/laws/clientLaws.ts'
import { sharedStore } from '../support/sharedStore.ts'
import { scriptedSink, seededRandom, virtualClock } from '../../src/testing/index.ts'
import type { SinkCall, Reply } from '../../src/testing/index.ts'
import { event, yes } from '../client/virtual.ts'
import { holds, lawTable, same, type Drawn } from '../support/check.ts'

export const open: OpenClient = (options) => createClient('a key', options)

/** Answers after 3 ms, and fails every other time. */
const failingOutbox = (clock: Clock | undefined): Outbox<Message> => {
  const inner = memoryOutbox<Message>({ maxCount: 12 })
  let asked = 0
  return {
    ...inner,
    enqueue: (items) => {
      asked++
      if (asked % 4 === 1) throw new Error('a planted failure')
      if (asked % 4 === 3) return Promise.reject(new Error('a planted failure'))
      return new Promise((resolve) => {
        clock?.schedule(3, () => resolve(Promise.resolve(inner.enqueue(items))))
      })
    },
  }
}

describe('a client with a queue of its own', () => registerLaws({ test }, clientLaws(open)))

describe('a client with a slow outbox that fails', () => {
  const failing: OpenClient = (options) => open({ ...options, outbox: failingOutbox(options.clock) })
  const laws = clientLaws(failing).filter(({ id }) => /ends-once|truth|adds-up|flushes|closes/.test(id))
  registerLaws({ test }, laws)
})

// What the published laws do not see: bounds, deadlines, Retry-After, batches that are divided, times of a flush.

type Step = Drawn<typeof step>

const step = fc.record({
  answer: fc.constantFrom(...(['ok', 'ok', 'busy', 'busy', 'wait', 'hang', 'few'] as const)),
  after: fc.constantFrom(0, 0, 1, 40, 400),
})

const world = fc.record({
  /** What the endpoint does, request by request; the last step repeats. It refuses what holds a message with an id in `poisoned`. */
  script: fc.array(step, { minLength: 1, maxLength: 6, size: 'max' }),
  poisoned: fc.uniqueArray(fc.nat(20), { maxLength: 2 }),
  /** A message with padding; or a flush within some time, or without a limit. */
  acts: fc.array(
    fc.record({
      gap: fc.constantFrom(0, 0, 0, 0, 1, 60, 900, 6_000),
      size: fc.constantFrom(0, 0, 0, 40, 300),
      flush: fc.constantFrom(null, null, null, null, 0, 100, Infinity),
    }),
    { minLength: 1, maxLength: 30, size: 'max' },
  ),
  size: fc.constantFrom(1, 3, 5, 20),
  flushAfter: fc.constantFrom(20, 500, 5_000, Infinity),
  maxBatchBytes: fc.constantFrom(800, 1_500, 500_000),
  maxCount: fc.constantFrom(1, 4, 8, 100),
  maxBytes: fc.constantFrom(1_900, 4_000, 1_000_000),
  overflow: fc.constantFrom<Overflow[]>('error', 'dropNewest', 'dropOldest'),
  concurrency: fc.constantFrom(1, 1, 2, 4),
  timeout: fc.constantFrom(30, 300, 1_000),
  window: fc.constantFrom(1, 1_000, 20_000),
  /** On this many outcomes the subscriber sends another message. */
  reacts: fc.constantFrom(0, 2, 6),
  closeWithin: fc.constantFrom(0, 1_000, 30_000),
  seed: fc.nat(),
})
type World = Drawn<typeof world>

/** How long a `wait` asks for, and the largest message here, in bytes. */
const RETRY_AFTER = 700
const MAX_MESSAGE = 700
const status = (code: number): Verdict =>
  left(code < 500 ? refused('status', { status: code }) : retryable('status', { status: code }))

const replyOf = ({ answer, after }: Step, isPoisoned: boolean, count: number, now: number): Reply => {
  if (answer === 'hang') return {}
  if (answer === 'busy') return { after, verdict: status(503) }
  const notBefore = now + after + RETRY_AFTER
  if (answer === 'wait') return { after, verdict: left(retryable('status', { status: 429, notBefore })) }
  if (answer === 'few' && count > 2) return { after, verdict: status(413) }
  return { after, verdict: isPoisoned ? status(400) : yes }
}

const play = async (make: OpenClient, given: World) => {
  const { script, poisoned, acts, window, reacts, closeWithin, seed, ...limits } = given
  const clock = virtualClock()
  const bad = new Set(poisoned.map((n) => `m${n}`))
  const sent: Array<{ id: string; answer: string; onDrop: boolean }> = []
  const ended: Array<{ at: number; outcome: Outcome<Message> }> = []
  const flushed: Array<{ asked: number; open: string[]; within: number; at: number }> = []
  const most = { running: 0, waiting: 0, bytes: 0 }
  const sink = scriptedSink<SentBatch>({
    clock,
    reply: ({ members }, _attempt, index) => {
      most.running = Math.max(most.running, sink.running() + 1)
      const each = script[Math.min(index, script.length - 1)] ?? { answer: 'hang', after: 0 }
      const isPoisoned = members.some(({ id }) => bad.has(id))
      return replyOf(each, isPoisoned, members.length, clock.now())
    },
  })
  const client = make({
    ...{ ...limits, sink, clock, random: seededRandom(seed), maxMessageBytes: MAX_MESSAGE },
    ...{ logger: false, drainOnExit: false },
    retry: both(capDelay(2_000)(exponential({ base: 100 })), both(deadline(window), respectRetryAfter)),
  })
  const send = (size: number, onDrop = false): void => {
    const one = { id: `m${sent.length}`, answer: '', onDrop }
    sent.push(one)
    const answer = client.track({ ...event(one.id), properties: { pad: 'x'.repeat(size) } })
    one.answer = isRight(answer) ? 'Accepted' : answer.left._tag
    const { waiting, bytes } = client.stats()
    Object.assign(most, { waiting: Math.max(most.waiting, waiting), bytes: Math.max(most.bytes, bytes) })
  }
  client.outcomes$.subscribe((outcome) => {
    ended.push({ at: clock.monotonic(), outcome })
    if (ended.length <= reacts) send(0, outcome._tag === 'Dropped')
  })
  const flush = async (within: number): Promise<void> => {
    const over = new Set(ended.map(({ outcome }) => outcome.item.id))
    const open = sent.filter(({ id, answer }) => answer === 'Accepted' && !over.has(id)).map(({ id }) => id)
    const one = { asked: clock.monotonic(), open, within, at: NaN }
    flushed.push(one)
    await client.flush({ timeout: within })
    one.at = clock.monotonic()
  }
  for (const { gap, size, flush: within } of acts) {
    await clock.advance(gap)
    if (within === null) send(size)
    else void flush(within)
  }
  const closeAsked = clock.monotonic()
  const { totals } = await clock.run(client.close({ timeout: closeWithin }))
  const closedAt = clock.monotonic()
  await clock.settle()
  const times = { closeAsked, closedAt }
  return { sent, ended, flushed, most, totals, ...times, bad, calls: sink.calls, stats: client.stats() }
}

const idsOf = ({ item }: SinkCall<SentBatch>): ReadonlyArray<string> => item.members.map(({ id }) => id)

/** The first request of each batch: the whole batch. Its halves have the same id. */
const wholeBatches = (calls: ReadonlyArray<SinkCall<SentBatch>>): ReadonlyArray<SinkCall<SentBatch>> =>
  calls.filter(({ item }, n) => calls.findIndex((each) => each.item.id === item.id) === n)

const laws = lawTable(world, play, {
  'full BA4: a batch closed by count or bytes is full': ({ calls }, { size, maxBatchBytes }) => {
    for (const { item } of wholeBatches(calls)) {
      const isFull = item.closedBy === 'count' && item.members.length === size
      const isClosedFull = item.closedBy === 'count' || item.closedBy === 'bytes'
      holds(!isClosedFull || isFull || item.byteLength >= maxBatchBytes - MAX_MESSAGE, 'a batch with room')
    }
  },
  'order with one request at a time no message passes another': ({ calls, sent, ended }, { concurrency }) => {
    if (concurrency > 1) return
    const accepted = sent.filter(({ answer }) => answer === 'Accepted').map(({ id }) => id)
    const endedAt = new Map(ended.map(({ at, outcome }) => [outcome.item.id, at]))
    for (const call of wholeBatches(calls)) {
      const ids = idsOf(call)
      const before = accepted.slice(0, accepted.indexOf(ids.at(-1) ?? ''))
      const open = before.filter((id) => !ids.includes(id) && (endedAt.get(id) ?? Infinity) > call.startedAt)
      same(open, [])
    }
  },
  'time P7: requests keep deadline and timeout': ({ calls }, { window, timeout }) => {
    const first = new Map<string, number>()
    for (const call of calls) {
      for (const id of idsOf(call)) {
        const firstAt = first.get(id) ?? call.startedAt
        first.set(id, firstAt)
        holds(call.startedAt === firstAt || call.startedAt - firstAt < window, 'a request after its deadline')
      }
      holds((call.endedAt ?? Infinity) - call.startedAt <= timeout, 'a request that took longer')
    }
  },
  'wait P7: a Retry-After holds back every batch until its time': ({ calls }, { script }) => {
    for (const [n, { verdictAt }] of calls.entries()) {
      if (script[Math.min(n, script.length - 1)]?.answer !== 'wait' || verdictAt === undefined) continue
      // Halves of a batch that started before go on.
      const begun = new Set(calls.filter((call) => call.startedAt <= verdictAt).map(({ item }) => item.id))
      const later = calls.filter(({ item, startedAt }) => !begun.has(item.id) && startedAt > verdictAt)
      for (const { startedAt } of later) holds(startedAt >= verdictAt + RETRY_AFTER, 'a batch too early')
    }
  },
  'alone one bad message costs one message': ({ ended, bad }) => {
    for (const { outcome } of ended)
      holds(outcome._tag !== 'Rejected' || bad.has(outcome.item.id), `${outcome.item.id} with its neighbour`)
  },
  'bounds P8: bounds hold, and stats counts the requests': ({ most, calls, stats }, world) => {
    const { maxCount, maxBytes, concurrency } = world
    holds(most.running <= concurrency, `${most.running} requests at a time`)
    holds(most.waiting <= maxCount && most.bytes <= maxBytes, `${most.waiting} with ${most.bytes} bytes`)
    same([stats.requests, stats.bytes], [calls.length, 0])
  },
  'drops only overflow drops, only a close abandons': ({ ended, sent, closeAsked }, { overflow }) => {
    const has = (tag: string, before = Infinity): boolean =>
      ended.some(({ outcome, at }) => outcome._tag === tag && at < before)
    holds(overflow !== 'error' || !has('Dropped'), 'a drop')
    const isRefused = sent.some(({ answer, onDrop }) => answer === 'Full' && !onDrop)
    holds(overflow === 'error' || !isRefused, 'a refusal for lack of room')
    holds(!has('Abandoned', closeAsked), 'abandoned before the close')
  },
  'flush CL3: a flush ends with what it waits for, or at its timeout': ({ flushed, ended, closedAt }) => {
    const endedAt = new Map(ended.map(({ at, outcome }) => [outcome.item.id, at]))
    for (const { asked, open, within, at } of flushed) {
      const last = Math.max(asked, ...open.map((id) => endedAt.get(id) ?? Infinity))
      same(at, Math.min(last, asked + within, Math.max(asked, closedAt)))
    }
  },
})

export const ownClientLaws = laws.each

it('a client keeps our own laws too', () => fc.assert(laws.all(open)))

const crash = fc.record({
  sends: fc.array(fc.constantFrom(0, 0, 0, 1, 30, 400), { minLength: 1, maxLength: 40, size: 'max' }),
  size: fc.constantFrom(1, 3, 20),
  /** Not 0: such a write would reach the disk after the crash. */
  latency: fc.constantFrom(1, 25),
  isDown: fc.boolean(),
  crashAt: fc.constantFrom(0, 1, 26, 300, 1_500, 4_000),
  seed: fc.nat(),
})

/** What was on the disk at a crash ends, in this client or in the next one; nothing is left on the disk. */
export const crashLaw = (make: OpenClient): fc.IAsyncProperty<[Drawn<typeof crash>]> =>
  fc.asyncProperty(crash, async ({ sends, size, latency, isDown, crashAt, seed }) => {
    const clock = virtualClock()
    const store = sharedStore<Message>(clock, { latency, leaseTime: 0 })
    const ended = new Set<string>()
    const life = (verdict: Verdict, outbox: Outbox<Message>): Client => {
      const sink = scriptedSink<SentBatch>({ clock, reply: () => ({ verdict, after: 20 }) })
      const options: ClientOptions = { logger: false, drainOnExit: false, random: seededRandom(seed) }
      const client = make({ ...options, sink, outbox, clock, size })
      client.outcomes$.subscribe(({ item }) => ended.add(item.id))
      return client
    }
    const view = store.open()
    const first = life(isDown ? status(503) : yes, view.outbox)
    const accepted: string[] = []
    const stored = new Set<string>()
    let isCrashed = false
    for (const pause of sends) {
      if (clock.monotonic() + pause > crashAt) break
      await clock.advance(pause)
      const answer = first.track(event(`m${accepted.length}`))
      if (isRight(answer)) accepted.push(answer.right.id)
      const known = [...accepted]
      void first.persisted().then((isStored) => {
        if (isStored && !isCrashed) for (const id of known) stored.add(id)
      })
    }
    await clock.advance(Math.max(0, crashAt - clock.monotonic()))
    isCrashed = true
    view.kill()
    const second = life(yes, store.open().outbox)
    await clock.advance(100_000)
    await clock.run(second.close())
    expect([[...stored].filter((id) => !ended.has(id)), store.entries().length]).toEqual([[], 0])
    await clock.run(first.close({ timeout: 0 }))
  })

it('nothing that was stored is lost in a crash', () => fc.assert(crashLaw(open)))

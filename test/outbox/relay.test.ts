/** The relay with stores that are slow, late, failing or shared, and with receivers that are. */
import { left, right } from 'fp-ts/lib/Either.js'
import { NEVER, Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { deliver, firstSuccess, retryable, withConcurrency } from '../../src/index.ts'
import type { Outcome, Sink, Verdict } from '../../src/index.ts'
import { memoryOutbox, type Outbox } from '../../src/outbox/index.ts'
import { both, deadline, exponential } from '../../src/policy/index.ts'
import { allListeners, type LogEvent } from '../../src/log/index.ts'
import { ordered } from '../../src/outbox/ordered.ts'
import { relay, type Relay } from '../../src/outbox/relay.ts'
import { one } from '../../src/outbox/take.ts'
import { scriptedSink, virtualClock } from '../../src/testing/index.ts'
import { throwing } from '../support/check.ts'

const yes: Verdict = right({ sink: 's' })
const busy: Verdict = left(retryable('busy'))

type Clock = ReturnType<typeof virtualClock>

interface Setup {
  readonly clock?: Clock
  readonly inFlight?: number
  readonly retryDelay?: number
  readonly heard?: () => void
  readonly store?: (outbox: Outbox<string>, clock: Clock) => Outbox<string>
}

const setUp = (given: Setup) => {
  const { clock = virtualClock(), inFlight = 10, retryDelay = 60_000, store } = given
  const log: string[] = []
  const events: LogEvent[] = []
  const note = (text: string) => log.push(`${String(clock.monotonic())} ${text}`)
  const inner = memoryOutbox<string>()
  const outbox = store?.(inner, clock) ?? inner
  const reply = (item: string) => {
    note(`start ${item}`)
    return { verdict: item.startsWith('busy') ? busy : yes, after: 10 }
  }
  const parts = { sink: scriptedSink<string>({ clock, reply }), outbox, clock, shape: one<string>(inFlight) }
  const retry = exponential({ base: retryDelay, factor: 1 })
  const onEvent = allListeners((event) => events.push(event), given.heard)
  const ended = ({ item }: Outcome<string>) => note(`end ${item}`)
  const work = relay<string>({ ...parts, retry, random: () => 0, onEvent, ended })
  const offer = async (...items: ReadonlyArray<string>): Promise<void> => {
    for (const item of items) await work.offer(item)
  }
  const count = (word: 'start' | 'end'): number => log.filter((line) => line.includes(` ${word} `)).length
  return { clock, log, events, offer, count, work, outbox }
}
const aborted = (work: Relay<string>) => new Promise<ReadonlyArray<string>>((resolve) => work.abort(resolve))
const items = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix} ${n}`)

describe('a store that takes a second to save a result', () => {
  const saving =
    (latency: number): NonNullable<Setup['store']> =>
    (outbox, clock) => {
      const later =
        <L>(write: (list: L) => unknown) =>
        (list: L) =>
          new Promise<void>((resolve) => clock.schedule(latency, () => resolve(void write(list))))
      return { ...outbox, ack: later(outbox.ack), nack: later(outbox.nack) }
    }

  it('does not delay the next delivery, but outcomes are reported when they are saved', async () => {
    const { clock, log, offer } = setUp({ inFlight: 2, store: saving(1_000) })
    await offer('a')
    clock.schedule(5, () => void offer('b', 'c'))
    await clock.advance(1_015)
    expect(log).toEqual(['0 start a', '5 start b', '10 start c', '1010 end a', '1015 end b'])
  })

  it('does not delay the next delivery of the same key', async () => {
    const { clock, log, offer } = setUp({
      store: (outbox, time) => ordered(saving(1_000)(outbox, time), () => 'key', String),
    })
    await offer('a', 'b')
    await clock.advance(100)
    expect(log).toEqual(['0 start a', '10 start b'])
  })

  it.each([
    ['item', 4, false, 16],
    ['busy', 4, false, 16],
    ['item', 200, false, 16],
    ['item', 200, true, 50],
    ['busy', 200, true, 50],
    ['item', 4, true, 16],
  ])('bounds unsaved results: %s, %i in flight, shared: %s', async (prefix, inFlight, isShared, bound) => {
    const shared = isShared && { watch: () => () => undefined }
    const store: NonNullable<Setup['store']> = (...given) => ({ ...saving(Infinity)(...given), ...shared })
    const { clock, offer, count } = setUp({ inFlight, store })
    await offer(...items(prefix, 300))
    await clock.advance(5_000)
    expect([count('start'), count('end')]).toEqual([inFlight + bound, 0])
  })

  it.each([
    [1, 17],
    [32, 64],
  ])('bounds those of batches, %i at a time, as full batches', async (concurrency, started) => {
    const clock = virtualClock()
    const outbox = saving(Infinity)(memoryOutbox<string>(), clock)
    void outbox.enqueue(items('item', 300))
    const sink = scriptedSink<ReadonlyArray<string>>({ clock, reply: () => ({ verdict: yes, after: 10 }) })
    const maxInFlight = 2 * concurrency
    NEVER.pipe(deliver(sink, { batch: { maxCount: 2 }, maxInFlight, clock, outbox })).subscribe()
    await clock.advance(5_000)
    expect(sink.calls).toHaveLength(started)
  })
})

it.each<readonly [string, (lease: () => unknown) => unknown]>([
  ['null and 7 beside entries', (lease) => [null, 7, ...(lease() as ReadonlyArray<unknown>)]],
  ['null and 7', () => [null, 7]],
  ['undefined', () => undefined],
  ['5', () => 5],
])('H7: a value that is no entry costs a pause at most, leased now or later: %s', async (_, leasedOf) => {
  for (const isLater of [false, true]) {
    let isFirst = true
    const store: Setup['store'] = (outbox) => ({
      ...outbox,
      lease: (...args) => {
        if (!isFirst) return outbox.lease(...args)
        isFirst = false
        const leased = leasedOf(() => outbox.lease(...args))
        return (isLater ? Promise.resolve(leased) : leased) as never
      },
    })
    const { work, clock, events } = setUp({ store })
    void work.offer('a')
    await clock.advance(5_000)
    expect(work.totals().delivered).toBe(1)
    expect(events.filter(({ _tag }) => _tag === 'Defect').length).toBeGreaterThan(0)
  }
})

describe('a store that answers lease late, and at first with nothing', () => {
  const late =
    (emptyAnswers: number): NonNullable<Setup['store']> =>
    (outbox, clock) => {
      let asked = 0
      const lease: typeof outbox.lease = async (...args) => {
        await clock.sleep(100)
        return ++asked <= emptyAnswers ? [] : outbox.lease(...args)
      }
      return { ...outbox, lease }
    }

  it('is asked again after a second', async () => {
    const { clock, log, offer } = setUp({ store: late(3) })
    await offer('a')
    await clock.runAll()
    // Three empty answers after 100 ms each, with pauses of a second, then the fourth.
    expect([log, clock.pending()]).toEqual([['3400 start a', '3410 end a'], 0])
  })

  it('is asked again at once when something new is offered', async () => {
    const { clock, log, offer } = setUp({ store: late(1) })
    await offer('a')
    await clock.advance(50)
    await offer('b')
    await clock.advance(160)
    expect(log).toEqual(['200 start a', '200 start b', '210 end a', '210 end b'])
  })

  it('hands back what comes after an abort began', async () => {
    const { clock, offer, work } = setUp({ store: late(0) })
    await offer('a')
    await clock.advance(50)
    const rest = aborted(work)
    await clock.advance(1_000)
    expect([await rest, work.totals()]).toMatchObject([['a'], { accepted: 1, abandoned: 1, waiting: 0 }])
    expect(clock.pending()).toBe(0)
  })
})

describe('a store that hands out a part of what is due', () => {
  it('is asked again at once, until it answers nothing', async () => {
    const asked: number[] = []
    const store = (outbox: Outbox<string>): Outbox<string> => ({
      ...outbox,
      enqueue: async (items) => outbox.enqueue(items),
      lease: async (now, limits) => {
        const entries = await outbox.lease(now, { ...limits, count: Math.min(3, limits.count) })
        asked.push(entries.length)
        return entries
      },
    })
    const { clock, work, count } = setUp({ store })
    await clock.run(Promise.all(Array.from('abcdefgh', async (item) => work.offer(item))))
    await clock.advance(1)
    expect([count('start'), asked.filter((found) => found > 0)]).toEqual([8, [3, 3, 2]])
  })

  it('is asked again at once for the rest of a batch, and later for a retry that it did not give', async () => {
    const clock = virtualClock()
    const memory = memoryOutbox<string>()
    void memory.enqueue(items('item', 7))
    const lease: Outbox<string>['lease'] = (now, limits) =>
      memory.lease(now, { ...limits, count: Math.min(3, limits.count) })
    let early = 20
    const nextDue = (only = false) => (early-- > 0 && clock.monotonic() < 1 ? 0 : memory.nextDue(only))
    const sink = scriptedSink<ReadonlyArray<string>>({ clock, reply: () => ({ verdict: yes }) })
    const outbox = { ...memory, lease, nextDue }
    NEVER.pipe(deliver(sink, { batch: { maxCount: 6 }, maxInFlight: 6, clock, outbox })).subscribe()
    await clock.advance(1_001)
    expect(sink.calls.map(({ item, startedAt }) => [startedAt, item.length])).toEqual([[1_000, 6]])
  })
})

describe('while retries take half of the places', () => {
  it('the store is not asked for new entries in vain', async () => {
    const leases = { all: 0, empty: 0 }
    const store: Setup['store'] = (outbox) => ({
      ...outbox,
      lease: (...args) => {
        const leased = outbox.lease(...args)
        leases.all++
        if ('length' in leased && leased.length === 0) leases.empty++
        return leased
      },
    })
    const { clock, offer } = setUp({ inFlight: 4, retryDelay: 100, store })
    await offer(...items('busy', 20))
    await clock.advance(60_000)
    expect(leases.all).toBeGreaterThan(200)
    expect(leases.empty).toBeLessThan(leases.all / 100)
  })

  it('a new entry starts at once', async () => {
    const { clock, log, offer } = setUp({ inFlight: 4, retryDelay: 100 })
    await offer(...items('busy', 20))
    await clock.advance(10_055)
    await offer('new')
    await clock.advance(20)
    expect(log).toContain('10055 start new')
  })
})

describe('a store that fails', () => {
  type Operation = 'lease' | 'nack' | 'ack'
  const failing =
    (operation: Operation, times: number, how: 'throws' | 'rejects'): NonNullable<Setup['store']> =>
    (outbox) => {
      let left = times
      return {
        ...outbox,
        [operation]: (...args: never[]) => {
          if (left-- <= 0) return (outbox[operation] as (...same: never[]) => unknown)(...args)
          return how === 'throws' ? throwing('disk full')() : Promise.reject(new Error('disk full'))
        },
      }
    }

  it.each(['throws', 'rejects'] as const)('is asked again every second if it %s', async (how) => {
    for (const operation of ['lease', 'nack', 'ack'] as const) {
      const item = operation === 'nack' ? 'busy' : 'a'
      const { clock, log, events, offer } = setUp({ store: failing(operation, 2, how), retryDelay: 5_000 })
      await offer(item)
      await clock.advance(7_100)
      const starts = log.filter((at) => at.endsWith(`start ${item}`)).map((at) => Number.parseInt(at, 10))
      expect(starts).toEqual({ lease: [2_000], ack: [0], nack: [0, 5_010] }[operation])
      expect(events.filter(({ _tag }) => _tag === 'Defect')).toHaveLength(2)
    }
  })

  it('for long is asked for a few of many results, and for all when it has taken one', async () => {
    const store: Setup['store'] = (outbox, clock) => ({
      ...outbox,
      ack: (list) => {
        if (clock.monotonic() < 9_000) throw new Error('away')
        return outbox.ack(list)
      },
    })
    const { clock, events, offer, count } = setUp({ store, inFlight: 100 })
    await offer(...items('a', 100))
    const defects: number[] = []
    for (let second = 0; second < 10; second++) {
      const before = events.length
      await clock.advance(1_000)
      defects.push(events.slice(before).filter(({ _tag }) => _tag === 'Defect').length)
    }
    expect(defects).toEqual([100, ...Array<number>(8).fill(4), 0])
    expect(count('end')).toBe(100)
  })

  it('is asked again if it failed when it was asked for the next time', async () => {
    let nextDue = (): number | undefined => undefined
    const { clock, work } = setUp({ store: (outbox) => ({ ...outbox, nextDue: () => nextDue() }) })
    nextDue = throwing('down')
    const idle = work.until(() => !work.hasWorkBefore(Infinity))
    nextDue = () => undefined
    await clock.advance(1_000)
    expect(await Promise.race([idle, Promise.resolve('waits')])).toBe(true)
  })

  it('that never recovers hands back what it could not save, at an abort, unless it keeps it', async () => {
    for (const operation of ['nack', 'ack'] as const) {
      const keeps = operation === 'ack'
      const durable = keeps && { keeps: () => true, takeRemaining: () => [] }
      const fails = failing(operation, Infinity, 'rejects')
      const { clock, offer, work } = setUp({ store: (...given) => ({ ...fails(...given), ...durable }) })
      await offer(keeps ? 'a' : 'busy')
      await clock.advance(500)
      expect(await aborted(work)).toEqual(keeps ? [] : ['busy'])
      const totals = { accepted: 1, abandoned: keeps ? 0 : 1, waiting: keeps ? 1 : 0 }
      expect([work.totals(), clock.pending()]).toMatchObject([totals, 0])
    }
  })
})

it('totals count a redriven item as accepted again, and add up for each listener', async () => {
  const missing = new Set<number>()
  const heard = () => {
    const { accepted, delivered, rejected, dropped, waiting } = work.totals()
    missing.add(accepted - delivered - rejected - dropped - waiting)
  }
  const { clock, work, outbox } = setUp({ heard })
  expect(await work.offerDead('a', { _tag: 'Refused', reason: 'noRoom' })).toEqual(right(undefined))
  expect(outbox.stats().dead).toBe(1)
  expect(work.totals()).toMatchObject({ accepted: 1, rejected: 1, waiting: 0 })
  expect(await work.redrive(() => true)).toBe(1)
  await clock.advance(10)
  expect(work.totals()).toMatchObject({ accepted: 2, rejected: 1, delivered: 1, waiting: 0 })
  const offerDead = () => work.offerDead('b', { _tag: 'Refused', reason: 'noRoom' })
  expect(await offerDead()).toEqual(right(undefined))
  work.dropNewest('c')
  work.stopAccepting()
  expect([await work.redrive(() => true), await offerDead()]).toMatchObject([0, { _tag: 'Left' }])
  expect([...missing]).toEqual([0])
})

it('a flush waits for what was accepted before it, also beside a redrive', async () => {
  const { clock, log, offer, work } = setUp({})
  await work.offerDead('dead', { _tag: 'Refused', reason: 'noRoom' })
  await offer('busy')
  const isFlushed = work.flushed()
  await work.redrive(() => true)
  await clock.advance(20)
  expect([log.at(-1), isFlushed()]).toEqual(['10 end dead', false])
})

it('an item that waits in a full queue of its URL has not started: no attempt counts, nor its deadline', async () => {
  const clock = virtualClock()
  const slow = scriptedSink<string>({ clock, reply: () => ({ verdict: yes, after: 10_000 }) })
  const ended: string[] = []
  const waits: number[] = []
  const work = relay<string>({
    sink: firstSuccess([withConcurrency({ concurrency: 1 })(slow)]),
    outbox: memoryOutbox<string>(),
    retry: both(exponential(), deadline(25_000)),
    clock,
    random: () => 0,
    shape: one(10),
    onEvent: (event) => {
      if (event._tag === 'Waiting') waits.push(event.attempts)
    },
    ended: (outcome) => ended.push(`${outcome._tag} ${String(outcome.attempts)}`),
  })
  for (const item of ['a', 'b', 'c', 'd', 'e', 'f']) void work.offer(item)
  await clock.advance(200_000)
  expect([ended, new Set(waits)]).toEqual([Array.from({ length: 6 }, () => 'Delivered 1'), new Set([0])])
  expect(clock.pending()).toBe(0)
})

describe('an abort cancels', () => {
  const over = (sink: Sink<string>, clock: Clock, ended?: () => void) =>
    relay<string>({
      ...{ sink, outbox: memoryOutbox<string>(), retry: exponential(), clock, random: () => 0 },
      ...{ shape: one(10), ended: () => ended?.() },
    })

  it('the other URLs, also inside a verdict that comes at once', async () => {
    const clock = virtualClock()
    const quick = scriptedSink<string>({ name: 'quick', clock, reply: () => ({ verdict: yes }) })
    const slow = scriptedSink<string>({ name: 'slow', clock, reply: () => ({ verdict: yes, after: 1_000 }) })
    let ended = 0
    const work = over(firstSuccess([quick, slow]), clock, () => {
      ended++
      work.abort(() => undefined)
    })
    await work.offer('a')
    expect(ended).toBe(1)
    expect([slow.running(), clock.pending(), work.running()]).toEqual([0, 0, 0])
  })

  it('all deliveries, also if the cancel of one throws', async () => {
    let cancelled = 0
    const deliver = () =>
      new Observable<Verdict>(() => () => {
        cancelled++
        throw new Error('no')
      })
    const work = over({ name: 's', deliver, close: async () => undefined }, virtualClock())
    await work.offer('a')
    await work.offer('b')
    expect([await aborted(work), cancelled]).toEqual([['a', 'b'], 2])
  })
})

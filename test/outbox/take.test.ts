import { describe, expect, it } from 'vitest'
import { type Moment, batchOf, one } from '../../src/outbox/take.ts'

const NOW = 1_000_000
const SECOND = NOW + 1_000
const line = (count: number, bytes = count * 10) => ({ count, bytes })

const moment = (changes: Partial<Moment> = {}): Moment => ({
  now: NOW,
  retries: line(0),
  fresh: line(0),
  unleased: line(0),
  inFlight: 0,
  retriesInFlight: 0,
  running: 0,
  behind: 0,
  nacking: 0,
  mayLease: true,
  mayLeaseRetries: true,
  lastStart: NOW,
  freshSince: NOW,
  heldUntil: -Infinity,
  orderedUntil: Infinity,
  flushing: undefined,
  nextDue: () => Infinity,
  nextRetry: () => Infinity,
  isFull: () => false,
  ...changes,
})
const due = (at: number) => ({ nextDue: () => at })
const retryDue = (at: number) => ({ nextDue: () => at, nextRetry: () => at })
const never = { do: 'wait', until: Infinity }
const wait = (until: number) => ({ do: 'wait', until })
const lease = (count: number, retries: number, and = {}) => ({
  do: 'lease',
  limits: { count, retries, ...and },
})

describe('a take of single entries', () => {
  const { take } = one(10)
  const start = (from: string) => ({ do: 'start', from, count: 1 })
  it.each<[string, Partial<Moment>, object]>([
    ['starts retries before new entries', { retries: line(1), fresh: line(1) }, start('retries')],
    ['starts a new entry', { fresh: line(1) }, start('fresh')],
    ['starts no more than maxInFlight', { fresh: line(1), inFlight: 10 }, never],
    ['leases as many as may start, and half of them retries', due(0), lease(10, 5)],
    ['counts the retries in flight', { ...due(0), inFlight: 4, retriesInFlight: 3 }, lease(6, 2)],
    ['asks for no more retries', { ...due(0), inFlight: 7, retriesInFlight: 6 }, lease(3, 0)],
    ['leases less while results are not stored', { ...due(0), behind: 9 }, lease(1, 5)],
    ['leases nothing while too many results are not stored', { ...due(0), behind: 10 }, never],
    ['waits until the store has an entry', due(NOW + 5), wait(NOW + 5)],
    ['waits a second if the store gave less than was due', { ...due(0), mayLease: false }, wait(SECOND)],
    ['waits for nothing', {}, never],
  ])('%s', (_, changes, next) => expect(take(moment(changes))).toMatchObject(next))

  it('leases a retry for its only place', () => expect(one(1).take(moment(due(0)))).toEqual(lease(1, 1)))

  it('starts and leases nothing while all receivers ask for a pause', () => {
    const held = one(10, () => NOW + 9).take
    for (const changes of [{ fresh: line(1) }, { retries: line(1) }, due(0)])
      expect(held(moment(changes))).toEqual(wait(NOW + 9))
    expect(held(moment())).toEqual(never)
    expect(one(10, () => NOW).take(moment({ fresh: line(1) }))).toMatchObject(start('fresh'))
  })
})

describe('a take of batches', () => {
  const bounds = { count: 5, bytes: 100, delay: 60, delayAfter: 'start', concurrency: 1 } as const
  const both = batchOf({ ...bounds, concurrency: 2 })
  const start = (from: string, closedBy: string) => ({ do: 'start', from, count: 5, bytes: 100, closedBy })
  const theirs = { ...retryDue(NOW + 7), fresh: line(5), orderedUntil: NOW }
  const few = { ...due(NOW), fresh: line(2), unleased: line(3) }
  it.each<[string, Partial<Moment>, object]>([
    ['waits for the end of a delivery', { fresh: line(5), running: 1 }, never],
    ['waits while retries are being put back', { fresh: line(5), nacking: 1 }, never],
    ['waits while too many results are not stored', { fresh: line(5), behind: 1 }, never],
    ['waits as long as the receiver wants', { fresh: line(5), heldUntil: NOW + 9 }, wait(NOW + 9)],
    ['starts retries before new entries', { retries: line(1), fresh: line(5) }, start('retries', 'retry')],
    ['leases only retries that are due', retryDue(NOW), lease(5, 5, { retriesOnly: true })],
    ['waits a second if the store gave none', { ...retryDue(NOW), mayLeaseRetries: false }, wait(SECOND)],
    ['starts nothing new while a retry waits', { ...retryDue(NOW + 7), fresh: line(5) }, wait(NOW + 7)],
    ['starts new entries while one of others does', theirs, start('fresh', 'count')],
    ['waits for a retry before the delay is over', { ...theirs, fresh: line(1) }, wait(NOW + 7)],
    ['closes a batch by count', { fresh: line(5) }, start('fresh', 'count')],
    ['closes a batch by bytes', { ...few, fresh: line(2, 100) }, start('fresh', 'bytes')],
    ['closes a batch by the flush', { fresh: line(1), flushing: 'flush' }, start('fresh', 'flush')],
    ['closes a batch at the end', { fresh: line(1), flushing: 'end' }, start('fresh', 'end')],
    ['closes a batch by the delay', { fresh: line(1), lastStart: NOW - 60 }, start('fresh', 'delay')],
    ['closes a batch if there is no room', { fresh: line(1), isFull: () => true }, start('fresh', 'flush')],
    ['waits until the delay is over', { fresh: line(1), lastStart: NOW - 20 }, wait(NOW + 40)],
    ['leases if the store can close a batch', few, lease(3, 0)],
    ['waits if the store cannot', { ...due(0), fresh: line(2), unleased: line(2) }, wait(NOW + 60)],
    ['does not count entries that are not due', { fresh: line(2), unleased: line(3) }, wait(NOW + 60)],
    ['starts the held entries if the store gave less', { ...few, mayLease: false }, start('fresh', 'count')],
    ['waits a second if it gave none', { ...due(0), unleased: line(1, 100), mayLease: false }, wait(SECOND)],
    ['waits for nothing', {}, never],
  ])('%s', (_, changes, next) => expect(batchOf(bounds)(moment(changes))).toEqual(next))

  it('leases a batch for each free place, and starts new entries while a retry waits, if it has two', () => {
    expect(both(moment({ ...due(0), unleased: line(Infinity) }))).toMatchObject({ limits: { count: 10 } })
    expect(both(moment({ ...retryDue(NOW + 7), fresh: line(5) }))).toEqual(start('fresh', 'count'))
  })

  it('counts the delay from the first entry, if that is wanted', () => {
    const waiting = moment({ fresh: line(1), lastStart: NOW - 5, freshSince: NOW - 20 })
    expect(batchOf({ ...bounds, delayAfter: 'entry' })(waiting)).toEqual(wait(NOW + 40))
  })
})

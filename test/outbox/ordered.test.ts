import { describe, expect, it } from 'vitest'
import { retryable } from '../../src/core/failure.ts'
import { delivered } from '../../src/core/outcome.ts'
import { memoryOutbox, type Entry, type LeaseLimits, type Outbox } from '../../src/outbox/index.ts'
import { ordered } from '../../src/outbox/ordered.ts'

const keyOf = (item: string): string | undefined => (item.startsWith('-') ? undefined : item[0])

const setUp = (maxBehind = 100, failing = 0) => {
  const asked: LeaseLimits[] = []
  const inner = memoryOutbox<string>()
  const leaseInner: typeof inner.lease = async (now, limits) => {
    if (asked.push(limits) === failing) throw new Error('planted')
    return inner.lease(now, limits)
  }
  const outbox = ordered({ ...inner, lease: leaseInner }, keyOf, () => undefined, maxBehind)
  const lease = async (count: number, retries = count) => outbox.lease(0, { count, retries })
  const end = (entry: Entry<string> | undefined) =>
    entry && outbox.ack([{ entry, outcome: delivered(entry.item, 1, { sink: 's' }) }])
  const progress = { attempts: 1, lastFailure: retryable('x') }
  const retry = (entry: Entry<string> | undefined) =>
    entry && outbox.nack([{ entry: { ...entry, progress }, due: 0 }])
  return { outbox, asked, lease, end, retry }
}
const names = (entries: ReadonlyArray<Entry<string>>): string => entries.map(({ item }) => item).join(' ')

describe('ordered', () => {
  it('leases retries first, and no more than asked for', async () => {
    const { outbox, lease, end, retry } = setUp()
    await outbox.enqueue(['a1', 'a2', 'b1', 'b2', 'c1'])
    const [a1, b1, c1] = await lease(3)
    for (const entry of [b1, c1]) await retry(entry)
    await end(a1)
    const leased = [await lease(1), await lease(1, 0), await lease(2, 0), await lease(9)]
    expect(leased.map(names)).toEqual(['b1', 'a2', '', 'c1'])
  })

  it('leases at once what has no key or a free one, and hands back the rest in order', async () => {
    const { outbox, lease, retry } = setUp()
    await outbox.enqueue(['a1', 'a2', '-1', 'b1', '-2', 'a3', 'b2'])
    const [a1] = await lease(2)
    expect(names(await lease(9))).toBe('b1 -2')
    await Promise.all([retry(a1), outbox.enqueue(['c1'])])
    expect([names(await outbox.takeRemaining()), outbox.stats().waiting]).toEqual(['a1 a2 a3 b2 c1', 3])
  })

  it('leases only retries while it holds as many as it may', async () => {
    const { outbox, lease, end, retry, asked } = setUp(2)
    await outbox.enqueue(['a1', 'a2', 'a3', 'a4', 'b1'])
    const [a1] = await lease(1)
    expect(names(await lease(1, 0))).toBe('')
    expect(outbox.nextDue()).toBeUndefined()
    await retry(a1)
    expect(outbox.nextDue()).toBe(0)
    const again = await lease(1)
    expect(names(again)).toBe('a1')
    expect(asked.at(-1)).toMatchObject({ retriesOnly: true })
    await end(again[0])
    expect(names(await lease(2))).toBe('a2 b1')
  })

  it('hands out a retry after a lease that failed behind it', async () => {
    const { outbox, lease, retry } = setUp(2, 3)
    await outbox.enqueue(['a1'])
    await retry((await lease(1))[0])
    await outbox.enqueue(['a2', 'a3', 'a4'])
    await expect(lease(2)).rejects.toThrow('planted')
    expect([outbox.nextDue(), names(await lease(2))]).toEqual([0, 'a1'])
  })

  it('knows what waits for a retry since an earlier process', async () => {
    const inner = memoryOutbox<string>()
    await inner.enqueue(['a1', 'a2', '-1'])
    const retries = await inner.lease(0, { count: 1, retries: 0 })
    await inner.nack(retries.map((entry) => ({ entry, due: 10 })))
    const both = () => [...retries, ...retries.map((entry) => ({ ...entry, id: '9' }))]
    const after = ordered({ ...inner, keeps: () => true, retries: both }, keyOf, () => undefined)
    const lease = async (at: number) => names(await after.lease(at, { count: 9, retries: 9 }))
    expect([await lease(9), await lease(10), retries.map(after.keeps)]).toEqual(['-1', 'a1', [true]])
    await after.ack(retries.map((entry) => ({ entry, outcome: delivered('a1', 2, { sink: 's' }) })))
    expect(await lease(11)).toBe('a2')
  })

  it('has all that the outbox inside it has', () => {
    const more = Object.fromEntries(['opened', 'watch', 'allEnded', 'enqueueIn'].map((key) => [key, String]))
    const inner = { ...memoryOutbox<string>(), ...more } as Outbox<string>
    const all = Object.keys(inner).map((key) => [key, expect.anything() as unknown])
    expect(ordered(inner, keyOf, String)).toEqual(Object.fromEntries(all))
  })

  it('needs few leases for many items behind one, and leases no more retries in them', async () => {
    const { outbox, lease, retry, asked } = setUp(100_000)
    await outbox.enqueue(['c', 'd', ...Array.from({ length: 5_000 }, (_, n) => `a${String(n)}`), 'b'])
    for (const entry of await lease(2)) await retry(entry)
    expect(names(await lease(10, 1))).toBe('c a0 b')
    expect(asked.length).toBeLessThan(10)
  })
})

import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { retryable, sink, withConcurrency, type Verdict } from '../../src/index.ts'
import { memoryOutbox, type Outbox } from '../../src/outbox/index.ts'
import { exponential } from '../../src/policy/index.ts'
import { closeRelay } from '../../src/outbox/close.ts'
import { relay } from '../../src/outbox/relay.ts'
import { one } from '../../src/outbox/take.ts'
import { scriptedSink, virtualClock, type Reply, type VirtualClock } from '../../src/testing/index.ts'
import { parts } from '../support/parts.ts'

const yes: Verdict = right({ sink: 's' })
const busy: Verdict = left(retryable('busy'))
const ended = (): void => undefined

describe('closeRelay', () => {
  const open = (play: Reply, of?: (clock: VirtualClock) => Outbox<string>) => {
    const clock = virtualClock()
    const sink = scriptedSink<string>({ clock, reply: () => play })
    const given = { sink, outbox: of?.(clock) ?? memoryOutbox(), retry: exponential({ base: 1_000 }), clock }
    const work = relay<string>({ ...given, ended, random: () => 0, shape: one(10) })
    void work.offer('a')
    const close = (timeout: number, isExit = false): { result: unknown; at: number } => {
      const seen: { result: unknown; at: number } = { result: undefined, at: NaN }
      work.stopAccepting()
      const closed = closeRelay(work, timeout, 5_000, () => undefined, isExit)
      void closed.then((result) => Object.assign(seen, { result, at: clock.monotonic() }))
      return seen
    }
    return { clock, sink, close }
  }

  it('retries what is due in time, and hands back at once what is not', async () => {
    const { clock, sink, close } = open({ verdict: busy })
    const seen = close(10_000)
    await clock.advance(60_000)
    expect(sink.calls.map(({ startedAt }) => startedAt)).toEqual([0, 1_000, 3_000, 7_000])
    const result = { totals: { abandoned: 1, waiting: 0 }, abandoned: ['a'] }
    expect(seen).toMatchObject({ at: 7_000, result })
  })

  it('sends what is due since the machine slept', async () => {
    const { clock, sink, close } = open({ verdict: busy })
    await clock.settle()
    clock.wall(3_600_000)
    close(10_000)
    await clock.settle()
    expect(sink.calls.map(({ startedAt }) => startedAt)).toEqual([0, 0])
  })

  it('lets what runs after its verdict go on for the time of one attempt', async () => {
    const { clock, close } = open({ verdict: yes, after: 100, rest: 60_000 })
    const seen = close(30_000)
    await clock.advance(60_000)
    expect(seen).toMatchObject({ at: 6_100, result: { totals: { delivered: 1, waiting: 0 }, abandoned: [] } })
    expect(clock.pending()).toBe(0)
  })

  it('starts nothing more when what a shared store held has ended, whatever others add', async () => {
    const { clock, sink, close } = open({ verdict: yes, after: 70 }, (clock) => {
      const inner = memoryOutbox<string>()
      const enqueue = async (all: ReadonlyArray<string>) => clock.sleep(2_000).then(() => inner.enqueue(all))
      const allEnded = () => clock.sleep(1_000)
      const watch = (look: () => void) => {
        const add = () => (inner.enqueue(['b']), look(), clock.schedule(50, add))
        return add()
      }
      return { ...inner, keeps: () => true, allEnded, enqueue, watch, takeRemaining: () => [] }
    })
    const seen = close(10_000)
    await clock.advance(20_000)
    expect(seen).toMatchObject({ at: 3_020, result: { abandoned: [] } })
    expect(sink.calls.map(({ startedAt }) => startedAt).at(-1)).toBeLessThan(3_001)
  })

  it('starts nothing more while it waits for what runs, and waits less at the exit', async () => {
    for (const isExit of [false, true]) {
      const { clock, sink, close } = open({ verdict: busy, after: 9_000, rest: 60_000 })
      const seen = close(10_000, isExit)
      // The retry is due at 10,000.
      await clock.advance(60_000)
      expect([seen.at, sink.calls.length]).toEqual([isExit ? 9_500 : 10_500, 1])
    }
  })
})

it.each(['client', 'destination'] as const)('a %s starts nothing of the turn of its close', async (kind) => {
  const asked: unknown[] = []
  const target = () => sink('s', async (item: unknown) => asked.push(item))
  for (const timeout of [0, 500]) {
    const { call, close } = parts[kind]({ target, ended })
    void call('m1')
    const [{ totals, abandoned }] = await Promise.all([close({ timeout }), close()])
    expect([totals, abandoned.length, asked]).toMatchObject([{ accepted: 1, abandoned: 1 }, 1, []])
  }
  const other = parts[kind]({ target, ended })
  void other.call('m2')
  const closed = await Promise.all([other.close(), other.close({ timeout: 0 })])
  expect(closed).toMatchObject([{ totals: { delivered: 1 } }, {}])
})

it.each(['client', 'collector'] as const)('a layer starts nothing at the end of a %s', async (kind) => {
  const clock = virtualClock()
  const target = <A>() => scriptedSink<A>({ clock, reply: () => ({ verdict: yes, after: 300 }) })
  const layer = withConcurrency({ concurrency: 1 })
  const { call, close } = parts[kind]({ clock, target, ended, layer, client: { concurrency: 2 } })
  await Promise.all(['a', 'b'].map(async (id) => call(id)))
  const { totals } = await clock.run<{ totals: unknown }>(close({ timeout: 700 }))
  expect(totals).toMatchObject({ delivered: 1, abandoned: 1 })
})

it.each(['deliver', 'destination', 'client', 'collector'] as const)(
  'the rest of a %s over a shared store is that of what is in it, whatever others add',
  async (part) => {
    const [clock, times] = [virtualClock(), Array<number>()]
    const store = <A>(): Outbox<A> => {
      const inner = memoryOutbox<A>()
      const enqueue = async (items: ReadonlyArray<A>) => clock.sleep(5).then(() => inner.enqueue(items))
      const allEnded = () => (times.push(clock.monotonic()), clock.sleep(50))
      return { ...inner, keeps: () => true, watch: () => () => undefined, enqueue, allEnded }
    }
    // Its item waits for a retry, as one that another process added.
    const target = <A>() => scriptedSink<A>({ clock, reply: () => ({ verdict: busy }) })
    const retry = exponential({ base: 1_000_000 })
    const { call, rest } = parts[part]({ clock, random: () => 1, retry, target, store, ended })
    await clock.run(Promise.resolve(call('a')).then(async () => rest()))
    expect([...times, clock.monotonic()]).toEqual([5, 55])
  },
)

import { right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { ordered } from '../../src/outbox/ordered.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import { relay } from '../../src/outbox/relay.ts'
import { exponential } from '../../src/policy/retryPolicy.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { disk, survivingOutbox } from './survivingOutbox.ts'

const ignore = (): void => undefined
const first = (item: string): unknown => item.charAt(0)

const world = (outbox: (clock: ReturnType<typeof virtualClock>) => Outbox<string>) => {
  const clock = virtualClock()
  const log: string[] = []
  const sink = scriptedSink<string>({ clock, reply: () => ({ verdict: right({ sink: 's' }), after: 10 }) })
  const work = relay<string>({
    sink,
    outbox: outbox(clock),
    retry: exponential(),
    clock,
    random: () => 0,
    maxInFlight: 100,
    ended: ({ item }) => log.push(item),
  })
  return { clock, log, sink, work }
}

describe('inOrder', () => {
  it('starts the next of a key when the one before it has ended, and other keys at once', () => {
    const { clock, log, sink, work } = world(() =>
      ordered(memoryOutbox<string>(), { keyOf: first, defect: ignore }),
    )
    for (const item of ['a1', 'a2', 'b1', 'a3', 'b2']) void work.offer(item)
    expect(sink.calls.map(({ item }) => item)).toEqual(['a1', 'b1'])
    clock.tick(10)
    expect(sink.calls.map(({ item }) => item)).toEqual(['a1', 'b1', 'a2', 'b2'])
    clock.tick(20)
    expect(log).toEqual(['a1', 'b1', 'a2', 'b2', 'a3'])
    expect(clock.pending()).toBe(0)
  })

  it('keeps the order over a store that answers later', async () => {
    const on = disk<string>()
    const { clock, log, sink, work } = world((time) =>
      ordered(survivingOutbox(on, time, { latency: 5 }), { keyOf: first, defect: ignore }),
    )
    for (const item of ['a1', 'a2', 'a3', 'b1']) void work.offer(item)
    await clock.advance(1_000)
    expect(log).toEqual(['a1', 'b1', 'a2', 'a3'])
    expect(sink.calls.map(({ startedAt }) => startedAt)).toEqual([5, 5, 15, 25])
    expect(on.entries.size).toBe(0)
  })

  it('finds the one free key behind very many of a busy one', () => {
    const stored = memoryOutbox<string>()
    for (let n = 0; n < 50_000; n++) void stored.append('a')
    void stored.append('b')
    const { sink } = world(() => ordered(stored, { keyOf: first, defect: ignore }))
    expect(sink.calls.map(({ item }) => item)).toEqual(['a', 'b'])
  })

  it('tells what the key threw, and lets that item wait for nobody', () => {
    const defects: unknown[] = []
    const keyOf = (): never => {
      throw new Error('no key')
    }
    const { sink, work } = world(() =>
      ordered(memoryOutbox<string>(), { keyOf, defect: (error) => defects.push(error) }),
    )
    for (const item of ['a1', 'a2']) void work.offer(item)
    expect(sink.calls).toHaveLength(2)
    expect(defects).toHaveLength(2)
  })
})

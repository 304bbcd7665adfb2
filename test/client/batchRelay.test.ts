import { isRight } from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { withRateLimit } from '../../src/index.ts'
import { exponential } from '../../src/policy/index.ts'
import { maxHeldBytes } from '../../src/event/payload.ts'
import { busy, event, many, open, turn, yes, type World } from './virtual.ts'
import { forAllAsync } from '../support/check.ts'

const track = async ({ client }: World, ...ids: ReadonlyArray<string>): Promise<void> => {
  for (const id of ids) {
    expect(isRight(client.track(event(id)))).toBe(true)
    await turn()
  }
}

const causes = ({ sink }: World): ReadonlyArray<string> => sink.calls.map(({ item }) => item.closedBy)

describe('how a client batches', () => {
  it('15: the count closes a batch at once, and the rest leaves when the time since that flush is over', async () => {
    const world = open({ flushAt: 3, flushAfter: 5_000 })
    await track(world, ...many(5))
    world.clock.tick(3_000)
    // It resets nothing (U16).
    await track(world, 'late')
    world.clock.tick(7_000)
    expect(world.requests()).toEqual(['0 m0,m1,m2', '3000 m3,m4,late'])
    expect(causes(world)).toEqual(['count', 'count'])
  })

  it('15: the time counts from the last flush: after a longer pause a message leaves at once, the next ones wait', async () => {
    const world = open()
    world.clock.tick(7_000)
    await track(world, 'a', 'b')
    world.clock.tick(5_000)
    expect(world.requests()).toEqual(['7000 a', '12000 b'])
    expect(causes(world)).toEqual(['delay', 'delay'])
  })

  it('15: a retry is no flush: new messages do not wait for those that are tried again', async () => {
    const retry = exponential({ base: 3_000, factor: 1 })
    const world = open({ concurrency: 2, retry }, ({ members: [first] }) => ({
      verdict: first?.id === 'a' ? busy : yes,
    }))
    await track(world, 'a')
    world.clock.tick(6_000)
    await track(world, 'b')
    world.clock.tick(5_000)
    expect(world.requests()).toEqual(['5000 a', '8000 a', '10000 b', '11000 a'])
  })

  it('17: nineteen and then silence are one request after the delay; nothing is no request, and no timer', async () => {
    const world = open()
    expect(world.clock.pending()).toBe(0)
    world.clock.tick(60_000)
    expect(world.requests()).toEqual([])
    const other = open()
    await track(other, ...many(19))
    other.clock.tick(5_000)
    expect(other.requests()).toEqual([`5000 ${many(19).join()}`])
    expect(other.clock.pending()).toBe(0)
  })

  it('18: a body keeps its bytes, frame and commas counted, and what would break them opens the next', async () => {
    const pad = (n: number) => ({ ...event('m'), properties: { pad: 'x'.repeat(n) } })
    const probe = open()
    probe.client.track(pad(0))
    const empty = probe.client.stats().bytes - maxHeldBytes(0)
    const frame = 48
    const exact = open({ maxBatchBytes: frame + 2 * empty + 1 + 20, maxMessageBytes: empty + 20 })
    for (const n of [0, 20, 0, 20, 1]) exact.client.track(pad(n))
    await turn()
    const full = [2, frame + 2 * empty + 1 + 20]
    expect(exact.sink.calls.map(({ item }) => [item.members.length, item.byteLength])).toEqual([full, full])
    const tight = open({ maxBatchBytes: frame + 2 * empty + 1 + 19, maxMessageBytes: empty + 20 - 1 })
    for (const n of [0, 19, 1, 19, 1]) tight.client.track(pad(n))
    await turn()
    expect(tight.sink.calls.map(({ item }) => item.closedBy)).toEqual(['bytes', 'bytes', 'bytes'])
    tight.clock.tick(5_000)
    expect(tight.sink.calls.map(({ item }) => item.members.length)).toEqual([2, 1, 1, 1])
  })

  it('the smaller of the two names for the size counts', async () => {
    for (const options of [{ size: 2 }, { flushAt: 2 }, { size: 2, flushAt: 9 }, { size: 9, flushAt: 2 }]) {
      const world = open(options)
      await track(world, 'a', 'b', 'c')
      expect(world.requests()).toEqual(['0 a,b'])
    }
  })
})

it('counts no batch and no request that a layer held back', async () => {
  const { client, clock } = open({ size: 1, layer: withRateLimit({ perSecond: 1, burst: 1 }) })
  for (const id of ['a', 'b', 'c']) client.track(event(id))
  await clock.run(client.flush())
  expect(client.stats()).toMatchObject({ delivered: 3, batches: 3, attempts: 3, requests: 3 })
})

it('opens a second request only for a full batch or a flush, and goes back to one when idle', () =>
  forAllAsync(
    fc.record({ size: fc.integer({ min: 2, max: 4 }), concurrency: fc.integer({ min: 2, max: 5 }) }),
    fc.array(fc.tuple(fc.nat({ max: 9 }), fc.nat({ max: 400 }), fc.boolean()), { maxLength: 20 }),
    fc.array(fc.nat({ max: 1_000 }), { minLength: 1, maxLength: 5 }),
    async ({ size, concurrency }, bursts, times) => {
      const flushAfter = 50
      const others: number[] = []
      const world: World = open({ size, concurrency, flushAfter }, (_, __, index) => {
        others.push(world.sink.running() - 1)
        return { verdict: yes, after: times[index % times.length] ?? 0 }
      })
      let sent = 0
      for (const [count, pause, isFlushed] of bursts) {
        for (let n = 0; n < count; n++) world.client.track(event(`m${String(sent++)}`))
        await turn()
        if (isFlushed) void world.client.flush()
        await turn()
        const running = world.sink.running()
        const started = world.sink.calls.reduce((sum, { item }) => sum + item.members.length, 0)
        // A backlog uses all places; less than a full batch is none.
        expect(sent - started < size || running === concurrency).toBe(true)
        expect(running).toBeLessThanOrEqual(concurrency)
        world.clock.tick(pause)
        await turn()
      }
      for (const [index, { item }] of world.sink.calls.entries())
        if ((others[index] ?? 0) > 0) expect(['count', 'flush']).toContain(item.closedBy)
      // A message alone: one request at a time again, after the delay or at the end of the one before.
      world.clock.tick(10_000)
      await turn()
      const before = world.sink.calls.length
      for (const id of ['x', 'y']) await track(world, id)
      world.clock.tick(flushAfter)
      expect(world.sink.running()).toBeLessThanOrEqual(1)
      world.clock.tick(10_000)
      expect(world.sink.calls.length).toBeGreaterThan(before)
      expect(world.client.stats()).toMatchObject({ accepted: sent + 2, delivered: sent + 2, waiting: 0 })
    },
  ))

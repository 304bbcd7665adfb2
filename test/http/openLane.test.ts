import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import type { Fault } from '../../src/testing/faults.ts'
import { post, onEvent, until } from './laneKit.ts'
import { lanesUnderTest } from './lanesUnderTest.ts'

const { receive, laneTo } = lanesUnderTest()

describe('a lane', () => {
  it('tells the verdict at the status line and the end after the drain', async () => {
    const receiver = await receive([{ do: 'headersOnly', code: 200 }])
    const told = onEvent(laneTo(receiver.url))
    await told.decided
    expect(told.events).toMatchObject([{ _tag: 'Right', right: { sink: 'lane', status: 200 } }])
    told.cancel()
    await until(() => receiver.connections() === 0)
    expect(told.events).toHaveLength(1)
  })

  it('uses a connection again', async () => {
    const receiver = await receive([
      { do: 'status', code: 503 },
      { do: 'status', code: 404 },
    ])
    const lane = laneTo(receiver.url)
    for (let i = 0; i < 5; i++) await onEvent(lane).completed
    expect(receiver.received).toHaveLength(5)
    expect(receiver.accepted()).toBe(1)
  })

  it('sends so many at a time, and the others in the order of their coming', async () => {
    let most = 0
    const receiver = await receive(() => {
      most = Math.max(most, receiver.connections())
      return { do: 'status', code: 200, after: 2 }
    })
    const lane = laneTo(receiver.url, { connections: 3 })
    const order: string[] = []
    const all = Array.from({ length: 20 }, (_, i) =>
      onEvent(lane, post(String(i)), () => order.push(String(i))),
    )
    await Promise.all(all.map(({ completed }) => completed))
    expect(most).toBe(3)
    expect(receiver.accepted()).toBe(3)
    expect(
      receiver.received
        .slice(3, 6)
        .map(({ body }) => Number(body))
        .every((i) => i >= 3 && i <= 6),
    ).toBe(true)
    expect(order).toHaveLength(20)
  })

  it('starts nothing at or after the deadline: at once, and from the queue (DE4)', async () => {
    const receiver = await receive([{ do: 'status', code: 200, after: 5 }])
    const clock = virtualClock()
    const lane = laneTo(receiver.url, { connections: 1, clock })
    const late = onEvent(lane, post('{}', clock.now()))
    expect(late.events).toMatchObject([
      { _tag: 'Left', left: { _tag: 'Retryable', reason: 'late' } },
      'complete',
    ])
    const first = onEvent(lane, post('{}', clock.now() + 1))
    const second = onEvent(lane, post('{}', clock.now() + 1_000))
    await receiver.arrived(1)
    clock.tick(1_000)
    await second.completed
    expect(first.events).toMatchObject([{ _tag: 'Right' }, 'complete'])
    expect(second.events).toMatchObject([{ left: { reason: 'late' } }, 'complete'])
    expect(receiver.received).toHaveLength(1)
  })

  it('reads 16 KiB of an answer and keeps the connection; one byte more, and it drops it (webhooks/S26)', async () => {
    const sized = (bytes: number): Fault => ({ do: 'hugeBody', code: 200, bytes })
    const receiver = await receive([sized(16_384), sized(16_384), sized(16_385), sized(1)])
    const lane = laneTo(receiver.url)
    const accepted: number[] = []
    for (let i = 0; i < 4; i++) {
      const told = onEvent(lane)
      await told.completed
      expect(told.events).toMatchObject([{ _tag: 'Right' }, 'complete'])
      accepted.push(receiver.accepted())
    }
    expect(accepted).toEqual([1, 1, 1, 2])
  })

  it('fails thousands that wait and cannot even be written, without a deep stack', async () => {
    const receiver = await receive([{ do: 'silence' }])
    const lane = laneTo(receiver.url, { connections: 1 })
    const first = onEvent(lane)
    const bad = { ...post(), headers: ['no header name', '1'] }
    const rest = Array.from({ length: 5_000 }, () => onEvent(lane, bad))
    await receiver.arrived(1)
    first.cancel()
    for (const { events } of rest)
      expect(events).toMatchObject([{ left: { _tag: 'Refused', reason: 'badRequest' } }, 'complete'])
    expect(receiver.received).toHaveLength(1)
  })

  it('a receiver that throws harms no other', async () => {
    const receiver = await receive()
    const lane = laneTo(receiver.url, { connections: 1 })
    const thrown: unknown[] = []
    const before = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException').on('uncaughtException', (error) => thrown.push(error))
    lane.post(post(), {
      next: () => {
        throw new Error('next')
      },
      complete: () => {
        throw new Error('complete')
      },
    })
    const told = onEvent(lane)
    await told.completed
    await until(() => thrown.length === 2)
    process.removeAllListeners('uncaughtException')
    for (const listener of before) process.on('uncaughtException', listener)
    expect(thrown.map(String)).toEqual(['Error: next', 'Error: complete'])
    expect(told.events).toMatchObject([{ _tag: 'Right' }, 'complete'])
    expect(receiver.accepted()).toBe(1)
  })
})

describe('closing a lane', () => {
  it('lets what runs and waits end, and leaves no socket', async () => {
    const receiver = await receive([{ do: 'status', code: 200, after: 10 }])
    const lane = laneTo(receiver.url, { connections: 1 })
    const all = [onEvent(lane), onEvent(lane)]
    await lane.close(10_000)()
    expect(all.map(({ events }) => events)).toMatchObject([
      [{ _tag: 'Right' }, 'complete'],
      [{ _tag: 'Right' }, 'complete'],
    ])
    await until(() => receiver.connections() === 0)
  })

  it('cuts off at its limit, on its clock; what was cut off may be retried', async () => {
    const receiver = await receive([{ do: 'silence' }])
    const clock = virtualClock()
    const lane = laneTo(receiver.url, { connections: 1, clock })
    const all = [onEvent(lane), onEvent(lane)]
    await receiver.arrived(1)
    let closed = 0
    const closing = [lane.close(30_000)(), lane.close(20_000)()].map((each) => each.then(() => closed++))
    clock.tick(19_999)
    await clock.settle()
    expect([closed, ...all.flatMap(({ events }) => events)]).toEqual([0])
    clock.tick(1)
    await Promise.all(closing)
    for (const { events } of all)
      expect(events).toMatchObject([
        { left: { _tag: 'Retryable', reason: 'network', detail: 'the sink was closed' } },
        'complete',
      ])
    expect(clock.pending()).toBe(0)
    await lane.close(0)()
  })

  it('takes nothing afterwards', async () => {
    const receiver = await receive()
    const lane = laneTo(receiver.url)
    await lane.close(1_000)()
    expect(onEvent(lane).events).toMatchObject([
      { left: { _tag: 'Retryable', reason: 'network' } },
      'complete',
    ])
    expect(receiver.accepted()).toBe(0)
  })
})

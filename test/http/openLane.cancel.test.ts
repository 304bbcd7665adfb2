import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { mute, post, socketsOpen, onEvent, until } from './laneKit.ts'
import { lanesUnderTest } from './lanesUnderTest.ts'

const { receive, laneTo } = lanesUnderTest()

describe('cancelling a POST leaves no socket, in whatever phase', () => {
  it('while it waits for a connection: it is never sent, and the next one is', async () => {
    const receiver = await receive([{ do: 'status', code: 200, after: 5 }])
    const lane = laneTo(receiver.url, { connections: 1 })
    const [first, second, third] = ['a', 'b', 'c'].map((body) => onEvent(lane, post(body)))
    second?.cancel()
    await first?.completed
    await third?.completed
    expect(receiver.received.map(({ body }) => String(body))).toEqual(['a', 'c'])
    expect(second?.events).toEqual([])
  })

  it('during the look-up of the name', async () => {
    const lane = laneTo('http://a.example/', { lookup: () => {}, clock: virtualClock() })
    const told = onEvent(lane)
    told.cancel()
    await until(() => socketsOpen() === 0)
    expect(told.events).toEqual([])
  })

  it('during TLS', async () => {
    const server = await mute()
    // On a clock that stands still no limit can close the connection in place of the cancel.
    const told = onEvent(laneTo(`https://127.0.0.1:${server.port}/`, { clock: virtualClock() }))
    await until(() => server.sockets.size === 1)
    told.cancel()
    await until(() => server.sockets.size === 0)
    expect(told.events).toEqual([])
    await server.close()
  })

  it('while no answer comes', async () => {
    const receiver = await receive([{ do: 'silence' }])
    const told = onEvent(laneTo(receiver.url))
    await receiver.arrived(1)
    told.cancel()
    await until(() => receiver.connections() === 0)
    expect(told.events).toEqual([])
    expect(receiver.accepted()).toBe(1)
  })

  it('while the body drips (webhooks/S25)', async () => {
    const receiver = await receive([{ do: 'slowBody', code: 200, bytesPerSecond: 200 }])
    const told = onEvent(laneTo(receiver.url))
    await told.decided
    told.cancel()
    await until(() => receiver.connections() === 0)
    expect(told.events).toHaveLength(1)
  })

  it('at its verdict, from inside', async () => {
    const receiver = await receive([{ do: 'headersOnly', code: 200 }])
    const lane = laneTo(receiver.url)
    const told = onEvent(lane, post(), () => {
      told.cancel()
    })
    await told.decided
    await until(() => receiver.connections() === 0)
    expect(told.events).toHaveLength(1)
  })

  it('does nothing after the end: the connection lives on', async () => {
    const receiver = await receive()
    const lane = laneTo(receiver.url)
    const first = onEvent(lane)
    await first.completed
    const second = onEvent(lane)
    first.cancel()
    await second.completed
    expect(second.events).toMatchObject([{ _tag: 'Right' }, 'complete'])
    expect(receiver.accepted()).toBe(1)
  })

  it('opens no new connection for the one that was cancelled, and gives its place to the next', async () => {
    const receiver = await receive([{ do: 'silence' }])
    const lane = laneTo(receiver.url, { connections: 1 })
    const first = onEvent(lane)
    const second = onEvent(lane)
    await receiver.arrived(1)
    first.cancel()
    await second.completed
    expect(receiver.received).toHaveLength(2)
    expect(receiver.accepted()).toBe(2)
  })
})

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { Verdict } from '../../src/core/failure.ts'
import type { FaultScript } from '../../src/testing/faults.ts'
import { loopbackReceiver, type Receiver } from '../../src/testing/loopbackReceiver.ts'
import { type Lane, openLane } from '../../src/http/lane.ts'
import { post, socketsOpen, until } from './laneKit.ts'

const cleaners: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const clean of cleaners.splice(0).reverse()) await clean()
  await until(() => socketsOpen() === 0)
})

const receive = async (script: FaultScript): Promise<Receiver> => {
  const receiver = await loopbackReceiver(script)
  cleaners.push(receiver.close)
  return receiver
}

const laneTo = (url: string): Lane => {
  const lane = openLane({ name: 'lane', url: new URL(url) })
  cleaners.push(lane.close(0))
  return lane
}

/** What one POST told: verdict tags, bytes of body, and the end. */
const told = (
  lane: Lane,
  mostBody?: number,
  onBody: () => void = () => {},
): Promise<ReadonlyArray<unknown>> =>
  new Promise((resolve) => {
    const events: unknown[] = []
    lane.post(mostBody === undefined ? post() : { ...post(), mostBody }, {
      next: (verdict: Verdict) => events.push(verdict._tag),
      body: (body) => {
        events.push(body.length)
        onBody()
      },
      complete: () => {
        events.push('complete')
        resolve(events)
      },
    })
  })

describe('the body of an answer', () => {
  it('is told before the end if it came whole within what was asked for, else not', async () => {
    const sized = (bytes: number) => ({ do: 'hugeBody', code: 200, bytes }) as const
    const receiver = await receive([
      ...[sized(10), sized(10), sized(100), sized(101), sized(50_000), sized(50_001), sized(0)],
      ...[{ do: 'truncate', code: 200, at: 10 } as const],
    ])
    const lane = laneTo(receiver.url)
    expect(await told(lane)).toEqual(['Right', 'complete'])
    expect(await told(lane, 0)).toEqual(['Right', 'complete'])
    expect(await told(lane, 100)).toEqual(['Right', 100, 'complete'])
    expect(await told(lane, 100)).toEqual(['Right', 'complete'])
    expect(await told(lane, 50_000)).toEqual(['Right', 50_000, 'complete'])
    // So far all on one connection: what is not wanted is drained.
    expect(receiver.accepted()).toBe(1)
    expect(await told(lane, 50_000)).toEqual(['Right', 'complete'])
    expect(await told(lane, 100)).toEqual(['Right', 0, 'complete'])
    expect(await told(lane, 100)).toEqual(['Right', 'complete'])
    expect(receiver.accepted()).toBe(2)
  })

  it('is that of its own request: nothing is left over from the one before', async () => {
    const texts = ['first', 'x'.repeat(200), 'third']
    const server: Server = createServer((_request, response) => {
      const text = texts.shift() ?? ''
      response.write(text.slice(0, 2))
      setImmediate(() => response.end(text.slice(2)))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    cleaners.push(() => new Promise((resolve) => server.close(resolve)))
    // It listens, so it has an address and a port.
    const { port } = server.address() as AddressInfo
    const lane = laneTo(`http://127.0.0.1:${port}/`)
    const bodies: string[] = []
    for (let i = 0; i < 3; i++) {
      await new Promise<void>((resolve) => {
        lane.post(
          { ...post(), mostBody: 100 },
          { next: () => {}, body: (body) => bodies.push(String(body)), complete: resolve },
        )
      })
    }
    expect(bodies).toEqual(['first', 'third'])
  })

  it('a receiver that throws at it hears the end all the same', async () => {
    const receiver = await receive([])
    const lane = laneTo(receiver.url)
    const thrown: unknown[] = []
    const before = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException').on('uncaughtException', (error) => thrown.push(error))
    const events = await told(lane, 100, () => {
      throw new Error('planted')
    })
    await until(() => thrown.length === 1)
    process.removeAllListeners('uncaughtException')
    for (const listener of before) process.on('uncaughtException', listener)
    expect(events).toEqual(['Right', 0, 'complete'])
  })

  it('who cancels when hearing it hears no end, and takes no connection along', async () => {
    const receiver = await receive([])
    const lane = laneTo(receiver.url)
    let ends = 0
    await new Promise<void>((resolve) => {
      const cancel = lane.post(
        { ...post(), mostBody: 100 },
        {
          next: () => {},
          body: () => {
            cancel()
            resolve()
          },
          complete: () => ends++,
        },
      )
    })
    expect(await told(lane, 100)).toEqual(['Right', 0, 'complete'])
    expect([ends, receiver.accepted()]).toEqual([0, 1])
  })
})

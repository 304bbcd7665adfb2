/** Bodies whose pieces are not what a server sends: text, nothing, no end. */
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { uploads } from '../../src/collector/uploads.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { basic, onServer, post } from './mounts.ts'
import { open, track } from './setting.ts'
import type { Setting } from './setting.ts'

let here: Setting | undefined
const start = (...options: Parameters<typeof open>): Setting => (here = open(...options))
afterEach(async () => {
  await here?.collector.close({ timeout: 0 })
  here = undefined
})

const batch = JSON.stringify({
  batch: [track('a', { properties: { text: 'é'.repeat(50_000) } }), track('b')],
})
const small = JSON.stringify({ batch: [track('a', { properties: { text: 'é' } })] })

const streamed = (body: ReadableStream<unknown>, signal?: AbortSignal): Request =>
  new Request('http://x/v1/batch', {
    method: 'POST',
    body,
    headers: { Authorization: basic('wk:') },
    duplex: 'half',
    ...(signal && { signal }),
  } as RequestInit)

const whole = (...pieces: ReadonlyArray<unknown>): Request => {
  const left = [...pieces]
  return streamed(
    new ReadableStream(
      {
        pull: (controller) => {
          if (left.length === 0) controller.close()
          else controller.enqueue(left.shift())
        },
      },
      { highWaterMark: 0 },
    ),
  )
}

describe('a request whose encoding was set before', () => {
  it.each(['utf8', 'latin1', 'base64', 'hex'] as const)('to %s is read all the same', async (coding) => {
    const { collector, outcomes } = start()
    const { url, close } = await onServer((request: IncomingMessage, response) => {
      request.setEncoding(coding)
      collector.listener(request, response)
    })
    expect((await post(`${url}/v1/batch`, small)).status).toBe(200)
    expect((await post(`${url}/v1/batch`, batch)).body).toMatchObject({ okEvents: 1 })
    await close()
    expect(outcomes.map(({ outcome }) => outcome.item.id)).toEqual(['a', 'b'])
    expect(outcomes[0]?.outcome.item.items[0]).toMatchObject({ properties: { text: 'é' } })
  })
})

describe('what throws while a body comes', () => {
  it('is answered, and does not end the process of the host', async () => {
    const clock = virtualClock()
    const told: string[] = []
    let thrown = 0
    const { collector } = start({
      clock: {
        ...clock,
        schedule: (ms, ring) => {
          const cancel = clock.schedule(ms, ring)
          return () => {
            cancel()
            if (thrown++ === 0) throw new Error('a clock that cannot cancel')
          }
        },
      },
      onEvent: ({ _tag }) => told.push(_tag),
    })
    const server = createServer(collector.listener)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    expect((await post(`http://127.0.0.1:${String(port)}/v1/batch`, small)).status).toBe(500)
    expect(thrown).toBeGreaterThan(0)
    expect(told).toContain('Defect')
    await new Promise((resolve) => {
      server.close(resolve)
      server.closeAllConnections()
    })
  })
})

describe('a web request with pieces', () => {
  it.each<[string, unknown]>([
    ['text', 'text'],
    ['an object', {}],
    ['a number', 5],
    ['nothing', undefined],
    ['something with a length', { byteLength: Number.NaN }],
  ])('that are %s is refused, and harms no later one', async (_, piece) => {
    const { collector } = start()
    for (let i = 0; i < 3; i++) {
      const bad = await collector.handle(whole(new TextEncoder().encode(small), piece))
      expect([bad.status, await bad.text()]).toEqual([500, expect.stringContaining('no bytes')])
      expect((await collector.handle(whole(new TextEncoder().encode(small)))).status).toBe(200)
    }
    expect(collector.stats()).toMatchObject({ received: 3, accepted: 3 })
  })

  it.each<[string, Uint8Array, number]>([
    ['with bytes', new Uint8Array(70_000), 413],
    ['empty', new Uint8Array(0), 503],
  ])('that never end (%s) is answered and given up', async (_, piece, status) => {
    const { collector } = start()
    let pulled = 0
    const endless = new Promise<void>((cancelled) => {
      const body = new ReadableStream({
        pull: (controller) => {
          pulled++
          controller.enqueue(piece.slice())
        },
        cancel: () => {
          cancelled()
        },
      })
      void collector.handle(streamed(body)).then((response) => {
        expect(response.status).toBe(status)
      })
    })
    await endless
    expect(pulled).toBeLessThan(10_000)
  })

  it('whose sender gives up keeps no place', async () => {
    const clock = virtualClock()
    const { collector } = start({ clock })
    const gone = new AbortController()
    const answer = collector.handle(streamed(new ReadableStream(), gone.signal))
    await clock.settle()
    expect(clock.pending()).toBe(1)
    gone.abort()
    expect((await answer).status).toBe(503)
    await clock.settle()
    expect(clock.pending()).toBe(0)
  })
})

it('after all bodies, whatever was said of their bytes, there is room for everything again', () => {
  const sizes = fc.oneof(
    fc.nat(50),
    fc.constantFrom(Number.NaN, -5, Infinity, -Infinity, 0.1, undefined as unknown as number),
  )
  fc.assert(
    fc.property(fc.array(fc.array(sizes, { maxLength: 8 }), { minLength: 1, maxLength: 8 }), (bodies) => {
      const all = uploads(virtualClock(), 1_000, 100)
      const begun = bodies.map((pieces) => {
        const upload = all.begin(() => undefined)
        for (const piece of pieces) upload.add(piece)
        return upload
      })
      for (const { end } of begun) end()
      const last = all.begin(() => undefined)
      expect([last.add(100), last.add(1)]).toEqual([true, false])
      last.end()
    }),
    { numRuns: 200 },
  )
})

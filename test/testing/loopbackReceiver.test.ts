import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { request } from 'undici'
import { describe, expect, it } from 'vitest'
import { loopbackReceiver, virtualClock } from '../../src/testing/index.ts'
import type { FaultScript, Misbehaviour } from '../../src/testing/index.ts'
import { throwing } from '../support/check.ts'
import { closedAfterEach, until } from '../support/http.ts'

const { receive: open } = closedAfterEach()

/** What comes back over a raw socket, until the other side ends or `enough` bytes are there. */
const raw = (url: string, enough = Infinity): Promise<{ text: string; error: string | undefined }> =>
  new Promise((resolve) => {
    let text = ''
    let error: string | undefined
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port) })
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}')
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      if (text.length >= enough) socket.destroy()
    })
    socket.on('error', (reason: NodeJS.ErrnoException) => (error = reason.code))
    socket.on('close', () => resolve({ text, error }))
  })

const statusOf = async (url: string): Promise<number | string> => {
  try {
    const { statusCode, body } = await request(url, { method: 'POST', body: '{}' })
    await body.dump()
    return statusCode
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code)
  }
}

describe('a loopback receiver', () => {
  it('records every request, byte for byte', async () => {
    const receiver = await open()
    const body = Buffer.from([0x7b, 0xff, 0xfe, 0x00, 0x7d])
    await fetch(`${receiver.url}a?b=c`, { method: 'POST', headers: { 'X-Key': 'K' }, body })
    const rawHeaders = expect.arrayContaining(['X-Key'])
    const request = { method: 'POST', path: '/a?b=c', headers: { 'x-key': 'K' }, rawHeaders, body }
    expect(receiver.received).toMatchObject([request])
  })

  it('delays on its clock', async () => {
    const clock = virtualClock()
    const receiver = await open([{ do: 'status', code: 200, after: 60_000 }], { clock })
    const answer = statusOf(receiver.url)
    await receiver.arrived(1)
    await until(() => clock.pending() === 1)
    clock.tick(60_000)
    expect(await answer).toBe(200)
    expect(receiver.received[0]?.at).toBe(clock.now() - 60_000)
  })

  it('refuses connections for as long as the script says, at the beginning and in the middle', async () => {
    const clock = virtualClock()
    const again: Misbehaviour = { do: 'refuse', lasting: 10 }
    const middle: FaultScript = [{ do: 'status', code: 201 }, { do: 'refuse' }]
    const receiver = await open([again, again, ...middle, { do: 'status', code: 202 }], { clock })
    const reopened = async (): Promise<number | string> => {
      let status: number | string = 'ECONNREFUSED'
      while (status === 'ECONNREFUSED') status = await statusOf(receiver.url)
      return status
    }
    expect(await statusOf(receiver.url)).toBe('ECONNREFUSED')
    clock.tick(10)
    expect(await statusOf(receiver.url)).toBe('ECONNREFUSED')
    clock.tick(10)
    expect([await reopened(), await statusOf(receiver.url)]).toEqual([201, 'ECONNREFUSED'])
    clock.tick(50)
    expect(await reopened()).toBe(202)
    expect(receiver.received).toHaveLength(2)
  })

  it('plays faults that break the connection, and redirects', async () => {
    const { url } = await open([
      ...[{ do: 'reset' } as const, { do: 'hangUp' } as const],
      ...[7, 99_999].map((at) => ({ do: 'truncate', code: 200, at }) as const),
      { do: 'redirect', to: 'self' },
      { do: 'redirect', to: 'other', code: 302 },
    ])
    expect(await raw(url)).toEqual({ text: '', error: 'ECONNRESET' })
    expect(await raw(url)).toEqual({ text: '', error: undefined })
    expect((await raw(url)).text).toMatch(/content-length: 1000\r\n[^]*\r\n\r\nx{7}$/i)
    expect((await raw(url)).text).toMatch(/\r\n\r\nx{999}$/)
    expect((await raw(url, 1)).text).toMatch(new RegExp(`^HTTP/1.1 307 [^]*location: ${url}redirected`, 'i'))
    expect((await raw(url, 1)).text).toMatch(/^HTTP\/1.1 302 [^]*location: http:\/\/127.0.0.1:9\//i)
  })

  it('plays faults that answer too much', async () => {
    const receiver = await open([
      { do: 'hugeBody', code: 200, bytes: 200_000 },
      { do: 'hugeBody', code: 200 },
      { do: 'hugeHeader', bytes: 9_000 },
      { do: 'gzipBomb', code: 200 },
    ])
    const huge = await request(receiver.url, { method: 'POST' })
    expect((await huge.body.text()).length).toBe(200_000)
    const before = process.memoryUsage().arrayBuffers
    expect((await raw(receiver.url, 5_000_000)).text.length).toBeGreaterThanOrEqual(5_000_000)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100_000_000)
    const header = await request(receiver.url, { method: 'POST' })
    expect(header.headers['x-huge']).toHaveLength(9_000)
    await header.body.dump()
    const bomb = await request(receiver.url, { method: 'POST' })
    const packed = Buffer.from(await bomb.body.arrayBuffer())
    expect(bomb.headers['content-encoding']).toBe('gzip')
    expect([packed.length < 100_000, gunzipSync(packed).length]).toEqual([true, 50_000_000])
  })

  it.each([
    ['throws', throwing('planted'), 'the script failed: planted'],
    ['is misspelt', () => ({ do: 'stauts' }), 'the script failed: it gave no fault: do must be one of'],
    [
      'is async',
      async () => Promise.reject(new Error('oops')),
      'the script failed: it gave no fault: do must be one of',
    ],
  ])('a script that %s is answered 500, and rejects waits and the close', async (_, script, message) => {
    const receiver = await loopbackReceiver(script as never)
    const waits = expect(receiver.arrived(1)).rejects.toThrow(message)
    const { statusCode, body } = await request(receiver.url, { method: 'POST' })
    expect([statusCode, await body.text()]).toEqual([500, expect.stringContaining(message)])
    await waits
    await expect(receiver.arrived(1)).rejects.toThrow(message)
    await expect(receiver.close()).rejects.toThrow(message)
  })

  it('rejects waits and leaves no timer when it is closed during a refusal', async () => {
    const clock = virtualClock()
    const receiver = await open([{ do: 'refuse' }], { clock })
    const waits = expect(receiver.arrived(1)).rejects.toThrow('the receiver was closed')
    await receiver.close()
    await waits
    expect(clock.pending()).toBe(0)
  })
})

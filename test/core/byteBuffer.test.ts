import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import { describe, expect, it, vi } from 'vitest'
import { postTo, type Posting } from '../../src/http/post.ts'
import { signatureOf, verifyRequest } from '../../src/signing/index.ts'
import { onlyAttempt } from '../../src/sink/sink.ts'
import { ndjsonLines } from '../../src/sources/ndjson.ts'
import { basic, open } from '../collector/kit.ts'
import { member } from '../support/http.ts'
import { livingBytes } from '../support/check.ts'

const CHUNKS = 50_000
const ONE_BYTE = Buffer.from(' ')
const headers = { authorization: basic('wk:'), 'x-signature': signatureOf('s', 'another body') }

const begin = async <T extends object>(read: () => T): Promise<T> => {
  const before = await livingBytes()
  const begun = read()
  await new Promise(setImmediate)
  expect((await livingBytes()) - before).toBeLessThan(2_000_000)
  return begun
}

describe('H2 50,000 chunks of one byte take less than 2 MB', () => {
  it.each<[string, (request: Request) => Promise<unknown>]>([
    ['handle', (request) => open().collector.handle(request)],
    ['verifyRequest', (request) => verifyRequest('s', request)],
  ])('in a request of the web to %s', async (_, read) => {
    let count = 0
    let end = (): void => undefined
    const ended = new Promise<void>((resolve) => (end = resolve))
    const body = new ReadableStream({
      pull: async (controller) => {
        if (count++ < CHUNKS) controller.enqueue(new Uint8Array(1))
        else await ended.then(() => controller.close())
      },
    })
    const request = { method: 'POST', body, headers, duplex: 'half' } as const
    const { answer } = await begin(() => ({ answer: read(new Request('http://x/v1/batch', request)) }))
    end()
    await answer
    expect(count).toBeGreaterThan(CHUNKS)
  })

  it('in a request of Node to listener, also while verifyRequest reads one', async () => {
    const { collector } = open()
    for (const read of [
      async (request: IncomingMessage) => collector.listener(request, new ServerResponse(request)),
      (request: IncomingMessage) => verifyRequest('s', request),
    ]) {
      const request = Object.assign(new IncomingMessage(new Socket()), { method: 'POST', url: '/v1/batch' })
      Object.assign(request, { headers })
      const { answer } = await begin(() => {
        const answer = read(request)
        setImmediate(() => {
          for (let i = 0; i < CHUNKS; i++) request.push(ONE_BYTE)
        })
        return { answer }
      })
      request.push(null)
      await answer
    }
    await new Promise(setImmediate)
    expect(collector.stats().answers).toEqual({ 400: 1 })
  })

  it('in an answer that a sink reads', async () => {
    let end = (): void => undefined
    // All that the client uses of a dispatcher.
    const dispatcher = {
      dispatch: (_: unknown, handler: Dispatcher.DispatchHandler) => {
        // All that the client uses of a controller.
        const controller = { abort: () => undefined } as unknown as Dispatcher.DispatchController
        handler.onRequestStart?.(controller, {})
        handler.onResponseStart?.(controller, 200, {}, 'OK')
        for (let i = 0; i < CHUNKS; i++) handler.onResponseData?.(controller, ONE_BYTE)
        end = () => handler.onResponseEnd?.(controller, {})
      },
    } as unknown as Dispatcher
    const client = postTo(new URL('http://x'), [], { dispatcher }, (posting: Posting) => posting)
    const onBody = vi.fn()
    await begin(() => client.deliver({ payload: member('m'), maxBody: 1e6, onBody }, onlyAttempt).subscribe())
    end()
    expect(onBody.mock.lastCall?.[0]).toHaveLength(CHUNKS)
    await client.close({ timeout: 0 })
  })

  it('in a line of NDJSON', async () => {
    const before = await livingBytes()
    const chunks = async function* (): AsyncIterable<Uint8Array> {
      for (let i = 0; i < CHUNKS; i++) yield ONE_BYTE
      expect((await livingBytes()) - before).toBeLessThan(2_000_000)
      yield Buffer.from('{}')
    }
    const lines = []
    for await (const line of ndjsonLines(chunks())) lines.push(line)
    expect(lines).toMatchObject([{ right: { value: {} } }])
  })
})

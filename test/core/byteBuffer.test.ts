import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import { describe, expect, it } from 'vitest'
import { postTo, type Posting } from '../../src/http/post.ts'
import { signatureOf, verifyRequest } from '../../src/signing/index.ts'
import { onlyAttempt } from '../../src/sink/sink.ts'
import { ndjsonLines } from '../../src/sources/ndjson.ts'
import { basic, open } from '../collector/kit.ts'
import { member } from '../support/http.ts'
import { livingBytes } from '../support/check.ts'

const CHUNKS = 50_000
const ONE_BYTE = (): Buffer => Buffer.from(' ')
const headers = { authorization: basic('wk:'), 'x-signature': signatureOf('s', 'another body') }

/** A body that has sent its chunks, and not its end. */
const webRequest = (): { request: Request; count: () => number; end: () => void } => {
  let end = (): void => undefined
  let count = 0
  const ended = new Promise<void>((resolve) => (end = resolve))
  const body = new ReadableStream({
    pull: async (controller) => {
      if (count++ < CHUNKS) controller.enqueue(new Uint8Array(1))
      else await ended.then(() => controller.close())
    },
  })
  return {
    // The types of Node do not know `duplex`.
    request: new Request('http://x/v1/batch', {
      method: 'POST',
      body,
      headers,
      duplex: 'half',
    }),
    count: () => count,
    end: () => end(),
  }
}

const nodeRequest = (): { request: IncomingMessage; push: () => void; end: () => void } => {
  const request = new IncomingMessage(new Socket())
  Object.assign(request, { method: 'POST', url: '/v1/batch', headers })
  return {
    request,
    push: () => {
      for (let i = 0; i < CHUNKS; i++) request.push(ONE_BYTE())
    },
    end: () => void request.push(null),
  }
}

describe('H2 50,000 chunks of one byte take less than 2 MB', () => {
  it('in a request to handle, also while verifyRequest reads one', async () => {
    for (const read of [open().collector.handle, (request: Request) => verifyRequest('s', request)]) {
      const before = await livingBytes()
      const { request, count, end } = webRequest()
      const answer = read(request)
      expect((await livingBytes()) - before).toBeLessThan(2_000_000)
      end()
      await answer
      expect(count()).toBeGreaterThan(CHUNKS)
    }
  })

  it('in a request to listener, also while verifyRequest reads one', async () => {
    const { collector } = open()
    for (const read of [
      async (request: IncomingMessage) => collector.listener(request, new ServerResponse(request)),
      (request: IncomingMessage) => verifyRequest('s', request),
    ]) {
      const before = await livingBytes()
      const { request, push, end } = nodeRequest()
      const answer = read(request)
      await new Promise(setImmediate)
      push()
      expect((await livingBytes()) - before).toBeLessThan(2_000_000)
      end()
      await answer
    }
    await new Promise(setImmediate)
    expect(collector.stats().answers).toEqual({ 400: 1 })
  })

  it('in an answer that a sink reads', async () => {
    const before = await livingBytes()
    let end = (): void => undefined
    // All that the client uses of a dispatcher.
    const dispatcher = {
      dispatch: (_: unknown, handler: Dispatcher.DispatchHandler) => {
        // All that the client uses of a controller.
        const controller = { abort: () => undefined } as unknown as Dispatcher.DispatchController
        handler.onRequestStart?.(controller, {})
        handler.onResponseStart?.(controller, 200, {}, 'OK')
        for (let i = 0; i < CHUNKS; i++) handler.onResponseData?.(controller, ONE_BYTE())
        end = () => handler.onResponseEnd?.(controller, {})
      },
    } as unknown as Dispatcher
    const client = postTo(new URL('http://x'), [], { dispatcher }, (posting: Posting) => posting)
    let size = 0
    const onBody = (body: Buffer): void => {
      size = body.length
    }
    client.deliver({ payload: member('m'), maxBody: 1_000_000, onBody }, onlyAttempt).subscribe()
    expect((await livingBytes()) - before).toBeLessThan(2_000_000)
    end()
    expect(size).toBe(CHUNKS)
    await client.close({ timeout: 0 })
  })

  it('in a line of NDJSON', async () => {
    const before = await livingBytes()
    let living = Infinity
    const chunks = async function* (): AsyncIterable<Uint8Array> {
      for (let i = 0; i < CHUNKS; i++) yield ONE_BYTE()
      living = await livingBytes()
      yield Buffer.from('{}')
    }
    for await (const line of ndjsonLines(chunks())) expect(line).toMatchObject({ right: { value: {} } })
    expect(living - before).toBeLessThan(2_000_000)
  })
})

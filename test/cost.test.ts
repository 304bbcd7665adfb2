/** Cost is bounded by input: no request, answer or body costs more than a small multiple of its bytes. */
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Dispatcher } from 'undici'
import { describe, expect, it, vi } from 'vitest'
import { postTo, type Posting } from '../src/http/post.ts'
import { onlyAttempt } from '../src/sink/sink.ts'
import { secretFrom, sign } from '../src/signing/secret.ts'
import { verifyRequest } from '../src/signing/request.ts'
import { ndjson } from '../src/sources/ndjson.ts'
import type { Message } from '../src/client/message.ts'
import { memoryOutbox } from '../src/outbox/memoryOutbox.ts'
import { busy, event, open as openClient } from './client/virtual.ts'
import { ask, basic, open } from './collector/kit.ts'
import { member } from './support/http.ts'

setFlagsFromString('--expose-gc')
// The flag puts this function into every new context.
const collectGarbage = runInNewContext('gc') as () => void
setFlagsFromString('--no-expose-gc')

/** Bytes that live, after a whole turn of the event loop. */
const livingBytes = async (): Promise<number> => {
  await new Promise((resolve) => setTimeout(resolve, 20))
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const CHUNKS = 50_000
const ONE_BYTE = (): Buffer => Buffer.from(' ')
const headers = { authorization: basic('wk:'), 'x-signature': sign('s', 'another body') }

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

it('a batch of many messages gives other work its turn every 10 ms, one batch at a time', async () => {
  // A millisecond for each look at the machine's clock.
  let time = 0
  const machine = vi.spyOn(performance, 'now').mockImplementation(() => time++)
  const { collector } = open()
  const batch = Array.from({ length: 500 }, (_, at) => ({ type: 'page', userId: 'u', messageId: `m${at}` }))
  let turns = 0
  const count = (): void => {
    turns++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  const answers = await Promise.all([1, 2].map(() => ask(collector, '/v1/batch', { batch })))
  clearImmediate(counting)
  machine.mockRestore()
  expect(answers).toMatchObject([{ status: 200 }, { status: 200 }])
  expect(turns).toBeGreaterThan(80)
})

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
    for await (const line of ndjson(chunks())) expect(line).toMatchObject({ right: { value: {} } })
    expect(living - before).toBeLessThan(2_000_000)
  })
})

const MAX_BATCH = 512_000

/** A body of the largest size: a piece as often as it fits. */
const filled = (piece: string, prefix = '{"batch":[', suffix = ']}'): string => {
  const count = Math.floor((MAX_BATCH - prefix.length - suffix.length + 1) / (piece.length + 1))
  return prefix + Array.from({ length: count }, () => piece).join() + suffix
}

const PAGE = '{"type":"page","userId":"u"}'
const keys = (count: number, value: unknown): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, value])))

describe("H1 a batch's own context and integrations", () => {
  it.each([
    ['context', keys(5_000, 1), 413, 'send fewer'],
    ['integrations', keys(12_000, true), 413, 'send fewer'],
    ['integrations', keys(3_000, true), 413, 'send fewer'],
    ['context', '{"d":{"__proto__":1}}', 400, "the batch's context.d.__proto__ is a key"],
    ['context', `{"d":${'['.repeat(300)}${']'.repeat(300)}}`, 400, 'nested deeper than 256'],
    ['context', `{"note":"${'x'.repeat(200)}"}`, 200, ''],
    ['context', '{"zero":-0}', 200, ''],
  ])('%s %.20s are answered %i', async (key, defaults, status, reason) => {
    const { collector, sink } = open()
    const body = filled(PAGE, `{"${key}":${defaults},"batch":[`)
    const answer = await ask(collector, '/v1/batch', body)
    expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(reason)])
    expect(sink.items().length > 0).toBe(status === 200)
  })

  it('that are large are taken with few messages', async () => {
    const { collector, ids } = open()
    const body = `{"context":${keys(2_000, 1)},"batch":[${PAGE},${PAGE}]}`
    expect((await ask(collector, '/v1/batch', body)).status).toBe(200)
    expect(ids()).toHaveLength(2)
  })
})

it('H8 a fault in JSON is told for texts of at most 32,768 characters', async () => {
  const { collector } = open()
  const reasonOf = async (body: string): Promise<string> => (await ask(collector, '/v1/batch', body)).text()
  expect(await reasonOf('[]'.padEnd(32_768, ','))).toContain('not JSON at character 3')
  expect(await reasonOf('[]'.padEnd(32_769, ','))).toBe('{"ok":false,"reason":"the body is not JSON"}')
})

it('H13 a write key with a NUL behind it is another key, and none at all', async () => {
  const { collector } = open()
  for (const key of ['wk\0', 'wk\0\0', 'wk\u0001']) {
    const byHeader = await ask(collector, '/v1/batch', filled(PAGE), { Authorization: basic(`${key}:`) })
    expect(byHeader.status).toBe(401)
    expect((await ask(collector, '/v1/batch', { writeKey: key, batch: [] }, {})).status).toBe(401)
    expect(secretFrom(key)).toMatchObject({ left: { message: 'must not have a control character' } })
  }
})

it('calls of persisted() that wait cost the same, however many messages wait', async () => {
  const enqueue = (): never => {
    throw new Error('the disk is full')
  }
  const { client } = openClient(
    { outbox: { ...memoryOutbox<Message>(), keeps: () => true, enqueue } },
    () => ({
      verdict: busy,
    }),
  )
  const before = await livingBytes()
  for (let at = 0; at < 2_000; at++) {
    client.track(event(String(at)))
    void client.persisted()
  }
  // 8 bytes for each message that waits would be 16,000,000 more.
  expect((await livingBytes()) - before).toBeLessThan(18_000_000)
  await client.close({ timeout: 0 })
})

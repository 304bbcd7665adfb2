import { once } from 'node:events'
import express from 'express'
import * as fc from 'fast-check'
import type { Either } from 'fp-ts/lib/Either.js'
import { Agent, createServer, request as post, type IncomingMessage, type RequestListener } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, expectTypeOf, it, onTestFinished } from 'vitest'
import { verifyRequest, secretFrom, signatureOf, type NodeRequest } from '../../src/signing/index.ts'
import type { WebRequest, Mismatch, VerifiedRequest } from '../../src/signing/index.ts'
import { listen } from '../support/http.ts'

const text = '{"type":"track","userId":"ü1"}'
const signed = { 'x-signature': signatureOf('s', text) }

type Answer = Either<Mismatch, VerifiedRequest>

const listening = async (listener: RequestListener): Promise<number> => {
  const { port, close } = await listen(createServer(listener))
  onTestFinished(close)
  return port
}

interface Sent {
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly parts?: ReadonlyArray<string | Buffer>
  readonly agent?: Agent
}

/** Sends a body in parts; with more than one it is chunked. */
const send = (port: number, { headers = signed, parts = [text], agent }: Sent): Promise<number> =>
  new Promise((resolve, reject) => {
    const length = parts.length === 1 ? { 'content-length': Buffer.byteLength(parts[0] ?? '') } : {}
    const options = { port, host: '127.0.0.1', method: 'POST', headers: { ...length, ...headers } }
    const outgoing = post(agent === undefined ? options : { ...options, agent }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    outgoing.on('error', reject)
    for (const part of parts) outgoing.write(part)
    outgoing.end()
  })

/** What a receiver finds in one request. */
const received = async (
  sent: Sent,
  options: Parameters<typeof verifyRequest>[2] = {},
  before: (request: IncomingMessage) => Promise<unknown> = () => Promise.resolve(),
): Promise<Answer> => {
  let answer: Answer | undefined
  const port = await listening((request, response) => {
    void before(request).then(async () => {
      answer = await verifyRequest('s', request, options)
      response.end()
    })
  })
  await send(port, sent)
  if (answer === undefined) throw new Error('no answer')
  return answer
}

describe('verifyRequest on a node server', () => {
  it('gives the bytes as they came, joined, also when one character is cut in two', async () => {
    const bytes = Buffer.from(text)
    const cut = bytes.indexOf('ü') + 1
    const answer = await received({ parts: [bytes.subarray(0, cut), bytes.subarray(cut)] })
    expect(answer).toMatchObject({ right: { _tag: 'Verified', secret: 0, text } })
    expect(answer._tag === 'Right' && bytes.equals(answer.right.body)).toBe(true)
  })

  it.each([
    [{}, 'missing'],
    [{ 'x-signature': signatureOf('other', text) }, 'mismatch'],
    [{ 'x-signature': signatureOf('s', text).toUpperCase() }, 'malformed'],
    [{ 'x-signature': [signatureOf('s', text), signatureOf('s', text)] }, 'malformed'],
  ])('answers the headers %j with %s', async (headers, reason) => {
    expect(await received({ headers })).toMatchObject({ left: { reason } })
  })

  it('accepts an empty body', async () => {
    expect(await received({ headers: { 'x-signature': signatureOf('s', '') }, parts: [''] })).toMatchObject({
      right: { text: '' },
    })
  })

  it('refuses a body over the bound, announced or not, and the connection stays good', async () => {
    const seen: string[] = []
    const port = await listening((request, response) => {
      void verifyRequest('s', request, { maxBytes: 100_000 }).then((answer) => {
        seen.push(answer._tag === 'Left' ? answer.left.reason : 'verified')
        response.statusCode = answer._tag === 'Left' ? 413 : 200
        response.end()
      })
    })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const large = 'x'.repeat(70_000)
    expect(await send(port, { parts: [large + large], agent })).toBe(413)
    expect(await send(port, { parts: [large, large, large], agent })).toBe(413)
    expect(await send(port, { agent })).toBe(200)
    expect(seen).toEqual(['tooLarge', 'tooLarge', 'verified'])
    agent.destroy()
  })

  it('takes a body of exactly the bound', async () => {
    const maxBytes = Buffer.byteLength(text)
    expect(await received({}, { maxBytes })).toMatchObject({ right: { text } })
    expect(await received({}, { maxBytes: maxBytes - 1 })).toMatchObject({ left: { reason: 'tooLarge' } })
    expect(await received({}, { maxBytes: NaN })).toMatchObject({ left: { reason: 'tooLarge' } })
  })

  it('says that a sender broke off', async () => {
    let sender: Socket | undefined
    const answer = await new Promise<Answer>((resolve) => {
      void listening((request) => {
        void verifyRequest('s', request).then(resolve)
        sender?.destroy()
      }).then((port) => {
        sender = connect(port, '127.0.0.1')
        sender.write(
          `POST / HTTP/1.1\r\nHost: x\r\nX-Signature: ${'a'.repeat(40)}\r\nContent-Length: 9\r\n\r\n{`,
        )
      })
    })
    expect(answer).toMatchObject({ left: { reason: 'unreadable' } })
  })

  it('says that the body was read before, and what to do', async () => {
    const readAll = async (request: IncomingMessage): Promise<void> => {
      request.resume()
      await once(request, 'end')
    }
    const answer = await received({}, {}, readAll)
    expect(answer).toMatchObject({ left: { reason: 'bodyConsumed' } })
    expect(answer._tag === 'Left' && answer.left.explanation).toMatch(/express\.raw.*verifyParsed/)
  })

  it('refuses text that was decoded before it came here', async () => {
    const decode = (request: IncomingMessage): Promise<void> => {
      request.setEncoding('utf8')
      return Promise.resolve()
    }
    expect(await received({}, {}, decode)).toMatchObject({ left: { reason: 'badBody' } })
  })
})

describe('verifyRequest in Express', () => {
  const answerOf = async (use: ReadonlyArray<express.RequestHandler>): Promise<string> => {
    const app = express()
    let found = ''
    app.post('/', ...use, async (request, response) => {
      const answer = await verifyRequest(['s'], request)
      found = answer._tag === 'Left' ? answer.left.reason : answer.right.text
      response.end()
    })
    const port = await listening(app)
    await send(port, { headers: { ...signed, 'content-type': 'application/json' } })
    return found
  }

  it('reads what no parser has read, and says so behind a parser', async () => {
    expect(await answerOf([])).toBe(text)
    expect(await answerOf([express.json()])).toBe('bodyConsumed')
  })
})

interface Made {
  readonly body?: string | Uint8Array | ReadableStream
  readonly signature?: string | undefined
}

const requestOf = ({ body = text, signature = signatureOf('s', text) }: Made = {}): Request =>
  new Request('http://localhost/', {
    method: 'POST',
    body,
    ...(body instanceof ReadableStream ? { duplex: 'half' as const } : {}),
    headers: { 'x-signature': signature },
  })

const streamOf = (
  parts: ReadonlyArray<Uint8Array>,
  end: (controller: ReadableStreamDefaultController) => void,
) =>
  new ReadableStream({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part)
      end(controller)
    },
  })

const closing = (controller: ReadableStreamDefaultController): void => controller.close()

describe('verifyRequest on a web Request', () => {
  it('gives the bytes as they came, with the verdict', async () => {
    const parts = [...Buffer.from(text)].map((byte) => Uint8Array.of(byte))
    const answer = await verifyRequest(['new', 's'], requestOf({ body: streamOf(parts, closing) }))
    expect(answer).toMatchObject({ right: { _tag: 'Verified', secret: 1, text } })
    expect(answer._tag === 'Right' && Buffer.from(answer.right.body).toString()).toBe(text)
  })

  it('takes a request without a body for an empty one', async () => {
    const request = new Request('http://localhost/', { headers: { 'x-signature': signatureOf('s', '') } })
    expect(await verifyRequest('s', request)).toMatchObject({ right: { text: '' } })
  })

  it('says that the body was read before, or is being read', async () => {
    const used = requestOf()
    await used.text()
    expect(await verifyRequest('s', used)).toMatchObject({ left: { reason: 'bodyConsumed' } })
    const locked = requestOf()
    locked.body?.getReader()
    expect(await verifyRequest('s', locked)).toMatchObject({ left: { reason: 'bodyConsumed' } })
  })

  it('stops reading at the bound', async () => {
    let pulled = 0
    let cancelled = false
    const endless = new ReadableStream({
      pull: (controller) => {
        pulled++
        controller.enqueue(new Uint8Array(65_536))
      },
      cancel: () => {
        cancelled = true
      },
    })
    const answer = await verifyRequest('s', requestOf({ body: endless }), { maxBytes: 200_000 })
    expect(answer).toMatchObject({ left: { reason: 'tooLarge' } })
    expect(pulled).toBeLessThan(8)
    expect(cancelled).toBe(true)
  })

  it('says that a body broke off', async () => {
    const failing = streamOf([Buffer.from('{')], (controller) => controller.error(new Error('gone')))
    expect(await verifyRequest('s', requestOf({ body: failing }))).toMatchObject({
      left: { reason: 'unreadable' },
    })
  })

  it('reads nothing when there is nothing to compare', async () => {
    const request = new Request('http://localhost/', { method: 'POST', body: text })
    expect(await verifyRequest('s', request)).toMatchObject({ left: { reason: 'missing' } })
    expect(await verifyRequest('', requestOf())).toMatchObject({ left: { reason: 'badSecret' } })
    expect(request.bodyUsed).toBe(false)
  })

  it('answers to anything that is no request', async () => {
    await fc.assert(
      fc.asyncProperty(fc.anything({ withNullPrototype: true, withTypedArray: true }), async (value) => {
        const headers = { 'x-signature': signatureOf('s', text) }
        for (const each of [
          value,
          { headers: value, on: value },
          { headers, bodyUsed: value, body: value },
          { headers, on: value },
        ])
          expect((await verifyRequest('s', each as Request))._tag).toBe('Left')
      }),
    )
  })
})

it('takes the requests of Node, Express and the web by their types', () => {
  expectTypeOf<IncomingMessage>().toExtend<NodeRequest>()
  expectTypeOf<express.Request>().toExtend<NodeRequest>()
  expectTypeOf<Request>().toExtend<WebRequest>()
  const secret = secretFrom('s')
  if (secret._tag === 'Right') expectTypeOf(verifyRequest).toBeCallableWith(secret.right, requestOf())
})

import express from 'express'
import * as fc from 'fast-check'
import type { Either } from 'fp-ts/lib/Either.js'
import { Agent, createServer, request as post, type IncomingMessage, type RequestListener } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, expectTypeOf, it, onTestFinished, vi } from 'vitest'
import { verifyRequest, secretFrom, signatureOf, type NodeRequest } from '../../src/signing/index.ts'
import type { WebRequest, Mismatch, VerifiedRequest } from '../../src/signing/index.ts'
import { listen } from '../support/http.ts'
import { forAllAsync } from '../support/check.ts'

const text = '{"type":"track","userId":"ü1"}'
const signature = signatureOf('s', text)
const signed = { 'x-signature': signature }
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

const signedWith = (value: string | string[]): Sent => ({ headers: { 'x-signature': value } })

const send = (port: number, { headers = signed, parts = [text], agent }: Sent): Promise<number> =>
  new Promise((resolve, reject) => {
    const length = parts.length === 1 ? { 'content-length': Buffer.byteLength(parts[0] ?? '') } : {}
    const options = { port, host: '127.0.0.1', method: 'POST', headers: { ...length, ...headers } }
    const outgoing = post(agent === undefined ? options : { ...options, agent }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    outgoing.on('error', reject)
    for (const part of parts) outgoing.write(part)
    outgoing.end()
  })

const received = async (
  sent: Sent,
  options: Parameters<typeof verifyRequest>[2] = {},
  before: (request: IncomingMessage) => unknown = () => undefined,
): Promise<Answer> => {
  let answer: Answer | undefined
  const port = await listening((request, response) => {
    before(request)
    void verifyRequest('s', request, options).then((given) => {
      answer = given
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

  const size = Buffer.byteLength(text)
  it.each<[string, Sent, number | undefined, object]>([
    ['no signature', { headers: {} }, undefined, { reason: 'missing' }],
    ['another secret', signedWith(signatureOf('other', text)), undefined, { reason: 'mismatch' }],
    ['upper case', signedWith(signatureOf('s', text).toUpperCase()), undefined, { reason: 'malformed' }],
    ['two signatures', signedWith([signature, signature]), undefined, { reason: 'malformed' }],
    ['an empty body', { ...signedWith(signatureOf('s', '')), parts: [''] }, undefined, { text: '' }],
    ['a body of exactly the bound', {}, size, { text }],
    ['a body of one byte more', {}, size - 1, { reason: 'tooLarge', status: 413 }],
    ['such a body, not announced', { parts: ['', text] }, size - 1, { reason: 'tooLarge' }],
  ])('answers to %s', async (_, sent, maxBytes, expected) => {
    const answer = await received(sent, maxBytes === undefined ? {} : { maxBytes })
    expect(answer._tag === 'Left' ? answer.left : answer.right).toMatchObject(expected)
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
    expect([await send(port, { agent }), seen]).toEqual([200, ['tooLarge', 'tooLarge', 'verified']])
    agent.destroy()
  })

  it('says that a sender broke off', async () => {
    let sender: Socket | undefined
    const answer = await new Promise<Answer>((resolve) => {
      void listening((request) => {
        void verifyRequest('s', request).then(resolve)
        sender?.destroy()
      }).then((port) => {
        sender = connect(port, '127.0.0.1')
        const head = `POST / HTTP/1.1\r\nHost: x\r\nX-Signature: ${'a'.repeat(40)}\r\nContent-Length: 9`
        sender.write(`${head}\r\n\r\n{`)
      })
    })
    expect(answer).toMatchObject({ left: { reason: 'unreadable', status: 500 } })
  })

  it('refuses text that was decoded before it came here', async () => {
    const decode = (request: IncomingMessage): unknown => request.setEncoding('utf8')
    expect(await received({}, {}, decode)).toMatchObject({ left: { reason: 'badBody' } })
  })
})

it.each<[string, ReadonlyArray<express.RequestHandler>, object]>([
  ['reads what no parser has read', [], { right: { text } }],
  [
    'says that a parser has read the body, and what to do',
    [express.json()],
    { left: { reason: 'bodyConsumed', explanation: expect.stringMatching(/express\.raw.*verifyParsed/) } },
  ],
])('verifyRequest in Express %s', async (_, use, expected) => {
  const app = express()
  let answer: Answer | undefined
  app.post('/', ...use, async (request, response) => {
    answer = await verifyRequest(['s'], request)
    response.end()
  })
  await send(await listening(app), { headers: { ...signed, 'content-type': 'application/json' } })
  expect(answer).toMatchObject(expected)
})

const requestOf = ({ body = text as string | ReadableStream, length = '' } = {}): Request =>
  new Request('http://localhost/', {
    method: 'POST',
    body,
    ...(body instanceof ReadableStream ? { duplex: 'half' as const } : {}),
    headers: { ...signed, ...(length !== '' && { 'content-length': length }) },
  })

const streamOf = (parts: ReadonlyArray<Uint8Array>, end: (to: ReadableStreamDefaultController) => void) =>
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
    expect(answer).not.toHaveProperty('right.id')
    expect(answer._tag === 'Right' && Buffer.from(answer.right.body).toString()).toBe(text)
  })

  it('takes a request without a body for an empty one', async () => {
    const request = new Request('http://localhost/', { headers: { 'x-signature': signatureOf('s', '') } })
    expect(await verifyRequest('s', request)).toMatchObject({ right: { text: '' } })
  })

  it('says that the body was read before, or is being read', async () => {
    const used = requestOf()
    await used.text()
    expect(await verifyRequest('s', used)).toMatchObject({ left: { reason: 'bodyConsumed', status: 500 } })
    const locked = requestOf()
    locked.body?.getReader()
    expect(await verifyRequest('s', locked)).toMatchObject({ left: { reason: 'bodyConsumed' } })
  })

  it('stops reading at the bound', async () => {
    const pull = vi.fn((to: ReadableStreamDefaultController) => to.enqueue(new Uint8Array(65_536)))
    const cancel = vi.fn()
    const body = new ReadableStream({ pull, cancel })
    const answer = await verifyRequest('s', requestOf({ body }), { maxBytes: 200_000 })
    expect(answer).toMatchObject({ left: { reason: 'tooLarge' } })
    expect(pull.mock.calls.length).toBeLessThan(8)
    expect(cancel).toHaveBeenCalledOnce()
    const announced = await verifyRequest('s', requestOf({ length: '1048577' }))
    expect(announced).toMatchObject({ left: { reason: 'tooLarge' } })
  })

  it('says that a body broke off', async () => {
    const failing = streamOf([Buffer.from('{')], (controller) => controller.error(new Error('gone')))
    const answer = await verifyRequest('s', requestOf({ body: failing }))
    expect(answer).toMatchObject({ left: { reason: 'unreadable' } })
  })

  it('reads nothing when there is nothing to compare', async () => {
    const request = new Request('http://localhost/', { method: 'POST', body: text })
    expect(await verifyRequest('s', request)).toMatchObject({ left: { reason: 'missing' } })
    for (const secret of ['', null as never])
      expect(await verifyRequest(secret, requestOf())).toMatchObject({ left: { reason: 'badSecret' } })
    expect(request.bodyUsed).toBe(false)
  })

  it('answers to anything that is no request', async () => {
    await forAllAsync(fc.anything({ withNullPrototype: true, withTypedArray: true }), async (value) => {
      const [asNode, asWeb] = [{ on: value }, { bodyUsed: value, body: value }]
      const signedOnes = [asNode, asWeb].map((each) => ({ ...each, headers: signed }))
      for (const each of [value, { headers: value, ...asNode }, ...signedOnes])
        expect((await verifyRequest('s', each as Request))._tag).toBe('Left')
    })
  })
})

it('takes the requests of Node, Express and the web by their types, and a secret', async () => {
  expectTypeOf<IncomingMessage>().toExtend<NodeRequest>()
  expectTypeOf<express.Request>().toExtend<NodeRequest>()
  expectTypeOf<Request>().toExtend<WebRequest>()
  const secret = secretFrom('s')
  expect(secret._tag === 'Right' && (await verifyRequest(secret.right, requestOf()))._tag).toBe('Right')
})

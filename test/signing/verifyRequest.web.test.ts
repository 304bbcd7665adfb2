import * as fc from 'fast-check'
import { describe, expect, expectTypeOf, it } from 'vitest'
import type { WebRequest } from '../../src/signing/request.ts'
import { secretFrom } from '../../src/signing/secret.ts'
import { sign } from '../../src/signing/sign.ts'
import { verifyRequest } from '../../src/signing/request.ts'

const text = '{"type":"track","userId":"ü1"}'

interface Made {
  readonly body?: string | Uint8Array | ReadableStream
  readonly signature?: string | undefined
}

const requestOf = ({ body = text, signature = sign('s', text) }: Made = {}): Request =>
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

const closing = (controller: ReadableStreamDefaultController): void => {
  controller.close()
}

describe('verifyRequest on a web Request', () => {
  it('gives the bytes as they came, with the verdict', async () => {
    const answer = await verifyRequest(['new', 's'], requestOf())
    expect(answer).toMatchObject({ right: { _tag: 'Verified', secret: 1, text } })
    expect(answer._tag === 'Right' && Buffer.from(answer.right.body).toString()).toBe(text)
  })

  it('puts together what comes in pieces', async () => {
    const parts = [...Buffer.from(text)].map((byte) => Uint8Array.of(byte))
    expect(await verifyRequest('s', requestOf({ body: streamOf(parts, closing) }))).toMatchObject({
      right: { text },
    })
  })

  it('takes a request without a body for an empty one', async () => {
    const request = new Request('http://localhost/', { headers: { 'x-signature': sign('s', '') } })
    expect(await verifyRequest('s', request)).toMatchObject({ right: { text: '' } })
  })

  it('says that somebody read the body before, or is reading it', async () => {
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
    const failing = streamOf([Buffer.from('{')], (controller) => {
      controller.error(new Error('gone'))
    })
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

  it('does not let wrong bytes pass for other wrong bytes', async () => {
    const bytes = Uint8Array.of(0x22, 0xff, 0x22)
    const signature = sign('s', bytes)
    expect(await verifyRequest('s', requestOf({ body: bytes, signature }))).toMatchObject({
      right: { secret: 0 },
    })
    const others = Uint8Array.of(0x22, 0xfe, 0x22)
    expect(await verifyRequest('s', requestOf({ body: others, signature }))).toMatchObject({
      left: { reason: 'mismatch' },
    })
  })

  it('answers to anything that is no request', async () => {
    await fc.assert(
      fc.asyncProperty(fc.anything({ withNullPrototype: true, withTypedArray: true }), async (value) => {
        const headers = { 'x-signature': sign('s', text) }
        for (const each of [
          value,
          { headers: value, on: value },
          { headers, bodyUsed: value, body: value },
          { headers, on: value },
        ])
          expect((await verifyRequest('s', each as Request))._tag).toBe('Left')
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('the types', () => {
  it('take what the web gives', () => {
    expectTypeOf<Request>().toExtend<WebRequest>()
    const secret = secretFrom('s')
    if (secret._tag === 'Right') expectTypeOf(verifyRequest).toBeCallableWith(secret.right, requestOf())
  })
})

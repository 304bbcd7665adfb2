import { readFileSync } from 'node:fs'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { expect, test } from 'vitest'
import { encodePayload, WebhookBody, toWebhookBody } from '../../src/event/index.ts'
import { verifyRaw } from '../../src/signing/verify.ts'
import { VECTOR_SECRET, receiverVectors } from '../../src/testing/receiverVectors.ts'

const vectors = receiverVectors(VECTOR_SECRET)

test('the vectors are signed in docs/receivers/vectors.json as they are here: after a change run npm run docs:vectors', () => {
  const file = readFileSync(new URL('../../docs/receivers/vectors.json', import.meta.url), 'utf8')
  expect(file).toBe(`${JSON.stringify({ version: 1, secret: VECTOR_SECRET, vectors }, null, 2)}\n`)
})

test('the vectors are signed as they say, and their bodies are what headrace sends', () => {
  expect(new Set(vectors.map(({ id }) => id)).size).toBe(vectors.length)
  for (const { id, request, expect: expected } of vectors) {
    const { body, headers } = request
    const isRight = expected.status === '2xx' && id !== 'signature/upper-case'
    const verified = verifyRaw(VECTOR_SECRET, body, headers['X-Signature'])
    expect([id, verified._tag]).toEqual([id, isRight ? 'Right' : 'Left'])
    if (['body/unknown-fields', 'body/white-space-around'].includes(id)) continue
    const payload = pipe(
      WebhookBody.decode(JSON.parse(body)),
      E.chainW((event) => encodePayload(id, 0, toWebhookBody(event))),
    )
    expect([id, payload]).toMatchObject([id, { right: { text: body } }])
  }
  expect(Buffer.byteLength(vectors.find(({ id }) => id === 'body/32-kib')?.request.body ?? '')).toBe(32_768)
})

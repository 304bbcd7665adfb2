import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { Event, ParsedEvent } from '../../src/event/event.ts'
import { WebhookBody, toWebhookBody } from '../../src/event/webhookBody.ts'
import { encodePayload } from '../../src/event/payload.ts'
import { faultsOf } from '../../src/event/codecFaults.ts'
import { hostile } from '../fixtures/hostile.ts'

const moment = '2024-02-29T00:00:00.000Z'
const call = (properties: unknown): unknown => ({
  type: 'track',
  userId: 'u',
  event: 'e',
  properties,
  timestamp: moment,
  messageId: 'm',
})
const around = (properties: string): string =>
  `{"version":1,"type":"track","userId":"u","event":"e","properties":${properties},"context":{},"timestamp":"${moment}","messageId":"m"}`

const sent = hostile.filter(({ ours }) => ours !== undefined)
const refused = hostile.filter(({ ours }) => ours === undefined)

describe('the 31 tricky bodies of webhooks part 4', () => {
  it('are all here', () => {
    expect([...new Set(hostile.map(({ row }) => row))]).toEqual(
      Array.from({ length: 31 }, (_, index) => index + 1),
    )
  })

  for (const [how, codec] of [
    ['copied', Event],
    ['owned', ParsedEvent],
  ] as const) {
    it.each(sent.map((each) => [each.row, each.about, each] as const))(
      `${how} %i: %s`,
      (_row, _about, { make, ours }) => {
        const decoded = codec.decode(call(make()))
        if (isLeft(decoded)) throw new Error(JSON.stringify(faultsOf(decoded.left)))
        const payload = encodePayload('m', decoded.right, toWebhookBody(decoded.right))
        if (isLeft(payload)) throw new Error('not encoded')
        const { text, byteLength } = payload.right
        expect(text).toBe(around(ours ?? ''))
        // What makes both ways of verifying agree: a fixed point, and bytes that are the text.
        expect(JSON.stringify(JSON.parse(text))).toBe(text)
        expect(Buffer.from(text).toString('utf8')).toBe(text)
        expect(byteLength).toBe(Buffer.from(text).length)
        expect(isRight(WebhookBody.decode(JSON.parse(text)))).toBe(true)
      },
    )

    it.each(refused.map((each) => [each.row, each.about, each] as const))(
      `${how} %i: %s`,
      (_row, _about, { make, refused: why }) => {
        const decoded = codec.decode(call(make()))
        expect(isLeft(decoded) && faultsOf(decoded.left)).toMatchObject([
          { message: expect.stringMatching(why ?? '') },
        ])
      },
    )
  }
})

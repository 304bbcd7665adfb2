import * as fc from 'fast-check'
import { isRight } from 'fp-ts/lib/Either.js'
import { expect, it, test } from 'vitest'
import { encodePayload, type EventPayload } from '../../src/event/payload.ts'
import { fromText, toText } from '../../src/destination/record.ts'
import type { Event } from '../../src/event/event.ts'
import { toWebhookBody } from '../../src/event/webhookBody.ts'
import { event } from '../arbitraries/event.ts'

const encoded = (each: Event): EventPayload<Event> => {
  const payload = encodePayload(each.messageId, each, toWebhookBody(each), Infinity)
  if (!isRight(payload)) throw new Error('a canonical event can be written')
  return payload.right
}

it('a record gives back the bytes, the id and the event; a payload is plain data', () =>
  fc.assert(
    fc.property(event, (each) => {
      const payload = encoded(each)
      expect(fromText(toText(payload))).toEqual(payload)
      expect(JSON.parse(JSON.stringify(payload))).toEqual(payload)
      expect(structuredClone(payload)).toEqual(payload)
    }),
  ))

it('a record holds no signature', () => {
  const payload = {
    ...encoded({ type: 'delete', userId: 'u1', timestamp: '2024-02-29T12:00:00.000Z', messageId: 'm1' }),
    signature: 'c0ffee',
  }
  expect(toText(payload)).toBe(
    '{"id":"m1"}\n{"type":"delete","userId":"u1","timestamp":"2024-02-29T12:00:00.000Z"}',
  )
})

test.each([
  ['nothing', ''],
  ['no body', '{"id":"m1"}\n'],
  ['no header', '{"type":"delete","userId":"u1","timestamp":"2024-02-29T12:00:00.000Z"}'],
  ['half a body', '{"id":"m1"}\n{"type":"dele'],
  ['another body', '{"id":"m1"}\n{"type":"sold"}'],
  [
    'an id of another type',
    '{"id":7}\n{"type":"delete","userId":"u1","timestamp":"2024-02-29T12:00:00.000Z"}',
  ],
])('refuses a record with %s', (_what, text) => expect(() => fromText(text)).toThrow())

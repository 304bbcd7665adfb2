import { isRight } from 'fp-ts/lib/Either.js'
import { expect, it, test } from 'vitest'
import { checkOptions } from '../../src/core/options.ts'
import type { EventPayload } from '../../src/event/payload.ts'
import { eventEncoder, recordToEvent, toText } from '../../src/destination/record.ts'
import { destinationOptions } from '../../src/destination/settings.ts'
import { callOf, type Event } from '../../src/event/index.ts'
import { anyEvent } from '../../src/testing/laws/events.ts'
import { forAll } from '../support/check.ts'

const BODY = '{"type":"delete","userId":"u1","timestamp":"2024-02-29T12:00:00.000Z"}'
const ignore = (): void => undefined
const options = checkOptions('options', destinationOptions, { maxBodyBytes: 100_000_000 })
const encode = eventEncoder(options, ignore, () => ignore)

const encoded = (each: Event): EventPayload<Event> => {
  const answer = encode(callOf(each))
  if (!isRight(answer)) throw new Error('a canonical event can be written')
  return answer.right.payload
}

it('H3: a payload waits as its text, and gives the event that was sent at each look; a record gives it back', () =>
  forAll(anyEvent, (each) => {
    const payload = encoded(each)
    const [first, second] = [payload.items[0], payload.items[0]]
    expect(first).toEqual(each)
    expect(first).not.toBe(second)
    expect(recordToEvent(toText(payload))).toEqual(payload)
    const { id, text, byteLength } = payload
    const plain = { id, items: [each], text, byteLength }
    expect([JSON.parse(JSON.stringify(payload)), structuredClone(payload)]).toEqual([plain, plain])
  }))

it('a record holds no signature', () => {
  const payload = {
    ...encoded({ type: 'delete', userId: 'u1', timestamp: '2024-02-29T12:00:00.000Z', messageId: 'm1' }),
    signature: 'c0ffee',
  }
  expect(toText(payload)).toBe(`{"id":"m1"}\n${BODY}`)
})

test.each([
  ['nothing', ''],
  ['no body', '{"id":"m1"}\n'],
  ['no header', BODY],
  ['half a body', '{"id":"m1"}\n{"type":"dele'],
  ['another body', '{"id":"m1"}\n{"type":"sold"}'],
  ['an id of another type', `{"id":7}\n${BODY}`],
])('refuses a record with %s', (_what, text) => expect(() => recordToEvent(text)).toThrow())

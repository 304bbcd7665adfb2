import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import { expect, it } from 'vitest'
import { Event, ParsedEvent } from '../../src/event/event.ts'
import { Integrations } from '../../src/event/integrations.ts'
import { Timestamp } from '../../src/event/timestamp.ts'
import { WebhookBody } from '../../src/event/webhookBody.ts'
import { faultsOf } from '../../src/event/codecFaults.ts'
import { isJson } from '../../src/event/json.ts'
import { event } from '../arbitraries/event.ts'
import { SECRET, alive, anyInput } from '../arbitraries/unreadable.ts'

const isTotal = <A>(codec: t.Type<A, unknown>): void => {
  fc.assert(
    fc.property(anyInput, (marked) => {
      codec.is(alive(marked))
      const decoded = codec.decode(alive(marked))
      if (isLeft(decoded)) {
        const faults = faultsOf(decoded.left)
        expect(faults.length).toBeGreaterThan(0)
        expect(JSON.stringify(faults)).not.toContain(SECRET)
      } else expect(isJson(decoded.right)).toBe(true)
    }),
    { numRuns: 1_000 },
  )
}

it('codecs never throw, give faults or plain data, and say nothing of what was thrown', () => {
  isTotal(Event)
  isTotal(WebhookBody)
  isTotal(Integrations)
  isTotal(Timestamp)
})

it('the codec for parsed calls does not throw for anything that JSON.parse gives', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json(),
        event.map((each) => JSON.stringify(each)),
      ),
      (text) => {
        const parsed: unknown = JSON.parse(text)
        const decoded = ParsedEvent.decode(parsed)
        expect(isLeft(decoded) || isJson(decoded.right)).toBe(true)
        expect(ParsedEvent.is(parsed) && isLeft(decoded)).toBe(false)
      },
    ),
    { numRuns: 1_000 },
  )
})

it('what is says yes to is taken in as it is', () => {
  let yes = 0
  fc.assert(
    fc.property(
      fc.oneof(
        event,
        event.map((each) => ({ ...each, userId: undefined })),
      ),
      (each) => {
        if (!Event.is(each)) return
        yes++
        const decoded = Event.decode(each)
        expect(isLeft(decoded) ? undefined : decoded.right).toEqual(each)
      },
    ),
    { numRuns: 1_000 },
  )
  expect(yes).toBeGreaterThan(200)
})

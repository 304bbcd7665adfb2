/** The laws of codecs: those of headrace, and some of io-ts. */
import * as t from 'io-ts'
import { describe, it } from 'vitest'
import { Event, ParsedEvent } from '../../src/event/event.ts'
import { WebhookBody } from '../../src/event/webhookBody.ts'
import { registerLaws } from '../../src/testing/laws/checkLaws.ts'
import { codecLaws } from '../../src/testing/laws/codecLaws.ts'
import { anyEvent } from '../../src/testing/laws/events.ts'
import { forwardedOf } from '../arbitraries/forwarded.ts'

const Order = t.intersection([
  t.strict({ id: t.string, lines: t.array(t.strict({ sku: t.string, count: t.number })) }),
  t.partial({ note: t.union([t.string, t.null]) }),
])

describe('Event', () => registerLaws({ test: it }, codecLaws(Event, { arbitrary: anyEvent })))
describe('ParsedEvent', () => registerLaws({ test: it }, codecLaws(ParsedEvent, { arbitrary: anyEvent })))
describe('WebhookBody', () =>
  registerLaws({ test: it }, codecLaws(WebhookBody, { arbitrary: anyEvent.map(forwardedOf) })))
describe('a codec of io-ts', () => registerLaws({ test: it }, codecLaws(Order)))

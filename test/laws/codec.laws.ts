/** The laws of codecs: those of headrace, and some of io-ts. */
import * as t from 'io-ts'
import { describe, it } from 'vitest'
import { Event, ParsedEvent } from '../../src/event/event.ts'
import { Integrations } from '../../src/event/model.ts'
import { WebhookBody } from '../../src/event/webhookBody.ts'
import { registerLaws } from '../../src/testing/laws/checkLaws.ts'
import { codecLaws } from '../../src/testing/laws/codecLaws.ts'
import { anyEvent, integrations } from '../../src/testing/laws/events.ts'
import type { Law } from '../../src/testing/laws/law.ts'
import { forwardedOf } from '../arbitraries/forwarded.ts'

const Order = t.intersection([
  t.strict({ id: t.string, lines: t.array(t.strict({ sku: t.string, count: t.number })) }),
  t.partial({ note: t.union([t.string, t.null]) }),
])

describe.each<readonly [string, ReadonlyArray<Law>]>([
  ['Event', codecLaws(Event, { arbitrary: anyEvent })],
  ['ParsedEvent', codecLaws(ParsedEvent, { arbitrary: anyEvent })],
  ['WebhookBody', codecLaws(WebhookBody, { arbitrary: anyEvent.map(forwardedOf) })],
  ['Integrations', codecLaws(Integrations, { arbitrary: integrations })],
  ['a codec of io-ts', codecLaws(Order)],
])('%s', (_, laws) => registerLaws({ test: it }, laws))

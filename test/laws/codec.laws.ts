import * as t from 'io-ts'
import { describe, expect, it } from 'vitest'
import { Event, ParsedEvent, Integrations, WebhookBody } from '../../src/event/index.ts'
import { anyEvent, checkLaws, codecLaws, registerLaws, type Law } from '../../src/testing/laws/index.ts'
import { integrations } from '../../src/testing/laws/codecArbitrary.ts'
import { runs } from '../support/runs.ts'
import { forwardedOf } from '../arbitraries/forwarded.ts'

const Order = t.intersection([
  t.strict({ id: t.string, lines: t.array(t.strict({ sku: t.string, count: t.number })) }),
  t.partial({ note: t.union([t.string, t.null]) }),
])

const plain: ReadonlyArray<t.Mixed> = [
  ...[t.string, t.number, t.boolean, t.null, t.Int, t.unknown, t.any, t.UnknownRecord, t.UnknownArray],
  ...[t.keyof({ a: 1, b: 1 }), t.literal('a'), t.union([t.string, t.number, t.null]), t.array(t.unknown)],
  t.refinement(t.string, (text) => text !== '', 'NotEmpty'),
  t.brand(t.number, (n): n is t.Branded<number, { readonly Even: symbol }> => n % 2 === 0, 'Even'),
  ...[t.readonlyArray(t.string), t.record(t.string, t.Int), t.tuple([t.string, t.number])],
]

describe.each(plain.map((codec) => [codec.name, codec] as const))('%s of io-ts', (_, codec) =>
  registerLaws({ test: it }, codecLaws(codec), { runs: runs(0.5) }),
)

const noJson = t.type({ n: t.bigint, f: t.Function, u: t.undefined, any: t.unknown })
describe.each<readonly [string, ReadonlyArray<Law>]>([
  ['a codec without JSON', codecLaws(noJson, { json: false })],
  ['Event', codecLaws(Event, { arbitrary: anyEvent })],
  ['ParsedEvent', codecLaws(ParsedEvent, { arbitrary: anyEvent })],
  ['WebhookBody', codecLaws(WebhookBody, { arbitrary: anyEvent.map(forwardedOf) })],
  ['Integrations', codecLaws(Integrations, { arbitrary: integrations })],
  ['a codec of io-ts', codecLaws(Order)],
])('%s', (_, laws) => registerLaws({ test: it }, laws))

it('an input may have the name of a member of every object', async () => {
  const only = 'codec/never-throws'
  for (const example of ['__proto__', 'toString'])
    expect(await checkLaws(codecLaws(Order), { only, example })).toMatchObject([{ result: 'kept' }])
})

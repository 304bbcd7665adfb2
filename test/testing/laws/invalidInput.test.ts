import * as fc from 'fast-check'
import * as t from 'io-ts'
import { expect, it } from 'vitest'
import { isRecord } from '../../../src/core/json.ts'
import { Event, ParsedEvent, encodePayload, WebhookBody, toWebhookBody } from '../../../src/event/index.ts'
import { kinds } from '../../../src/event/model.ts'
import { invalidBody, invalidCallOf, invalidFor, trackingCallOf } from '../../../src/testing/laws/index.ts'
import type { InvalidInput } from '../../../src/testing/laws/index.ts'
import { decoded, pathsIn } from '../../support/decoded.ts'

const samplesOf = (inputs: fc.Arbitrary<InvalidInput>) => fc.sample(inputs, { numRuns: 1_000, seed: 9 })

/** The places and reasons of 1,000 inputs, each of which the codec refuses there. */
const reached = (codec: t.Mixed, inputs: fc.Arbitrary<InvalidInput>): ReadonlyArray<string> =>
  samplesOf(inputs).map(({ input, path, reason }) => {
    if (reason !== 'too large') expect(pathsIn(codec, input)).toContain(path)
    return `${path.replace(/^shapes(\.\w+|\[".*?"\])/, 'shapes.*').replace(/\[\d\]/, '[]')}: ${reason}`
  })

const Shape = t.union([
  t.type({ kind: t.literal('circle'), radius: t.number }),
  t.type({ kind: t.literal('text'), lines: t.array(t.string), font: t.union([t.string, t.null]) }),
])
const Drawing = t.intersection([
  t.type({ title: t.string, shapes: t.record(t.string, Shape) }),
  t.partial({ unit: t.keyof({ mm: 1, inch: 1 }), size: t.tuple([t.Int, t.Int]) }),
])

const calls = invalidCallOf()
it.each<readonly [string, t.Mixed, fc.Arbitrary<InvalidInput>, ReadonlyArray<string>]>([
  [
    'values of any codec',
    Drawing,
    invalidFor(Drawing),
    [
      ...[': wrong type', 'title: wrong type', 'title: missing', 'shapes: missing', 'shapes.*: wrong type'],
      ...['unit: wrong value', 'unit: wrong type', 'size: wrong type', 'size[]: wrong type'],
      ...['shapes.*.radius: missing', 'shapes.*.lines: wrong type', 'shapes.*.lines[]: wrong type'],
      ...['shapes.*.font: wrong type', 'shapes.*.kind: wrong value', 'size[]: wrong value'],
    ],
  ],
  ['calls', Event, calls, ['userId: no user', ': too large', 'event: missing', 'timestamp: wrong value']],
  ['calls of their kinds', kinds, calls, ['context.os: wrong type', 'properties.url: wrong type']],
  ['bodies', WebhookBody, invalidBody, ['version: missing', 'version: wrong value', 'userId: wrong type']],
])('%s are refused where they say, with each reason', (_, codec, inputs, places) =>
  expect(reached(codec, inputs)).toEqual(expect.arrayContaining([...places])),
)

it('calls are refused when they come as JSON too, and those that are too large by their size', () => {
  for (const { input, reason } of samplesOf(invalidCallOf())) {
    const parsed: unknown = JSON.parse(JSON.stringify(input))
    expect(pathsIn(ParsedEvent, parsed).length > 0).toBe(reason !== 'too large')
    if (reason !== 'too large') continue
    const encoded = encodePayload('m', input, toWebhookBody(decoded(ParsedEvent, parsed)))
    expect(encoded).toMatchObject({ left: { _tag: 'TooLarge' } })
  }
})

it.each<fc.Arbitrary<unknown>>([
  trackingCallOf('alias', 'group').map(({ call }) => call),
  invalidCallOf('alias', 'group').map(({ input }) => input),
])('calls are of the kinds that were asked for: %#', (calls) => {
  const types = fc.sample(calls, 1_000).flatMap((call) => (isRecord(call) ? String(call['type']) : []))
  expect([...new Set(types)]).toEqual(expect.arrayContaining(['alias', 'group']))
  expect(types.filter((type) => /page|screen|identify|track|delete/.test(type))).toEqual([])
})

it('says that a codec refuses nothing', () =>
  expect(() => samplesOf(invalidFor(t.unknown))).toThrow('invalidFor: the codec "unknown" refuses nothing'))

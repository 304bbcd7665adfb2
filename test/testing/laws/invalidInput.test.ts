import * as fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { describe, expect, it } from 'vitest'
import { faultsOf } from '../../../src/event/codecFaults.ts'
import { Event, ParsedEvent } from '../../../src/event/event.ts'
import { kinds } from '../../../src/event/model.ts'
import { encodePayload } from '../../../src/event/payload.ts'
import { WebhookBody, toWebhookBody } from '../../../src/event/webhookBody.ts'
import { invalidBody, invalidCallOf, invalidFor } from '../../../src/testing/laws/invalidInput.ts'
import type { InvalidInput } from '../../../src/testing/laws/invalidInput.ts'

const pathsIn = (codec: t.Mixed, input: unknown): ReadonlyArray<string> => {
  const decoded = codec.decode(input)
  return isLeft(decoded) ? faultsOf(decoded.left).map(({ path }) => path) : []
}

const samplesOf = (inputs: fc.Arbitrary<InvalidInput>): ReadonlyArray<InvalidInput> =>
  fc.sample(inputs, { numRuns: 1_000, seed: 9 })

const Shape = t.union([
  t.type({ kind: t.literal('circle'), radius: t.number }),
  t.type({ kind: t.literal('text'), lines: t.array(t.string), font: t.union([t.string, t.null]) }),
])
const Drawing = t.intersection([
  t.type({ title: t.string, shapes: t.record(t.string, Shape) }),
  t.partial({ unit: t.keyof({ mm: 1, inch: 1 }), size: t.tuple([t.Int, t.Int]) }),
])

describe('invalidFor', () => {
  it('breaks one place of a valid value, and the codec says so there', () => {
    const reached = new Set<string>()
    for (const { input, path, reason } of samplesOf(invalidFor(Drawing))) {
      expect(pathsIn(Drawing, input)).toContain(path)
      reached.add(
        `${path.replace(/^shapes(\.\w+|\[".*?"\])/, 'shapes.*').replace(/\[\d\]/, '[]')}: ${reason}`,
      )
    }
    for (const place of [
      ...[': wrong type', 'title: wrong type', 'title: missing', 'shapes: missing', 'shapes.*: wrong type'],
      ...['unit: foreign literal', 'unit: wrong type', 'size: wrong type', 'size[]: wrong type'],
      ...['shapes.*.radius: missing', 'shapes.*.lines: wrong type', 'shapes.*.lines[]: wrong type'],
      ...['shapes.*.font: wrong type', 'shapes.*.kind: unknown tag'],
    ])
      expect([...reached]).toContain(place)
  })

  it('says that a codec refuses nothing', () =>
    expect(() => samplesOf(invalidFor(t.unknown))).toThrow('invalidFor: the codec "unknown" refuses nothing'))
})

describe('invalid events', () => {
  it('calls are refused where they say', () => {
    const reached = new Set<string>()
    for (const { input, path, reason } of samplesOf(invalidCallOf())) {
      reached.add(reason)
      const decoded = Event.decode(input)
      if (reason !== 'too large') {
        expect(pathsIn(Event, input)).toContain(path)
        expect(pathsIn(kinds, input).length).toBeGreaterThan(0)
      } else
        expect(isRight(decoded) && encodePayload('m', input, toWebhookBody(decoded.right))).toMatchObject({
          left: { _tag: 'TooLarge' },
        })
      const written: unknown = JSON.parse(JSON.stringify(input))
      if (reason !== 'too large') expect(isLeft(ParsedEvent.decode(written))).toBe(true)
    }
    expect([...reached].sort()).toEqual([
      'bad timestamp',
      'foreign literal',
      'missing',
      'no user',
      'not an object',
      'too large',
      'wrong type',
    ])
  })

  it('calls are of the kinds that were asked for', () => {
    const types = samplesOf(invalidCallOf('alias', 'group')).flatMap(({ input }) =>
      typeof input === 'object' && input !== null && 'type' in input && typeof input.type === 'string'
        ? input.type
        : [],
    )
    expect([...new Set(types)].sort()).toEqual(['alias', 'group', 'wrong'])
  })

  it('bodies are refused where they say', () => {
    const reached = new Set<string>()
    for (const { input, path, reason } of samplesOf(invalidBody)) {
      expect(pathsIn(WebhookBody, input)).toContain(path)
      reached.add(`${path}: ${reason}`)
    }
    for (const place of [
      'version: missing',
      'userId: wrong type',
      'messageId: missing',
      'timestamp: bad timestamp',
    ])
      expect([...reached]).toContain(place)
    for (const place of ['Previous ID: keys of a call', ': not an object', 'type: unknown tag'])
      expect([...reached]).toContain(place)
  })
})

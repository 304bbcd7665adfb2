import * as fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Either } from 'fp-ts/lib/Either.js'
import { encodePayload, bodyOf } from '../../src/event/payload.ts'
import * as Limits from '../../src/event/limits.ts'
import type { EventPayload } from '../../src/event/payload.ts'
import { toWebhookBody } from '../../src/event/webhookBody.ts'
import { show } from '../../src/core/refusal.ts'
import type { Refusal } from '../../src/core/refusal.ts'
import { event, text } from '../arbitraries/event.ts'

const said = (body: unknown): string => {
  const payload = encodePayload('m', 'the item', body)
  return isLeft(payload) ? show(payload.left) : payload.right.text
}

it('writes a body once, and measures it', () => {
  const item = { any: 'item' }
  expectTypeOf(encodePayload('m', item, {})).toEqualTypeOf<Either<Refusal, EventPayload<{ any: string }>>>()
  const payload = encodePayload('m', item, { hello: 'wörld 😀' })
  expect(isRight(payload) && payload.right).toStrictEqual({
    id: 'm',
    items: [item],
    text: '{"hello":"wörld 😀"}',
    byteLength: 23,
  })
  expect(isRight(payload) && bodyOf(payload.right, 0)).toBe('{"hello":"wörld 😀"}')
})

it('gives back the item itself when there is too much of it', () => {
  const item = { any: 'item' }
  const payload = encodePayload('m', item, { a: 'x'.repeat(100) }, 50)
  expect(isLeft(payload) && payload.left).toEqual({
    _tag: 'TooLarge',
    limit: 50,
    size: 108,
    id: 'm',
    input: item,
  })
  expect(isLeft(payload) && payload.left.input).toBe(item)
})

describe('refuses what is no body, and says why', () => {
  const cycle: Record<string, unknown> = {}
  cycle['again'] = [cycle]
  const cases: ReadonlyArray<readonly [string, unknown, string]> = [
    ['undefined', undefined, 'could not be written as JSON'],
    ['a function', () => 1, 'could not be written as JSON'],
    ['a number', 5, 'the body must be an object or an array'],
    ['null', null, 'the body must be an object or an array'],
    ['a string', 'text', 'the body must be an object or an array'],
    ['a BigInt', { a: [1n] }, 'a[0]: is a BigInt: write it as a string'],
    ['a cycle', cycle, 'again[0]: contains itself: JSON has no cycles'],
    [
      'a toJSON that throws',
      {
        a: {
          toJSON: () => {
            throw new Error('hunter2')
          },
        },
      },
      'a: has a toJSON that throws an error',
    ],
    [
      'a getter that throws',
      {
        get a() {
          throw new Error('hunter2')
        },
      },
      'a: could not be read: looking at it throws an error',
    ],
  ]
  it.each(cases)('%s', (_, body, reason) => {
    expect(said(body)).toBe(reason)
  })

  it('a body too long for any string', () => {
    const long = 'x'.repeat(2 ** 27)
    expect(said([long, long, long, long, long])).toBe('could not be written as JSON')
  })
})

/** A body whose text has exactly that many bytes, whatever it begins with. */
const padded = (start: object, filler: string, bytes: number): object => {
  const room = bytes - Buffer.byteLength(JSON.stringify({ ...start, pad: '' }))
  const width = Buffer.byteLength(filler)
  return { ...start, pad: filler.repeat(Math.floor(room / width)) + 'x'.repeat(room % width) }
}

it('takes a body of exactly the limit, and not one byte more', () => {
  let atLimit = 0
  fc.assert(
    fc.property(
      event,
      fc.constantFrom('x', 'é', '語', '😀'),
      fc.constantFrom(Limits.bodyBytes, Limits.callBytes, 20_000),
      fc.integer({ min: -2, max: 2 }),
      (each, filler, limit, over) => {
        const start = toWebhookBody(each)
        const body = padded(start, filler, limit + over)
        const payload = encodePayload('m', each, body, limit)
        expect(isRight(payload)).toBe(over <= 0)
        if (over === 0) atLimit++
        if (isRight(payload)) expect(payload.right.byteLength).toBe(Buffer.from(payload.right.text).length)
        else expect(payload.left).toMatchObject({ _tag: 'TooLarge', limit, size: limit + over, id: 'm' })
      },
    ),
    { numRuns: 1_000 },
  )
  expect(atLimit).toBeGreaterThan(100)
})

it('never throws, and what it writes is a fixed point whose bytes are its text', () => {
  let written = 0
  fc.assert(
    fc.property(
      fc.anything({
        withBigInt: true,
        withBoxedValues: true,
        withDate: true,
        withMap: true,
        withSet: true,
        withTypedArray: true,
        withSparseArray: true,
        withNullPrototype: true,
        withObjectString: true,
        values: [text, fc.integer(), fc.double(), fc.bigInt()],
      }),
      (body) => {
        const payload = encodePayload('m', body, body)
        if (isLeft(payload)) return
        written++
        const { text: sent, byteLength } = payload.right
        expect(JSON.stringify(JSON.parse(sent))).toBe(sent)
        expect(Buffer.from(sent).toString()).toBe(sent)
        expect(Buffer.byteLength(sent)).toBe(byteLength)
      },
    ),
    { numRuns: 1_000 },
  )
  expect(written).toBeGreaterThan(200)
})

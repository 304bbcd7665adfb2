import { runInNewContext } from 'node:vm'
import * as fc from 'fast-check'
import { from, identity, of } from 'rxjs'
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { describe, expect, expectTypeOf, it, test } from 'vitest'
import { all, forAllAsync } from '../support/check.ts'
import { batch, encode, lift, sign, validate, bodyOf, bytesOf, showRefusal as show } from '../../src/index.ts'
import { Event, callOf, toWebhookBody } from '../../src/event/index.ts'
import type { ObservableEither, EventPayload, Refusal } from '../../src/index.ts'
import { callBytes } from '../../src/event/limits.ts'
import { verifyRaw } from '../../src/signing/verify.ts'
import { payloadOf } from '../sink/deliverOnce.ts'
import { batchOf } from '../support/batches.ts'

const shown = (each: Either<Refusal | 'gone', EventPayload<unknown>>): string => {
  if (each._tag === 'Right') return `${each.right.id} ${each.right.text}`
  return each.left === 'gone' ? 'gone' : show(each.left)
}

const encoded = (...bodies: ReadonlyArray<unknown>) => all(from(bodies).pipe(lift(), encode(identity)))

it('a toBody or idOf that throws costs that item only', async () => {
  const fussy = (n: number): object => {
    if (n === 2) throw new Error('hunter2')
    return { n }
  }
  const rail = from([1, 2, 3].map((n) => right<never, number>(n)))
  const reason = (name: string) => `could not be encoded: ${name} throws an error`
  const encoded = await all(rail.pipe(encode(fussy, { idOf: String })))
  expect(encoded.map(shown)).toEqual(['1 {"n":1}', reason('toBody'), '3 {"n":3}'])
  const byId = encode((n: number) => ({ n }), { idOf: (n) => JSON.stringify(fussy(n)) })
  expect((await all(rail.pipe(byId))).map(shown)[1]).toBe(reason('idOf'))
})

it('takes the messageId as the id, and makes one for what has none', async () => {
  const rail = from([{}, { messageId: 5 }, 'x', { messageId: 'm1' }]).pipe(lift())
  const encoded = await all(rail.pipe(encode(() => ({}))))
  const ids = encoded.flatMap((each) => (each._tag === 'Right' ? each.right.id : []))
  expect([new Set(ids).size, ids[3]]).toEqual([4, 'm1'])
  for (const id of ids) expect(id).toMatch(/^[\w.-]{1,64}$/)
})

it('refuses an id that idOf should not answer, and makes one for an empty messageId', async () => {
  const rail = of(right<never, object>({ messageId: '' }))
  for (const id of ['', undefined, {}, 'x'.repeat(257)])
    expect(await all(rail.pipe(encode(() => ({}), { idOf: () => id as string })))).toMatchObject([
      { left: { _tag: 'Invalid', faults: [{ path: 'messageId' }] } },
    ])
  expect(JSON.stringify(await all(rail.pipe(encode(() => ({})))))).toMatch(/"id":"./)
})

it('has 64,000 bytes by default, and another limit for calls', async () => {
  const properties = (bytes: number): object => ({ pad: 'x'.repeat(bytes) })
  const event = (bytes: number) => ({ type: 'track', userId: 'u', event: 'e', properties: properties(bytes) })
  const webhook = of(event(63_000), event(64_000)).pipe(validate(Event), encode(toWebhookBody))
  expect((await all(webhook)).map(({ _tag }) => _tag)).toEqual(['Right', 'Left'])
  const options = { maxBytes: callBytes }
  const calls = of(event(31_000), event(32_000)).pipe(validate(Event), encode(callOf, options))
  expect((await all(calls)).map(({ _tag }) => _tag)).toEqual(['Right', 'Left'])
})

it('infers what comes out', () => {
  const rail = of(1).pipe(validate(Event), encode(toWebhookBody))
  expectTypeOf(rail).toEqualTypeOf<ObservableEither<Refusal, EventPayload<Event>>>()
  const other = of<Either<'gone', { a: string }>>(left('gone')).pipe(encode((item: { a: string }) => item.a))
  expectTypeOf(other).toEqualTypeOf<ObservableEither<'gone' | Refusal, EventPayload<{ a: string }>>>()
  // @ts-expect-error what comes in is no event
  from([right<never, { a: string }>({ a: '' })]).pipe(encode(toWebhookBody))
})

const PROMISE = 'is a promise, which JSON cannot hold: use enrich'
const NO_FIELDS = 'has no fields, so JSON would write {}'

/** Each reason: test/event/json.test.ts. */
describe('refuses what JSON would bend, with its path', () => {
  test.each<[string, unknown, string]>([
    ['NaN', { price: NaN }, 'price: is NaN or infinite: JSON has no such number'],
    ['a Map as the body', new Map(), 'is a Map, which JSON cannot hold: use Object.fromEntries'],
    ['a promise', { user: { name: Promise.resolve('a') } }, `user.name: ${PROMISE}`],
    ['a promise as the body', Promise.resolve({}), PROMISE],
    ['a thenable', { q: { then: () => 1 } }, `q: ${PROMISE}`],
    ['an object without fields', { by: [new URLSearchParams()] }, `by[0]: ${NO_FIELDS}`],
    ['an Error', { error: new Error('a') }, `error: ${NO_FIELDS}`],
    ['a URLSearchParams', new URLSearchParams('a=1'), NO_FIELDS],
    ['a payload', payloadOf('{"a":1}'), 'is a payload already: encode once, and before batch'],
    ['a batch', batchOf(2), 'is a payload already: encode once, and before batch'],
    ['all at once', { a: NaN, b: 1n }, 'a: is NaN or infinite: JSON has no such number; b: is a BigInt'],
  ])('%s', async (_, body, words) => {
    const [refused, next] = await encoded(body, { ok: 1 })
    if (refused === undefined || next === undefined) throw new Error('something was lost')
    expect(shown(refused)).toContain(words)
    expect(next._tag).toBe('Right')
  })

  it('leaves no promise unhandled', async () => {
    const [refused] = await encoded({ a: Promise.reject(new Error('no')) })
    expect(refused?._tag).toBe('Left')
  })

  it('takes what has fields or a toJSON, and plain objects without fields, of any realm', async () => {
    class Point {
      readonly x = 3
    }
    class Money {
      readonly toJSON = (): string => '1 EUR'
    }
    const empty: ReadonlyArray<unknown> = [{}, Object.create(null), runInNewContext('({})')]
    const [each] = await encoded([new Point(), new Money(), ...empty, new String('a')])
    expect(each).toMatchObject(right({ text: '[{"x":3},"1 EUR",{},{},{},"a"]' }))
  })
})

describe('another format', () => {
  const pdf = { toBytes: (item: Uint8Array) => item, contentType: 'application/pdf' }

  it('keeps the exact bytes through a store, and their signature', async () =>
    forAllAsync(fc.uint8Array(), async (bytes) => {
      const [each] = await all(of(bytes).pipe(lift(), encode(pdf), sign('s')))
      if (each?._tag !== 'Right') throw new Error('refused')
      const { items: _, ...payload } = each.right
      const again = { ...(JSON.parse(JSON.stringify(payload)) as typeof payload), items: [0] as const }
      expect(Buffer.from(bytesOf(again, 0)).equals(bytes)).toBe(true)
      expect(again).toMatchObject({ byteLength: bytes.length, contentType: 'application/pdf' })
      expect(verifyRaw('s', bytes, again.signature)._tag).toBe('Right')
    }))

  it('sends a string as UTF-8, without base64', async () => {
    const xml = { toBytes: (item: string) => `<a>${item}</a>`, contentType: 'text/xml; charset=utf-8' }
    const [each] = await all(of('é').pipe(lift(), encode({ ...xml, idOf: (item) => item.repeat(256) })))
    const [{ contentType }, id] = [xml, 'é'.repeat(256)]
    expect(each).toEqual(right({ id, items: ['é'], text: '<a>é</a>', byteLength: 9, contentType }))
  })

  it('refuses an item whose bytes are too many, are none, or throw', async () => {
    const format = {
      toBytes: (n: number): string => {
        if (n === 1) throw new Error('hunter2')
        return n === 2 ? (5 as unknown as string) : 'x'.repeat(n)
      },
      contentType: 'text/plain',
      maxBytes: 4,
    }
    const each = await all(of(1, 2, 3, 5).pipe(lift(), encode(format)))
    expect(each.map((one) => (one._tag === 'Left' ? show(one.left) : one.right.text))).toEqual([
      'could not be encoded: toBytes throws an error',
      'toBytes must answer a Uint8Array or a string, got a number',
      'xxx',
      '5 bytes, the limit is 4: send less with the event',
    ])
  })

  it('has no body as text, and can be gathered by its size', async () => {
    const encoded = of(Buffer.from([255])).pipe(lift(), encode(pdf, { idOf: () => 'p1' }))
    const [each] = await all(encoded)
    if (each?._tag !== 'Right') throw new Error('refused')
    expect(() => bodyOf(each.right, 0)).toThrow('bodyOf: the body is no text: use bytesOf')
    const [many] = await all(encoded.pipe(batch({ sizeOf: ({ byteLength }) => byteLength })))
    expect(many).toMatchObject(right({ items: [{ ...each.right, id: 'p1' }], byteLength: 1 }))
  })

  test.each([undefined, {}, { toBytes: 1, contentType: 'a/b' }])('%j is none', (format) =>
    expect(() => encode(format as never)).toThrow(/^encode: expected a function for the body/),
  )
  test.each([undefined, '', 'text', ' a/b', 'a/b\r\nX: 1', 'a/é'])('%j is no content type', (contentType) =>
    expect(() => encode({ toBytes: String, contentType: contentType as never })).toThrow(/contentType must/),
  )
})

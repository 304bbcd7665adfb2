import * as t from 'io-ts'
import { validate, type ObservableEither } from '../../src/index.ts'
import { Event } from '../../src/event/index.ts'
import { invalid, show, type Refusal } from '../../src/core/refusal.ts'
import { SECRET } from '../arbitraries/unreadable.ts'
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { from, of } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { all, throwing } from '../support/check.ts'

const one = async <A>(codec: t.Type<A, unknown>, input: unknown): Promise<Either<Refusal, A>> => {
  const [result] = await all(from([input]).pipe(validate(codec)))
  if (result === undefined) throw new Error('nothing came out')
  return result
}

const said = async <A>(codec: t.Type<A, unknown>, input: unknown): Promise<string> => {
  const result = await one(codec, input)
  return result._tag === 'Left' ? show(result.left) : 'fine'
}

it('lets in what is right, and sends left what is wrong, one for one', () =>
  new TestScheduler((seen, wanted) => expect(seen).toEqual(wanted)).run(({ cold, expectObservable }) => {
    const values = { a: 'a', x: 1, b: 'b' }
    expectObservable(cold('-a-(xb)-|', values).pipe(validate(t.string))).toBe('-a-(xb)-|', {
      a: right('a'),
      x: left(invalid(1, [{ path: '', message: 'must be a string, not a number' }])),
      b: right('b'),
    })
    expectObservable(cold('-a-#', values).pipe(validate(t.string))).toBe('-a-#', { a: right('a') })
  }))

it('gives back the very input with a refusal', async () => {
  const input = { type: 'track', userId: 5 }
  const result = await one(Event, input)
  expect(result._tag === 'Left' && result.left.input).toBe(input)
  expect(await said(Event, input)).toBe(
    'event: is missing: it must be a string that is not empty; userId: must be a string, not a number',
  )
})

describe('what throws costs one item', () => {
  const reason = 'could not be read: the codec or a getter of the input throws an error'
  const picky = new t.Type<string, string>(
    'Picky',
    t.string.is,
    (input, context) => {
      if (input === 'bomb') throw new Error(SECRET)
      return t.string.validate(input, context)
    },
    t.identity,
  )

  it('a codec that answers no Either, or refuses without a word', async () => {
    const answering = (answer: unknown) =>
      new t.Type('A', t.unknown.is, () => answer as t.Validation<unknown>, t.identity)
    for (const answer of [Promise.reject(new Error(SECRET)), 5, { _tag: 'Some' }])
      expect(await said(answering(answer), 'x')).toMatch(/^is not judged: the codec answers no Either/)
    expect(await said(answering(left([])), 'x')).toBe('does not fit the codec, which gives no reason')
  })

  it('a codec', async () => {
    const results = await all(of('a', 'bomb', 'b').pipe(validate(picky)))
    expect(results).toEqual([right('a'), left(invalid('bomb', [{ path: '', message: reason }])), right('b')])
  })

  it('a getter', async () => {
    const throwsAt = (key: string): object =>
      Object.defineProperty({}, key, { enumerable: true, get: throwing(SECRET) })
    expect(await said(t.type({ name: t.string }), throwsAt('name'))).toBe(reason)
    expect(await said(Event, throwsAt('type'))).toBe('could not be read: looking at it throws an error')
  })
})

it('infers what comes out', () => {
  expectTypeOf(of(1).pipe(validate(Event))).toEqualTypeOf<ObservableEither<Refusal, Event>>()
  const typed = of(1).pipe(validate(t.type({ a: t.string })))
  expectTypeOf(typed).toEqualTypeOf<ObservableEither<Refusal, { a: string }>>()
  const either = of(1).pipe(validate(t.union([t.string, t.number])))
  expectTypeOf(either).toEqualTypeOf<ObservableEither<Refusal, string | number>>()
  // @ts-expect-error a codec that wants a string cannot take just anything
  validate(new t.Type<number, string, string>('N', t.number.is, (input) => t.success(Number(input)), String))
})

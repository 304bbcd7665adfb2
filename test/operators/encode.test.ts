import { from, lastValueFrom, of, toArray, type Observable } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { expect, expectTypeOf, it } from 'vitest'
import { Event } from '../../src/event/event.ts'
import type { EventPayload } from '../../src/event/payload.ts'
import { callBytes } from '../../src/event/limits.ts'
import { callOf } from '../../src/event/call.ts'
import { toWebhookBody } from '../../src/event/webhookBody.ts'
import { encode } from '../../src/operators/encode.ts'
import { validate } from '../../src/operators/validate.ts'
import type { ObservableEither } from '../../src/core/outcome.ts'
import { type Refusal, show } from '../../src/core/refusal.ts'

const all = <A>(rail: Observable<A>): Promise<ReadonlyArray<A>> =>
  lastValueFrom(rail.pipe(toArray()), { defaultValue: [] })

const shown = (each: Either<Refusal | 'gone', EventPayload<unknown>>): string => {
  if (each._tag === 'Right') return `${each.right.id} ${each.right.text}`
  return each.left === 'gone' ? 'gone' : show(each.left)
}

it('writes what is right, and lets pass what is left', () =>
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(
    ({ cold, expectObservable }) => {
      const item = { messageId: 'm1', n: 1 }
      const rail = cold<Either<'gone', typeof item>>('-a-x-|', { a: right(item), x: left('gone') })
      expectObservable(rail.pipe(encode(({ n }: typeof item) => ({ n })))).toBe('-a-x-|', {
        a: right({ id: 'm1', items: [item], text: '{"n":1}', byteLength: 7 }),
        x: left('gone'),
      })
    },
  ))

it('refuses what is too large or no JSON, and its neighbours go on', async () => {
  const items = [
    { id: 'a', body: { x: 1 } },
    { id: 'b', body: { x: 'y'.repeat(50) } },
    { id: 'c', body: 5n },
    { id: 'd', body: {} },
  ]
  const rail = from(items.map((each) => right<'gone', (typeof items)[number]>(each)))
  const results = await all(
    rail.pipe(encode(({ body }: (typeof items)[number]) => body, { limit: 20, idOf: ({ id }) => id })),
  )
  expect(results.map(shown)).toEqual([
    'a {"x":1}',
    '58 bytes of JSON, the limit is 20: send less with the event',
    'is a BigInt: write it as a string',
    'd {}',
  ])
  expect(results[1]).toEqual(left({ _tag: 'TooLarge', limit: 20, size: 58, id: 'b', input: items[1] }))
})

it('a toBody or idOf that throws costs that item only', async () => {
  const fussy = (n: number): object => {
    if (n === 2) throw new Error('hunter2')
    return { n }
  }
  const rail = from([1, 2, 3].map((n) => right<never, number>(n)))
  const reason = 'could not be encoded: toBody or idOf throws an error'
  expect((await all(rail.pipe(encode(fussy, { idOf: String })))).map(shown)).toEqual([
    '1 {"n":1}',
    reason,
    '3 {"n":3}',
  ])
  const byId = encode((n: number) => ({ n }), { idOf: (n) => JSON.stringify(fussy(n)) })
  expect((await all(rail.pipe(byId))).map(shown)[1]).toBe(reason)
})

it('makes an id for what has none', async () => {
  const rail = from([{}, { messageId: 5 }, 'x'].map((each) => right<never, unknown>(each)))
  const ids = (await all(rail.pipe(encode(() => ({}))))).flatMap((each) =>
    each._tag === 'Right' ? each.right.id : [],
  )
  expect(new Set(ids).size).toBe(3)
  for (const id of ids) expect(id).toMatch(/^[\w.-]{1,64}$/)
})

it('has 64,000 bytes by default, and another limit for calls', async () => {
  const event = (bytes: number): unknown => ({
    type: 'track',
    userId: 'u',
    event: 'e',
    properties: { pad: 'x'.repeat(bytes) },
  })
  const webhook = await all(of(event(63_000), event(64_000)).pipe(validate(Event), encode(toWebhookBody)))
  expect(webhook.map(({ _tag }) => _tag)).toEqual(['Right', 'Left'])
  const calls = await all(
    of(event(31_000), event(32_000)).pipe(validate(Event), encode(callOf, { limit: callBytes })),
  )
  expect(calls.map(({ _tag }) => _tag)).toEqual(['Right', 'Left'])
})

it('infers what comes out', () => {
  const rail = of(1).pipe(validate(Event), encode(toWebhookBody))
  expectTypeOf(rail).toEqualTypeOf<ObservableEither<Refusal, EventPayload<Event>>>()
  expectTypeOf(of(right<'gone', Event>).pipe).toBeFunction()
  const other = of<Either<'gone', { a: string }>>(left('gone')).pipe(encode((item: { a: string }) => item.a))
  expectTypeOf(other).toEqualTypeOf<ObservableEither<'gone' | Refusal, EventPayload<{ a: string }>>>()
  // @ts-expect-error what comes in is no event
  from([right<never, { a: string }>({ a: '' })]).pipe(encode(toWebhookBody))
})

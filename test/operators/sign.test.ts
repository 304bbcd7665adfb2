import { right } from 'fp-ts/lib/Either.js'
import { NEVER, of } from 'rxjs'
import { expect, expectTypeOf, it } from 'vitest'
import { batch, sign, bodyOf, type ObservableEither, type Signed } from '../../src/index.ts'
import { trackingFrame } from '../../src/event/index.ts'
import type { EventPayload, Payload } from '../../src/index.ts'
import { verifyRaw } from '../../src/signing/verify.ts'

const payload: EventPayload<string> = { id: 'm1', items: ['one'], text: '{"a":1}', byteLength: 7 }

const valuesOf = <T>(rail: ObservableEither<unknown, T>): ReadonlyArray<T> => {
  const values: T[] = []
  rail.subscribe((each) => each._tag === 'Right' && values.push(each.right))
  return values
}

const stored = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

it('adds the signature of the body as data, and changes nothing else', () => {
  const [signed] = valuesOf(of(right(payload)).pipe(sign('s')))
  expect({ ...signed }).toMatchObject({ ...payload, signature: expect.any(String) })
  expect(verifyRaw('s', bodyOf(payload, 0), signed?.signature)._tag).toBe('Right')
  expect(Object.keys(signed ?? {})).toEqual([...Object.keys(payload), 'signature'])
  expect(signed).toMatchObject(stored({ ...signed }))
  expect(payload.signature).toBeUndefined()
})

it('signs the whole body of a batch, which survives a store', () => {
  const [signed] = valuesOf(of(right(payload), right(payload)).pipe(batch(), sign('s')))
  if (signed === undefined) throw new Error('nothing came out')
  const again = stored(signed)
  expect(signed).toMatchObject(again)
  expect(bodyOf(again, 5)).toBe('[{"a":1},{"a":1}]')
  expect(verifyRaw('s', bodyOf(again, 9), again.signature)._tag).toBe('Right')
})

it('refuses a batch with a time of sending: in types, and from JavaScript at the first batch', () => {
  const source = of(right(payload)).pipe(batch({ frame: { ...trackingFrame, sentAt: true } }))
  const errors: unknown[] = []
  // @ts-expect-error its frame has a sentAt
  source.pipe(sign('s')).subscribe({ error: (error: unknown) => errors.push(error) })
  expect(errors).toEqual([expect.any(TypeError)])
  expect(String(errors[0])).toContain('give the secret to the sink')
})

it.each(['', ' s', 's\n'])('throws for the secret %j when the pipeline is put together', (secret) =>
  expect(() => sign(secret)).toThrow(TypeError),
)

it('keeps both types', () => {
  const source: ObservableEither<'ended', EventPayload<{ readonly n: number }>> = NEVER
  expectTypeOf(source.pipe(sign('s'))).toEqualTypeOf<
    ObservableEither<'ended', Signed<EventPayload<{ readonly n: number }>>>
  >()
  const any: ObservableEither<'ended', Payload<number>> = NEVER
  // @ts-expect-error it may be a batch with a time of sending
  any.pipe(sign('s'))
})

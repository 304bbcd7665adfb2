import * as fc from 'fast-check'
import * as t from 'io-ts'
import { from, lastValueFrom, of, throwError, toArray } from 'rxjs'
import type { Observable } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { Event } from '../../src/event/Event.ts'
import { isKeeping } from '../../src/event/reading/CodecTree.ts'
import { validate } from '../../src/operators/validate.ts'
import type { Rail } from '../../src/outcome/Rail.ts'
import { invalid, show } from '../../src/outcome/Refusal.ts'
import type { Refusal } from '../../src/outcome/Refusal.ts'
import { SECRET, alive, anyInput } from '../arbitraries/unreadable.ts'
import * as arbitrary from '../arbitraries/event.ts'

const all = <A>(rail: Observable<A>): Promise<ReadonlyArray<A>> =>
  lastValueFrom(rail.pipe(toArray()), { defaultValue: [] })

const one = async <A>(codec: t.Type<A, unknown>, input: unknown): Promise<Either<Refusal, A>> => {
  const [result] = await all(from([input]).pipe(validate(codec)))
  if (result === undefined) throw new Error('nothing came out')
  return result
}

const said = async <A>(codec: t.Type<A, unknown>, input: unknown): Promise<string> => {
  const result = await one(codec, input)
  return result._tag === 'Left' ? show(result.left) : 'fine'
}

it('lets in what is right, and sends left what is wrong, one for one', () => {
  new TestScheduler((actual, expected) => expect(actual).toEqual(expected)).run(
    ({ cold, expectObservable }) => {
      const values = { a: 'a', x: 1, b: 'b' }
      const wrong = left(invalid(1, [{ path: '', message: 'must be a string, not a number' }]))
      expectObservable(cold('-a-(xb)-|', values).pipe(validate(t.string))).toBe('-a-(xb)-|', {
        a: right('a'),
        x: wrong,
        b: right('b'),
      })
      expectObservable(cold('-a-#', values).pipe(validate(t.string))).toBe('-a-#', { a: right('a') })
    },
  )
})

it('gives back the very input with a refusal', async () => {
  const input = { type: 'track', userId: 5 }
  const result = await one(Event, input)
  expect(result._tag === 'Left' && result.left.input).toBe(input)
  expect(await said(Event, input)).toBe(
    'event: is missing: it must be a string that is not empty; userId: must be a string, not a number',
  )
})

it('does not hide an error of the source', async () => {
  await expect(all(throwError(() => new Error('broken')).pipe(validate(t.string)))).rejects.toThrow('broken')
})

describe('what throws costs one item', () => {
  const reason = 'could not be read: the codec, or a getter of the input, throws an error'
  const picky = new t.Type<string, string>(
    'Picky',
    t.string.is,
    (input, context) => {
      if (input === 'bomb') throw new Error(SECRET)
      return t.string.validate(input, context)
    },
    t.identity,
  )

  it('a codec', async () => {
    const results = await all(of('a', 'bomb', 'b').pipe(validate(picky)))
    expect(results).toEqual([right('a'), left(invalid('bomb', [{ path: '', message: reason }])), right('b')])
  })

  it('a getter', async () => {
    const input = {
      get name(): string {
        throw new Error(SECRET)
      },
    }
    expect(await said(t.type({ name: t.string }), input)).toBe(reason)
    expect(
      await said(Event, {
        get type(): string {
          throw new Error(SECRET)
        },
      }),
    ).toBe('type: could not be read: looking at it throws an error')
  })

  it('a clock or an id maker', async () => {
    const broken = new t.Type<string, string>(
      'Broken',
      t.string.is,
      () => {
        throw new Error(SECRET)
      },
      t.identity,
    )
    expect(await said(broken, 'x')).toBe(reason)
  })
})

it('is total: one result for every input, whatever it is', () => {
  const codecs = [
    Event,
    t.type({ type: t.string, userId: t.string }),
    t.array(Event),
    t.record(t.string, t.unknown),
  ]
  fc.assert(
    fc.property(anyInput, (marked) => {
      for (const codec of codecs) {
        const input = alive(marked)
        const seen: Array<Either<Refusal, unknown>> = []
        let error: unknown
        // A union of codecs is a codec of a union, which the checker does not see.
        const rail = from([input]).pipe(validate(codec as t.Type<unknown, unknown>))
        rail.subscribe({
          next: (each) => seen.push(each),
          error: (each: unknown) => {
            error = each
          },
        })
        expect(error).toBeUndefined()
        expect(seen).toHaveLength(1)
        const [result] = seen
        if (result?._tag === 'Left') expect(show(result.left)).not.toContain(SECRET)
      }
    }),
    { numRuns: 1_000 },
  )
})

describe('is stands for decode only where that is sound', () => {
  const trimmed = new t.Type<string, string>(
    'Trimmed',
    t.string.is,
    (input, context) => {
      const text = t.string.validate(input, context)
      return text._tag === 'Left' ? text : t.success(text.right.trim())
    },
    t.identity,
  )

  // As io-ts-types makes its withFallback and fromNullable: a clone that keeps the tag and gets another validate.
  const replaced = (codec: t.UnknownC, instead: unknown): t.Type<unknown> => {
    const validate: t.Validate<unknown, unknown> = (input) => t.success(input ?? instead)
    const clone = Object.assign(new t.UnknownType(), codec)
    return Object.assign(clone, { validate, decode: (input: unknown) => validate(input, []) })
  }

  it('for codecs that give back what they got', () => {
    const plain = t.type({
      a: t.union([t.string, t.literal(5), t.null]),
      b: t.array(t.partial({ c: t.Int })),
      d: t.readonly(t.record(t.string, t.tuple([t.keyof({ x: 0 }), t.unknown]))),
    })
    expect(isKeeping(plain)).toBe(true)
    interface Tree {
      readonly children: Tree[]
    }
    const tree: t.Type<Tree> = t.recursion('Tree', () => t.type({ children: t.array(tree) }))
    expect(isKeeping(tree)).toBe(true)
  })

  it('and for no others', () => {
    const others: ReadonlyArray<unknown> = [
      trimmed,
      t.array(trimmed),
      t.type({ a: t.union([t.number, trimmed]) }),
      t.exact(t.type({ a: t.string })),
      t.strict({ a: t.string }),
      t.record(t.keyof({ a: 0 }), t.string),
      t.type({ a: t.string }).pipe(t.type({ a: t.string })),
      t.type({ a: replaced(t.unknown, 1) }),
      Event,
      undefined,
      {},
    ]
    expect(others.map((each) => isKeeping(each))).toEqual(others.map(() => false))
  })

  it('so that the results are those of decode', async () => {
    expect(await one(trimmed, ' a ')).toEqual(right('a'))
    expect(await one(t.exact(t.type({ a: t.string })), { a: 'x', b: 'y' })).toEqual(right({ a: 'x' }))
    expect(await one(t.type({ a: replaced(t.unknown, 1) }), { a: null })).toEqual(right({ a: 1 }))
    const input = { a: 'x', b: 'y' }
    const kept = await one(t.type({ a: t.string }), input)
    expect(kept._tag === 'Right' && kept.right).toBe(input)
  })

  it('for anything', () => {
    const codec = t.type({
      a: t.union([t.string, t.array(t.number)]),
      b: t.partial({ c: t.record(t.string, t.boolean) }),
    })
    const near = fc.record({
      a: fc.oneof(fc.string(), fc.array(fc.integer()), fc.array(fc.oneof(fc.integer(), fc.string()))),
      b: fc.record(
        { c: fc.dictionary(fc.string(), fc.oneof(fc.boolean(), fc.anything())) },
        { requiredKeys: [] },
      ),
    })
    let right = 0
    fc.assert(
      fc.property(
        fc.oneof({ weight: 3, arbitrary: near }, { weight: 1, arbitrary: fc.anything() }),
        (input) => {
          const decoded = codec.decode(input)
          from([input])
            .pipe(validate(codec))
            .subscribe((each) => {
              expect(each._tag).toBe(decoded._tag)
              if (each._tag === 'Right' && decoded._tag === 'Right') {
                right++
                expect(each.right).toBe(decoded.right)
              }
            })
        },
      ),
      { numRuns: 1_000 },
    )
    expect(right).toBeGreaterThan(100)
  })
})

it('EV8: what is done to an event after it was handed over is not seen', () => {
  fc.assert(
    fc.property(arbitrary.events.track, (event) => {
      const call = structuredClone(event) as { userId?: string; properties: Record<string, unknown> }
      of(call)
        .pipe(validate(Event))
        .subscribe((each) => {
          call.userId = 'changed'
          for (const key of Object.keys(call.properties)) call.properties[key] = 'changed'
          expect(each).toEqual(right(event))
        })
    }),
    { numRuns: 1_000 },
  )
})

it('infers what comes out', () => {
  expectTypeOf(of(1).pipe(validate(Event))).toEqualTypeOf<Rail<Refusal, Event>>()
  expectTypeOf(of(1).pipe(validate(t.type({ a: t.string })))).toEqualTypeOf<Rail<Refusal, { a: string }>>()
  expectTypeOf(of(1).pipe(validate(t.union([t.string, t.number])))).toEqualTypeOf<
    Rail<Refusal, string | number>
  >()
  // @ts-expect-error a codec that wants a string cannot take just anything
  validate(new t.Type<number, string, string>('N', t.number.is, (input) => t.success(Number(input)), String))
})

import * as fc from 'fast-check'
import * as t from 'io-ts'
import { from } from 'rxjs'
import { right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { Event } from '../../src/event/event.ts'
import { isKeeping } from '../../src/event/codecFaults.ts'
import { validate } from '../../src/operators/validate.ts'
import { one } from './validated.ts'

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

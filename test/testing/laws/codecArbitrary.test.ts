import * as fc from 'fast-check'
import { isRight } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { isJson } from '../../../src/event/json.ts'
import { arbitraryFor } from '../../../src/testing/laws/codecArbitrary.ts'
import type { CodecArbitraryOptions } from '../../../src/testing/laws/codecArbitrary.ts'

const samplesOf = <A>(codec: t.Type<A, unknown>, options?: CodecArbitraryOptions): ReadonlyArray<A> =>
  fc.sample(arbitraryFor(codec, options), { numRuns: 1_000, seed: 5 })

interface Tree {
  readonly value: number
  readonly children: Tree[]
}
const Tree: t.Type<Tree> = t.recursion('Tree', () => t.type({ value: t.number, children: t.array(Tree) }))

type Formula = string | { readonly not: Formula } | { readonly and: [Formula, Formula] }
const Formula: t.Type<Formula> = t.recursion('Formula', () =>
  t.union([t.type({ and: t.tuple([Formula, Formula]) }), t.type({ not: Formula }), t.string]),
)

/** io-ts takes it for a codec like others; only its type is narrower. */
const never = t.never as unknown as t.Mixed

const Small = t.brand(
  t.number,
  (n): n is t.Branded<number, { readonly Small: symbol }> => Math.abs(n) < 10,
  'Small',
)

const inJson: ReadonlyArray<t.Mixed> = [
  ...[t.null, t.unknown, t.any, t.string, t.number, t.boolean, t.UnknownArray, t.UnknownRecord],
  ...[t.literal('a'), t.keyof({ a: 1, b: 1 }), t.Int, Small, Tree, Formula],
  ...[t.array(t.number), t.readonlyArray(t.string), t.readonly(t.type({ a: t.string }))],
  ...[t.tuple([t.string, t.number]), t.record(t.string, t.number), t.record(t.keyof({ a: 1, b: 1 }), t.Int)],
  ...[t.record(t.union([t.literal('x'), t.literal('y')]), t.null), t.record(t.string, never)],
  ...[
    t.type({ a: t.union([t.string, t.undefined]) }),
    t.partial({ a: t.string, b: t.undefined }),
    t.array(never),
  ],
  ...[t.exact(t.type({ a: t.string })), t.strict({ a: t.string })],
  t.intersection([t.type({ a: t.type({ x: t.string }) }), t.type({ a: t.type({ y: t.number }) })]),
  t.intersection([t.type({ a: t.literal('only') }), t.type({ a: t.string, b: t.number })]),
  t.intersection([t.string, t.union([t.string, t.number])]),
]
const leaf = fc.constantFrom<t.Mixed[]>(
  t.null,
  t.string,
  t.number,
  t.boolean,
  t.unknown,
  t.literal(3),
  t.keyof({ a: 1 }),
  t.Int,
)

/** Codecs of any form. */
const anyCodec: fc.Arbitrary<t.Mixed> = fc.letrec<{ codec: t.Mixed; props: t.Props }>((tie) => ({
  props: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'é'), tie('codec'), {
    maxKeys: 3,
    noNullPrototype: true,
  }),
  codec: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    tie('props').map((props) => t.type(props)),
    tie('props').map((props) => t.partial(props)),
    tie('props').map((props) => t.strict(props)),
    tie('codec').map((codec) => t.array(codec)),
    tie('codec').map((codec) => t.readonly(codec)),
    tie('codec').map((codec) => t.record(t.string, codec)),
    fc.tuple(tie('codec'), tie('codec')).map(([a, b]) => t.tuple([a, b])),
    fc.tuple(tie('codec'), tie('codec')).map(([a, b]) => t.union([a, b])),
    fc
      .tuple(tie('props'), tie('props'))
      .map(([a, b]) =>
        t.intersection([
          t.type(a),
          t.partial(Object.fromEntries(Object.entries(b).filter(([key]) => !(key in a)))),
        ]),
      ),
  ),
})).codec

describe('arbitraryFor', () => {
  it.each(inJson.map((codec) => [codec.name, codec] as const))(
    'makes values of %s that JSON can hold',
    (_, codec) => {
      for (const value of samplesOf(codec)) {
        expect(codec.is(value)).toBe(true)
        expect(isJson(value)).toBe(true)
        expect(codec.decode(codec.encode(value))).toEqual({ _tag: 'Right', right: value })
      }
    },
  )

  it.each([t.undefined, t.void, t.bigint, t.Function, never])('has no values for $name', (codec) =>
    expect(() => arbitraryFor(t.type({ a: t.tuple([codec]) }))).toThrow(
      /^arbitraryFor: the codec ".*" at a\[0\] has no values that JSON can hold: give/,
    ),
  )

  it.each<t.Mixed>([t.undefined, t.void, t.bigint, t.Function, t.number, t.unknown])(
    'makes values of $name that JSON does not hold only if asked for',
    (codec) => {
      const values = samplesOf<unknown>(codec, { json: false })
      expect(values.every((value) => codec.is(value))).toBe(true)
      expect(values.some((value) => !isJson(value))).toBe(true)
    },
  )

  it('knows the class of io-ts that is deprecated', () => {
    const strict = Object.assign(t.type({ a: t.string }), { _tag: 'StrictType' })
    expect(samplesOf(strict).every((value) => strict.is(value))).toBe(true)
  })

  it('makes values of random codecs, which are read back as they were', () =>
    fc.assert(
      fc.property(anyCodec, fc.integer(), (codec, seed) => {
        for (const value of fc.sample(arbitraryFor(codec), { numRuns: 20, seed })) {
          expect(codec.is(value)).toBe(true)
          const read = codec.decode(codec.encode(value))
          expect(isRight(read)).toBe(true)
          // The first member of a union that takes a value strips what it does not know.
          if (!codec.name.includes('{|'))
            expect(isDeepStrictEqual(read, { _tag: 'Right', right: value })).toBe(true)
        }
      }),
    ))

  it('reaches optional keys, the members of unions, and depth', () => {
    const partial = samplesOf(t.partial({ a: t.string }))
    expect(partial.filter((value) => 'a' in value).length).toBeGreaterThan(300)
    expect(partial.filter((value) => !('a' in value)).length).toBeGreaterThan(300)
    const formulas = samplesOf(Formula)
    expect(formulas.filter((each) => typeof each === 'string').length).toBeGreaterThan(100)
    expect(formulas.filter((each) => JSON.stringify(each).split('{').length > 4).length).toBeGreaterThan(20)
  })

  it('shrinks a recursive value to its smallest member', () => {
    const found = fc.check(
      fc.property(arbitraryFor(Formula), (each) => JSON.stringify(each).length < 20),
      { seed: 1 },
    )
    expect(JSON.stringify(found.counterexample?.[0]).length).toBeLessThan(45)
    expect(
      fc.check(
        fc.property(arbitraryFor(Formula), () => false),
        { seed: 1 },
      ).counterexample,
    ).toEqual([''])
  })

  it('takes overrides by codec and by name', () => {
    const Day = new t.Type<Date, string>(
      'Day',
      (u): u is Date => u instanceof Date,
      () => t.success(new Date(0)),
      String,
    )
    const Order = t.type({ days: t.array(Day) })
    const days = fc.constant(new Date(7))
    for (const key of [Day, 'Day'])
      expect(samplesOf(Order, { overrides: [[key, days]] }).every(Order.is)).toBe(true)
    expect(() => arbitraryFor(Order)).toThrow(
      'arbitraryFor: the codec "Day" at days[0] says nothing of its values: give { overrides: [["Day", values]] }',
    )
  })

  it('says which rule samples hardly satisfy, and where', () => {
    const Id = t.refinement(t.string, (text) => /^ev_[0-9a-f]{24}$/.test(text), 'EventId')
    expect(() => arbitraryFor(t.type({ ids: t.array(Id) }))).toThrow(
      'the codec "EventId" at ids[0] has a rule that 10000 samples break: give { overrides: [["EventId", values]] }',
    )
    expect(() => arbitraryFor(t.intersection([t.type({ a: t.string }), t.type({ a: t.number })]))).toThrow(
      'has a rule',
    )
    const ids = fc.stringMatching(/^ev_[0-9a-f]{24}$/)
    expect(samplesOf(Id, { overrides: [['EventId', ids]] })).toHaveLength(1_000)
  })

  it('leaves out members without values, and does not hang on a recursive rule', () => {
    expect(samplesOf(t.union([never, t.string]))).toHaveLength(1_000)
    const Nested: t.Type<Tree> = t.recursion('Nested', () =>
      t.refinement(t.type({ value: t.number, children: t.array(Nested) }), () => false, 'Bad'),
    )
    expect(() => arbitraryFor(Nested)).toThrow('"Nested" has a rule')
  })
})

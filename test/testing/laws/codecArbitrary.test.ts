import * as fc from 'fast-check'
import { isRight } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { expect, it } from 'vitest'
import { Event, Integrations, Track, WebhookBody } from '../../../src/event/index.ts'
import { isJson } from '../../../src/event/json.ts'
import { arbitraryFor, type CodecArbitraryOptions } from '../../../src/testing/laws/index.ts'
import { forAll } from '../../support/check.ts'

const samplesOf = <A>(codec: t.Type<A, unknown>, options?: CodecArbitraryOptions): ReadonlyArray<A> =>
  fc.sample(arbitraryFor(codec, options), { numRuns: 1_000, seed: 5 })

type Tree = Readonly<{ value: number; children: Tree[] }>
const Tree: t.Type<Tree> = t.recursion('Tree', () => t.type({ value: t.number, children: t.array(Tree) }))
type Formula = string | { readonly not: Formula } | { readonly and: [Formula, Formula] }
const Formula: t.Type<Formula> = t.recursion('Formula', () =>
  t.union([t.type({ and: t.tuple([Formula, Formula]) }), t.type({ not: Formula }), t.string]),
)

const List: t.Mixed = t.recursion('List', () => t.type({ next: t.union([List, t.undefined]) }))
const Ordered = t.intersection([Track, t.strict({ event: t.literal('Ordered') })])

/** io-ts takes it for a codec like others; only its type is narrower. */
const never = t.never as unknown as t.Mixed
const Id = t.refinement(t.string, (text) => /^ev_[0-9a-f]{24}$/.test(text), 'EventId')
const isDate = (u: unknown): u is Date => u instanceof Date
const Day = new t.Type<Date, string>('Day', isDate, () => t.success(new Date(0)), String)

const fixed: ReadonlyArray<t.Mixed> = [
  ...[t.null, t.string, t.number, t.boolean, t.unknown, t.any, t.UnknownArray, t.UnknownRecord, t.literal(3)],
  ...[t.keyof({ a: 1, b: 1 }), t.Int, Tree, Formula, t.readonlyArray(t.string), t.array(never)],
  ...[t.record(t.keyof({ a: 1, b: 1 }), t.Int), t.record(t.string, never)],
  ...[t.record(t.union([t.literal('x'), t.literal('y')]), t.null), t.exact(t.type({ a: t.string }))],
  ...[t.type({ a: t.union([t.string, t.undefined]) }), t.partial({ a: t.string, b: t.undefined })],
  // The class of io-ts that is deprecated.
  Object.assign(t.type({ a: t.string }), { _tag: 'StrictType' }),
  t.intersection([t.type({ a: t.type({ x: t.string }) }), t.type({ a: t.type({ y: t.number }) })]),
  t.intersection([t.type({ a: t.literal('only') }), t.type({ a: t.string, b: t.number })]),
  t.intersection([t.string, t.union([t.string, t.number])]),
  Integrations,
]

/** Codecs of any form: each of the fixed ones by itself and inside others. */
const anyCodec: fc.Arbitrary<t.Mixed> = fc.letrec<{ codec: t.Mixed; props: t.Props }>((tie) => ({
  props: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'é'), tie('codec'), { maxKeys: 3 }),
  codec: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<t.Mixed[]>(...fixed),
    tie('props').chain((props) => fc.constantFrom(t.type(props), t.partial(props), t.strict(props))),
    fc.tuple(tie('codec'), tie('codec')).chain(([a, b]) => {
      const both = t.intersection([t.type({ a }), t.partial({ b })])
      const ofTwo: t.Mixed[] = [t.tuple([a, b]), t.union([a, b]), both]
      return fc.constantFrom<t.Mixed[]>(t.array(a), t.readonly(a), t.record(t.string, a), ...ofTwo)
    }),
  ),
})).codec

/** The values that JSON holds: the codec takes them, and reads back what it writes of them. */
const areSound = (codec: t.Mixed, values: ReadonlyArray<unknown>): void => {
  for (const value of values) {
    expect([codec.is(value), isJson(value)]).toEqual([true, true])
    const read = codec.decode(codec.encode(value))
    // The first member of a union that takes a value strips what it does not know.
    if (codec.name.includes('{|')) expect(isRight(read)).toBe(true)
    else expect(read).toEqual({ _tag: 'Right', right: value })
  }
}

it.each([List, Event, WebhookBody, Ordered])('makes values of $name', (codec: t.Mixed) =>
  expect(samplesOf<unknown>(codec).every((value) => isRight(codec.decode(codec.encode(value))))).toBe(true),
)

it('makes values of random codecs', () =>
  forAll(anyCodec, fc.integer(), (codec, seed) =>
    areSound(codec, fc.sample(arbitraryFor<unknown>(codec), { numRuns: 20, seed })),
  ))

const wide: ReadonlyArray<t.Mixed> = [t.undefined, t.void, t.bigint, t.Function, t.number, t.unknown]
it.each(wide)('makes values of $name that JSON does not hold only if asked for', (codec) => {
  const values = samplesOf<unknown>(codec, { json: false })
  expect(values.every((value) => codec.is(value))).toBe(true)
  expect(values.some((value) => !isJson(value))).toBe(true)
})

const rule = 'has a rule that 10000 samples break: give { overrides: [["EventId", values]] }'
const Nested: t.Type<Tree> = t.recursion('Nested', () =>
  t.refinement(t.type({ value: t.number, children: t.array(Nested) }), () => false, 'Bad'),
)
const Endless: t.Mixed = t.recursion('Endless', () => t.type({ next: Endless }))
it.each<readonly [t.Mixed, string]>([
  [t.array(Endless), 'the codec "Endless" at a[0] is endless: each of its values holds another one: give'],
  ...[t.undefined, t.void, t.bigint, t.Function, never].map(
    (codec) => [t.tuple([codec]), `"${codec.name}" at a[0] has no values that JSON can hold: give`] as const,
  ),
  [t.array(Day), '"Day" at a[0] says nothing of its values: give { overrides: [["Day", values]] }'],
  [t.array(Id), `arbitraryFor: the codec "EventId" at a[0] ${rule}`],
  [t.intersection([t.type({ a: t.string }), t.type({ a: t.number })]), 'has a rule'],
  [Nested, '"Nested" at a has a rule'],
])('says where a codec has no values that it can make: %#', (codec, fault) =>
  expect(() => arbitraryFor(t.type({ a: codec }))).toThrow(fault),
)

it('takes overrides by codec and by name', () => {
  const Order = t.type({ days: t.array(Day), id: Id })
  const given = ['EventId', fc.stringMatching(/^ev_[0-9a-f]{24}$/)] as const
  for (const key of [Day, 'Day']) {
    const overrides = [[key, fc.constant(new Date(7))], given] as const
    expect(samplesOf(Order, { overrides }).every(Order.is)).toBe(true)
  }
})

it('reaches optional keys, the members of unions, and depth', () => {
  const keys = samplesOf(t.partial({ a: t.string })).filter((value) => 'a' in value).length
  expect(keys > 300 && keys < 700).toBe(true)
  const formulas = samplesOf(Formula)
  expect(formulas.filter((each) => typeof each === 'string').length).toBeGreaterThan(100)
  expect(formulas.filter((each) => JSON.stringify(each).split('{').length > 4).length).toBeGreaterThan(20)
})

it.each([
  [0, 3],
  [20, 45],
])('shrinks a recursive value of %i or more characters to one of at most %i', (least, most) => {
  const isShort = fc.property(arbitraryFor(Formula), (each) => JSON.stringify(each).length < least)
  const [found] = fc.check(isShort, { seed: 1 }).counterexample ?? []
  expect(JSON.stringify(found).length).toBeLessThan(most)
})

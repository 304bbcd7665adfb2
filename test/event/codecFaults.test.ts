import * as t from 'io-ts'
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { faultsOf } from '../../src/event/codecFaults.ts'

const said = <A>(codec: t.Type<A, unknown>, input: unknown): ReadonlyArray<string> => {
  const decoded = codec.decode(input)
  return isLeft(decoded) ? faultsOf(decoded.left).map(({ path, message }) => `${path}: ${message}`) : ['fine']
}

const Port = t.brand(
  t.number,
  (n): n is t.Branded<number, { readonly Port: symbol }> => n > 0 && n < 65_536,
  'Port',
)

describe('faultsOf', () => {
  it('for members of objects, arrays, tuples and records', () => {
    const codec = t.type({
      a: t.string,
      list: t.array(t.number),
      pair: t.tuple([t.string, t.boolean]),
      map: t.record(t.string, t.Int),
    })
    expect(
      said(codec, { list: [1, 'x', null], pair: ['a', 'b'], map: { 'some key': 1.5, 'a.b': 'x' } }),
    ).toEqual([
      'a: is missing: it must be a string',
      'list[1]: must be a number, not a string',
      'list[2]: must be a number, not null',
      'pair[1]: must be true or false, not a string',
      'map.some key: must be a whole number',
      'map["a.b"]: must be a whole number',
    ])
    expect(said(codec, [])).toEqual([': must be an object, not an array'])
  })

  it('without the members of intersections and wrappers in the paths', () => {
    const codec = t.exact(
      t.intersection([
        t.type({ a: t.string }),
        t.partial({ b: t.readonly(t.type({ c: t.literal('x') })), d: t.keyof({ p: 0, q: 0 }) }),
      ]),
    )
    expect(said(codec, { a: 1, b: { c: 'y' }, d: 'r' })).toEqual([
      'a: must be a string, not a number',
      'b.c: must be "x"',
      'd: must be one of "p", "q"',
    ])
    expect(said(codec, 5)).toEqual([': must be an object, not a number'])
  })

  it('for unions of plain things: every one that would be right', () =>
    expect(said(t.type({ a: t.union([t.string, t.number, t.null]) }), { a: true })).toEqual([
      'a: must be a string or a number or null, not a boolean',
    ]))

  it('for unions of objects: only the member that came furthest', () => {
    const codec = t.union([
      t.type({ kind: t.literal('a'), x: t.string, y: t.string }),
      t.type({ url: t.string }),
    ])
    expect(said(codec, { url: 5 })).toEqual(['url: must be a string, not a number'])
    expect(said(t.array(codec), [{ url: 'fine' }, 3])).toEqual(['[1]: must be an object, not a number'])
  })

  it('for unions of kinds: which kinds there are, and the faults of the kind that it is', () => {
    const codec = t.union([
      t.type({ type: t.literal('a'), x: t.string }),
      t.intersection([t.type({ type: t.literal('b') }), t.partial({ y: t.number })]),
    ])
    expect(said(codec, { type: 'c' })).toEqual(['type: must be one of "a", "b"'])
    expect(said(codec, {})).toEqual(['type: must be one of "a", "b"'])
    expect(said(codec, { type: 'b', y: 'no' })).toEqual(['y: must be a number, not a string'])
    expect(said(codec, null)).toEqual([': must be an object, not null'])
  })

  it('for codecs with a name or a message of their own', () => {
    expect(said(Port, 70_000)).toEqual([': must be a valid Port'])
    const loud = new t.Type(
      'Loud',
      t.string.is,
      (_, context) => t.failure('hunter2', context, 'must be in capitals'),
      t.identity,
    )
    expect(said(t.type({ word: loud }), { word: 'hunter2' })).toEqual(['word: must be in capitals'])
  })

  it('for codecs that stand for themselves, and pipes', () => {
    interface Tree {
      readonly children: Tree[]
    }
    const Tree: t.Type<Tree> = t.recursion('Tree', () => t.type({ children: t.array(Tree) }))
    expect(said(Tree, { children: [{ children: [{}] }] })).toEqual([
      'children[0].children[0].children: is missing: it must be an array',
    ])
    const both = t.intersection([t.type({ a: t.string }), t.type({ b: t.string })])
    const checked: t.Type<t.TypeOf<typeof both>> = new t.Type('Checked', both.is, both.validate, t.identity)
    const piped = both.pipe(checked)
    expect(said(piped, { a: 1 })).toEqual([
      'a: must be a string, not a number',
      'b: is missing: it must be a string',
    ])
  })
})

it('never shows a value, and never throws', () => {
  const secret = 's3cr3t-value'
  const codec = t.type({
    a: t.union([t.Int, t.type({ b: t.literal(1) })]),
    c: t.array(
      t.union([t.type({ k: t.literal('x'), v: t.number }), t.type({ k: t.literal('y'), v: t.boolean })]),
    ),
    d: t.record(t.string, Port),
    e: t.tuple([t.string, t.bigint]),
  })
  const value = fc.anything({
    maxDepth: 2,
    values: [fc.constant(secret), fc.integer(), fc.constant(null), fc.constant('x')],
  })
  const input = fc.record(
    { a: value, c: fc.oneof(value, fc.array(fc.record({ k: value, v: value }))), d: value, e: value },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(input, (each) => {
      const text = said(codec, each)
        .join('\n')
        .replace(/^.*?: /gm, '')
      expect(text).not.toContain(secret)
      expect(text).not.toMatch(/undefined: |\b\d+\./)
    }),
  )
})

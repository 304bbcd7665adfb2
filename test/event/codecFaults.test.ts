import * as t from 'io-ts'
import { expect, it } from 'vitest'
import { textsIn } from '../support/decoded.ts'

const Port = t.refinement(t.number, (n) => n > 0 && n < 65_536, 'Port')

const [pair, map] = [t.tuple([t.string, t.boolean]), t.record(t.string, t.Int)]
const Members = t.type({ a: t.string, list: t.array(t.number), pair, map })
const Optional = t.partial({ b: t.readonly(t.type({ c: t.literal('x') })), d: t.keyof({ p: 0, q: 0 }) })
const Wrapped = t.exact(t.intersection([t.type({ a: t.string }), Optional]))
const Far = t.union([t.type({ kind: t.literal('a'), x: t.string, y: t.string }), t.type({ url: t.string })])
const KindB = t.intersection([t.type({ type: t.literal('b') }), t.partial({ y: t.number })])
const Kinds = t.union([t.type({ type: t.literal('a'), x: t.string }), KindB])
const loud: t.Validate<unknown, string> = (_, at) => t.failure('hunter2', at, 'must be in capitals')
const Loud = new t.Type('Loud', t.string.is, loud, t.identity)
type Tree = Readonly<{ children: Tree[] }>
const Tree: t.Type<Tree> = t.recursion('Tree', () => t.type({ children: t.array(Tree) }))
const tree = { children: [{ children: [{}] }] }
const Both = t.intersection([t.type({ a: t.string }), t.type({ b: t.string })])
const Piped = Both.pipe(new t.Type('Checked', Both.is, Both.validate, t.identity))

const cases: ReadonlyArray<readonly [of: string, t.Mixed, input: unknown, ...said: ReadonlyArray<string>]> = [
  [
    'members of objects, arrays, tuples and records',
    Members,
    { list: [1, 'x', null], pair: ['a', 'b'], map: { 'some key': 1.5, 'a.b': 'x' } },
    ...['a: is missing: it must be a string', 'list[1]: must be a number, not a string'],
    ...['list[2]: must be a number, not null', 'pair[1]: must be true or false, not a string'],
    ...['map.some key: must be a whole number', 'map["a.b"]: must be a whole number'],
  ],
  ['what is no object', Members, [], ': must be an object, not an array'],
  [
    'intersections and wrappers, whose members are not in the paths',
    Wrapped,
    { a: 1, b: { c: 'y' }, d: 'r' },
    'a: must be a string, not a number',
    'b.c: must be "x"',
    'd: must be one of "p", "q"',
  ],
  ['what is no object, inside wrappers', Wrapped, 5, ': must be an object, not a number'],
  [
    'unions of plain things: every one that would be right',
    t.type({ a: t.union([t.string, t.number, t.null]) }),
    { a: true },
    'a: must be a string or a number or null, not a boolean',
  ],
  ['the member that came furthest', Far, { url: 5 }, 'url: must be a string, not a number'],
  ['no member', t.array(Far), [{ url: 'fine' }, 3], '[1]: must be an object, not a number'],
  ['which kinds there are', Kinds, { type: 'c' }, 'type: must be one of "a", "b"'],
  ['a missing kind', Kinds, {}, 'type: must be one of "a", "b"'],
  ['the kind that it is', Kinds, { type: 'b', y: 'no' }, 'y: must be a number, not a string'],
  ['no kind', Kinds, null, ': must be an object, not null'],
  ['codecs with a name', Port, 70_000, ': must be a valid Port'],
  ['codecs with a message', t.type({ word: Loud }), { word: 'hunter2' }, 'word: must be in capitals'],
  ['recursive codecs', Tree, tree, 'children[0].children[0].children: is missing: it must be an array'],
  ['pipes', Piped, { a: 1 }, 'a: must be a string, not a number', 'b: is missing: it must be a string'],
]

it.each(cases.map(([about, ...rest]) => [about, rest] as const))(
  'faultsOf names %s',
  (_, [codec, input, ...expected]) => expect(textsIn(codec, input)).toEqual(expected),
)

it('names the places of the first 1,000 errors', () => {
  expect(textsIn(t.array(t.number), new Array(5_000).fill(''))).toHaveLength(1_000)
})

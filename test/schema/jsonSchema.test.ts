import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import * as fc from 'fast-check'
import * as t from 'io-ts'
import { describe, expect, it } from 'vitest'
import { Event, Track, WebhookBody, WireBody, eventCodec } from '../../src/event/index.ts'
import { jsonSchemaOf, openApiOf, withSchema, type JsonSchema } from '../../src/schema/index.ts'
import { anyEvent, arbitraryFor, invalidFor, wireBody } from '../../src/testing/laws/index.ts'
import { runs } from '../support/runs.ts'

const schemaOf = (codec: t.Mixed): JsonSchema => {
  const schema = jsonSchemaOf(codec)
  if (schema._tag === 'Left') throw new Error(JSON.stringify(schema.left))
  return schema.right
}

const judgeOf = (codec: t.Mixed): ((value: unknown) => boolean) => {
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  const validate = ajv.compile(schemaOf(codec))
  return (value) => validate(value)
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown

type Tree = Readonly<{ at: number; children: Tree[] }>
const none = [] as unknown as [t.Mixed]
type Case = [name: string, codec: t.Mixed, values?: fc.Arbitrary<unknown>]

describe('a codec and its schema agree', () => {
  const Recursive = t.recursion<Tree>('Tree', (self) => t.type({ at: t.number, children: t.array(self) }))
  const Strict = t.recursion<Tree>('Strict', (self) => t.strict({ at: t.number, children: t.array(self) }))
  const Order = t.strict({ event: t.literal('Ordered'), properties: t.type({ total: t.number }) })
  const choice = t.union([t.strict({ b: t.number }), t.strict({ c: t.null })])
  const ordered = { event: 'Ordered', properties: { total: 1 } }
  const orders = anyEvent.filter((each) => Track.is(each)).map((each) => ({ ...each, ...ordered }))
  const codecs: ReadonlyArray<Case> = [
    ['Event', Event, anyEvent],
    ['an own codec of events', eventCodec(), anyEvent],
    ['WireBody', WireBody, wireBody],
    ...WireBody.types.map((each) => [each.name, each, wireBody.filter((body) => each.is(body))] as Case),
    ['Ordered', t.intersection([Track, Order]), orders],
    ['a tree', Recursive],
    ['a strict tree with more', t.intersection([t.union([Strict, choice]), t.type({ d: t.string })])],
    ['tuples', t.tuple([t.intersection([t.number, t.Int]), t.tuple(none)])],
    ['a keyed record', t.record(t.keyof({ a: null, b: null }), t.number)],
    ['a record of literals', t.record(t.union([t.keyof({ a: null }), t.literal('b')]), t.number)],
    ['names of Object', t.intersection([t.type({ constructor: t.null }), t.partial({ toString: t.null })])],
    ['gaps', t.record(t.keyof({ a: null }), t.union([t.number, t.undefined])), fc.constant({ a: undefined })],
    ['a choice of strict parts', t.intersection([t.type({ a: t.string }), choice])],
    ['a record', t.record(t.string, t.union([t.null, t.readonlyArray(t.boolean)]))],
    ['literals', t.type({ a: t.union([t.literal('x'), t.literal(1)]), b: t.keyof({ y: null }) })],
    ['optional members', t.intersection([t.type({ a: t.string }), t.partial({ b: t.number })])],
  ]

  it.each<Case>(codecs)('%s: ajv takes what it writes, and refuses what it refuses', (_, codec, values) => {
    const valid = values ?? arbitraryFor<unknown>(codec)
    const judge = judgeOf(codec)
    // Ten times: a value costs less than a delivery.
    const numRuns = codec === Event || codec === WireBody ? runs(10) : runs()
    const written = (value: unknown): boolean => judge(plain(codec.encode(value))) || judge(plain(value))
    fc.assert(
      fc.property(valid, (value) => {
        expect([codec.is(value), written(value)]).toEqual([true, true])
      }),
      { numRuns },
    )
    const overrides = values === undefined ? [] : [[codec, values] as const]
    fc.assert(
      fc.property(invalidFor(codec, { overrides }), ({ input }) => {
        const value = plain(input)
        expect([value, judge(value)]).toEqual([value, codec.is(value)])
      }),
      { numRuns },
    )
  })

  it('the bodies of events: WebhookBody has the schema of what it encodes', () => {
    expect(schemaOf(WebhookBody)).toEqual(schemaOf(WireBody))
  })
})

describe('what says nothing', () => {
  const Positive = t.refinement(t.number, (n) => n > 0, 'Positive')
  const opaque = new t.Type<string>('Opaque', t.string.is, t.string.validate, t.identity)

  it('is a fault with its path, and never an empty schema', () => {
    const codec = t.type({
      a: Positive,
      'b c': t.array(t.type({ d: opaque })),
      e: t.tuple([t.string, t.Function]),
      f: t.record(t.union([t.string, t.literal(1)]), t.string),
    })
    const message = (name: string): string => `the codec ${name} has no schema: add one with withSchema`
    expect(jsonSchemaOf(codec)).toEqual({
      _tag: 'Left',
      left: [
        { path: 'a', message: message('"Positive"') },
        { path: 'b c["*"].d', message: message('"Opaque"') },
        { path: 'e[1]', message: message('"Function"') },
        { path: 'f', message: message('"{ [K in (string | 1)]: string }"') },
      ],
    })
  })

  it('says so with withSchema, in a copy that decodes alike', () => {
    const noted = withSchema({ type: 'number', exclusiveMinimum: 0 })(Positive)
    expect(schemaOf(t.type({ a: noted }))).toMatchObject({ properties: { a: { exclusiveMinimum: 0 } } })
    expect(jsonSchemaOf(Positive)._tag).toBe('Left')
    const said = [noted.decode(1)._tag, noted.decode(-1)._tag, noted.is(2), noted.name]
    expect(said).toEqual(['Right', 'Left', true, 'Positive'])
    expect(withSchema({ type: 'string' })(opaque).decode('s')._tag).toBe('Right')
    expect(() => withSchema(true as never)(opaque)).toThrow('expected a JSON Schema, got a boolean')
  })

  it('may refer to itself only as a whole: elsewhere its references lead to other places', () => {
    const tree = withSchema({ type: 'object', properties: { next: { $ref: '#' } } })(opaque)
    expect(schemaOf(tree)).toMatchObject({ properties: { next: { $ref: '#' } } })
    expect(jsonSchemaOf(t.type({ tree }))).toMatchObject({ left: [{ path: 'tree' }] })
    expect(openApiOf({ bodies: { tree } })._tag).toBe('Left')
  })

  it('is closed by t.exact to keys that no part of it knows', () => {
    const allOf = [{ properties: { b: { type: 'string' } } }]
    const exact = t.exact(withSchema({ type: 'object', allOf })(t.type({ b: t.string })))
    expect(schemaOf(exact)).toMatchObject({ allOf, unevaluatedProperties: false })
    expect(schemaOf(t.intersection([exact, t.type({})]))).not.toHaveProperty('unevaluatedProperties')
  })
})

it('a member that may be undefined may be absent; unknown says nothing on purpose', () => {
  const codec = t.type({ a: t.union([t.string, t.undefined]), b: t.unknown, c: t.null })
  const properties = { a: { type: 'string' }, b: {}, c: { type: 'null' } }
  const $schema = 'https://json-schema.org/draft/2020-12/schema'
  expect(schemaOf(codec)).toEqual({ $schema, type: 'object', properties, required: ['c'] })
  expect(schemaOf(t.union([t.undefined, t.void]))).toEqual({ $schema, not: {} })
})

import * as fc from 'fast-check'
import type * as t from 'io-ts'
import { isRecord } from '../../core/json.ts'
import type { Fields } from '../../core/json.ts'
import { showPath } from '../../event/json.ts'
import type { Step } from '../../event/json.ts'
import { jsonNumber, jsonValue, key } from './jsonValues.ts'
import { utf16Text } from './texts.ts'

/** How values are made from a codec. */
export interface CodecArbitraryOptions {
  /** False: also values that JSON does not hold: undefined, BigInt, functions, NaN, Infinity, -0. Default true. */
  readonly json?: boolean
  /**
   * Values for codecs that say nothing of theirs, such as one made with `new t.Type`, or have none that JSON holds. A codec is named by
   * itself or by its name; the first that fits is used.
   */
  readonly overrides?: ReadonlyArray<readonly [codec: t.Mixed | string, values: fc.Arbitrary<unknown>]>
}

/** The codecs of io-ts that are made of others. */
type Composite =
  | t.InterfaceType<t.Props>
  | (t.Mixed & { readonly _tag: 'StrictType'; readonly props: t.Props })
  | t.PartialType<t.Props>
  | t.DictionaryType<t.Mixed, t.Mixed>
  | t.ArrayType<t.Mixed>
  | t.ReadonlyArrayType<t.Mixed>
  | t.TupleType<t.Mixed[]>
  | t.UnionType<t.Mixed[]>
  | t.IntersectionType<t.Mixed[]>
  | t.RefinementType<t.Mixed>
  | t.ReadonlyType<t.Mixed>
  | t.ExactType<t.Mixed>
  | t.RecursiveType<t.Mixed>

/** The codec by its `_tag`, which classes of a second copy of io-ts have too. */
export type TaggedCodec =
  | Composite
  | t.LiteralType<string | number | boolean>
  | t.KeyofType<Record<string, unknown>>
  | (t.Mixed & { readonly _tag: undefined })

/** What a codec is made of. For other tags than these a switch ends in its default case. */
export const tagged = (codec: t.Mixed): TaggedCodec =>
  // Every class of io-ts 2.2 has a `_tag`, and it alone decides which members are read.
  codec as TaggedCodec

const anyObject = fc.dictionary(key, jsonValue, { noNullPrototype: true })

const jsonLeaves = {
  NullType: fc.constant(null),
  UnknownType: jsonValue,
  AnyType: jsonValue,
  StringType: utf16Text,
  NumberType: jsonNumber,
  BooleanType: fc.boolean(),
  AnyArrayType: fc.array(jsonValue),
  AnyDictionaryType: anyObject,
  ObjectType: anyObject,
}
const otherLeaves = {
  UndefinedType: fc.constant(undefined),
  VoidType: fc.constant(undefined),
  FunctionType: fc.constant(() => undefined),
  BigIntType: fc.bigInt(),
  NumberType: fc.oneof(jsonNumber, fc.double(), fc.constantFrom(NaN, Infinity, -0)),
  UnknownType: fc.anything(),
  AnyType: fc.anything(),
}
const JSON_LEAVES = new Map<string, fc.Arbitrary<unknown>>(Object.entries(jsonLeaves))
const ALL_LEAVES = new Map<string, fc.Arbitrary<unknown>>(Object.entries({ ...jsonLeaves, ...otherLeaves }))

/** The keys that a dictionary must have; undefined if it may have any. */
const domainKeys = (mixed: t.Mixed): ReadonlyArray<string> | undefined => {
  const codec = tagged(mixed)
  if (codec._tag === 'LiteralType') return [String(codec.value)]
  if (codec._tag === 'KeyofType') return Object.keys(codec.keys)
  if (codec._tag !== 'UnionType') return undefined
  const keys = codec.types.map(domainKeys)
  return keys.every((each) => each !== undefined) ? keys.flat() : undefined
}

const ABSENT = Symbol('absent')
const MAX_MISSES = 10_000

/** The number of codecs in a codec; infinite if it is recursive. */
const weight = (mixed: t.Mixed): number => {
  const codec = tagged(mixed)
  if (codec._tag === 'RecursiveType') return Infinity
  const parts: ReadonlyArray<t.Mixed> =
    'props' in codec
      ? Object.values(codec.props)
      : 'types' in codec
        ? codec.types
        : 'type' in codec
          ? [codec.type]
          : 'codomain' in codec
            ? [codec.domain, codec.codomain]
            : []
  return parts.reduce((sum, part) => sum + weight(part), 1)
}

const without = (object: Fields, absent: unknown): Fields =>
  Object.fromEntries(Object.entries(object).filter(([, member]) => member !== absent))

const merged = (one: unknown, other: unknown): unknown => {
  if (!isRecord(one) || !isRecord(other)) return other
  const common = Object.keys(other).filter((name) => Object.hasOwn(one, name))
  return {
    ...one,
    ...other,
    ...Object.fromEntries(common.map((name) => [name, merged(one[name], other[name])])),
  }
}

/**
 * Values of an io-ts codec: each satisfies `codec.is`. Optional keys are left out at times, recursive values
 * end, and a union shrinks to its smallest member. Throws for a codec without values, one that says nothing of its values, and one with a rule
 * that 10,000 samples in a row break; the message names the codec and its path, and an override is the way out.
 *
 * @example
 * import { arbitraryFor } from 'headrace/testing/laws'
 * import * as fc from 'fast-check'
 * import * as t from 'io-ts'
 * const Order = t.intersection([t.type({ total: t.number, items: t.array(t.string) }), t.partial({ note: t.string })])
 * fc.assert(fc.property(arbitraryFor(Order), (order) => Order.is(JSON.parse(JSON.stringify(order)))))
 */
export const arbitraryFor = <A>(
  codec: t.Type<A, unknown>,
  options: CodecArbitraryOptions = {},
): fc.Arbitrary<A> => {
  const { overrides = [], json = true } = options
  const leaves = json ? JSON_LEAVES : ALL_LEAVES
  const depth = { depthIdentifier: fc.createDepthIdentifier(), depthSize: 'small', maxDepth: 12 } as const
  const ties = new Map<t.Mixed, fc.Arbitrary<unknown>>()

  const overrideOf = (each: t.Mixed) =>
    overrides.find(([given]) => given === each || given === each.name)?.[1]

  const fault = (each: t.Mixed, path: ReadonlyArray<Step>, why: string): Error => {
    const place = path.length === 0 ? '' : ` at ${showPath(path)}`
    const name = JSON.stringify(each.name)
    return new Error(
      `arbitraryFor: the codec ${name}${place} ${why}: give { overrides: [[${name}, values]] }`,
    )
  }

  const isEmpty = (mixed: t.Mixed): boolean => {
    if (overrideOf(mixed) !== undefined) return false
    const codec = tagged(mixed)
    const tag = String(codec._tag)
    if (codec._tag === 'UnionType') return codec.types.every(isEmpty)
    if (/^(Readonly|Exact|Refinement)Type$/.test(tag) && 'type' in codec) return isEmpty(codec.type)
    return tag === 'NeverType' || (ALL_LEAVES.has(tag) && !leaves.has(tag))
  }

  /** Only what the codec itself calls one of its values. */
  const narrowed = (values: fc.Arbitrary<unknown>, each: t.Mixed, path: ReadonlyArray<Step>) => {
    let misses = 0
    return values.filter((value) => {
      misses = each.is(value) ? 0 : misses + 1
      if (misses > MAX_MISSES) throw fault(each, path, `has a rule that ${String(MAX_MISSES)} samples break`)
      return misses === 0
    })
  }

  /** Empty more and more often the deeper it stands, if it may hold its own kind. */
  const bounded = (item: t.Mixed, empty: object, values: fc.Arbitrary<object>): fc.Arbitrary<object> =>
    weight(item) < Infinity
      ? values
      : fc.oneof({ ...depth, withCrossShrink: true }, fc.constant(empty), { weight: 3, arbitrary: values })

  const recordOf = (members: ReadonlyArray<readonly [string, t.Mixed]>, path: ReadonlyArray<Step>) =>
    members.map(([name, member]) => [name, derive(member, [...path, name])] as const)

  const derive = (mixed: t.Mixed, path: ReadonlyArray<Step>): fc.Arbitrary<unknown> => {
    const each = tagged(mixed)
    const known = overrideOf(mixed) ?? leaves.get(String(each._tag))
    if (known !== undefined) return known
    if (isEmpty(mixed)) throw fault(mixed, path, json ? 'has no values that JSON can hold' : 'has no values')
    switch (each._tag) {
      case 'LiteralType':
        return fc.constant(each.value)
      case 'KeyofType':
        return fc.constantFrom(...Object.keys(each.keys))
      case 'InterfaceType':
      case 'StrictType':
        return fc.record(Object.fromEntries(recordOf(Object.entries(each.props), path)), {
          noNullPrototype: true,
        })
      case 'PartialType': {
        const inhabited = Object.entries(each.props).filter(([, member]) => !isEmpty(member))
        const optional = recordOf(inhabited, path).map(
          ([name, values]) => [name, fc.option(values, { nil: ABSENT, freq: 2, ...depth })] as const,
        )
        return fc
          .record(Object.fromEntries(optional), { noNullPrototype: true })
          .map((members) => without(members, ABSENT))
      }
      case 'DictionaryType': {
        const keys = domainKeys(each.domain)
        if (keys !== undefined) {
          const members = keys.map((name) => [name, each.codomain] as const)
          return fc.record(Object.fromEntries(recordOf(members, path)), { noNullPrototype: true })
        }
        if (isEmpty(each.codomain)) return fc.constant({})
        const names = each.domain.name === 'string' ? key : derive(each.domain, [...path, '*'])
        // Sound: the keys of a record are strings.
        const texts = (names as fc.Arbitrary<string>).filter((name) => name !== '__proto__')
        const values = derive(each.codomain, [...path, '*'])
        return bounded(each.codomain, {}, fc.dictionary(texts, values, { maxKeys: 5, noNullPrototype: true }))
      }
      case 'ArrayType':
      case 'ReadonlyArrayType':
        if (isEmpty(each.type)) return fc.constant([])
        return bounded(each.type, [], fc.array(derive(each.type, [...path, 0]), { maxLength: 8 }))
      case 'TupleType':
        return fc.tuple(...each.types.map((type, at) => derive(type, [...path, at])))
      case 'UnionType': {
        const members = each.types.filter((type) => !isEmpty(type)).sort((a, b) => weight(a) - weight(b))
        return fc.oneof({ ...depth, withCrossShrink: true }, ...members.map((type) => derive(type, path)))
      }
      case 'IntersectionType': {
        const all = fc.tuple(...each.types.map((type) => derive(type, path)))
        const meant = all.map((values): unknown => {
          // A key of two members has the value of either.
          const value = values.reduce(merged)
          return each.is(value) ? value : values.reduceRight(merged)
        })
        return narrowed(meant, each, path)
      }
      case 'ReadonlyType':
        return derive(each.type, path)
      case 'ExactType':
      case 'RefinementType':
        return narrowed(derive(each.type, path), each, path)
      case 'RecursiveType':
        return ties.get(each) ?? tied(each, path)
      default:
        throw fault(mixed, path, 'says nothing of its values')
    }
  }

  const tied = (each: t.RecursiveType<t.Mixed>, path: ReadonlyArray<Step>): fc.Arbitrary<unknown> =>
    fc.letrec<{ value: unknown }>((tie) => {
      ties.set(each, tie('value'))
      return { value: derive(each.type, path) }
    }).value

  const values = derive(codec, [])
  // A rule that hardly any value satisfies is told here, and not in the middle of a check.
  fc.sample(values, { numRuns: 50, seed: 1 })
  // Each value satisfies `codec.is`: a law shows it for random codecs.
  return values as fc.Arbitrary<A>
}

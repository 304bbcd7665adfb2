import * as fc from 'fast-check'
import { getOrElse } from 'fp-ts/lib/Either.js'
import * as t from 'io-ts'
import { isRecord } from '../../core/json.ts'
import { checkOptions, flag, guarded, strict, withDefault } from '../../core/options.ts'
import type { AnyCodec } from '../../event/codecFaults.ts'
import { showPath, type Key } from '../../event/json.ts'
import * as Limits from '../../event/limits.ts'
import { Integrations, members } from '../../event/model.ts'
import { WebhookBody, WireBody } from '../../event/webhookBody.ts'
import { jsonNumber, jsonObject, jsonValue, key, smallObject, isoTimestamp } from './jsonValues.ts'
import { id, utf16Text } from './texts.ts'

/** How values are made from a codec. */
export interface CodecArbitraryOptions {
  /** False: also values outside JSON: undefined, BigInt, functions, NaN, Infinity, -0. Default true. */
  readonly json?: boolean
  /**
   * Values for codecs that do not tell theirs, such as one made with `new t.Type`, or have none that JSON
   * holds. A codec is named by itself or by its name; the first that fits is used.
   */
  readonly overrides?: ReadonlyArray<readonly [codec: t.Mixed | string, values: fc.Arbitrary<unknown>]>
}

/** The parts of a codec, each with the step to its values: none for its own, `*` for all of them. */
export const partsIn = (codec: AnyCodec): ReadonlyArray<readonly [step: Key | undefined, t.Mixed]> => {
  const { _tag: tag = '', props = {}, types = [], type, codomain } = codec
  return [
    ...Object.entries(props),
    ...types.map((part, at) => [tag === 'TupleType' ? at : undefined, part] as const),
    ...(type === undefined ? [] : [[tag.endsWith('ArrayType') ? '*' : undefined, type] as const]),
    ...(codomain === undefined ? [] : [['*', codomain] as const]),
  ]
}

/** The number of codecs in a codec; infinite if it is recursive. */
const weight = (codec: AnyCodec): number =>
  codec._tag === 'RecursiveType' ? Infinity : partsIn(codec).reduce((sum, [, part]) => sum + weight(part), 1)

/** The keys that a dictionary must have; undefined if it may have any. */
const literalKeys = ({ _tag, value, keys, types }: AnyCodec): ReadonlyArray<string> | undefined => {
  if (_tag === 'LiteralType') return [String(value)]
  if (_tag === 'KeyofType') return Object.keys(keys ?? {})
  const all = _tag === 'UnionType' ? types?.map(literalKeys) : undefined
  return all?.every((each) => each !== undefined) ? all.flat() : undefined
}

const anyObject = fc.dictionary(key, jsonValue, { noNullPrototype: true })
const jsonLeaves: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
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
const otherLeaves: typeof jsonLeaves = {
  UndefinedType: fc.constant(undefined),
  VoidType: fc.constant(undefined),
  FunctionType: fc.constant(() => undefined),
  BigIntType: fc.bigInt(),
  NumberType: fc.oneof(jsonNumber, fc.double(), fc.constantFrom(NaN, Infinity, -0)),
  UnknownType: fc.anything(),
  AnyType: fc.anything(),
}

const messageId: fc.Arbitrary<string> = fc.oneof(
  fc.uuid(),
  id.map((each) => each.slice(0, Limits.messageIdLength)),
  fc.constant('m'.repeat(Limits.messageIdLength)),
)

export const integrations: fc.Arbitrary<Integrations> = fc.dictionary(
  fc.oneof(fc.constantFrom('All', 'Warehouse', 'warehouse'), key),
  fc.oneof(fc.boolean(), smallObject),
  { maxKeys: 4, noNullPrototype: true },
)

const isPairs = (value: unknown): value is NonNullable<CodecArbitraryOptions['overrides']> =>
  Array.isArray(value) && value.every((each) => Array.isArray(each) && each.length === 2)

const [track] = members.track
/** Values for codecs of events that do not tell theirs. */
const ours = new Map<t.Mixed, fc.Arbitrary<unknown>>([
  [track.event, id],
  [track.messageId, messageId],
  [track.timestamp, isoTimestamp],
  [track.context, jsonObject],
  [Integrations, integrations],
])

type Overrides = NonNullable<CodecArbitraryOptions['overrides']>
const arbitraryOptions = strict({
  json: withDefault(flag, true),
  overrides: withDefault(guarded<Overrides>('a list of [codec, values]', isPairs), []),
})

/** Both objects in one. Shared keys are merged too; if they cannot be, the other's is taken. */
const merged = (one: unknown, other: unknown): unknown => {
  if (!isRecord(one) || !isRecord(other)) return other
  const members = Object.entries(other).map(([name, member]) => [name, merged(one[name], member)] as const)
  return { ...one, ...Object.fromEntries(members) }
}

/**
 * Values of an io-ts codec: each satisfies `codec.is`. Optional keys are left out at times, recursive values
 * end, and a union shrinks to its smallest member. Throws for a codec without values, one that says nothing
 * of its values, and one with a rule that 10,000 samples in a row break; the message names the codec and its
 * path, and an override is the way out. The codecs of headrace need none.
 *
 * @example
 * import { arbitraryFor } from 'headrace/testing/laws'
 * import * as fc from 'fast-check'
 * import * as t from 'io-ts'
 * const Order = t.intersection([
 *   t.type({ total: t.number, items: t.array(t.string) }),
 *   t.partial({ note: t.string }),
 * ])
 * fc.assert(fc.property(arbitraryFor(Order), (order) => Order.is(JSON.parse(JSON.stringify(order)))))
 */
export const arbitraryFor = <A>(
  codec: t.Type<A, unknown>,
  options: CodecArbitraryOptions = {},
): fc.Arbitrary<A> => {
  const { overrides, json } = checkOptions('options of arbitraryFor', arbitraryOptions, options)
  const leaves = new Map(Object.entries(json ? jsonLeaves : { ...jsonLeaves, ...otherLeaves }))
  const depthIdentifier = fc.createDepthIdentifier()
  const depth = { depthIdentifier, depthSize: 'small', maxDepth: 12, withCrossShrink: true } as const
  const ties = new Map<t.Mixed, fc.Arbitrary<unknown>>()

  const fault = ({ name }: t.Mixed, path: ReadonlyArray<Key>, why: string): Error => {
    const codecAt = `${JSON.stringify(name)}${path.length === 0 ? '' : ` at ${showPath(path)}`}`
    const way = `give { overrides: [[${JSON.stringify(name)}, values]] }`
    return new Error(`arbitraryFor: the codec ${codecAt} ${why}: ${way}`)
  }

  const narrowed = (each: t.Mixed, path: ReadonlyArray<Key>, values: fc.Arbitrary<unknown> | undefined) => {
    let misses = 0
    return values?.filter((value) => {
      misses = each.is(value) ? 0 : misses + 1
      if (misses > 10_000) throw fault(each, path, 'has a rule that 10000 samples break')
      return misses === 0
    })
  }

  /** Empty more and more often the deeper it stands, if it may hold its own kind. */
  const bounded = (item: t.Mixed, empty: object, values: fc.Arbitrary<object>): fc.Arbitrary<object> =>
    weight(item) < Infinity ? values : fc.oneof(depth, fc.constant(empty), { weight: 3, arbitrary: values })

  const valuesOf = (each: t.Mixed, path: ReadonlyArray<Key>): fc.Arbitrary<unknown> => {
    const values = derived(each, path)
    if (values !== undefined) return values
    throw fault(each, path, json ? 'has no values that JSON can hold' : 'has no values')
  }

  const knownOf = (each: AnyCodec): fc.Arbitrary<unknown> | undefined => {
    const given = overrides.find(([codec]) => codec === each || codec === each.name)
    return given?.[1] ?? ours.get(each) ?? leaves.get(each._tag ?? '')
  }

  /** Whether it has a value that is finite. */
  const ends = (each: AnyCodec, within: ReadonlyArray<t.Mixed> = []): boolean => {
    if (within.includes(each)) return false
    const { _tag: tag = '' } = each
    if (knownOf(each) !== undefined || /^(Partial|Array|ReadonlyArray|Dictionary)Type$/.test(tag)) return true
    const parts = partsIn(each).map(([, part]) => ends(part, [...within, each]))
    return tag === 'UnionType' ? parts.some((end) => end) : parts.every((end) => end)
  }

  /** Undefined for a codec without values. */
  const derived = (each: AnyCodec, path: ReadonlyArray<Key>): fc.Arbitrary<unknown> | undefined => {
    const { _tag: tag = '', props = {}, types = [] } = each
    const { type = t.unknown, domain = t.string, codomain = t.unknown } = each
    const known = knownOf(each)
    if (known !== undefined) return known
    if (each === WebhookBody)
      return derived(WireBody, path)?.map((body) => getOrElse(() => body)(WebhookBody.decode(body)))
    if (tag === 'NeverType' || Object.hasOwn(otherLeaves, tag)) return undefined
    switch (tag) {
      case 'LiteralType':
        return fc.constant(each.value)
      case 'KeyofType':
        return fc.constantFrom(...Object.keys(each.keys ?? {}))
      case 'InterfaceType':
      case 'StrictType': {
        const all = Object.entries(props).map(([key, part]) => [key, valuesOf(part, [...path, key])] as const)
        return fc.record(Object.fromEntries(all), { noNullPrototype: true })
      }
      case 'PartialType': {
        const optional = Object.entries(props).flatMap(([name, member]) => {
          const entries = derived(member, [...path, name])?.map((value) => [[name, value]] as const)
          return entries === undefined ? [] : fc.option(entries, { nil: [], freq: 2, ...depth })
        })
        return fc.tuple(...optional).map((members) => Object.fromEntries<unknown>(members.flat()))
      }
      case 'DictionaryType': {
        const keys = literalKeys(domain)
        if (keys !== undefined)
          return derived(t.type(Object.fromEntries(keys.map((name) => [name, codomain]))), path)
        const inside = [...path, '*']
        const values = derived(codomain, inside)
        if (values === undefined) return fc.constant({})
        const names = domain.name === 'string' ? key : valuesOf(domain, inside)
        // Sound: the keys of a record are strings.
        const texts = (names as fc.Arbitrary<string>).filter((name) => name !== '__proto__')
        return bounded(codomain, {}, fc.dictionary(texts, values, { maxKeys: 5, noNullPrototype: true }))
      }
      case 'ArrayType':
      case 'ReadonlyArrayType': {
        const items = derived(type, [...path, 0])
        return items === undefined ? fc.constant([]) : bounded(type, [], fc.array(items, { maxLength: 8 }))
      }
      case 'TupleType':
        return fc.tuple(...types.map((part, at) => valuesOf(part, [...path, at])))
      case 'UnionType': {
        const sorted: AnyCodec[] = [...types].sort((a, b) => weight(a) - weight(b))
        const members = sorted.flatMap((part) => derived(part, path) ?? [])
        // A list may end with undefined, and with nothing else.
        const isEndless = sorted.every((part) => weight(part) === Infinity || part._tag === 'UndefinedType')
        if (isEndless && sorted.some((one) => weight(one) < Infinity)) members.unshift(fc.constant(undefined))
        return members.length === 0 ? undefined : fc.oneof(depth, ...members)
      }
      case 'IntersectionType': {
        // A key of two members has the value of either.
        const meant = fc.tuple(...types.map((part) => valuesOf(part, path))).map((values): unknown => {
          const value = values.reduce(merged)
          return each.is(value) ? value : values.reduceRight(merged)
        })
        return narrowed(each, path, meant)
      }
      case 'ReadonlyType':
      case 'ExactType':
      case 'RefinementType':
        return narrowed(each, path, derived(type, path))
      case 'RecursiveType': {
        if (!ends(each)) throw fault(each, path, 'is endless: each of its values holds another one')
        const tied = (tie: (name: 'value') => fc.Arbitrary<unknown>) => {
          ties.set(each, tie('value'))
          return { value: valuesOf(type, path) }
        }
        return ties.get(each) ?? fc.letrec<{ value: unknown }>(tied).value
      }
      default:
        throw fault(each, path, 'says nothing of its values')
    }
  }

  const values = valuesOf(codec, [])
  // A rule that hardly any value satisfies is told here, and not in the middle of a check.
  fc.sample(values, { numRuns: 50, seed: 1 })
  // Each value satisfies `codec.is`: a law shows it for random codecs.
  return values as fc.Arbitrary<A>
}

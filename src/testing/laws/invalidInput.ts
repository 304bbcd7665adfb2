/** Input that is wrong in one place, with the place and the reason. */
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import { isRecord } from '../../core/json.ts'
import { faultsOf } from '../../event/codecFaults.ts'
import { showPath } from '../../event/json.ts'
import type { Step } from '../../event/json.ts'
import * as Limits from '../../event/limits.ts'
import { kinds } from '../../event/model.ts'
import type { Kind } from '../../event/model.ts'
import { WireBody } from '../../event/webhookBody.ts'
import { arbitraryFor, tagged } from './codecArbitrary.ts'
import type { CodecArbitraryOptions } from './codecArbitrary.ts'
import { eventOf, forwardedOf, trackingCallOf, wireBody, without } from './events.ts'

/** @inline */
type InvalidReason =
  | 'wrong type'
  | 'missing'
  | 'unknown tag'
  | 'foreign literal'
  | 'bad timestamp'
  | 'too large'
  | 'not an object'
  | 'no user'
  | 'keys of a call'

/** Input that must be refused, with a fault at the path. */
export interface InvalidInput {
  readonly input: unknown
  /** As faults have it: `properties.items[0].sku`; empty for the input as a whole. */
  readonly path: string
  /** What was done to a valid input. */
  readonly reason: InvalidReason
}

/** One way to break a value: what to put at a place, or nothing at all. */
interface Break {
  readonly steps: ReadonlyArray<Step>
  /** Where the fault is told. */
  readonly path: ReadonlyArray<Step>
  readonly reason: InvalidReason
  readonly put: ReadonlyArray<unknown>
}

const WRONG: ReadonlyArray<unknown> = [null, true, 7.5, 'wrong', [], {}]

/** The value with another member at a place, or without it if nothing is put there. */
export const changed = (
  value: unknown,
  [step, ...rest]: ReadonlyArray<Step>,
  put: ReadonlyArray<unknown>,
): unknown => {
  if (step === undefined) return put[0]
  if (Array.isArray(value))
    return value.map((member, at): unknown => (at === step ? changed(member, rest, put) : member))
  if (!isRecord(value)) return value
  const others = Object.entries(value).filter(([name]) => name !== step)
  const isGone = rest.length === 0 && put.length === 0
  return Object.fromEntries(isGone ? others : [...others, [step, changed(value[step], rest, put)]])
}

const isTagOf = (union: ReadonlyArray<Step>, { steps, reason }: Break): boolean =>
  reason === 'foreign literal' && steps.length === union.length + 1

const breaksOf = (mixed: t.Mixed, value: unknown, steps: ReadonlyArray<Step>): ReadonlyArray<Break> => {
  const codec = tagged(mixed)
  const inside = (member: t.Mixed, step: Step): ReadonlyArray<Break> => {
    // Sound for objects and arrays, and nothing else is asked for its members.
    const found = (value as Readonly<Record<Step, unknown>>)[step]
    return found === undefined ? [] : breaksOf(member, found, [...steps, step])
  }
  const isLiteral = codec._tag === 'LiteralType' || codec._tag === 'KeyofType'
  const wrong = WRONG.filter((each) => isLeft(mixed.decode(each))).map((each): Break => {
    const reason = isLiteral && typeof each === 'string' ? 'foreign literal' : 'wrong type'
    return { steps, path: steps, reason, put: [each] }
  })
  switch (codec._tag) {
    case 'InterfaceType':
    case 'StrictType':
    case 'PartialType': {
      if (!isRecord(value)) return wrong
      const missing = Object.keys(codec._tag === 'PartialType' ? {} : codec.props).map((name): Break => ({
        steps: [...steps, name],
        path: [...steps, name],
        reason: 'missing',
        put: [],
      }))
      return [
        ...wrong,
        ...missing,
        ...Object.entries(codec.props).flatMap(([name, member]) => inside(member, name)),
      ]
    }
    case 'DictionaryType':
      return [
        ...wrong,
        ...(isRecord(value) ? Object.keys(value).flatMap((name) => inside(codec.codomain, name)) : []),
      ]
    case 'ArrayType':
    case 'ReadonlyArrayType':
      return [...wrong, ...(Array.isArray(value) ? value.flatMap((_, at) => inside(codec.type, at)) : [])]
    case 'TupleType':
      return [...wrong, ...codec.types.flatMap((member, at) => inside(member, at))]
    case 'UnionType': {
      const member = codec.types.find((each) => !isLeft(each.decode(value)))
      const within = member === undefined ? [] : breaksOf(member, value, steps)
      // Some unions name the tag, and others only themselves.
      const untold = within.flatMap((each) =>
        isTagOf(steps, each)
          ? [each.path, steps].map((path) => ({ ...each, path, reason: 'unknown tag' as const }))
          : each,
      )
      return [...wrong, ...untold]
    }
    case 'IntersectionType':
      return codec.types.flatMap((member) => breaksOf(member, value, steps))
    case 'ReadonlyType':
    case 'ExactType':
    case 'RefinementType':
    case 'RecursiveType':
      return [...wrong, ...breaksOf(codec.type, value, steps)]
    default:
      return wrong
  }
}

/** Whether the codec refuses the input with a fault at the path. */
const isRefusedAt = (codec: t.Mixed, { input, path }: InvalidInput): boolean => {
  const decoded = codec.decode(input)
  return isLeft(decoded) && faultsOf(decoded.left).some((fault) => fault.path === path)
}

/**
 * Input for an io-ts codec that is valid but for one place: a value of a wrong type, a missing key, an unknown tag of a union, a foreign
 * literal. The codec refuses it with a fault at the path. Throws for a codec that refuses nothing, and as `arbitraryFor` does.
 *
 * @example
 * import { invalidFor } from 'headrace/testing/laws'
 * import * as fc from 'fast-check'
 * import { isLeft } from 'fp-ts/lib/Either.js'
 * import * as t from 'io-ts'
 * const Order = t.type({ total: t.number, items: t.array(t.type({ sku: t.string })) })
 * fc.assert(fc.property(invalidFor(Order), ({ input }) => isLeft(Order.decode(input))))
 */
export const invalidFor = (codec: t.Mixed, options: CodecArbitraryOptions = {}): fc.Arbitrary<InvalidInput> =>
  fc.tuple(arbitraryFor<unknown>(codec, options), fc.nat()).map(([valid, start]) => {
    const input: unknown = codec.encode(valid)
    const breaks = breaksOf(codec, input, [])
    const ordered = [...breaks.slice(start % breaks.length), ...breaks.slice(0, start % breaks.length)]
    for (const { steps, path, reason, put } of ordered) {
      const broken = { input: changed(input, steps, put), path: showPath(path), reason }
      if (isRefusedAt(codec, broken)) return broken
    }
    throw new Error(`invalidFor: the codec ${JSON.stringify(codec.name)} refuses nothing that was tried`)
  })

const invalid = (reason: InvalidReason, path: string, input: unknown): InvalidInput => ({
  input,
  path,
  reason,
})

const TIMESTAMPS = [
  'yesterday',
  '2023-02-29T00:00:00Z',
  '2024-01-01',
  '2024-01-01T00:00:00',
  '12024-01-01T00:00:00Z',
]

/** Objects with a bad timestamp, and what is no object. */
const damaged = (objects: fc.Arbitrary<object>): fc.Arbitrary<InvalidInput> =>
  fc.oneof(
    fc.constantFrom(null, [], 'track', 7, true).map((input) => invalid('not an object', '', input)),
    fc
      .tuple(objects, fc.constantFrom(...TIMESTAMPS))
      .map(([object, timestamp]) => invalid('bad timestamp', 'timestamp', { ...object, timestamp })),
  )

/**
 * Tracking calls, of the kinds or of all seven, that are refused: by the codec of events with a fault at the path, or, with the reason
 * `too large`, because the body has more than 64,000 bytes.
 */
export const invalidCallOf = (...of: ReadonlyArray<Kind>): fc.Arbitrary<InvalidInput> => {
  const calls = trackingCallOf(...of).map(({ call }) => call)
  const broken = kinds.types.flatMap((codec): ReadonlyArray<fc.Arbitrary<InvalidInput>> => {
    const kind = codec.type.types[0].props.type.value
    return of.length > 0 && !of.includes(kind)
      ? []
      : [invalidFor(codec, { overrides: [[codec, eventOf[kind]]] })]
  })
  return fc.oneof(
    { weight: 4, arbitrary: fc.oneof(...broken) },
    { weight: 2, arbitrary: damaged(calls) },
    calls.map((call) => invalid('no user', 'userId', without(call, 'userId', 'anonymousId'))),
    calls.map((call) => invalid('too large', '', { ...call, userId: 'x'.repeat(Limits.bodyBytes) })),
  )
}

/** Bodies that are no bodies of ours: the codec `WebhookBody` refuses them with a fault at the path. */
export const invalidBody: fc.Arbitrary<InvalidInput> = fc.oneof(
  { weight: 4, arbitrary: invalidFor(WireBody, { overrides: [[WireBody, wireBody]] }) },
  { weight: 2, arbitrary: damaged(wireBody) },
  eventOf.alias.map((alias) =>
    invalid('keys of a call', 'Previous ID', { version: 1, ...forwardedOf(alias) }),
  ),
)

/** Input that is wrong in one place, with the place and the reason. */
import * as fc from 'fast-check'
import type * as t from 'io-ts'
import { isLeft } from '../../core/either.ts'
import { isRecord, kindOf } from '../../core/json.ts'
import { faultsOf } from '../../event/codecFaults.ts'
import { showPath, type Key } from '../../event/json.ts'
import * as Limits from '../../event/limits.ts'
import { kinds, type Kind } from '../../event/model.ts'
import { WireBody } from '../../event/webhookBody.ts'
import { seededRandom } from '../random.ts'
import { arbitraryFor, partsIn, type CodecArbitraryOptions } from './codecArbitrary.ts'
import { eventOf, trackingCallOf, wireBody, without } from './events.ts'

/** Input that must be refused, with a fault at the path. */
export interface InvalidInput {
  readonly input: unknown
  /** As faults have it: `properties.items[0].sku`; empty for the input as a whole. */
  readonly path: string
  /** The change of a valid input. */
  readonly reason: 'wrong type' | 'wrong value' | 'missing' | 'too large' | 'no user'
}

type Way = ReadonlyArray<Key>
type Place = readonly [at: Way, found: unknown]

const inside = ([at, found]: Place): ReadonlyArray<Place> => {
  const members = Array.isArray(found) ? [...found.entries()] : Object.entries(isRecord(found) ? found : {})
  return members.map(([step, member]: readonly [Key, unknown]) => [[...at, step], member])
}

/** The places in objects and lists, the value itself first. */
export const placesIn = (place: Place): ReadonlyArray<Place> => [place, ...inside(place).flatMap(placesIn)]

/** Those that the codec has a rule for. Of a union only the members count that take the value. */
const ruledIn = (codec: t.Mixed, place: Place): ReadonlyArray<Place> => [
  place,
  ...partsIn(codec).flatMap(([step, part]) => {
    if (step === undefined) return isLeft(part.decode(place[1])) ? [] : ruledIn(part, place).slice(1)
    const members = inside(place).filter(([at]) => step === '*' || step === at.at(-1))
    return members.flatMap((each) => ruledIn(part, each))
  }),
]

/** The value with another member at a place, or without it if nothing is put there. */
export const replacedAt = (value: unknown, [step, ...rest]: Way, put: ReadonlyArray<unknown>): unknown => {
  if (step === undefined) return put[0]
  if (Array.isArray(value))
    return value.map((member, at): unknown => (at === step ? replacedAt(member, rest, put) : member))
  if (!isRecord(value)) return value
  const others = Object.entries(value).filter(([name]) => name !== step)
  const isGone = rest.length === 0 && put.length === 0
  return Object.fromEntries(isGone ? others : [...others, [step, replacedAt(value[step], rest, put)]])
}

const invalidAt = (reason: InvalidInput['reason'], path: string, input: unknown) => ({ input, path, reason })

/** The values for a place; the empty list leaves a key out. */
const PUTS: ReadonlyArray<ReadonlyArray<unknown>> = [[], [null], [true], [7.5], ['wrong'], [[]], [{}]]

/**
 * Input for an io-ts codec that is valid but for one place: a value of a wrong type, a missing key, or a
 * wrong value such as the unknown tag of a union. The codec refuses it with a fault at the path. Throws for a
 * codec that refuses nothing, and as `arbitraryFor` does.
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
    const encoded: unknown = codec.encode(valid)
    const all = ruledIn(codec, [[], encoded]).flatMap(([at, found]) => {
      return (typeof at.at(-1) === 'string' ? PUTS : PUTS.slice(1)).map((put) => ({ at, found, put }))
    })
    const first = start % all.length
    for (const { at, found, put } of [...all.slice(first), ...all.slice(0, first)]) {
      const input = replacedAt(encoded, at, put)
      const decoded = codec.decode(input)
      const paths = isLeft(decoded) ? faultsOf(decoded.left).map(({ path }) => path) : []
      // Some unions name the tag, and others only themselves.
      const path = [at, at.slice(0, -1)].map(showPath).find((each) => paths.includes(each))
      const wrong = kindOf(put[0]) === kindOf(found) ? 'wrong value' : 'wrong type'
      if (path !== undefined) return invalidAt(put.length === 0 ? 'missing' : wrong, path, input)
    }
    throw new Error(`invalidFor: the codec ${JSON.stringify(codec.name)} refuses nothing that was tried`)
  })

/**
 * Tracking calls, of the kinds or of all seven, that are refused: by the codec of events with a fault at the
 * path, or, with the reason `too large`, because the body has more than 64,000 bytes.
 */
export const invalidCallOf = (...of: ReadonlyArray<Kind>): fc.Arbitrary<InvalidInput> => {
  const calls = trackingCallOf(...of).map(({ call }) => call)
  const broken = kinds.types.flatMap((codec) => {
    const kind = codec.type.types[0].props.type.value
    const isAsked = of.length === 0 || of.includes(kind)
    return isAsked ? invalidFor(codec, { overrides: [[codec, eventOf[kind]]] }) : []
  })
  return fc.oneof(
    { weight: 6, arbitrary: fc.oneof(...broken) },
    calls.map((call) => invalidAt('no user', 'userId', without(call, 'userId', 'anonymousId'))),
    calls.map((call) => invalidAt('too large', '', { ...call, userId: 'x'.repeat(Limits.bodyBytes) })),
  )
}

/** Bodies that are no bodies of ours: the codec `WebhookBody` refuses them with a fault at the path. */
export const invalidBody = invalidFor(WireBody, { overrides: [[WireBody, wireBody]] })

/** Endless calls for `headrace gen`. The share of them is refused; the others have unique message ids. */
export const callStream = function* (seed: number, kinds: ReadonlyArray<Kind>, share: number) {
  const random = seededRandom(seed)
  const weight = Math.round(share * 1e6)
  const valid = { weight: 1e6 - weight, arbitrary: trackingCallOf(...kinds) }
  const calls = fc.oneof(valid, { weight, arbitrary: invalidCallOf(...kinds) })
  for (let next = 0; ;)
    for (const each of fc.sample(calls, { numRuns: 500, seed: Math.floor(random() * 2 ** 31) }))
      yield 'call' in each ? { ...each.call, messageId: `gen-${String(seed)}-${String(next++)}` } : each.input
}

/** The laws of events on their way in and out: EV1 to EV10 and the fixed point of BY1. */
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import type * as t from 'io-ts'
import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/event.ts'
import { kinds, type Track } from '../../src/event/model.ts'
import { faultsOf, Event as EventCodec, eventCodec, WebhookBody, WireBody } from '../../src/event/index.ts'
import { toWebhookBody } from '../../src/event/index.ts'
import { isRecord } from '../../src/core/json.ts'
import { isJson } from '../../src/event/json.ts'
import { anyEvent, invalidCallOf, trackingCallOf } from '../../src/testing/laws/index.ts'
import { instant, key } from '../../src/testing/laws/jsonValues.ts'
import { forwardedOf } from '../arbitraries/forwarded.ts'
import { SECRET, anyInput } from '../arbitraries/unreadable.ts'
import { forAll, holds, same } from '../support/check.ts'
import { decoded, faultsIn, pathsIn } from '../support/decoded.ts'
import { mutated } from '../support/mutated.ts'

const NOW = Date.UTC(2024, 1, 29, 12)
const options = { clock: { now: () => NOW }, newId: () => 'new-id' }

/** Calls that the codec refuses in one place or, for most of them, in three: the values of the other two are secret. */
const faulty = invalidCallOf()
  .filter(({ reason }) => reason !== 'too large')
  .map(({ input, path }) =>
    isRecord(input) && path !== 'type'
      ? {
          call: { ...input, userId: { SECRET }, timestamp: SECRET },
          paths: [...new Set([path, 'userId', 'timestamp'])],
        }
      : { call: input, paths: [path] },
  )

const zones = { Z: 0, z: 0, '+05:30': 330, '-0530': -330, '+14': 840, '-23:59': -1_439, '+2359': 1_439 }
const zone = fc.constantFrom(...Object.entries(zones))

/** A moment in some form of ISO 8601, and its instant, cut to milliseconds. */
const momentText = fc
  .tuple(instant, fc.boolean(), fc.stringMatching(/^([.,]\d{1,9})?$/), zone)
  .map(([at, hasSeconds, fraction, [name, minutes]]) => {
    const [unit, length] = hasSeconds ? [1_000, 19] : [60_000, 16]
    const local = Math.floor(at / unit) * unit
    const text = new Date(local).toISOString().slice(0, length) + (hasSeconds ? fraction : '') + name
    const ms = hasSeconds ? Number(fraction.slice(1, 4).padEnd(3, '0')) : 0
    return { text, ms: local + ms - minutes * 60_000 }
  })

const wrongIn = (codec: t.Mixed, input: unknown) => [...new Set(pathsIn(codec, input))].sort(byText)

/** Without what was filled in, since the codecs of the kinds have the clock and the ids of the machine. */
const filledIn = (event: Event, call: unknown): object => {
  const given = new Map<string, unknown>(Object.entries(call ?? {}))
  const isGiven = (key: string) => !/^(messageId|timestamp)$/.test(key) || Boolean(given.get(key))
  return Object.fromEntries(Object.entries(event).filter(([key]) => isGiven(key)))
}

const ofEach = (names: string, values: fc.Arbitrary<unknown>) =>
  Object.fromEntries(names.split(' ').map((name) => [name, values]))

const anyText = fc.constantFrom('x', '', undefined, null, 7, {})
const anyValue = fc.constantFrom('x', 7, true, { model: 'm' }, { model: 5, name: null }, Number.NaN)
const data = fc.record(ofEach('url title device os All other', anyValue), { requiredKeys: [] })
const dataOrNone = fc.oneof(fc.constantFrom(undefined, null, 'x', []), data)
const careless = fc.record(
  {
    type: fc.constantFrom('page', 'screen', 'identify', 'track', 'alias', 'group', 'delete', 'sold', 5),
    ...ofEach('userId anonymousId previousId groupId event name category messageId timestamp', anyText),
    ...ofEach('properties traits context integrations', dataOrNone),
  },
  { requiredKeys: ['type'] },
)

const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b))

const isLossless = (value: unknown): boolean => {
  try {
    return isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value)
  } catch {
    return false
  }
}

describe.each([
  ['copied', eventCodec(options)],
  ['owned', eventCodec({ ...options, owned: true })],
] as const)('the laws of events that are %s', (_, codec) => {
  it('a canonical event is a call, and loses nothing on its way in', () =>
    forAll(anyEvent, (event) => same(decoded(codec, structuredClone(event)), event)))

  it('a call becomes the canonical event that the rules say', () =>
    forAll(trackingCallOf(), ({ call, event }) => {
      const filledIn = { timestamp: new Date(NOW).toISOString(), messageId: 'new-id' }
      same(decoded(codec, call), { ...filledIn, ...event })
    }))

  it('EV5 a moment keeps its instant, cut to milliseconds', () =>
    forAll(momentText, ({ text, ms }) => {
      const call = { type: 'track', userId: 'u', event: 'e', timestamp: text }
      if (ms < -62_167_219_200_000 || ms > 253_402_300_799_999) same(wrongIn(codec, call), ['timestamp'])
      else same(decoded(codec, call).timestamp, new Date(ms).toISOString())
    }))

  it('EV7 every fault is named at once, with its path and without its value', () =>
    forAll(faulty, ({ call, paths }) => {
      same(wrongIn(codec, call), [...paths].sort(byText))
      const said = faultsIn(codec, call).map(({ message }) => message)
      same(said.length, paths.length)
      for (const message of said) {
        holds(!message.includes(SECRET), `says the value: ${message}`)
        holds(/^(must|is|has|holds|contains|could)\b/.test(message), message)
      }
    }))

  const calls = [trackingCallOf().map(({ call }) => call), faulty.map(({ call }) => call), careless]
  it('the reader and the codecs of the kinds answer alike', () =>
    forAll(fc.oneof(...calls), (call) => {
      const wrong = wrongIn(kinds, call)
      same(wrong, wrongIn(codec, call))
      if (wrong.length === 0) same(filledIn(decoded(kinds, call), call), filledIn(decoded(codec, call), call))
    }))

  const odd = fc.object({ key, withBoxedValues: true, withDate: true, withNullPrototype: true, maxDepth: 4 })
  it('EV9 what is taken in is what JSON would have made of it', () =>
    forAll(odd, (properties) => {
      const call = { type: 'track', userId: 'u', event: 'e', properties }
      if (faultsIn(codec, call).length > 0) holds(!isLossless(properties), 'refused, though JSON keeps it')
      else same((decoded(codec, call) as Track).properties, JSON.parse(JSON.stringify(properties)))
    }))
})

it('EV8 what the caller changes afterwards changes nothing', () =>
  forAll(fc.tuple(anyEvent, fc.nat()), ([event, seed]) => {
    const call: unknown = structuredClone(event)
    const got = decoded(EventCodec, call)
    const body = toWebhookBody(got)
    const text = JSON.stringify(body)
    mutated(call, seed)
    same([got, JSON.stringify(body)], [event, text])
  }))

it('EV2, BY1 a body has its members and no others, and its text is a fixed point', () =>
  forAll(anyEvent, (event) => {
    const body = toWebhookBody(event)
    holds(WireBody.is(body), 'it is no body')
    const text = JSON.stringify(body)
    same(JSON.stringify(JSON.parse(text)), text)
    same(decoded(WebhookBody, JSON.parse(text)), forwardedOf(event))
  }))

it('the codec of events never throws, gives faults or plain data, and says nothing of what was thrown', () =>
  forAll(anyInput, (make) => {
    EventCodec.is(make())
    const read = EventCodec.decode(make())
    const faults = isLeft(read) ? faultsOf(read.left) : []
    expect(faults.length > 0).toBe(isLeft(read))
    expect(JSON.stringify(faults)).not.toContain(SECRET)
    if (isRight(read)) expect(Object.values(read.right).every(isJson)).toBe(true)
  }))
